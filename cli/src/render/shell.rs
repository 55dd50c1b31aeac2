//! Words of commands that a person copies into a shell.

use std::fmt::Write as _;
use std::path::Path;

use super::text::visible;

/// A path as one word of a shell. What would act on a terminal or hide from the eye is spelled in octal, in the quotes of
/// bash, zsh and POSIX 2024.
pub(crate) fn quoted(path: &Path) -> String {
    let text = path.to_str();
    if let Some(text) = text.filter(|text| visible(text) == *text) {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+=:@%,~".contains(c);
        if !text.is_empty() && !text.starts_with('~') && text.chars().all(is_plain) {
            return text.to_owned();
        }
        return format!("'{}'", text.replace('\'', r"'\''"));
    }
    let mut word = String::from("$'");
    for &byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'\'' | b'\\' => word.extend(['\\', char::from(byte)]),
            b' '..=b'~' => word.push(char::from(byte)),
            _ => drop(write!(word, "\\{byte:03o}")),
        }
    }
    word.push('\'');
    word
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_one_word() {
        for (path, expected) in [
            ("/h/sessions/--a--/session-1/x.tmp", "/h/sessions/--a--/session-1/x.tmp"),
            ("/h/a~0020b", "/h/a~0020b"),
            ("~/x", "'~/x'"),
            ("", "''"),
            ("/h/my home", "'/h/my home'"),
            ("/h/it's", r"'/h/it'\''s'"),
            ("/h/$(rm)", "'/h/$(rm)'"),
            ("/h/é", "'/h/é'"),
            ("/h/\u{1b}[31m'\\", r"$'/h/\033[31m\'\\'"),
            ("/h/a\nb", r"$'/h/a\012b'"),
            ("/h/\u{202e}x", r"$'/h/\342\200\256x'"),
        ] {
            assert_eq!(quoted(Path::new(path)), expected, "{path:?}");
        }
    }

    /// A shell hands on the very path.
    #[cfg(unix)]
    #[test]
    fn a_shell_reads_what_was_meant() {
        use std::ffi::OsStr;
        use std::os::unix::ffi::OsStrExt as _;
        use std::process::Command;
        for bytes in [&b"/a b/it's"[..], b"/\x1b[2J\n$(x)`\\", b"/\xff\xfe0", "/\u{202e}7".as_bytes()] {
            let word = quoted(Path::new(OsStr::from_bytes(bytes)));
            let Ok(output) = Command::new("bash").args(["-c", &format!("printf %s {word}")]).output() else {
                return eprintln!("no bash here: skipped");
            };
            assert_eq!(output.stdout, bytes, "{word}");
        }
    }
}
