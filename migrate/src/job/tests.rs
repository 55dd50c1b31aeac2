//! What is left of a session when any step of its publication goes wrong.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::io;

use dshlog_codec::Encoding;
use dshlog_codec::home::{Temp, parse_name};

use super::*;
use crate::vfs::{Call, Fault, FaultFs, MemFs, NewFile, OsFs};

const FOLDER: &str = "/home/sessions/--tmp-ws--/session-1";

/// A log of V3 in both encodings, real but for one large event that makes more than one write of the new log.
fn logs() -> [(Member, Vec<u8>); 2] {
    let corpora = concat!(env!("CARGO_MANIFEST_DIR"), "/../corpora/v3-retry-500/home/sessions");
    let file = find(Path::new(corpora));
    let log = LogFile::open(&file).unwrap();
    let mut lines = log.lines(&Limits::default()).unwrap();
    let mut text = Vec::new();
    let mut count = 0;
    while let Some((line, _)) = lines.next_line().unwrap() {
        text.extend_from_slice(line);
        text.push(b'\n');
        count += 1;
    }
    let hex = |n: u64| format!("{:x}", n.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let noise = (0..10_000).map(hex).collect::<Vec<_>>().concat();
    let seq = count - 1;
    text.extend_from_slice(
        format!(r#"{{"type":"x/noise","seq":{seq},"time":1,"data":{{"text":"{noise}"}},"ignorable":true}}"#)
            .as_bytes(),
    );
    text.push(b'\n');
    let header = text.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    let frame = |text: &[u8]| zstd::encode_all(text, 3).unwrap();
    let zstd = [frame(&text[..header]), frame(&text[header..])].concat();
    [(member(Encoding::Raw), text), (member(Encoding::Zstd), zstd)]
}

fn find(below: &Path) -> PathBuf {
    let mut entries: Vec<_> = std::fs::read_dir(below).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    match entries.iter().find(|path| path.file_name().and_then(parse_name).is_some()) {
        Some(log) => log.clone(),
        None => find(&entries[0]),
    }
}

fn member(encoding: Encoding) -> Member {
    let folder = Path::new(FOLDER);
    Member {
        root: "/home/sessions".into(),
        project: folder.parent().unwrap().file_name().unwrap().to_owned(),
        folder: folder.file_name().unwrap().to_owned(),
        generation: Generation(3),
        encoding,
    }
}

fn target(member: &Member) -> Target {
    Target { folder: member.folder_path(), generation: Generation::CURRENT, encoding: member.encoding }
}

/// One publication, from opening the source on.
fn carry_in(vfs: &dyn Vfs, member: &Member) -> Result<Published, Problem> {
    let source = Source::open(vfs, member)?;
    let evidence = Evidence::default();
    let limits = Limits::default();
    carry(vfs, &source, &target(member), &evidence, &limits, &mut |_| {}, || Ok(()))
        .map(|(_, published)| published)
}

/// The file that an undisturbed publication makes.
fn undisturbed(member: &Member, log: &[u8]) -> Vec<u8> {
    let fs = MemFs::default();
    fs.put(&member.path(), log);
    let published = carry_in(&fs, member).unwrap();
    let bytes = fs.seen()[&target(member).path()].clone();
    assert_eq!(published, Published::New { len: bytes.len() as u64 });
    assert_eq!(fs.seen().len(), 2, "the temporary name is gone");
    bytes
}

/// What may be there: the source as it was, the target whole or not at all, temporary names. Gives the temporary names.
#[track_caller]
fn assert_old_or_new(
    files: &BTreeMap<PathBuf, Vec<u8>>,
    member: &Member,
    log: &[u8],
    new: &[u8],
    what: &str,
) -> BTreeSet<OsString> {
    let mut temps = BTreeSet::new();
    assert!(files.contains_key(&member.path()), "{what}: the old log is gone");
    for (path, bytes) in files {
        let name = path.file_name().unwrap();
        if *path == member.path() {
            assert!(bytes == log, "{what}: the old log was changed");
        } else if *path == target(member).path() {
            assert!(bytes == new, "{what}: a log that is not whole was published");
        } else {
            assert!(matches!(Temp::parse(name), Some(Temp::Migration(_))), "{what}: {name:?} is there");
            temps.insert(name.to_owned());
        }
    }
    temps
}

/// A file system that holds these files, durably.
fn image(files: BTreeMap<PathBuf, Vec<u8>>) -> MemFs {
    let fs = MemFs::default();
    for (path, bytes) in files {
        fs.put(&path, &bytes);
    }
    fs
}

/// The next run: it publishes, unless it sees that this is done.
fn go_on(fs: &MemFs, member: &Member, log: &[u8], new: &[u8], what: &str) {
    if !fs.seen().contains_key(&target(member).path()) {
        let next = carry_in(fs, member);
        assert!(matches!(next, Ok(Published::New { .. })), "{what}: the next run gives {next:?}");
    }
    assert_old_or_new(&fs.after_crash(), member, log, new, what);
    assert!(fs.after_crash().contains_key(&target(member).path()), "{what}: the next run published nothing");
}

#[test]
fn whatever_goes_wrong_the_log_is_old_or_new() {
    let mut met = BTreeSet::new();
    for (member, log) in logs() {
        let new = undisturbed(&member, &log);
        let counting = FaultFs::counting(image(BTreeMap::from([(member.path(), log.clone())])));
        carry_in(&counting, &member).unwrap();
        let calls = counting.calls();
        for n in 0..calls.len() {
            for fault in Fault::ALL {
                let fs = image(BTreeMap::from([(member.path(), log.clone())]));
                let faulty = FaultFs::new(fs.clone(), n, fault);
                let result = carry_in(&faulty, &member);
                let Some(call) = faulty.struck() else { continue };
                met.insert(call);
                let what = format!("{:?} {fault:?} at call {n}, {call:?}", member.encoding);
                let temps = assert_old_or_new(&fs.seen(), &member, &log, &new, &what);
                let left = assert_old_or_new(&fs.after_crash(), &member, &log, &new, &what);
                let is_published =
                    |files: &BTreeMap<PathBuf, Vec<u8>>| files.contains_key(&target(&member).path());
                if result.is_ok() {
                    assert!(is_published(&fs.seen()), "{what}: nothing published");
                    assert!(is_published(&fs.after_crash()), "{what}: a loss of power takes the log away");
                }
                match fault {
                    Fault::Short => assert!(result.is_ok(), "{what}: {result:?}"),
                    // Removing the temporary name is the one thing that may fail in silence.
                    Fault::Fails | Fault::FailsBehind | Fault::Full if call != Call::Remove => {
                        assert!(result.is_err(), "{what}: no error");
                        let unknown = call == Call::CreateNew && fault == Fault::FailsBehind;
                        assert!(temps.is_empty() || unknown, "{what}: {temps:?} left behind");
                    }
                    Fault::Killed | Fault::KilledBehind if call != Call::Remove => {
                        assert!(result.is_err(), "{what}: no error");
                        assert!(temps.len() <= 1, "{what}: {temps:?}");
                    }
                    _ => assert!(result.is_ok(), "{what}: {result:?}"),
                }
                assert!(left.len() <= 1, "{what}: {left:?}");
                for files in [fs.seen(), fs.after_crash()] {
                    go_on(&image(files), &member, &log, &new, &what);
                }
            }
        }
    }
    // Every step of the seam that a publication without a rival takes.
    let steps = [
        Call::CreateNew,
        Call::Open,
        Call::Identity,
        Call::Link,
        Call::SyncFolder,
        Call::Remove,
        Call::Write,
        Call::Sync,
        Call::ReadAt,
    ];
    assert!(steps.iter().all(|step| met.contains(step)), "{met:?}");
}

#[test]
fn the_real_file_system_does_as_the_model() {
    let [(_, _), (member, log)] = logs();
    let new = undisturbed(&member, &log);
    let counting = FaultFs::counting(image(BTreeMap::from([(member.path(), log.clone())])));
    carry_in(&counting, &member).unwrap();
    let files = |folder: &Path| -> BTreeMap<PathBuf, Vec<u8>> {
        let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        entries.map(|path| (path.clone(), std::fs::read(path).unwrap())).collect()
    };
    for n in 0..counting.calls().len() {
        for fault in Fault::ALL {
            let root = tempfile::tempdir().unwrap();
            let member = Member { root: root.path().to_owned(), ..member.clone() };
            std::fs::create_dir_all(member.folder_path()).unwrap();
            std::fs::write(member.path(), &log).unwrap();
            let _ = carry_in(&FaultFs::new(OsFs, n, fault), &member);
            let what = format!("{fault:?} at call {n}");
            assert_old_or_new(&files(&member.folder_path()), &member, &log, &new, &what);
            match carry_in(&OsFs, &member) {
                Ok(Published::New { .. } | Published::Equal { .. }) => {}
                other => panic!("{what}: the next run gives {other:?}"),
            }
            assert_old_or_new(&files(&member.folder_path()), &member, &log, &new, &what);
        }
    }
}

/// What a rival that publishes `rival` at any moment makes of our publication.
#[track_caller]
fn check_rival(rival: impl Fn(&[u8]) -> Vec<u8>, check: impl Fn(&Result<Published, Problem>) -> bool) {
    for (member, log) in logs() {
        let new = undisturbed(&member, &log);
        let theirs = rival(&new);
        let path = target(&member).path();
        let counting = FaultFs::counting(image(BTreeMap::from([(member.path(), log.clone())])));
        carry_in(&counting, &member).unwrap();
        let calls = counting.calls();
        let link = calls.iter().position(|call| *call == Call::Link).unwrap();
        for n in 0..=link {
            let fs = image(BTreeMap::from([(member.path(), log.clone())]));
            let (other, bytes, taken) = (fs.clone(), theirs.clone(), path.clone());
            let result = carry_in(&FaultFs::rival(fs.clone(), n, move || other.put(&taken, &bytes)), &member);
            assert!(check(&result), "{:?} at call {n}: {result:?}", member.encoding);
            assert!(fs.seen()[&path] == theirs, "the rival's log was touched");
            assert!(fs.seen()[&member.path()] == log, "the old log was touched");
            assert_eq!(fs.seen().len(), 2, "a temporary name is left");
        }
    }
}

#[test]
fn a_rival_with_an_equal_log_wins_and_all_is_well() {
    check_rival(<[u8]>::to_vec, |result| matches!(result, Ok(Published::Equal { .. })));
}

#[test]
fn a_rival_that_went_on_is_well_too() {
    let longer = |new: &[u8]| {
        let row = b"{\"type\":\"x/more\",\"seq\":0,\"time\":1,\"data\":{},\"ignorable\":true}\n";
        let is_zstd = new.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]);
        let more = if is_zstd { zstd::encode_all(&row[..], 3).unwrap() } else { row.to_vec() };
        [new, &more].concat()
    };
    check_rival(longer, |result| matches!(result, Ok(Published::Equal { .. })));
}

