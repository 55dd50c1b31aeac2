//! The name of the semaphore that is the lock on Windows. Pure, so that every system tests it.

use std::fmt::Write as _;
use std::path::Path;

use sha2::{Digest as _, Sha256};

/// The name for the lock file at `path`, which is absolute: `Local\dsh-session-lock-` and the SHA-256 in hex digits of
/// the path in lower case, as UTF-8.
///
/// Lower case is JavaScript's `toLowerCase`: the full mapping of Unicode, with the rule for a final sigma, without
/// regard to language. Rust has the same one, and the same of every character while both know the same Unicode.
/// Halves of a surrogate pair, which a Windows name may hold, are hashed as U+FFFD, as Node does.
pub(super) fn semaphore_name(path: &Path) -> String {
    let digest = Sha256::digest(path.to_string_lossy().to_lowercase());
    let mut name = String::from(r"Local\dsh-session-lock-");
    for byte in digest {
        // Writing to a string cannot fail.
        _ = write!(name, "{byte:02x}");
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Right answers: Node 24, `createHash("sha256").update(path.toLowerCase())`.
    #[test]
    fn names() {
        #[track_caller]
        fn check(path: &str, digest: &str) {
            assert_eq!(
                semaphore_name(Path::new(path)),
                format!(r"Local\dsh-session-lock-{digest}"),
                "{path}"
            );
        }
        let mine = "0a3f33a8bb33cc7e9454bf27ee250ea0d44b40d9054151c1482266143d2c760f";
        check(r"C:\Users\Me\.dsh\sessions\--C-work--\session-1\session.lock", mine);
        check(r"c:\users\me\.DSH\sessions\--c-work--\session-1\session.lock", mine);
        check(
            r"\\Srv\Share\s\session.lock",
            "41053a8d2e1d1e249a862cc1444d2ae32ec88c310dde4df45b375476b64ce298",
        );
        // A final sigma, and letters whose lower case is two characters, or another letter's.
        check(
            "C:\\ΟΔΟΣ\\İ\\ÄẞǅK\\session.lock",
            "8756dbdb47bbb5c12b2c9c80e777c40d6516d5bae60da4a309c857f7e26c8ddf",
        );
        check(
            "C:\\\u{10400}\\日本\\session.lock",
            "e9d4e93b20fff70e38c6ba18f93fea64480df0c003b1ef66f9760312ff3dcbe9",
        );
    }

    #[cfg(windows)]
    #[test]
    fn half_a_pair() {
        use std::os::windows::ffi::OsStringExt;
        let wide: Vec<u16> =
            r"C:\a".encode_utf16().chain([0xd800]).chain(r"b\session.lock".encode_utf16()).collect();
        let name = semaphore_name(Path::new(&std::ffi::OsString::from_wide(&wide)));
        let digest = "79d369232a83a60fa2208d6b83f5d4585eb42286c9f0366e5dd6cb095f40ee31";
        assert_eq!(name, format!(r"Local\dsh-session-lock-{digest}"));
    }
}
