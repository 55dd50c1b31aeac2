//! The payload of each event type at V0, V1 and V2 (`docs/spec/events-v0-v3.md`, 6.3 and 6.6).

use crate::types::Generation;

use super::common::{
    ANY_MESSAGE, ASSISTANT_MESSAGE, BLOCKS, FAILURE, GOAL_CHANGE, PLAIN_USER_MESSAGE, ROUTE, SCHEDULE,
    TOOL_MESSAGE, USAGE, USER_MESSAGE,
};
use super::rules;
use super::shape::Shape::{
    Any, Bool, Count, CountOrNull, Int, Lossless, Num, Number, Object, Pos, Prior, Str, Str1, True,
};
use super::shape::{Members, Shape, list, object, one_of, switch};

/// The payload that `kind` has at a generation up to V2; nothing for a type that it does not know.
pub(super) fn payload(kind: &str, generation: Generation) -> Option<&'static Shape> {
    let v2 = generation.0 >= 2;
    Some(match kind {
        "assistant/chunk" if !v2 => &Any,
        "assistant/attempt" if v2 => &ASSISTANT_ATTEMPT,
        "feedback/message-put" if v2 => &FEEDBACK_PUT,
        "feedback/message-delete" if v2 => &FEEDBACK_DELETE,
        "agent-preset/selected" => &AGENT_PRESET,
        "agent/inbox/spliced" => &INBOX_SPLICED,
        "approval/asked" => &APPROVAL_ASKED,
        "approval/decided" => &APPROVAL_DECIDED,
        "approval/policy" => &APPROVAL_POLICY,
        "assistant/message" if v2 => &ASSISTANT_MESSAGE_WITH_STREAM,
        "assistant/message" => &ASSISTANT_MESSAGE_EVENT,
        "command/done" => &COMMAND_DONE,
        "command/run" => &COMMAND_RUN,
        "compaction/end" => &COMPACTION_END,
        "compaction/prune" => &COMPACTION_PRUNE,
        "compaction/start" => &COMPACTION_START,
        "compaction/summary" => &COMPACTION_SUMMARY,
        "feedback/record" => &FEEDBACK,
        "goal/change" => &GOAL_CHANGE,
        "hook/invoked" => &HOOK_INVOKED,
        "hook/result" => &HOOK_RESULT,
        "llm/retry" => &RETRY,
        "llm/retry-started" => &RETRY_STARTED,
        "model/selection" => &MODEL_SELECTION,
        "permission/preset" => &PERMISSION_PRESET,
        "plan/mode" => &PLAN_MODE,
        "request/context" => &REQUEST_CONTEXT,
        "request/header" => &REQUEST_HEADER,
        "sandbox/mode" => &SANDBOX_MODE,
        "schedule/change" => &SCHEDULE_CHANGE,
        "session-log-deepseek/delivery-accepted" => &DELIVERY,
        "session/end-seed" if v2 => &INHERITED_END_SEED,
        "session/end-seed" => &END_SEED,
        "session/title" => &TITLE,
        "session/title-llm-request" => &TITLE_REQUEST,
        "step/end" | "step/start" => &STEP,
        "subagent/descriptor" if v2 => &DESCRIPTOR_3,
        "subagent/descriptor" => &DESCRIPTOR,
        "subagent/model-selection-policy" => &MODEL_POLICY,
        "team/member" => &TEAM_MEMBER,
        "team/message/delivered" => &TEAM_DELIVERED,
        "team/message/queued" => &TEAM_QUEUED,
        "team/task" => &TEAM_TASK,
        "todo/write" => &TODO,
        "tool-workflow/agent-end" => &WORKFLOW_AGENT_END,
        "tool-workflow/agent-start" => &WORKFLOW_AGENT_START,
        "tool-workflow/run-end" => &WORKFLOW_RUN_END,
        "tool-workflow/run-start" => &WORKFLOW_RUN_START,
        "tool/call" => &TOOL_CALL,
        "tool/code-dispatch" => &DISPATCH,
        "tool/code-dispatch-start" => &DISPATCH_START,
        "tool/result" => &TOOL_RESULT,
        "turn/end" => &TURN_END,
        "turn/start" => &TURN_START,
        "user/message" if v2 => &PLAIN_USER_MESSAGE,
        "user/message" => &USER_MESSAGE,
        "web/deepseek-search-llm-request" => &WEB_SEARCH,
        _ => return None,
    })
}

static AGENT_PRESET: Shape = object!({ agentPreset: Str });

static INBOX_SPLICED: Shape = object!({
    target: one_of!("next-turn" | "next-step"), start: Count, inserted: list!(USER_MESSAGE);
    removedCount: Count, outcome: one_of!("canceled")
});

static APPROVAL_ASKED: Shape = object!({ id: Str1, toolName: Str1; callId: Str1, reason: Str });

static APPROVAL_DECIDED: Shape = object!({
    id: Str1, outcome: one_of!("allowed-once" | "rejected" | "cancelled" | "unavailable")
});

