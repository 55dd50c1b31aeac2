//! Images and files in requests: the texts that name them, and the bytes that travel (`docs/spec/messages-wire.md`, 3.6
//! and 3.7).

use std::collections::BTreeSet;

use dshlog_codec::Seq;
use dshlog_codec::json::{Js, JsStr, print_str};

use super::header::printed;
use super::refusal::Refusal;
use super::template::{ImageRef, Template};

/// Where images and files are, for the two things that a log does not hold.
pub trait Attachments {
    /// The id that an upload of this image got, where there was one.
    fn file_id(&self, attachment: &str) -> Option<&str>;

    /// The stored bytes of an image.
    fn bytes(&self, attachment: &str) -> Option<Vec<u8>>;

    /// The home of the run that made the request: it stands in the texts. Nothing for a run that had none.
    fn home(&self) -> Option<&str>;
}

/// No images, no files, no home.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoAttachments;

impl Attachments for NoAttachments {
    fn file_id(&self, _: &str) -> Option<&str> {
        None
    }

    fn bytes(&self, _: &str) -> Option<Vec<u8>> {
        None
    }

    fn home(&self) -> Option<&str> {
        None
    }
}

/// Limits below which an image travels as it is stored.
const MOST_TILES: u64 = 1024;
const MOST_PIXELS: u64 = 4096;
/// The largest image that travels as it is stored, in bytes.
pub const MOST_BYTES: u64 = 2 << 20;

/// The text that stands for an image on a route that takes none.
pub(super) fn text_only(attachment: Option<Js<'_>>) -> String {
    format!(
        "[image omitted because this model accepts text only; attachment sha256:{}]",
        short_digest(attachment)
    )
}

/// The text that stands for an image that was left out to fit the limits.
pub(super) fn offloaded(attachment: Option<Js<'_>>, home: Option<&str>) -> String {
    let identity = format!("image omitted to fit request image limits; {}.", identity(attachment));
    match object_path(attachment, home) {
        Some(path) => format!("[{identity}{}]", copy(attachment, &path)),
        None => format!(
            "[{identity} No local normalized image path is available; ask the user to attach it again if needed.]"
        ),
    }
}

/// The text in front of an image, with the size that travels.
pub(super) fn handle(attachment: Option<Js<'_>>, home: Option<&str>) -> String {
    let (width, height) = (text(attachment, "width"), text(attachment, "height"));
    let preview = format!("Image {}; request preview {width}x{height}px.", identity(attachment));
    match object_path(attachment, home) {
        Some(path) => preview + &copy(attachment, &path),
        None => format!(
            "{preview} It may be resized or re-encoded; source dimensions, format, and byte size may differ."
        ),
    }
}

/// The text that stands for a file, on every route.
pub(super) fn file(attachment: Option<Js<'_>>, home: Option<&str>) -> String {
    let name = attachment.and_then(|a| a.get("name")).and_then(Js::as_str).unwrap_or(JsStr::plain(""));
    let identity = format!(
        "File {} ({} bytes, sha256:{})",
        quoted(name),
        text(attachment, "bytes"),
        short_digest(attachment)
    );
    match file_path(attachment, name, home) {
        Some(path) => format!(
            "[{identity}: verbatim read-only copy saved at {}. Read that path with your file tools when its contents are \
             needed; copy it to a writable location before modifying it. When delegating file work, include this saved \
             path in the delegation prompt; only subagents sharing this execution environment can read it.]",
            quoted(JsStr::plain(&path))
        ),
        None => format!(
            "[{identity} was uploaded, but the current execution environment cannot access a readable path. Report that \
             limitation if its contents are needed; do not claim to have read it.]"
        ),
    }
}

/// The image as it travels.
///
/// # Errors
/// An image that is scaled first.
pub(super) fn reference(attachment: Option<Js<'_>>, seq: Option<Seq>) -> Result<ImageRef, Refusal> {
    let count = |name| attachment.and_then(|a| a.get(name)).and_then(Js::as_count).unwrap_or(0);
    let (width, height, bytes) = (count("width"), count("height"), count("bytes"));
    let id = text(attachment, "attachmentId");
    let cells = |side: u64| side.div_ceil(14).div_ceil(3);
    let tiles = cells(height).saturating_mul(cells(width) + 1).saturating_add(2);
    if tiles > MOST_TILES || width > MOST_PIXELS || height > MOST_PIXELS || bytes > MOST_BYTES {
        return Err(Refusal::ScaledImage { attachment: id, seq, width, height, bytes });
    }
    Ok(ImageRef { attachment: id, media_type: text(attachment, "mediaType"), seq })
}

