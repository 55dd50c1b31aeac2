//! A named semaphore of count 1: who takes the one has the lock.
//!
//! No file is touched, so the folder can be read and even removed meanwhile. The semaphore is an object of the kernel
//! that lives as long as anybody has a handle to it. When a holder dies, its handle is closed but the count stays at
//! zero; the lock is free again since the object vanishes with its last handle, and the next writer makes a new one.
//! So a handle to a semaphore that others hold is never kept: while it is open, a dead holder would seem alive.
//!
//! `Local\` is the name space of one logon session. Two people on one machine, or a service and a desktop, do not see
//! each other's locks; that is dsh's choice, and a lock that it does not look at would help nobody.
#![expect(unsafe_code, reason = "the standard library has no named semaphores")]

use std::io;
use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
use std::path::{self, Path};
use std::ptr;

use windows_sys::Win32::Foundation::{HANDLE, WAIT_OBJECT_0, WAIT_TIMEOUT};
use windows_sys::Win32::System::Threading::{
    CreateSemaphoreW, OpenSemaphoreW, ReleaseSemaphore, SEMAPHORE_MODIFY_STATE, SYNCHRONIZATION_SYNCHRONIZE,
    WaitForSingleObject,
};

use super::semaphore_name::semaphore_name;
use crate::error::{Error, Result};

/// A semaphore whose count we took. Dropping it gives the count back, then closes the handle.
#[derive(Debug)]
pub(super) struct Held {
    semaphore: OwnedHandle,
}

impl Drop for Held {
    fn drop(&mut self) {
        // Closing alone would do unless somebody else has the semaphore open just now.
        // SAFETY: the handle is open as long as `self` is; no previous count is asked for.
        unsafe { ReleaseSemaphore(self.semaphore.as_raw_handle(), 1, ptr::null_mut()) };
    }
}

/// Take the semaphore that the lock file at `path` would be, made when nobody has it; `None` when it is taken.
pub(super) fn acquire(path: &Path) -> Result<Option<Held>> {
    let take = || take(create(&wide_name(path)?)?);
    take().map_err(|e| Error::io("lock", path, e))
}

/// Ask by taking and giving back. Nobody holds a semaphore that does not exist.
pub(super) fn is_held(path: &Path) -> Result<bool> {
    let ask = || match open(&wide_name(path)?)? {
        Some(semaphore) => Ok(take(semaphore)?.is_none()),
        None => Ok(false),
    };
    ask().map_err(|e| Error::io("look at the lock", path, e))
}

/// The name of the semaphore in UTF-16, closed by a zero.
///
/// The path is made absolute by the system, without looking at the disk. dsh does it by text alone; the two differ for
/// drive-relative paths and for parts that end in a dot or a space, neither of which a home has.
fn wide_name(path: &Path) -> io::Result<Vec<u16>> {
    Ok(semaphore_name(&path::absolute(path)?).encode_utf16().chain([0]).collect())
}

/// The semaphore of this name, made with count 1 unless it exists.
fn create(name: &[u16]) -> io::Result<OwnedHandle> {
    // SAFETY: `name` is closed by a zero and outlives the call; null attributes mean the default ones.
    owned(unsafe { CreateSemaphoreW(ptr::null(), 1, 1, name.as_ptr()) })
}

/// The semaphore of this name, if it exists.
fn open(name: &[u16]) -> io::Result<Option<OwnedHandle>> {
    let access = SYNCHRONIZATION_SYNCHRONIZE | SEMAPHORE_MODIFY_STATE;
    // SAFETY: `name` is closed by a zero and outlives the call; the handle is not inherited.
    match owned(unsafe { OpenSemaphoreW(access, 0, name.as_ptr()) }) {
        Ok(semaphore) => Ok(Some(semaphore)),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(e),
    }
}

/// A handle as the two calls above answer: null for a failure, which the system tells apart.
fn owned(handle: HANDLE) -> io::Result<OwnedHandle> {
    if handle.is_null() {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the handle is open, was made for us just now, and nobody else closes it.
    Ok(unsafe { OwnedHandle::from_raw_handle(handle) })
}

/// Take the count without waiting; `None`, and the handle closed, when it is taken.
fn take(semaphore: OwnedHandle) -> io::Result<Option<Held>> {
    // SAFETY: the handle is open and allows waiting; a time of 0 comes back at once.
    match unsafe { WaitForSingleObject(semaphore.as_raw_handle(), 0) } {
        WAIT_OBJECT_0 => Ok(Some(Held { semaphore })),
        WAIT_TIMEOUT => Ok(None),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    fn lock(name: &str) -> PathBuf {
        std::env::temp_dir().join(format!("dshlog-lock-{}", std::process::id())).join(name)
    }

    #[test]
    fn probing_makes_no_semaphore() {
        let path = lock("probe");
        assert!(!is_held(&path).unwrap());
        assert!(open(&wide_name(&path).unwrap()).unwrap().is_none());
        let held = acquire(&path).unwrap();
        assert!(is_held(&path).unwrap());
        drop(held);
        assert!(open(&wide_name(&path).unwrap()).unwrap().is_none());
    }

    #[test]
    fn a_probe_gives_back_what_it_took() {
        let path = lock("give-back");
        // Free, but somebody has it open: a writer that was refused, or one that just ends.
        let _open = create(&wide_name(&path).unwrap()).unwrap();
        for _ in 0..3 {
            assert!(!is_held(&path).unwrap());
        }
        assert!(acquire(&path).unwrap().is_some());
    }

    #[test]
    fn the_path_is_the_lock_case_and_separators_aside() {
        let path = lock("Mixed");
        let held = acquire(&path).unwrap();
        let text = path.to_str().unwrap();
        for same in [text.to_uppercase(), text.to_lowercase(), text.replace('\\', "/"), format!("{text}\\.")]
        {
            assert!(is_held(Path::new(&same)).unwrap(), "{same}");
        }
        assert!(!is_held(&lock("Mixed2")).unwrap());
        drop(held);
    }

    /// A holder that died closed its handle without giving the count back.
    #[test]
    fn a_dead_holder_is_forgotten_with_the_last_handle() {
        let path = lock("dead");
        let name = wide_name(&path).unwrap();
        let holder = create(&name).unwrap();
        // SAFETY: the handle is open.
        assert_eq!(unsafe { WaitForSingleObject(holder.as_raw_handle(), 0) }, WAIT_OBJECT_0);
        let other = open(&name).unwrap().unwrap();
        drop(holder);
        assert!(acquire(&path).unwrap().is_none(), "somebody keeps the semaphore alive at zero");
        drop(other);
        assert!(acquire(&path).unwrap().is_some());
    }
}
