//! A capture for a reader of its own: waiting for the reader of a pipe, and ending
//! when that is gone.

use std::fs::{self, File};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use std::{io, thread};

use windlass_base::Failure;
use windlass_sys::pipe;

use super::{Afterwards, FileFormat, Rotation, Writing};

/// How often is looked whether the reader is still there.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// How long the reader of a pipe may take to come that gets nothing.
const AWAITED: Duration = Duration::from_secs(10);

/// How long a capture may take to end: Wireshark waits for it. One that writes
/// into a full pipe that nobody empties would never end.
const PATIENCE: Duration = Duration::from_secs(2);

/// Where a capture goes, and when it is to end.
#[derive(Debug)]
pub struct Target {
    path: PathBuf,
    /// Nothing for a file, which needs no reader.
    pipe: Option<Arc<File>>,
    /// The capture is to end, or there is no reader any more.
    pub stop: Arc<AtomicBool>,
}

fn is_pipe(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|about| about.file_type().is_fifo())
}

/// Waits for the reader of a pipe; nothing where it is over before that.
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
    /// Waits for the reader of a pipe; nothing where `stop` is set before that.
    ///
    /// # Errors
    /// Where the pipe cannot be opened.
    pub fn open(path: &Path, stop: Arc<AtomicBool>) -> Result<Option<Self>, Failure> {
        let failed = |error| Failure::new(format!("cannot write {}", path.display()), error);
        let path = path.to_owned();
        if !is_pipe(&path) {
            return Ok(Some(Self { path, pipe: None, stop }));
        }
        let pipe = reader(&path, &|| stop.load(Ordering::Relaxed)).map_err(failed)?;
        Ok(pipe.map(|pipe| Self { path, pipe: Some(Arc::new(pipe)), stop }))
    }

    /// Lets the reader of a pipe go that gets nothing. Wireshark starts it beside, and
    /// it may come after this has ended: a pipe that nobody has written into has no
    /// end (fifo(7)), and it would wait for ever.
    pub fn let_go(path: &Path, stop: &AtomicBool) {
        let since = Instant::now();
        if is_pipe(path) {
            let is_over = || stop.load(Ordering::Relaxed) || since.elapsed() > AWAITED;
            // What is wrong is told in any case.
            drop(reader(path, &is_over));
        }
    }

    /// As captures take it.
    pub fn writing(&self) -> Writing {
        Writing {
            path: self.path.clone(),
            format: FileFormat::Pcapng,
            rotation: Rotation::default(),
            afterwards: Afterwards::default(),
            pipe: self.pipe.clone(),
        }
    }

    /// Sees to it that the capture ends when it is to, or when nobody reads it any
    /// more, even where nothing is captured or the pipe is full. `give_up` ends the
    /// process where the capture does not end for long.
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
            // The pipe's end is lost to who does not read it.
            give_up();
        };
        // It ends with the process. Without it Ctrl-C still works.
        let _ = thread::Builder::new().name("guard".to_owned()).spawn(guard);
    }
}