/// How the images of one request travel.
pub(super) struct Carrier<'a> {
    attachments: &'a dyn Attachments,
    by_file: bool,
    missing: Vec<String>,
    missing_at: Option<Seq>,
}

impl<'a> Carrier<'a> {
    /// By file ids when each image has one; else all inline, as the adapter does when an upload fails.
    pub(super) fn new<'t>(
        attachments: &'a dyn Attachments,
        templates: impl Iterator<Item = &'t Template>,
    ) -> Self {
        let ids: BTreeSet<&str> =
            templates.flat_map(Template::images).map(|image| image.attachment.as_str()).collect();
        let by_file = !ids.is_empty() && ids.iter().all(|id| attachments.file_id(id).is_some());
        Carrier { attachments, by_file, missing: Vec::new(), missing_at: None }
    }

    /// Some image travels by its file id.
    pub(super) fn is_by_file(&self) -> bool {
        self.by_file
    }

    /// The file id of an image, when images travel by them.
    pub(super) fn file_id(&self, image: &ImageRef) -> Option<&'a str> {
        self.attachments.file_id(&image.attachment).filter(|_| self.by_file)
    }

    /// Append the bytes in base64, or remember that they are missing.
    pub(super) fn print_bytes(&mut self, out: &mut Vec<u8>, image: &ImageRef) {
        if let Some(bytes) = self.attachments.bytes(&image.attachment) {
            base64(out, &bytes);
            return;
        }
        if self.missing.is_empty() {
            self.missing_at = image.seq;
        }
        if !self.missing.contains(&image.attachment) {
            self.missing.push(image.attachment.clone());
        }
    }

    /// Everything was there.
    pub(super) fn finish(self) -> Result<(), Refusal> {
        if self.missing.is_empty() {
            return Ok(());
        }
        Err(Refusal::MissingAttachments { attachments: self.missing, seq: self.missing_at })
    }
}

fn copy(attachment: Option<Js<'_>>, path: &str) -> String {
    let media_type = text(attachment, "mediaType");
    let extension = match media_type.as_str() {
        "image/jpeg" => ".jpg",
        "image/webp" => ".webp",
        "image/gif" => ".gif",
        _ => ".png",
    };
    format!(
        " Normalized copy (read-only; may be resized or re-encoded): {} ({}x{}px, {media_type}). Source dimensions, \
         format, and byte size may differ. Copy to a writable path ending in {extension} before editing.",
        quoted(JsStr::plain(path)),
        text(attachment, "width"),
        text(attachment, "height"),
    )
}

fn identity(attachment: Option<Js<'_>>) -> String {
    let id = text(attachment, "attachmentId");
    match attachment.and_then(|a| a.get("name")).and_then(Js::as_str) {
        Some(name) => format!("{} ({id})", quoted(name)),
        None => id,
    }
}

fn object_path(attachment: Option<Js<'_>>, home: Option<&str>) -> Option<String> {
    let digest = digest(attachment)?;
    Some(join(home?, &["attachments", "v1", "objects", digest.get(..2)?, &digest]))
}

fn file_path(attachment: Option<Js<'_>>, name: JsStr<'_>, home: Option<&str>) -> Option<String> {
    let digest = digest(attachment)?;
    let name = name.to_owned();
    let leaf = name.as_str().filter(|name| is_file_name(name))?;
    Some(join(home?, &["attachments", "v1", "files", digest.get(..2)?, &digest, leaf]))
}

