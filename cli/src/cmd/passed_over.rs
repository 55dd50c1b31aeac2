//! What a walk over a root found besides sessions, told by the commands that work on all of them.

use dshlog_codec::home::{PassedOver, Walk, Why};

use crate::ctx::Ctx;
use crate::exit::shown;
use crate::render::units;

/// Say what was passed over. What may hold sessions is named with its reason, the rest is counted. `doing` says what
/// happens to a session that is named.
///
/// Gives the number of things that the system did not let be looked at, after which no command ends well.
pub(super) fn tell(ctx: &mut Ctx, walk: &Walk, doing: &str) -> u64 {
    let mut strays = 0;
    for passed in &walk.passed_over {
        match &passed.why {
            Why::FlatLog | Why::LinkedProject => {
                ctx.note(format!("passed over {}: {}", shown(&passed.path), reason(&passed.why)));
            }
            Why::Foreign | Why::Temp(_) | Why::NoLog => strays += 1,
            Why::Unreadable(_) => {}
        }
    }
    if strays > 0 {
        let is = if strays == 1 { "is" } else { "are" };
        ctx.note(format!(
            "passed over {} that {is} no session; `dshlog ls --all` says which",
            units::count(strays, "thing")
        ));
    }
    for link in walk.sessions.iter().filter(|session| !session.is_listed()) {
        ctx.note(format!("passed over {}, which is a link; named, it is {doing}", shown(&link.path)));
    }
    tell_unread(ctx, walk)
}

/// Name what the system did not let be looked at, and count it.
pub(super) fn tell_unread(ctx: &mut Ctx, walk: &Walk) -> u64 {
    let mut count = 0;
    for passed in unread(walk) {
        ctx.error(format!("{}: {}", shown(&passed.path), reason(&passed.why)));
        count += 1;
    }
    count
}

/// What the system did not let be looked at.
pub(super) fn unread(walk: &Walk) -> impl Iterator<Item = &PassedOver> {
    walk.passed_over.iter().filter(|passed| matches!(passed.why, Why::Unreadable(_)))
}

/// The code of what is no session.
pub(super) fn code(why: &Why) -> &'static str {
    match why {
        Why::Foreign => "foreign",
        Why::FlatLog => "flat-log",
        Why::Temp(_) => "leftover",
        Why::LinkedProject => "linked-project",
        Why::NoLog => "no-log",
        Why::Unreadable(_) => "io",
    }
}

/// The same for people.
pub(super) fn reason(why: &Why) -> String {
    let reason = match why {
        Why::Foreign => "no part of the layout",
        Why::FlatLog => "a log in the old flat layout; dsh refuses the whole root",
        Why::Temp(_) => "left behind by a writer that did not come to an end",
        Why::LinkedProject => "a link to a project folder, which dsh does not follow",
        Why::NoLog => "a folder without a log",
        Why::Unreadable(error) => return format!("cannot be looked at: {error}"),
    };
    reason.to_owned()
}
