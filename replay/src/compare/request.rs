//! What changed from one request of a session to the next. Nothing is set aside: ids and all are those of one session.

use dshlog_codec::json::{Digest, Doc, Js, JsonError, deep_digest, print};

use super::align::{Part, align};
use super::detail::{self, Change, Value};

/// A request, in JSON texts.
#[derive(Clone, Copy, Debug)]
pub struct RequestParts<'t> {
    /// Provider, model and controls: an object.
    pub config: &'t str,
    /// The system prompt at the head: a string or null. Where there are system messages, the last one counts.
    pub system: &'t str,
    /// Declared tools: a list of objects with names, or null.
    pub tools: &'t str,
    /// The messages: a list of objects with ids.
    pub messages: &'t str,
}

/// What one request has and the other has not, or has otherwise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestChanges {
    /// Of the configuration; pointers are from there.
    pub config: Vec<Change>,
    /// Of the system prompt: at most one.
    pub system: Vec<Change>,
    /// Of the tools.
    pub tools: Vec<ListChange>,
    /// Of the messages.
    pub messages: Vec<ListChange>,
}

impl RequestChanges {
    /// True when the two requests are alike.
    pub fn is_empty(&self) -> bool {
        self.config.is_empty() && self.system.is_empty() && self.tools.is_empty() && self.messages.is_empty()
    }
}

/// A tool or message that came, went, or became another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListChange {
    /// The name of a tool, the id of a message.
    pub name: String,
    /// Its place in the first list; nothing when it came.
    pub a: Option<usize>,
    /// Its place in the second; nothing when it went.
    pub b: Option<usize>,
    /// Where the two differ; pointers are from the member. Empty when it came or went.
    pub changes: Vec<Change>,
    /// What came or went, as JSON; that of the second list when both have it.
    pub value: String,
}

/// What changed between two requests.
pub fn request_changes(a: RequestParts<'_>, b: RequestParts<'_>) -> Result<RequestChanges, JsonError> {
    let single = |a: &str, b: &str| -> Result<Vec<Change>, JsonError> {
        let (a, b) = (Doc::parse(a)?, Doc::parse(b)?);
        Ok(changes(a.root(), b.root()))
    };
    Ok(RequestChanges {
        config: single(a.config, b.config)?,
        system: single(&system(a)?, &system(b)?)?,
        tools: list(a.tools, b.tools, "name")?,
        messages: list(a.messages, b.messages, "id")?,
    })
}

/// The prompt in force, as JSON: on a route that takes changes inside the history that of the last system message.
fn system(request: RequestParts<'_>) -> Result<String, JsonError> {
    let messages = Doc::parse(request.messages)?;
    let last = messages
        .root()
        .elements()
        .filter(|message| message.get("role").is_some_and(|role| role.is("system")))
        .last();
    let Some(content) = last.and_then(|message| message.get("content")) else {
        return Ok(request.system.to_owned());
    };
    let mut blocks = content.elements();
    let text = blocks.next().and_then(|block| block.get("text")).filter(|_| blocks.next().is_none());
    Ok(text.unwrap_or(content).raw().to_owned())
}

/// What changed in a list whose members are told apart by one member of theirs.
fn list(a: &str, b: &str, name: &str) -> Result<Vec<ListChange>, JsonError> {
    let (a, b) = (Doc::parse(a)?, Doc::parse(b)?);
    let members = |doc: &Doc| -> Vec<(String, Digest)> {
        let name =
            |member: Js<'_>| member.get(name).and_then(Js::as_str).map(|name| name.to_lossy().into_owned());
        let members = doc.root().elements();
        members.map(|member| (name(member).unwrap_or_default(), deep_digest(member, true))).collect()
    };
    let (ones, others) = (members(&a), members(&b));
    let (values_a, values_b): (Vec<_>, Vec<_>) =
        (a.root().elements().collect(), b.root().elements().collect());
    let mut found = Vec::new();
    for (i, j) in align(&ones, &others) {
        let (one, other) = (i.and_then(|i| values_a.get(i)), j.and_then(|j| values_b.get(j)));
        let changes = match (one, other) {
            (Some(one), Some(other)) => {
                let changes = changes(*one, *other);
                if changes.is_empty() {
                    continue;
                }
                changes
            }
            _ => Vec::new(),
        };
        let Some(value) = other.or(one) else { continue };
        let name =
            i.and_then(|i| ones.get(i)).or(j.and_then(|j| others.get(j))).map(|member| member.0.clone());
        let mut text = Vec::new();
        print(&mut text, *value);
        let value = String::from_utf8_lossy(&text).into_owned();
        found.push(ListChange { name: name.unwrap_or_default(), a: i, b: j, changes, value });
    }
    Ok(found)
}

