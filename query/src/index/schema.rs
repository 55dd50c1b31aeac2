//! What stands in the full-text index: fields, and the way of a document in and out.
//!
//! Only the text is indexed by terms and stored. Everything else is a column, read by number of the document. What may
//! change once it has been written is not here but in the catalog.

use dshlog_codec::{Millis, Seq};
use tantivy::schema::{
    FAST, Field, INDEXED, IndexRecordOption, NumericOptions, Schema, TantivyDocument, TextFieldIndexing,
    TextOptions, Value,
};
use tantivy::store::{Compressor, ZstdCompressor};
use tantivy::tokenizer::{TextAnalyzer, Token, TokenStream, Tokenizer};
use tantivy::{IndexBuilder, IndexSettings};

use crate::analysis::Analyzer;
use crate::document::{Document, Part};

/// Number of the fields and of how they are filled. An index made with others is rebuilt.
pub const SCHEMA_VERSION: u32 = 1;

/// Name of our analyzer in the index.
const TOKENIZER: &str = "dshlog";

/// Of what is stored, so much is compressed together. Blocks twice as large save a twentieth on the whole, and cost twice
/// as much for each hit that is shown.
const BLOCK: usize = 32 * 1024;

/// Level of zstd for what is stored. Level 3 takes half as long again for three parts in a hundred less, and higher
/// levels save nothing on blocks of this size.
const LEVEL: i32 = 1;

/// Names of the columns.
pub(crate) mod column {
    pub(crate) const LOG: &str = "log";
    pub(crate) const SEQ: &str = "seq";
    pub(crate) const NTH: &str = "nth";
    pub(crate) const PART: &str = "part";
    pub(crate) const TIME: &str = "time";
    pub(crate) const TURN: &str = "turn";
    pub(crate) const STEP: &str = "step";
    pub(crate) const FLAGS: &str = "flags";
    pub(crate) const TOOL: &str = "tool";
    pub(crate) const MODEL: &str = "model";
}

/// Bits of the column `flags`.
pub(crate) mod flag {
    pub(crate) const ERROR: u64 = 1;
    pub(crate) const IMAGE: u64 = 2;
    pub(crate) const FILE: u64 = 4;
    pub(crate) const INHERITED: u64 = 8;
}

/// The fields.
#[derive(Clone, Copy, Debug)]
pub struct Fields {
    /// The catalog's row of the log. Deletes go by it: `Term::from_field_u64(fields.log, log)`.
    pub log: Field,
    seq: Field,
    nth: Field,
    part: Field,
    time: Field,
    turn: Field,
    step: Field,
    flags: Field,
    tool: Field,
    model: Field,
    pub(crate) text: Field,
}

impl Fields {
    /// The schema and its fields.
    pub fn new() -> (Schema, Fields) {
        let mut schema = Schema::builder();
        let number = NumericOptions::default().set_fast();
        let name = TextOptions::default().set_fast("raw");
        let text = TextOptions::default()
            .set_indexing_options(
                TextFieldIndexing::default()
                    .set_tokenizer(TOKENIZER)
                    .set_index_option(IndexRecordOption::WithFreqsAndPositions),
            )
            .set_stored();
        let fields = Fields {
            log: schema.add_u64_field(column::LOG, INDEXED | FAST),
            seq: schema.add_u64_field(column::SEQ, number.clone()),
            nth: schema.add_u64_field(column::NTH, number.clone()),
            part: schema.add_u64_field(column::PART, number.clone()),
            time: schema.add_i64_field(column::TIME, number.clone()),
            turn: schema.add_u64_field(column::TURN, number.clone()),
            step: schema.add_u64_field(column::STEP, number.clone()),
            flags: schema.add_u64_field(column::FLAGS, number),
            tool: schema.add_text_field(column::TOOL, name.clone()),
            model: schema.add_text_field(column::MODEL, name),
            text: schema.add_text_field("text", text),
        };
        (schema.build(), fields)
    }

    /// A document as the index takes it, as one of the log in row `log` of the catalog.
    pub fn to_tantivy(&self, document: &Document, log: u64) -> TantivyDocument {
        let mut out = TantivyDocument::default();
        out.add_u64(self.log, log);
        out.add_u64(self.seq, document.seq.0);
        out.add_u64(self.nth, u64::from(document.nth));
        out.add_u64(self.part, document.part.number());
        out.add_i64(self.time, document.time.0);
        out.add_u64(self.turn, document.turn.unwrap_or(0));
        out.add_u64(self.step, document.step.unwrap_or(0));
        out.add_u64(self.flags, flags(document));
        if let Some(tool) = &document.tool {
            out.add_text(self.tool, tool);
        }
        if let Some(model) = &document.model {
            out.add_text(self.model, model);
        }
        out.add_text(self.text, &document.text);
        out
    }
}

