//! Which process holds a write lock, where the system tells.

use std::path::Path;

/// Id of the process that holds the lock of the session in `folder`.
#[cfg(target_os = "linux")]
pub(super) fn of(folder: &Path) -> Option<u32> {
    use std::os::unix::fs::MetadataExt as _;
    let file = folder.join(dshlog_codec::home::LOCK_NAME).metadata().ok()?;
    holder(&std::fs::read_to_string("/proc/locks").ok()?, file.dev(), file.ino())
}

/// No other system tells.
#[cfg(not(target_os = "linux"))]
pub(super) fn of(_: &Path) -> Option<u32> {
    None
}

/// Out of lines such as `3: FLOCK  ADVISORY  WRITE 4711 08:01:12345 0 EOF`: device in hexadecimal, inode in decimal.
#[cfg(target_os = "linux")]
fn holder(locks: &str, device: u64, inode: u64) -> Option<u32> {
    let major = (device >> 8) & 0xfff | (device >> 32) & !0xfff;
    let minor = device & 0xff | (device >> 12) & !0xff;
    let place = format!("{major:02x}:{minor:02x}:{inode}");
    locks.lines().find_map(|line| {
        let mut words = line.split_whitespace().skip(1);
        // A line with an arrow is of one who waits.
        let is_lock = words.next() == Some("FLOCK");
        let pid = words.nth(2)?;
        (is_lock && words.next() == Some(&place)).then(|| pid.parse().ok())?
    })
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_kernel() {
        let locks = "1: POSIX  ADVISORY  WRITE 1 08:01:77 0 EOF\n\
                     2: FLOCK  ADVISORY  WRITE 4711 08:01:77 0 EOF\n\
                     2: -> FLOCK  ADVISORY  WRITE 12 08:01:78 0 EOF\n\
                     3: FLOCK  ADVISORY  READ  13 103:05:79 0 EOF\n";
        assert_eq!(holder(locks, 0x801, 77), Some(4711));
        assert_eq!(holder(locks, 0x801, 78), None);
        assert_eq!(holder(locks, 0x802, 77), None);
        assert_eq!(holder(locks, 0x1_0306, 79), None);
        assert_eq!(holder(locks, (0x103 << 8) | 5, 79), Some(13));
        assert_eq!(holder("", 0, 0), None);
    }
}
