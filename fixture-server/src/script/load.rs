//! From text to script.

use std::path::{Path, PathBuf};
use std::{fs, io};

use super::{Expect, Problem, Script, validate};
use crate::json::{self, JsonError, Value};

/// A script that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ScriptError {
    /// A file cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// The script, or a file that it names.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// Not TOML.
    #[error("not TOML")]
    Toml {
        /// Why and where.
        #[source]
        source: Box<toml_edit::de::Error>,
    },
    /// Not JSON; of a file that a script names, which.
    #[error("{}not JSON", path.as_ref().map(|path| format!("{}: ", path.display())).unwrap_or_default())]
    Json {
        /// The file, when it is not the script itself.
        path: Option<PathBuf>,
        /// Why and where.
        #[source]
        source: JsonError,
    },
    /// Something stands there that a script does not know.
    #[error("`{path}`: {reason}")]
    Form {
        /// The place, as `exchanges[2].respond`.
        path: String,
        /// What is wrong there.
        reason: String,
    },
    /// It says what cannot be.
    #[error("{}", list(.0))]
    Problems(Vec<Problem>),
}

fn list(problems: &[Problem]) -> String {
    problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

impl Script {
    /// Reads a script in TOML.
    pub fn from_toml(text: &str) -> Result<Script, ScriptError> {
        let tree = toml(text)?;
        Script::from_tree(&tree, None)
    }

    /// Reads a script in JSON.
    pub fn from_json(text: &str) -> Result<Script, ScriptError> {
        let tree = json::parse(text.as_bytes()).map_err(|source| ScriptError::Json { path: None, source })?;
        Script::from_tree(&tree, None)
    }

    /// Reads a script from a file: JSON when its name ends in `.json`, else TOML. Files that it names lie beside it.
    pub fn load(path: &Path) -> Result<Script, ScriptError> {
        let text = read(path)?;
        let tree = if path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("json")) {
            json::parse(text.as_bytes()).map_err(|source| ScriptError::Json { path: None, source })?
        } else {
            toml(&text)?
        };
        Script::from_tree(&tree, path.parent())
    }

    fn from_tree(tree: &Value, beside: Option<&Path>) -> Result<Script, ScriptError> {
        let mut script: Script = serde_path_to_error::deserialize(tree).map_err(|fault| {
            ScriptError::Form { path: fault.path().to_string(), reason: fault.inner().to_string() }
        })?;
        let expectations = script.exchanges.iter_mut().map(|exchange| &mut exchange.expect);
        let expectations = expectations.chain(script.side.iter_mut().map(|side| &mut side.expect));
        for expect in expectations.flatten() {
            fill_in(expect, beside)?;
        }
        script.check()?;
        Ok(script)
    }

    /// Looks for what can never be: conditions that exclude each other, exchanges that are never reached, answers that
    /// cannot be sent. Whoever builds a script from types may call it; the server does so before it starts.
    pub fn check(&self) -> Result<(), ScriptError> {
        let problems = validate::problems(self);
        if problems.is_empty() { Ok(()) } else { Err(ScriptError::Problems(problems)) }
    }
}

fn toml(text: &str) -> Result<Value, ScriptError> {
    toml_edit::de::from_str(text).map_err(|source| ScriptError::Toml { source: Box::new(source) })
}

fn read(path: &Path) -> Result<String, ScriptError> {
    fs::read_to_string(path).map_err(|source| ScriptError::Read { path: path.to_owned(), source })
}

/// Reads the file that an expectation names.
fn fill_in(expect: &mut Expect, beside: Option<&Path>) -> Result<(), ScriptError> {
    let (None, Some(file)) = (&expect.body, &expect.body_file) else { return Ok(()) };
    let path = beside.map_or_else(|| file.clone(), |folder| folder.join(file));
    let text = read(&path)?;
    let body =
        json::parse(text.as_bytes()).map_err(|source| ScriptError::Json { path: Some(path), source })?;
    expect.body = Some(body);
    expect.body_file = None;
    Ok(())
}
