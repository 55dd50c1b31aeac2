//! What differs between two runs of one scenario for good reasons: rules over a request's body, by name.
//!
//! Names and moments are replaced by placeholders on both sides, so that everything else is still compared. A drawn name
//! gets a number in the order in which names occur: two places that shared one must share one.

mod places;

use std::collections::HashMap;
use std::fmt;

use serde::Deserialize;

use crate::json::{Value, each_text};

/// One reason for which requests of one scenario differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// The working directory and the home of dsh, at the beginning of any path in any text.
    Folders,
    /// Dates and moments as ISO 8601 writes them.
    Dates,
    /// UUIDs, renumbered.
    Ids,
    /// Ports of addresses of this machine.
    Ports,
    /// Numbers of versions, such as `0.2.1-rc.2`. Not by default.
    Versions,
}

impl Rule {
    /// All rules, in the order in which they are applied.
    pub const ALL: [Rule; 5] = [Rule::Folders, Rule::Dates, Rule::Ids, Rule::Ports, Rule::Versions];

    /// Its name, as in scripts.
    pub fn name(self) -> &'static str {
        match self {
            Rule::Folders => "folders",
            Rule::Dates => "dates",
            Rule::Ids => "ids",
            Rule::Ports => "ports",
            Rule::Versions => "versions",
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The rules that hold.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Rules(Vec<Rule>);

impl Default for Rules {
    fn default() -> Self {
        Rule::ALL.into_iter().filter(|rule| *rule != Rule::Versions).collect()
    }
}

impl FromIterator<Rule> for Rules {
    fn from_iter<I: IntoIterator<Item = Rule>>(rules: I) -> Self {
        let given: Vec<Rule> = rules.into_iter().collect();
        Rules(Rule::ALL.into_iter().filter(|rule| given.contains(rule)).collect())
    }
}

impl Rules {
    /// True when `rule` holds.
    pub fn has(&self, rule: Rule) -> bool {
        self.0.contains(&rule)
    }

    /// The body with everything set aside that the rules speak of.
    #[must_use]
    pub fn apply(&self, mut body: Value) -> Value {
        let folders = if self.has(Rule::Folders) { places::folders(&body) } else { Vec::new() };
        let mut ids = Ids::default();
        each_text(&mut body, &mut |text| {
            for (folder, name) in &folders {
                replace(text, |text| places::folder_at(text, folder), |_| name.to_string());
            }
            if self.has(Rule::Folders) {
                replace(text, places::home_at, |_| "<home>".to_owned());
            }
            if self.has(Rule::Dates) {
                replace(text, places::date_at, |_| "<date>".to_owned());
            }
            if self.has(Rule::Ids) {
                replace(text, places::uuid_at, |id| ids.name(id));
            }
            if self.has(Rule::Ports) {
                replace(text, places::port_at, |_| "<port>".to_owned());
            }
            if self.has(Rule::Versions) {
                replace(text, places::version_at, |_| "<version>".to_owned());
            }
        });
        body
    }
}

/// Names of drawn ids, by order of first appearance.
#[derive(Default)]
struct Ids(HashMap<String, usize>);

impl Ids {
    fn name(&mut self, id: &str) -> String {
        let next = self.0.len() + 1;
        format!("<id-{}>", self.0.entry(id.to_ascii_lowercase()).or_insert(next))
    }
}

/// Replaces every place that `find` finds: it gives the first one of a text as a range of bytes, or nothing. What stands
/// before a place is for `find` to see too, so it is given the whole text and where to begin.
fn replace(
    text: &mut String,
    find: impl Fn(Search<'_>) -> Option<(usize, usize)>,
    mut name: impl FnMut(&str) -> String,
) {
    let mut out: Option<String> = None;
    let mut done = 0;
    while let Some((start, end)) = find(Search { text, from: done }) {
        let out = out.get_or_insert_default();
        out.push_str(text.get(done..start).unwrap_or_default());
        out.push_str(&name(text.get(start..end).unwrap_or_default()));
        done = end;
    }
    if let Some(mut out) = out {
        out.push_str(text.get(done..).unwrap_or_default());
        *text = out;
    }
}

/// A text, and the byte from which on a place is sought.
#[derive(Clone, Copy)]
struct Search<'t> {
    text: &'t str,
    from: usize,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(rule: Rule, text: &str, expected: &str) {
        let rules: Rules = [rule].into_iter().collect();
        assert_eq!(rules.apply(json!({"a": text})), json!({"a": expected}), "{rule}");
    }

    #[test]
    fn moments() {
        check(Rule::Dates, "on 2026-12-01.", "on <date>.");
        check(Rule::Dates, "2026-12-01T03:04:05.678Z and 2026-12-01 03:04:05", "<date> and <date>");
        check(Rule::Dates, "2026-12-01T03:04:05+01:00,", "<date>,");
        check(Rule::Dates, "12026-12-01 2026-13-01 2026-12-011", "12026-12-01 2026-13-01 2026-12-011");
    }

    #[test]
    fn drawn_names_keep_their_links() {
        let (a, b) = ("0f8fad5b-d9cb-469f-a165-70867728950e", "7c9e6679-7425-40de-944b-e07fc1f90ae7");
        check(Rule::Ids, &format!("{a} session-{b} {a}"), "<id-1> session-<id-2> <id-1>");
        check(Rule::Ids, &format!("x{a} {a}0"), &format!("x{a} {a}0"));
    }

    #[test]
    fn ports_of_this_machine() {
        check(Rule::Ports, "http://127.0.0.1:4711/v1", "http://127.0.0.1:<port>/v1");
        check(Rule::Ports, "localhost:80 [::1]:5", "localhost:<port> [::1]:<port>");
        check(Rule::Ports, "10.0.0.1:80", "10.0.0.1:80");
    }

    #[test]
    fn versions() {
        check(Rule::Versions, "dsh 0.2.1-rc.2, v1.0.0", "dsh <version>, v<version>");
        check(Rule::Versions, "127.0.0.1", "127.0.0.1");
    }

    #[test]
    fn the_working_directory_is_what_the_request_says_it_is() {
        let body = json!({
            "system": "Your working directory is /tmp/ws/demo.",
            "x": "cat /tmp/ws/demo/a /tmp/ws/demo-home /tmp/ws/demo",
        });
        let rules: Rules = [Rule::Folders].into_iter().collect();
        assert_eq!(
            rules.apply(body),
            json!({
                "system": "Your working directory is <folder>.",
                "x": "cat <folder>/a /tmp/ws/demo-home <folder>",
            })
        );
        let quoted = json!(["Current working directory: \"C:\\\\a b\".", "C:\\a b\\c"]);
        assert_eq!(rules.apply(quoted), json!(["Current working directory: \"<folder>\".", "<folder>\\c"]));
    }
}
