//! `dshlog new-scenario`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use dshlog_codec::home::{SessionFolder, Walk, absolute, encode_id, project_key};
use dshlog_codec::{Header, LogFile};
use dshlog_fixture_server::json::quote;
use dshlog_migrate::Kin;
use dshlog_replay::scenario::{FILE, WORKSPACE};

use crate::args::NewScenario;
use crate::ctx::Ctx;
use crate::exit::{Failure, Outcome, shown};
use crate::select::{self, Chosen};
use crate::source::{Form, Log};

/// Make a scenario out of a session.
pub(crate) fn run(ctx: &mut Ctx, args: &NewScenario) -> Result<Outcome, Failure> {
    let chosen = select::session(ctx, &args.from, None)?;
    let log = Log::open(&chosen, Form::Current, &Arc::<Kin>::default())?;
    let mut requests = 0_u64;
    let mut checked = log.check(|event| {
        requests += u64::from(event.is("assistant/message") || event.is("assistant/attempt"));
    })?;
    checked.session()?;
    if requests == 0 {
        ctx.warn("the session has no answer of a model: there is little to run again");
    }
    let folder = absolute(ctx.cwd(), &args.folder);
    if folder.symlink_metadata().is_ok() {
        return Err(Failure::refused(format!("{} exists", shown(&folder))).hint("name a new folder"));
    }
    let parent = folder.parent().unwrap_or(Path::new("/"));
    let made = |fault| Failure::io("make", &folder, fault);
    fs::create_dir_all(parent).map_err(made)?;
    // It is whole when it gets its name.
    let draft = tempfile::Builder::new().prefix(".new-scenario-").tempdir_in(parent).map_err(made)?;
    let session = fill(draft.path(), &chosen, &log.header).map_err(made)?;
    write_file(draft.path(), &session, &args.agent).map_err(made)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        fs::set_permissions(draft.path(), fs::Permissions::from_mode(0o755)).map_err(made)?;
    }
    fs::rename(draft.path(), &folder).map_err(made)?;
    // What it was called is gone.
    let _ = draft.keep();
    writeln!(ctx.out(), "{}", shown(&args.folder))?;
    Ok(Outcome::Clean)
}

/// Copy the log into a small root of sessions, with those of its children: an older log is not carried to V4 without them.
/// Gives the path of the session in the scenario.
fn fill(scenario: &Path, chosen: &Chosen, header: &Header) -> io::Result<String> {
    let project = project_key(header.cwd.as_ref()).unwrap_or_else(|| "--".to_owned());
    let folder = encode_id(&header.id).unwrap_or_else(|| "session".to_owned());
    let session = format!("sessions/{project}/{folder}");
    copy(&chosen.path, &scenario.join(&session))?;
    if let Some(member) = &chosen.member {
        for child in descendants(&member.root, header) {
            let folder =
                child.parent().and_then(|folder| Some((folder.parent()?.file_name()?, folder.file_name()?)));
            if let Some((project, folder)) = folder {
                copy(&child, &scenario.join("sessions").join(project).join(folder))?;
            }
        }
    }
    fs::create_dir(scenario.join(WORKSPACE))?;
    // An empty folder is in no repository.
    fs::write(scenario.join(WORKSPACE).join(".gitkeep"), "")?;
    Ok(session)
}

/// The logs below a root of the sessions that this one gave work to, and that those gave work to. Forks stand for
/// themselves.
pub(super) fn descendants(root: &Path, header: &Header) -> Vec<PathBuf> {
    let Ok(walk) = Walk::new(root) else { return Vec::new() };
    let logs: Vec<(PathBuf, Header)> = walk.sessions.iter().filter_map(read).collect();
    let mut known = vec![header.id.clone()];
    let mut found = Vec::new();
    // Children may have children; no session is its own ancestor for longer than there are sessions.
    for _ in 0..logs.len() {
        let before = known.len();
        for (path, header) in &logs {
            let of_known = header.parent_session.as_ref().is_some_and(|parent| known.contains(parent));
            if of_known && header.delegation_depth > 0 && !known.contains(&header.id) {
                known.push(header.id.clone());
                found.push(path.clone());
            }
        }
        if known.len() == before {
            break;
        }
    }
    found
}

fn read(session: &SessionFolder) -> Option<(PathBuf, Header)> {
    let path = session.chosen().ok()?.path.clone();
    let header = LogFile::open(&path).ok()?.header().ok()?;
    Some((path, header))
}

fn copy(log: &Path, folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let name = log.file_name().ok_or_else(|| io::Error::other("a log without a name"))?;
    fs::copy(log, folder.join(name)).map(drop)
}

fn write_file(scenario: &Path, session: &str, agent: &str) -> io::Result<()> {
    // A string of JSON is one of TOML, too.
    let (session, agent) = (quote(session), quote(agent));
    let head = "# A scenario of `dshlog replay`; docs/replay.md of dshlog explains it.";
    let text = format!("{head}\nsession = {session}\nagent = {agent}\n");
    fs::write(scenario.join(FILE), text)
}
