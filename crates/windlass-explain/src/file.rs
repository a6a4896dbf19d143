//! Explanation of one capture file: reading, hashing and analysis.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;

use data_encoding::HEXLOWER;
use windlass_base::{Bytes, Failure};
use windlass_capture::{Archive, CaptureFacts, CaptureReceiver, Member, ReadCapture, ReadSettings};
use windlass_lab::what_if::try_remedies;
use windlass_tables::{CaptureRow, ConnectionRow, PathPattern};
use windlass_trace::{Analysis, Analyzer, Keep, LatencySecond};
use windlass_wire::{ConnectionFilter, PacketRange};

use crate::hash;
use crate::report::{MODELLED, report_of};

/// Minimum size of a file that is hashed in a second thread: for smaller files a thread costs more.
const BESIDE: u64 = 1 << 20;

/// Number of rows in a batch.
const ROWS: usize = 64;

/// Message for a panic; the other files are still explained.
const BUG: &str = "windlass failed on it, which is a bug in windlass";

/// Row of a connection, and the latency of its ACKs in each second.
pub type ExplainedConnection = (ConnectionRow, Vec<LatencySecond>);

/// Message about a file. Messages come in this order, repeated for the members of an archive.
#[derive(Debug)]
pub enum Piece {
    /// Key of the capture whose connections follow.
    Capture(Arc<str>),
    /// Some of the capture's connections.
    Connections(Vec<ExplainedConnection>),
    /// Row of the capture itself.
    Row(Box<CaptureRow>),
}

/// Settings for explaining files.
#[derive(Clone, Copy, Debug, Default)]
pub struct ExplainSettings<'a> {
    /// Filter of connections.
    pub filter: ConnectionFilter,
    /// Pattern of the file names.
    pub pattern: Option<&'a PathPattern>,
}

/// Explains a file, and passes the results to `tell` piece by piece, until `tell` returns `false`.
/// Returns `false` if `stop` was set or `tell` returned `false`: the results are then incomplete.
///
/// Each capture of an archive has results of its own. A file that cannot be explained gets a row
/// with the reason. So does a damaged archive, after the results before the damage. `on_progress`
/// gets the number of bytes read so far.
pub fn explain(
    file: &Path,
    manner: ExplainSettings<'_>,
    stop: &Arc<AtomicBool>,
    mut on_progress: impl FnMut(u64),
    mut tell: impl FnMut(Piece) -> bool,
) -> bool {
    let mut row = CaptureRow {
        file: file.to_string_lossy().into_owned(),
        taken: manner.pattern.and_then(|pattern| pattern.take(file)),
        ..CaptureRow::default()
    };
    let told = catch_unwind(AssertUnwindSafe(|| {
        FileExplainer { file, manner, stop, row: &mut row, tell: &mut tell }.all(&mut on_progress)
    }));
    let told = told.unwrap_or_else(|_| Err(BUG.to_owned()));
    match told {
        Ok(goes_on) => goes_on,
        Err(wrong) => {
            row.error = Some(wrong);
            tell(Piece::Row(Box::new(row)))
        }
    }
}

/// Explainer of one file.
struct FileExplainer<'a, T> {
    file: &'a Path,
    manner: ExplainSettings<'a>,
    stop: &'a Arc<AtomicBool>,
    /// Row of the file.
    row: &'a mut CaptureRow,
    tell: &'a mut T,
}

