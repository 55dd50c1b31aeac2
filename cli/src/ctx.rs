//! What the process was given: environment, streams, clock. Nothing else in the program looks at them.

use std::cell::OnceCell;
use std::fmt;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use dshlog_codec::home::{Asked, Home, Surroundings};
use jiff::tz::TimeZone;

use crate::args::{Format, Global};
use crate::exit::Failure;
use crate::pager::Pager;
use crate::render::style::Role;
use crate::render::term::{Terminal, colored};
use crate::render::text::visible;

/// Values from the environment.
#[derive(Clone, Debug, Default)]
pub(crate) struct Environment {
    /// `DSHLOG_PAGER`, else `PAGER`.
    pub(crate) pager: Option<String>,
    /// `LESS` is set.
    pub(crate) less: bool,
    /// The terminal is said to know ASCII only.
    pub(crate) ascii: bool,
}

/// Where a command runs.
#[expect(clippy::struct_excessive_bools, reason = "facts that do not depend on each other")]
pub(crate) struct Ctx {
    /// Values from the environment.
    pub(crate) environment: Environment,
    /// Facts about the terminal.
    pub(crate) terminal: Terminal,
    /// Colours on stdout.
    pub(crate) color: bool,
    cwd: PathBuf,
    started: SystemTime,
    home: Option<PathBuf>,
    root: Option<PathBuf>,
    format: Option<Format>,
    color_err: bool,
    quiet: bool,
    verbose: bool,
    pager: Option<Pager>,
    wants_pager: bool,
    zone: OnceCell<TimeZone>,
    out: Box<dyn Write>,
    err: Box<dyn Write>,
}

impl Ctx {
    /// The context of this process.
    pub(crate) fn from_process(global: &Global) -> Self {
        let var = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let text = |name: &str| var(name).and_then(|value| value.into_string().ok());
        let terminal = Terminal::of_process(global.width, text("COLUMNS").as_deref());
        let is_dumb = text("TERM").as_deref() == Some("dumb");
        let no_color = var("NO_COLOR").is_some() || is_dumb;
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(text);
        if global.verbose > 0 {
            init_tracing(global.verbose);
        }
        Ctx {
            environment: Environment {
                pager: text("DSHLOG_PAGER").or_else(|| text("PAGER")),
                less: var("LESS").is_some(),
                ascii: is_dumb || locale.is_some_and(|locale| names_other_charset(&locale)),
            },
            cwd: std::env::current_dir().unwrap_or_default(),
            // A moment to pretend, so that what depends on the clock can be tested: epoch seconds.
            started: text("DSHLOG_NOW")
                .and_then(|now| UNIX_EPOCH.checked_add(Duration::from_secs(now.parse().ok()?)))
                .unwrap_or_else(SystemTime::now),
            home: global.home.clone(),
            root: global.root.clone(),
            terminal,
            color: colored(global.color, terminal.stdout, no_color),
            format: global.format,
            color_err: colored(global.color, terminal.stderr, no_color),
            quiet: global.quiet,
            verbose: global.verbose > 0,
            pager: None,
            wants_pager: terminal.stdout && !global.no_pager,
            zone: OnceCell::new(),
            out: Box::new(io::BufWriter::with_capacity(64 * 1024, io::stdout())),
            err: Box::new(io::stderr()),
        }
    }

    /// The working directory; a lost one is told by the first path that needs it.
    pub(crate) fn cwd(&self) -> &Path {
        &self.cwd
    }

    /// The home to look at, by switches and environment.
    pub(crate) fn home(&self) -> Result<Home, dshlog_codec::Error> {
        let asked = Asked { home: self.home.as_deref(), root: self.root.as_deref() };
        Home::resolve(asked, Surroundings { var: &|name| std::env::var_os(name), cwd: &self.cwd })
    }

    /// The folder for what can be made anew: `$XDG_CACHE_HOME`, else where this system keeps such things.
    #[expect(clippy::unused_self, reason = "what the environment says is asked of the context")]
    pub(crate) fn cache(&self) -> Option<PathBuf> {
        use etcetera::BaseStrategy as _;
        etcetera::choose_base_strategy().ok().map(|strategy| strategy.cache_dir())
    }

    /// True when a switch names the home or the root.
    pub(crate) fn names_place(&self) -> bool {
        self.home.is_some() || self.root.is_some()
    }

    /// The home folder of the user.
    #[expect(clippy::unused_self, reason = "what the environment says is asked of the context")]
    pub(crate) fn user_home(&self) -> Option<PathBuf> {
        etcetera::home_dir().ok()
    }

    /// The dsh of this machine: `$DSHLOG_DSH`, else what `PATH` has.
    pub(crate) fn dsh(&self) -> PathBuf {
        let named = std::env::var_os("DSHLOG_DSH").filter(|path| !path.is_empty()).map(PathBuf::from);
        match named {
            // It is run elsewhere.
            Some(path) if path.components().count() > 1 => self.cwd.join(path),
            // A name alone is looked for in PATH.
            Some(name) => name,
            None => "dsh".into(),
        }
    }

