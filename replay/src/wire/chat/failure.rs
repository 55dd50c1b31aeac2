//! Which failure an error of the endpoint is (`docs/spec/messages-wire.md`, 15.3).

use dshlog_codec::json::{Js, JsString};

use super::super::chunk::string;
use super::super::failure::Failure;
use super::super::head::{Head, is_whole};
use super::super::wording::{is_context, is_quota};

/// Headers that name a request, the first that is there first.
const IDS: [&str; 2] = ["x-request-id", "x-deepseek-request-id"];

/// Nothing came back.
pub(in crate::wire) fn unanswered(base: &str) -> Failure {
    Failure::new(&*format!("DeepSeek API request to {base} failed"), "TRANSPORT")
}

/// The transfer broke off behind the status line.
pub(in crate::wire) fn broken(base: &str) -> Failure {
    Failure::new(&*format!("DeepSeek API stream from {base} failed"), "TRANSPORT")
}

/// The failure of an answer that refuses.
pub(in crate::wire) fn of_error(raw: Option<Js<'_>>, head: &Head) -> Failure {
    let error = raw.and_then(|raw| raw.get("error"));
    let text = |name| error.and_then(|error| string(error, name)).filter(|text| !text.is_empty());
    let told = ["code", "type", "message"].into_iter().filter_map(text);
    let told: Vec<_> = told.map(|text| text.to_lossy().into_owned()).collect();
    let code = class(head.status, &told.join(" "));
    let unknown = || JsString::from(&*format!("DeepSeek API error (HTTP {})", head.status));
    let mut failure = Failure::new(text("message").unwrap_or_else(unknown), &code);
    head.tell(&mut failure, &IDS, is_whole);
    failure
}

/// The class of an error; the first line that fits.
pub(super) fn class(status: u16, detail: &str) -> String {
    let class = match status {
        401 | 403 => "AUTH",
        413 => "INVALID_REQUEST",
        _ if is_quota(detail) => "QUOTA",
        429 => "RATE_LIMIT",
        400 if is_context(detail) => "CONTEXT_WINDOW_EXCEEDED",
        400 => "INVALID_REQUEST",
        500.. => "SERVER",
        _ => return format!("HTTP_{status}"),
    };
    class.to_owned()
}