static APPROVAL_POLICY: Shape = object!({ policy: one_of!("ask" | "never"); source: one_of!("delegation") });

static ASSISTANT_MESSAGE_EVENT: Shape = object!({
    turn: Count, step: Count, message: ASSISTANT_MESSAGE; usage: USAGE, interrupted: True
});

static ASSISTANT_MESSAGE_WITH_STREAM: Shape = object!({
    turn: Count, step: Count, message: ASSISTANT_MESSAGE, stream: STREAM; usage: USAGE, interrupted: True
});

static ASSISTANT_ATTEMPT: Shape = object!({ turn: Count, step: Count, stream: STREAM });

static STREAM: Shape = list!(Object);

static COMMAND_DONE: Shape = object!({
    commandId: Str1, kind: one_of!("success" | "error"); text: Str, sourceEventSeq: Prior
});

static COMMAND_RUN: Shape = object!({
    commandId: Str1, name: Str1, source: object!({ kind: one_of!("user") }); args: Str
});

static COMPACTION_START: Shape = object!({ compactionId: Str1, turn: CountOrNull; sourceCommandId: Str1 });

static COMPACTION_END: Shape = object!({
    compactionId: Str1, turn: CountOrNull; sourceCommandId: Str1, error: Str
});

static RANGE: Shape = object!({ start: Prior, end: Prior });

static PRIORS: Shape = list!(Prior, 1);

static COMPACTION_PRUNE: Shape = object!(
    { shadowedRange: RANGE, shadowedSeqs: PRIORS, shadowedTokenCount: Count },
    rules::shadowed
);

static COMPACTION_SUMMARY: Shape = object!(
    {
        compactionId: Str1, summary: BLOCKS, shadowedRange: RANGE, shadowedSeqs: PRIORS, shadowedTokenCount: Count,
        provider: Str1, model: Str1;
        sourceCommandId: Str1, maxTokens: Count, usage: USAGE, rawOutput: BLOCKS, llmStreamCall: True
    },
    rules::summary
);

static FEEDBACK: Shape = object!({ text: Str1 });

static FEEDBACK_PUT: Shape = object!({
    sessionId: Str,
    item: object!({
        messageId: Str, rating: one_of!("positive" | "negative"), version: Str, createdAt: Count, updatedAt: Count;
        note: Str
    })
});

static FEEDBACK_DELETE: Shape = object!({ sessionId: Str, messageId: Str });

static HOOK_INVOKED: Shape = object!({
    turn: Count, point: Str1, dialect: one_of!("claude-code" | "codex"), handlerId: Str1; matcher: Str
});

static HOOK_RESULT: Shape = object!(
    { turn: Count, point: Str1, handlerId: Str1, decision: Str1, durationMs: Num; exitCode: Int, stderrSummary: Str },
    rules::hook_result
);

static RETRY: Shape = object!(
    {
        retryId: Str1, turn: Count, step: Count, provider: Str1, mode: one_of!("normal" | "always"), policyKey: Str1,
        retry: Pos, delayMs: Num, failure: FAILURE;
        maxRetries: Pos
    },
    rules::retry
);

static RETRY_STARTED: Shape = object!({ retryId: Str1, turn: Count, step: Count, retry: Pos });

static MODEL_SELECTION: Shape = object!({ provider: Str1, model: Str1; reasoningEffort: Str1 });

static PERMISSION_PRESET: Shape = object!({ preset: Str1 });

static PLAN_MODE: Shape = object!({ active: Bool });

static REQUEST_CONTEXT: Shape = object!({ provider: Str1, model: Str1; contextWindow: Pos });

static REQUEST_HEADER: Shape = object!({
    header: object!(
        {
            config: object!({
                provider: Str1, model: Str1;
                reasoningEffort: Str1, temperature: Num, maxTokens: Pos, stop: list!(Str)
            });
            adapterDefaults: object!({ ; reasoningEffort: True, maxTokens: True }),
            system: Str,
            tools: list!(object!({ name: Str1, description: Str, parameters: Object }))
        },
        rules::request_header
    ),
    reason: one_of!("initial" | "resume" | "change" | "series");
    startsSeries: True
});

static SANDBOX_MODE: Shape = object!({
    mode: one_of!("read-only" | "workspace-write" | "danger-full-access"); source: one_of!("delegation")
});

static SCHEDULE_CHANGE: Shape = switch!(operation:
    "create" => object!({ version: Number(1), operation: Any, schedule: SCHEDULE }),
    "dispatch" => object!(
        { version: Number(1), operation: Any, id: Str1; acceptedAt: Str1 },
        rules::schedule_operation
    ),
    "delete" => object!({ version: Number(1), operation: Any, id: Str1 }, rules::schedule_operation),
);

static DELIVERY: Shape = object!(
    { sessionId: Any, throughSeq: Any; sessionFormatVersion: Count },
    rules::delivery
);

static END_SEED: Shape = object!({});

static INHERITED_END_SEED: Shape = object!({ ; inherited: True });

