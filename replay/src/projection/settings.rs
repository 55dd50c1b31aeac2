//! What is set, and by the last event that sets it (`docs/spec/surface.md`, 10.3 and 10.7).

use dshlog_codec::Event;
use dshlog_codec::check::EventType;
use dshlog_codec::json::{Js, JsString, Tree};

use super::value::{Kept, null, object, only, or_null};
use super::{Fold, Start};

/// One value: that of the last event of a type.
#[derive(Debug)]
struct Last {
    kind: EventType,
    member: &'static str,
    value: Option<Kept>,
    shown: bool,
}

pub(super) fn sandbox_mode(_: &Start<'_>) -> Box<dyn Fold> {
    Box::new(Last { kind: EventType::SandboxMode, member: "mode", value: None, shown: false })
}

pub(super) fn working_directory(start: &Start<'_>) -> Box<dyn Fold> {
    let value = start.header.cwd.as_ref().map(Kept::string);
    Box::new(Last { kind: EventType::WorkingDirectoryChange, member: "cwd", value, shown: true })
}

pub(super) fn agent_preset(start: &Start<'_>) -> Box<dyn Fold> {
    let value = start.header.agent_preset.as_ref().map(Kept::string);
    Box::new(Last { kind: EventType::AgentPresetSelected, member: "agentPreset", value, shown: true })
}

pub(super) fn title(_: &Start<'_>) -> Box<dyn Fold> {
    Box::new(Last { kind: EventType::Title, member: "title", value: None, shown: true })
}

impl Fold for Last {
    fn see(&mut self, event: &Event<'_>, kind: Option<EventType>) -> Result<(), String> {
        if kind == Some(self.kind)
            && let Some(value) = event.member(self.member)
        {
            self.value = Some(Kept::of(value));
        }
        Ok(())
    }

    fn state(&self) -> Tree<'static> {
        or_null(self.value.as_ref())
    }

    fn view(&self) -> Option<Tree<'static>> {
        self.shown.then(|| self.state())
    }
}

#[derive(Debug, Default)]
struct Todos(Option<TodoList>);

#[derive(Debug)]
struct TodoList {
    stored: Kept,
    /// With the members that clients know.
    shown: Tree<'static>,
}

pub(super) fn todos(_: &Start<'_>) -> Box<dyn Fold> {
    Box::<Todos>::default()
}

impl Fold for Todos {
    fn see(&mut self, event: &Event<'_>, kind: Option<EventType>) -> Result<(), String> {
        match kind {
            // A new turn begins without a list; the end of one keeps it.
            Some(EventType::TurnStart) => self.0 = None,
            Some(EventType::TodoWrite) => {
                let Some(todos) = event.member("todos").filter(|todos| todos.is_array()) else {
                    return Ok(());
                };
                let shown = todos.elements().map(|todo| only(todo, &["content", "status"])).collect();
                self.0 = Some(TodoList { stored: Kept::of(todos), shown: Tree::Array(shown) });
            }
            _ => {}
        }
        Ok(())
    }

    fn state(&self) -> Tree<'static> {
        or_null(self.0.as_ref().map(|list| &list.stored))
    }

    fn view(&self) -> Option<Tree<'static>> {
        Some(self.0.as_ref().map_or_else(null, |list| list.shown.clone()))
    }
}

#[derive(Debug, Default)]
struct Permissions {
    preset: Option<Kept>,
    sandbox: Option<Kept>,
    approval: Option<Kept>,
    seeded: bool,
}

pub(super) fn permissions(_: &Start<'_>) -> Box<dyn Fold> {
    Box::<Permissions>::default()
}

impl Fold for Permissions {
    fn see(&mut self, event: &Event<'_>, kind: Option<EventType>) -> Result<(), String> {
        let (slot, member) = match kind {
            Some(EventType::PermissionPreset) => (&mut self.preset, "preset"),
            Some(EventType::SandboxMode) => (&mut self.sandbox, "mode"),
            Some(EventType::ApprovalPolicy) => (&mut self.approval, "policy"),
            Some(EventType::EndSeed) => {
                self.seeded = true;
                return Ok(());
            }
            _ => return Ok(()),
        };
        if let Some(value) = event.member(member) {
            *slot = Some(Kept::of(value));
        }
        Ok(())
    }

    fn state(&self) -> Tree<'static> {
        object([
            ("preset", or_null(self.preset.as_ref())),
            ("sandbox", or_null(self.sandbox.as_ref())),
            ("approval", or_null(self.approval.as_ref())),
            ("seeded", Tree::bool(self.seeded)),
        ])
    }

    /// What clients are shown is the name of a preset in a configuration, which no log has.
    fn view(&self) -> Option<Tree<'static>> {
        None
    }
}

#[derive(Debug, Default)]
struct Plan {
    active: bool,
    wanted: Option<bool>,
    running: Option<PlanCommand>,
    active_at_last_header: Option<bool>,
}

/// A `/plan` on its way.
#[derive(Debug)]
struct PlanCommand {
    id: JsString,
    wanted: bool,
}

