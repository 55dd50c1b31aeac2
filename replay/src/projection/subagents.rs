//! Sessions that were delegated to, seen from both sides (`docs/spec/surface.md`, 10.7).

use dshlog_codec::Event;
use dshlog_codec::check::EventType;
use dshlog_codec::json::{Fields, Js, Tree};

use super::value::{Kept, null, number, object, only};
use super::{Fold, Start};

/// Entries of a chunk, as dsh stores long lists.
const CHUNK: usize = 64;

#[derive(Debug)]
struct Catalog {
    cut: u64,
    children: Vec<Child>,
}

#[derive(Debug)]
struct Child {
    stored: Tree<'static>,
    shown: Tree<'static>,
}

pub(super) fn catalog(start: &Start<'_>) -> Box<dyn Fold> {
    Box::new(Catalog { cut: start.cut, children: Vec::new() })
}

impl Fold for Catalog {
    fn see(&mut self, event: &Event<'_>, kind: Option<EventType>) -> Result<(), String> {
        if kind == Some(EventType::SubagentCatalog) && event.seq.0 >= self.cut {
            let child = event.data.and_then(Child::of).ok_or("the entry has none of the known shapes")?;
            self.children.push(child);
        }
        Ok(())
    }

    /// Long lists are stored as dsh stores them: 64 entries, and in them those before.
    fn state(&self) -> Tree<'static> {
        let mut head: Option<Fields<'static>> = None;
        for chunk in self.children.chunks(CHUNK) {
            let values = Tree::Array(chunk.iter().map(|child| child.stored.clone()).collect());
            let next = Fields::new().with("values", values);
            head = Some(match head {
                Some(previous) => next.with("previous", previous),
                None => next,
            });
        }
        let mut state = Fields::new().with("inheritedEventCount", Tree::integer(self.cut));
        if let Some(head) = head {
            state.set("head", head);
        }
        state.into()
    }

    fn view(&self) -> Option<Tree<'static>> {
        Some(Tree::Array(self.children.iter().map(|child| child.shown.clone()).collect()))
    }
}

impl Child {
    /// Exactly one of the shapes of `docs/spec/surface.md`, B-3.
    fn of(data: Js<'_>) -> Option<Self> {
        const MEMBERS: [&str; 5] = ["version", "childId", "childCreatedAt", "mode", "label"];
        let version = data.get("version")?.as_f64()?;
        let label = data.get("label");
        let mode = data.get("mode")?.as_str()?;
        let versions: &[f64] = match mode.as_plain()? {
            "one-shot" => &[0.0, 1.0],
            "continuable" if label.is_some() => &[0.0, 1.0],
            "external" => &[2.0],
            "unknown" => &[1.0],
            _ => return None,
        };
        let id = data.get("childId").filter(|id| id.as_str().is_some())?;
        let created = data.get("childCreatedAt")?;
        let is_created = created
            .as_f64()
            .is_some_and(|at| at >= 0.0 && at.fract() == 0.0 && at <= 9_007_199_254_740_991.0);
        let is_exact = data.has_only(&MEMBERS)
            && versions.contains(&version)
            && is_created
            && label.is_none_or(|label| label.as_str().is_some());
        if !is_exact {
            return None;
        }
        let mut shown = only(data, &["mode", "label"]);
        if let Some(fields) = shown.open() {
            fields.set("id", Kept::of(id).tree());
            fields.set("createdAt", Kept::of(created).tree());
        }
        Some(Child { stored: only(data, &MEMBERS), shown })
    }
}

/// What the last descriptor says, when it is one that this version of dsh knows.
#[derive(Debug, Default)]
struct Identity(Option<Tree<'static>>);

pub(super) fn identity(_: &Start<'_>) -> Box<dyn Fold> {
    Box::<Identity>::default()
}

impl Fold for Identity {
    fn see(&mut self, event: &Event<'_>, kind: Option<EventType>) -> Result<(), String> {
        if kind == Some(EventType::SubagentDescriptor) {
            self.0 = event.data.filter(|data| is_descriptor(*data)).map(|data| {
                let mut identity = only(data, &["mode", "label"]);
                if let Some(fields) = identity.open() {
                    fields.set("seq", Tree::integer(event.seq.0));
                }
                identity
            });
        }
        Ok(())
    }

    fn state(&self) -> Tree<'static> {
        match &self.0 {
            Some(identity) => object([("identity", identity.clone())]),
            None => object([]),
        }
    }

    fn view(&self) -> Option<Tree<'static>> {
        Some(self.0.clone().unwrap_or_else(null))
    }
}