#[test]
fn another_compressor_is_no_conflict() {
    let again = |new: &[u8]| {
        if !new.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
            return new.to_vec();
        }
        let text = zstd::decode_all(new).unwrap();
        let header = text.iter().position(|byte| *byte == b'\n').unwrap() + 1;
        [&text[..header], &text[header..]].map(|part| zstd::encode_all(part, 12).unwrap()).concat()
    };
    check_rival(again, |result| matches!(result, Ok(Published::Equal { .. })));
}

#[test]
fn a_rival_with_another_log_is_a_conflict() {
    for other in [
        |new: &[u8]| new[..new.len() - 1].to_vec(),
        |_: &[u8]| Vec::new(),
        |new: &[u8]| {
            let mut bytes = new.to_vec();
            let middle = bytes.len() / 2;
            bytes[middle] ^= 1;
            bytes
        },
    ] {
        check_rival(other, |result| matches!(result, Err(Problem::Conflict { .. })));
    }
}

#[test]
fn a_source_that_changes_is_not_published() {
    for (member, log) in logs() {
        let counting = FaultFs::counting(image(BTreeMap::from([(member.path(), log.clone())])));
        carry_in(&counting, &member).unwrap();
        let calls = counting.calls();
        let looks: Vec<usize> = (0..calls.len()).filter(|n| calls[*n] == Call::Identity).collect();
        let last = *looks.last().unwrap();
        // From the first look on, up to the last one.
        for (n, call) in calls.iter().enumerate().take(last + 1).skip(looks[0] + 1) {
            let fs = image(BTreeMap::from([(member.path(), log.clone())]));
            let (other, path, longer) = (fs.clone(), member.path(), [&log[..], b"{}\n"].concat());
            let bytes = longer.clone();
            let result = carry_in(&FaultFs::rival(fs.clone(), n, move || other.put(&path, &bytes)), &member);
            // A source that is exchanged in front of its opening is read as the other one, and found out all the same.
            assert!(
                matches!(&result, Err(Problem::Changed { .. } | Problem::Log(_))),
                "call {n} of {last}, {call:?}: {result:?}"
            );
            assert_eq!(fs.seen(), BTreeMap::from([(member.path(), longer)]));
        }
    }
}

