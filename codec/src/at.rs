//! Where in a log something is.

use std::fmt;
use std::path::PathBuf;

use crate::types::{Generation, Seq};

/// Place of one line in a log file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// Frame, counted from 1 (the header's); 0 in raw logs, which have none.
    pub frame: u64,
    /// Line, counted from 1 (the header).
    pub line: u64,
    /// Byte offset in the file: of the line in raw logs, of its frame in compressed ones.
    pub byte: u64,
}

/// A position, as far as the layer that speaks knows it; outer layers fill in the rest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct At {
    /// The log file.
    pub path: Option<PathBuf>,
    /// Its generation.
    pub generation: Option<Generation>,
    /// Frame, counted from 1; absent in raw logs.
    pub frame: Option<u64>,
    /// Line, counted from 1.
    pub line: Option<u64>,
    /// Byte offset in the file (see [`Place::byte`]).
    pub byte: Option<u64>,
    /// The event.
    pub seq: Option<Seq>,
    /// JSON pointer (RFC 6901) into the row.
    pub pointer: Option<String>,
}

impl At {
    /// The position of a line.
    pub fn place(place: Place) -> Self {
        At {
            frame: (place.frame > 0).then_some(place.frame),
            line: (place.line > 0).then_some(place.line),
            byte: Some(place.byte),
            ..At::default()
        }
    }

    /// The same position at an event.
    #[must_use]
    pub fn seq(mut self, seq: Seq) -> Self {
        self.seq = Some(seq);
        self
    }
}

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut first = true;
        let mut part = |f: &mut fmt::Formatter<'_>, name: &str, value: &dyn fmt::Display| {
            let comma = if std::mem::take(&mut first) { "" } else { ", " };
            write!(f, "{comma}{name}{value}")
        };
        if let Some(path) = &self.path {
            part(f, "", &path.display())?;
        }
        if let Some(generation) = self.generation {
            part(f, "", &generation)?;
        }
        if let Some(frame) = self.frame {
            part(f, "frame ", &frame)?;
        }
        if let Some(line) = self.line {
            part(f, "line ", &line)?;
        }
        if let Some(byte) = self.byte {
            part(f, "byte ", &byte)?;
        }
        if let Some(seq) = self.seq {
            part(f, "seq ", &seq)?;
        }
        if let Some(pointer) = &self.pointer {
            part(f, "at ", pointer)?;
        }
        Ok(())
    }
}
