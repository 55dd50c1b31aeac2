//! The schema, the page and the examples against the code that reads scripts.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use dshlog_fixture_server::script::{Fault, Response};
use dshlog_fixture_server::{Script, json};
use serde_json::{Value, json};

use crate::common::chain;

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs")
}

fn schema() -> Value {
    let text = std::fs::read(docs().join("script.schema.json")).unwrap();
    json::parse(&text).unwrap()
}

/// All examples: the files, and the blocks on the page.
fn examples() -> Vec<(String, Value)> {
    let mut examples = Vec::new();
    for entry in std::fs::read_dir(docs().join("scripts")).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        Script::load(&path).unwrap_or_else(|fault| panic!("{}: {}", path.display(), chain(&fault)));
        let is_json = path.extension().is_some_and(|extension| extension == "json");
        let tree = if is_json { json::parse(text.as_bytes()).unwrap() } else { toml(&text) };
        examples.push((path.display().to_string(), tree));
    }
    assert!(examples.len() >= 4);
    let page = std::fs::read_to_string(docs().join("script.md")).unwrap();
    let blocks: Vec<&str> =
        page.split("```toml\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect();
    assert!(blocks.len() >= 3);
    for block in blocks {
        Script::from_toml(block).unwrap_or_else(|fault| panic!("{block}\n{}", chain(&fault)));
        examples.push(("script.md".to_owned(), toml(block)));
    }
    examples
}

fn toml(text: &str) -> Value {
    toml_edit::de::from_str(text).unwrap()
}

#[test]
fn the_schema_accepts_every_example() {
    let schema = schema();
    for (name, example) in examples() {
        assert_eq!(check(&schema, &schema, &example, ""), Vec::<String>::new(), "{name}");
    }
}

/// A field that is not known is refused everywhere, by the schema and by the code.
#[test]
fn the_schema_and_the_code_refuse_unknown_fields() {
    let schema = schema();
    let mut places = 0;
    for (name, example) in examples() {
        for pointer in objects(&example, "") {
            let mut wrong = example.clone();
            wrong.pointer_mut(&pointer).unwrap()["unheard_of"] = json!(1);
            let refused = Script::from_json(&wrong.to_string()).is_err();
            // Bodies and arguments are free; there both must accept.
            assert_eq!(!check(&schema, &schema, &wrong, "").is_empty(), refused, "{name} {pointer}");
            places += usize::from(refused);
        }
    }
    assert!(places > 100, "{places}");
}

/// The pointers of all objects of a tree.
fn objects(value: &Value, pointer: &str) -> Vec<String> {
    let mut found = Vec::new();
    match value {
        Value::Object(members) => {
            found.push(pointer.to_owned());
            members
                .iter()
                .for_each(|(name, member)| found.extend(objects(member, &format!("{pointer}/{name}"))));
        }
        Value::Array(items) => {
            items
                .iter()
                .enumerate()
                .for_each(|(n, item)| found.extend(objects(item, &format!("{pointer}/{n}"))));
        }
        _ => {}
    }
    found
}

