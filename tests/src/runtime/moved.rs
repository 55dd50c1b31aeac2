//! A home of the corpora, moved to working directories that are there.
//!
//! The runtime continues a session only in the `cwd` of its header, and the corpora were made in folders of other machines.
//! So the header line of each log is written again with a `cwd` below a temporary folder, and the log goes to the project
//! folder of that `cwd`. All else of a log stays as it is, byte for byte: the header line is a frame of its own.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use dshlog_codec::home::{Home, SessionFolder, Walk, project_key};
use dshlog_codec::read::LogFile;
use dshlog_codec::{Encoding, Header};
use zstd::stream::raw::CParameter;
use zstd::zstd_safe::find_frame_compressed_size;

use crate::model::repository;

/// A home in a folder of its own, and its working directories beside it.
#[derive(Debug)]
pub struct Moved {
    folder: tempfile::TempDir,
    /// Its sessions.
    pub sessions: Vec<Session>,
}

/// A session that was moved.
#[derive(Clone, Debug)]
pub struct Session {
    /// Its id.
    pub id: String,
    /// Where its logs lie.
    pub folder: PathBuf,
    /// Its working directory, which is there.
    pub cwd: PathBuf,
    /// Of its logs.
    pub encoding: Encoding,
    /// Neither fork nor subagent nor under an agent preset: the one-shot runner continues no others.
    pub can_go_on: bool,
}

impl Moved {
    /// Move a case, attachments left out.
    ///
    /// # Panics
    /// When a log of it has no header, no `cwd` or an id that is no text: another case would do.
    pub fn case(case: &str) -> Self {
        Self::try_case(case).unwrap_or_else(|e| panic!("{case} cannot be moved: {e}"))
    }

    fn try_case(case: &str) -> io::Result<Self> {
        let from = repository().join("corpora").join(case).join("home");
        // The runtime compares with the name that the system gives for its working directory, which has no links in it.
        let folder =
            tempfile::Builder::new().prefix("dshlog-").tempdir_in(std::env::temp_dir().canonicalize()?)?;
        let mut moved = Moved { folder, sessions: Vec::new() };
        fs::create_dir(moved.home())?;
        for session in Walk::new(&Home::at(&from).root).map_err(io::Error::other)?.sessions {
            let session = moved.put(&session)?;
            moved.sessions.push(session);
        }
        Ok(moved)
    }

    /// The home.
    pub fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    fn put(&self, session: &SessionFolder) -> io::Result<Session> {
        let missing = |what: &str| io::Error::other(format!("{}: {what}", session.path.display()));
        let mut put = None;
        for file in &session.generations {
            let mut header =
                LogFile::open(&file.path).and_then(|log| log.header()).map_err(io::Error::other)?;
            let old = header.cwd.as_ref().ok_or_else(|| missing("no cwd"))?.to_lossy().into_owned();
            let cwd = self.folder.path().join("work").join(old.trim_start_matches('/'));
            let text = cwd.to_str().ok_or_else(|| missing("a folder whose name is no text"))?;
            header.cwd = Some(text.into());
            let project = project_key(header.cwd.as_ref()).ok_or_else(|| missing("no project folder"))?;
            let folder = self.home().join("sessions").join(project).join(&session.folder);
            fs::create_dir_all(&folder)?;
            fs::create_dir_all(&cwd)?;
            let target = folder.join(file.path.file_name().ok_or_else(|| missing("no name"))?);
            fs::write(target, with_header(&fs::read(&file.path)?, &header, file.encoding)?)?;
            put = Some(Session {
                id: header.id.as_str().ok_or_else(|| missing("an id that is no text"))?.to_owned(),
                folder,
                cwd,
                encoding: file.encoding,
                can_go_on: header.parent_session.is_none() && header.agent_preset.is_none(),
            });
        }
        put.ok_or_else(|| missing("no logs"))
    }
}

/// The encoding of the first log below a root.
pub fn encoding_of(root: &Path) -> Option<Encoding> {
    Walk::new(root).ok()?.sessions.first()?.newest().map(|file| file.encoding)
}

/// A log with another header line.
fn with_header(log: &[u8], header: &Header, encoding: Encoding) -> io::Result<Vec<u8>> {
    let mut line = Vec::new();
    header.print(&mut line);
    line.push(b'\n');
    let rest = match encoding {
        Encoding::Raw => log.iter().position(|&b| b == b'\n').map(|end| end + 1),
        Encoding::Zstd => find_frame_compressed_size(log).ok(),
    };
    let rest = rest.and_then(|start| log.get(start..)).ok_or_else(|| io::Error::other("no header line"))?;
    let mut moved = match encoding {
        Encoding::Raw => line,
        Encoding::Zstd => {
            let mut encoder = zstd::Encoder::new(Vec::new(), 3)?;
            encoder.set_parameter(CParameter::ChecksumFlag(true))?;
            io::Write::write_all(&mut encoder, &line)?;
            encoder.finish()?
        }
    };
    moved.extend_from_slice(rest);
    Ok(moved)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::{files_of, plain_text};

    #[test]
    fn only_the_header_line_is_another_one() {
        for case in ["v0-0.1.0rc6-odd-ids", "v2-0.1.2a3-store-fork", "v3-subagent"] {
            let old =
                Walk::new(&repository().join("corpora").join(case).join("home/sessions")).unwrap().sessions;
            let moved = Moved::case(case);
            assert_eq!(moved.sessions.len(), old.len(), "{case}");
            let rows = |folder: &Path| {
                let texts = files_of(folder).unwrap().into_iter().map(|(name, bytes)| {
                    let text = plain_text(&name, &bytes).unwrap();
                    let end = text.iter().position(|&b| b == b'\n').unwrap();
                    (name, text[end..].to_vec())
                });
                texts.collect::<Vec<_>>()
            };
            for (session, old) in moved.sessions.iter().zip(&old) {
                assert_eq!(session.folder.file_name(), Some(old.folder.as_os_str()), "{case}");
                assert_eq!(rows(&session.folder), rows(&old.path), "{case}");
                assert!(session.cwd.is_dir());
                let walk = Walk::new(&moved.home().join("sessions")).unwrap();
                assert!(walk.passed_over.is_empty(), "{case}: {:?}", walk.passed_over);
            }
        }
    }
}
