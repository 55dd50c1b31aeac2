//! Searching, as a person does it.

use insta::assert_snapshot;
use serde_json::Value;

use crate::place;

/// What is wrong with a query is shown at its place.
#[test]
fn queries_that_cannot_be_understood() {
    let place = place(&["v4-multi-turn"]);
    let told: String = [
        &["search", "--scan", "build after:yesterdy"][..],
        &["search", "--scan", "build", "rol:user"],
        &["search", "--scan", "登录 \"错误"],
        &["search", "--scan", "***"],
        &["search", "--scan", "--", "-build"],
        &["search", "--scan", "/(a{1000}){1000}/"],
        &["search", "x", "--cursor", "e30"],
        &["search", "x", "--cursor", "e30", "--scan"],
    ]
    .into_iter()
    .map(|args| place.told(args))
    .collect();
    assert_snapshot!("search-wrong", told);
}

/// Nothing found is exit 1, as `grep` has it, and the document says so too.
#[test]
fn nothing_is_found() {
    let place = place(&["v4-multi-turn"]);
    let output = place.run(&["search", "--scan", "zyzzyva", "--format", "json"]);
    assert_eq!(output.status.code(), Some(1));
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(found["schema"], "dshlog.search/1");
    assert_eq!((&found["documents"], &found["index"]), (&Value::from(0), &Value::Null));
}
