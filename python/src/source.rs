//! Captures that are no files here: bytes, or what opens them when their turn comes.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::AsRawFd as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use windlass_explain::PieceReceiver;
use windlass_explain::file::{self, ExplainSettings, Piece};
use windlass_tables::{CaptureRow, FileNameFields, PathPattern};

/// Bytes read from an open file at once.
const PART: usize = 1 << 20;

/// A capture, and what rows call it.
pub(crate) struct Source {
    pub(crate) name: PathBuf,
    /// Bytes, or what gives bytes or an open file when it is called; nothing where the name is the
    /// path of a file.
    pub(crate) held: Option<Py<PyAny>>,
}

/// A file without a name, and a path to it.
pub(crate) struct TemporaryFile {
    file: File,
    pub(crate) path: PathBuf,
}

impl TemporaryFile {
    fn new() -> io::Result<Self> {
        let file = tempfile::tempfile()?;
        let path = PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
        Ok(Self { file, path })
    }

    /// One that holds these bytes.
    pub(crate) fn of(bytes: &[u8]) -> io::Result<Self> {
        let mut held = Self::new()?;
        held.file.write_all(bytes)?;
        Ok(held)
    }

    /// Takes bytes, while Python goes on.
    fn take(&mut self, py: Python<'_>, bytes: &PyBackedBytes) -> PyResult<()> {
        Ok(py.detach(|| self.file.write_all(bytes))?)
    }
}

/// The name of a file or of a member of it, under the file's own name.
pub(crate) fn renamed(file: &str, path: &str, name: &str) -> String {
    file.strip_prefix(path).map_or_else(|| file.to_owned(), |rest| format!("{name}{rest}"))
}

/// Fetches what is not here into a file without a name; nothing where `stop` was set meanwhile.
fn fetch(held: &Py<PyAny>, stop: &AtomicBool) -> PyResult<Option<TemporaryFile>> {
    Python::attach(|py| {
        let mut given = held.bind(py).clone();
        if given.is_callable() {
            given = given.call0()?;
        }
        let mut file = TemporaryFile::new()?;
        if !given.hasattr("read")? {
            file.take(py, &given.extract()?)?;
            return Ok(Some(file));
        }
        let read = loop {
            if stop.load(Ordering::Relaxed) {
                break Ok(None);
            }
            let part = given.call_method1("read", (PART,));
            match part.and_then(|part| Ok(part.extract::<PyBackedBytes>()?)) {
                Ok(part) if part.is_empty() => break Ok(Some(file)),
                Ok(part) => file.take(py, &part)?,
                Err(wrong) => break Err(wrong),
            }
        };
        if given.hasattr("close")? {
            given.call_method0("close")?;
        }
        read
    })
}

/// Returns the fields of a name: an archive counts as a folder of its members.
fn taken(pattern: &PathPattern, name: &str, file: &str) -> Option<FileNameFields> {
    let member = file.strip_prefix(name).and_then(|inside| inside.strip_prefix("::"));
    let inside = member.map(|member| Path::new(name).join(member.trim_start_matches('/')));
    inside.and_then(|path| pattern.take(&path)).or_else(|| pattern.take(Path::new(name)))
}

impl Source {
    /// Explains it, and tells it under its own name. What cannot be fetched is told with the
    /// reason.
    pub(crate) fn explain(
        &self,
        manner: ExplainSettings<'_>,
        stop: &Arc<AtomicBool>,
        on_progress: &mut dyn FnMut(u64),
        tell: &mut PieceReceiver<'_>,
    ) -> bool {
        let Some(held) = &self.held else {
            return file::explain(&self.name, manner, stop, on_progress, tell);
        };
        let name = self.name.to_string_lossy();
        let fetched = match fetch(held, stop) {
            Ok(Some(fetched)) => fetched,
            Ok(None) => return false,
            Err(wrong) => {
                let row = CaptureRow {
                    file: name.clone().into_owned(),
                    error: Some(format!("cannot fetch it: {wrong}")),
                    taken: manner.pattern.and_then(|pattern| taken(pattern, &name, &name)),
                    ..CaptureRow::default()
                };
                return tell(Piece::Row(Box::new(row)));
            }
        };
        let path = fetched.path.to_string_lossy();
        let plain = ExplainSettings { pattern: None, ..manner };
        file::explain(&fetched.path, plain, stop, on_progress, |piece| {
            tell(match piece {
                Piece::Row(mut row) => {
                    call(&mut row, &path, &name);
                    row.taken = manner.pattern.and_then(|pattern| taken(pattern, &name, &row.file));
                    Piece::Row(row)
                }
                other => other,
            })
        })
    }
}

/// Calls a row by the capture's own name, in the place of the path that it was read by.
pub(crate) fn call(row: &mut CaptureRow, path: &str, name: &str) {
    row.file = renamed(&row.file, path, name);
    if let Some(facts) = &mut row.facts {
        facts.file = renamed(&facts.file, path, name);
    }
}