/// A descriptor of version 3 with the members of its mode, and no others.
fn is_descriptor(data: Js<'_>) -> bool {
    const BASE: [&str; 4] = ["version", "mode", "provider", "label"];
    const OPTIONS: [&str; 4] = ["agentProvider", "agentModel", "agentReasoningEffort", "persona"];
    let is_text = |name| data.get(name).is_some_and(|value| value.as_str().is_some());
    let is_text_or_absent = |name| data.get(name).is_none_or(|value| value.as_str().is_some());
    let is_known = data.get("version").and_then(Js::as_f64) == Some(3.0) && is_text("provider");
    let mode = data.get("mode").and_then(Js::as_str);
    if mode.is_some_and(|mode| mode == "one-shot") {
        return is_known && data.has_only(&BASE) && is_text_or_absent("label");
    }
    let members = [&BASE[..], &OPTIONS, &["toolFilter"]].concat();
    is_known
        && mode.is_some_and(|mode| mode == "continuable")
        && data.has_only(&members)
        && is_text("label")
        && OPTIONS.into_iter().all(is_text_or_absent)
        && data.get("toolFilter").is_none_or(is_tool_filter)
}

fn is_tool_filter(filter: Js<'_>) -> bool {
    let names = ["allow", "deny"];
    let is_list = |list: Js<'_>| list.is_array() && list.elements().all(|name| name.as_str().is_some());
    filter.is_object()
        && filter.has_only(&names)
        && filter.member_count() > 0
        && names.into_iter().all(|name| filter.get(name).is_none_or(is_list))
}

#[derive(Debug, Default)]
struct Timing {
    is_described: bool,
    settled: f64,
    /// The open turn, and the last event in it.
    active: Option<(f64, f64)>,
    /// Start of a turn that no descriptor has claimed yet.
    pending_start: Option<f64>,
    last_completed: Option<bool>,
}

pub(super) fn timing(_: &Start<'_>) -> Box<dyn Fold> {
    Box::<Timing>::default()
}

impl Fold for Timing {
    #[expect(clippy::cast_precision_loss, reason = "times are safe integers")]
    fn see(&mut self, event: &Event<'_>, kind: Option<EventType>) -> Result<(), String> {
        let time = event.time.0 as f64;
        match kind {
            Some(EventType::TurnStart) => {
                self.last_completed = None;
                if self.is_described {
                    self.active = Some((time, time));
                } else {
                    self.pending_start = Some(time);
                }
            }
            Some(EventType::SubagentDescriptor) => {
                // A fork inherits the times of an ancestor, which are not its own.
                let since = self.active.map(|active| active.0).or(self.pending_start);
                *self = Timing {
                    is_described: true,
                    active: since.map(|since| (since, time)),
                    ..Timing::default()
                };
            }
            Some(EventType::TurnEnd) if !self.is_described => self.pending_start = None,
            Some(EventType::TurnEnd) => {
                if let Some((since, _)) = self.active.take() {
                    self.settled += (time - since).max(0.0);
                    let reason = event.member("reason").and_then(|reason| reason.get("kind"));
                    self.last_completed = Some(reason.is_some_and(|kind| kind.is("completed")));
                }
            }
            _ => {
                if let Some(active) = &mut self.active {
                    active.1 = time;
                }
            }
        }
        Ok(())
    }

    fn state(&self) -> Tree<'static> {
        let mut state = Fields::new().with("descriptorSeen", Tree::bool(self.is_described));
        state.set("settledMs", number(self.settled));
        if let Some(start) = self.pending_start {
            state.set("pendingTurnStart", number(start));
        }
        self.set_turn(&mut state);
        state.into()
    }

    fn view(&self) -> Option<Tree<'static>> {
        let mut view = Fields::new().with("settledMs", number(self.settled));
        self.set_turn(&mut view);
        Some(view.into())
    }
}

impl Timing {
    fn set_turn(&self, fields: &mut Fields<'static>) {
        if let Some((since, through)) = self.active {
            fields.set("active", object([("since", number(since)), ("through", number(through))]));
        }
        if let Some(completed) = self.last_completed {
            fields.set("lastTurnCompleted", Tree::bool(completed));
        }
    }
}

/// The first list of models counts.
#[derive(Debug, Default)]
struct ModelPolicy(Option<Kept>);

pub(super) fn model_policy(_: &Start<'_>) -> Box<dyn Fold> {
    Box::<ModelPolicy>::default()
}

impl Fold for ModelPolicy {
    fn see(&mut self, event: &Event<'_>, kind: Option<EventType>) -> Result<(), String> {
        if kind == Some(EventType::SubagentModelPolicy) && self.0.is_none() {
            let models = event.member("allowedModels").filter(|models| models.elements().next().is_some());
            self.0 = Some(Kept::of(models.ok_or("the policy allows no model")?));
        }
        Ok(())
    }

    fn state(&self) -> Tree<'static> {
        super::value::or_null(self.0.as_ref())
    }

    fn view(&self) -> Option<Tree<'static>> {
        None
    }
}
