//! Errors as each dialect words them.

use serde_json::{Map, Value, json};

use super::Dialect;
use crate::script::ApiError;

/// The body of an answer that tells an error.
pub(crate) fn error_body(dialect: Dialect, error: &ApiError) -> Value {
    match dialect {
        Dialect::Messages => json!({ "type": "error", "error": error_object(dialect, error) }),
        Dialect::Chat => json!({ "error": error_object(dialect, error) }),
    }
}

/// The error itself.
pub(super) fn error_object(dialect: Dialect, error: &ApiError) -> Value {
    let mut out = Map::new();
    if !error.kind.is_empty() {
        out.insert("type".to_owned(), Value::from(error.kind.as_str()));
    }
    out.insert("message".to_owned(), Value::from(error.message.as_str()));
    match (&error.code, dialect) {
        (Some(code), _) => out.insert("code".to_owned(), Value::from(code.as_str())),
        (None, Dialect::Chat) => out.insert("code".to_owned(), Value::Null),
        (None, Dialect::Messages) => None,
    };
    Value::Object(out)
}
