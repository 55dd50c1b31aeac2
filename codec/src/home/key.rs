//! Folder names out of a header's `cwd` and `id` (`docs/spec/storage.md`, section 2).

use std::fmt::Write as _;

use crate::json::JsString;

/// The project folder of sessions without a working directory.
const NO_CWD: &str = "_no-cwd";

/// Longest text between the two dashes on either side, so that a key never passes 255 bytes.
const SLUG_LEN: usize = 251;

/// Name of the project folder for a working directory (section 2.2). Lossy: two directories may share one.
///
/// Nothing when `cwd` is there and empty, which no folder stands for.
pub fn project_key(cwd: Option<&JsString>) -> Option<String> {
    let Some(cwd) = cwd else { return Some(NO_CWD.to_owned()) };
    if cwd.is_empty() {
        return None;
    }
    let mut text = String::new();
    let mut in_separator = false;
    for unit in cwd.units() {
        if [b'/', b'\\', b':'].map(u16::from).contains(&unit) {
            if !in_separator {
                text.push('-');
            }
            in_separator = true;
        } else {
            in_separator = false;
            push_unit(&mut text, unit);
        }
    }
    // Literal dashes go with the separators: `/--` has the key of `/`.
    let slug = match text.trim_start_matches('-') {
        "" => "root",
        slug => slug,
    };
    // The text is ASCII; the cut may go through an escape.
    let slug = slug.get(..SLUG_LEN).unwrap_or(slug);
    Some(format!("--{slug}--"))
}

/// Name of the session folder for an id (section 2.1). Different ids have different folders.
///
/// Nothing for the empty id, which cannot name a folder.
pub fn encode_id(id: &JsString) -> Option<String> {
    match id.as_str() {
        Some("") => None,
        Some(dots @ ("." | "..")) => Some(dots.replace('.', "~002E")),
        _ => {
            let mut text = String::new();
            for unit in id.units() {
                push_unit(&mut text, unit);
            }
            Some(text)
        }
    }
}

/// The id that a session folder stands for: the inverse of [`encode_id`].
///
/// Nothing for a name that no id is encoded as, such as one with a blank or with an escape in lower case.
pub fn decode_id(folder: &str) -> Option<JsString> {
    let mut units = Vec::with_capacity(folder.len());
    let mut rest = folder;
    while let Some(escape) = rest.find('~') {
        let (plain, tail) = rest.split_at(escape);
        units.extend(plain.encode_utf16());
        units.push(u16::from_str_radix(tail.get(1..5)?, 16).ok()?);
        rest = tail.get(5..)?;
    }
    units.extend(rest.encode_utf16());
    let id = JsString::from_units(units);
    // Encoding again refuses every other spelling at once.
    (encode_id(&id)? == folder).then_some(id)
}

/// Append one code unit, escaped unless it is safe in file names everywhere.
fn push_unit(text: &mut String, unit: u16) {
    match u8::try_from(unit) {
        Ok(byte) if byte.is_ascii_alphanumeric() || b"._-".contains(&byte) => text.push(char::from(byte)),
        // Writing to a string cannot fail.
        _ => _ = write!(text, "~{unit:04X}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::{Doc, Js};
    use proptest::prelude::*;

    /// The lines of a vector file that hold a case each.
    fn cases(vectors: &str) -> Vec<Doc> {
        let lines = vectors.lines().map(|line| line.trim_end_matches(','));
        lines.filter(|line| line.starts_with('{')).map(|line| Doc::parse(line).unwrap()).collect()
    }

    fn text(case: Js<'_>, name: &str) -> Option<JsString> {
        case.get(name).unwrap().as_str().map(crate::json::JsStr::to_owned)
    }

    #[test]
    fn project_keys_of_the_official_code() {
        let cases = cases(include_str!("../../../docs/spec/vectors/project-keys.json"));
        assert_eq!(cases.len(), 202);
        for case in &cases {
            let cwd = text(case.root(), "cwd");
            let key = text(case.root(), "key");
            let found = project_key(cwd.as_ref());
            assert_eq!(found.as_deref().map(JsString::from), key, "{cwd:?}");
            assert!(found.is_none_or(|key| key.len() <= 255));
        }
    }

    #[test]
    fn id_folders_of_the_official_code() {
        let cases = cases(include_str!("../../../docs/spec/vectors/id-folders.json"));
        assert_eq!(cases.len(), 145);
        for case in &cases {
            let id = text(case.root(), "id").unwrap();
            let folder = text(case.root(), "folder");
            assert_eq!(encode_id(&id).as_deref().map(JsString::from), folder, "{id:?}");
            if let Some(folder) = folder {
                assert_eq!(decode_id(folder.as_str().unwrap()), Some(id));
            }
        }
    }

    #[test]
    fn names_that_no_id_is_encoded_as() {
        for name in ["", ".", "..", "a b", "~00e9", "~0041", "~002E", "é", "~", "~00", "~+0E9", "a~00é", "~é"]
        {
            let dot = name == "~002E";
            assert_eq!(decode_id(name), dot.then(|| ".".into()), "{name}");
        }
    }

    proptest! {
        #[test]
        fn decoding_undoes_encoding(units in prop::collection::vec(any::<u16>(), 1..40)) {
            let id = JsString::from_units(units);
            let folder = encode_id(&id).unwrap();
            prop_assert!(folder.is_ascii());
            prop_assert_eq!(decode_id(&folder), Some(id));
        }

        #[test]
        fn no_name_decodes_to_an_id_of_another(name in "[a-cA-F0-9~. é-]{0,12}") {
            if let Some(id) = decode_id(&name) {
                prop_assert_eq!(encode_id(&id), Some(name));
            }
        }
    }
}
