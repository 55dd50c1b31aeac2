//! The bytes of a log of V4 (`docs/spec/rows.md`).

use std::io::Write;

use super::error::AgentError;
use super::log::Log;

impl Log {
    /// Write the log as plain lines: what a file `session.v4.jsonl` holds.
    ///
    /// # Errors
    /// What the writer cannot take.
    pub fn write_lines(&self, out: &mut dyn Write) -> Result<(), AgentError> {
        let mut line = Vec::new();
        self.header().to_current().print(&mut line);
        for row in self.rows() {
            line.push(b'\n');
            out.write_all(&line)?;
            line.clear();
            row.event().print_row(&mut line);
        }
        line.push(b'\n');
        out.write_all(&line)?;
        Ok(())
    }
}
