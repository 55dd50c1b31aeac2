//! Real logs: where they lie, and whether their headers lead there (`docs/spec/storage.md`, sections 2 to 5).
#![cfg(unix)]
#![expect(clippy::unwrap_used, clippy::print_stderr, reason = "a test may stop and speak")]

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use dshlog_codec::header::CwdRule;
use dshlog_codec::home::{GenerationFile, Home, Placement, SessionFolder, Walk, check_identity};
use dshlog_codec::{Encoding, Header};

fn corpora() -> Option<PathBuf> {
    let path = std::env::var_os("DSHLOG_SHARED_CORPORA")
        .map_or(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/corpora"), PathBuf::from);
    if !path.join("real").is_dir() {
        eprintln!("skipped: no corpora (DSHLOG_SHARED_CORPORA)");
        return None;
    }
    Some(path.canonicalize().unwrap())
}

/// The header by the shortest way: the reader proper is tested elsewhere.
fn header(file: &GenerationFile) -> Header {
    let bytes = fs::File::open(&file.path).unwrap();
    let plain: Box<dyn Read> = match file.encoding {
        Encoding::Raw => Box::new(bytes),
        Encoding::Zstd => Box::new(zstd::Decoder::new(bytes).unwrap().single_frame()),
    };
    let line = BufReader::new(plain).lines().next().unwrap().unwrap();
    Header::parse(&line, CwdRule::Posix).unwrap()
}

/// Every log of a home is a member whose header leads to it, and its folder says its id.
fn check_home(home: &Path) -> usize {
    let home = Home::at(home);
    let walk = Walk::new(&home.root).unwrap();
    for folder in &walk.sessions {
        assert!(folder.chosen().is_ok());
        for file in &folder.generations {
            let header = header(file);
            assert_eq!(header.version, file.generation);
            assert_eq!(folder.id.as_ref(), Some(&header.id));
            let Placement::Member(member) = Placement::of(&file.path, None) else {
                panic!("stray: {}", file.path.display())
            };
            assert_eq!(member.path(), file.path);
            member.check_folder().unwrap();
            check_identity(&member, &header).unwrap();
        }
    }
    assert!(walk.passed_over.is_empty(), "{:?}", walk.passed_over);
    walk.sessions.len()
}

#[test]
fn logs_of_real_writers_are_where_they_belong() {
    let Some(corpora) = corpora() else { return };
    let mut sessions = 0;
    for corpus in ["real", "wire"] {
        for case in fs::read_dir(corpora.join(corpus)).unwrap() {
            let case = case.unwrap().path();
            for home in ["home", "migrated"].map(|name| case.join(name)) {
                if home.join("sessions").is_dir() {
                    sessions += check_home(&home);
                }
            }
        }
    }
    assert!(sessions > 100, "{sessions} sessions");
}

/// The variants that are damaged by what lies where; the manifest of the corpus says what the official reader does.
#[test]
fn misplaced_logs() {
    let Some(corpora) = corpora() else { return };
    let only = |variant: &str| {
        let root = corpora.join("real/broken").join(variant).join("home/sessions");
        let walk = Walk::new(&root).unwrap();
        assert_eq!(walk.sessions.len(), 1, "{variant}");
        walk.sessions.into_iter().next().unwrap()
    };
    let newest = |folder: &SessionFolder| folder.chosen().map(|file| file.generation.0).map_err(|e| e.code());
    let identity = |folder: &SessionFolder| {
        let file = folder.chosen().unwrap();
        let Placement::Member(member) = Placement::of(&file.path, None) else { panic!("stray") };
        check_identity(&member, &header(file)).map_err(|e| e.code())
    };
    // "mixed-encodings"
    assert_eq!(newest(&only("z-two-encodings")), Err("mixed-encodings"));
    assert_eq!(newest(&only("z-two-encodings-older")), Err("mixed-encodings"));
    // "newer-version": the older generation is no way out
    assert_eq!(newest(&only("z-version-5-beside-v4")), Ok(5));
    assert_eq!(newest(&only("z-version-5-file")), Ok(5));
    // "identity-mismatch"
    assert_eq!(identity(&only("z-wrong-cwd")), Err("identity"));
    // The official reader finds another fault first, in the body.
    assert_eq!(identity(&only("z-wrong-id")), Err("identity"));
    // restored
    let beside = only("z-temp-beside");
    assert_eq!((newest(&beside), identity(&beside)), (Ok(4), Ok(())));
    assert_eq!((beside.temps.len(), beside.foreign.len()), (1, 3));
}

/// A listing of a thousand sessions is to take 50 ms at most. The bound here leaves room for a busy machine and a debug
/// build; the figure itself is printed.
#[test]
fn a_thousand_sessions() {
    let temp = tempfile::tempdir().unwrap();
    for n in 0..1000 {
        let folder = temp.path().join(format!("--p{}--/session-{n}", n % 20));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("session.v4.jsonl.zstd"), "x").unwrap();
        fs::write(folder.join("session.lock"), "").unwrap();
    }
    let time = || {
        let start = Instant::now();
        assert_eq!(Walk::new(temp.path()).unwrap().sessions.len(), 1000);
        start.elapsed()
    };
    let best = (0..5).map(|_| time()).min().unwrap();
    eprintln!("walked 1,000 sessions in {best:?}");
    assert!(best < Duration::from_millis(500), "{best:?}");
}
