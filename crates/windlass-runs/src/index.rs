//! What lists show of each run, in one file: a list need not open every run.
//!
//! It is a copy, and the files of the runs are what counts: what is missing here is read from
//! them, and what is too much is passed over. So nothing is lost where it is torn, old or gone.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::thread;

use serde::{Deserialize, Serialize};

use crate::Summary;

/// The shape of its lines. With another it is made anew.
const VERSION: &str = "windlass.runs-index/1";

/// What files are called that are not whole yet.
pub(crate) const PART: &str = ".part-";

/// Lines that are of no run any more, before it is written anew.
const STALE: usize = 1_000;

/// A line: the file of a run, and what a list shows of it.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Line<S> {
    /// The name of the file, which changes with each change of the run.
    pub(crate) file: String,
    /// What a list shows.
    pub(crate) run: S,
}

/// The lines that can be read.
fn parsed(bytes: &[u8]) -> Vec<Line<Summary>> {
    let lines = bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    lines.filter_map(|line| serde_json::from_slice(line).ok()).collect()
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

    /// All lines that can be read, in the order of the files.
    pub(crate) fn read(&self) -> Vec<Line<Summary>> {
        let bytes = fs::read(&self.path).unwrap_or_default();
        let Some(bytes) = bytes.strip_prefix(VERSION.as_bytes()) else { return Vec::new() };
        // A part for each of a few threads: with 100,000 runs this is most of a list's time.
        let half = bytes.len() / 2;
        let middle = bytes[half..].iter().position(|byte| *byte == b'\n').map(|at| half + at);
        let (first, second) = bytes.split_at(middle.unwrap_or(bytes.len()));
        let mut lines = thread::scope(|scope| {
            let other = scope.spawn(|| parsed(second));
            let mut lines = parsed(first);
            lines.extend(other.join().unwrap_or_default());
            lines
        });
        lines.sort_by(|one, other| one.file.cmp(&other.file));
        lines
    }

    /// Adds lines. Each call is one write to the end of the file, so that what two programs
    /// write at once is not mixed up.
    pub(crate) fn add<'a>(
        &self,
        lines: impl IntoIterator<Item = (&'a str, &'a Summary)>,
    ) -> io::Result<()> {
        // The line before may be torn: a kill, a full disk.
        let mut bytes = vec![b'\n'];
        for (file, run) in lines {
            serde_json::to_writer(&mut bytes, &Line { file: file.to_owned(), run })?;
            bytes.push(b'\n');
        }
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
    pub(crate) fn replace<'a>(
        &self,
        lines: impl IntoIterator<Item = (&'a str, &'a Summary)>,
    ) -> io::Result<()> {
        let folder = self.path.parent().unwrap_or(&self.path);
        let mut file = tempfile::Builder::new().prefix(PART).tempfile_in(folder)?;
        let mut bytes = VERSION.as_bytes().to_vec();
        bytes.push(b'\n');
        for (name, run) in lines {
            serde_json::to_writer(&mut bytes, &Line { file: name.to_owned(), run })?;
            bytes.push(b'\n');
        }
        file.write_all(&bytes)?;
        file.persist(&self.path).map(drop).map_err(|error| error.error)
    }

    fn create(&self) -> io::Result<File> {
        OpenOptions::new().create(true).append(true).mode(0o600).open(&self.path)
    }

    /// Whether it is there in the shape that this program writes.
    pub(crate) fn is_current(&self) -> bool {
        let mut start = [0; VERSION.len()];
        let read =
            File::open(&self.path).and_then(|mut file| io::Read::read_exact(&mut file, &mut start));
        read.is_ok() && start == VERSION.as_bytes()
    }
}
