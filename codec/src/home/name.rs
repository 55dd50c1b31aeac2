//! File names inside project and session folders (`docs/spec/storage.md`, sections 2.3 and 3.1).

use std::ffi::OsStr;

use crate::json::SAFE_INTEGER;
use crate::types::{Encoding, Generation};

const SUFFIX: &str = ".jsonl";
const ZSTD_SUFFIX: &str = ".zstd";

/// The canonical name of a generation.
pub fn file_name(generation: Generation, encoding: Encoding) -> String {
    let zstd = match encoding {
        Encoding::Raw => "",
        Encoding::Zstd => ZSTD_SUFFIX,
    };
    match generation.0 {
        0 => format!("session{SUFFIX}{zstd}"),
        n => format!("session.v{n}{SUFFIX}{zstd}"),
    }
}

/// What a canonical name stands for; nothing for every other name, which the format ignores.
pub fn parse_name(name: &OsStr) -> Option<(Generation, Encoding)> {
    let (base, encoding) = split_encoding(name.to_str()?);
    let version = base.strip_suffix(SUFFIX)?.strip_prefix("session")?;
    if version.is_empty() {
        return Some((Generation(0), encoding));
    }
    let digits = version.strip_prefix(".v")?;
    if digits.starts_with('0') || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let number = digits.parse().ok().filter(|&n| n <= SAFE_INTEGER)?;
    Some((Generation(number), encoding))
}

/// True for a name that makes a plain file in a project folder a log of the old flat layout. The official reader
/// refuses the whole root for it, whatever the file holds.
pub fn is_flat_log_name(name: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    name.ends_with(SUFFIX.as_bytes()) || name.ends_with(b".jsonl.zstd")
}

/// A name that dsh gives to something unfinished. It never cleans up after a crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Temp {
    /// A new session before its name is there.
    FirstWrite(Generation, Encoding),
    /// A migrated generation before its name is there.
    Migration(Encoding),
    /// A folder being made, on Windows.
    Folder,
}

impl Temp {
    /// What kind of temporary name it is, if it is one. `name` says nothing of the kind of entry.
    pub fn parse(name: &OsStr) -> Option<Temp> {
        let name = name.to_str()?;
        if let Some(random) = name.strip_prefix(".dsh-mkdir-") {
            let random = random.len() == 6 && random.bytes().all(|b| b.is_ascii_alphanumeric());
            return random.then_some(Temp::Folder);
        }
        let name = name.strip_suffix(".tmp")?;
        if let Some(rest) = name.strip_prefix("session.migration.") {
            let (base, encoding) = split_encoding(rest);
            return is_lower_hex(base.strip_suffix(SUFFIX)?, 16).then_some(Temp::Migration(encoding));
        }
        let (name, token) = name.rsplit_once('.')?;
        let (generation, encoding) = parse_name(OsStr::new(name))?;
        is_lower_hex(token, 12).then_some(Temp::FirstWrite(generation, encoding))
    }
}

/// Project folders of builds that were never released (section 2.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OldProject {
    /// `cwd-<12 hex>`, with flat logs inside.
    Hash,
    /// `--<slug>--<12 hex>`, with session folders inside that no header leads to.
    SlugAndHash,
}

impl OldProject {
    /// Which old kind of project folder the name says, if any.
    pub fn parse(name: &OsStr) -> Option<OldProject> {
        let name = name.to_str()?;
        if let Some(hash) = name.strip_prefix("cwd-") {
            return is_lower_hex(hash, 12).then_some(OldProject::Hash);
        }
        let (slug, hash) = name.strip_prefix("--")?.rsplit_once("--")?;
        let old = (1..=200).contains(&slug.len()) && is_lower_hex(hash, 12);
        old.then_some(OldProject::SlugAndHash)
    }
}

fn split_encoding(name: &str) -> (&str, Encoding) {
    match name.strip_suffix(ZSTD_SUFFIX) {
        Some(base) => (base, Encoding::Zstd),
        None => (name, Encoding::Raw),
    }
}

