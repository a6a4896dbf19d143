//! Captures, explained.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde_json::json;
use windlass_explain::file::{self, ExplainSettings, Piece};
use windlass_explain::{CaptureSet, ExplainError, PieceReceiver, explain_each};
use windlass_tables::{CaptureRow, PathPattern, Table as Kind, Tables};
use windlass_wire::ConnectionFilter;

use crate::error;
use crate::source::{self, Source, TemporaryFile};
use crate::stream::Table;

/// Interval of checks for Ctrl-C.
const LOOK: Duration = Duration::from_millis(100);

/// Tables on their way to Python.
struct Batches {
    schemas: Vec<(Kind, SchemaRef)>,
    batches: Vec<(Kind, RecordBatch)>,
}

impl Batches {
    fn new(pattern: Option<&PathPattern>) -> Self {
        let schemas = Kind::ALL.map(|table| (table, table.schema(pattern)));
        Self { schemas: schemas.to_vec(), batches: Vec::new() }
    }

    fn tables(self) -> Vec<(String, Table)> {
        let of = |kind: Kind, schema: SchemaRef| {
            let own = self.batches.iter().filter(|(of, _)| *of == kind);
            Table::new(schema, own.map(|(_, batch)| batch.clone()).collect())
        };
        let schemas = self.schemas.iter();
        schemas
            .map(|(kind, schema)| (kind.id().to_owned(), of(*kind, Arc::clone(schema))))
            .collect()
    }
}

/// Works on a thread of its own, and looks for Ctrl-C meanwhile, which sets the flag.
fn heeding<T: Send>(
    py: Python<'_>,
    work: impl FnOnce(&Arc<AtomicBool>) -> T + Send,
) -> PyResult<T> {
    let stop = Arc::new(AtomicBool::new(false));
    let own = Arc::clone(&stop);
    py.detach(|| {
        thread::scope(|scope| {
            let waiting = thread::current();
            let working = scope.spawn(move || {
                let done = work(&own);
                waiting.unpark();
                done
            });
            let mut interrupted = Ok(());
            while !working.is_finished() {
                thread::park_timeout(LOOK);
                if interrupted.is_ok() {
                    interrupted = Python::attach(is_interrupted);
                    stop.store(interrupted.is_err(), Ordering::Relaxed);
                }
            }
            let done =
                working.join().map_err(|_| error("windlass failed: this is a bug of windlass"));
            interrupted.and(done)
        })
    })
}

/// An error where Ctrl-C was pressed.
fn is_interrupted(py: Python<'_>) -> PyResult<()> {
    py.check_signals()
}

/// Record and tables of one capture.
struct ExplainedCapture {
    record: String,
    tables: Vec<(String, Table)>,
}

fn one(
    path: &Path,
    name: &str,
    filter: ConnectionFilter,
    stop: &Arc<AtomicBool>,
) -> Result<ExplainedCapture, String> {
    let mut tables = Tables::new(None);
    let mut batches = Batches::new(None);
    let mut captures: Vec<serde_json::Value> = Vec::new();
    let mut connections: Vec<serde_json::Value> = Vec::new();
    let mut wrong = None;
    let manner = ExplainSettings { filter, pattern: None };
    let own = path.to_string_lossy().into_owned();
    let is_told = file::explain(
        path,
        manner,
        stop,
        |_| {},
        |piece| {
            match piece {
                Piece::Capture(_) => {}
                Piece::Connections(rows) => {
                    for (row, seconds) in rows {
                        match serde_json::to_value(&row.report) {
                            Ok(report) => connections.push(report),
                            Err(error) => wrong = Some(error.to_string()),
                        }
                        tables.connection(&row, seconds);
                    }
                    match tables.full() {
                        Ok(full) => batches.batches.extend(full),
                        Err(error) => wrong = Some(error.to_string()),
                    }
                }
                Piece::Row(mut row) => {
                    source::call(&mut row, &own, name);
                    if row.error.is_some() {
                        wrong.clone_from(&row.error);
                    }
                    captures.push(capture(&row, std::mem::take(&mut connections)));
                    tables.capture(&row);
                }
            }
            true
        },
    );
    if let Some(wrong) = wrong {
        return Err(format!("cannot explain {name}: {wrong}"));
    }
    if !is_told {
        return Err(format!("cannot explain {name}: it was stopped"));
    }
    batches.batches.extend(tables.rest().map_err(|error| error.to_string())?);
    let record = serde_json::to_string(&captures).map_err(|error| error.to_string())?;
    Ok(ExplainedCapture { record, tables: batches.tables() })
}