static TITLE: Shape = object!(
    {
        title: Str1, messageSeqs: list!(Prior),
        source: switch!(kind:
            "provider" => object!({ kind: Any, provider: Str1; model: ROUTE }),
            "fallback" | "user" => KIND_ONLY,
        )
    },
    rules::message_seqs
);

static KIND_ONLY: Shape = object!({ kind: Any });

static TITLE_REQUEST: Shape = object!(
    {
        titleProvider: Str1, messageSeqs: PRIORS, route: ROUTE, system: Str, messages: list!(ANY_MESSAGE),
        maxTokens: Pos
    },
    rules::message_seqs
);

static STEP: Shape = object!({ turn: Count, step: Count });

static DESCRIPTOR: Shape = Shape::Choose(rules::choose_descriptor);

pub(super) static DESCRIPTOR_3: Shape = switch!(mode:
    "one-shot" => object!({ mode: Any, version: Number(3), provider: Str1; label: Str }),
    "continuable" => object!(
        {
            mode: Any, version: Number(3), provider: Str1, label: Str1;
            agentProvider: Str1, agentModel: Str1, agentReasoningEffort: Str1, persona: Str1,
            toolFilter: object!({ ; allow: list!(Str1), deny: list!(Str1) }, rules::tool_filter)
        },
        rules::descriptor
    ),
);

static MODEL_POLICY: Shape = object!({ allowedModels: list!(ROUTE, 1) }, rules::model_policy);

static TEAM_MEMBER: Shape = object!({
    version: Number(1), teamId: Str1,
    member: object!({
        id: Str1, name: Str, description: Str, provider: Str, context: one_of!("fresh" | "fork"),
        phase: one_of!("provisioning" | "active" | "failed");
        error: Str
    })
});

static TEAM_DELIVERED: Shape = object!({
    version: Number(1), teamId: Str1, messageId: Str1, targetId: Str1
});

static TEAM_QUEUED: Shape = object!({
    version: Number(1), teamId: Str1,
    message: object!({
        id: Str1, senderId: Str1, senderName: Str, targetId: Str1, delivery: one_of!("quiet" | "wakeup"),
        content: BLOCKS
    })
});

static TEAM_TASK: Shape = object!({
    version: Number(1), teamId: Str1,
    task: object!({
        id: Str1, revision: Pos, subject: Str, description: Str,
        status: one_of!("pending" | "in_progress" | "completed" | "deleted"), blockedBy: list!(Str1),
        writeScopes: list!(Str);
        ownerId: Str1
    })
});

static TODO: Shape = object!({
    todos: list!(object!({ content: Str, status: one_of!("pending" | "in_progress" | "completed") }))
});

static WORKFLOW_AGENT_END: Shape = object!({
    runId: Str1, seq: Pos, outcome: one_of!("completed" | "failed" | "cancelled")
});

static WORKFLOW_AGENT_START: Shape =
    object!({ runId: Str1, seq: Pos, label: Str, childId: Str1; phase: Str });

static WORKFLOW_RUN_END: Shape = object!({
    runId: Str1, stopReason: one_of!("completed" | "cancelled" | "error")
});

static WORKFLOW_RUN_START: Shape = object!({ runId: Str1, name: Str1 });

static TOOL_CALL: Shape = object!({ turn: Count, step: Count, callId: Str1, name: Str1, arguments: Str });

static DISPATCH: Shape = object!({
    rootCallId: Str1, parentCallId: Str1, subCallId: Str1, name: Str1, arguments: Lossless, isError: Bool,
    content: BLOCKS
});

static DISPATCH_START: Shape = object!({
    rootCallId: Str1, parentCallId: Str1, subCallId: Str1, name: Str1, arguments: Lossless
});

static TOOL_RESULT: Shape = object!({
    turn: Count, step: Count, message: TOOL_MESSAGE; error: object!({ name: Str1, code: Str1 }), meta: Lossless
});

static TURN_START: Shape = object!({ turn: Count });

static TURN_END: Shape = object!({
    turn: Count,
    reason: switch!(kind:
        "completed" | "blocked" | "max-tokens" | "interrupted" => KIND_ONLY,
        "aborted" => object!({
            kind: Any,
            reason: switch!(kind:
                "hook" => object!({ kind: Any, reason: Str }),
                "user" | "parent" | "disposed" | "legacy" => KIND_ONLY,
            )
        }),
        "error" => object!({ kind: Any, error: FAILURE }),
        other => super::shape::open_object!({ kind: Str1 })
    )
});

static WEB_SEARCH: Shape = object!({
    endpoint: Str1, apiVersion: Str1,
    body: object!({
        model: Str1, max_tokens: Pos,
        messages: list!(
            object!({
                role: one_of!("user"),
                content: list!(object!({ type: one_of!("text"), text: Str }), 1, 1)
            }),
            1, 1
        ),
        tools: list!(
            object!({ type: one_of!("web_search_20250305"), name: one_of!("web_search"), max_uses: Pos }),
            1, 1
        )
    })
});
