//! When a failed request is sent again (`docs/spec/agent-loop.md`, section 6).

use dshlog_codec::json::{Doc, Js, JsString, Tree, print_number};

/// How failures are retried.
#[derive(Clone, Debug, PartialEq)]
pub struct Policy {
    /// Which failures.
    pub mode: Mode,
    /// The first wait, in milliseconds.
    pub initial_delay: f64,
    /// The longest wait, in milliseconds.
    pub max_delay: f64,
    /// How much chance is in a wait, from 0 to 1.
    pub jitter: f64,
}

/// Which failures are retried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Those with a code that is named, so often.
    Normal {
        /// How often, in one step.
        most: u64,
        /// The codes, sorted.
        codes: Vec<String>,
    },
    /// All, without end.
    Always,
}

/// A wait between two attempts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Wait {
    /// So long, as the provider asked.
    Asked(f64),
    /// Between these, in milliseconds.
    Drawn {
        /// The shortest.
        low: f64,
        /// The longest.
        high: f64,
    },
}

/// The retries of a step so far.
#[derive(Debug, Default)]
pub(super) struct Retries {
    done: u64,
    id: Option<JsString>,
}

impl Default for Policy {
    fn default() -> Self {
        let codes = ["EMPTY_RESPONSE", "RATE_LIMIT", "SERVER", "TIMEOUT", "TRANSPORT"];
        Policy {
            mode: Mode::Normal { most: 5, codes: codes.map(str::to_owned).to_vec() },
            initial_delay: 500.0,
            max_delay: 10_000.0,
            jitter: 0.1,
        }
    }
}

impl Mode {
    /// The word in the log.
    pub fn name(&self) -> &'static str {
        match self {
            Mode::Normal { .. } => "normal",
            Mode::Always => "always",
        }
    }
}

impl Policy {
    /// The policy with this key (`policyKey` of an `llm/retry`); nothing when it is no such text.
    pub fn of_key(key: &str) -> Option<Self> {
        let doc = Doc::parse(key).ok()?;
        let parts: Vec<Js<'_>> = doc.root().as_array()?.collect();
        let (mode, rest) = match *parts.as_slice() {
            [mode, most, codes, ref rest @ ..] if mode.is("normal") => {
                let codes = codes.as_array()?.map(|code| Some(code.as_str()?.to_lossy().into_owned()));
                (Mode::Normal { most: most.as_count()?, codes: codes.collect::<Option<_>>()? }, rest.to_vec())
            }
            [mode, ref rest @ ..] if mode.is("always") => (Mode::Always, rest.to_vec()),
            _ => return None,
        };
        let [initial, max, jitter] = *rest.as_slice() else { return None };
        let (initial_delay, max_delay, jitter) = (initial.as_f64()?, max.as_f64()?, jitter.as_f64()?);
        Some(Policy { mode, initial_delay, max_delay, jitter })
    }

    /// Its key.
    pub fn key(&self) -> String {
        let number = |number| {
            let mut text = Vec::new();
            print_number(&mut text, number);
            Tree::printed(text)
        };
        let mut parts = vec![Tree::string(self.mode.name())];
        if let Mode::Normal { most, codes } = &self.mode {
            parts.push(Tree::integer(*most));
            parts.push(Tree::Array(codes.iter().map(|code| Tree::string(code)).collect()));
        }
        parts.extend([number(self.initial_delay), number(self.max_delay), number(self.jitter)]);
        let mut key = Vec::new();
        Tree::Array(parts).print(&mut key);
        String::from_utf8(key).unwrap_or_default()
    }

    /// How often a step retries.
    pub fn most(&self) -> Option<u64> {
        match self.mode {
            Mode::Normal { most, .. } => Some(most),
            Mode::Always => None,
        }
    }

