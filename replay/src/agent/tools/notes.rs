//! Two tools over notes that do not change: enough of a world for a laboratory in which every run is the same.

use dshlog_codec::json::{Doc, Fields, JsStr, JsString, JsonError, Tree};

use super::{Call, Declaration, Outcome, Tools, json};

/// Units of UTF-16 that a preview has.
const PREVIEW: usize = 24;
/// The longest id.
const MOST_ID: usize = 64;

/// Notes, by id.
#[derive(Clone, Debug, Default)]
pub struct Notes {
    notes: Vec<(String, String)>,
}

/// What is no list of notes.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NotesError {
    /// Not JSON.
    #[error("the notes are not JSON")]
    Unreadable(#[from] JsonError),
    /// Not a list.
    #[error("the notes are not a list")]
    NoList,
    /// An element that is no note.
    #[error("element {index} of the notes has no id of a-z, 0-9 and \"-\", or no text")]
    NoNote {
        /// Which, from 0.
        index: usize,
    },
}

impl Notes {
    /// These notes, each an id and a text, in this order.
    pub fn new(notes: impl IntoIterator<Item = (String, String)>) -> Self {
        Notes { notes: notes.into_iter().collect() }
    }

    /// Notes out of a JSON text: a list of `{"id", "text"}`.
    ///
    /// # Errors
    /// It is not JSON, or not of that form.
    pub fn from_json(text: &str) -> Result<Self, NotesError> {
        let doc = Doc::parse(text)?;
        if !doc.root().is_array() {
            return Err(NotesError::NoList);
        }
        let notes = doc.root().elements().enumerate().map(|(index, note)| {
            let text = |name| Some(note.get(name)?.as_str()?.to_lossy().into_owned());
            let note = text("id").filter(|id| is_id(id)).zip(text("text"));
            note.ok_or(NotesError::NoNote { index })
        });
        Ok(Notes { notes: notes.collect::<Result<_, _>>()? })
    }

    fn search(&self, query: &str) -> Outcome {
        let query = query.to_lowercase();
        let matches = self.notes.iter().filter(|(_, text)| text.to_lowercase().contains(&query));
        let matches = matches.map(|(id, text)| {
            let preview = JsString::from_units(text.encode_utf16().take(PREVIEW));
            let found = Fields::new().with("id", Tree::string(id)).with("preview", Tree::js_string(&preview));
            Tree::from(found)
        });
        Outcome::text(&json(&Fields::new().with("matches", Tree::Array(matches.collect())).into()))
    }

    fn read(&self, id: &str) -> Outcome {
        if !is_id(id) {
            return Outcome::invalid("\"id\" must be 1 to 64 of a-z, 0-9 and \"-\"");
        }
        match self.notes.iter().find(|(known, _)| known == id) {
            Some((id, text)) => Outcome::text(&format!("[{id}] {text}")),
            None => Outcome::failed(&format!("there is no note \"{id}\"")),
        }
    }
}

impl Tools for Notes {
    fn declared(&self) -> Vec<Declaration> {
        let tool = |name, description, argument| {
            let text = Fields::new().with("type", Tree::string("string"));
            let parameters = Fields::new()
                .with("type", Tree::string("object"))
                .with("properties", Fields::new().with(argument, text))
                .with("required", Tree::Array(vec![Tree::string(argument)]))
                .with("additionalProperties", Tree::bool(false));
            Declaration::new(name, description, json(&parameters.into()))
        };
        vec![
            tool("search_notes", "Find the notes whose text contains the query.", "query"),
            tool("read_note", "Read one note.", "id"),
        ]
    }

    fn is_parallel(&self, _call: &Call) -> bool {
        true
    }

    fn call(&self, call: &Call) -> Outcome {
        let arguments = match call.parsed() {
            Ok(arguments) => arguments,
            Err(outcome) => return outcome,
        };
        let tool = call.tool();
        let (name, run): (_, fn(&Self, &str) -> Outcome) = match tool.as_str() {
            "search_notes" => ("query", Notes::search),
            "read_note" => ("id", Notes::read),
            _ => return Outcome::unknown(&tool),
        };
        match only_text(&arguments, name) {
            Ok(text) => run(self, &text.to_lossy()),
            Err(outcome) => outcome,
        }
    }
}

