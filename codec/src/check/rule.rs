//! The rules that a row, an event or a log can break, with their stable names.

use crate::error::Class;

macro_rules! rules {
    ($($(#[$doc:meta])* $name:ident, $code:literal, $class:ident, $spec:literal, $text:literal;)*) => {
        /// A rule. `docs/codes.md` lists them all.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[expect(missing_docs, reason = "the table below says it: code, class, number in the specification, text")]
        pub enum Rule { $($name,)* }

        impl Rule {
            /// Every rule, in the order of the specification.
            pub const ALL: &[Rule] = &[$(Rule::$name,)*];

            /// Stable kebab-case name.
            pub fn code(self) -> &'static str {
                match self { $(Rule::$name => $code,)* }
            }

            /// What breaking it means.
            pub fn class(self) -> Class {
                match self { $(Rule::$name => Class::$class,)* }
            }

            /// Number in `docs/spec/events-v4.md`, section 13, or in `docs/spec/surface.md`.
            pub fn spec(self) -> &'static str {
                match self { $(Rule::$name => $spec,)* }
            }

            /// What is wrong, in a few words without full stop.
            pub fn text(self) -> &'static str {
                match self { $(Rule::$name => $text,)* }
            }
        }
    };
}

rules! {
    CutBeyondLog, "cut-beyond-log", Corrupt, "A-1", "the seed cut lies beyond the log";
    UnknownType, "unknown-event", Unsupported, "A-2", "unknown event type that is not marked ignorable";
    SeedWithoutMarker, "seed-without-marker", Corrupt, "A-4", "seeded header, but no inherited end-seed marker";
    MarkerWithoutSeed, "marker-without-seed", Corrupt, "A-4", "inherited end-seed marker in a log that is not seeded";
    MarkerElsewhere, "marker-not-at-cut", Corrupt, "A-4", "the last inherited end-seed marker does not stand at the seed cut";
    RetiredType, "retired-event", Unsupported, "R-1", "retired event type that is not marked ignorable";
    RetiredPrompt, "retired-prompt", Corrupt, "R-2", "`request/header` without a header object, or with the retired member `system`";
    RetiredPromptV3, "retired-prompt-v3", Unsupported, "R-2", "`request/header` with the retired member `system`";
    RetiredResultBlock, "retired-result-block", Corrupt, "R-3", "retired `tool-result` block";
    Source, "message-source", Corrupt, "R-4", "message without an admissible source";
    SystemMessage, "system-message", Corrupt, "S-1", "malformed system message";
    DeveloperMessage, "developer-message", Corrupt, "D-1", "developer role and event do not fit";
    ToolChange, "tool-change-block", Corrupt, "D-2", "tool-change block where none may be, or a malformed one";
    HeaderSeq, "developer-header-seq", Corrupt, "D-3", "`headerSeq` must be there exactly with tool additions";
    DeveloperReference, "developer-reference", Corrupt, "D-4", "a tool addition does not name one complete tool of an earlier header";
    DeferLoading, "defer-loading", Corrupt, "D-5", "`deferLoading` other than true";
    ToolMessage, "tool-message", Corrupt, "T-R1", "malformed tool message";
    ResultError, "result-error", Corrupt, "T-R2", "a result with an error must say `isError`";
    ForkResult, "fork-result", Corrupt, "T-R3", "malformed not-started result of a fork";
    Envelope, "envelope", Corrupt, "E-1", "malformed envelope";
    RequestHeader, "request-header", Corrupt, "E-2", "malformed request header";
    MessageShape, "message-shape", Corrupt, "E-3", "malformed message";
    SurfaceMetadata, "surface-metadata", Corrupt, "E-4", "malformed surface metadata";
    SurfaceReplacement, "surface-replacement", Corrupt, "E-5", "replacement that the surface does not allow";
    ImageOffload, "image-offload", Corrupt, "E-6", "malformed image offload";
    TurnOrder, "turn-order", Corrupt, "L-1", "turn or step out of order";
    ClosedWithCalls, "closed-with-calls", Corrupt, "L-2", "a turn or step closes while tool calls are pending";
    ToolLifecycle, "tool-lifecycle", Corrupt, "L-3", "tool call or result without its counterpart";
    SurfaceLifecycle, "surface-lifecycle", Corrupt, "L-4", "surface change that the log does not allow";
    Compaction, "compaction", Corrupt, "L-5", "compaction out of order";
    PtcDispatch, "ptc-dispatch", Corrupt, "L-6", "dispatch out of order";
    Retry, "retry", Corrupt, "L-7", "retry out of order";
    Title, "title", Corrupt, "L-8", "title without its messages";
    Command, "command", Corrupt, "L-9", "command out of order";
    Delivery, "delivery", Corrupt, "N-1", "malformed delivery record";
    Catalog, "subagent-catalog", Corrupt, "N-2", "malformed or repeated child in the catalog";
    StreamReplay, "stream-replay", Corrupt, "P-1", "an embedded stream that cannot be replayed";
    StreamDisagrees, "stream-disagrees", Corrupt, "P-2", "an answer that is not what its embedded stream amounts to";
}

impl Rule {
    /// True for events of types that this reader does not know. The file is not damaged, and a lenient reader may pass
    /// over the event.
    pub fn is_unknown_type(self) -> bool {
        matches!(self, Rule::UnknownType | Rule::RetiredType)
    }
}
