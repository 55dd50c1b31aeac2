//! The head of an answer, as far as failures tell of it (`docs/spec/messages-wire.md`, 6).

use dshlog_codec::Millis;
use dshlog_codec::json::JsString;

use super::failure::Failure;

/// Status and headers of an answer.
#[derive(Clone, Debug, Default)]
pub struct Head {
    /// The status.
    pub status: u16,
    /// Names, in any case, and values.
    pub headers: Vec<(String, String)>,
    /// When it came, by the client's clock: what a date in `retry-after` is counted from.
    pub at: Millis,
}

impl Head {
    /// A head without headers.
    pub fn new(status: u16) -> Self {
        Head { status, ..Head::default() }
    }

    /// The values of a header, with commas between them.
    pub fn get(&self, name: &str) -> Option<String> {
        let named = self.headers.iter().filter(|(known, _)| known.eq_ignore_ascii_case(name));
        let values: Vec<&str> = named.map(|(_, value)| value.trim_matches([' ', '\t'])).collect();
        (!values.is_empty()).then(|| values.join(", "))
    }

    /// Put into a failure what the head tells besides its class. The first of `ids` that is there names the request;
    /// `is_delay` says which texts of `retry-after` are seconds.
    pub(super) fn tell(&self, failure: &mut Failure, ids: &[&str], is_delay: fn(&str) -> bool) {
        failure.status = Some(self.status);
        failure.request_id = ids
            .iter()
            .find_map(|name| self.get(name))
            .filter(|id| !id.is_empty())
            .map(|id| JsString::from(&*id));
        failure.provider_retry_after_ms = self
            .get("retry-after")
            .and_then(|text| if is_delay(&text) { seconds(&text) } else { self.until(&text) })
            .filter(|delay| delay.is_finite() && *delay > 0.0);
    }

    /// Milliseconds until a date. JavaScript reads more forms of dates than those that HTTP has.
    fn until(&self, date: &str) -> Option<f64> {
        let parser = jiff::fmt::rfc2822::DateTimeParser::new().relaxed_weekday(true);
        let at = parser.parse_timestamp(date).ok()?.as_millisecond();
        #[expect(clippy::cast_precision_loss, reason = "JavaScript subtracts doubles too")]
        Some(at as f64 - self.at.0 as f64)
    }
}

fn seconds(text: &str) -> Option<f64> {
    Some(text.parse::<f64>().ok()? * 1e3)
}

/// Digits.
pub(super) fn is_whole(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Digits, and maybe a point and more of them.
pub(super) fn is_decimal(text: &str) -> bool {
    text.split_once('.').map_or_else(|| is_whole(text), |(whole, part)| is_whole(whole) && is_whole(part))
}
