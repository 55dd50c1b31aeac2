//! Text that grows out of deltas.
//!
//! The official code adds deltas with `+` and looks at no type. A run has checked its texts, but a chunk that was stored
//! whole may hold anything, and then the rules of JavaScript say what is added.

use crate::json::{Elements, Js, JsStr, JsString, Kind, print_number};
use crate::pack::{Deltas, Fault};

/// What one chunk or one run adds to a text.
#[derive(Clone, Copy, Debug)]
pub(super) enum Piece<'a> {
    /// All deltas of a run.
    Run(Deltas<'a>),
    /// One delta of a run.
    Delta(JsStr<'a>),
    /// The delta of a chunk that was stored whole.
    Whole(Option<Js<'a>>),
}

impl<'a> Piece<'a> {
    /// A member of a chunk, which may be missing.
    pub(super) fn whole(value: Option<Js<'a>>) -> Result<Self, Fault> {
        append(&mut JsString::default(), value)?;
        Ok(Piece::Whole(value))
    }
}

/// The pieces as one string. Until then nothing is copied: a block that its end fixes never needs its deltas.
pub(super) fn join(pieces: &[Piece<'_>]) -> JsString {
    let mut text = JsString::default();
    for piece in pieces {
        match piece {
            Piece::Run(run) => run.iter().for_each(|delta| text.push(delta.text)),
            Piece::Delta(delta) => text.push(*delta),
            Piece::Whole(value) => {
                // It was checked when it came.
                let _ = append(&mut text, *value);
            }
        }
    }
    text
}

/// Append a value, which may be missing, as JavaScript makes a string of it.
///
/// # Errors
/// An object that hides the method for it; JavaScript throws then.
pub fn append(text: &mut JsString, value: Option<Js<'_>>) -> Result<(), Fault> {
    let Some(value) = value else {
        text.push(JsStr::plain("undefined"));
        return Ok(());
    };
    if value.is_null() {
        text.push(JsStr::plain("null"));
        return Ok(());
    }
    // Arrays nest as deep as the line is long, so they are walked without recursion.
    let mut open = Vec::new();
    open.extend(append_flat(text, value)?.map(|elements| (elements, true)));
    while let Some((elements, first)) = open.last_mut() {
        let Some(element) = elements.next() else {
            open.pop();
            continue;
        };
        if !std::mem::take(first) {
            text.push(JsStr::plain(","));
        }
        open.extend(append_flat(text, element)?.map(|elements| (elements, true)));
    }
    Ok(())
}

/// Append what an element of an array becomes, `null` nothing; the elements of an array are still to come.
fn append_flat<'a>(text: &mut JsString, value: Js<'a>) -> Result<Option<Elements<'a>>, Fault> {
    match value.kind() {
        Kind::Null => {}
        Kind::True => text.push(JsStr::plain("true")),
        Kind::False => text.push(JsStr::plain("false")),
        Kind::Number => {
            let mut digits = Vec::new();
            print_number(&mut digits, value.as_f64().unwrap_or(f64::NAN));
            text.push(JsStr::plain(&String::from_utf8_lossy(&digits)));
        }
        Kind::String => value.as_str().into_iter().for_each(|one| text.push(one)),
        Kind::Array => return Ok(Some(value.elements())),
        // Its own member hides the method, and no JSON value can be called.
        Kind::Object if value.get("toString").is_some() => {
            return Err("an object that cannot become a string");
        }
        Kind::Object => text.push(JsStr::plain("[object Object]")),
    }
    Ok(None)
}

/// True when JavaScript trims the whole text away.
pub fn is_blank(text: &JsString) -> bool {
    // A lone surrogate, here U+FFFD, is no white space.
    text.to_lossy().chars().all(|c| c == '\u{feff}' || (c.is_whitespace() && c != '\u{85}'))
}
