//! A small language for the shape of JSON values, as data, and the one walk that holds a value against it.
//!
//! The tables of `docs/spec/events-v0-v3.md`, section 6, are written in it word for word.

use crate::json::{Elements, Js};
use crate::types::{Generation, Seq};

use super::super::fault::shown;

/// The shape of a value; the words are those of the specification, 6.1.
pub enum Shape {
    /// Anything.
    Any,
    /// Any object.
    Object,
    /// Anything without negative zero and numbers that are not finite.
    Lossless,
    /// A string.
    Str,
    /// A string that is not empty.
    Str1,
    /// `true` or `false`.
    Bool,
    /// `true`.
    True,
    /// An integer 0 ..= 2^53-1.
    Count,
    /// A count, or `null`.
    CountOrNull,
    /// A count above 0.
    Pos,
    /// A safe integer.
    Int,
    /// A finite number, not negative zero.
    Num,
    /// A count below the seq of the event.
    Prior,
    /// This count.
    Number(u64),
    /// One of these strings.
    OneOf(&'static [&'static str]),
    /// An array whose elements have one shape, and its least and largest length.
    List(&'static Shape, usize, usize),
    /// An object with these members, and the rule on how they go together.
    Members(Members),
    /// An object whose shape its member `on` decides.
    Switch {
        /// Name of the member.
        on: &'static str,
        /// Its values and what they stand for.
        cases: &'static [(&'static [&'static str], &'static Shape)],
        /// What every other value stands for, also when the member is missing; nothing refuses it.
        other: Option<&'static Shape>,
    },
    /// A shape that depends on the value and the generation.
    Choose(for<'a> fn(Js<'a>, Generation) -> &'static Shape),
    /// Well formed, but there is no way on from it.
    Unsupported(&'static str),
}

/// Members of an object.
pub struct Members {
    /// Members that must be there.
    pub required: &'static [(&'static str, &'static Shape)],
    /// Members that may be there.
    pub optional: &'static [(&'static str, &'static Shape)],
    /// Other members are not looked at.
    pub open: bool,
    /// What the members must be to one another.
    pub rule: Option<Extra>,
}

/// A rule on the members of an object, each of which has its own shape. The error says which rule is broken.
pub type Extra = for<'a> fn(Js<'a>, &mut Further<'a>) -> Result<(), &'static str>;

/// Lets a rule ask for more, and know when it is asked.
pub struct Further<'a> {
    /// The generation by whose rules the value is judged.
    pub generation: Generation,
    jobs: Vec<Job<'a>>,
}

impl<'a> Further<'a> {
    /// The member `name` must have `shape` as well, and be there.
    pub fn member(
        &mut self,
        object: Js<'a>,
        name: &'static str,
        shape: &'static Shape,
    ) -> Result<(), &'static str> {
        let value = object.get(name).ok_or("a member is missing")?;
        self.jobs.push(Job::Value(shape, value));
        Ok(())
    }
}

/// An object with required members and, behind a semicolon, optional ones; a rule may follow.
macro_rules! object {
    ({ $($body:tt)* }) => { object!({ $($body)* } false, None) };
    ({ $($body:tt)* }, $rule:expr) => { object!({ $($body)* } false, Some($rule)) };
    ({ $($required:ident: $shape:expr),* $(; $($optional:ident: $maybe:expr),*)? } $open:literal, $rule:expr) => {
        Shape::Members(Members {
            required: &[$((stringify!($required), &$shape)),*],
            optional: &[$($((stringify!($optional), &$maybe)),*)?],
            open: $open,
            rule: $rule,
        })
    };
}

/// An object whose other members are not looked at.
macro_rules! open_object {
    ({ $($body:tt)* }) => { object!({ $($body)* } true, None) };
}

/// An object with a deciding member: `switch!(kind: "a" | "b" => A, other => B)`.
macro_rules! switch {
    ($on:ident: $($($name:literal)|+ => $shape:expr,)+) => {
        Shape::Switch { on: stringify!($on), cases: &[$((&[$($name),+], &$shape)),+], other: None }
    };
    ($on:ident: $($($name:literal)|+ => $shape:expr,)+ other => $other:expr) => {
        Shape::Switch { on: stringify!($on), cases: &[$((&[$($name),+], &$shape)),+], other: Some(&$other) }
    };
}

/// An array: of any length, or with a least one.
macro_rules! list {
    ($of:expr) => {
        Shape::List(&$of, 0, usize::MAX)
    };
    ($of:expr, $least:literal) => {
        Shape::List(&$of, $least, usize::MAX)
    };
    ($of:expr, $least:literal, $most:literal) => {
        Shape::List(&$of, $least, $most)
    };
}

