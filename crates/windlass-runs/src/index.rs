//! Index of a store: the summaries of all runs in one file, so that a list need not open every run.
//!
//! The index is a copy, and the files of the runs are authoritative: missing entries are read from
//! them, and superfluous ones are skipped. A damaged, outdated or missing index loses nothing.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::ops::Range;
use std::path::PathBuf;

use memchr::{memchr, memchr_iter};
use serde::{Deserialize, Serialize};

use crate::{Row, Summary, private};

/// Format of the index. An index of another format is rebuilt.
const VERSION: &str = "windlass.runs-index/2";

/// Prefix of incomplete files.
pub(crate) const PART: &str = ".part-";

/// Number of stale lines before the index is rewritten.
const STALE: usize = 1_000;

/// First part of a line: the file of a run, whose name changes with each change of the run, and its
/// row in a table. The full summary follows after a tab, which JSON has in no string: a table need
/// not read it.
#[derive(Debug, Serialize, Deserialize)]
struct Entry<F, R> {
    file: F,
    row: R,
}

/// Returns the index line of a run in this file.
pub(crate) fn line(file: &str, run: &Summary) -> Vec<u8> {
    // Both consist of names and numbers, which JSON can always represent.
    let entry = serde_json::to_vec(&Entry { file, row: Row::from(run) }).unwrap_or_default();
    let run = serde_json::to_vec(run).unwrap_or_default();
    [entry, run].join(&b'\t')
}

/// Start of each line.
const FILE: &[u8] = b"{\"file\":\"";

/// Lines of the index. Each is parsed when its run is requested.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    bytes: Vec<u8>,
    /// Range of the file name and of the whole line, sorted by file name.
    places: Vec<(Range<usize>, Range<usize>)>,
}

impl Lines {
    fn of(bytes: Vec<u8>) -> Self {
        let mut places = Vec::new();
        let mut start = 0;
        for end in memchr_iter(b'\n', &bytes).chain([bytes.len()]) {
            let line = &bytes[start..end];
            let name = line.strip_prefix(FILE).and_then(|rest| memchr(b'"', rest));
            if let Some(length) = name {
                let from = start + FILE.len();
                places.push((from..from + length, start..end));
            }
            start = end + 1;
        }
        places.sort_by(|one, other| bytes[one.0.clone()].cmp(&bytes[other.0.clone()]));
        Self { bytes, places }
    }

    /// Returns the number of lines.
    pub(crate) const fn len(&self) -> usize {
        self.places.len()
    }

    /// Returns the lines of the run in this file.
    pub(crate) fn of_file<'a>(&'a self, file: &str) -> impl Iterator<Item = Line<'a>> {
        let name = |place: &(Range<usize>, Range<usize>)| &self.bytes[place.0.clone()];
        let first = self.places.partition_point(|place| name(place) < file.as_bytes());
        let of_it = self.places[first..].iter();
        let of_it = of_it.take_while(move |place| name(place) == file.as_bytes());
        of_it.map(|(_, line)| Line(&self.bytes[line.clone()]))
    }
}

/// Line of the index, which may be damaged.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line<'a>(&'a [u8]);

impl<'a> Line<'a> {
    /// Returns the whole line.
    pub(crate) const fn bytes(self) -> &'a [u8] {
        self.0
    }

    /// Parses the table row of the run.
    pub(crate) fn row(&self) -> Option<Row<'a>> {
        let entry = &self.0[..memchr(b'\t', self.0)?];
        serde_json::from_slice::<Entry<&str, Row<'_>>>(entry).ok().map(|entry| entry.row)
    }

    /// Parses the summary of the run.
    pub(crate) fn run(&self) -> Option<Summary> {
        serde_json::from_slice(&self.0[memchr(b'\t', self.0)? + 1..]).ok()
    }
}

/// Index file.
#[derive(Debug)]
pub(crate) struct Index {
    path: PathBuf,
}

impl Index {
    /// Returns the index at this path.
    pub(crate) const fn at(path: PathBuf) -> Self {
        Self { path }
    }

    /// Reads the lines; returns `None` if the file is missing or has another format.
    pub(crate) fn read(&self) -> Option<Lines> {
        let bytes = fs::read(&self.path).ok()?;
        bytes.starts_with(VERSION.as_bytes()).then(|| Lines::of(bytes))
    }

