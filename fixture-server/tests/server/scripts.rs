//! Scripts that cannot be, and what is said about them.

use dshlog_fixture_server::{Script, ScriptError};

use crate::common::chain;

#[track_caller]
fn refused(script: &str, expected: &str) {
    let fault = Script::from_toml(script).expect_err(script);
    assert_eq!(chain(&fault), expected, "{script}");
}

/// One exchange with this in it.
#[track_caller]
fn exchange(inner: &str, expected: &str) {
    refused(&format!("exchanges = [{{ {inner} }}]"), expected);
}

#[test]
fn what_a_script_does_not_know() {
    refused(
        "exchange = []",
        "`exchange`: unknown field `exchange`, expected one of `name`, `conversation`, `exchanges`, `side`",
    );
    exchange(
        "respnd = {}",
        "`exchanges[0].respnd`: unknown field `respnd`, expected one of `name`, `lane`, `match`, `expect`, `times`, `optional`, `repeat`, `respond`",
    );
    exchange(
        "match.modle = {}",
        "`exchanges[0].match.modle`: unknown field `modle`, expected one of `kind`, `dialect`, `path`, `model`, `system`, `first_user`, `last_user`, `messages`, `tools`, `results`, `json`, `headers`",
    );
    exchange(
        "match.model = \"x\"",
        "`exchanges[0].match.model`: invalid type: string \"x\", expected a table such as `{ contains = \"...\" }`",
    );
    exchange(
        "respond.message.blocks = [{ type = \"txt\" }]",
        "`exchanges[0].respond.message.blocks[0].type`: unknown variant `txt`, expected one of `text`, `thinking`, `tool_use`",
    );
    exchange(
        "respond.message.blocks = [{ type = \"text\", txt = \"\" }]",
        "`exchanges[0].respond.message.blocks[0]`: unknown field `txt`, expected one of `text`, `split`, `pieces`",
    );
    exchange(
        "respond.fault = { how = \"explode\" }",
        "`exchanges[0].respond.fault.how`: unknown variant `explode`, expected one of `end`, `close`, `reset`, `stall`",
    );
    exchange(
        "expect.rules = [\"cwd\"]",
        "`exchanges[0].expect.rules[0]`: unknown variant `cwd`, expected one of `folders`, `dates`, `ids`, `ports`, `versions`",
    );
    assert!(matches!(Script::from_toml("x ="), Err(ScriptError::Toml { .. })));
    assert!(matches!(Script::from_json("{"), Err(ScriptError::Json { .. })));
    let fault = chain(&Script::from_json(r#"{"exchanges": [{"times": -1}]}"#).unwrap_err());
    assert_eq!(fault, "`exchanges[0].times`: invalid value: integer `-1`, expected u32");
}

#[test]
fn what_can_never_match() {
    refused("name = \"x\"", "`exchanges`: no exchange and no side rule: every request would be refused");
    exchange(
        "match.model = { equals = \"a\", contains = \"b\" }",
        "`exchanges[0].match.model`: can never match: `equals` contradicts another condition on the same text",
    );
    exchange(
        "match.last_user = { contains = \"abc\", lacks = \"b\" }",
        "`exchanges[0].match.last_user`: can never match: `lacks` forbids what another condition demands",
    );
    exchange(
        "match.json = [{ pointer = \"a\" }]",
        "`exchanges[0].match.json[0]`: no JSON pointer: it must begin with `/`",
    );
    exchange(
        "match.json = [{ pointer = \"/a\", equals = 1, exists = false }]",
        "`exchanges[0].match.json[0]`: can never match: a value that must not exist",
    );
    exchange(
        "match.json = [{ pointer = \"/a\", equals = 1 }, { pointer = \"/a\", equals = 2 }]",
        "`exchanges[0].match.json[1]`: can never match: an earlier condition on the same pointer says otherwise",
    );
    exchange(
        "match = { path.equals = \"/v1/messages\", dialect = \"chat\" }",
        "`exchanges[0].match.path`: can never match: another dialect is spoken at this path",
    );
    exchange(
        "match.path.equals = \"/v1/files\"",
        "`exchanges[0].match.path`: can never match: requests of this kind come to `.../messages` or `.../chat/completions`; a side rule answers any other path",
    );
    exchange(
        "match.results = [{ text.contains = \"x\" }]",
        "`exchanges[0].match.results[0]`: which call? `tool_use_id` is empty",
    );
    exchange(
        "match = { kind = \"title\", tools = [\"bash\"] }",
        "`exchanges[0].match.tools`: can never match: a title request has no tools",
    );
    exchange("times = 0", "`exchanges[0].times`: served 0 times: take it out");
    exchange(
        "times = 2, repeat = true",
        "`exchanges[0].times`: `repeat` leaves open how often; one of the two",
    );
    exchange(
        "expect.level = \"exact\"",
        "`exchanges[0].expect`: nothing is expected: give `body` or `body_file`",
    );
    exchange(
        "match.model.equals = \"a\", expect.body = { model = \"b\", messages = [] }",
        "`exchanges[0].expect`: can never match: the expected request is not what `match` demands, /model: expected text equal to \"a\", is \"b\"",
    );
    refused(
        "exchanges = [{ repeat = true }, { match.model.equals = \"x\" }]",
        "`exchanges[1]`: never reached: exchanges[0] repeats and takes all its requests",
    );
    refused(
        "exchanges = [{}]\nside = [{ match.kind = \"agent\" }]",
        "`exchanges[0]`: never reached: side[0] takes all its requests",
    );
    refused(
        "side = [{ match.kind = \"title\" }, { match = { kind = \"title\", model.equals = \"x\" } }]",
        "`side[1]`: never reached: side[0] takes all its requests",
    );
    refused(
        "side = [{}]",
        "`side[0].match`: a side rule without conditions takes every request; say at least its kind",
    );
    // All that is wrong is told at once.
    let both = chain(&Script::from_toml("exchanges = [{ times = 0 }, { times = 0 }]").unwrap_err());
    assert_eq!(both.lines().count(), 2);
}

#[test]
fn answers_that_cannot_be_sent() {
    exchange(
        "respond = { message = {}, body.text = \"\" }",
        "`exchanges[0].respond`: more than one of `message`, `error` and `body`",
    );
    exchange(
        "respond.wait_for.name = \"title\"",
        "`exchanges[0].respond.wait_for.name`: no exchange or side rule is called \"title\"",
    );
    exchange(
        "name = \"a\", respond.wait_for.name = \"a\"",
        "`exchanges[0].respond.wait_for.name`: an answer that waits for itself",
    );
    exchange("respond.status = 99", "`exchanges[0].respond.status`: no status of an answer: 101 to 599");
    exchange(
        "respond.headers = { \"a b\" = \"\" }",
        "`exchanges[0].respond.headers`: \"a b\" is no name of a header",
    );
    exchange(
        "respond.headers = { a = \"b\\r\\nc: d\" }",
        "`exchanges[0].respond.headers`: the value of \"a\" has a line end in it",
    );
    let blocks = |inner: &str, expected: &str| {
        exchange(&format!("respond.message.blocks = [{{ {inner} }}]"), expected);
    };
    blocks(
        "type = \"text\", text = \"abc\", split = [3]",
        "`exchanges[0].respond.message.blocks[0].split`: places between 1 and 2 split this text",
    );
    blocks(
        "type = \"text\", text = \"abc\", split = [2, 1]",
        "`exchanges[0].respond.message.blocks[0].split`: places must ascend",
    );
    blocks(
        "type = \"text\", text = \"abc\", pieces = [\"a\"]",
        "`exchanges[0].respond.message.blocks[0]`: both `text` and `pieces`",
    );
    blocks(
        "type = \"tool_use\", id = \"a\", name = \"b\", input = {}, arguments = \"\"",
        "`exchanges[0].respond.message.blocks[0]`: more than one of `input`, `arguments` and `pieces`",
    );
    blocks(
        "type = \"tool_use\", id = \"a\", name = \"b\", at_start = true",
        "`exchanges[0].respond.message.blocks[0]`: `at_start` needs `input`",
    );
    exchange(
        "respond.body.writes = [{ base64 = \"%\" }]",
        "`exchanges[0].respond.body.writes[0]`: no Base64",
    );
    exchange("respond.chunks.size = 0", "`exchanges[0].respond.chunks`: chunks of 0 bytes never end");
    exchange(
        "respond.fault = { how = \"end\", after.events = 1 }",
        "`exchanges[0].respond.fault.after`: only a `message` has events to count",
    );
}

#[test]
fn files_beside_a_script() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("script.toml");
    std::fs::write(&path, "exchanges = [{ expect.body_file = \"body.json\" }]").unwrap();
    let missing = chain(&Script::load(&path).unwrap_err());
    assert!(
        missing.starts_with(&format!("cannot read {}: ", folder.path().join("body.json").display())),
        "{missing}"
    );
    std::fs::write(folder.path().join("body.json"), "{").unwrap();
    let broken = chain(&Script::load(&path).unwrap_err());
    assert!(
        broken.starts_with(&format!("{}: not JSON: ", folder.path().join("body.json").display())),
        "{broken}"
    );
    std::fs::write(folder.path().join("body.json"), "{\"model\":\"m\",\"messages\":[]}").unwrap();
    let script = Script::load(&path).unwrap();
    assert_eq!(script.exchanges[0].expect.as_ref().unwrap().body.as_ref().unwrap()["model"], "m");
    let json = folder.path().join("script.JSON");
    std::fs::write(&json, "{\"exchanges\": [{}]}").unwrap();
    assert_eq!(Script::load(&json).unwrap().exchanges.len(), 1);
}