/// The fields of the schema are those of the code: what serde names when it meets one that it does not know.
#[test]
fn the_schema_knows_every_field() {
    let schema = schema();
    let deny = |script: Value| {
        let fault = chain(&Script::from_json(&script.to_string()).unwrap_err());
        let (_, known) = fault.split_once("expected ").unwrap_or_else(|| panic!("{fault}"));
        known.split('`').skip(1).step_by(2).map(str::to_owned).collect::<BTreeSet<String>>()
    };
    let exchange = |inner: Value| json!({ "exchanges": [inner] });
    let x = || json!({ "x?": 1 });
    let respond = |inner: Value| exchange(json!({ "respond": inner }));
    let matcher = |inner: Value| exchange(json!({ "match": inner }));
    let block = |kind: &str| {
        respond(json!({ "message": { "blocks": [{ "type": kind, "id": "", "name": "", "x?": 1 }] } }))
    };
    let block = |kind: &str| {
        let mut script = block(kind);
        if kind != "tool_use" {
            let block = script.pointer_mut("/exchanges/0/respond/message/blocks/0").unwrap();
            *block = json!({ "type": kind, "x?": 1 });
        }
        deny(script)
    };
    let fields = |name: &str| names(&schema["$defs"][name]);
    let cases = [
        ("script", deny(x())),
        ("exchange", deny(exchange(x()))),
        ("side", deny(json!({ "side": [x()] }))),
        ("matcher", deny(matcher(x()))),
        ("text", deny(matcher(json!({ "model": x() })))),
        ("header", deny(matcher(json!({ "headers": [x()] })))),
        ("result", deny(matcher(json!({ "results": [x()] })))),
        ("json", deny(matcher(json!({ "json": [x()] })))),
        ("expect", deny(exchange(json!({ "expect": x() })))),
        ("response", deny(respond(x()))),
        ("message", deny(respond(json!({ "message": x() })))),
        ("usage", deny(respond(json!({ "message": { "usage": x() } })))),
        ("error", deny(respond(json!({ "error": x() })))),
        ("pace", deny(respond(json!({ "pace": x() })))),
        ("wait_for", deny(respond(json!({ "wait_for": x() })))),
        ("fault", deny(respond(json!({ "fault": x() })))),
        ("write", deny(respond(json!({ "body": { "writes": [x()] } })))),
        // Of what is one of several forms the names of the forms.
        ("conversation", deny(json!({ "conversation": x() }))),
        ("part", deny(respond(json!({ "message": { "parts": [x()] } })))),
        ("body", deny(respond(json!({ "body": x() })))),
        ("chunks", deny(respond(json!({ "chunks": x() })))),
        ("after", deny(respond(json!({ "fault": { "how": "end", "after": x() } })))),
    ];
    for (name, known) in &cases {
        assert_eq!(fields(name), *known, "{name}");
    }
    let forms = schema["$defs"]["block"]["oneOf"].as_array().unwrap();
    for (form, kind) in forms.iter().zip(["text", "thinking", "tool_use"]) {
        let mut known = block(kind);
        known.insert("type".to_owned());
        assert_eq!(names(form), known, "{kind}");
    }
    assert_eq!(cases.len() + 1, schema["$defs"].as_object().unwrap().len());
}

/// The words that the code takes where there is a choice are those of the schema.
#[test]
fn the_schema_knows_every_word() {
    let schema = schema();
    let accepts = |script: &Value| check(&schema, &schema, script, "").is_empty();
    let words = |place: &dyn Fn(&str) -> Value| -> BTreeSet<String> {
        let fault = chain(&Script::from_json(&place("x?").to_string()).unwrap_err());
        let (_, known) = fault.split_once("expected ").unwrap_or_else(|| panic!("{fault}"));
        known.split('`').skip(1).step_by(2).map(str::to_owned).collect()
    };
    let places: [&dyn Fn(&str) -> Value; 7] = [
        &|word| json!({ "exchanges": [{ "match": { "kind": word } }] }),
        &|word| json!({ "exchanges": [{ "match": { "dialect": word } }] }),
        &|word| json!({ "exchanges": [{ "expect": { "body": {}, "level": word } }] }),
        &|word| json!({ "exchanges": [{ "expect": { "body": {}, "on_diverged": word } }] }),
        &|word| json!({ "exchanges": [{ "expect": { "body": {}, "rules": [word] } }] }),
        &|word| json!({ "exchanges": [{ "respond": { "framing": word } }] }),
        &|word| json!({ "exchanges": [{ "respond": { "message": { "omit": [word] } } }] }),
    ];
    for place in places {
        let known = words(place);
        assert!(known.len() >= 2, "{known:?}");
        for word in known {
            assert!(accepts(&place(&word)), "{word}");
        }
        assert!(!accepts(&place("x?")));
    }
    for how in words(&|word| json!({ "exchanges": [{ "respond": { "fault": { "how": word } } }] })) {
        assert!(accepts(&json!({ "exchanges": [{ "respond": { "fault": { "how": how } } }] })), "{how}");
    }
    // A default that the page and the schema tell.
    let script = Script::from_toml("exchanges = [{ respond.fault.how = \"close\" }]").unwrap();
    let Response { fault: Some(Fault { settle_ms, .. }), .. } = &script.exchanges[0].respond else {
        panic!("no fault")
    };
    assert_eq!(*settle_ms, 20);
}

