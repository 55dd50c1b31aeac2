//! Images that messages cite, out of the home (`docs/spec/storage.md`, section 1).

use std::fs;
use std::path::PathBuf;

use crate::attachments::object;
use crate::transcript::Image;

/// The largest image that is put into a page, in bytes.
const SMALL: u64 = 2_000_000;

/// What browsers show and dsh stores (`docs/spec/events-v4.md`, 7.1).
const MEDIA_TYPES: [&str; 4] = ["image/png", "image/jpeg", "image/webp", "image/gif"];

/// Where images lie.
#[derive(Clone, Debug, Default)]
pub(crate) struct Images {
    homes: Vec<PathBuf>,
}

impl Images {
    /// Images below the first of these homes that has them.
    pub(crate) fn of(homes: Vec<PathBuf>) -> Self {
        Images { homes }
    }

    /// The bytes of an image; nothing when it is not there, is too large, or is of a kind that dsh does not store.
    pub(crate) fn read(&self, image: &Image) -> Option<Vec<u8>> {
        if !MEDIA_TYPES.contains(&image.media_type.as_str()) {
            return None;
        }
        self.homes.iter().find_map(|home| {
            let path = object(&home.join("attachments"), &image.id)?;
            let is_small = fs::metadata(&path).is_ok_and(|file| file.is_file() && file.len() <= SMALL);
            if is_small { fs::read(&path).ok() } else { None }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_stored_images_are_read() {
        let home = tempfile::tempdir().unwrap();
        let digest = "ab".repeat(32);
        let folder = home.path().join("attachments/v1/objects/ab");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join(&digest), "png").unwrap();
        fs::write(home.path().join("secret"), "secret").unwrap();
        let images = Images::of(vec![home.path().join("other"), home.path().to_owned()]);
        let read = |id: &str, media_type: &str| {
            let (id, media_type) = (id.to_owned(), media_type.to_owned());
            images.read(&Image { id, media_type, pixels: None, bytes: None })
        };
        assert_eq!(read(&format!("sha256:{digest}"), "image/png").as_deref(), Some(&b"png"[..]));
        for (id, media_type) in [
            (format!("sha256:{digest}"), "image/svg+xml"),
            (digest.clone(), "image/png"),
            (format!("sha256:{}", digest.to_uppercase()), "image/png"),
            ("sha256:../../../../secret".to_owned(), "image/png"),
            (format!("sha256:{}", "cd".repeat(32)), "image/png"),
        ] {
            assert_eq!(read(&id, media_type), None, "{id} {media_type}");
        }
        let large = fs::File::create(folder.join(&digest)).unwrap();
        large.set_len(SMALL + 1).unwrap();
        assert_eq!(read(&format!("sha256:{digest}"), "image/png"), None);
    }
}
