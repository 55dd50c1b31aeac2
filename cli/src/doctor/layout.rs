//! What lies around the logs: the layout of the root, strays, leftovers, locks.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use dshlog_codec::Encoding;
use dshlog_codec::home::{Refusal, Temp, Walk, Why, root_refusals};
use dshlog_query::store::Store;

use super::finding::{Blocks, By, Finding, Mend, Severity, Subject};
use super::look::{Beside, Leftover, Lock, Session};
use super::{Seen, below, mend, millis};
use crate::exit::without_place;
use crate::render::shell::quoted;
use crate::render::units;
use crate::stores;

const UNREADABLE: &str = "unreadable";
const LOCK_UNKNOWN: &str = "lock-unknown";

/// Codes of what the system did not let be looked at.
pub(super) const UNREAD: [&str; 2] = [UNREADABLE, LOCK_UNKNOWN];

/// Everything that the folders tell.
pub(super) fn findings(seen: &Seen<'_>) -> Vec<Finding> {
    let mut found = root_wide(seen);
    found.extend(raw_root(seen));
    found.extend(duplicates(seen));
    found.extend(in_the_way(seen));
    found.extend(links(seen));
    found.extend(leftovers(seen));
    found.extend(locks(seen));
    found.extend(strays(seen));
    found
}

/// The encoding of most sessions; where both are as frequent, that of the stock profiles.
fn encoding(seen: &Seen<'_>) -> Encoding {
    let raw = seen.sessions.iter().filter_map(|s| s.file.as_ref()).filter(|f| f.encoding == Encoding::Raw);
    if raw.count() * 2 > seen.sessions.len() { Encoding::Raw } else { Encoding::Zstd }
}

