//! Projections: small states folded over the events of a log (`docs/spec/surface.md`, section 10).
//!
//! Those that dsh has too carry its key and version, and print its state and view, member for member. Projections fold
//! whatever events there are, inherited ones included, and do not ask whether the log is valid. An event whose payload a
//! fold cannot use leaves its state as it was, but where dsh itself gives up: then the projection has a [`Fault`], and no
//! state any more.

mod goal;
mod inbox;
mod ours;
mod preview;
mod settings;
mod subagents;
mod titles;
mod turns;
mod usage;
mod value;

use dshlog_codec::check::EventType;
use dshlog_codec::json::Tree;
use dshlog_codec::{Event, Header, Seq};

/// A state that events change.
pub trait Fold: std::fmt::Debug {
    /// Fold the next event. `kind` is its type, nothing for types that V4 does not know.
    ///
    /// # Errors
    /// Why dsh refuses to go on behind this event.
    fn see(&mut self, event: &Event<'_>, kind: Option<EventType>) -> Result<(), String>;

    /// The state, as dsh stores it.
    fn state(&self) -> Tree<'static>;

    /// What clients are shown of it; nothing when they are shown nothing.
    fn view(&self) -> Option<Tree<'static>>;
}

/// What a projection begins with.
#[derive(Clone, Copy, Debug)]
pub struct Start<'a> {
    /// The header of the session, in the form of V4.
    pub header: &'a Header,
    /// How many events are inherited from the parent; 0 when none are.
    pub cut: u64,
}

/// Whose a projection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// dsh has it, with the same key, version, state and view.
    Dsh,
    /// Only this program has it. Its state and view are the same.
    Dshlog,
}

impl Origin {
    /// `dsh` or `dshlog`.
    pub fn name(self) -> &'static str {
        match self {
            Origin::Dsh => "dsh",
            Origin::Dshlog => "dshlog",
        }
    }
}