/// A file system without hard links.
struct NoLinks {
    inner: MemFs,
    answer: io::ErrorKind,
    renames: bool,
}

impl Vfs for NoLinks {
    fn create_new(&self, path: &Path) -> io::Result<Box<dyn NewFile>> {
        self.inner.create_new(path)
    }
    fn open(&self, path: &Path) -> io::Result<Arc<dyn ReadAt>> {
        self.inner.open(path)
    }
    fn identity(&self, path: &Path) -> io::Result<Identity> {
        self.inner.identity(path)
    }
    fn entry(&self, path: &Path) -> io::Result<Identity> {
        self.inner.entry(path)
    }
    fn names(&self, folder: &Path) -> io::Result<Vec<OsString>> {
        self.inner.names(folder)
    }
    fn link(&self, _: &Path, _: &Path) -> io::Result<()> {
        Err(self.answer.into())
    }
    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        if self.renames { self.inner.rename_new(from, to) } else { Err(io::ErrorKind::Unsupported.into()) }
    }
    fn make_folder(&self, path: &Path) -> io::Result<()> {
        self.inner.make_folder(path)
    }
    fn sync_folder(&self, folder: &Path) -> io::Result<()> {
        self.inner.sync_folder(folder)
    }
    fn remove(&self, path: &Path) -> io::Result<()> {
        self.inner.remove(path)
    }
}

