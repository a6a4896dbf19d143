//! Captures for one reader: waits for the reader of a pipe, and ends when the reader is gone.

use std::fs::{self, File};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use std::{io, thread};

use windlass_base::Failure;
use windlass_sys::pipe;

use super::{FileFormat, FileWork, Rotation, WriteSettings};

/// Interval for checks of the reader.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Maximum wait for the reader of an empty pipe.
const AWAITED: Duration = Duration::from_secs(10);

/// Maximum time for a capture to end: Wireshark waits for it. A capture that writes into a full
/// pipe without a reader would never end.
const PATIENCE: Duration = Duration::from_secs(2);

/// Output and end of a capture.
#[derive(Debug)]
pub struct Target {
    path: PathBuf,
    /// Pipe of the reader; `None` for a file, which needs no reader.
    pipe: Option<Arc<File>>,
    /// Set when the capture is to end, or when the reader is gone.
    pub stop: Arc<AtomicBool>,
}

fn is_pipe(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|about| about.file_type().is_fifo())
}

/// Waits for the reader of a pipe; returns `None` if `is_over` comes first.
fn reader(path: &Path, is_over: &dyn Fn() -> bool) -> io::Result<Option<File>> {
    while !is_over() {
        if let Some(pipe) = pipe::open(path)? {
            return Ok(Some(pipe));
        }
        thread::sleep(POLL_INTERVAL);
    }
    Ok(None)
}

impl Target {
    /// Waits for the reader of a pipe; returns `None` if `stop` is set first.
    ///
    /// # Errors
    /// Returns an error if the pipe cannot be opened.
    pub fn open(path: &Path, stop: Arc<AtomicBool>) -> Result<Option<Self>, Failure> {
        let failed = |error| Failure::new(format!("cannot write {}", path.display()), error);
        let path = path.to_owned();
        if !is_pipe(&path) {
            return Ok(Some(Self { path, pipe: None, stop }));
        }
        let pipe = reader(&path, &|| stop.load(Ordering::Relaxed)).map_err(failed)?;
        Ok(pipe.map(|pipe| Self { path, pipe: Some(Arc::new(pipe)), stop }))
    }

    /// Releases the reader of a pipe that will get no data. Wireshark starts the reader in
    /// parallel, so it may come later. A pipe that nobody has opened for writing never ends
    /// (fifo(7)), so the reader would wait for ever.
    pub fn let_go(path: &Path, stop: &AtomicBool) {
        let since = Instant::now();
        if is_pipe(path) {
            let is_over = || stop.load(Ordering::Relaxed) || since.elapsed() > AWAITED;
            // The failure itself is reported in any case.
            drop(reader(path, &is_over));
        }
    }

    /// Returns the output settings of a capture.
    pub fn writing(&self) -> WriteSettings {
        WriteSettings {
            path: self.path.clone(),
            format: FileFormat::Pcapng,
            rotation: Rotation::default(),
            afterwards: FileWork::default(),
            pipe: self.pipe.clone(),
        }
    }

    /// Starts a thread that sets `stop` when the reader is gone, even if no packet comes or the
    /// pipe is full. If the capture then does not end in time, `give_up` ends the process.
    pub fn guard(&self, give_up: impl FnOnce() + Send + 'static) {
        let (pipe, stop) = (self.pipe.clone(), Arc::clone(&self.stop));
        let guard = move || {
            while !stop.load(Ordering::Relaxed) {
                let is_read = |pipe: &Arc<File>| pipe::has_reader(pipe).unwrap_or(true);
                if !pipe.as_ref().is_none_or(is_read) {
                    stop.store(true, Ordering::Relaxed);
                }
                thread::sleep(POLL_INTERVAL);
            }
            let since = Instant::now();
            while since.elapsed() < PATIENCE {
                thread::sleep(POLL_INTERVAL);
            }
            // A reader that does not read loses the rest of the pipe.
            give_up();
        };
        // The thread ends with the process. If it cannot start, Ctrl-C still works.
        let _ = thread::Builder::new().name("guard".to_owned()).spawn(guard);
    }
}
