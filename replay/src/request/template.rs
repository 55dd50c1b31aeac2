//! Printed JSON with holes where images go: what stands there is known only when the whole request is.

use dshlog_codec::Seq;

/// An image that travels with a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ImageRef {
    /// `sha256:` and 64 digits.
    pub(super) attachment: String,
    pub(super) media_type: String,
    pub(super) seq: Option<Seq>,
}

/// Text with images in it.
#[derive(Clone, Debug, Default)]
pub(super) struct Template {
    text: String,
    /// Each at a byte of the text, ascending.
    images: Vec<(usize, ImageRef)>,
}

impl Template {
    pub(super) fn push(&mut self, text: &str) {
        self.text.push_str(text);
    }

    pub(super) fn push_image(&mut self, image: ImageRef) {
        self.images.push((self.text.len(), image));
    }

    pub(super) fn push_template(&mut self, other: Template) {
        let shift = self.text.len();
        self.text.push_str(&other.text);
        self.images.extend(other.images.into_iter().map(|(at, image)| (at + shift, image)));
    }

    pub(super) fn images(&self) -> impl Iterator<Item = &ImageRef> {
        self.images.iter().map(|(_, image)| image)
    }

    /// Append the text, with `fill` writing each image.
    pub(super) fn print(&self, out: &mut Vec<u8>, mut fill: impl FnMut(&mut Vec<u8>, &ImageRef)) {
        let mut from = 0;
        for (at, image) in &self.images {
            out.extend_from_slice(self.text.get(from..*at).unwrap_or("").as_bytes());
            fill(out, image);
            from = *at;
        }
        out.extend_from_slice(self.text.get(from..).unwrap_or("").as_bytes());
    }
}

impl From<String> for Template {
    fn from(text: String) -> Self {
        Template { text, images: Vec::new() }
    }
}