/// The one argument that a tool takes, which is a string.
fn only_text<'a>(arguments: &'a Doc, name: &str) -> Result<JsStr<'a>, Outcome> {
    let value = arguments.root().get(name);
    let value = value.ok_or_else(|| Outcome::invalid(&format!("missing required property \"{name}\"")))?;
    let text = value.as_str().ok_or_else(|| Outcome::invalid(&format!("\"{name}\" must be a string")))?;
    let other = arguments.root().members().find(|(member, _)| *member != *name);
    match other {
        None => Ok(text),
        Some((member, _)) => Err(Outcome::invalid(&format!("unknown property \"{}\"", member.to_lossy()))),
    }
}

fn is_id(id: &str) -> bool {
    (1..=MOST_ID).contains(&id.len())
        && id.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(tool: &str, arguments: &str, text: &str, is_error: bool) {
        let notes = Notes::new(
            [("a-1", "Milk and Bread"), ("b", "the twenty-three bytes \u{1f600}!")]
                .map(|(id, text)| (id.to_owned(), text.to_owned())),
        );
        let string = |text: &str| json(&Tree::string(text));
        let call = Call { id: string("c"), name: string(tool), arguments: string(arguments) };
        let outcome = notes.call(&call);
        let content = Doc::parse(&*outcome.content).unwrap();
        let told = content.root().elements().next().and_then(|block| block.get("text")?.as_str()).unwrap();
        assert_eq!((told.to_string().as_str(), outcome.is_error), (text, is_error), "{tool} {arguments}");
    }

    #[test]
    fn notes_out_of_a_text() {
        let notes = Notes::from_json(r#"[{"id":"a","text":"one"},{"id":"b","text":"two"}]"#).unwrap();
        assert_eq!(notes.notes, [("a".into(), "one".into()), ("b".into(), "two".into())]);
        let fault = |text: &str| Notes::from_json(text).unwrap_err().to_string();
        assert_eq!(fault("[{"), "the notes are not JSON");
        assert_eq!(fault(r#"{"id":"a","text":"one"}"#), "the notes are not a list");
        for second in [r#"{"id":"B","text":"two"}"#, r#"{"id":"b"}"#, r#"{"id":1,"text":"two"}"#, "1"] {
            let told = fault(&format!(r#"[{{"id":"a","text":"one"}},{second}]"#));
            assert!(told.starts_with("element 1 of the notes"), "{second}: {told}");
        }
    }

    #[test]
    fn what_the_tools_say() {
        check(
            "search_notes",
            r#"{"query":"BREAD"}"#,
            r#"{"matches":[{"id":"a-1","preview":"Milk and Bread"}]}"#,
            false,
        );
        check("search_notes", r#"{"query":"nothing"}"#, r#"{"matches":[]}"#, false);
        // The 24th unit is one half of a character.
        check(
            "search_notes",
            r#"{"query":"bytes"}"#,
            r#"{"matches":[{"id":"b","preview":"the twenty-three bytes \ud83d"}]}"#,
            false,
        );
        check("read_note", r#"{"id":"a-1"}"#, "[a-1] Milk and Bread", false);
        check("read_note", r#"{"id":"c"}"#, "Error: there is no note \"c\"", true);
        let bad = "Error: invalid arguments: \"id\" must be 1 to 64 of a-z, 0-9 and \"-\"";
        check("read_note", r#"{"id":"A"}"#, bad, true);
        check("read_note", r#"{"id":""}"#, bad, true);
        check("read_note", "{}", "Error: invalid arguments: missing required property \"id\"", true);
        check("read_note", "", "Error: invalid arguments: missing required property \"id\"", true);
        check("read_note", "[]", "Error: invalid arguments: \"arguments\" must be an object", true);
        check("read_note", "{", "Error: invalid arguments: \"arguments\" must be an object", true);
        check("read_note", r#"{"id":1}"#, "Error: invalid arguments: \"id\" must be a string", true);
        check("read_note", r#"{"id":"b","x":1}"#, "Error: invalid arguments: unknown property \"x\"", true);
        check("write_note", "{}", "Error: unknown tool \"write_note\"", true);
    }
}