#[test]
fn without_hard_links_a_rename_that_overwrites_nothing_will_do() {
    for (member, log) in logs() {
        let new = undisturbed(&member, &log);
        for answer in [io::ErrorKind::PermissionDenied, io::ErrorKind::Unsupported] {
            let inner = image(BTreeMap::from([(member.path(), log.clone())]));
            let fs = NoLinks { inner: inner.clone(), answer, renames: true };
            assert_eq!(carry_in(&fs, &member).unwrap(), Published::New { len: new.len() as u64 });
            let files = BTreeMap::from([(member.path(), log.clone()), (target(&member).path(), new.clone())]);
            assert!(inner.seen() == files && inner.after_crash() == files);

            // Taken is taken.
            inner.put(&target(&member).path(), b"other");
            assert!(matches!(carry_in(&fs, &member), Err(Problem::Conflict { .. })));

            let inner = image(BTreeMap::from([(member.path(), log.clone())]));
            let fs = NoLinks { inner: inner.clone(), answer, renames: false };
            assert!(matches!(carry_in(&fs, &member), Err(Problem::NotExclusive { .. })));
            assert_eq!(inner.seen(), BTreeMap::from([(member.path(), log.clone())]));
        }
    }
}

#[test]
fn a_target_that_is_no_file_is_a_conflict() {
    let [(_, _), (member, log)] = logs();
    let root = tempfile::tempdir().unwrap();
    let member = Member { root: root.path().to_owned(), ..member };
    std::fs::create_dir_all(member.folder_path()).unwrap();
    std::fs::write(member.path(), &log).unwrap();
    std::fs::create_dir(target(&member).path()).unwrap();
    let result = carry_in(&OsFs, &member);
    assert!(matches!(result, Err(Problem::Conflict { what: "no regular file", .. })), "{result:?}");
    let names: BTreeSet<_> = OsFs.names(&member.folder_path()).unwrap().into_iter().collect();
    let path = target(&member).path();
    assert_eq!(
        names,
        BTreeSet::from([
            OsStr::new("session.v3.jsonl.zstd").to_owned(),
            path.file_name().unwrap().to_owned()
        ])
    );
}

#[test]
fn what_javascript_changes_is_counted() {
    let [(member, mut log), _] = logs();
    let seq = log.split(|byte| *byte == b'\n').count() as u64 - 2;
    let row = format!(
        "{{\"type\":\"x/odd\",\"seq\":{seq},\"time\":1,\"data\":{{\"a\":[1e999,-0,1.0],\"b\":1,\"b\":2}},\"ignorable\":true}}\n"
    );
    log.extend_from_slice(row.as_bytes());
    let fs = image(BTreeMap::from([(member.path(), log)]));
    let source = Source::open(&fs, &member).unwrap();
    let limits = Limits::default();
    let (done, _) =
        carry(&fs, &source, &target(&member), &Evidence::default(), &limits, &mut |_| {}, || Ok(())).unwrap();
    let found: Vec<_> = done.deviations.iter().map(|d| (d.code, d.count, d.first.seq)).collect();
    let seq = Some(dshlog_codec::Seq(seq));
    assert_eq!(found, [("number-changed", 2, seq), ("member-dropped", 1, seq)]);
    let new = fs.seen().remove(&target(&member).path()).unwrap();
    let new = String::from_utf8(new).unwrap();
    assert!(new.contains(r#""data":{"a":[null,0,1],"b":2}"#), "not printed as JavaScript does");
}
