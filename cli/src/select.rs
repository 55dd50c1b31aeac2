//! From what was typed to a log.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use dshlog_codec::Error;
use dshlog_codec::home::{
    Home, Member, Placement, SelectError, SessionFolder, Target, Walk, absolute, select,
};

use crate::ctx::Ctx;
use crate::exit::{Failure, shown};

/// A log that somebody named.
#[derive(Clone, Debug)]
pub(crate) struct Chosen {
    /// The file.
    pub(crate) path: PathBuf,
    /// Its place below a root, unless it is a stray.
    pub(crate) member: Option<Member>,
}

impl Chosen {
    /// Refuse a member of a root that has a log in the other encoding beside it.
    pub(crate) fn check_neighbours(&self) -> Result<(), Error> {
        let Some(member) = &self.member else { return Ok(()) };
        let folder = SessionFolder::read(&member.folder_path())?;
        let file = folder.generations.iter().find(|file| file.path == self.path);
        file.map_or(Ok(()), |file| folder.check_encodings(file))
    }
}

/// Candidates to list before it is enough.
const LISTED: usize = 12;

/// The log that a name stands for.
pub(crate) fn session(ctx: &mut Ctx, typed: &str) -> Result<Chosen, Failure> {
    let (target, root) = target(ctx, typed)?;
    let chosen = placed(target.log()?, root.as_deref(), ctx.cwd());
    match (&chosen.member, &target) {
        (Some(_), Target::File(_)) => chosen.check_neighbours()?,
        (None, _) => {
            ctx.note(format!("{} lies in no root of sessions; it is read alone", shown(&chosen.path)));
        }
        (Some(_), Target::Folder(_)) => {}
    }
    Ok(chosen)
}

/// The folder of the session that a name stands for, and the root that it lies in.
///
/// A log without a root around it is refused: nobody knows what belongs to it.
pub(crate) fn folder(ctx: &Ctx, typed: &str) -> Result<(PathBuf, SessionFolder), Failure> {
    let (target, root) = target(ctx, typed)?;
    let log = match &target {
        Target::File(path) => path,
        Target::Folder(folder) => folder.newest().map_or(&folder.path, |file| &file.path),
    };
    let chosen = placed(log, root.as_deref(), ctx.cwd());
    let Some(member) = chosen.member else {
        return Err(Failure::refused(format!("{} lies in no root of sessions", shown(&chosen.path)))
            .hint("`--root DIR` names the root of a log at DIR/PROJECT/SESSION"));
    };
    let folder = SessionFolder::read(&member.folder_path())?;
    Ok((member.root, folder))
}

/// What a name stands for, and the root that was looked at.
fn target(ctx: &Ctx, typed: &str) -> Result<(Target, Option<PathBuf>), Failure> {
    let home = ctx.home();
    // A path needs no home.
    let target = select(OsStr::new(typed), ctx.cwd(), || Walk::new(&home.as_ref().map_err(clone_io)?.root));
    let root = home.as_ref().ok().map(|home| home.root.as_path());
    match target {
        Ok(target) => Ok((target, root.map(Path::to_owned))),
        Err(SelectError::Read(error)) => Err(error.into()),
        Err(SelectError::Ambiguous { name, candidates }) => {
            let mut failure =
                Failure::usage(format!("`{name}` could be any of {} sessions", candidates.len()));
            for candidate in candidates.iter().take(LISTED) {
                failure = failure.hint(shown_name(candidate));
            }
            if candidates.len() > LISTED {
                failure = failure.hint(format!("… {} more", candidates.len() - LISTED));
            }
            Err(failure)
        }
        Err(error) => {
            let place = root.map(|root| format!(" in {}", shown(root))).unwrap_or_default();
            let hint = match error {
                SelectError::TooFew { count: 0, .. } => "`--home` or `--root` names another place",
                _ => "`dshlog ls` lists the sessions",
            };
            Err(Failure::not_found(format!("{error}{place}")).hint(hint))
        }
    }
}

/// A log with its place.
pub(crate) fn placed(path: &Path, root: Option<&Path>, cwd: &Path) -> Chosen {
    let path = absolute(cwd, path);
    let member = match Placement::of(&path, root) {
        Placement::Member(member) => Some(member),
        Placement::Stray => None,
    };
    Chosen { path, member }
}

fn shown_name(folder: &Path) -> String {
    folder.file_name().map_or_else(|| shown(folder), |name| shown(Path::new(name)))
}

/// The home could not be found: told again where it is needed.
fn clone_io(error: &Error) -> Error {
    let reason = std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string);
    Error::io("find the home folder", Path::new("~/.dsh"), std::io::Error::other(reason))
}

/// The place that a folder on the command line is.
pub(crate) fn home_at(ctx: &Ctx, place: Option<&Path>) -> Result<Home, Failure> {
    match place {
        Some(place) => Ok(Home::at(&absolute(ctx.cwd(), place))),
        None => Ok(ctx.home()?),
    }
}
