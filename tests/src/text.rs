//! Text that looks like what people, models and tools write, out of a seed.
//!
//! No meaning, but the statistics matter: frequent and rare words, some Chinese and emoji, code with its indentation. Random bytes or
//! one repeated sentence would make every measurement of compression and parsing a lie.

use std::fmt::Write as _;

/// Pseudo-random numbers (`SplitMix64`): the same seed gives the same log on every machine and in every release.
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// A generator for a seed.
    pub fn new(seed: u64) -> Self {
        Rng(seed ^ 0x5851_f42d_4c95_7f2d)
    }

    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `end`, which must not be 0.
    pub fn below(&mut self, end: u64) -> u64 {
        self.bits() % end
    }

    /// A number of `start ..= end`.
    pub fn between(&mut self, start: u64, end: u64) -> u64 {
        start + self.below(end - start + 1)
    }

    /// True once in `n` times.
    pub fn once_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    /// One of `items`, which must not be empty.
    pub fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        let len = items.len() as u64;
        // An index below a length fits.
        items[usize::try_from(self.below(len)).unwrap_or(0)]
    }

    /// A random UUID, as message ids are.
    pub fn uuid(&mut self) -> String {
        let (a, b) = (self.bits(), self.bits());
        format!(
            "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
            a >> 32,
            (a >> 16) & 0xffff,
            a & 0xfff,
            0x8000 | (b >> 48) & 0x3fff,
            b & 0xffff_ffff_ffff
        )
    }
}

const COMMON: [&str; 48] = [
    "the", "a", "to", "of", "and", "is", "in", "that", "it", "for", "on", "with", "as", "this", "file",
    "test", "not", "be", "was", "but", "from", "build", "line", "function", "error", "should", "when",
    "which", "then", "there", "value", "call", "read", "write", "run", "check", "first", "now", "have",
    "will", "one", "if", "or", "by", "at", "an", "are", "can",
];
const ONSETS: [&str; 16] =
    ["b", "ch", "d", "f", "gr", "h", "k", "l", "m", "n", "pr", "r", "s", "st", "t", "v"];
const VOWELS: [&str; 8] = ["a", "e", "i", "o", "u", "ai", "ea", "ou"];
const ENDS: [&str; 10] = ["", "n", "r", "s", "ck", "ng", "ter", "tion", "ment", "ly"];
const HAN: &str = "的一是不了在人有我他这中大来上国个到说们为子和你地出道也时年得就那要下以生会自着去之过家学对可她里后小么心多天而能好都然没日于起还发成事只作当想看文无开手十用主行方又如前所本见经头面公同三已老从动两长";
const EMOJI: [&str; 6] = ["🙂", "🚀", "✅", "⚠️", "🎉", "🧪"];
const KEYWORDS: [&str; 8] = ["let", "const", "return", "if", "await", "for", "export", "async"];

/// Writes text out of a seed.
#[derive(Clone, Debug)]
pub struct Words {
    han: Vec<char>,
}

impl Default for Words {
    fn default() -> Self {
        Words { han: HAN.chars().collect() }
    }
}

impl Words {
    /// Append one word: a frequent one, or one of some ten thousand others.
    pub fn word(&self, rng: &mut Rng, out: &mut String) {
        if rng.below(10) < 6 {
            out.push_str(rng.pick(&COMMON));
            return;
        }
        for _ in 0..rng.between(1, 2) {
            out.push_str(rng.pick(&ONSETS));
            out.push_str(rng.pick(&VOWELS));
        }
        out.push_str(rng.pick(&ENDS));
    }

