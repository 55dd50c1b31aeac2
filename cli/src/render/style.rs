//! Colours by role. Only dim, bold and the sixteen colours that the terminal's theme defines, never black or white, so
//! that output reads on dark and on light ground.

use anstyle::{AnsiColor, Style};

/// What a piece of text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// Foreign text and everything without a role.
    Plain,
    /// Asides: sizes, times, rules, folded text.
    Dim,
    /// Names that the eye looks for.
    Strong,
    /// The title of the page.
    Title,
    /// The human.
    You,
    /// The agent.
    Agent,
    /// It worked; added lines.
    Good,
    /// It failed; removed lines.
    Bad,
    /// Worth a look.
    Warn,
    /// What a search found.
    Match,
}

impl Role {
    /// How it looks.
    pub(crate) fn style(self) -> Style {
        let style = Style::new();
        match self {
            Role::Plain => style,
            Role::Dim => style.dimmed(),
            Role::Strong => style.bold(),
            Role::Title => style.bold().underline(),
            Role::You => style.bold().fg_color(Some(AnsiColor::Cyan.into())),
            Role::Agent => style.bold().fg_color(Some(AnsiColor::Magenta.into())),
            Role::Good => style.fg_color(Some(AnsiColor::Green.into())),
            Role::Bad => style.fg_color(Some(AnsiColor::Red.into())),
            Role::Match => style.bold().fg_color(Some(AnsiColor::Yellow.into())),
            Role::Warn => style.fg_color(Some(AnsiColor::Yellow.into())),
        }
    }
}
