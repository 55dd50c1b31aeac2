//! Tables as Parquet files.
//!
//! Rows are gathered by table, project and day, and written when nothing is likely to be added, or when more is held than
//! the budget allows: then the largest first. Files are encoded on other threads. So memory is bounded by the budget and by
//! what the threads hold, at most as much each; a partition is most often one file; and no file stays open between rows.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow_array::builder::{
    ArrayBuilder, BooleanBuilder, Int64Builder, LargeStringBuilder, ListBuilder, StructBuilder,
    TimestampMillisecondBuilder,
};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{ArrowError, DataType, Field, Fields, Schema, TimeUnit};
use dshlog_codec::Event;
use jiff::{Span, civil};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::ColumnPath;

use super::documents::DOCUMENTS;
use super::events::{EVENTS, Printed};
use super::folder::Folder;
use super::manifest::{SCHEMA, TableCount};
use super::sessions::{REPLACED, SESSIONS};
use super::table::{Cell, Column, Kind, Table};
use super::workers::Workers;
use super::{Facts, Sink, Standing, Tail, documents, events, sessions};
use crate::document::Document;
use crate::error::{Error, Result};

/// The tables, by their numbers.
const TABLES: [&Table; 4] = [&EVENTS, &DOCUMENTS, &SESSIONS, &REPLACED];
const EVENT: usize = 0;
const DOCUMENT: usize = 1;
const SESSION: usize = 2;
const REPLACE: usize = 3;

/// Rows and bytes of a row group: what a reader has to hold.
const GROUP_ROWS: usize = 128 << 10;
const GROUP_BYTES: usize = 64 << 20;

/// Bytes of a minimum or maximum that is kept with a column.
const STATISTICS_BYTES: usize = 64;

/// What Hive calls the value of a partition that has none.
const NO_VALUE: &str = "__HIVE_DEFAULT_PARTITION__";

const MILLIS_A_DAY: i64 = 86_400_000;

/// Stands for all days without a name: they share one partition, and so must share its numbers of files.
const NO_DAY: i64 = i64::MAX;

/// A partition: table, project, days since the epoch. Tables that are not split have neither of the last two.
type Key = (usize, Arc<str>, Option<i64>);

/// The sink.
pub(super) struct Tables<'f> {
    folder: &'f Folder,
    budget: usize,
    /// Bytes in all batches.
    held: usize,
    open: BTreeMap<Key, Batch>,
    /// Files that a partition has.
    parts: HashMap<Key, u64>,
    counts: [TableCount; TABLES.len()],
    /// Sizes of the files of each table.
    bytes: Arc<[AtomicU64; TABLES.len()]>,
    project: Arc<str>,
    workers: Workers,
}

impl<'f> Tables<'f> {
    pub(super) fn new(folder: &'f Folder, budget: usize) -> Self {
        Tables {
            folder,
            budget,
            held: 0,
            open: BTreeMap::new(),
            parts: HashMap::new(),
            counts: TABLES.map(|table| TableCount { name: table.name, rows: 0, files: 0, bytes: 0 }),
            bytes: Arc::default(),
            project: "".into(),
            workers: Workers::new(),
        }
    }

