//! Foreign text as HTML. Everything that a template prints unescaped is made here, and begins as escaped text.

use std::fmt::{self, Write as _};

use askama::filters::HtmlSafe;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::super::prose::{Block, Span, blocks, spans};
use super::paint::{Language, Token, tokens};
use crate::render::text::{visible, visible_block};

/// Lines that a browser lays out as one; longer texts are cut, so that it does so only with what is in sight.
const CHUNK: usize = 200;

/// The same in bytes, for texts with very long lines.
const CHUNK_BYTES: usize = 16_384;

/// The longest text that gets colours, in bytes.
const PAINTED: usize = 49_152;

/// HTML that is safe to print as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Markup(String);

impl HtmlSafe for Markup {}

impl fmt::Display for Markup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Markup {
    /// A line of foreign text.
    pub(super) fn line(text: &str) -> Self {
        let mut out = String::with_capacity(text.len());
        escape(&mut out, &visible(text));
        Markup(out)
    }

    /// What somebody said.
    pub(super) fn prose(text: &str) -> Self {
        let text = visible_block(text);
        let mut out = String::with_capacity(text.len() + text.len() / 8);
        for block in blocks(&text) {
            match block {
                Block::Heading(level, text) => {
                    // The page's own headings end at the third level.
                    let level = (level + 3).min(6);
                    let _ = write!(out, "<h{level} class=\"t\">");
                    line(&mut out, text);
                    let _ = write!(out, "</h{level}>");
                }
                Block::Code(word, code) => {
                    out.push_str(&Markup::code(code, Language::named(word).or_else(|| Language::of(code))).0);
                }
                Block::Table(rows) => out.push_str(&Markup::code(rows, None).0),
                Block::Text(text) => {
                    let parts = text.split("\n\n").map(|part| part.trim_matches('\n'));
                    for part in parts.filter(|part| !part.trim().is_empty()) {
                        out.push_str("<p class=\"t\">");
                        for (number, row) in part.lines().enumerate() {
                            if number > 0 {
                                out.push('\n');
                            }
                            line(&mut out, row);
                        }
                        out.push_str("</p>");
                    }
                }
            }
        }
        Markup(out)
    }

    /// Text as it is, in colours when it is of a language and not too long.
    pub(super) fn code(text: &str, language: Option<Language>) -> Self {
        let text = visible_block(text.trim_end_matches('\n'));
        let mut out = String::with_capacity(text.len() + text.len() / 8);
        let language = language.filter(|_| text.len() <= PAINTED);
        for part in chunks(&text) {
            // The parser drops a line end that follows the tag.
            out.push_str("<pre class=\"t\">\n");
            match language {
                None => escape(&mut out, part),
                Some(language) => {
                    for (token, part) in tokens(language, part) {
                        paint(&mut out, token, part);
                    }
                }
            }
            out.push_str("</pre>");
        }
        Markup(out)
    }

    /// A JSON document for scripts to read: nothing in it ends the element around it.
    pub(super) fn json(document: &[u8]) -> Self {
        Markup(String::from_utf8_lossy(document).replace('<', "\\u003c"))
    }

    /// An image in place; the media type is one of those that dsh stores.
    pub(super) fn data_url(media_type: &str, bytes: &[u8]) -> Self {
        let mut out = format!("data:{media_type};base64,");
        STANDARD.encode_string(bytes, &mut out);
        Markup(out)
    }

    /// Lines of foreign text.
    pub(super) fn block(text: &str) -> Self {
        let mut out = String::with_capacity(text.len());
        escape(&mut out, &visible_block(text));
        Markup(out)
    }

    /// What came out of a template, which escapes what it is filled with.
    pub(super) fn of_template(html: String) -> Self {
        Markup(html)
    }

    /// Text of ours, a style sheet or a script.
    pub(super) fn own(text: &'static str) -> Self {
        Markup(text.to_owned())
    }