    /// How long to wait after this failure, when `done` retries were made; nothing when there is to be none.
    pub fn wait(&self, done: u64, failure: Js<'_>) -> Option<Wait> {
        let is_normal = match &self.mode {
            Mode::Normal { most, codes } => {
                let code = failure.get("code").and_then(Js::as_str)?;
                if done >= *most || !codes.iter().any(|known| code == **known) {
                    return None;
                }
                true
            }
            Mode::Always => false,
        };
        match failure.get("providerRetryAfterMs").and_then(Js::as_f64) {
            Some(asked) if asked <= self.max_delay => Some(Wait::Asked(asked)),
            // The provider asks for more than is waited: nobody retries too early.
            Some(_) if is_normal => None,
            _ => Some(self.drawn(done + 1)),
        }
    }

    fn drawn(&self, retry: u64) -> Wait {
        // Longer than any limit long before the exponent is out of range.
        let doublings = i32::try_from(retry - 1).unwrap_or(i32::MAX).min(64);
        let base = (self.initial_delay * 2f64.powi(doublings)).min(self.max_delay);
        let bound = |factor: f64| (base * factor).min(self.max_delay);
        Wait::Drawn { low: bound(1.0 - self.jitter), high: bound(1.0 + self.jitter) }
    }
}

impl Wait {
    /// It may be as long as this.
    pub fn admits(&self, delay: f64) -> bool {
        match self {
            #[expect(clippy::float_cmp, reason = "the very number that the provider sent")]
            Wait::Asked(asked) => delay == *asked,
            Wait::Drawn { low, high } => (*low..=*high).contains(&delay),
        }
    }

    /// A length in the middle, in milliseconds.
    pub fn middle(&self) -> f64 {
        match self {
            Wait::Asked(asked) => *asked,
            Wait::Drawn { low, high } => low + (high - low) / 2.0,
        }
    }
}

impl Retries {
    pub(super) fn done(&self) -> u64 {
        self.done
    }

    pub(super) fn id(&self) -> Option<&JsString> {
        self.id.as_ref()
    }

    pub(super) fn note(&mut self, id: JsString) {
        self.done += 1;
        self.id = Some(id);
    }
}

/// A number as the log prints it.
pub(super) fn number_text(number: f64) -> Box<str> {
    let mut text = Vec::new();
    print_number(&mut text, number);
    String::from_utf8(text).unwrap_or_default().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str =
        r#"["normal",5,["EMPTY_RESPONSE","RATE_LIMIT","SERVER","TIMEOUT","TRANSPORT"],500,10000,0.1]"#;

    /// The example of section 6.
    #[test]
    fn a_key_tells_the_whole_policy() {
        assert_eq!(Policy::default().key(), KEY);
        for key in [KEY, r#"["always",1,2.5,0]"#] {
            assert_eq!(Policy::of_key(key).unwrap().key(), key);
        }
        for odd in ["", "[]", r#"["normal",5]"#, r#"["never",1,2,3]"#, r#"["always",1,2]"#] {
            assert_eq!(Policy::of_key(odd), None, "{odd}");
        }
    }

    /// One row a line of the code in section 6.
    #[test]
    fn which_failures_are_retried_and_when() {
        let normal = Policy::default();
        let always = Policy { mode: Mode::Always, ..Policy::default() };
        let drawn = |low, high| Some(Wait::Drawn { low, high });
        for (policy, done, failure, expected) in [
            (&normal, 0, r#"{"code":"SERVER"}"#, drawn(450.0, 550.0)),
            (&normal, 4, r#"{"code":"SERVER"}"#, drawn(7200.0, 8800.0)),
            (&normal, 5, r#"{"code":"SERVER"}"#, None),
            (&normal, 0, r#"{"code":"AUTH"}"#, None),
            (&normal, 0, r#"{"code":"STREAM_CLOSED"}"#, None),
            (&normal, 0, r#"{"code":"RATE_LIMIT","providerRetryAfterMs":500}"#, Some(Wait::Asked(500.0))),
            (&normal, 0, r#"{"code":"RATE_LIMIT","providerRetryAfterMs":10001}"#, None),
            (&always, 9, r#"{"code":"AUTH"}"#, drawn(9000.0, 10_000.0)),
            (&always, 0, r#"{"code":"AUTH","providerRetryAfterMs":10001}"#, drawn(450.0, 550.0)),
        ] {
            let doc = Doc::parse(failure).unwrap();
            assert_eq!(policy.wait(done, doc.root()), expected, "{done} {failure}");
        }
    }
}
