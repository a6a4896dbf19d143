//! One capture: read, hashed and explained.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;

use windlass_base::Bytes;
use windlass_capture::{CaptureFacts, Read, Reading};
use windlass_lab::what_if::try_remedies;
use windlass_tables::{CaptureRow, ConnectionRow, PathPattern};
use windlass_trace::{Analysis, Analyzer, Finished, Keep, LatencySecond, Totals};
use windlass_wire::ConnectionFilter;

use crate::hash;
use crate::report::{MODELLED, report_of};

/// A file from this size on is hashed beside the analysis: below it a thread costs more.
const BESIDE: u64 = 1 << 20;

/// So many rows are handed on at once.
const ROWS: usize = 64;

/// What hangs on a bug of ours: the other files are explained all the same.
const BUG: &str = "windlass failed on it, which is a fault of windlass";

/// A connection's row, and how its ACKs came in each second.
pub type Explained = (ConnectionRow, Vec<LatencySecond>);

/// What is told of a file, in this order.
#[derive(Debug)]
pub enum Piece {
    /// The key of the capture whose connections follow.
    Capture(Arc<str>),
    /// Some of its connections.
    Connections(Vec<Explained>),
    /// The file itself, at last.
    File(Box<CaptureRow>),
}

/// How files are to be explained.
#[derive(Clone, Copy, Debug, Default)]
pub struct Manner<'a> {
    /// Which connections to look at.
    pub filter: ConnectionFilter,
    /// How the files are named.
    pub pattern: Option<&'a PathPattern>,
}

/// What was read of a file.
struct Found {
    capture: Arc<str>,
    read: Read,
    connections: Vec<Finished>,
    totals: Totals,
}

/// Explains a file, and hands on what is told of it, piece by piece; nothing more where `tell`
/// says that nobody listens. `false` where `stop` was set meanwhile: then the file is not told.
///
/// A file that cannot be explained is told with the reason. `on_progress` is told how many bytes
/// were taken.
pub fn explain(
    file: &Path,
    manner: Manner<'_>,
    stop: &Arc<AtomicBool>,
    on_progress: impl FnMut(u64),
    mut tell: impl FnMut(Piece) -> bool,
) -> bool {
    let mut row = CaptureRow {
        file: file.to_string_lossy().into_owned(),
        taken: manner.pattern.and_then(|pattern| pattern.take(file)),
        ..CaptureRow::default()
    };
    let told =
        catch_unwind(AssertUnwindSafe(|| match find(file, manner, stop, on_progress, &mut row) {
            Ok(Some(found)) => connections(found, &mut row, &mut tell),
            Ok(None) => false,
            Err(wrong) => {
                row.error = Some(wrong);
                true
            }
        }));
    let goes_on = told.unwrap_or_else(|_| {
        row.error = Some(BUG.to_owned());
        true
    });
    goes_on && tell(Piece::File(Box::new(row)))
}

/// Reads a file, or says why it cannot; nothing where it was stopped.
fn find(
    file: &Path,
    manner: Manner<'_>,
    stop: &Arc<AtomicBool>,
    mut on_progress: impl FnMut(u64),
    row: &mut CaptureRow,
) -> Result<Option<Found>, String> {
    let before = fs::metadata(file).map_err(|error| error.to_string())?;
    if !before.is_file() {
        let what = if before.is_dir() { "it is a directory" } else { "it is no regular file" };
        return Err(what.to_owned());
    }
    row.size = Some(Bytes::new(before.len()));
    let reading = Reading { file, filter: manner.filter, follow: false, doing: "explain" };
    let mut analysis = Analysis { analyzer: Analyzer::new(Keep::All).by_second(), notes: () };
    let mut analyse = |analysis: &mut Analysis<()>| {
        windlass_capture::read(&reading, stop, |bytes, _| on_progress(bytes), analysis)
    };
    let hash = || hash::of_file(file, stop);
    let (hashed, read) = if before.len() < BESIDE {
        (hash(), analyse(&mut analysis))
    } else {
        thread::scope(|scope| {
            let hashing = scope.spawn(hash);
            let read = analyse(&mut analysis);
            let hashed = hashing.join();
            (hashed.unwrap_or_else(|_| Err(std::io::Error::other(BUG))), read)
        })
    };
    let Some(capture) = hashed.map_err(|error| error.to_string())? else { return Ok(None) };
    let after = fs::metadata(file).map_err(|error| error.to_string())?;
    if (after.len(), after.modified().ok()) != (before.len(), before.modified().ok()) {
        return Err("it changed while it was read".to_owned());
    }
    row.capture = Some(Arc::clone(&capture));
    let read = read.map_err(|failure| failure.wrong().to_owned())?;
    if read.interrupted {
        return Ok(None);
    }
    let (connections, totals) = analysis.analyzer.finish();
    Ok(Some(Found { capture, read, connections, totals }))
}

/// Tells its connections, the largest first; `false` where nobody listens.
fn connections(found: Found, row: &mut CaptureRow, tell: &mut impl FnMut(Piece) -> bool) -> bool {
    let Found { capture, read, connections, totals } = found;
    row.facts = Some(CaptureFacts::new(row.file.clone(), &read));
    row.totals = Some(totals);
    if !tell(Piece::Capture(Arc::clone(&capture))) {
        return false;
    }
    let mut rows = Vec::with_capacity(ROWS.min(connections.len()));
    for (place, connection) in connections.into_iter().enumerate() {
        let mut report = report_of(&connection, &read);
        if place < MODELLED {
            try_remedies(&mut report, &connection);
        }
        rows.push((ConnectionRow::new(&capture, report, &connection), connection.latencies()));
        if rows.len() == ROWS {
            let full = std::mem::replace(&mut rows, Vec::with_capacity(ROWS));
            if !tell(Piece::Connections(full)) {
                return false;
            }
        }
    }
    rows.is_empty() || tell(Piece::Connections(rows))
}
