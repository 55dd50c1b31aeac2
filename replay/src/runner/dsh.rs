//! What a dsh of some version is like.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use super::group::{self, Limit};
use super::{RunError, deadline};
use crate::wire::Dialect;

/// The first version, major and minor, that speaks Messages (`docs/spec/messages-wire.md`, 15).
const MESSAGES_SINCE: (u64, u64) = (0, 2);

/// The language that this dsh speaks to its model: by its version, and Messages when it tells none in that time.
///
/// # Errors
/// A program that does not start.
pub fn dialect(program: &Path, timeout: Duration, stop: &AtomicBool) -> Result<Dialect, RunError> {
    let start = |source| RunError::Start { command: program.display().to_string(), source };
    let folder = tempfile::tempdir().map_err(start)?;
    let said = folder.path().join("version");
    let mut command = Command::new(program);
    command
        .arg("--version")
        .env("DSH_HOME", folder.path())
        .env("DSH_TELEMETRY_DISABLED", "1")
        .stdin(Stdio::null())
        .stdout(std::fs::File::create(&said).map_err(start)?)
        .stderr(Stdio::null());
    let limit = Limit { until: deadline(timeout), stop };
    group::run(command, limit).map_err(start)?;
    let text = std::fs::read(&said).map_err(start)?;
    let spoken = version(&String::from_utf8_lossy(&text)).filter(|version| *version < MESSAGES_SINCE);
    Ok(if spoken.is_some() { Dialect::Chat } else { Dialect::Messages })
}

/// Major and minor of `0.1.5-rc.1`.
fn version(text: &str) -> Option<(u64, u64)> {
    let mut parts = text.trim().trim_start_matches('v').split('.');
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions() {
        assert_eq!(version("0.1.5-rc.1\n"), Some((0, 1)));
        assert_eq!(version("0.2.1-rc.2"), Some((0, 2)));
        assert_eq!(version("v1.12.0"), Some((1, 12)));
        assert_eq!(version("dsh of today"), None);
    }

    #[cfg(unix)]
    #[test]
    fn the_language_goes_by_the_version() {
        let ask = |program: &Path| dialect(program, Duration::from_mins(1), &AtomicBool::new(false));
        let folder = tempfile::tempdir().unwrap();
        for (said, dialect) in
            [("0.1.5-rc.1", Dialect::Chat), ("0.2.0", Dialect::Messages), ("?", Dialect::Messages)]
        {
            let program = folder.path().join(said);
            let line = format!("#!/bin/sh\n[ \"$1\" = --version ] && echo '{said}'\n");
            std::fs::write(&program, line).unwrap();
            let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
            std::fs::set_permissions(&program, mode).unwrap();
            assert_eq!(ask(&program).unwrap(), dialect, "{said}");
        }
        assert!(matches!(ask(&folder.path().join("none")), Err(RunError::Start { .. })));
    }
}
