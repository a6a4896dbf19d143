//! What lists show of each run, in one file: a list need not open every run.
//!
//! It is a copy, and the files of the runs are what counts: what is missing here is read from
//! them, and what is too much is passed over. So nothing is lost where it is torn, old or gone.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::ops::Range;
use std::path::PathBuf;

use memchr::{memchr, memchr_iter};
use serde::{Deserialize, Serialize};

use crate::{Row, Summary, private};

/// The shape of its lines. With another it is made anew.
const VERSION: &str = "windlass.runs-index/2";

/// What files are called that are not whole yet.
pub(crate) const PART: &str = ".part-";

/// Lines that are of no run any more, before it is written anew.
const STALE: usize = 1_000;

/// What a line says first: the file of a run, whose name changes with each change of it, and its
/// row in a table. All that lists know of the run follows, behind a tab, which JSON has in no word:
/// who wants a table need not read it.
#[derive(Debug, Serialize, Deserialize)]
struct Entry<F, R> {
    file: F,
    row: R,
}

/// The line of a run in this file.
pub(crate) fn line(file: &str, run: &Summary) -> Vec<u8> {
    // What they are made of has names and figures alone, which JSON can say.
    let entry = serde_json::to_vec(&Entry { file, row: Row::from(run) }).unwrap_or_default();
    let run = serde_json::to_vec(run).unwrap_or_default();
    [entry, run].join(&b'\t')
}

/// What a line begins with.
const FILE: &[u8] = b"{\"file\":\"";

/// The lines of the file. Each is read when its run is asked for.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    bytes: Vec<u8>,
    /// Where the name of a run's file is, and the whole line, in the order of the names.
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

    /// How many there are.
    pub(crate) const fn len(&self) -> usize {
        self.places.len()
    }

    /// What there is of the run in this file.
    pub(crate) fn of_file<'a>(&'a self, file: &str) -> impl Iterator<Item = Line<'a>> {
        let name = |place: &(Range<usize>, Range<usize>)| &self.bytes[place.0.clone()];
        let first = self.places.partition_point(|place| name(place) < file.as_bytes());
        let of_it = self.places[first..].iter();
        let of_it = of_it.take_while(move |place| name(place) == file.as_bytes());
        of_it.map(|(_, line)| Line(&self.bytes[line.clone()]))
    }
}

/// A line, which may be torn.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line<'a>(&'a [u8]);

impl<'a> Line<'a> {
    /// All of it.
    pub(crate) const fn bytes(self) -> &'a [u8] {
        self.0
    }

    /// What a table shows of its run.
    pub(crate) fn row(&self) -> Option<Row<'a>> {
        let entry = &self.0[..memchr(b'\t', self.0)?];
        serde_json::from_slice::<Entry<&str, Row<'_>>>(entry).ok().map(|entry| entry.row)
    }

    /// What lists know of it.
    pub(crate) fn run(&self) -> Option<Summary> {
        serde_json::from_slice(&self.0[memchr(b'\t', self.0)? + 1..]).ok()
    }
}

/// The file.
#[derive(Debug)]
pub(crate) struct Index {
    path: PathBuf,
}

impl Index {
    /// The file of this name.
    pub(crate) const fn at(path: PathBuf) -> Self {
        Self { path }
    }

    /// Its lines; nothing where it is not there, or of another version.
    pub(crate) fn read(&self) -> Option<Lines> {
        let bytes = fs::read(&self.path).ok()?;
        bytes.starts_with(VERSION.as_bytes()).then(|| Lines::of(bytes))
    }

    /// Adds lines. Each call is one write to the end of the file, so that what two programs
    /// write at once is not mixed up.
    pub(crate) fn add(&self, lines: impl IntoIterator<Item = impl AsRef<[u8]>>) -> io::Result<()> {
        // The line before may be torn: a kill, a full disk.
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

    /// Whether so many lines of it are of no run that it is worth to be written anew.
    pub(crate) const fn is_stale(lines: usize, runs: usize) -> bool {
        lines > runs + runs / 2 + STALE
    }

    /// Writes it anew with these lines alone.
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

/// Lines behind this beginning, each with its end.
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
    use crate::{Figure, FigureName, Filter, RunId, VerdictSeen};

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
            let verdict = |cause| VerdictSeen { of: None, cause, confidence: None };
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
