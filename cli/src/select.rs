//! From what was typed to a log.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use dshlog_codec::home::{
    Home, Member, Placement, SelectError, SessionFolder, Target, absolute, encode_id, file_name, project_key,
    select,
};
use dshlog_codec::{Encoding, Error, Generation, LogFile};
use dshlog_query::store::Place;

use crate::ctx::Ctx;
use crate::exit::{Failure, shown};
use crate::render::shell::quoted;
use crate::stores;

/// A log that somebody named.
#[derive(Clone, Debug)]
pub(crate) struct Chosen {
    /// The file.
    pub(crate) path: PathBuf,
    /// Its place below a root, unless it is a stray.
    pub(crate) member: Option<Member>,
    /// Older generations that were there to choose from, the newest first; none when one was asked for by its number or
    /// its path.
    pub(crate) older: Vec<Generation>,
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

/// The log that a name stands for: the newest generation of a session, or the one that is asked for.
pub(crate) fn session(ctx: &mut Ctx, typed: &str, generation: Option<Generation>) -> Result<Chosen, Failure> {
    let (target, root) = target(ctx, typed)?;
    let path = match generation {
        Some(generation) => stored(&target, generation)?,
        None => target.log()?,
    };
    let mut chosen = placed(path, root.as_deref(), ctx.cwd());
    if generation.is_none() {
        chosen.older = older(&target);
    }
    match (&chosen.member, &target) {
        (Some(_), Target::File(_)) => chosen.check_neighbours()?,
        (None, _) if stores::is_entry(&chosen.path) => {}
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
    if stores::is_entry(&chosen.path) {
        return Err(in_store(&chosen.path, root.as_deref()));
    }
    let Some(member) = chosen.member else {
        return Err(Failure::refused(format!("{} lies in no root of sessions", shown(&chosen.path)))
            .hint("`--root DIR` names the root of a log at DIR/PROJECT/SESSION"));
    };
    let folder = SessionFolder::read(&member.folder_path())?;
    Ok((member.root, folder))
}

/// A session in a store cannot be worked on; as a log of V0 below the root it could.
fn in_store(path: &Path, root: Option<&Path>) -> Failure {
    let refused = Failure::refused(format!("{} lies in a store, which is only read", shown(path)));
    let member = stores::header(path).ok().zip(root).and_then(|(header, root)| {
        let (project, folder) = (project_key(header.cwd.as_ref())?, encode_id(&header.id)?);
        Some(root.join(project).join(folder))
    });
    let Some(folder) = member else { return refused };
    let log = folder.join(file_name(Generation(0), Encoding::Raw));
    refused.hint(format!(
        "`mkdir -p {}`, and `dshlog read --rows {} > {}`, make a log of V0 of it, which can be migrated",
        quoted(&folder),
        quoted(path),
        quoted(&log)
    ))
}

/// What a name stands for, and the root that was looked at.
fn target(ctx: &Ctx, typed: &str) -> Result<(Target, Option<PathBuf>), Failure> {
    let home = ctx.home();
    // A path needs no home.
    let path = absolute(ctx.cwd(), Path::new(typed));
    let target = match stores::select(&path) {
        Some(found) => found.map(Target::Folder),
        None => select(OsStr::new(typed), ctx.cwd(), || stores::walk(&home.as_ref().map_err(clone_io)?.root)),
    };
    let root = home.as_ref().ok().map(|home| home.root.as_path());
    match target {
        Ok(target) => Ok((target, root.map(Path::to_owned))),
        Err(error) => Err(unselected(error, &path, root)),
    }
}

/// Why a typed name stands for nothing. As a path it is `path`, and `root` is where it was looked for.
pub(crate) fn unselected(error: SelectError, path: &Path, root: Option<&Path>) -> Failure {
    match error {
        SelectError::Read(error) => error.into(),
        SelectError::Ambiguous { name, candidates } => {
            let mut failure =
                Failure::usage(format!("`{name}` could be any of {} sessions", candidates.len()));
            for candidate in candidates.iter().take(LISTED) {
                failure = failure.hint(shown_name(candidate));
            }
            if candidates.len() > LISTED {
                failure = failure.hint(format!("… {} more", candidates.len() - LISTED));
            }
            failure
        }
        error => {
            if let Some(Place { store, .. }) = Place::of(path) {
                return Failure::not_found(format!("{error} in {}", shown(&store)))
                    .hint(format!("`dshlog ls {}` lists the sessions", quoted(&store)));
            }
            let place = root.map(|root| format!(" in {}", shown(root))).unwrap_or_default();
            let hint = match error {
                SelectError::TooFew { count: 0, .. } => "`--home` or `--root` names another place",
                _ => "`dshlog ls` lists the sessions",
            };
            Failure::not_found(format!("{error}{place}")).hint(hint)
        }
    }
}

/// The log of this generation.
fn stored(target: &Target, generation: Generation) -> Result<&Path, Failure> {
    let folder = match target {
        Target::Folder(folder) => folder,
        Target::File(path) => {
            let is = LogFile::open(path)?.generation();
            if is == generation {
                return Ok(path);
            }
            return Err(Failure::usage(format!("{} is a log of {is}, not of {generation}", shown(path)))
                .hint("`--generation` chooses among the logs of a session; name its folder or its id"));
        }
    };
    match folder.of_generation(generation) {
        Some(file) => {
            folder.check_encodings(file)?;
            Ok(&file.path)
        }
        None => Err(Failure::not_found(format!(
            "the session has no log of {generation} in {}; there {}",
            shown(&folder.path),
            present(folder)
        ))),
    }
}

/// Which generations a folder has, for a sentence: `is V4`, `are V3 and V4`.
fn present(folder: &SessionFolder) -> String {
    let mut names: Vec<String> = folder.generations.iter().map(|file| file.generation.to_string()).collect();
    names.dedup();
    match names.pop() {
        Some(last) if names.is_empty() => format!("is {last}"),
        Some(last) => format!("are {} and {last}", names.join(", ")),
        None => "is none".to_owned(),
    }
}

/// What could be read instead of the newest generation. In a folder with both encodings nothing can.
fn older(target: &Target) -> Vec<Generation> {
    let Target::Folder(folder) = target else { return Vec::new() };
    let newest = folder.newest().map(|file| file.generation);
    let generations = folder.generations.iter().rev().map(|file| file.generation);
    generations
        .filter(|generation| Some(*generation) != newest && *generation <= Generation::CURRENT)
        .filter(|_| !folder.is_mixed())
        .collect()
}

/// A log with its place.
pub(crate) fn placed(path: &Path, root: Option<&Path>, cwd: &Path) -> Chosen {
    let path = absolute(cwd, path);
    let member = match Placement::of(&path, root) {
        Placement::Member(member) => Some(member),
        Placement::Stray => None,
    };
    Chosen { path, member, older: Vec::new() }
}

fn shown_name(folder: &Path) -> String {
    if stores::is_entry(folder) {
        return shown(folder);
    }
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