    /// Whether to show everything: `-v`.
    pub(crate) fn is_verbose(&self) -> bool {
        self.verbose
    }

    /// Stdout, or the pager.
    pub(crate) fn out(&mut self) -> &mut dyn Write {
        &mut *self.out
    }

    /// Stdout for somebody who never gives it back; nothing is written to it from then on.
    pub(crate) fn take_out(&mut self) -> Box<dyn Write> {
        std::mem::replace(&mut self.out, Box::new(io::sink()))
    }

    /// `--format`, which must be one of those that the command offers; the first is the default.
    pub(crate) fn format(&self, offered: &[Format]) -> Result<Format, Failure> {
        match self.format {
            None => Ok(offered[0]),
            Some(format) if offered.contains(&format) => Ok(format),
            Some(format) => {
                let names: Vec<&str> = offered.iter().map(|offer| offer.name()).collect();
                Err(Failure::usage(format!("`--format {}` is not offered here", format.name()))
                    .hint(format!("it offers: {}", names.join(", "))))
            }
        }
    }

    /// `--format`, when it was given.
    pub(crate) fn asked_format(&self) -> Option<Format> {
        self.format
    }

    /// Send what follows through a pager, when there is a person to page.
    pub(crate) fn page(&mut self) {
        if self.wants_pager
            && self.pager.is_none()
            && let Some((pager, input)) = Pager::start(&self.environment)
        {
            self.out = Box::new(io::BufWriter::new(input));
            self.pager = Some(pager);
        }
    }

    /// Say something useful that is not the result.
    pub(crate) fn note(&mut self, text: impl fmt::Display) {
        if !self.quiet {
            self.say("note", Role::Dim, &text.to_string());
        }
    }

    /// Say that something is not as it should be, though the result stands.
    pub(crate) fn warn(&mut self, text: impl fmt::Display) {
        if !self.quiet {
            self.say("warning", Role::Warn, &text.to_string());
        }
    }

    /// Say what went wrong.
    pub(crate) fn error(&mut self, text: impl fmt::Display) {
        self.say("error", Role::Bad, &text.to_string());
    }

    /// Say what to do next.
    pub(crate) fn hint(&mut self, text: impl fmt::Display) {
        self.say("hint", Role::Good, &text.to_string());
    }

    fn say(&mut self, label: &str, role: Role, text: &str) {
        let text = visible(text);
        let _ = self.out.flush();
        // A broken stderr leaves nobody to tell.
        let _ = if self.color_err {
            let style = role.style();
            writeln!(self.err, "{style}{label}:{style:#} {text}")
        } else {
            writeln!(self.err, "{label}: {text}")
        };
    }

    /// Nothing but results and errors is wanted.
    pub(crate) fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// Whether to draw progress: somebody watches, and did not ask for silence.
    pub(crate) fn shows_progress(&self) -> bool {
        self.terminal.stderr && !self.quiet
    }

    /// Time zone of the reader.
    pub(crate) fn zone(&self) -> &TimeZone {
        self.zone.get_or_init(TimeZone::system)
    }

    /// When the program began, in epoch milliseconds.
    pub(crate) fn now(&self) -> i64 {
        let since = self.started.duration_since(UNIX_EPOCH).unwrap_or_default();
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    }

    /// Write out what is buffered, and wait for the pager.
    pub(crate) fn close(&mut self) -> io::Result<()> {
        let flushed = self.out.flush();
        self.out = Box::new(io::sink());
        if let Some(pager) = self.pager.take() {
            pager.wait();
        }
        flushed
    }
}

/// True for a locale such as `de_DE.ISO-8859-1`. One that names none tells nothing: `C` is what many UTF-8 terminals have.
fn names_other_charset(locale: &str) -> bool {
    let charset = locale.split_once('.').map(|(_, rest)| rest.split('@').next().unwrap_or(rest));
    charset.is_some_and(|charset| !matches!(&*charset.to_ascii_lowercase(), "utf-8" | "utf8"))
}

fn init_tracing(verbose: u8) {
    use tracing_subscriber::filter::LevelFilter;
    let level = if verbose > 1 { LevelFilter::TRACE } else { LevelFilter::DEBUG };
    tracing_subscriber::fmt().with_max_level(level).with_writer(io::stderr).with_ansi(false).init();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locales_that_are_not_of_unicode() {
        for (locale, expected) in [
            ("C", false),
            ("POSIX", false),
            ("en_US.UTF-8", false),
            ("C.utf8", false),
            ("de_DE.utf-8@euro", false),
            ("de_DE@euro", false),
            ("de_DE.ISO-8859-1", true),
            ("zh_CN.GB18030", true),
        ] {
            assert_eq!(names_other_charset(locale), expected, "{locale}");
        }
    }
}