pub(super) fn plan(_: &Start<'_>) -> Box<dyn Fold> {
    Box::<Plan>::default()
}

impl Fold for Plan {
    fn see(&mut self, event: &Event<'_>, kind: Option<EventType>) -> Result<(), String> {
        let text = |name| event.member(name).and_then(Js::as_str);
        match kind {
            Some(EventType::CommandRun) if text("name").is_some_and(|name| name == "plan") => {
                if let (Some(args), Some(id)) = (text("args"), text("commandId")) {
                    let is_off = args.to_lossy().trim_matches(is_blank) == "off";
                    self.running = Some(PlanCommand { id: id.to_owned(), wanted: !is_off });
                }
            }
            Some(EventType::CommandDone) => {
                let done = text("commandId").map(dshlog_codec::json::JsStr::to_owned);
                let running = self.running.take_if(|running| Some(&running.id) == done.as_ref());
                if let Some(running) = running {
                    let succeeded = text("kind").is_some_and(|kind| kind == "success");
                    self.wanted = (succeeded && running.wanted != self.active).then_some(running.wanted);
                }
            }
            Some(EventType::PlanMode) => {
                if let Some(active) = event.member("active").and_then(Js::as_bool) {
                    self.active = active;
                    self.wanted = None;
                }
            }
            Some(EventType::RequestHeader) => self.active_at_last_header = Some(self.active),
            _ => {}
        }
        Ok(())
    }

    fn state(&self) -> Tree<'static> {
        let flag = |flag: Option<bool>| flag.map_or_else(null, Tree::bool);
        let running = self.running.as_ref().map_or_else(null, |running| {
            object([("commandId", Kept::string(&running.id).tree()), ("wanted", Tree::bool(running.wanted))])
        });
        object([
            ("active", Tree::bool(self.active)),
            ("wanted", flag(self.wanted)),
            ("running", running),
            ("activeAtLastHeader", flag(self.active_at_last_header)),
        ])
    }

    fn view(&self) -> Option<Tree<'static>> {
        let wanted = self.running.as_ref().map(|running| running.wanted).or(self.wanted);
        let pending = wanted.is_some_and(|wanted| wanted != self.active);
        Some(object([("active", Tree::bool(self.active)), ("pending", Tree::bool(pending))]))
    }
}

/// What `trim` of JavaScript takes off.
fn is_blank(c: char) -> bool {
    u16::try_from(u32::from(c)).is_ok_and(super::preview::is_blank)
}

/// A model, as a choice.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Choice {
    provider: Option<Kept>,
    model: Option<Kept>,
    effort: Option<Kept>,
}

#[derive(Debug, Default)]
struct ModelSelection {
    last_used: Option<Choice>,
    /// What was chosen, and the same as it is stored.
    pending: Option<(Choice, Kept)>,
}

pub(super) fn model_selection(_: &Start<'_>) -> Box<dyn Fold> {
    Box::<ModelSelection>::default()
}

impl Fold for ModelSelection {
    fn see(&mut self, event: &Event<'_>, kind: Option<EventType>) -> Result<(), String> {
        match (kind, event.data) {
            (Some(EventType::ModelSelection), Some(data)) if is_choice(data) => {
                let choice = Choice::of(data);
                if self.pending.as_ref().is_none_or(|(pending, _)| *pending != choice) {
                    self.pending = Some((choice, Kept::of(data)));
                }
            }
            (Some(EventType::RequestHeader), Some(data)) => {
                let Some(config) = data.path(&["header", "config"]) else { return Ok(()) };
                let used = Choice::of(config);
                self.pending.take_if(|(pending, _)| *pending == used);
                self.last_used = Some(used);
            }
            _ => {}
        }
        Ok(())
    }

    fn state(&self) -> Tree<'static> {
        let pending = self.pending.as_ref().map(|(_, stored)| stored);
        object([("lastUsed", Choice::tree(self.last_used.as_ref())), ("pending", or_null(pending))])
    }

    fn view(&self) -> Option<Tree<'static>> {
        let next = self.pending.as_ref().map(|(choice, _)| choice).or(self.last_used.as_ref());
        Some(object([("lastUsed", Choice::tree(self.last_used.as_ref())), ("next", Choice::tree(next))]))
    }
}

/// True for a payload that names a model.
fn is_choice(value: Js<'_>) -> bool {
    ["provider", "model"].into_iter().all(|name| value.get(name).is_some_and(|name| name.as_str().is_some()))
}

impl Choice {
    fn of(value: Js<'_>) -> Self {
        let member = |name| value.get(name).map(Kept::of);
        Choice { provider: member("provider"), model: member("model"), effort: member("reasoningEffort") }
    }

    fn tree(choice: Option<&Choice>) -> Tree<'static> {
        let Some(choice) = choice else { return null() };
        let mut fields = dshlog_codec::json::Fields::new();
        let members =
            [("provider", &choice.provider), ("model", &choice.model), ("reasoningEffort", &choice.effort)];
        for (name, value) in members {
            if let Some(value) = value {
                fields.set(name, value.tree());
            }
        }
        fields.into()
    }
}
