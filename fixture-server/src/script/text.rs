//! Conditions on texts.

use serde::Deserialize;

/// What a text must be like. All that is said must hold.
///
/// Where a message has several text blocks, each of them is tried, and all of them joined by line feeds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a table such as `{ contains = \"...\" }`")]
pub struct TextIs {
    /// It is this.
    pub equals: Option<String>,
    /// It contains this.
    pub contains: Option<String>,
    /// It begins with this.
    pub starts_with: Option<String>,
    /// It does not contain this.
    pub lacks: Option<String>,
}

impl TextIs {
    /// A text that contains `part`.
    pub fn containing(part: impl Into<String>) -> Self {
        TextIs { contains: Some(part.into()), ..TextIs::default() }
    }

    /// Exactly this text.
    pub fn equal_to(text: impl Into<String>) -> Self {
        TextIs { equals: Some(text.into()), ..TextIs::default() }
    }

    /// True when `text` is so.
    pub fn holds(&self, text: &str) -> bool {
        self.equals.as_ref().is_none_or(|whole| text == whole)
            && self.contains.as_ref().is_none_or(|part| text.contains(part))
            && self.starts_with.as_ref().is_none_or(|start| text.starts_with(start))
            && self.lacks.as_ref().is_none_or(|part| !text.contains(part))
    }

    /// The condition in words.
    pub(crate) fn words(&self) -> String {
        let said = [
            ("equal to", &self.equals),
            ("containing", &self.contains),
            ("starting with", &self.starts_with),
            ("without", &self.lacks),
        ];
        let said: Vec<String> =
            said.iter().filter_map(|(verb, text)| Some(format!("{verb} {:?}", text.as_ref()?))).collect();
        if said.is_empty() { "any text".to_owned() } else { format!("text {}", said.join(" and ")) }
    }

    /// Why no text can be so.
    pub(crate) fn contradiction(&self) -> Option<&'static str> {
        let TextIs { equals, contains, starts_with, lacks } = self;
        if equals.as_ref().is_some_and(|whole| !self.holds(whole)) {
            return Some("`equals` contradicts another condition on the same text");
        }
        let wanted = [contains, starts_with].into_iter().flatten();
        match lacks {
            Some(part) if wanted.into_iter().any(|wanted| wanted.contains(part)) => {
                Some("`lacks` forbids what another condition demands")
            }
            _ => None,
        }
    }
}

/// What a header of the request must be like.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HeaderIs {
    /// Its name, in any case.
    pub name: String,
    /// What its value must be like; without it the header must only be there.
    #[serde(default)]
    pub value: TextIs,
}
