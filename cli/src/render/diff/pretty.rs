//! JSON values as text that can be compared line by line.

use dshlog_codec::json::{Doc, Js, print};

/// Nested deeper, a value stays on one line.
const DEPTH: usize = 40;

/// The value at a pointer: a string as it reads, arguments of a call and everything else as indented JSON.
pub(super) fn value(pointer: &str, json: &str) -> String {
    let Ok(doc) = Doc::parse(json) else { return json.to_owned() };
    let Some(text) = doc.root().as_str() else { return indented(doc.root()) };
    let text = text.to_lossy();
    if pointer.ends_with("/arguments")
        && let Ok(arguments) = Doc::parse(&*text)
        && (arguments.root().is_object() || arguments.root().is_array())
    {
        return indented(arguments.root());
    }
    text.into_owned()
}

fn indented(value: Js<'_>) -> String {
    let mut out = Vec::new();
    write(&mut out, value, 0);
    String::from_utf8_lossy(&out).into_owned()
}

fn write(out: &mut Vec<u8>, value: Js<'_>, depth: usize) {
    let is_nested = |value: Js<'_>| value.is_object() || value.is_array();
    // A list of numbers reads better in one line.
    let is_flat =
        value.is_array() && !value.elements().any(|element| is_nested(element) || element.as_str().is_some());
    let is_empty = value.members().next().is_none() && value.elements().next().is_none();
    if !is_nested(value) || is_flat || is_empty || depth >= DEPTH {
        return print(out, value);
    }
    let (open, close) = if value.is_object() { (b'{', b'}') } else { (b'[', b']') };
    let line = |out: &mut Vec<u8>, depth: usize, is_first: bool| {
        if !is_first {
            out.push(b',');
        }
        out.push(b'\n');
        out.resize(out.len() + 2 * depth, b' ');
    };
    out.push(open);
    for (i, (name, member)) in dshlog_codec::json::ordered_members(value).into_iter().enumerate() {
        line(out, depth + 1, i == 0);
        dshlog_codec::json::print_str(out, name);
        out.extend_from_slice(b": ");
        write(out, member, depth + 1);
    }
    for (i, element) in value.elements().enumerate() {
        line(out, depth + 1, i == 0);
        write(out, element, depth + 1);
    }
    line(out, depth, true);
    out.push(close);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values() {
        for (pointer, json, expected) in [
            ("/a", "\"x\\ny\"", "x\ny"),
            ("/a", "12", "12"),
            (
                "/a",
                r#"{"b":[1,2],"c":{},"d":["x"]}"#,
                "{\n  \"b\": [1,2],\n  \"c\": {},\n  \"d\": [\n    \"x\"\n  ]\n}",
            ),
            ("/data/arguments", r#""{\"a\":1}""#, "{\n  \"a\": 1\n}"),
            ("/data/text", r#""{\"a\":1}""#, "{\"a\":1}"),
            ("/data/arguments", "\"{broken\"", "{broken"),
        ] {
            assert_eq!(value(pointer, json), expected, "{json}");
        }
    }

    #[test]
    fn deep_values_do_not_exhaust_the_stack() {
        let deep = format!("{}{}", "[".repeat(50_000), "]".repeat(50_000));
        assert!(value("/a", &deep).ends_with(&"]".repeat(40)) || value("/a", &deep).ends_with(']'));
    }
}
