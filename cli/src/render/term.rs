//! What the terminal can do.

use std::io::IsTerminal as _;

use crate::args::When;

/// Columns when nobody says otherwise.
const DEFAULT_WIDTH: usize = 100;
/// Lines of prose longer than this are hard to read, however wide the window is.
const WIDEST: usize = 120;
/// Below this nothing can be laid out.
const NARROWEST: usize = 40;

/// Facts about where output goes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terminal {
    /// Stdout is a terminal.
    pub(crate) stdout: bool,
    /// Stderr is a terminal.
    pub(crate) stderr: bool,
    /// Columns to fill.
    pub(crate) width: usize,
}

impl Terminal {
    /// Look at the process's own streams. `asked` is `--width`, `columns` the variable `COLUMNS`.
    pub(crate) fn of_process(asked: Option<u16>, columns: Option<&str>) -> Self {
        let stdout = std::io::stdout().is_terminal();
        let measured = || {
            if stdout { terminal_size::terminal_size().map(|(width, _)| usize::from(width.0)) } else { None }
        };
        let width = match asked {
            Some(width) => usize::from(width),
            None => columns
                .and_then(|text| text.parse().ok())
                .or_else(measured)
                .map_or(DEFAULT_WIDTH, |width: usize| width.min(WIDEST)),
        };
        Terminal { stdout, stderr: std::io::stderr().is_terminal(), width: width.max(NARROWEST) }
    }
}

/// Whether to colour a stream.
pub(crate) fn colored(when: When, is_terminal: bool, no_color: bool) -> bool {
    match when {
        When::Always => true,
        When::Never => false,
        When::Auto => is_terminal && !no_color,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_follow_the_switch_before_the_environment() {
        for (when, terminal, no_color, expected) in [
            (When::Auto, true, false, true),
            (When::Auto, true, true, false),
            (When::Auto, false, false, false),
            (When::Always, false, true, true),
            (When::Never, true, false, false),
        ] {
            assert_eq!(colored(when, terminal, no_color), expected, "{when:?} {terminal} {no_color}");
        }
    }

    #[test]
    fn width_has_bounds() {
        for (asked, columns, expected) in
            [(Some(200), None, 200), (None, Some("200"), 120), (None, Some("20"), 40), (None, Some("x"), 100)]
        {
            assert_eq!(Terminal::of_process(asked, columns).width, expected, "{asked:?} {columns:?}");
        }
    }
}
