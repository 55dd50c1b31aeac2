//! Progress of long work, on stderr and only where somebody watches.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use super::text::visible;
use super::units;

/// A bar, or nothing.
pub(crate) struct Progress(Option<ProgressBar>);

impl Progress {
    /// A bar of `total` steps; nothing unless `shown`.
    pub(crate) fn new(shown: bool, total: u64, what: &'static str) -> Self {
        let bar = shown.then(|| bar(total, "{bar:30} {pos}/{len} {msg}"));
        if let Some(bar) = &bar {
            bar.set_message(what);
        }
        Progress(bar)
    }

    /// One step is done.
    pub(crate) fn step(&self) {
        if let Some(bar) = &self.0 {
            bar.inc(1);
        }
    }

    /// Write something without the bar in between.
    pub(crate) fn suspend<R>(&self, write: impl FnOnce() -> R) -> R {
        match &self.0 {
            Some(bar) => bar.suspend(write),
            None => write(),
        }
    }

    /// All is done.
    pub(crate) fn end(self) {
        if let Some(bar) = self.0 {
            bar.finish_and_clear();
        }
    }
}

/// A bar for pieces of work of known sizes, which several threads move.
pub(crate) struct SizedProgress {
    bar: Progress,
    pieces: u64,
    done: AtomicU64,
}

impl SizedProgress {
    /// A bar for so many pieces of work with so many bytes in all; nothing unless `shown`.
    pub(crate) fn new(shown: bool, pieces: u64, bytes: u64) -> Self {
        const LINE: &str = "{bar:20} {prefix} · {done} of {all} · {eta} left · {wide_msg}";
        let progress =
            SizedProgress { bar: Progress(shown.then(|| bar(bytes, LINE))), pieces, done: AtomicU64::new(0) };
        progress.count(0);
        progress
    }

    /// A piece of `size` bytes is begun.
    pub(crate) fn begin(&self, name: &str, size: u64) -> Piece<'_> {
        if let Some(bar) = &self.bar.0 {
            // A name may hold what a terminal would obey.
            bar.set_message(visible(name).into_owned());
        }
        Piece { progress: self, size, told: 0 }
    }

    /// Write something without the bar in between.
    pub(crate) fn suspend<R>(&self, write: impl FnOnce() -> R) -> R {
        self.bar.suspend(write)
    }

    /// All is done.
    pub(crate) fn end(self) {
        self.bar.end();
    }

    fn count(&self, more: u64) {
        let done = self.done.fetch_add(more, Ordering::Relaxed) + more;
        if let Some(bar) = &self.bar.0 {
            bar.set_prefix(format!("{done}/{}", self.pieces));
        }
    }
}

/// A piece of work; it is done when this is dropped.
pub(crate) struct Piece<'p> {
    progress: &'p SizedProgress,
    size: u64,
    told: u64,
}

/// Moving a bar costs more than an event does.
const STRIDE: u64 = 64 << 10;

impl Piece<'_> {
    /// The work has come to this byte; it may begin anew.
    pub(crate) fn at(&mut self, byte: u64) {
        if byte >= self.told + STRIDE {
            self.tell(byte);
        }
    }

    fn tell(&mut self, byte: u64) {
        let byte = byte.min(self.size);
        if let Some(bar) = &self.progress.bar.0 {
            bar.inc(byte.saturating_sub(self.told));
        }
        self.told = self.told.max(byte);
    }
}

impl Drop for Piece<'_> {
    fn drop(&mut self) {
        self.tell(self.size);
        self.progress.count(1);
    }
}

/// A bar for an amount of bytes that is read by others.
pub(crate) fn bytes_bar(bytes: u64, what: &str) -> ProgressBar {
    let bar = bar(bytes, "{bar:30} {done} of {all} · {eta} left · reading {msg}");
    bar.set_message(what.to_owned());
    bar
}

fn bar(total: u64, line: &str) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr());
    if let Ok(style) = ProgressStyle::with_template(line) {
        bar.set_style(
            style
                .with_key("done", |state: &ProgressState, out: &mut dyn Write| {
                    let _ = out.write_str(&units::bytes(state.pos()));
                })
                .with_key("all", |state: &ProgressState, out: &mut dyn Write| {
                    let _ = out.write_str(&units::bytes(state.len().unwrap_or_default()));
                }),
        );
    }
    bar
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_add_up_whatever_they_told() {
        let bar = ProgressBar::with_draw_target(Some(300 << 10), ProgressDrawTarget::hidden());
        let progress = SizedProgress { bar: Progress(Some(bar.clone())), pieces: 2, done: AtomicU64::new(0) };
        let mut piece = progress.begin("a", 100 << 10);
        // A second try begins at the front, and a log may have grown.
        for byte in [70 << 10, 1, 80 << 10, 900 << 10] {
            piece.at(byte);
        }
        assert_eq!(bar.position(), 100 << 10);
        drop(piece);
        drop(progress.begin("b", 200 << 10));
        assert_eq!((bar.position(), bar.prefix().as_str()), (300 << 10, "2/2"));
    }
}
