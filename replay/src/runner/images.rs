//! Images in requests of a replay. A log names them and does not hold them; what travels in their place stands for them, on
//! both sides of every comparison.

use crate::request::image::Attachments;

/// Every image is there, and is a placeholder.
#[derive(Clone, Copy, Debug)]
pub(super) struct Placeholders;

impl Attachments for Placeholders {
    fn file_id(&self, _: &str) -> Option<&str> {
        // What is lent lives here, so it cannot be the image's own name; its digest stands in the text in front of it.
        Some("file_of_the_record")
    }

    fn bytes(&self, attachment: &str) -> Option<Vec<u8>> {
        Some(attachment.as_bytes().to_vec())
    }

    fn home(&self) -> Option<&str> {
        None
    }
}
