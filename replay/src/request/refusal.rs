//! Why there is no body: what the adapter refuses before it sends anything, and what the log does not hold.

use dshlog_codec::Seq;
use dshlog_codec::json::JsonError;

/// A call that has no body. The first seven kinds are failures of the official adapters, with their own words
/// (`docs/spec/messages-wire.md`, section 3); no request was made then either.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// Content that the dialect has no form for.
    #[error("DeepSeek Messages cannot represent {what}")]
    Unsupported {
        /// What it is, in the adapter's words.
        what: String,
        /// The event that put it on the surface, as far as it is one.
        seq: Option<Seq>,
    },
    /// An image outside of user messages and results of tools.
    #[error("DeepSeek Messages supports images only in user messages and tool results")]
    MisplacedImage {
        /// The event that put it on the surface, as far as it is one.
        seq: Option<Seq>,
    },
    /// The same in Chat Completions.
    #[error("The DeepSeek chat-completions adapter cannot represent image content in a {role} message.")]
    ImageOfRole {
        /// `system` or `assistant`.
        role: &'static str,
        /// The event that put it on the surface, as far as it is one.
        seq: Option<Seq>,
    },
    /// Two calls of one assistant turn share an id.
    #[error("DeepSeek Messages duplicate tool call id")]
    DuplicateCall {
        /// The event with the second one.
        seq: Option<Seq>,
    },
    /// A result answers no call of the assistant turn before it.
    #[error("DeepSeek Messages tool result has no matching call")]
    NoMatchingCall {
        /// The event with the result.
        seq: Option<Seq>,
    },
    /// The turn behind a call leaves it unanswered, or the history ends there.
    #[error("{}", if *.at_end { "DeepSeek Messages history ends with unresolved tools" } else { "DeepSeek Messages tool calls need immediate results" })]
    Unanswered {
        /// The event with the call.
        seq: Option<Seq>,
        /// Nothing follows the call.
        at_end: bool,
    },
    /// An effort that the adapter does not know.
    #[error("DeepSeek Messages does not support reasoning effort {effort}")]
    UnsupportedEffort {
        /// The effort.
        effort: String,
    },
    /// The bytes of images are not there. Nothing can be sent in their place.
    #[error("the bytes of {} are missing", listed(.attachments))]
    MissingAttachments {
        /// The attachments' ids, such as `sha256:...`, each once.
        attachments: Vec<String>,
        /// The event that put the first of them on the surface.
        seq: Option<Seq>,
    },
    /// An image that the adapter scales and encodes anew: what it sends is not in any log.
    #[error(
        "image {attachment} ({width}x{height}, {bytes} bytes) is scaled before it is sent, which cannot be repeated"
    )]
    ScaledImage {
        /// The attachment's id.
        attachment: String,
        /// The event that put it on the surface.
        seq: Option<Seq>,
        /// Columns of pixels.
        width: u64,
        /// Rows of pixels.
        height: u64,
        /// Size as stored.
        bytes: u64,
    },
    /// No header is in force, so nothing says which model is asked for what.
    #[error("there is no `request/header` yet")]
    NoHeader,
    /// A message that does not read back.
    #[error("a message does not read back")]
    Unreadable(#[from] JsonError),
}

impl Refusal {
    /// The code that the adapter's failure has in a log; nothing for what is no failure of it.
    pub fn code(&self) -> Option<&'static str> {
        Some(match self {
            Refusal::Unsupported { .. } | Refusal::MisplacedImage { .. } | Refusal::ImageOfRole { .. } => {
                "UNSUPPORTED_CONTENT"
            }
            Refusal::DuplicateCall { .. } | Refusal::NoMatchingCall { .. } | Refusal::Unanswered { .. } => {
                "INVALID_REQUEST"
            }
            Refusal::UnsupportedEffort { .. } => "UNSUPPORTED_REASONING_EFFORT",
            _ => return None,
        })
    }

    /// The event that it is about, where it is about one.
    pub fn seq(&self) -> Option<Seq> {
        match self {
            Refusal::Unsupported { seq, .. }
            | Refusal::MisplacedImage { seq }
            | Refusal::ImageOfRole { seq, .. }
            | Refusal::DuplicateCall { seq }
            | Refusal::NoMatchingCall { seq }
            | Refusal::Unanswered { seq, .. }
            | Refusal::MissingAttachments { seq, .. }
            | Refusal::ScaledImage { seq, .. } => *seq,
            _ => None,
        }
    }
}

/// `image a`, `images a, b`.
fn listed(attachments: &[String]) -> String {
    let noun = if attachments.len() == 1 { "image" } else { "images" };
    format!("{noun} {}", attachments.join(", "))
}