/// The names of the members of an object, or of the forms of a choice.
fn names(schema: &Value) -> BTreeSet<String> {
    if let Some(members) = schema["properties"].as_object() {
        return members.keys().cloned().collect();
    }
    let forms = schema["oneOf"].as_array().unwrap();
    let words = |form: &Value| -> Vec<String> {
        form["enum"].as_array().into_iter().flatten().map(|word| word.as_str().unwrap().to_owned()).collect()
    };
    let members = |form: &Value| -> Vec<String> {
        form["properties"].as_object().into_iter().flat_map(|m| m.keys().cloned()).collect()
    };
    forms.iter().flat_map(|form| [words(form), members(form)].concat()).collect()
}

/// Everything that a schema has against a value: the part of JSON Schema that ours uses.
fn check(root: &Value, schema: &Value, value: &Value, place: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut wrong = |what: String| found.push(format!("{place}: {what}"));
    if let Some(name) = schema["$ref"].as_str() {
        let target = root.pointer(name.strip_prefix('#').unwrap()).unwrap_or_else(|| panic!("no {name}"));
        return check(root, target, value, place);
    }
    if let Some(kind) = schema["type"].as_str() {
        let fits = match kind {
            "object" => value.is_object(),
            "array" => value.is_array(),
            "string" => value.is_string(),
            "boolean" => value.is_boolean(),
            "integer" => value.is_i64() || value.is_u64(),
            _ => panic!("type {kind}"),
        };
        if !fits {
            wrong(format!("no {kind}"));
            return found;
        }
    }
    if let Some(words) = schema["enum"].as_array().filter(|words| !words.contains(value)) {
        wrong(format!("none of {words:?}"));
    }
    if let Some(least) =
        schema["minimum"].as_i64().filter(|least| value.as_i64().is_none_or(|is| is < *least))
    {
        wrong(format!("less than {least}"));
    }
    if let Some(most) = schema["maximum"].as_i64().filter(|most| value.as_i64().is_none_or(|is| is > *most)) {
        wrong(format!("more than {most}"));
    }
    match (schema["pattern"].as_str(), value.as_str()) {
        (None, _) => {}
        (Some("^/"), Some(text)) if text.starts_with('/') => {}
        (Some("^(/.*)?$"), Some(text)) if text.is_empty() || text.starts_with('/') => {}
        (pattern, _) => wrong(format!("not {pattern:?}")),
    }
    for name in schema["required"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|name| value.get(name.as_str().unwrap()).is_none())
    {
        wrong(format!("without {name}"));
    }
    if let Some(forms) = schema["oneOf"].as_array() {
        let fitting = forms.iter().filter(|form| check(root, form, value, place).is_empty()).count();
        if fitting != 1 {
            wrong(format!("fits {fitting} forms"));
        }
    }
    for (name, member) in value.as_object().into_iter().flatten() {
        let place = format!("{place}/{name}");
        match (schema["properties"].get(name), &schema["additionalProperties"]) {
            (Some(schema), _) => found.extend(check(root, schema, member, &place)),
            (None, Value::Bool(false)) => found.push(format!("{place}: not known")),
            (None, Value::Object(_)) => {
                found.extend(check(root, &schema["additionalProperties"], member, &place));
            }
            (None, _) => {}
        }
    }
    for (n, item) in value.as_array().into_iter().flatten().enumerate() {
        if schema.get("items").is_some() {
            found.extend(check(root, &schema["items"], item, &format!("{place}/{n}")));
        }
    }
    found
}