/// One of some strings.
macro_rules! one_of {
    ($($name:literal)|+) => { Shape::OneOf(&[$($name),+]) };
}

pub(super) use {list, object, one_of, open_object, switch};

/// Why a payload is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShapeFaultKind {
    /// The generation does not know the type.
    UnknownType,
    /// The payload does not have the shape of its type.
    Malformed,
    /// The payload is well formed, but no reader knows the way on from it.
    Unsupported,
}

/// A payload that its generation does not admit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShapeFault {
    /// Why.
    pub kind: ShapeFaultKind,
    /// JSON pointer below the value that was checked; into the row, for payloads.
    pub pointer: String,
    /// What is wrong there, in a few words, with the value shortened.
    pub what: String,
}

/// Hold `value` against `shape`, by the rules of `generation` and for an event with this `seq`.
pub fn check_shape(
    shape: &'static Shape,
    value: Js<'_>,
    seq: Seq,
    generation: Generation,
) -> Result<(), ShapeFault> {
    check_below(value, shape, value, seq, generation)
}

/// The same for a `value` that lies in `root`; pointers start there.
pub(super) fn check_below(
    root: Js<'_>,
    shape: &'static Shape,
    value: Js<'_>,
    seq: Seq,
    generation: Generation,
) -> Result<(), ShapeFault> {
    let mut walk = Walk { seq, further: Further { generation, jobs: vec![Job::Value(shape, value)] } };
    walk.run().map_err(|wrong| {
        let mut pointer = String::new();
        locate(root, wrong.at, &mut pointer);
        if let Some(member) = wrong.member {
            push_name(&mut pointer, member);
        }
        ShapeFault { kind: wrong.kind, pointer, what: wrong.what }
    })
}

/// What is still to be done. Nesting is up to the log, so there is a stack of its own.
enum Job<'a> {
    Value(&'static Shape, Js<'a>),
    Elements(&'static Shape, Elements<'a>),
    Extra(Extra, Js<'a>),
}

struct Walk<'a> {
    seq: Seq,
    further: Further<'a>,
}

/// A fault, before anybody asks where it is.
struct Wrong<'a> {
    kind: ShapeFaultKind,
    at: Js<'a>,
    member: Option<&'static str>,
    what: String,
}

impl<'a> Wrong<'a> {
    fn malformed(at: Js<'a>, what: impl Into<String>) -> Self {
        Wrong { kind: ShapeFaultKind::Malformed, at, member: None, what: what.into() }
    }
}

type Said<'a> = Result<(), Box<Wrong<'a>>>;

