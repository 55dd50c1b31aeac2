//! Shapes that several payloads share (`docs/spec/events-v0-v3.md`, 6.2 and 6.5).

use super::rules;
use super::shape::Shape::{Any, Bool, Count, CountOrNull, Int, Num, Number, Pos, Str, Str1, True};
use super::shape::{Members, Shape, list, object, one_of, open_object, switch};

pub(super) static FAILURE: Shape = object!(
    { message: Str1, code: Str1; status: Int, providerRetryAfterMs: Num, requestId: Str1 },
    rules::failure
);

pub(super) static USAGE: Shape = object!({
    inputTokens: Count, outputTokens: Count;
    totalTokens: Count, cacheReadTokens: Count, cacheWriteTokens: Count, reasoningTokens: Count
});

pub(super) static ROUTE: Shape = object!({ provider: Str1, model: Str1 });

static SIZE: Shape = object!({ width: Pos, height: Pos });

/// The attachment of an image block.
pub static IMAGE: Shape = object!({
    attachmentId: Str1,
    mediaType: one_of!("image/png" | "image/jpeg" | "image/webp" | "image/gif"),
    bytes: Count, width: Pos, height: Pos;
    name: Str, originalDimensions: SIZE
});

static TEXT: Shape = object!({ type: Any, text: Str });

/// A content block.
pub static BLOCK: Shape = switch!(type:
    "text" | "reasoning" => TEXT,
    "image" => object!({ type: Any, attachment: IMAGE }),
    "tool-call" => object!({ type: Any, id: Str1, name: Str1, arguments: Str }),
    "tool-result" => object!({ type: Any, toolCallId: Str1, content: BLOCKS; isError: Bool }),
    other => open_object!({ type: Str1 })
);

/// Content blocks.
pub static BLOCKS: Shape = list!(BLOCK);

static MODEL_SOURCE: Shape = object!({
    kind: one_of!("model"), provider: Str1, model: Str1; replayState: Any
});

static TOOL_SOURCE: Shape = object!({ kind: one_of!("tool"), callId: Str1 });

/// Where a message comes from.
pub static SOURCE: Shape = switch!(kind:
    "user" => object!({ kind: Any; rpcId: Str1, clientTimeZone: Str1 }),
    "plugin" => object!(
        { kind: Any, plugin: Str1; form: Any, sections: Any, summary: Any, compactionId: Any, sourceCommandId: Any },
        rules::plugin
    ),
    "model" => MODEL_SOURCE,
    "tool" => TOOL_SOURCE,
    "agent-instructions" => object!({
        kind: Any, form: one_of!("instructions"), changes: list!(INSTRUCTION_CHANGE);
        baseline: True, baselineIdentity: Str1
    }),
    "session-reference" => object!(
        { kind: Any, form: one_of!("recall"), version: Number(1), references: list!(REFERENCE, 1) },
        rules::references
    ),
    "team-message" => object!({ kind: Any, teamId: Str1, messageId: Str1, senderId: Str1, senderName: Str }),
    "goal" => object!({ kind: Any, goalId: Str1, revision: Pos, round: Pos }),
    "skill-invocation" => object!({ kind: Any, name: Str1, form: one_of!("instructions") }),
    "skill-catalog" => object!({
        kind: Any, form: one_of!("catalog"), entries: list!(object!({ name: Str1, description: Str }));
        update: True
    }),
    "coordinator" | "subagent-report" => object!({ kind: Any, form: one_of!("relay"), senderSessionId: Str1 }),
    "subagent-settled" => object!({
        kind: Any, form: one_of!("notice"), summary: Str, senderSessionId: Str1
    }),
    "webhook" => object!({
        kind: Any, provider: Str1, source: Str1, deliveryId: Str1, ruleId: Str1, form: one_of!("notice"),
        summary: Str
    }),
    other => open_object!({ kind: Str1 })
);

static INSTRUCTION_CHANGE: Shape = object!({
    action: one_of!("set" | "replace" | "remove"), scope: Str, path: Str; digest: Str
});

pub(super) static SECTIONS: Shape = list!(object!({ name: Str1, text: Str }));

static REFERENCE: Shape = object!(
    {
        sessionId: Str1, label: Str, capturedThroughSeq: CountOrNull, compacted: Bool, originalMessages: Count,
        retainedMessages: Count, omittedMessages: Count, omittedBytes: Count, truncated: Bool, inputIndex: Count;
        capturedFormatVersion: Count
    },
    rules::reference
);

/// A user message. In V0 and V1 it may be a legacy goal message.
pub static USER_MESSAGE: Shape = Shape::Choose(rules::choose_user_message);

pub(super) static PLAIN_USER_MESSAGE: Shape = object!({
    id: Str1, role: one_of!("user"), content: BLOCKS, source: SOURCE
});

/// What runtimes wrote that had no `goal/change` for it (6.5).
pub(super) static LEGACY_GOAL_MESSAGE: Shape = object!(
    {
        id: Str1, role: one_of!("user"), content: list!(TEXT, 1, 1),
        source: object!({
            kind: one_of!("goal"), goalId: Str1, revision: Pos, round: Number(0), change: GOAL_CHANGE
        })
    },
    rules::legacy_goal_message
);

pub(super) static ASSISTANT_MESSAGE: Shape = object!({
    id: Str1, role: one_of!("assistant"), content: BLOCKS, source: MODEL_SOURCE
});

pub(super) static TOOL_MESSAGE: Shape = object!(
    { id: Str1, role: one_of!("user"), content: BLOCKS, source: TOOL_SOURCE },
    rules::tool_message
);

pub(super) static ANY_MESSAGE: Shape = object!({
    id: Str1, role: one_of!("system" | "user" | "assistant"), content: BLOCKS, source: SOURCE
});

static GOAL: Shape = object!(
    {
        id: Str1, revision: Pos, objective: Str1, phase: one_of!("active" | "paused" | "blocked" | "complete"),
        maxGoalRounds: Pos;
        blockedReason: object!({ code: Str1, message: Str1 })
    },
    rules::goal
);

pub(super) static GOAL_CHANGE: Shape = switch!(operation:
    "clear" => object!({
        kind: one_of!("goal/change"), version: Number(1), operation: Any,
        cleared: object!({ id: Str1, revision: Pos }), clearedAt: Count
    }),
    other => object!({
        kind: one_of!("goal/change"), version: Number(1),
        operation: one_of!("create" | "edit" | "pause" | "resume" | "complete" | "block"),
        goal: GOAL, roundsStarted: Count, createdAt: Count, updatedAt: Count
    })
);

pub(super) static SCHEDULE: Shape = switch!(kind:
    "after" => object!(
        { id: Str1, kind: Any, prompt: Str1, afterSeconds: Pos, scheduledAt: Str1 },
        rules::schedule
    ),
    "at" => object!({ id: Str1, kind: Any, prompt: Str1, scheduledAt: Str1 }, rules::schedule),
    "every" => object!(
        { id: Str1, kind: Any, prompt: Str1, everySeconds: Pos, scheduledAt: Str1 },
        rules::repeating_schedule
    ),
);