/// A name that dsh keeps as it is when it stores a file: one that every system takes.
fn is_file_name(name: &str) -> bool {
    let is_space = |c: char| c == '\u{feff}' || (c.is_whitespace() && c != '\u{85}');
    let is_refused =
        |c: char| matches!(c, '\0'..='\x1f' | '\x7f' | '/' | '\\' | '<' | '>' | ':' | '"' | '|' | '?' | '*');
    let stem = name.split('.').next().unwrap_or_default().trim_end_matches(' ').to_ascii_lowercase();
    let is_device = match stem.as_str() {
        "con" | "prn" | "aux" | "nul" => true,
        stem => stem
            .strip_prefix("com")
            .or(stem.strip_prefix("lpt"))
            .is_some_and(|number| matches!(number.as_bytes(), [b'1'..=b'9'])),
    };
    (1..=255).contains(&name.len())
        && !name.contains(is_refused)
        && !name.starts_with(is_space)
        && !name.ends_with(|c| is_space(c) || c == '.')
        && !is_device
}

/// A path below a home, in the manner of the system that the home is of.
fn join(home: &str, names: &[&str]) -> String {
    let is_windows = home.contains('\\') || home.as_bytes().get(1) == Some(&b':');
    let separator = if is_windows { "\\" } else { "/" };
    let home = home.trim_end_matches(['/', '\\']);
    format!("{home}{separator}{}", names.join(separator))
}

/// The 64 digits of an id that is one.
fn digest(attachment: Option<Js<'_>>) -> Option<String> {
    let id = text(attachment, "attachmentId");
    let digest = id.strip_prefix("sha256:")?;
    let is_digest = digest.len() == 64 && digest.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    is_digest.then(|| digest.to_owned())
}

/// Characters 7 to 15 of the id, whatever it is.
fn short_digest(attachment: Option<Js<'_>>) -> String {
    text(attachment, "attachmentId").chars().skip(7).take(8).collect()
}

/// A member as a template literal of JavaScript shows it; lone surrogates are lost.
fn text(attachment: Option<Js<'_>>, name: &str) -> String {
    match attachment.and_then(|a| a.get(name)) {
        Some(value) => value.as_str().map_or_else(|| printed(value), |text| text.to_lossy().into_owned()),
        None => "undefined".to_owned(),
    }
}

fn quoted(text: JsStr<'_>) -> String {
    let mut out = Vec::new();
    print_str(&mut out, text);
    String::from_utf8(out).unwrap_or_default()
}

/// Standard base64 with padding.
fn base64(out: &mut Vec<u8>, bytes: &[u8]) {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digit = |word: u32, shift: u32| DIGITS[(word >> shift & 63) as usize];
    out.reserve(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let byte = |at: usize| u32::from(chunk.get(at).copied().unwrap_or(0));
        let word = byte(0) << 16 | byte(1) << 8 | byte(2);
        out.extend([digit(word, 18), digit(word, 12)]);
        out.push(if chunk.len() > 1 { digit(word, 6) } else { b'=' });
        out.push(if chunk.len() > 2 { digit(word, 0) } else { b'=' });
    }
}

#[cfg(test)]
mod tests {
    use dshlog_codec::json::Doc;

    use super::*;

    const DIGEST: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

    fn attachment(more: &str) -> Doc {
        Doc::parse(format!(
            r#"{{"attachmentId":"sha256:{DIGEST}","mediaType":"image/jpeg","width":30,"height":20,"bytes":9{more}}}"#
        ))
        .unwrap()
    }

