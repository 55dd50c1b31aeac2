//! Folders for the tests beside this file.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// A temporary folder with files in it.
pub(super) struct Tree(TempDir);

impl Tree {
    /// Files of one byte by their paths, parents made; a path that ends in `/` is an empty folder.
    pub(super) fn new(paths: &[&str]) -> Tree {
        let tree = Tree(tempfile::tempdir().unwrap());
        for path in paths {
            tree.add(path);
        }
        tree
    }

    pub(super) fn add(&self, path: &str) {
        let full = self.at(path);
        if path.ends_with('/') {
            fs::create_dir_all(full).unwrap();
        } else {
            fs::create_dir_all(full.parent().unwrap()).unwrap();
            fs::write(full, "x").unwrap();
        }
    }

    pub(super) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(super) fn at(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }
}