fn changes(a: Js<'_>, b: Js<'_>) -> Vec<Change> {
    let value = |value| Value { normal: value, read: Some(value) };
    detail::changes(value(a), value(b))
}

/// A name, and a digest of all.
impl Part for (String, Digest) {
    type Whole = (String, Digest);
    type Key = String;

    fn whole(&self) -> (String, Digest) {
        self.clone()
    }

    fn key(&self) -> String {
        self.0.clone()
    }

    fn likeness(&self, other: &Self) -> Option<u64> {
        (self.0 == other.0).then_some(1 + u64::from(self.1 == other.1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_and_went() {
        let a = RequestParts {
            config: r#"{"model":"m","maxTokens":1}"#,
            system: r#""be brief\nand kind""#,
            tools: r#"[{"name":"x","d":1},{"name":"y","d":1},{"name":"z","d":1}]"#,
            messages: r#"[{"id":"1","t":"a"},{"id":"2","t":"b"}]"#,
        };
        let b = RequestParts {
            config: r#"{"model":"n","maxTokens":1}"#,
            system: r#""be brief""#,
            tools: r#"[{"name":"w","d":1},{"name":"x","d":1},{"name":"z","d":2}]"#,
            messages: r#"[{"id":"1","t":"a"},{"id":"3","t":"c"},{"id":"2","t":"b!"}]"#,
        };
        assert!(request_changes(a, a).unwrap().is_empty());
        let changed = request_changes(a, b).unwrap();
        let pointers = |changes: &[Change]| -> Vec<String> {
            changes.iter().map(|change| change.pointer().to_owned()).collect()
        };
        assert_eq!(pointers(&changed.config), ["/model"]);
        assert_eq!(pointers(&changed.system), [""]);
        let told = |list: &[ListChange]| -> Vec<String> {
            let told = |change: &ListChange| {
                format!(
                    "{} {:?} {:?} {}",
                    change.name,
                    change.a,
                    change.b,
                    pointers(&change.changes).join(" ")
                )
            };
            list.iter().map(told).collect()
        };
        assert_eq!(told(&changed.tools), ["w None Some(0) ", "y Some(1) None ", "z Some(2) Some(2) /d"]);
        assert_eq!(told(&changed.messages), ["3 None Some(1) ", "2 Some(1) Some(2) /t"]);
        assert_eq!(changed.messages[0].value, r#"{"id":"3","t":"c"}"#);
        // The last system message counts.
        let prompt =
            r#"[{"id":"0","role":"system","content":[{"type":"text","text":"be brief\nand kind"}]}]"#;
        let new = r#"[{"id":"0","role":"system","content":[{"type":"text","text":"be brief\nand kind"}]},{"id":"9","role":"system","content":[{"type":"text","text":"be brief"}]}]"#;
        let changed =
            request_changes(RequestParts { messages: prompt, ..a }, RequestParts { messages: new, ..a })
                .unwrap();
        assert_eq!(changed.system[0].b.as_ref().unwrap().value, r#""be brief""#);
        assert_eq!(told(&changed.messages), ["9 None Some(1) "]);
        // No list is an empty one.
        let none = RequestParts { tools: "null", ..a };
        assert_eq!(request_changes(none, a).unwrap().tools.len(), 3);
    }
}
