//! The list of transfers, which says what is done after a kill, too.

use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// The files that say what was made and what was dropped.
pub(crate) struct List {
    folder: PathBuf,
    writing: Mutex<()>,
}

impl List {
    pub(crate) fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), writing: Mutex::new(()) }
    }

    /// Returns the names of transfers that were made or dropped before.
    pub(crate) fn done(&self) -> BTreeSet<String> {
        let text = |file: &str| fs::read_to_string(self.folder.join(file)).unwrap_or_default();
        let made = text("LIST");
        let dropped = text("DROPPED");
        let names = made.lines().chain(dropped.lines()).map(|line| {
            let file = line.split('\t').next().unwrap_or_default();
            file.split('.').next().unwrap_or_default().to_owned()
        });
        names.collect()
    }

    /// Returns the lines of a file of the list.
    pub(crate) fn lines(&self, file: &str) -> Vec<String> {
        let text = fs::read_to_string(self.folder.join(file)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// Appends lines to a file of the list.
    pub(crate) fn append(&self, file: &str, lines: &str) {
        let _writing = self.writing.lock().unwrap();
        let path = self.folder.join(file);
        let mut open = OpenOptions::new().append(true).create(true).open(path).unwrap();
        open.write_all(lines.as_bytes()).unwrap();
    }
}
