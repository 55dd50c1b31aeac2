//! What the logs of a root amount to: refusals by rule, tails, old formats, events of unknown types.

use std::collections::BTreeMap;

use super::finding::{Blocks, By, Finding, Mend, Severity, Subject};
use super::look::{Fate, Lock, Session, is_foreign, is_too_large};
use super::{Seen, mend};
use crate::render::shell::quoted;
use crate::render::units;

/// Everything that the logs tell.
pub(super) fn findings(seen: &Seen<'_>) -> Vec<Finding> {
    let mut found = refusals(seen);
    found.extend(older_beside(seen));
    found.extend(too_large(seen));
    found.extend(windows(seen));
    found.extend(torn(seen));
    found.extend(not_judged(seen));
    found.extend(old_format(seen));
    found.extend(older_generations(seen));
    found.extend(ignorable(seen));
    found
}

/// One finding a rule, and a way of mending it.
fn refusals(seen: &Seen<'_>) -> Vec<Finding> {
    let mut rules: BTreeMap<(&'static str, Blocks, Mend), Vec<Subject>> = BTreeMap::new();
    let of = |session| move |fault| (session, fault);
    let faults = seen.sessions.iter().flat_map(|session| session.faults.iter().map(of(session)));
    for (session, fault) in faults {
        let (mend, commands) = mend::refusal(session, fault, &seen.home.root);
        let subject = Subject {
            at: fault.at.clone(),
            writer: Some(fault.writer.clone()),
            ..Subject::session(session).detail(fault.message.clone()).commands(commands)
        };
        rules.entry((fault.code, fault.blocks, mend)).or_default().push(subject);
    }
    let finding = |((code, blocks, mend), subjects)| {
        let severity = if blocks == Blocks::Nothing { Severity::Warning } else { Severity::Error };
        Finding::of(severity, code, blocks, mend, subjects)
    };
    rules.into_iter().filter_map(finding).collect()
}

/// Refused logs with an older generation beside them.
fn older_beside(seen: &Seen<'_>) -> Option<Finding> {
    let refused = seen.sessions.iter().filter(|session| {
        !session.faults.is_empty() && session.faults.iter().all(|fault| fault.blocks == Blocks::Session)
    });
    let subjects = refused.filter_map(|session| {
        let older = session.older.last()?;
        let subject = Subject::session(session).detail(older.generation.to_string());
        let verify = format!("dshlog verify {}", quoted(&older.path));
        let mut name = session.path().to_owned().into_os_string();
        name.push(".set-aside");
        let hide = format!("mv -n -- {} {}", quoted(session.path()), quoted(std::path::Path::new(&name)));
        let is_free = session.lock.is_free();
        Some(
            Subject { path: older.path.clone(), ..subject }
                .commands([verify, hide].into_iter().filter(|_| is_free)),
        )
    });
    let text = "when it is sound and the newer one set aside, dsh carries it over anew; what was written to the newer one \
                since is not in it";
    let mend = Mend::new(By::Command, text);
    Finding::of(Severity::Note, "older-beside", Blocks::Nothing, mend, subjects.collect())
}

fn too_large(seen: &Seen<'_>) -> Option<Finding> {
    let large = seen.sessions.iter().filter_map(|session| {
        let file = session.file.as_ref().filter(|file| is_too_large(file))?;
        Some(Subject::session(session).detail(units::bytes(file.len)).bytes(file.len))
    });
    let mend = Mend::new(By::Nothing, "nothing can yet; dshlog reads it");
    Finding::of(Severity::Error, "too-large", Blocks::Session, mend, large.collect())
}

fn windows(seen: &Seen<'_>) -> Option<Finding> {
    let of_windows = seen.sessions.iter().filter_map(|session| {
        let header = session.header.as_ref().filter(|header| is_foreign(header))?;
        let cwd = header.cwd.as_ref().map(|cwd| cwd.to_lossy().into_owned());
        Some(Subject::session(session).detail(cwd.unwrap_or_default()))
    });
    let mend = Mend::new(By::Nothing, "nothing can yet; dshlog reads it, and so does dsh on Windows");
    Finding::of(Severity::Error, "windows-cwd", Blocks::Session, mend, of_windows.collect())
}

/// Torn tails, apart for formats that dsh appends to and those that it carries over.
fn torn(seen: &Seen<'_>) -> Vec<Finding> {
    let (mut current, mut old) = (Vec::new(), Vec::new());
    for session in seen.sessions.iter().filter(|session| session.faults.is_empty()) {
        let Some(tail) = session.tail else { continue };
        let events = match tail.recovered {
            Some(1) => ", 1 event of it is kept".to_owned(),
            Some(kept) if kept > 0 => format!(", {} of it are kept", units::count(kept, "event")),
            _ => String::new(),
        };
        let subject = Subject::session(session)
            .detail(format!("{}{events}", units::bytes(tail.bytes)))
            .bytes(tail.bytes);
        if tail.recovered.is_some() || matches!(session.fate, Fate::Current) {
            current.push(subject);
        } else {
            old.push(subject);
        }
    }
    let dsh = Mend::new(By::Dsh, "dsh does, at its next write to the session");
    let upgrade =
        Mend::new(By::Dsh, "the upgrade does: it leaves the tail behind in the old file, which stays");
    [(dsh, current), (upgrade, old)]
        .into_iter()
        .filter_map(|(mend, tails)| Finding::of(Severity::Warning, "torn-tail", Blocks::Nothing, mend, tails))
        .collect()
}

fn not_judged(seen: &Seen<'_>) -> Option<Finding> {
    // Of a lock that does not tell there is a finding of its own.
    let is_locked = |session: &&Session| {
        let is_unknown = matches!(session.lock, Lock::Unknown(_));
        matches!(session.fate, Fate::NotJudged) && session.faults.is_empty() && !is_unknown
    };
    let locked = seen.sessions.iter().filter(is_locked);
    let mend = Mend::new(By::Person, "end the dsh that is at work on it, then look again");
    let subjects = locked.map(Subject::session).collect();
    Finding::of(Severity::Warning, "not-judged", Blocks::Nothing, mend, subjects)
}

fn old_format(seen: &Seen<'_>) -> Option<Finding> {
    let old = seen.sessions.iter().filter(|session| matches!(session.fate, Fate::Migrates));
    let subjects = old.map(|session| {
        let version = session.file.as_ref().map(|file| file.generation.to_string());
        Subject::session(session).detail(version.unwrap_or_default())
    });
    let mend =
        Mend::new(By::Command, "dsh does when it opens one; this does it for all, and keeps the old files");
    let finding = Finding::of(Severity::Note, "old-format", Blocks::Nothing, mend, subjects.collect())?;
    Some(Finding { command: Some(format!("dshlog migrate --all{}", seen.arguments)), ..finding })
}

/// Older generations beside logs that nothing is wrong with.
fn older_generations(seen: &Seen<'_>) -> Option<Finding> {
    let carried =
        seen.sessions.iter().filter(|session| session.faults.is_empty() && !session.older.is_empty());
    let subjects = carried.map(|session: &Session| {
        let bytes = session.older.iter().map(|file| file.len).sum();
        let names: Vec<String> = session.older.iter().map(|file| file.generation.to_string()).collect();
        Subject::session(session).detail(format!("{}, {}", names.join(" "), units::bytes(bytes))).bytes(bytes)
    });
    let mend = Mend::new(
        By::Nobody,
        "nothing is to be mended: they are the way back to an older dsh. `dshlog verify` says whether they tell the same \
         as the newest; that was not looked at here",
    );
    Finding::of(Severity::Note, "older-generations", Blocks::Nothing, mend, subjects.collect())
}

fn ignorable(seen: &Seen<'_>) -> Option<Finding> {
    let with = seen.sessions.iter().filter(|session| !session.ignorable.is_empty());
    let subjects = with.map(|session| {
        let types = session.ignorable.iter();
        let types: Vec<String> =
            types.map(|(name, count)| format!("{} {name}", units::grouped(*count))).collect();
        Subject::session(session).detail(types.join(", "))
    });
    let mend = Mend::new(By::Nobody, "nothing is to be mended");
    Finding::of(Severity::Note, "ignorable-event", Blocks::Nothing, mend, subjects.collect())
}