    /// Add a row, and write what is too much.
    fn push(&mut self, number: usize, time: i64, cells: &[Cell<'_>]) -> Result<()> {
        let Some(table) = TABLES.get(number) else { return Ok(()) };
        let key = if table.is_partitioned {
            (number, Arc::clone(&self.project), Some(day(time)))
        } else {
            (number, "".into(), None)
        };
        let batch = self.open.entry(key).or_insert_with(|| Batch::new(table));
        self.held += batch.push(cells);
        while self.held > self.budget {
            let largest = self.open.iter().max_by_key(|(_, batch)| batch.bytes).map(|(key, _)| key.clone());
            let Some(largest) = largest else { break };
            self.flush(&largest)?;
        }
        Ok(())
    }

    /// Write a partition as its next file.
    fn flush(&mut self, key: &Key) -> Result<()> {
        let Some(mut batch) = self.open.remove(key) else { return Ok(()) };
        self.held = self.held.saturating_sub(batch.bytes);
        let part = self.parts.entry(key.clone()).or_default();
        let path = name(key, *part);
        *part += 1;
        let (Some(table), Some(count)) = (TABLES.get(key.0), self.counts.get_mut(key.0)) else {
            return Ok(());
        };
        let rows = batch.finish(table).map_err(|error| failed(&path, error.into()))?;
        count.rows += rows.num_rows() as u64;
        count.files += 1;
        let (mut pending, bytes) = (self.folder.begin(&path)?, Arc::clone(&self.bytes));
        let number = key.0;
        self.workers.submit(move || {
            encode(table, &rows, &mut pending.file).map_err(|source| failed(&pending.path, source))?;
            let size = pending.publish()?;
            if let Some(bytes) = bytes.get(number) {
                bytes.fetch_add(size, Ordering::Relaxed);
            }
            Ok(())
        })
    }
}

/// What the system said is told as that.
fn failed(path: &Path, source: ParquetError) -> Error {
    let path = path.to_owned();
    match source {
        ParquetError::External(source) => match source.downcast::<io::Error>() {
            Ok(source) => Error::Io { action: "write", path, source: *source },
            Err(source) => Error::Parquet { path, source: ParquetError::External(source) },
        },
        source => Error::Parquet { path, source },
    }
}

fn encode(table: &Table, rows: &RecordBatch, file: &mut (impl Write + Send)) -> Result<(), ParquetError> {
    let options = ArrowWriterOptions::new().with_properties(properties(table)).with_skip_arrow_metadata(true);
    let mut writer = ArrowWriter::try_new_with_options(file, rows.schema(), options)?;
    writer.write(rows)?;
    writer.close().map(|_| ())
}

impl Sink for Tables<'_> {
    /// Earlier days of the project and all of others are done with, but for logs whose clock went back.
    fn begin(&mut self, log: &Facts) -> Result<()> {
        let begins = day(log.created);
        let is_done = |key: &Key| key.2.is_some_and(|day| *key.1 != *log.project || day < begins);
        let done: Vec<Key> = self.open.keys().filter(|key| is_done(key)).cloned().collect();
        for key in done {
            self.flush(&key)?;
        }
        if *self.project != *log.project {
            self.project = log.project.as_str().into();
        }
        Ok(())
    }

    fn event(&mut self, log: &Facts, event: &Event<'_>, standing: Standing) -> Result<()> {
        let printed = Printed::new(event);
        self.push(EVENT, event.time.0, &events::row(log, event, standing, &printed))
    }

    fn document(&mut self, log: &Facts, document: &Document) -> Result<()> {
        self.push(DOCUMENT, document.time.0, &documents::row(log, document))
    }

