//! Journeys: the whole program, as a person meets it. What is snapshotted here is presentation; facts are compared with
//! the right answers of the corpora.

mod answers;
mod contract;
mod dataset;
mod diff;
mod docs;
mod doctor;
mod export;
mod follow;
mod fork;
mod generations;
mod index;
mod ls;
mod migrate;
mod read;
mod recall;
mod record;
mod replay;
mod request;
mod search;
mod serve;
mod state;
mod stats;
mod stores;
mod verify;
mod wire;

use dshlog_tests::cmd::Place;

const PROGRAM: &str = env!("CARGO_BIN_EXE_dshlog");

/// A home with the sessions of these cases.
fn place(cases: &[&str]) -> Place {
    Place::with(PROGRAM, cases)
}

/// The program as a user whom the modes of files bind, as they do not bind root; nothing, visibly, where there is none.
#[cfg(unix)]
fn bound(place: &Place) -> Option<impl Fn(&[&str]) -> std::process::Command + '_> {
    use std::os::unix::fs::{MetadataExt as _, chown};
    use std::os::unix::process::CommandExt as _;

    fn give(path: &std::path::Path, user: u32) -> std::io::Result<()> {
        chown(path, Some(user), Some(user))?;
        if path.is_dir() {
            for entry in std::fs::read_dir(path)? {
                give(&entry?.path(), user)?;
            }
        }
        Ok(())
    }

    let nobody = 65_534;
    let is_root = place.path().metadata().is_ok_and(|metadata| metadata.uid() == 0);
    let command = move |args: &[&str]| {
        let mut command = place.command(args);
        if is_root {
            command.uid(nobody).gid(nobody);
        }
        command
    };
    let is_able = !is_root
        || give(place.path(), nobody).is_ok()
            && command(&["--version"]).output().is_ok_and(|output| output.status.success());
    if !is_able {
        dshlog_tests::model::skip("root cannot run the program as another user here");
    }
    is_able.then_some(command)
}
