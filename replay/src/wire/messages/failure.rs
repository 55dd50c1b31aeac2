//! Which failure an error of the endpoint is (`docs/spec/messages-wire.md`, 6).

use dshlog_codec::json::{Js, JsString};

use super::super::chunk::string;
use super::super::failure::Failure;
use super::super::head::{Head, is_decimal};
use super::super::wording::{is_context, is_quota};

/// Headers that name a request, the first that is there first.
const IDS: [&str; 3] = ["request-id", "x-request-id", "x-deepseek-request-id"];

/// A defect of what was sent.
pub(super) fn malformed(message: impl Into<JsString>) -> Failure {
    Failure::new(message, "MALFORMED_RESPONSE")
}

/// All that is not otherwise classed.
pub(in crate::wire) fn transport() -> Failure {
    Failure::new("DeepSeek Messages transport failed", "TRANSPORT")
}

/// The failure of an error: a body with the head of its answer, or an event of a stream, which has none.
pub(in crate::wire) fn of_error(raw: Option<Js<'_>>, head: Option<&Head>) -> Failure {
    let error = raw.and_then(|raw| raw.get("error"));
    let text = |name| error.and_then(|error| string(error, name));
    let status = head.map(|head| head.status);
    let message = text("message").unwrap_or_else(|| {
        let of = status.map_or_else(|| "stream error".to_owned(), |status| status.to_string());
        JsString::from(&*format!("DeepSeek Messages request failed ({of})"))
    });
    if message.is_empty() {
        // No failure can be made without one.
        return transport();
    }
    let plain = |name| text(name).unwrap_or_default().to_lossy().into_owned();
    let code = class(status, &plain("type"), &plain("code"), &message.to_lossy());
    let mut failure = Failure::new(message, &code);
    if let Some(head) = head {
        head.tell(&mut failure, &IDS, is_decimal);
    }
    failure
}

/// The class of an error; the first line that fits.
pub(super) fn class(status: Option<u16>, kind: &str, code: &str, message: &str) -> String {
    let detail = format!("{kind} {code} {message}");
    let is = |of: &[u16]| status.is_some_and(|status| of.contains(&status));
    let class = match () {
        () if is(&[401, 403]) || ["authentication_error", "permission_error"].contains(&kind) => "AUTH",
        () if is_quota(&detail) || is(&[402]) => "QUOTA",
        () if is(&[429]) || kind == "rate_limit_error" => "RATE_LIMIT",
        () if is_context(&detail) => "CONTEXT_WINDOW_EXCEEDED",
        () if is(&[400, 413]) || kind == "invalid_request_error" => "INVALID_REQUEST",
        () if status.is_none_or(|status| status >= 500)
            || ["api_error", "overloaded_error"].contains(&kind) =>
        {
            "SERVER"
        }
        () => return format!("HTTP_{}", status.unwrap_or_default()),
    };
    class.to_owned()
}
