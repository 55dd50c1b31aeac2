use super::*;
use crate::index::Facts as _;
use crate::session::Soundness;

fn row(log: u64, path: &str) -> LogRow {
    LogRow {
        log,
        path: path.into(),
        entry: None,
        stamp: (10, 20, u64::MAX),
        session: format!("session-{log}"),
        project: Some("/p".to_owned()),
        generation: 4,
        created: 1,
        last: i64::try_from(log).unwrap(),
        parent: None,
        is_seeded: false,
        is_subagent: false,
        preset: None,
        title: Some("title: a".to_owned()),
        soundness: Soundness::Partial("line 3: torn".to_owned()),
        mark: Some(vec![1, 2]),
        extractor: None,
        inherited: 0,
        skips_inherited: false,
        documents: 7,
    }
}

fn changes(logs: &[LogRow]) -> Changes {
    let replaced = logs.iter().map(|row| (row.log, vec![(1, 5), (2, 5)])).collect();
    Changes { put: logs.to_vec(), replaced, removed: Vec::new(), next_log: 10 }
}

#[test]
fn what_is_noted_comes_into_force_or_never_was() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("catalog.sqlite");
    let mut catalog = Catalog::write(&path, "rules").unwrap();
    let logs = [row(1, "/a/s"), row(2, "/a/t")];

    // The run was killed before the index was committed: number 0 stands.
    catalog.intend(1, &changes(&logs)).unwrap();
    drop(catalog);
    let mut catalog = Catalog::write(&path, "rules").unwrap();
    assert!(!catalog.settle(0).unwrap());
    assert_eq!((catalog.rows().unwrap().len(), catalog.state().unwrap().generation), (0, 0));

    // It was killed behind that.
    catalog.intend(1, &changes(&logs)).unwrap();
    drop(catalog);
    let mut catalog = Catalog::write(&path, "rules").unwrap();
    assert!(catalog.settle(1).unwrap());
    assert!(!catalog.settle(1).unwrap());
    let rows = catalog.rows().unwrap();
    assert_eq!(rows[&("/a/t".into(), None)], logs[1]);
    assert_eq!(
        catalog.state().unwrap(),
        State { generation: 1, updated: 0, next_log: 10, rules: "rules".to_owned(), root: None }
    );
    assert_eq!(catalog.latest(1).unwrap(), [logs[1].clone()]);
    assert_eq!(catalog.places_in(Path::new("/a")).unwrap().len(), 2);
    assert_eq!(catalog.places_in(Path::new("/a/s")).unwrap().len(), 0);
    assert_eq!(catalog.unsound().unwrap(), (2, 0));
    assert_eq!(catalog.replaced_by(1, dshlog_codec::Seq(2)).unwrap(), Some(dshlog_codec::Seq(5)));
    catalog.intend(2, &Changes { removed: vec![1], ..Changes::default() }).unwrap();
    catalog.settle(2).unwrap();
    assert_eq!(catalog.replaced_by(1, dshlog_codec::Seq(2)).unwrap(), None);
    assert_eq!(catalog.count().unwrap(), (1, 7));
}

/// Every kind of file in its place. Nothing of others is touched.
#[test]
fn whose_database_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let made = |name: &str, application: i32, version: i32, table: bool| {
        let database = Connection::open(at(name)).unwrap();
        database.pragma_update(None, "application_id", application).unwrap();
        database.pragma_update(None, "user_version", version).unwrap();
        if table {
            database.execute("CREATE TABLE t (a)", []).unwrap();
        }
    };
    made("foreign", 7, 1, true);
    made("plain", 0, 0, true);
    made("newer", APPLICATION, 99, true);
    made("older", APPLICATION, 0, true);
    std::fs::write(at("noise"), "no database at all, but long enough to be looked at").unwrap();
    std::fs::write(at("empty"), "").unwrap();
    for (name, expected) in [
        ("foreign", "of another application"),
        ("plain", "without a mark"),
        ("newer", "newer dshlog (index format 99"),
        ("older", "must be made anew"),
        ("noise", "damaged"),
    ] {
        let before = std::fs::read(at(name)).unwrap();
        for opened in [Catalog::read(&at(name)), Catalog::write(&at(name), "rules")] {
            let error = opened.unwrap_err().to_string();
            assert!(error.contains(expected), "{name}: {error}");
        }
        assert_eq!(std::fs::read(at(name)).unwrap(), before, "{name}");
    }
    assert!(matches!(Catalog::read(&at("none")), Err(Error::NoIndex(_))));
    assert!(matches!(Catalog::read(&at("empty")), Err(Error::NoIndex(_))));
    assert!(Catalog::write(&at("empty"), "rules").is_ok());
    assert!(Catalog::read(&at("empty")).is_ok());
    assert_eq!(
        std::fs::read_dir(folder.path())
            .unwrap()
            .filter(|e| e.as_ref().unwrap().file_name() == "none")
            .count(),
        0
    );
}

#[test]
#[cfg(unix)]
fn a_folder_that_cannot_be_written_to_is_read() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("catalog.sqlite");
    let mut catalog = Catalog::write(&path, "rules").unwrap();
    catalog.intend(1, &changes(&[row(1, "/a")])).unwrap();
    catalog.settle(1).unwrap();
    drop(catalog);
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o555)).unwrap();
    let rows = Catalog::read(&path).and_then(|catalog| catalog.rows()).map(|rows| rows.len());
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(rows.unwrap(), 1);
}