    /// Nothing to see.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

fn escape(out: &mut String, text: &str) {
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
}

fn line(out: &mut String, text: &str) {
    for span in spans(text) {
        let (tag, text) = match span {
            Span::Plain(text) => {
                escape(out, text);
                continue;
            }
            Span::Code(text) => ("code", text),
            Span::Strong(text) => ("strong", text),
        };
        let _ = write!(out, "<{tag}>");
        escape(out, text);
        let _ = write!(out, "</{tag}>");
    }
}

fn paint(out: &mut String, token: Token, text: &str) {
    let class = match token {
        Token::Plain => return escape(out, text),
        Token::Name => "n",
        Token::Text => "s",
        Token::Value => "v",
        Token::Word => "w",
        Token::Aside => "c",
        Token::Added => "add",
        Token::Removed => "del",
    };
    let _ = write!(out, "<span class=\"{class}\">");
    escape(out, text);
    out.push_str("</span>");
}

/// A text in parts of so many lines, or of so many bytes where lines are long. A line end between two parts is left out.
fn chunks(text: &str) -> Vec<&str> {
    let mut chunks = Vec::new();
    let mut rest = text;
    loop {
        let by_lines = rest.match_indices('\n').nth(CHUNK - 1).map(|(at, _)| at);
        let by_bytes = (rest.len() > CHUNK_BYTES).then(|| {
            let at = rest.floor_char_boundary(CHUNK_BYTES);
            rest[..at].rfind('\n').unwrap_or(at)
        });
        let Some(end) = by_lines.into_iter().chain(by_bytes).min() else {
            chunks.push(rest);
            return chunks;
        };
        chunks.push(&rest[..end]);
        rest = rest[end..].strip_prefix('\n').unwrap_or(&rest[end..]);
        if rest.is_empty() {
            return chunks;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOSTILE: &str = "</pre></script></template><img src=x onerror='a'> \"&\" \u{1b}[2J\0\u{202e}";
    const HARMLESS: &str = "&lt;/pre&gt;&lt;/script&gt;&lt;/template&gt;&lt;img src=x onerror=&#39;a&#39;&gt; \
                            &quot;&amp;&quot; \\x1b[2J\\x00\\u{202e}";

    #[test]
    fn foreign_text_does_not_act() {
        assert_eq!(Markup::line(HOSTILE).0, HARMLESS);
        assert_eq!(Markup::prose(HOSTILE).0, format!("<p class=\"t\">{HARMLESS}</p>"));
        assert_eq!(Markup::code(HOSTILE, None).0, format!("<pre class=\"t\">\n{HARMLESS}</pre>"));
        let fenced = format!("```{HOSTILE}\n{HOSTILE}");
        assert_eq!(Markup::prose(&fenced).0, format!("<pre class=\"t\">\n{HARMLESS}</pre>"));
        for language in [Language::Json, Language::Shell, Language::Diff] {
            let painted = Markup::code(HOSTILE, Some(language)).0;
            let text =
                painted.replace("<pre class=\"t\">\n", "").replace("</pre>", "").replace("</span>", "");
            let tags = text.split('<').skip(1).filter(|tag| !tag.starts_with("span class=\""));
            assert_eq!(tags.count(), 0, "{painted}");
        }
        assert_eq!(Markup::json(b"{\"a\":\"</script><!--\"}").0, "{\"a\":\"\\u003c/script>\\u003c!--\"}");
    }

    #[test]
    fn what_is_said_keeps_its_shape() {
        assert_eq!(
            Markup::prose("# A `b`\n**c** <d>\n- e\n\nf\n```sh\nls -l\n```").0,
            "<h4 class=\"t\">A <code>b</code></h4><p class=\"t\"><strong>c</strong> &lt;d&gt;\n- e</p><p \
             class=\"t\">f</p><pre class=\"t\">\n<span class=\"w\">ls</span> <span class=\"n\">-l</span></pre>"
        );
    }

    #[test]
    fn long_texts_are_cut() {
        let lines = "a\n".repeat(CHUNK * 2 + 1);
        let parts: Vec<usize> = chunks(&lines).iter().map(|part| part.lines().count()).collect();
        assert_eq!(parts, [CHUNK, CHUNK, 1]);
        let long = "é".repeat(CHUNK_BYTES);
        let parts = chunks(&long);
        assert_eq!((parts.len(), parts.concat()), (2, long.clone()));
        let mixed = format!("short\n{}", "x".repeat(CHUNK_BYTES));
        assert_eq!(chunks(&mixed)[0], "short");
        assert_eq!(chunks(""), [""]);
    }

    #[test]
    fn images_are_in_place() {
        assert_eq!(Markup::data_url("image/png", b"\x89PNG").0, "data:image/png;base64,iVBORw==");
    }
}