    /// The texts of 3.6 and 3.7, with a path and without.
    #[test]
    fn texts_name_the_attachment() {
        let plain = attachment("");
        let named = attachment(r#","name":"a \"b\".jpg""#);
        let filed = attachment(r#","name":"\u00e4 b.jpg""#);
        let (plain, named, filed) = (Some(plain.root()), Some(named.root()), Some(filed.root()));
        let copy = format!(
            r#" Normalized copy (read-only; may be resized or re-encoded): "/h/attachments/v1/objects/01/{DIGEST}" (30x20px, image/jpeg). Source dimensions, format, and byte size may differ. Copy to a writable path ending in .jpg before editing."#
        );
        for (got, want) in [
            (handle(plain, Some("/h")), format!("Image sha256:{DIGEST}; request preview 30x20px.{copy}")),
            (
                handle(named, None),
                format!(
                    r#"Image "a \"b\".jpg" (sha256:{DIGEST}); request preview 30x20px. It may be resized or re-encoded; source dimensions, format, and byte size may differ."#
                ),
            ),
            (
                offloaded(plain, Some("/h/")),
                format!("[image omitted to fit request image limits; sha256:{DIGEST}.{copy}]"),
            ),
            (
                offloaded(plain, None),
                format!(
                    "[image omitted to fit request image limits; sha256:{DIGEST}. No local normalized image path is available; ask the user to attach it again if needed.]"
                ),
            ),
            (
                text_only(plain),
                "[image omitted because this model accepts text only; attachment sha256:01234567]".to_owned(),
            ),
            (
                file(filed, Some(r"C:\h")),
                format!(
                    r#"[File "ä b.jpg" (9 bytes, sha256:01234567): verbatim read-only copy saved at "C:\\h\\attachments\\v1\\files\\01\\{DIGEST}\\ä b.jpg". Read that path with your file tools when its contents are needed; copy it to a writable location before modifying it. When delegating file work, include this saved path in the delegation prompt; only subagents sharing this execution environment can read it.]"#
                ),
            ),
            (
                file(named, None),
                r#"[File "a \"b\".jpg" (9 bytes, sha256:01234567) was uploaded, but the current execution environment cannot access a readable path. Report that limitation if its contents are needed; do not claim to have read it.]"#
                    .to_owned(),
            ),
        ] {
            assert_eq!(got, want);
        }
    }

    /// The names of 3.7: what the runtime of dsh 0.2.1-rc.2 finds a path for.
    #[test]
    fn only_names_that_are_kept_have_a_path() {
        let long = |text: &str, times: usize| text.repeat(times);
        for (name, has_path) in [
            ("a.txt", true),
            ("..x", true),
            ("a b.md", true),
            ("\u{85}x\u{85}", true),
            ("\u{a0}x", false),
            ("x\u{feff}", false),
            ("x ", false),
            ("x.", false),
            ("", false),
            (".", false),
            ("..", false),
            ("a/b", false),
            (r"a\\b", false),
            (r"a\u0001b", false),
            ("a\u{7f}b", false),
            ("a\u{80}b", true),
            (r#"a\"b"#, false),
            ("a:b", false),
            ("a?", false),
            (r"\ud83d", false),
            (r"\ud83d\ude00", true),
            ("con", false),
            ("CON.txt", false),
            ("Con .txt.gz", false),
            ("con x", true),
            ("xcon", true),
            ("com1", false),
            ("com0", true),
            ("com10", true),
            ("LPT9.x", false),
            (&long("x", 255), true),
            (&long("x", 256), false),
            (&long("é", 127), true),
            (&long("é", 128), false),
        ] {
            let doc = attachment(&format!(r#","name":"{name}""#));
            let text = file(Some(doc.root()), Some("/h"));
            assert_eq!(text.contains("verbatim read-only copy"), has_path, "{name:?}");
        }
    }

    /// The limits of 3.6.
    #[test]
    fn large_images_are_scaled() {
        for (width, height, bytes, travels) in [
            (64, 48, 156, true),
            (4096, 42, 1, true),
            (4097, 1, 1, false),
            (1, 4097, 1, false),
            (64, 48, 2_097_152, true),
            (64, 48, 2_097_153, false),
            // 31 rows of 32 + 1 columns are 1023 tiles and two more; one column less is enough.
            (32 * 42, 31 * 42, 1, false),
            (31 * 42, 31 * 42, 1, true),
        ] {
            let doc = Doc::parse(format!(
                r#"{{"attachmentId":"x","mediaType":"image/png","width":{width},"height":{height},"bytes":{bytes}}}"#
            ))
            .unwrap();
            assert_eq!(reference(Some(doc.root()), None).is_ok(), travels, "{width}x{height}, {bytes}");
        }
    }

    /// The examples of RFC 4648.
    #[test]
    fn bytes_are_padded() {
        for (bytes, want) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("\u{fb}\u{ff}", "w7vDvw=="),
        ] {
            let mut out = Vec::new();
            base64(&mut out, bytes.as_bytes());
            assert_eq!(String::from_utf8(out).unwrap(), want);
        }
    }
}
