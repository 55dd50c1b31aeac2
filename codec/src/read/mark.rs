//! A place behind a whole append, where a later walk can go on.

/// Where a walk ended, in numbers that can be written down. Only of a log that ends whole: no torn tail, no fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Offset in the file of what comes next: a frame, or in raw logs a line.
    pub byte: u64,
    /// Frames in front of it; 0 in raw logs.
    pub frames: u64,
    /// Lines in front of it, the header among them.
    pub lines: u64,
    /// Bytes of plain text in front of it.
    pub text: u64,
    /// Events in front of it: the next seq.
    pub events: u64,
    /// How many of these were copied from the parent.
    pub inherited: u64,
}
