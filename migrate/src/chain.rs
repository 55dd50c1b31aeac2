//! All steps from a stored generation to the current one, in a row over one event at a time.

use dshlog_codec::json::{Js, Tape, Tree};
use dshlog_codec::pack::PackedRow;
use dshlog_codec::{Event, Generation, Header, Place, Row};

use crate::edge::{Edge, Out, Refusal, RefusalClass};

/// A chain that cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChainError {
    /// Two steps begin at the same generation.
    #[error("two steps lead on from {0}")]
    Duplicate(Generation),
    /// There is no step from this generation.
    #[error("no step leads on from {0}")]
    Missing(Generation),
    /// A step begins below the source or behind the target.
    #[error("the step from {0} is no part of the chain")]
    Stray(Generation),
}

/// Takes the events of the target generation, in order.
pub trait Sink {
    /// The next event, with its seq in the target.
    fn see(&mut self, event: &Event<'_>) -> Result<(), Refusal>;

    /// The next event as a step made it. `text` and `tape` are memory to print and parse it in.
    fn put(
        &mut self,
        row: &Tree<'_>,
        place: Place,
        text: &mut Vec<u8>,
        tape: &mut Tape,
    ) -> Result<(), Refusal> {
        with_event(Text::Printed(printed(row, text)), tape, place, |event| self.see(event))
    }
}

impl<F: FnMut(&Event<'_>) -> Result<(), Refusal>> Sink for F {
    fn see(&mut self, event: &Event<'_>) -> Result<(), Refusal> {
        self(event)
    }
}

/// A complete chain of adjacent steps over one log.
pub struct Chain {
    links: Vec<Link>,
}

/// A step, and the row that it last gave out.
struct Link {
    edge: Box<dyn Edge>,
    text: Vec<u8>,
    tape: Tape,
}

impl Chain {
    /// A chain from `source` to `target` out of steps in any order. It must be complete: one step for each generation.
    pub fn new(
        source: Generation,
        target: Generation,
        edges: Vec<Box<dyn Edge>>,
    ) -> Result<Self, ChainError> {
        let mut edges = edges;
        edges.sort_by_key(|edge| edge.from());
        let mut links = Vec::with_capacity(edges.len());
        let mut next = source;
        for edge in edges {
            let from = edge.from();
            if from < source || from >= target {
                return Err(ChainError::Stray(from));
            }
            if from < next {
                return Err(ChainError::Duplicate(from));
            }
            if from > next {
                return Err(ChainError::Missing(next));
            }
            next = Generation(from.0 + 1);
            links.push(Link { edge, text: Vec::new(), tape: Tape::new() });
        }
        if next < target { Err(ChainError::Missing(next)) } else { Ok(Chain { links }) }
    }

    /// Number of steps.
    pub(crate) fn len(&self) -> usize {
        self.links.len()
    }

    /// Take off the steps behind the first `len`, as a chain of its own.
    pub(crate) fn split_off(&mut self, len: usize) -> Chain {
        Chain { links: self.links.split_off(len) }
    }

    /// The header through all steps.
    pub fn header(&mut self, source: &Header) -> Result<Header, Refusal> {
        self.links.iter_mut().try_fold(source.clone(), |header, link| link.edge.header(&header))
    }

    /// A row of the source through all steps.
    pub fn row(&mut self, row: &Row<'_>, sink: &mut dyn Sink) -> Result<(), Refusal> {
        match row {
            Row::Event(event) => self.event(event, sink),
            Row::Packed(run, place) => feed_run(&mut self.links, run, *place, sink),
        }
    }

    /// An event of the source through all steps.
    pub(crate) fn event(&mut self, event: &Event<'_>, sink: &mut dyn Sink) -> Result<(), Refusal> {
        feed(&mut self.links, event, sink)
    }