impl<T: FnMut(Piece) -> bool> FileExplainer<'_, T> {
    /// Passes on all results, or returns the reason why the rest is missing. `Ok(false)` means that
    /// the explanation was stopped or the receiver is gone.
    fn all(mut self, mut on_progress: impl FnMut(u64)) -> Result<bool, String> {
        let (file, stop) = (self.file, self.stop);
        let before = fs::metadata(file).map_err(|error| error.to_string())?;
        if !before.is_file() {
            let what = if before.is_dir() { "it is a directory" } else { "it is no regular file" };
            return Err(what.to_owned());
        }
        self.row.size = Some(Bytes::new(before.len()));
        let reading = ReadSettings {
            file,
            filter: self.manner.filter,
            range: PacketRange::default(),
            follow: false,
            doing: "explain",
        };
        let mut captures =
            Captures { telling: &mut self, analysis: analysis(), one: None, goes_on: true };
        let mut analyse = |captures: &mut Captures<'_, '_, T>| {
            windlass_capture::read_each(&reading, stop, |bytes, _| on_progress(bytes), captures)
        };
        let hash = || hash::of_file(file, stop);
        let (hashed, read) = if before.len() < BESIDE {
            (hash(), analyse(&mut captures))
        } else {
            thread::scope(|scope| {
                let hashing = scope.spawn(hash);
                let read = analyse(&mut captures);
                let hashed = hashing.join();
                (hashed.unwrap_or_else(|_| Err(std::io::Error::other(BUG))), read)
            })
        };
        let Captures { one, goes_on, .. } = captures;
        let Some(key) = hashed.map_err(|error| error.to_string())? else { return Ok(false) };
        if !goes_on {
            return Ok(false);
        }
        let after = fs::metadata(file).map_err(|error| error.to_string())?;
        if (after.len(), after.modified().ok()) != (before.len(), before.modified().ok()) {
            return Err("it changed while it was read".to_owned());
        }
        let archive = read.map_err(|failure| {
            self.row.capture = Some(Arc::clone(&key));
            failure.wrong().to_owned()
        })?;
        if let Some(archive) = archive {
            let damaged = |damage| format!("the archive is damaged {damage}");
            return match archive.damage {
                _ if archive.interrupted => Ok(false),
                Some(damage) => Err(damaged(damage)),
                None => Ok(true),
            };
        }
        match one {
            Some((read, _)) if read.interrupted => Ok(false),
            Some((read, analysis)) => Ok(self.capture(&key, self.row.clone(), &read, analysis)),
            None => Ok(true),
        }
    }

    /// Passes on a capture: its connections, the largest first, and then its row. Returns `false`
    /// if the receiver is gone.
    fn capture(
        &mut self,
        key: &Arc<str>,
        mut row: CaptureRow,
        read: &ReadCapture,
        analysis: Analysis<()>,
    ) -> bool {
        let (connections, totals) = analysis.analyzer.finish();
        row.capture = Some(Arc::clone(key));
        row.facts = Some(CaptureFacts::new(row.file.clone(), read));
        row.totals = Some(totals);
        if !(self.tell)(Piece::Capture(Arc::clone(key))) {
            return false;
        }
        let mut rows = Vec::with_capacity(ROWS.min(connections.len()));
        for (place, connection) in connections.into_iter().enumerate() {
            let mut report = report_of(&connection, read);
            if place < MODELLED {
                try_remedies(&mut report, &connection);
            }
            rows.push((ConnectionRow::new(key, report, &connection), connection.latencies()));
            if rows.len() == ROWS {
                let full = std::mem::replace(&mut rows, Vec::with_capacity(ROWS));
                if !(self.tell)(Piece::Connections(full)) {
                    return false;
                }
            }
        }
        (rows.is_empty() || (self.tell)(Piece::Connections(rows)))
            && (self.tell)(Piece::Row(Box::new(row)))
    }

    /// Passes on a capture from an archive.
    fn member(&mut self, member: &Member, read: &ReadCapture, analysis: Analysis<()>) -> bool {
        let key: Arc<str> = HEXLOWER.encode(&member.sha256.unwrap_or_default()).into();
        // A pattern treats an archive as a folder of its members.
        let name = member.name.to_string();
        let path = self.file.join(name.trim_start_matches('/'));
        let taken = self.manner.pattern.and_then(|pattern| pattern.take(&path));
        let row = CaptureRow {
            file: member.file.clone(),
            taken: taken.or_else(|| self.row.taken.clone()),
            ..CaptureRow::default()
        };
        self.capture(&key, row, read, analysis)
    }
}

fn analysis() -> Analysis<()> {
    Analysis { analyzer: Analyzer::new(Keep::All).by_second(), notes: () }
}

/// Receiver of a file's captures: one, or those of an archive.
struct Captures<'a, 'b, T> {
    telling: &'b mut FileExplainer<'a, T>,
    /// Analysis of the current capture.
    analysis: Analysis<()>,
    /// The capture, if the file is not an archive.
    one: Option<(ReadCapture, Analysis<()>)>,
    /// True if the receiver still listens.
    goes_on: bool,
}

impl<T: FnMut(Piece) -> bool> CaptureReceiver for Captures<'_, '_, T> {
    type Observer = Analysis<()>;

    fn archive(&mut self, _: &Archive) -> Result<(), Failure> {
        Ok(())
    }

    fn digests(&self) -> bool {
        true
    }

    fn observer(&mut self) -> &mut Analysis<()> {
        &mut self.analysis
    }

    fn forget(&mut self) {
        self.analysis = analysis();
    }

    fn read(&mut self, read: ReadCapture) -> Result<(), Failure> {
        let analysis = std::mem::replace(&mut self.analysis, analysis());
        match read.member.clone() {
            None => self.one = Some((read, analysis)),
            Some(_) if read.interrupted => self.goes_on = false,
            Some(member) => self.goes_on = self.telling.member(&member, &read, analysis),
        }
        if self.goes_on { Ok(()) } else { Err(Failure::new("cannot explain", "nobody listens")) }
    }
}