    fn end(&mut self, log: &Facts, tail: &Tail) -> Result<()> {
        self.push(SESSION, log.created, &sessions::session_row(log, tail))?;
        for replaced in &tail.replaced {
            self.push(REPLACE, log.created, &sessions::replaced_row(log, replaced))?;
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<Vec<TableCount>> {
        // An empty table is a file without rows: engines want to know its columns.
        for (number, (table, count)) in TABLES.iter().zip(&self.counts).enumerate() {
            if count.files == 0 && !self.open.keys().any(|key| key.0 == number) {
                let day = table.is_partitioned.then_some(NO_DAY);
                self.open.insert((number, "".into(), day), Batch::new(table));
            }
        }
        let rest: Vec<Key> = self.open.keys().cloned().collect();
        for key in rest {
            self.flush(&key)?;
        }
        self.workers.finish()?;
        for (count, bytes) in self.counts.iter_mut().zip(&*self.bytes) {
            count.bytes = bytes.load(Ordering::Relaxed);
        }
        Ok(self.counts.to_vec())
    }
}

/// Days since the epoch, in UTC; [`NO_DAY`] outside of the years that have a name.
fn day(time: i64) -> i64 {
    let day = time.div_euclid(MILLIS_A_DAY);
    if date(day).is_some() { day } else { NO_DAY }
}

/// Name of a file of a partition.
fn name(key: &Key, part: u64) -> PathBuf {
    let (number, project, day) = key;
    let table = TABLES.get(*number).map_or("", |table| table.name);
    let mut path = PathBuf::from(table);
    if let Some(day) = day {
        path.push(format!("project={}", escape(project)));
        path.push(format!("day={}", date(*day).as_deref().unwrap_or(NO_VALUE)));
    }
    path.push(format!("part-{part}.parquet"));
    path
}

/// `YYYY-MM-DD`, for the years that engines know.
fn date(day: i64) -> Option<String> {
    let date = civil::date(1970, 1, 1).checked_add(Span::new().try_days(day).ok()?).ok()?;
    (1..=9999).contains(&date.year()).then(|| date.to_string())
}

/// The value of a partition as Hive spells it in a path: what is special in a path, a pattern or to Hive is a `%` and two
/// digits. Other alphabets stay, as Spark reads `%` only as one character.
fn escape(project: &str) -> String {
    if project.is_empty() {
        return NO_VALUE.to_owned();
    }
    let mut escaped = String::with_capacity(project.len());
    for letter in project.chars() {
        let is_plain = letter.is_ascii_alphanumeric() || "-_.~".contains(letter) || !letter.is_ascii();
        if is_plain {
            escaped.push(letter);
        } else {
            // Writing to a string cannot fail.
            let _ = write!(escaped, "%{:02X}", u32::from(letter));
        }
    }
    escaped
}

fn properties(table: &Table) -> WriterProperties {
    let metadata = [("dshlog.dataset", SCHEMA), ("dshlog.table", table.name)];
    let mut properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_max_row_group_row_count(Some(GROUP_ROWS))
        .set_max_row_group_bytes(Some(GROUP_BYTES))
        .set_statistics_truncate_length(Some(STATISTICS_BYTES))
        .set_created_by(concat!("dshlog ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_key_value_metadata(Some(
            metadata.map(|(key, value)| KeyValue::new(key.to_owned(), value.to_owned())).to_vec(),
        ));
    for column in table.columns.iter().filter(|column| column.is_long) {
        let path = ColumnPath::from(column.name);
        // A dictionary of long texts, and the least of them, help nobody.
        properties = properties
            .set_column_dictionary_enabled(path.clone(), false)
            .set_column_statistics_enabled(path, EnabledStatistics::None);
    }
    properties.build()
}

/// Rows of one partition, by columns.
struct Batch {
    columns: Vec<Builder>,
    bytes: usize,
}

impl Batch {
    fn new(table: &Table) -> Self {
        Batch { columns: table.columns.iter().map(|column| Builder::new(column.kind)).collect(), bytes: 0 }
    }

    /// Add a row. Gives the bytes that it takes.
    fn push(&mut self, cells: &[Cell<'_>]) -> usize {
        debug_assert_eq!(cells.len(), self.columns.len());
        for (column, cell) in self.columns.iter_mut().zip(cells) {
            column.push(cell);
        }
        let size = cells.iter().map(Cell::size).sum();
        self.bytes += size;
        size
    }

    fn finish(&mut self, table: &Table) -> Result<RecordBatch, ArrowError> {
        let fields: Vec<Field> = table.columns.iter().map(field).collect();
        let columns: Vec<ArrayRef> = self.columns.iter_mut().map(Builder::finish).collect();
        RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)
    }
}

fn field(column: &Column) -> Field {
    let kind = match column.kind {
        Kind::Text => DataType::LargeUtf8,
        Kind::Number => DataType::Int64,
        Kind::Time => DataType::Timestamp(TimeUnit::Millisecond, Some(UTC.into())),
        Kind::Flag => DataType::Boolean,
        Kind::Ranges => DataType::List(Arc::new(element())),
    };
    Field::new(column.name, kind, column.is_optional)
}

const UTC: &str = "UTC";

fn element() -> Field {
    Field::new("element", DataType::Struct(bounds()), false)
}

fn bounds() -> Fields {
    ["first", "last"].map(|name| Field::new(name, DataType::Int64, false)).to_vec().into()
}

/// A column while rows are added.
enum Builder {
    Text(LargeStringBuilder),
    Number(Int64Builder),
    Time(TimestampMillisecondBuilder),
    Flag(BooleanBuilder),
    Ranges(Box<ListBuilder<StructBuilder>>),
}

impl Builder {
    fn new(kind: Kind) -> Self {
        match kind {
            Kind::Text => Builder::Text(LargeStringBuilder::new()),
            Kind::Number => Builder::Number(Int64Builder::new()),
            Kind::Time => Builder::Time(TimestampMillisecondBuilder::new().with_timezone(UTC)),
            Kind::Flag => Builder::Flag(BooleanBuilder::new()),
            Kind::Ranges => {
                let values = StructBuilder::from_fields(bounds(), 0);
                Builder::Ranges(Box::new(ListBuilder::new(values).with_field(element())))
            }
        }
    }

    /// Add a value. A cell of another kind, which no table has, is null.
    fn push(&mut self, cell: &Cell<'_>) {
        match (self, cell) {
            (Builder::Text(column), Cell::Text(text)) => column.append_option(*text),
            (Builder::Number(column), Cell::Number(number)) => column.append_option(*number),
            (Builder::Time(column), Cell::Time(time)) => column.append_option(*time),
            (Builder::Flag(column), Cell::Flag(flag)) => column.append_value(*flag),
            (Builder::Ranges(column), Cell::Ranges(ranges)) => {
                for range in ranges.iter().flatten() {
                    let pair = column.values();
                    for (at, bound) in [*range.start(), *range.end()].into_iter().enumerate() {
                        if let Some(bounds) = pair.field_builder::<Int64Builder>(at) {
                            bounds.append_value(i64::try_from(bound).unwrap_or(i64::MAX));
                        }
                    }
                    pair.append(true);
                }
                column.append(ranges.is_some());
            }
            (column, _) => {
                debug_assert!(false, "a cell of another kind than its column");
                column.push_null();
            }
        }
    }

    fn push_null(&mut self) {
        match self {
            Builder::Text(column) => column.append_null(),
            Builder::Number(column) => column.append_null(),
            Builder::Time(column) => column.append_null(),
            Builder::Flag(column) => column.append_null(),
            Builder::Ranges(column) => column.append_null(),
        }
    }

    fn finish(&mut self) -> ArrayRef {
        match self {
            Builder::Text(column) => ArrayBuilder::finish(column),
            Builder::Number(column) => ArrayBuilder::finish(column),
            Builder::Time(column) => ArrayBuilder::finish(column),
            Builder::Flag(column) => ArrayBuilder::finish(column),
            Builder::Ranges(column) => ArrayBuilder::finish(&mut **column),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_partitions() {
        for (project, day, expected) in [
            ("--home-me--", 20_421, "events/project=--home-me--/day=2025-11-29/part-7.parquet"),
            ("_no-cwd", 0, "events/project=_no-cwd/day=1970-01-01/part-7.parquet"),
            ("a=b %/c", -1, "events/project=a%3Db%20%25%2Fc/day=1969-12-31/part-7.parquet"),
            ("über", -719_162, "events/project=über/day=0001-01-01/part-7.parquet"),
            (
                "",
                -719_163,
                "events/project=__HIVE_DEFAULT_PARTITION__/day=__HIVE_DEFAULT_PARTITION__/part-7.parquet",
            ),
            ("x", 2_932_896, "events/project=x/day=9999-12-31/part-7.parquet"),
            ("x", NO_DAY, "events/project=x/day=__HIVE_DEFAULT_PARTITION__/part-7.parquet"),
        ] {
            assert_eq!(name(&(EVENT, project.into(), Some(day)), 7), Path::new(expected));
        }
        assert_eq!(name(&(SESSION, "".into(), None), 0), Path::new("sessions/part-0.parquet"));
    }

    #[test]
    fn days_are_those_of_utc() {
        let (first, last) = (-719_162, 2_932_896);
        for (time, expected) in [
            (0, 0),
            (-1, -1),
            (86_399_999, 0),
            (86_400_000, 1),
            (first * MILLIS_A_DAY, first),
            (first * MILLIS_A_DAY - 1, NO_DAY),
            ((last + 1) * MILLIS_A_DAY - 1, last),
            ((last + 1) * MILLIS_A_DAY, NO_DAY),
            (i64::MIN, NO_DAY),
            (i64::MAX, NO_DAY),
        ] {
            assert_eq!(day(time), expected, "{time}");
        }
    }
}
