//! What fuzzing starts from: small inputs out of the corpora.

use super::{BTreeMap, BTreeSet, Corpora, Encoding, Entry, Generation, container_byte};

/// A named input.
#[derive(Clone, Debug)]
pub struct Seed {
    /// File name.
    pub name: String,
    /// The input.
    pub data: Vec<u8>,
}

/// The seeds of the target `name`.
pub fn seeds(name: &str) -> Vec<Seed> {
    let corpora = Corpora::own();
    match name {
        "frames" => frames(&corpora),
        "rows" => rows(&corpora),
        _ => events(&corpora),
    }
}

/// Small logs: of each generation and encoding the smallest whole ones, and every damage that is small.
fn frames(corpora: &Corpora) -> Vec<Seed> {
    let mut taken: BTreeMap<_, u64> = BTreeMap::new();
    let mut entries: Vec<_> = corpora.entries.iter().filter(|e| size(e) < 12_500).collect();
    entries.sort_by_key(|e| (size(e), e.log.clone()));
    let mut seeds = Vec::new();
    for entry in entries {
        let broken = entry.case.starts_with("broken");
        let count = taken.entry((entry.generation, entry.encoding.name(), broken)).or_default();
        *count += 1;
        let is_named = seeds.last().is_some_and(|seed: &Seed| seed.name == entry.case);
        let most = if size(entry) < 5_000 { 5 } else { 1 };
        if is_named || *count > most {
            continue;
        }
        let mut data = vec![container_byte(entry.generation, entry.encoding)];
        data.extend(entry.bytes().unwrap_or_default());
        seeds.push(Seed { name: entry.case.clone(), data });
    }
    seeds
}

/// The shortest row of each type in each generation.
fn rows(corpora: &Corpora) -> Vec<Seed> {
    let mut shortest: BTreeMap<(Generation, String), String> = BTreeMap::new();
    for entry in corpora.entries.iter().filter(|e| !e.case.starts_with("broken")) {
        for row in plain(entry).lines().skip(1) {
            let kind = row.split('"').nth(3).unwrap_or_default().replace('/', "-");
            let kept = shortest.entry((entry.generation, kind)).or_insert_with(|| row.to_owned());
            if row.len() < kept.len() {
                row.clone_into(kept);
            }
        }
    }
    let short = shortest.into_iter().filter(|(_, row)| row.len() < 3_000);
    short
        .map(|((generation, kind), row)| Seed {
            name: format!("{generation}-{kind}"),
            data: row.into_bytes(),
        })
        .collect()
}

/// V4 logs without the long rows that the others do not refer to. One for each set of event types.
fn events(corpora: &Corpora) -> Vec<Seed> {
    let mut seen = BTreeSet::new();
    let mut seeds = Vec::new();
    let mut size = 0;
    let mut entries: Vec<_> =
        corpora.entries.iter().filter(|e| e.generation == Generation::CURRENT).collect();
    entries.retain(|e| e.restored().is_some() && !e.case.starts_with("broken"));
    for entry in entries {
        // Tools and prompts fill the rows and teach a fuzzer nothing.
        let text: String = plain(entry).lines().map(|line| shortened(line) + "\n").collect();
        let kinds: BTreeSet<_> =
            text.lines().filter_map(|l| l.split('"').nth(3)).map(str::to_owned).collect();
        let is_named = seeds.last().is_some_and(|seed: &Seed| seed.name == entry.case);
        let is_new = !is_named && kinds.iter().any(|kind| !seen.contains(kind));
        if is_new && text.len() < 14_000 && size + text.len() < 100_000 {
            size += text.len();
            seen.extend(kinds);
            seeds.push(Seed { name: entry.case.clone(), data: text.into_bytes() });
        }
    }
    seeds
}

/// A row without its tool list, and with the long text of the system prompt cut.
fn shortened(line: &str) -> String {
    let mut line = line.to_owned();
    if line.starts_with("{\"type\":\"request/header\"")
        && let (Some(start), Some(end)) = (line.find(",\"tools\":["), line.rfind("]},\"reason\""))
    {
        line.replace_range(start..=end, "");
    }
    if line.starts_with("{\"type\":\"system/message\"")
        && let (Some(start), Some(end)) = (line.find("\"text\":\""), line.find("\"}],\"source\""))
    {
        line.replace_range(start + 8..end, "You are an agent.");
    }
    line
}

/// The plain text of a log, as far as it can be had.
pub(super) fn plain(entry: &Entry) -> String {
    let bytes = entry.bytes().unwrap_or_default();
    let bytes = match entry.encoding {
        Encoding::Raw => bytes,
        Encoding::Zstd => {
            let mut plain = Vec::new();
            // A torn or damaged frame ends the text.
            let _ = zstd::stream::copy_decode(&*bytes, &mut plain);
            plain
        }
    };
    String::from_utf8_lossy(&bytes).into_owned()
}

fn size(entry: &Entry) -> u64 {
    std::fs::metadata(&entry.log).map_or(0, |m| m.len())
}
