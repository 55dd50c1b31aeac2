//! The event types of V4 and V3 (`docs/spec/events-v4.md`, section 4).

use crate::json::JsStr;
use crate::types::Generation;

use super::rule::Rule;

macro_rules! vocabulary {
    ($($variant:ident $name:literal $since:literal;)*) => {
        /// A known event type.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[expect(missing_docs, reason = "the table below has the name that each one stands for")]
        pub enum EventType { $($variant,)* }

        impl EventType {
            /// Every type that V4 knows.
            pub const ALL: &[EventType] = &[$(EventType::$variant,)*];

            /// The type with this name in V4.
            pub fn named(name: &str) -> Option<EventType> {
                match name { $($name => Some(EventType::$variant),)* _ => None }
            }

            /// Its name.
            pub fn name(self) -> &'static str {
                match self { $(EventType::$variant => $name,)* }
            }

            /// The first generation, V3 or V4, in whose vocabulary it is. Types that V3 took over from its
            /// predecessors count as V3.
            pub fn since(self) -> Generation {
                Generation(match self { $(EventType::$variant => $since,)* })
            }
        }
    };
}

// Frequent types first: names are compared in this order.
vocabulary! {
    AssistantMessage "assistant/message" 3;
    StepStart "step/start" 3;
    StepEnd "step/end" 3;
    ToolCall "tool/call" 3;
    ToolResult "tool/result" 3;
    TurnStart "turn/start" 3;
    TurnEnd "turn/end" 3;
    UserMessage "user/message" 3;
    RequestHeader "request/header" 3;
    RequestContext "request/context" 3;
    InboxSpliced "agent/inbox/spliced" 3;
    AssistantAttempt "assistant/attempt" 3;
    DeveloperMessage "developer/message" 4;
    SystemMessage "system/message" 3;
    PtcDispatchStart "tool/ptc-dispatch-start" 3;
    PtcDispatch "tool/ptc-dispatch" 3;
    TodoWrite "todo/write" 3;
    Delivery "session-log-deepseek/delivery-accepted" 3;
    AgentPresetSelected "agent-preset/selected" 3;
    ApprovalAsked "approval/asked" 3;
    ApprovalDecided "approval/decided" 3;
    ApprovalPolicy "approval/policy" 3;
    CommandDone "command/done" 3;
    CommandRun "command/run" 3;
    CompactionEnd "compaction/end" 3;
    CompactionPrune "compaction/prune" 3;
    CompactionStart "compaction/start" 3;
    CompactionSummary "compaction/summary" 3;
    DeliverablesPresented "deliverables/presented" 3;
    FeedbackMessageDelete "feedback/message-delete" 3;
    FeedbackMessagePut "feedback/message-put" 3;
    FeedbackRecord "feedback/record" 3;
    GoalChange "goal/change" 3;
    HookInvoked "hook/invoked" 3;
    HookResult "hook/result" 3;
    ImageOffload "image/offload" 3;
    JobRegistered "job/registered" 4;
    JobSettled "job/settled" 4;
    Retry "llm/retry" 3;
    RetryStarted "llm/retry-started" 3;
    ModelSelection "model/selection" 3;
    PermissionPreset "permission/preset" 3;
    PlanMode "plan/mode" 3;
    SandboxMode "sandbox/mode" 3;
    ScheduleChange "schedule/change" 3;
    EndSeed "session/end-seed" 3;
    Title "session/title" 3;
    TitleRequest "session/title-llm-request" 3;
    SubagentCatalog "subagent/catalog" 3;
    SubagentDescriptor "subagent/descriptor" 3;
    SubagentModelPolicy "subagent/model-selection-policy" 3;
    TeamMember "team/member" 3;
    TeamMessageDelivered "team/message/delivered" 3;
    TeamMessageQueued "team/message/queued" 3;
    TeamTask "team/task" 3;
    WorkflowAgentEnd "tool-workflow/agent-end" 3;
    WorkflowAgentStart "tool-workflow/agent-start" 3;
    WorkflowRunEnd "tool-workflow/run-end" 3;
    WorkflowRunStart "tool-workflow/run-start" 3;
    WebSearchRequest "web/deepseek-search-llm-request" 3;
    WorkingDirectoryChange "working-directory/change" 4;
    WorkspaceChanges "workspace/changes" 3;
}

impl EventType {
    /// The type that an event's `type` names in V4; nothing for unknown ones.
    #[inline]
    pub fn of(kind: JsStr<'_>) -> Option<EventType> {
        match kind.as_plain() {
            Some(name) => EventType::named(name),
            None => EventType::named(&kind.to_lossy()),
        }
    }

    /// True when `generation`, V3 or V4, knows it.
    pub fn is_known_to(self, generation: Generation) -> bool {
        self.since() <= generation
    }

    /// True for the five types that make model history.
    pub fn is_surface(self) -> bool {
        matches!(
            self,
            EventType::SystemMessage
                | EventType::DeveloperMessage
                | EventType::UserMessage
                | EventType::AssistantMessage
                | EventType::ToolResult
        )
    }

    /// What an event of this type breaks when the lifecycle machine cannot even read it; nothing for types that the
    /// machine does not look at (`docs/spec/events-v4.md`, section 8).
    pub(super) fn lifecycle(self) -> Option<Rule> {
        Some(match self {
            EventType::TurnStart
            | EventType::TurnEnd
            | EventType::StepStart
            | EventType::StepEnd
            | EventType::AssistantMessage
            | EventType::AssistantAttempt
            | EventType::SystemMessage
            | EventType::DeveloperMessage
            | EventType::RequestHeader
            | EventType::RequestContext
            | EventType::EndSeed => Rule::TurnOrder,
            EventType::UserMessage => Rule::MessageShape,
            EventType::ToolCall | EventType::ToolResult => Rule::ToolLifecycle,
            EventType::PtcDispatchStart | EventType::PtcDispatch => Rule::PtcDispatch,
            EventType::Retry | EventType::RetryStarted => Rule::Retry,
            EventType::Title | EventType::TitleRequest => Rule::Title,
            EventType::CommandRun | EventType::CommandDone => Rule::Command,
            EventType::CompactionStart
            | EventType::CompactionSummary
            | EventType::CompactionEnd
            | EventType::CompactionPrune => Rule::Compaction,
            _ => return None,
        })
    }
}

/// True for names that V3 knew and V4 refuses by name when the event is not marked ignorable.
pub fn is_retired(kind: JsStr<'_>) -> bool {
    kind == "tool/code-dispatch-start" || kind == "tool/code-dispatch"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_names() {
        assert_eq!(EventType::ALL.len(), 62);
        assert_eq!(EventType::ALL.iter().filter(|t| t.is_known_to(Generation(3))).count(), 58);
        for &known in EventType::ALL {
            assert_eq!(EventType::named(known.name()), Some(known));
        }
        assert_eq!(EventType::of(JsStr::plain("plugin:todo/write")), None);
        assert_eq!(EventType::ALL.iter().filter(|t| t.is_surface()).count(), 5);
    }
}