    /// About `chars` characters of prose: sentences, paragraphs, now and then Chinese, an emoji or a piece of code.
    pub fn prose(&self, rng: &mut Rng, chars: u64) -> String {
        let mut out = String::new();
        let mut paragraph = 0;
        while (out.len() as u64) < chars {
            match rng.below(24) {
                0 => self.chinese(rng, &mut out),
                1 if chars > 400 => {
                    out.push_str("\n```ts\n");
                    out.push_str(&self.code(rng, 5));
                    out.push_str("```\n");
                }
                2 => out.push_str(rng.pick(&EMOJI)),
                _ => self.sentence(rng, &mut out),
            }
            paragraph += 1;
            out.push_str(if paragraph % 5 == 0 { "\n\n" } else { " " });
        }
        out.truncate(out.trim_end().len());
        out
    }

    fn sentence(&self, rng: &mut Rng, out: &mut String) {
        let start = out.len();
        for i in 0..rng.between(4, 14) {
            if i > 0 {
                out.push_str(if rng.once_in(9) { ", " } else { " " });
            }
            match rng.below(30) {
                0 => {
                    out.push('`');
                    out.push_str(&self.path(rng));
                    out.push('`');
                }
                1 => out.push_str(&rng.below(100_000).to_string()),
                2 => out.push_str("\"quoted\""),
                _ => self.word(rng, out),
            }
        }
        if let Some(first) = out.get_mut(start..start + 1) {
            first.make_ascii_uppercase();
        }
        out.push('.');
    }

    fn chinese(&self, rng: &mut Rng, out: &mut String) {
        for _ in 0..rng.between(8, 30) {
            out.push(rng.pick(&self.han));
        }
        out.push('。');
    }

    /// Lines of code.
    pub fn code(&self, rng: &mut Rng, lines: u64) -> String {
        let mut out = String::new();
        let mut depth = 0;
        for _ in 0..lines {
            out.push_str(&"  ".repeat(depth));
            out.push_str(rng.pick(&KEYWORDS));
            out.push(' ');
            self.word(rng, &mut out);
            if depth < 4 && rng.once_in(4) {
                out.push_str(" = (");
                self.word(rng, &mut out);
                out.push_str(") => {\n");
                depth += 1;
            } else if depth > 0 && rng.once_in(3) {
                depth -= 1;
                out.push_str(";\n");
                out.push_str(&"  ".repeat(depth));
                out.push_str("}\n");
            } else {
                out.push_str(" = \"");
                self.word(rng, &mut out);
                out.push_str("\";\t// ");
                self.word(rng, &mut out);
                out.push('\n');
            }
        }
        out
    }

    /// A path of a source file.
    pub fn path(&self, rng: &mut Rng) -> String {
        let mut out = String::from("src");
        for _ in 0..rng.between(1, 3) {
            out.push('/');
            self.word(rng, &mut out);
        }
        out.push_str(".ts");
        out
    }
}

/// `text` as a JSON string, in the spelling of JavaScript.
pub fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 16 + 2);
    out.push('"');
    for c in text.chars() {
        escape(&mut out, c);
    }
    out.push('"');
    out
}

/// Append one character of a JSON string.
pub fn escape(out: &mut String, c: char) {
    match c {
        '"' => out.push_str("\\\""),
        '\\' => out.push_str("\\\\"),
        '\n' => out.push_str("\\n"),
        '\t' => out.push_str("\\t"),
        '\r' => out.push_str("\\r"),
        '\u{8}' => out.push_str("\\b"),
        '\u{c}' => out.push_str("\\f"),
        c if c < ' ' => {
            // Writing to a string cannot fail.
            let _ = write!(out, "\\u{:04x}", u32::from(c));
        }
        c => out.push(c),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_text_everywhere() {
        let words = Words::default();
        let text = |seed| words.prose(&mut Rng::new(seed), 500);
        assert_eq!(text(1), text(1));
        assert_ne!(text(1), text(2));
        assert_eq!(Rng::new(7).bits(), 0xfae3_3298_a839_9d50);
    }

    #[test]
    fn quoted_text_is_what_serde_json_reads_back() {
        let text = "a\"\\\n\t\r\u{8}\u{c}\u{1}é中🙂\u{7f}\u{2028}";
        assert_eq!(serde_json::from_str::<String>(&quote(text)).unwrap(), text);
    }
}
