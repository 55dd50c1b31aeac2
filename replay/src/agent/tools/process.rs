//! Tools that are programs of this machine. Nothing runs one unless its user asked for it by name: a model's arguments
//! reach a program as they are, so this is for programs and prompts that the user trusts.

use std::io::Write as _;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::{Call, Declaration, Outcome, Tools};

/// How often a program is looked after.
const LOOK: Duration = Duration::from_millis(5);

/// A program as a tool: it gets the arguments as JSON on its standard input, and what it prints is the result.
#[derive(Clone, Debug)]
pub struct Program {
    /// What the model is told of it.
    pub tool: Declaration,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// How long it may take.
    pub limit: Duration,
}

/// Programs that the user trusts.
#[derive(Clone, Debug)]
pub struct Programs {
    programs: Vec<Program>,
}

impl Programs {
    /// These programs. By calling this the user says that they may run with whatever a model hands them.
    pub fn trusted(programs: Vec<Program>) -> Self {
        Programs { programs }
    }
}

impl Tools for Programs {
    fn declared(&self) -> Vec<Declaration> {
        self.programs.iter().map(|program| program.tool.clone()).collect()
    }

    fn call(&self, call: &Call) -> Outcome {
        let tool = call.tool();
        let Some(program) = self.programs.iter().find(|program| program.tool.name() == tool) else {
            return Outcome::unknown(&tool);
        };
        let arguments = match call.parsed() {
            Ok(arguments) => arguments,
            Err(outcome) => return outcome,
        };
        match program.run(arguments.text()) {
            Ok(outcome) => outcome,
            Err(error) => Outcome::failed(&format!("{tool} cannot run: {error}")),
        }
    }
}

impl Program {
    fn run(&self, arguments: &str) -> std::io::Result<Outcome> {
        let Some((program, rest)) = self.command.split_first() else {
            return Err(std::io::ErrorKind::InvalidInput.into());
        };
        let mut child = Command::new(program)
            .args(rest)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let (input, output, errors) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        // All three at once: a pipe that nobody reads stops the program.
        std::thread::scope(|scope| {
            scope.spawn(move || input.map(|mut input| input.write_all(arguments.as_bytes())));
            let output = scope.spawn(move || read(output));
            let errors = scope.spawn(move || read(errors));
            let status = wait(&mut child, self.limit)?;
            let (output, errors) = (joined(output), joined(errors));
            Ok(match status {
                None => Outcome::failed(&format!("timed out after {} ms", self.limit.as_millis())),
                Some(status) if status.success() => Outcome::text(&output),
                Some(status) => Outcome::failed(&format!("{status}\n{errors}")),
            })
        })
    }
}

/// How the program ended; nothing when it took too long and was ended.
fn wait(child: &mut Child, limit: Duration) -> std::io::Result<Option<std::process::ExitStatus>> {
    let begun = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if begun.elapsed() > limit {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        std::thread::sleep(LOOK);
    }
}

fn read(pipe: Option<impl std::io::Read>) -> String {
    let mut bytes = Vec::new();
    // What came before a fault counts.
    let _ = pipe.map(|mut pipe| pipe.read_to_end(&mut bytes));
    String::from_utf8_lossy(&bytes).into_owned()
}

fn joined(thread: std::thread::ScopedJoinHandle<'_, String>) -> String {
    thread.join().unwrap_or_default()
}
