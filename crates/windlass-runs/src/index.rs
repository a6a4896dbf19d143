//! What lists show of each run, in one file: a list need not open every run.
//!
//! It is a copy, and the files of the runs are what counts: what is missing here is read from
//! them, and what is too much is passed over. So nothing is lost where it is torn, old or gone.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::ops::Range;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

use memchr::{memchr, memchr_iter};
use serde::{Deserialize, Serialize};

use crate::Summary;

/// The shape of its lines. With another it is made anew.
const VERSION: &str = "windlass.runs-index/1";

/// What files are called that are not whole yet.
pub(crate) const PART: &str = ".part-";

/// Lines that are of no run any more, before it is written anew.
const STALE: usize = 1_000;

/// A line: the file of a run, whose name changes with each change of it, and what a list shows.
#[derive(Debug, Serialize, Deserialize)]
struct Line<F, S> {
    file: F,
    run: S,
}

/// The line of a run in this file.
pub(crate) fn line(file: &str, run: &Summary) -> Vec<u8> {
    // What it is made of has names and figures alone, which JSON can say.
    serde_json::to_vec(&Line { file, run }).unwrap_or_default()
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

    /// What a list shows of the run in this file, where a line tells it, and the line.
    pub(crate) fn run(&self, file: &str) -> Option<(Summary, &[u8])> {
        let name = |place: &(Range<usize>, Range<usize>)| &self.bytes[place.0.clone()];
        let first = self.places.partition_point(|place| name(place) < file.as_bytes());
        let of_it = self.places[first..].iter().take_while(|place| name(place) == file.as_bytes());
        // One may be torn, and another whole.
        let mut read = of_it.filter_map(|(_, line)| {
            let bytes = &self.bytes[line.clone()];
            let line = serde_json::from_slice::<Line<&str, Summary>>(bytes).ok()?;
            Some((line.run, bytes))
        });
        read.next()
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
        OpenOptions::new().create(true).append(true).mode(0o600).open(&self.path)
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