/// What hides every session of the root.
fn root_wide(seen: &Seen<'_>) -> Vec<Finding> {
    let root = &seen.home.root;
    let by_folder: HashMap<&Path, &Session> =
        seen.sessions.iter().map(|session| (session.folder.as_path(), session)).collect();
    let (mut flat, mut other) = (Vec::new(), BTreeMap::new());
    for refusal in root_refusals(seen.walk, encoding(seen)) {
        let path = refusal.path();
        let Refusal::OtherEncoding(_) = refusal else {
            flat.push(Subject::thing(path).commands([mend::aside(root, path)]));
            continue;
        };
        let session = path.parent().and_then(|folder| by_folder.get(folder));
        // Both in one folder is a fault of that session, which is told with the refusals.
        if let Some(session) = session.filter(|session| !session.is_mixed()) {
            other.entry(&session.folder).or_insert_with(|| away(seen, session));
        }
    }
    let flat_mend = Mend::new(By::Command, "set aside, it no longer hides the sessions");
    let name = match encoding(seen) {
        Encoding::Raw => "compressed",
        Encoding::Zstd => "raw",
    };
    let text = format!(
        "give the {name} ones a home of their own, and name it in DSH_HOME for the profile that reads them"
    );
    let other = other.into_values().collect();
    [
        Finding::of(Severity::Error, "flat-log", Blocks::Root, flat_mend, flat),
        Finding::of(Severity::Error, "mixed-root", Blocks::Root, Mend::new(By::Command, text), other),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// A session in the rarer encoding, and its way out of the root.
fn away(seen: &Seen<'_>, session: &Session) -> Subject {
    let root = &seen.home.root;
    let encoding = session.file.as_ref().map_or("", |file| file.encoding.name());
    let mut home = seen.home.path.as_deref().unwrap_or(root).to_owned().into_os_string();
    home.push(format!("-{encoding}"));
    let command = mend::to_home(Path::new(&home), root, &session.folder);
    let is_free = session.lock.is_free();
    Subject::session(session).detail(encoding).commands([command].into_iter().filter(|_| is_free))
}

fn raw_root(seen: &Seen<'_>) -> Option<Finding> {
    let is_raw = |session: &Session| session.file.as_ref().is_some_and(|file| file.encoding == Encoding::Raw);
    let all = !seen.sessions.is_empty() && seen.sessions.iter().all(is_raw);
    let subjects = all.then(|| Subject::thing(&seen.home.root)).into_iter().collect();
    let mend = Mend::new(By::Nobody, "nothing is to be mended while only such profiles use this home");
    Finding::of(Severity::Note, "raw-root", Blocks::Nothing, mend, subjects)
}

/// The same folder name in two projects. A header leads to one of them only, so one is most often refused for its
/// identity, too.
fn duplicates(seen: &Seen<'_>) -> Option<Finding> {
    let mut by_name: BTreeMap<&OsStr, Vec<&Session>> = BTreeMap::new();
    for session in seen.sessions {
        by_name.entry(session.folder.file_name().unwrap_or_default()).or_default().push(session);
    }
    let several = by_name.into_values().filter(|sessions| sessions.len() > 1).flatten();
    let subjects = several.map(|session| {
        let is_misplaced = session.is_misplaced();
        let which = if is_misplaced { "its header leads elsewhere" } else { "" };
        let subject = Subject::session(session).detail(which);
        if !session.lock.is_free() {
            return subject;
        }
        let read = format!("dshlog read {}", quoted(session.path()));
        subject.commands([read])
    });
    let mend = Mend::new(By::Person, "read them, and move all but one out of the root");
    Finding::of(Severity::Error, "duplicate-id", Blocks::List, mend, subjects.collect())
}

/// Names that dsh tries in every project on its way to a session (`docs/spec/storage.md`, section 4.1). Where it looks for
/// the session's folder, anything else fails its list, too.
fn in_the_way(seen: &Seen<'_>) -> Vec<Finding> {
    let names: HashSet<&OsStr> =
        seen.sessions.iter().filter_map(|session| session.folder.file_name()).collect();
    let passed = seen.walk.passed_over.iter().filter(|passed| !matches!(passed.why, Why::FlatLog));
    let folders = seen.sessions.iter().map(|session| (session.folder.as_path(), session.lock.is_free()));
    let (mut flat, mut other) = (Vec::new(), Vec::new());
    for (path, is_free) in passed.map(|passed| (passed.path.as_path(), true)).chain(folders) {
        // dsh follows links, so one that leads nowhere is not there.
        if path.ancestors().nth(2) != Some(seen.walk.root.as_path()) || !path.exists() {
            continue;
        }
        let name = path.file_name().unwrap_or_default();
        let id =
            name.to_str().and_then(|name| name.strip_suffix(".zstd").unwrap_or(name).strip_suffix(".jsonl"));
        let (found, name) = match id.map(OsStr::new) {
            Some(id) if names.contains(id) => (&mut flat, id),
            _ if names.contains(name) && !path.is_dir() => (&mut other, name),
            _ => continue,
        };
        let session = Some(name.to_string_lossy().into_owned());
        let command = is_free.then(|| mend::aside(&seen.home.root, path));
        found.push(Subject { session, ..Subject::thing(path) }.commands(command));
    }
    [(Blocks::Session, flat), (Blocks::List, other)]
        .into_iter()
        .filter_map(|(blocks, found)| {
            let mend = Mend::new(By::Command, "set it aside");
            Finding::of(Severity::Error, "in-the-way", blocks, mend, found)
        })
        .collect()
}

fn links(seen: &Seen<'_>) -> Vec<Finding> {
    let linked = seen.walk.passed_over.iter().filter(|passed| matches!(passed.why, Why::LinkedProject));
    let root = seen.walk.root.canonicalize().unwrap_or_else(|_| seen.walk.root.clone());
    let projects = linked.map(|passed| {
        let target = passed.path.canonicalize().ok();
        let words = target.as_ref().map(|target| format!("leads to {}", target.display()));
        let commands = target.map(|target| {
            let remove = mend::remove(&passed.path, false);
            // Its sessions are found already where it leads to another project of the same root.
            if target.starts_with(&root) {
                return remove;
            }
            format!("{remove} && mv -n -- {} {}", quoted(&target), quoted(&passed.path))
        });
        Subject::thing(&passed.path).detail(words.unwrap_or_default()).commands(commands)
    });
    let sessions = seen.walk.sessions.iter().filter(|session| session.is_link);
    let sessions = sessions.map(|session| Subject::thing(&session.path));
    let mend = Mend::new(
        By::Command,
        "put the folder itself in the place of the link, or take away a link into the same root",
    );
    let by_id = Mend::new(By::Nobody, "nothing is to be mended while it is opened by its id");
    [
        Finding::of(Severity::Warning, "linked-project", Blocks::Session, mend, projects.collect()),
        Finding::of(Severity::Note, "linked-session", Blocks::Nothing, by_id, sessions.collect()),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Temporary files, apart for those that may belong to a writer at work.
fn leftovers(seen: &Seen<'_>) -> Vec<Finding> {
    let in_folders = seen
        .sessions
        .iter()
        .flat_map(|session| session.leftovers.iter().map(|left| (Some(session.name.clone()), left.clone())));
    let alone = seen.walk.passed_over.iter().filter_map(|passed| {
        let Why::Temp(kind) = passed.why else { return None };
        let beside = passed.path.parent().unwrap_or(&seen.walk.root);
        let beside = if kind == Temp::Folder { Beside::Nobody } else { Beside::of(&Lock::of(beside, true)) };
        Some((None, Leftover::at(passed.path.clone(), beside)))
    });
    let (mut stray, mut in_use, mut unknown) = (Vec::new(), Vec::new(), Vec::new());
    for (session, left) in in_folders.chain(alone) {
        let modified = left.modified.map(millis);
        let age = modified.map(|time| units::duration(seen.now.saturating_sub(time)));
        let age = age.map(|age| format!(", {age} old")).unwrap_or_default();
        let size = if left.is_folder { "folder".to_owned() } else { units::bytes(left.len) };
        let subject = Subject { session, modified, ..Subject::thing(&left.path) };
        let subject = subject.detail(format!("{size}{age}")).bytes(left.len);
        match left.beside {
            Beside::Nobody => stray.push(subject.commands([mend::remove(&left.path, left.is_folder)])),
            Beside::Writer => in_use.push(subject),
            Beside::Unknown => unknown.push(subject),
        }
    }
    let remove = Mend::new(By::Command, "no writer is at work beside it: remove it");
    let wait = Mend::new(By::Person, "a writer is at work beside it: end it, then look again");
    let ask = Mend::new(By::Person, "see who may open the lock file beside it, then look again");
    [(remove, stray), (wait, in_use), (ask, unknown)]
        .into_iter()
        .filter_map(|(mend, subjects)| {
            Finding::of(Severity::Warning, "leftover", Blocks::Nothing, mend, subjects)
        })
        .collect()
}

/// Locks that somebody holds, and those that do not tell.
fn locks(seen: &Seen<'_>) -> Vec<Finding> {
    // A session whose log is not there yet has a lock, too.
    let made = seen.walk.passed_over.iter().filter(|passed| matches!(passed.why, Why::NoLog));
    let made: Vec<_> = made.map(|passed| (&passed.path, Lock::of(&passed.path, false))).collect();
    let of_sessions =
        seen.sessions.iter().map(|session| (Some(session.name.clone()), &session.folder, &session.lock));
    let (mut held, mut unknown) = (Vec::new(), Vec::new());
    for (session, folder, lock) in of_sessions.chain(made.iter().map(|(path, lock)| (None, *path, lock))) {
        let subject = Subject { session, ..Subject::thing(folder) };
        match lock {
            Lock::None | Lock::Free => {}
            Lock::Held => {
                let holder = super::holder::of(folder).map(|pid| format!("process {pid}"));
                held.push(subject.detail(holder.unwrap_or_default()));
            }
            Lock::Unknown(error) => unknown.push(subject.detail(without_place(error))),
        }
    }
    let end = Mend::new(By::Person, "end that dsh before an upgrade; its session stays as it is");
    let permit = Mend::new(By::Person, "see what the lock file is, and who may open it");
    [
        Finding::of(Severity::Note, "lock-held", Blocks::Nothing, end, held),
        Finding::of(Severity::Error, LOCK_UNKNOWN, Blocks::Session, permit, unknown),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// What dsh passes over, and what nobody can look at.
fn strays(seen: &Seen<'_>) -> Vec<Finding> {
    let Walk { root, passed_over, .. } = seen.walk;
    let stores = stores::around(root);
    let (mut foreign, mut empty, mut unreadable) = (Vec::new(), Vec::new(), Vec::new());
    for passed in passed_over {
        let subject = Subject::thing(&passed.path);
        match &passed.why {
            Why::Foreign if stores.contains(&passed.path) => {}
            Why::Foreign => foreign.push(subject),
            Why::NoLog => empty.push(subject),
            Why::Unreadable(error) => unreadable.push(subject.detail(error.to_string())),
            Why::FlatLog | Why::Temp(_) | Why::LinkedProject => {}
        }
    }
    for session in seen.walk.sessions.iter().filter(|session| session.is_listed()) {
        foreign.extend(session.foreign.iter().map(|name| Subject::thing(&session.path.join(name))));
    }
    for subject in foreign.iter_mut().chain(&mut empty) {
        subject.detail = below(root, &subject.path).into_owned();
    }
    let leave = || Mend::new(By::Nobody, "nothing is to be mended");
    let permit = Mend::new(By::Person, "see who may read it; dsh lists nothing while it cannot");
    [
        Finding::of(Severity::Error, UNREADABLE, Blocks::List, permit, unreadable),
        Finding::of(Severity::Note, "foreign", Blocks::Nothing, leave(), foreign),
        Finding::of(Severity::Note, "no-log", Blocks::Nothing, leave(), empty),
    ]
    .into_iter()
    .chain(of_stores(&stores))
    .flatten()
    .collect()
}

/// SQLite stores: how many sessions are in each, or why nobody knows.
fn of_stores(stores: &[PathBuf]) -> [Option<Finding>; 2] {
    let (mut read, mut unread) = (Vec::new(), Vec::new());
    for path in stores {
        let subject = Subject::thing(path).commands([format!("dshlog ls {}", quoted(path))]);
        match Store::open(path).and_then(|mut store| store.entries()) {
            Ok(entries) => read.push(subject.detail(units::count(entries.len() as u64, "session"))),
            Err(error) => unread.push(subject.detail(without_place(&error))),
        }
    }
    let migrate =
        Mend::new(By::Nobody, "dshlog reads it; `dshlog migrate` says of each session how it becomes a log");
    let look = Mend::new(By::Person, "see what can be done for its sessions, if they are still wanted");
    [
        Finding::of(Severity::Warning, "store-unread", Blocks::Nothing, look, unread),
        Finding::of(Severity::Note, "store", Blocks::Nothing, migrate, read),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use dshlog_codec::home::{Home, PassedOver};

    /// Who runs tests may be allowed to look at everything, so this walk is made up.
    #[test]
    fn what_the_system_hides_fails_the_list() {
        let root = Path::new("/h/sessions");
        let hidden = || Why::Unreadable(std::io::ErrorKind::PermissionDenied.into());
        let walk = Walk {
            root: root.to_owned(),
            exists: true,
            projects: Vec::new(),
            sessions: Vec::new(),
            passed_over: vec![PassedOver { path: root.join("p"), why: hidden() }],
        };
        let home = Home { path: None, root: root.to_owned() };
        let seen = Seen { home: &home, walk: &walk, sessions: &[], arguments: String::new(), now: 0 };
        let found = findings(&seen);
        let [finding] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!((finding.code, finding.blocks), ("unreadable", Blocks::List));
        assert!(super::super::Report::of(&seen).is_unread);
    }
}