    /// Appends lines. Each call is a single write to the end of the file, so that concurrent
    /// writers do not mix.
    pub(crate) fn add(&self, lines: impl IntoIterator<Item = impl AsRef<[u8]>>) -> io::Result<()> {
        // The previous line may be incomplete after a kill or a full disk.
        let mut bytes = joined(b"\n", lines);
        if bytes.len() == 1 {
            return Ok(());
        }
        match OpenOptions::new().append(true).open(&self.path) {
            Ok(mut file) => file.write_all(&bytes),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                bytes.splice(0..0, VERSION.bytes());
                self.create()?.write_all(&bytes)
            }
            Err(error) => Err(error),
        }
    }

    /// Returns whether so many lines are stale that the index should be rewritten.
    pub(crate) const fn is_stale(lines: usize, runs: usize) -> bool {
        lines > runs + runs / 2 + STALE
    }

    /// Replaces the index by these lines.
    pub(crate) fn replace(
        &self,
        lines: impl IntoIterator<Item = impl AsRef<[u8]>>,
    ) -> io::Result<()> {
        let folder = self.path.parent().unwrap_or(&self.path);
        let mut file = tempfile::Builder::new().prefix(PART).tempfile_in(folder)?;
        let bytes = joined(&[VERSION.as_bytes(), b"\n"].concat(), lines);
        file.write_all(&bytes)?;
        file.persist(&self.path).map(drop).map_err(|error| error.error)
    }

    fn create(&self) -> io::Result<File> {
        private::file(OpenOptions::new().create(true).append(true)).open(&self.path)
    }
}

/// Joins lines after a header, each with its line end.
fn joined(beginning: &[u8], lines: impl IntoIterator<Item = impl AsRef<[u8]>>) -> Vec<u8> {
    let mut bytes = beginning.to_vec();
    for line in lines {
        bytes.extend_from_slice(line.as_ref());
        bytes.push(b'\n');
    }
    bytes
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use windlass_base::Timestamp;

    use super::*;
    use crate::{Figure, FigureName, Filter, RunId, VerdictSummary};

    fn words() -> impl Strategy<Value = Vec<String>> {
        prop::collection::vec("[ab\"\\\\\n\u{e9}\u{130}]{0,4}", 0..3)
    }

    proptest! {
        #[test]
        fn a_line_has_the_row_of_its_run_and_a_filter_says_the_same_of_both(
            (command, target) in ("[ab \"\\\\]{0,3}", prop::option::of("[ab\"\\\\\n\u{e9}\u{130}]{0,4}")),
            (peers, tags, second, exit_code) in (words(), words(), 0_i64..3, 0_u8..2),
            (wanted, part, tag) in ("[ab]{1,2}", "[AB\"\u{c9}i]{1,2}", "[ab\"]{0,2}"),
            (has, moment) in (0_u8..32, 0_i64..3),
            figures in prop::collection::vec((0..3_usize, any::<i32>()), 0..4),
            causes in prop::collection::vec("[ab\"]{1,2}(/[ab]{1,2})?", 0..4),
        ) {
            let figure = |(name, value): (usize, i32)| Figure {
                name: FigureName::ALL[name],
                of: None,
                value: value.into(),
            };
            let verdict = |cause| VerdictSummary { of: None, cause, confidence: None };
            let time = |second: i64| Timestamp::from_nanos(second * 1_000_000_000);
            let run = Summary {
                id: RunId::from_bytes([7; 10]),
                command, target, peers, tags, exit_code,
                arguments: Vec::new(),
                host: String::new(),
                start_time: time(second),
                end_time: time(second),
                notes: 0,
                figures: figures.into_iter().map(figure).collect(),
                verdicts: causes.into_iter().map(verdict).collect(),
                captures: Vec::new(),
            };
            let asked = |bit: u8| has & (1 << bit) != 0;
            let filter = Filter {
                command: asked(0).then_some(wanted),
                target: asked(1).then_some(part),
                tags: if asked(2) { vec![tag] } else { Vec::new() },
                since: asked(3).then(|| time(moment)),
                until: (!asked(3)).then(|| time(moment)),
                failed: asked(4),
            };
            let bytes = line("2026-11/x", &run);
            let lines = Lines::of(bytes);
            let found: Vec<Line<'_>> = lines.of_file("2026-11/x").collect();
            prop_assert_eq!(found.len(), 1);
            let row = found[0].row().unwrap();
            prop_assert_eq!(filter.passes_row(&row), filter.passes(&run));
            prop_assert_eq!(&row, &Row::from(&run));
            prop_assert_eq!(found[0].run(), Some(run));
        }
    }
}