impl<'a> Walk<'a> {
    fn run(&mut self) -> Said<'a> {
        while let Some(job) = self.further.jobs.pop() {
            match job {
                Job::Value(shape, value) => self.value(shape, value)?,
                Job::Elements(shape, mut elements) => {
                    if let Some(element) = elements.next() {
                        self.further.jobs.push(Job::Elements(shape, elements));
                        self.value(shape, element)?;
                    }
                }
                Job::Extra(rule, object) => {
                    rule(object, &mut self.further).map_err(|what| Wrong::malformed(object, what))?;
                }
            }
        }
        Ok(())
    }

    fn value(&mut self, shape: &'static Shape, value: Js<'a>) -> Said<'a> {
        let count = || value.as_count();
        let text = || value.as_str();
        let expect = |good: bool, wanted: &str| {
            if good { Ok(()) } else { Err(Box::new(Wrong::malformed(value, wanted_for(value, wanted)))) }
        };
        match shape {
            Shape::Any => Ok(()),
            Shape::Object => expect(value.is_object(), "an object"),
            Shape::Lossless => expect(!value.has_lossy_number(), "without numbers that JSON cannot keep"),
            Shape::Str => expect(text().is_some(), "a string"),
            Shape::Str1 => expect(text().is_some_and(|text| !text.is_empty()), "a string that is not empty"),
            Shape::Bool => expect(value.as_bool().is_some(), "a boolean"),
            Shape::True => expect(value.is_true(), "true"),
            Shape::Count => expect(count().is_some(), "a count"),
            Shape::CountOrNull => expect(value.is_null() || count().is_some(), "a count or null"),
            Shape::Pos => expect(count().is_some_and(|n| n > 0), "a count above 0"),
            Shape::Int => expect(value.as_safe_integer().is_some(), "a safe integer"),
            Shape::Num => expect(value.as_f64().is_some() && !value.has_lossy_number(), "a finite number"),
            Shape::Prior => expect(count().is_some_and(|n| n < self.seq.0), "the seq of an earlier event"),
            Shape::Number(number) => expect(count() == Some(*number), &number.to_string()),
            Shape::OneOf(names) => expect(names.iter().any(|name| value.is(name)), &names.join(" or ")),
            Shape::List(of, least, most) => {
                let elements = value.as_array();
                let length = elements.clone().map(Iterator::count);
                expect(length.is_some(), "an array")?;
                expect(length.is_some_and(|n| n >= *least && n <= *most), "an array of another length")?;
                self.further.jobs.extend(elements.map(|elements| Job::Elements(of, elements)));
                Ok(())
            }
            Shape::Members(members) => self.members(members, value),
            Shape::Switch { on, cases, other } => {
                expect(value.is_object(), "an object")?;
                let decides = value.get(on);
                let case = decides
                    .and_then(|v| cases.iter().find(|(names, _)| names.iter().any(|name| v.is(name))))
                    .map(|(_, shape)| *shape)
                    .or(*other);
                match (case, decides) {
                    (Some(shape), _) => self.further.jobs.push(Job::Value(shape, value)),
                    (None, Some(decides)) => {
                        return Err(Wrong::malformed(decides, wanted_for(decides, "a known kind")).into());
                    }
                    (None, None) => return Err(missing(value, on).into()),
                }
                Ok(())
            }
            Shape::Choose(choose) => {
                self.further.jobs.push(Job::Value(choose(value, self.further.generation), value));
                Ok(())
            }
            Shape::Unsupported(what) => Err(Box::new(Wrong {
                kind: ShapeFaultKind::Unsupported,
                at: value,
                member: None,
                what: (*what).to_owned(),
            })),
        }
    }

    fn members(&mut self, members: &'static Members, value: Js<'a>) -> Said<'a> {
        if !value.is_object() {
            return Err(Wrong::malformed(value, wanted_for(value, "an object")).into());
        }
        let unexpected = |value: Js<'a>| {
            let known = || members.required.iter().chain(members.optional);
            match value.members().find(|(key, _)| !known().any(|(name, _)| *key == **name)) {
                Some((key, at)) if !members.open => {
                    let key = super::super::fault::shortened(&key.to_lossy());
                    Err(Box::new(Wrong::malformed(at, format!("unexpected member `{key}`"))))
                }
                _ => Ok(()),
            }
        };
        let absent = |value: Js<'a>| match members.required.iter().find(|(name, _)| value.get(name).is_none())
        {
            Some((name, _)) => Err(Box::new(missing(value, name))),
            None => Ok(()),
        };
        // V2 looks for members that are missing first, its predecessors last (1.6, rule 7).
        if self.further.generation.0 < 2 {
            unexpected(value)?;
            absent(value)?;
        } else {
            absent(value)?;
            unexpected(value)?;
        }
        let jobs = &mut self.further.jobs;
        jobs.extend(members.rule.map(|rule| Job::Extra(rule, value)));
        // The last job is the first to be done.
        for (name, shape) in members.required.iter().chain(members.optional).rev() {
            if !matches!(shape, Shape::Any) {
                jobs.extend(value.get(name).map(|member| Job::Value(shape, member)));
            }
        }
        Ok(())
    }
}

fn missing<'a>(object: Js<'a>, name: &'static str) -> Wrong<'a> {
    Wrong { member: Some(name), ..Wrong::malformed(object, "missing member") }
}

fn wanted_for(value: Js<'_>, wanted: &str) -> String {
    format!("{} is not {wanted}", shown(Some(value)))
}

/// Append the path from `root` to `target`, a value in it.
fn locate(root: Js<'_>, target: Js<'_>, pointer: &mut String) {
    let mut value = root;
    'down: while value.offset() != target.offset() {
        let holds =
            |inner: Js<'_>| (inner.offset()..inner.offset() + inner.raw().len()).contains(&target.offset());
        for (key, member) in value.members() {
            if holds(member) {
                push_name(pointer, &key.to_lossy());
                value = member;
                continue 'down;
            }
        }
        for (i, element) in value.elements().enumerate() {
            if holds(element) {
                push_name(pointer, &i.to_string());
                value = element;
                continue 'down;
            }
        }
        return;
    }
}

fn push_name(pointer: &mut String, name: &str) {
    pointer.push('/');
    pointer.push_str(&name.replace('~', "~0").replace('/', "~1"));
}