fn is_lower_hex(text: &str, len: usize) -> bool {
    text.len() == len && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Doc;

    #[test]
    fn canonical_names_of_the_official_code() {
        let vectors = include_str!("../../../docs/spec/vectors/file-names.json");
        let mut count = 0;
        for line in vectors.lines().filter(|line| line.starts_with('{')) {
            let case = Doc::parse(line.trim_end_matches(',')).unwrap();
            let name = case.root().get("name").unwrap().as_str().unwrap().to_lossy().into_owned();
            for (member, encoding) in [("raw", Encoding::Raw), ("zstd", Encoding::Zstd)] {
                let expected = case.root().get(member).unwrap().as_count().map(Generation);
                let found = parse_name(OsStr::new(&name)).filter(|(_, e)| *e == encoding).map(|(g, _)| g);
                assert_eq!(found, expected, "{name} {encoding}");
                if let Some(generation) = found {
                    assert_eq!(file_name(generation, encoding), name);
                }
            }
            count += 1;
        }
        assert_eq!(count, 192);
    }

    #[test]
    fn names_in_the_text_of_the_specification() {
        let generations = [
            ("session.v9007199254740991.jsonl", Some(9_007_199_254_740_991)),
            ("session.v9007199254740992.jsonl", None),
            ("session.v99999999999999999999.jsonl", None),
            ("session.v10.jsonl.zstd", Some(10)),
            ("session.v4.5.jsonl", None),
            ("session.v-1.jsonl", None),
            ("session.v+1.jsonl", None),
            ("session.v.jsonl", None),
            ("session.v٤.jsonl", None),
            ("xsession.v4.jsonl", None),
            ("session.v4.jsonl.zstd.0123456789ab.tmp", None),
        ];
        for (name, expected) in generations {
            assert_eq!(parse_name(OsStr::new(name)).map(|(g, _)| g.0), expected, "{name}");
        }
    }

    #[test]
    fn temporary_names() {
        use Encoding::{Raw, Zstd};
        let cases = [
            ("session.jsonl.0123456789ab.tmp", Some(Temp::FirstWrite(Generation(0), Raw))),
            ("session.v4.jsonl.zstd.0123456789ab.tmp", Some(Temp::FirstWrite(Generation(4), Zstd))),
            ("session.v4.jsonl.zstd.0123456789AB.tmp", None),
            ("session.v4.jsonl.zstd.0123456789abc.tmp", None),
            ("session.v04.jsonl.0123456789ab.tmp", None),
            ("session.migration.0123456789abcdef.jsonl.zstd.tmp", Some(Temp::Migration(Zstd))),
            ("session.migration.0123456789abcdef.jsonl.tmp", Some(Temp::Migration(Raw))),
            ("session.migration.0123456789ab.jsonl.tmp", None),
            (".dsh-mkdir-Ab12Cd", Some(Temp::Folder)),
            (".dsh-mkdir-Ab12C", None),
            ("session.v4.jsonl", None),
            ("x.tmp", None),
        ];
        for (name, expected) in cases {
            assert_eq!(Temp::parse(OsStr::new(name)), expected, "{name}");
        }
    }

    #[test]
    fn old_layouts() {
        let projects = [
            ("cwd-0123456789ab", Some(OldProject::Hash)),
            ("cwd-0123456789a", None),
            ("--srv-work--0123456789ab", Some(OldProject::SlugAndHash)),
            ("--srv-work--", None),
            ("--srv--0123456789ab--", None),
            ("_no-cwd", None),
        ];
        for (name, expected) in projects {
            assert_eq!(OldProject::parse(OsStr::new(name)), expected, "{name}");
        }
        for (name, flat) in [
            ("a.jsonl", true),
            (".jsonl", true),
            ("a.jsonl.zstd", true),
            ("a.JSONL", false),
            ("a.summary.json", false),
            ("a.zstd", false),
        ] {
            assert_eq!(is_flat_log_name(OsStr::new(name)), flat, "{name}");
        }
    }
}
