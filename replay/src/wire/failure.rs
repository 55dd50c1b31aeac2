//! What went wrong with an answer (`docs/spec/messages-wire.md`, 6).

use dshlog_codec::json::{Js, JsString, print_number, print_string};

use super::chunk::{member, string};

/// A failure as it stands in the log.
#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    /// For people.
    pub message: JsString,
    /// Its class, such as `RATE_LIMIT`. Chat Completions takes it from the reason to stop, which may be empty.
    pub code: JsString,
    /// Of an answer that was refused.
    pub status: Option<u16>,
    /// How long the provider asks to wait, in milliseconds.
    pub provider_retry_after_ms: Option<f64>,
    /// What the provider calls the request.
    pub request_id: Option<JsString>,
    /// How many more images have to be left out.
    pub offload_images: Option<u64>,
}

impl Failure {
    /// A failure of which nothing more is known.
    pub fn new(message: impl Into<JsString>, code: &str) -> Self {
        Failure {
            message: message.into(),
            code: code.into(),
            status: None,
            provider_retry_after_ms: None,
            request_id: None,
            offload_images: None,
        }
    }

    /// A stored failure; nothing for what no producer writes.
    pub fn read(failure: Js<'_>) -> Option<Failure> {
        const KNOWN: [&str; 6] =
            ["message", "code", "status", "providerRetryAfterMs", "requestId", "offloadImages"];
        let text = |name| string(failure, name);
        let status = optional(failure, "status", |value| u16::try_from(value.as_count()?).ok()).ok()?;
        let read = Failure {
            message: text("message")?,
            code: text("code")?,
            status,
            provider_retry_after_ms: optional(failure, "providerRetryAfterMs", finite).ok()?,
            request_id: optional(failure, "requestId", |_| text("requestId")).ok()?,
            offload_images: optional(failure, "offloadImages", Js::as_count).ok()?,
        };
        failure.has_only(&KNOWN).then_some(read)
    }

    /// What the message tells behind these words. It may be half of a character.
    pub(super) fn behind(&self, words: &str) -> Option<JsString> {
        self.message.as_wtf8().strip_prefix(words.as_bytes())?;
        Some(JsString::from_units(self.message.units().skip(words.encode_utf16().count())))
    }

    /// Append the failure as the runtime prints it.
    pub fn print(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"{\"message\":");
        print_string(out, &self.message);
        member(out, "code", &self.code);
        if let Some(status) = self.status {
            out.extend_from_slice(format!(",\"status\":{status}").as_bytes());
        }
        if let Some(delay) = self.provider_retry_after_ms {
            out.extend_from_slice(b",\"providerRetryAfterMs\":");
            print_number(out, delay);
        }
        if let Some(id) = &self.request_id {
            member(out, "requestId", id);
        }
        if let Some(images) = self.offload_images {
            out.extend_from_slice(format!(",\"offloadImages\":{images}").as_bytes());
        }
        out.push(b'}');
    }
}

/// A member that may be missing. What is there must be readable.
fn optional<'a, T>(
    of: Js<'a>,
    name: &str,
    read: impl FnOnce(Js<'a>) -> Option<T>,
) -> Result<Option<T>, Unreadable> {
    of.get(name).map(|value| read(value).ok_or(Unreadable)).transpose()
}

/// A member that no producer writes.
struct Unreadable;

fn finite(value: Js<'_>) -> Option<f64> {
    value.as_f64().filter(|number| number.is_finite())
}