/// A kind of projection.
#[derive(Debug)]
pub struct Definition {
    /// Its name.
    pub key: &'static str,
    /// Grows when its state changes shape.
    pub version: u64,
    /// Whose it is.
    pub origin: Origin,
    /// What it tells, in one line.
    pub about: &'static str,
    begin: fn(&Start<'_>) -> Box<dyn Fold>,
}

impl Definition {
    const fn dsh(
        key: &'static str,
        version: u64,
        about: &'static str,
        begin: fn(&Start<'_>) -> Box<dyn Fold>,
    ) -> Self {
        Definition { key, version, origin: Origin::Dsh, about, begin }
    }

    const fn ours(key: &'static str, about: &'static str, begin: fn(&Start<'_>) -> Box<dyn Fold>) -> Self {
        Definition { key, version: 1, origin: Origin::Dshlog, about, begin }
    }
}

/// Every projection there is, by name.
pub static DEFINITIONS: [Definition; 24] = [
    Definition::dsh("agentPreset", 1, "the preset that the agent is made of", settings::agent_preset),
    Definition::ours("approvals", "what was asked to be allowed, and what was decided", ours::approvals),
    Definition::dsh("goal", 6, "the goal of the session, and its rounds", goal::goal),
    Definition::dsh("inbox", 1, "messages that wait for the next turn or step", inbox::inbox),
    Definition::ours("jobs", "background jobs, running and settled", ours::jobs),
    Definition::dsh("llmRetry", 1, "retries of the open step, by provider and policy", usage::llm_retry),
    Definition::dsh(
        "modelSelection",
        2,
        "the model used last, and the one that comes next",
        settings::model_selection,
    ),
    Definition::dsh("permissions", 2, "preset, sandbox mode and approval policy", settings::permissions),
    Definition::dsh("plan", 3, "plan mode, and whether it is about to change", settings::plan),
    Definition::dsh("sandboxMode", 1, "the sandbox mode", settings::sandbox_mode),
    Definition::dsh(
        "sessionListMetadata",
        1,
        "whether there was a turn; when the user last spoke",
        turns::list_metadata,
    ),
    Definition::dsh(
        "sessionStats",
        1,
        "turns, steps, times of model, tools, first tokens",
        usage::session_stats,
    ),
    Definition::dsh("subagent", 2, "what a session is that another one delegated to", subagents::identity),
    Definition::dsh("subagentCatalog", 6, "the sessions that this one delegated to", subagents::catalog),
    Definition::dsh(
        "subagentModelSelectionPolicy",
        1,
        "the models that subagents may be given",
        subagents::model_policy,
    ),
    Definition::dsh("subagentTiming", 3, "how long a subagent has worked", subagents::timing),
    Definition::dsh("title", 1, "the last title", titles::title),
    Definition::dsh("titleInput", 3, "what the user said that a title can be made of", titles::title_input),
    Definition::dsh("todos", 2, "the list of things to do in this turn", settings::todos),
    Definition::dsh("tokenUsage", 2, "tokens read and written, as dsh adds them up", usage::token_usage),
    Definition::ours("toolCalls", "every tool call: when, how long, how it went", ours::tool_calls),
    Definition::dsh(
        "turnBoundary",
        2,
        "the open turn, the last step, the last turn's number",
        turns::boundary,
    ),
    Definition::dsh("turnOutline", 2, "each turn: its prompt and response in a few words", turns::outline),
    Definition::dsh("workingDirectory", 1, "the directory that tools work in", settings::working_directory),
];

/// The projection of this name.
pub fn named(key: &str) -> Option<&'static Definition> {
    DEFINITIONS.iter().find(|definition| definition.key == key)
}

/// Why a projection has no state.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("event {seq}: {reason}")]
pub struct Fault {
    /// The event that it does not get past.
    pub seq: Seq,
    /// What is wrong with it.
    pub reason: String,
}

/// A projection over a log.
#[derive(Debug)]
pub struct Projection {
    /// What kind it is.
    pub definition: &'static Definition,
    fold: Box<dyn Fold>,
    fault: Option<Fault>,
}

impl Projection {
    /// The state in front of the first event.
    pub fn new(definition: &'static Definition, start: &Start<'_>) -> Self {
        Projection { definition, fold: (definition.begin)(start), fault: None }
    }

    /// Fold the next event.
    pub fn see(&mut self, event: &Event<'_>) {
        self.see_as(event, EventType::of(event.kind));
    }

    fn see_as(&mut self, event: &Event<'_>, kind: Option<EventType>) {
        if self.fault.is_none()
            && let Err(reason) = self.fold.see(event, kind)
        {
            self.fault = Some(Fault { seq: event.seq, reason });
        }
    }

    /// The state, as dsh stores it.
    ///
    /// # Errors
    /// The event behind which there is none.
    pub fn state(&self) -> Result<Tree<'static>, &Fault> {
        self.fault.as_ref().map_or_else(|| Ok(self.fold.state()), Err)
    }

    /// What clients of dsh are shown of it; nothing when they are shown nothing.
    ///
    /// # Errors
    /// As [`Projection::state`].
    pub fn view(&self) -> Result<Option<Tree<'static>>, &Fault> {
        self.fault.as_ref().map_or_else(|| Ok(self.fold.view()), Err)
    }
}

/// Several projections in one walk.
#[derive(Debug)]
pub struct Projections(Vec<Projection>);

impl Projections {
    /// One of each kind, in this order.
    pub fn new(definitions: &[&'static Definition], start: &Start<'_>) -> Self {
        Projections(definitions.iter().map(|definition| Projection::new(definition, start)).collect())
    }

    /// Fold the next event. Between two events the states may be looked at, as often as one likes.
    pub fn see(&mut self, event: &Event<'_>) {
        let kind = EventType::of(event.kind);
        for projection in &mut self.0 {
            projection.see_as(event, kind);
        }
    }

    /// The projections.
    pub fn iter(&self) -> impl Iterator<Item = &Projection> {
        self.0.iter()
    }
}

#[cfg(test)]
mod tests;