fn flags(document: &Document) -> u64 {
    let mut flags = 0;
    for (is, flag) in [
        (document.is_error, flag::ERROR),
        (document.has_image, flag::IMAGE),
        (document.has_file, flag::FILE),
        (document.is_inherited, flag::INHERITED),
    ] {
        if is {
            flags |= flag;
        }
    }
    flags
}

/// Describes an index; `create_in_dir` and `open_or_create` of the builder make it. [`register`] must follow an open.
pub fn builder() -> IndexBuilder {
    let (schema, _) = Fields::new();
    let compressor = Compressor::Zstd(ZstdCompressor { compression_level: Some(LEVEL) });
    let settings = IndexSettings {
        docstore_compression: compressor,
        docstore_blocksize: BLOCK,
        ..IndexSettings::default()
    };
    tantivy::Index::builder().schema(schema).settings(settings)
}

/// Teach an index that was made or opened how texts become terms.
pub fn register(index: &tantivy::Index) {
    index.tokenizers().register(TOKENIZER, TextAnalyzer::from(Terms::default()));
}

/// Our analyzer as Tantivy asks for it. The terms of a whole text are made at once, into buffers that stay.
#[derive(Default)]
struct Terms {
    analyzer: Analyzer,
    /// The terms, one behind the other.
    letters: String,
    ends: Vec<Term>,
    token: Token,
}

/// Where a term ends in `letters`, and where it stands in the text.
struct Term {
    end: usize,
    position: u32,
    from: usize,
    to: usize,
}

impl Clone for Terms {
    fn clone(&self) -> Self {
        Terms::default()
    }
}

impl Tokenizer for Terms {
    type TokenStream<'a> = Stream<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> Stream<'a> {
        let (letters, ends) = (&mut self.letters, &mut self.ends);
        letters.clear();
        ends.clear();
        self.analyzer.each(text, &mut |token| {
            letters.push_str(token.term);
            let (from, to) = (token.bytes.start, token.bytes.end);
            ends.push(Term { end: letters.len(), position: token.position, from, to });
        });
        Stream { of: self, next: 0, begin: 0 }
    }
}

struct Stream<'a> {
    of: &'a mut Terms,
    next: usize,
    begin: usize,
}

impl TokenStream for Stream<'_> {
    fn advance(&mut self) -> bool {
        let Some(term) = self.of.ends.get(self.next) else { return false };
        let token = &mut self.of.token;
        token.text.clear();
        token.text.push_str(self.of.letters.get(self.begin..term.end).unwrap_or_default());
        token.position = usize::try_from(term.position).unwrap_or(usize::MAX);
        (token.offset_from, token.offset_to) = (term.from, term.to);
        self.begin = term.end;
        self.next += 1;
        true
    }

    fn token(&self) -> &Token {
        &self.of.token
    }

    fn token_mut(&mut self) -> &mut Token {
        &mut self.of.token
    }
}

/// What of a document stands in columns: everything but text, tool and model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) log: u64,
    pub(crate) seq: u64,
    pub(crate) nth: u64,
    pub(crate) part: u64,
    pub(crate) time: i64,
    pub(crate) turn: u64,
    pub(crate) step: u64,
    pub(crate) flags: u64,
}

impl Row {
    /// The document, with what is kept elsewhere.
    pub(crate) fn document(self, text: String, tool: Option<String>, model: Option<String>) -> Document {
        let has = |flag: u64| self.flags & flag != 0;
        Document {
            seq: Seq(self.seq),
            nth: u32::try_from(self.nth).unwrap_or(u32::MAX),
            part: Part::of_number(self.part).unwrap_or(Part::Context),
            time: Millis(self.time),
            turn: (self.turn != 0).then_some(self.turn),
            step: (self.step != 0).then_some(self.step),
            tool,
            model,
            is_error: has(flag::ERROR),
            has_image: has(flag::IMAGE),
            has_file: has(flag::FILE),
            is_inherited: has(flag::INHERITED),
            text,
        }
    }
}

/// The stored text of a document.
pub(crate) fn text_of(fields: &Fields, stored: &TantivyDocument) -> String {
    stored.get_first(fields.text).and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}
