//! Fields and their values.

use dshlog_codec::Generation;
use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::lex::Value;
use super::{DocumentFilter, Node, QueryError, SessionFilter, date, nearest};
use crate::document::{Part, Role};

/// What can stand in front of a colon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field {
    Project,
    Role,
    Tool,
    Model,
    Session,
    Parent,
    Preset,
    Generation,
    Turn,
    Is,
    Has,
    In,
    After,
    Before,
    On,
}

impl Field {
    pub(super) const ALL: [Field; 15] = [
        Field::Project,
        Field::Role,
        Field::Tool,
        Field::Model,
        Field::Session,
        Field::Parent,
        Field::Preset,
        Field::Generation,
        Field::Turn,
        Field::Is,
        Field::Has,
        Field::In,
        Field::After,
        Field::Before,
        Field::On,
    ];

    pub(super) fn of_name(name: &str) -> Option<Field> {
        Field::ALL.into_iter().find(|field| field.name() == name)
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Field::Project => "project",
            Field::Role => "role",
            Field::Tool => "tool",
            Field::Model => "model",
            Field::Session => "session",
            Field::Parent => "parent",
            Field::Preset => "preset",
            Field::Generation => "generation",
            Field::Turn => "turn",
            Field::Is => "is",
            Field::Has => "has",
            Field::In => "in",
            Field::After => "after",
            Field::Before => "before",
            Field::On => "on",
        }
    }

    /// Values, for somebody who gave none.
    pub(super) fn example(self) -> String {
        let example = match self {
            Field::Project => "project:shop` or `project:~/work/shop",
            Field::Role => "role:user",
            Field::Tool => "tool:bash",
            Field::Model => "model:deepseek*",
            Field::Session => "session:8d178ff3",
            Field::Parent => "parent:8d178ff3",
            Field::Preset => "preset:explore",
            Field::Generation => "generation:4",
            Field::Turn => "turn:3",
            Field::Is => "is:error",
            Field::Has => "has:image",
            Field::In => "in:title,prompt",
            Field::After => "after:2026-11-30` or `after:3d",
            Field::Before => "before:yesterday",
            Field::On => "on:2026-11-30",
        };
        format!("for example `{example}`")
    }
}

/// What `field:value` asks for.
pub(super) fn node(field: Field, value: &Value, now: Timestamp, zone: &TimeZone) -> Result<Node, QueryError> {
    let text = value.text.trim();
    let session = |filter| Ok(Node::Session(filter));
    let document = |filter| Ok(Node::Document(filter));
    match field {
        Field::Project => session(SessionFilter::Project(text.to_owned())),
        Field::Session => session(SessionFilter::Id(text.to_owned())),
        Field::Parent => session(SessionFilter::Parent(text.to_owned())),
        Field::Preset => session(SessionFilter::Preset(text.to_owned())),
        Field::Generation => {
            let number = text.strip_prefix(['v', 'V']).unwrap_or(text).parse().ok();
            match number.filter(|number| *number <= Generation::CURRENT.0) {
                Some(number) => session(SessionFilter::Generation(Generation(number))),
                None => Err(QueryError::new(format!("`{text}` is no generation of logs"), value.at.clone())
                    .hint("they are 0 to 4, or v0 to v4")),
            }
        }
        Field::Tool => document(DocumentFilter::Tool(text.to_owned())),
        Field::Model => document(DocumentFilter::Model(text.to_owned())),
        Field::Turn => match text.parse() {
            Ok(turn @ 1..) => document(DocumentFilter::Turn(turn)),
            _ => Err(QueryError::new(format!("`{text}` is no turn"), value.at.clone())
                .hint("turns are counted from 1")),
        },
        Field::Role => one_of(field, value, &Role::ALL.map(|role| (role.name(), role)))
            .map(|role| Node::Document(DocumentFilter::Role(role))),
        Field::In => one_of(field, value, &places()).map(|parts| Node::Document(DocumentFilter::Parts(parts))),
        Field::Has => one_of(field, value, &[("image", DocumentFilter::Image), ("file", DocumentFilter::File)])
            .map(Node::Document),
        Field::Is => one_of(
            field,
            value,
            &[
                ("error", Node::Document(DocumentFilter::Error)),
                ("fork", Node::Session(SessionFilter::Fork)),
                ("subagent", Node::Session(SessionFilter::Subagent)),
                ("replaced", Node::Replaced),
                ("inherited", Node::Document(DocumentFilter::Inherited)),
                ("partial", Node::Session(SessionFilter::Partial)),
            ],
        ),
        Field::After | Field::Before | Field::On => {
            let named = date::parse(text, now, zone)
                .map_err(|hint| QueryError::new(format!("`{text}` is no date"), value.at.clone()).hint(hint))?;
            document(DocumentFilter::Time(match field {
                Field::After => named.start..i64::MAX,
                Field::Before => i64::MIN..named.start,
                _ => named.day(zone),
            }))
        }
    }
}

/// Names of parts in `in:`, and what stands for several.
fn places() -> Vec<(&'static str, Vec<Part>)> {
    let mut places: Vec<_> = Part::ALL.iter().map(|part| (part.name(), vec![*part])).collect();
    places.push(("text", vec![Part::Prompt, Part::Context, Part::Answer]));
    places.push(("args", vec![Part::Call]));
    places
}

fn one_of<T: Clone>(field: Field, value: &Value, known: &[(&'static str, T)]) -> Result<T, QueryError> {
    let text = value.text.trim();
    if let Some((_, found)) = known.iter().find(|(name, _)| *name == text) {
        return Ok(found.clone());
    }
    let names = known.iter().map(|(name, _)| *name);
    let hint = match nearest(&text.to_lowercase(), names.clone(), 1) {
        Some(meant) => format!("did you mean `{}:{meant}`?", field.name()),
        None => format!("`{}:` takes {}", field.name(), names.collect::<Vec<_>>().join(", ")),
    };
    Err(QueryError::new(format!("`{}:` knows no `{text}`", field.name()), value.at.clone()).hint(hint))
}
