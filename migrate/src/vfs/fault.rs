//! A file system on which one call goes wrong.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use dshlog_codec::source::ReadAt;

use super::{Identity, NewFile, Vfs};

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The call fails and does nothing.
    Fails,
    /// The call does its work, and then says that it failed.
    FailsBehind,
    /// A write takes one byte only; any other call works. No error at all.
    Short,
    /// A write takes half of the bytes, and the next one says that the disk is full.
    Full,
    /// The process ends in front of the call: nothing from here on has any effect.
    Killed,
    /// The process ends behind the call.
    KilledBehind,
}

impl Fault {
    pub(crate) const ALL: [Fault; 6] =
        [Fault::Fails, Fault::FailsBehind, Fault::Short, Fault::Full, Fault::Killed, Fault::KilledBehind];
}

/// The calls, as they are told apart in a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Call {
    CreateNew,
    Open,
    Identity,
    Entry,
    Names,
    Link,
    RenameNew,
    MakeFolder,
    SyncFolder,
    Remove,
    Write,
    Sync,
    ReadAt,
}

type Rival = Box<dyn FnOnce() + Send>;

struct Plan {
    at: usize,
    fault: Option<Fault>,
    calls: AtomicUsize,
    record: Mutex<Vec<Call>>,
    struck: Mutex<Option<Call>>,
    dead: AtomicBool,
    rival: Mutex<Option<Rival>>,
}

/// A file system on which call number `at`, from 0, goes wrong.
pub(crate) struct FaultFs<F> {
    inner: F,
    plan: Arc<Plan>,
}

impl<F: Vfs> FaultFs<F> {
    fn with(inner: F, at: usize, fault: Option<Fault>, rival: Option<Rival>) -> Self {
        let plan = Plan {
            at,
            fault,
            calls: AtomicUsize::new(0),
            record: Mutex::default(),
            struck: Mutex::default(),
            dead: AtomicBool::new(false),
            rival: Mutex::new(rival),
        };
        FaultFs { inner, plan: Arc::new(plan) }
    }

    /// Nothing goes wrong; the calls are counted.
    pub(crate) fn counting(inner: F) -> Self {
        FaultFs::with(inner, usize::MAX, None, None)
    }

    /// Call `at` goes wrong.
    pub(crate) fn new(inner: F, at: usize, fault: Fault) -> Self {
        FaultFs::with(inner, at, Some(fault), None)
    }

    /// In front of call `at` somebody else does something.
    pub(crate) fn rival(inner: F, at: usize, act: impl FnOnce() + Send + 'static) -> Self {
        FaultFs::with(inner, at, None, Some(Box::new(act)))
    }

    /// The calls so far.
    pub(crate) fn calls(&self) -> Vec<Call> {
        self.plan.record.lock().unwrap().clone()
    }
}

impl<F> FaultFs<F> {
    /// The call that went wrong. Another thread reads ahead, so it need not be that of a run before.
    pub(crate) fn struck(&self) -> Option<Call> {
        *self.plan.struck.lock().unwrap()
    }
}

fn broken() -> io::Error {
    io::Error::other("made to fail")
}

fn killed() -> io::Error {
    io::Error::other("the process is dead")
}

impl Plan {
    fn call<T>(&self, call: Call, act: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        if self.dead.load(Ordering::Relaxed) {
            return Err(killed());
        }
        self.record.lock().unwrap().push(call);
        if self.calls.fetch_add(1, Ordering::Relaxed) != self.at {
            return act();
        }
        *self.struck.lock().unwrap() = Some(call);
        if let Some(rival) = self.rival.lock().unwrap().take() {
            rival();
        }
        match self.fault {
            None | Some(Fault::Short) => act(),
            Some(Fault::Fails | Fault::Full) => Err(broken()),
            Some(Fault::FailsBehind) => act().and(Err(broken())),
            Some(Fault::Killed) => {
                self.dead.store(true, Ordering::Relaxed);
                Err(killed())
            }
            Some(Fault::KilledBehind) => {
                let _ = act();
                self.dead.store(true, Ordering::Relaxed);
                Err(killed())
            }
        }
    }
}

impl<F: Vfs> Vfs for FaultFs<F> {
    fn create_new(&self, path: &Path) -> io::Result<Box<dyn NewFile>> {
        let inner = self.plan.call(Call::CreateNew, || self.inner.create_new(path))?;
        Ok(Box::new(Handle { inner, plan: Arc::clone(&self.plan), full: false }))
    }

    fn open(&self, path: &Path) -> io::Result<Arc<dyn ReadAt>> {
        let inner = self.plan.call(Call::Open, || self.inner.open(path))?;
        Ok(Arc::new(Reader { inner, plan: Arc::clone(&self.plan) }))
    }

    fn identity(&self, path: &Path) -> io::Result<Identity> {
        self.plan.call(Call::Identity, || self.inner.identity(path))
    }

    fn entry(&self, path: &Path) -> io::Result<Identity> {
        self.plan.call(Call::Entry, || self.inner.entry(path))
    }

    fn names(&self, folder: &Path) -> io::Result<Vec<OsString>> {
        self.plan.call(Call::Names, || self.inner.names(folder))
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.plan.call(Call::Link, || self.inner.link(from, to))
    }

    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.plan.call(Call::RenameNew, || self.inner.rename_new(from, to))
    }

    fn make_folder(&self, path: &Path) -> io::Result<()> {
        self.plan.call(Call::MakeFolder, || self.inner.make_folder(path))
    }

    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        self.plan.call(Call::SyncFolder, || self.inner.sync_folder(folder))
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.plan.call(Call::Remove, || self.inner.remove(path))
    }
}

struct Handle {
    inner: Box<dyn NewFile>,
    plan: Arc<Plan>,
    full: bool,
}

impl NewFile for Handle {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.full {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let is_here = self.plan.calls.load(Ordering::Relaxed) == self.plan.at;
        let (take, fault) = match self.plan.fault.filter(|_| is_here) {
            Some(Fault::Short) => (1, None),
            Some(Fault::Full) => (bytes.len() / 2, Some(())),
            _ => (bytes.len(), None),
        };
        if fault.is_some() {
            self.full = true;
            *self.plan.struck.lock().unwrap() = Some(Call::Write);
            self.plan.calls.fetch_add(1, Ordering::Relaxed);
            return if take == 0 {
                Err(io::ErrorKind::StorageFull.into())
            } else {
                self.inner.write(&bytes[..take])
            };
        }
        let inner = &mut self.inner;
        self.plan.call(Call::Write, || inner.write(&bytes[..take.min(bytes.len())]))
    }

    fn sync(&mut self) -> io::Result<()> {
        let inner = &mut self.inner;
        self.plan.call(Call::Sync, || inner.sync())
    }
}

struct Reader {
    inner: Arc<dyn ReadAt>,
    plan: Arc<Plan>,
}

impl ReadAt for Reader {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        self.plan.call(Call::ReadAt, || self.inner.read_at(buffer, offset))
    }

    fn len(&self) -> io::Result<u64> {
        self.inner.len()
    }
}
