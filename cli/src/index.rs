//! Where the index of a home lies, and how its troubles are told.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use dshlog_codec::home::absolute;
use dshlog_query::Error;
use dshlog_query::index::Progress;
use indicatif::ProgressBar;
use sha2::{Digest as _, Sha256};

use crate::ctx::Ctx;
use crate::exit::{Failure, shown};
use crate::render::progress::bytes_bar;

/// The folder of the index: the one that was named, else one of this home's own among the caches.
pub(crate) fn folder(ctx: &Ctx, named: Option<&Path>) -> Result<PathBuf, Failure> {
    if let Some(named) = named {
        return Ok(absolute(ctx.cwd(), named));
    }
    let root = ctx.home()?.root;
    // Two names of one root are one home.
    let root = root.canonicalize().unwrap_or(root);
    let id = digest(root.as_os_str().as_encoded_bytes(), 6);
    let home = root.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy();
    let name: String =
        home.chars().filter(|c| c.is_ascii_alphanumeric() || "-_".contains(*c)).take(40).collect();
    let name = if name.is_empty() { id } else { format!("{name}-{id}") };
    let cache = ctx.cache().ok_or_else(|| {
        Failure::not_found("no folder for caches: neither XDG_CACHE_HOME nor a home folder is known")
            .hint("`--index DIR` names a folder for the index")
    })?;
    Ok(cache.join("dshlog").join(name))
}

/// The first `count` bytes of the digest of something, in hex.
pub(crate) fn digest(of: &[u8], count: usize) -> String {
    let mut hex = String::new();
    for byte in Sha256::digest(of).iter().take(count) {
        let _ = write!(hex, "{byte:02x}");
    }
    hex
}

/// What a trouble of the index is to the user.
#[expect(clippy::needless_pass_by_value, reason = "this is what `map_err` gives")]
pub(crate) fn failure(error: Error) -> Failure {
    match &error {
        Error::NoIndex(path) => Failure::not_found(format!("no index in {}", shown(path)))
            .hint("`dshlog index` makes one; `--index DIR` names another folder"),
        Error::Foreign { .. } => {
            Failure::refused(&error).hint("`--index DIR` names a folder that is empty, not there, or an index")
        }
        Error::OtherRoot { .. } => Failure::refused(&error)
            .hint("`--index DIR` names another folder; `dshlog index --rebuild` makes this one anew"),
        Error::Newer { .. } => Failure::refused(&error)
            .hint("use the dshlog that made it, another `--index DIR`, or delete the folder: an index comes to be anew"),
        Error::Locked(path) => Failure::refused(format!("another process is writing to the index in {}", shown(path)))
            .hint("without `--no-wait` it is waited for"),
        Error::Damaged { .. } | Error::Outdated { .. } => {
            Failure::failed(&error).hint("`dshlog index` makes it anew")
        }
        Error::Cursor(_) => Failure::usage(&error),
        _ => {
            let failure = Failure::failed(format!("the index: {}", chain(&error)));
            if is_full(&error) {
                return failure.hint("free some space, or name a folder on another disk with `--index DIR`");
            }
            failure
        }
    }
}

/// An error with what caused it, each once.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        cause = error.source();
    }
    text
}

fn is_full(error: &Error) -> bool {
    let text = chain(error);
    ["No space left", "database or disk is full", "File too large", "StorageFull"]
        .iter()
        .any(|sign| text.contains(sign))
}

/// Shows how an update goes on: a bar where somebody watches, and what must be said.
pub(crate) struct Bar {
    is_shown: bool,
    drawn: Mutex<Option<ProgressBar>>,
    told: Mutex<Vec<String>>,
}

impl Bar {
    /// A bar where the context shows progress.
    pub(crate) fn new(ctx: &Ctx) -> Self {
        Bar { is_shown: ctx.shows_progress(), drawn: Mutex::default(), told: Mutex::default() }
    }

    /// Take the bar away, and give what is to be said.
    pub(crate) fn end(&self) -> Vec<String> {
        if let Some(bar) = lock(&self.drawn).take() {
            bar.finish_and_clear();
        }
        std::mem::take(&mut lock(&self.told))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

impl Progress for Bar {
    fn begin(&self, logs: u64, bytes: u64) {
        // Little is done before anybody has read the bar.
        if self.is_shown && bytes > 1 << 20 {
            *lock(&self.drawn) = Some(bytes_bar(bytes, &crate::render::units::count(logs, "log")));
        }
    }

    fn advance(&self, bytes: u64) {
        if let Some(bar) = &*lock(&self.drawn) {
            bar.inc(bytes);
        }
    }

    fn tell(&self, what: &str) {
        lock(&self.told).push(what.to_owned());
    }
}
