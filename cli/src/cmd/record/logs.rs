//! The session logs that were written meanwhile.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use dshlog_codec::home::{GenerationFile, SessionFolder, Walk, file_name};
use dshlog_codec::{Encoding, Limits, LogFile};
use dshlog_fixture_server::forward::Secrets;

use crate::exit::Failure;

/// Where the home lies in a scenario.
const HOME: &str = "home";

/// The logs of a root as they were.
#[derive(Debug)]
pub(super) struct Before {
    root: PathBuf,
    logs: HashMap<PathBuf, (u64, Option<SystemTime>)>,
}

impl Before {
    /// Looks at a root, which need not be there yet.
    pub(super) fn look(root: &Path) -> Result<Before, Failure> {
        let walk = Walk::new(root)?;
        let logs = walk.sessions.iter().flat_map(|session| &session.generations);
        let logs = logs.map(|file| (file.path.clone(), (file.len, file.modified))).collect();
        Ok(Before { root: root.to_owned(), logs })
    }

    /// Copies what has been written since into the home of a scenario, as plain lines without secrets. Gives how many.
    pub(super) fn keep_written(&self, folder: &Path, secrets: &Secrets) -> Result<usize, Failure> {
        let walk = Walk::new(&self.root)?;
        let mut count = 0;
        for session in &walk.sessions {
            if let Some(file) = session.newest().filter(|file| self.is_new(file)) {
                keep(session, file, folder, secrets)?;
                count += 1;
            }
        }
        Ok(count)
    }

    fn is_new(&self, file: &GenerationFile) -> bool {
        self.logs.get(&file.path) != Some(&(file.len, file.modified))
    }
}

fn keep(
    session: &SessionFolder,
    file: &GenerationFile,
    folder: &Path,
    secrets: &Secrets,
) -> Result<(), Failure> {
    let place = folder.join(HOME).join("sessions").join(&session.project).join(&session.folder);
    fs::create_dir_all(&place).map_err(|fault| Failure::io("make", &place, fault))?;
    let path = place.join(file_name(file.generation, Encoding::Raw));
    let cannot = |fault| Failure::io("write", &path, fault);
    let mut out = BufWriter::new(File::create_new(&path).map_err(cannot)?);
    let mut lines = LogFile::open(&file.path)?.lines(&Limits::default())?;
    while let Some((line, _)) = lines.next_line()? {
        let masked = secrets.masked(line);
        out.write_all(masked.as_deref().unwrap_or(line)).map_err(cannot)?;
        out.write_all(b"\n").map_err(cannot)?;
    }
    let file = out.into_inner().map_err(|fault| cannot(fault.into_error()))?;
    file.sync_all().map_err(cannot)
}