    /// The end of the source. Gives the number of inherited events in the target.
    pub fn finish(&mut self, cut: u64, sink: &mut dyn Sink) -> Result<u64, Refusal> {
        let mut links = &mut *self.links;
        let mut cut = cut;
        while let Some((link, rest)) = links.split_first_mut() {
            cut = link
                .edge
                .finish(cut, &mut Next { text: &mut link.text, tape: &mut link.tape, rest, sink })?;
            links = rest;
        }
        Ok(cut)
    }
}

fn feed(links: &mut [Link], event: &Event<'_>, sink: &mut dyn Sink) -> Result<(), Refusal> {
    match links.split_first_mut() {
        None => sink.see(event),
        Some((link, rest)) => {
            link.edge.event(event, &mut Next { text: &mut link.text, tape: &mut link.tape, rest, sink })
        }
    }
}

fn feed_run(
    links: &mut [Link],
    run: &PackedRow<'_>,
    place: Place,
    sink: &mut dyn Sink,
) -> Result<(), Refusal> {
    if let Some((link, rest)) = links.split_first_mut() {
        let mut next = Next { text: &mut link.text, tape: &mut link.tape, rest, sink };
        if let Some(done) = link.edge.run(run, place, &mut next) {
            return done;
        }
    }
    let (mut text, mut tape) = (Vec::new(), Tape::new());
    for (seq, delta) in run.iter() {
        text.clear();
        run.print_event(seq, &delta, &mut text);
        let text = Text::Printed(std::str::from_utf8(&text).unwrap_or_default());
        with_event(text, &mut tape, place, |event| feed(links, event, sink))?;
    }
    Ok(())
}

/// The text of a row between two steps.
#[derive(Clone, Copy)]
pub(crate) enum Text<'t> {
    /// As it stands in the source.
    Read(&'t str),
    /// As a step printed it.
    Printed(&'t str),
}

/// Parse a row again and hand on its event.
pub(crate) fn with_event(
    text: Text<'_>,
    tape: &mut Tape,
    place: Place,
    then: impl FnOnce(&Event<'_>) -> Result<(), Refusal>,
) -> Result<(), Refusal> {
    let unreadable = |what: String| Refusal {
        edge: "chain",
        code: "unreadable-row",
        what,
        class: RefusalClass::Unsupported,
        at: Box::new(dshlog_codec::At::place(place)),
    };
    let (text, parsed) = match text {
        Text::Read(text) => (text, tape.parse(text)),
        Text::Printed(text) => (text, tape.parse_printed(text)),
    };
    parsed.map_err(|error| unreadable(error.to_string()))?;
    let row = Js::root(text, tape).ok_or_else(|| unreadable("empty row".into()))?;
    then(&Event::from_row(row, place))
}

/// The text of a row, in this memory.
fn printed<'t>(row: &Tree<'_>, text: &'t mut Vec<u8>) -> &'t str {
    text.clear();
    row.print(text);
    // The printer writes lone surrogates as escapes, so this is always UTF-8.
    std::str::from_utf8(text).unwrap_or_default()
}

/// What stands behind a step: the further steps and the sink.
struct Next<'c> {
    text: &'c mut Vec<u8>,
    tape: &'c mut Tape,
    rest: &'c mut [Link],
    sink: &'c mut dyn Sink,
}

impl Out for Next<'_> {
    fn keep(&mut self, event: &Event<'_>) -> Result<(), Refusal> {
        feed(self.rest, event, self.sink)
    }

    fn put(&mut self, row: &Tree<'_>, place: Place) -> Result<(), Refusal> {
        if self.rest.is_empty() {
            return self.sink.put(row, place, self.text, self.tape);
        }
        let text = Text::Printed(printed(row, self.text));
        with_event(text, self.tape, place, |event| feed(self.rest, event, self.sink))
    }

    fn run(&mut self, run: &PackedRow<'_>, place: Place) -> Result<(), Refusal> {
        feed_run(self.rest, run, place, self.sink)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Step(u64);

    impl Edge for Step {
        fn from(&self) -> Generation {
            Generation(self.0)
        }
        fn header(&mut self, source: &Header) -> Result<Header, Refusal> {
            Ok(source.clone())
        }
        fn event(&mut self, event: &Event<'_>, out: &mut dyn Out) -> Result<(), Refusal> {
            let mut row = Tree::from(event.row);
            if let Some(fields) = row.open() {
                fields.set(&format!("seen{}", self.0), Tree::bool(true));
            }
            out.put(&row, event.place)
        }
        fn finish(&mut self, cut: u64, _: &mut dyn Out) -> Result<u64, Refusal> {
            Ok(cut + 1)
        }
    }

    fn chain(source: u64, target: u64, steps: &[u64]) -> Result<Chain, ChainError> {
        let edges = steps.iter().map(|&from| Box::new(Step(from)) as Box<dyn Edge>).collect();
        Chain::new(Generation(source), Generation(target), edges)
    }

    #[test]
    fn only_a_complete_chain_of_adjacent_steps_is_built() {
        assert!(chain(0, 4, &[3, 1, 0, 2]).is_ok());
        assert!(chain(4, 4, &[]).is_ok());
        for (source, target, steps, error) in [
            (0, 4, &[0, 1, 3][..], ChainError::Missing(Generation(2))),
            (0, 4, &[0, 1, 2], ChainError::Missing(Generation(3))),
            (1, 3, &[2], ChainError::Missing(Generation(1))),
            (0, 2, &[0, 0, 1], ChainError::Duplicate(Generation(0))),
            (0, 2, &[0, 1, 2], ChainError::Stray(Generation(2))),
            (1, 2, &[0, 1], ChainError::Stray(Generation(0))),
        ] {
            assert_eq!(chain(source, target, steps).err(), Some(error), "{steps:?}");
        }
    }

    #[test]
    fn events_pass_all_steps_in_order() {
        let mut chain = chain(1, 3, &[1, 2]).unwrap();
        let doc = dshlog_codec::json::Doc::parse(r#"{"type":"x","seq":0}"#).unwrap();
        let mut seen = Vec::new();
        let mut sink = |event: &Event<'_>| {
            seen.push(event.row.raw().to_owned());
            Ok(())
        };
        let event = Event::from_row(doc.root(), Place::default());
        chain.row(&Row::Event(event), &mut sink).unwrap();
        assert_eq!(chain.finish(5, &mut sink), Ok(7));
        assert_eq!(seen, [r#"{"type":"x","seq":0,"seen1":true,"seen2":true}"#]);
    }
}