fn capture(row: &CaptureRow, connections: Vec<serde_json::Value>) -> serde_json::Value {
    json!({
        "sha256": row.capture,
        "capture": row.facts,
        "totals": row.totals,
        "connections": connections,
    })
}

fn filter(host: Option<&str>, port: Option<u16>) -> PyResult<ConnectionFilter> {
    let wrong = |host: &str| error(format!("{host:?} is not an IP address"));
    let host = host.map(|host| host.parse().map_err(|_| wrong(host))).transpose()?;
    Ok(ConnectionFilter { host, port })
}

/// Explains a capture, by its path or its bytes: its record as JSON, and its tables.
#[pyfunction]
#[pyo3(signature = (path, data, name, host, port))]
pub(crate) fn explain(
    py: Python<'_>,
    path: Option<PathBuf>,
    data: Option<&Bound<'_, PyBytes>>,
    name: String,
    host: Option<String>,
    port: Option<u16>,
) -> PyResult<(String, Vec<(String, Table)>)> {
    let filter = filter(host.as_deref(), port)?;
    let cannot = |wrong: std::io::Error| error(format!("cannot explain {name}: {wrong}"));
    let (_held, path) = match (path, data) {
        (Some(path), _) => (None, path),
        (None, Some(data)) => {
            let held = TemporaryFile::of(data.as_bytes()).map_err(cannot)?;
            let path = held.path.clone();
            (Some(held), path)
        }
        (None, None) => return Err(error("give a path or bytes")),
    };
    let done = heeding(py, |stop| one(&path, &name, filter, stop))?;
    let ExplainedCapture { record, tables } = done.map_err(error)?;
    Ok((record, tables))
}

/// Explains many captures, on all processors: their tables. Each is a path, or a name with what
/// gives the bytes.
#[pyfunction]
#[pyo3(signature = (captures, pattern, host, port, jobs))]
pub(crate) fn explain_many(
    py: Python<'_>,
    captures: Vec<(PathBuf, Option<Py<PyAny>>)>,
    pattern: Option<String>,
    host: Option<String>,
    port: Option<u16>,
    jobs: usize,
) -> PyResult<Vec<(String, Table)>> {
    let pattern: Option<PathPattern> =
        pattern.map(|text| text.parse()).transpose().map_err(error)?;
    let filter = filter(host.as_deref(), port)?;
    let sources: Vec<Source> =
        captures.into_iter().map(|(name, held)| Source { name, held }).collect();
    let done = heeding(py, |stop| {
        let mut batches = Batches::new(pattern.as_ref());
        let manner = ExplainSettings { filter, pattern: pattern.as_ref() };
        let all = CaptureSet { count: sources.len(), pattern: pattern.as_ref(), at_once: jobs };
        let explain = |place: usize, read: &mut dyn FnMut(u64), tell: &mut PieceReceiver<'_>| {
            sources[place].explain(manner, stop, read, tell)
        };
        let write = |kind: Kind, batch: &RecordBatch| {
            batches.batches.push((kind, batch.clone()));
            Ok(())
        };
        let done = explain_each(all, stop, explain, |_| {}, write);
        done.map(|_| batches.tables()).map_err(|ended| match ended {
            ExplainError::Stopped => "it was stopped".to_owned(),
            ExplainError::Failed(_, wrong) => wrong.to_string(),
        })
    })?;
    done.map_err(|wrong| error(format!("cannot explain the captures: {wrong}")))
}
