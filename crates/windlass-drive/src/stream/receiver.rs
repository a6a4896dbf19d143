//! Thread that receives.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use windlass_base::Bytes;
use windlass_sys::cpu;

use super::{CloseSignal, StreamEnd, TestFlags, WAIT, abort, is_pause};
use crate::socket::keep_window;
use crate::transfer::usual_length;

/// Destination of received data, shared by its users.
#[derive(Clone)]
pub struct Sink(Arc<Mutex<Box<dyn Write + Send>>>);

impl Sink {
    /// Makes a sink that writes to `to`.
    pub fn new(to: impl Write + Send + 'static) -> Self {
        Self(Arc::new(Mutex::new(Box::new(to))))
    }

    /// Locks the writer for exclusive use.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Box<dyn Write + Send>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Sink {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Sink")
    }
}

/// Reads each byte, as a program does that uses the data.
pub(crate) fn touch(bytes: &[u8]) {
    std::hint::black_box(bytes.iter().fold(0_u8, |all, byte| all ^ byte));
}

/// Settings and state of a receiving thread.
pub(crate) struct Receiver {
    pub(crate) stream: Arc<TcpStream>,
    pub(crate) length: usize,
    /// True if each byte is read.
    pub(crate) touch: bool,
    /// Window to keep to.
    pub(crate) window: Option<Bytes>,
    /// Destination of the data; without it, the data is discarded.
    pub(crate) sink: Option<Sink>,
    /// Time from which a reset is a normal end.
    pub(crate) deadline: Option<Instant>,
    pub(crate) closing: CloseSignal,
    pub(crate) shared: Arc<TestFlags>,
    /// Bytes read so far.
    pub(crate) read: Arc<AtomicU64>,
}

impl Receiver {
    pub(crate) fn run(self) -> StreamEnd {
        let (began, before) = (Instant::now(), cpu::of_this_thread());
        let ready = cpu::waited_of_this_thread();
        let (mut last, mut at_program) = (began, Duration::ZERO);
        let error = self.receive(&mut last, &mut at_program).err();
        if self.closing != CloseSignal::Own {
            // The sender waits for this to know that everything has arrived.
            let _ = self.stream.shutdown(Shutdown::Both);
        }
        let cpu = cpu::of_this_thread().since(before);
        let error = error.filter(|error| !self.is_end(error));
        let waited = cpu::waited_since(ready);
        StreamEnd { at: last, ran: began.elapsed(), cpu, waited, at_program, error }
    }

    /// Returns whether a timed test may end with this error.
    fn is_end(&self, error: &io::Error) -> bool {
        let over = self.shared.is_over()
            || self.deadline.is_some_and(|deadline| Instant::now() >= deadline);
        self.shared.is_cut() || over && error.kind() == io::ErrorKind::ConnectionReset
    }

    fn receive(&self, last: &mut Instant, at_program: &mut Duration) -> io::Result<()> {
        self.stream.set_read_timeout(Some(WAIT))?;
        let mut buffer = vec![0; self.length.min(usual_length() as usize)];
        let mut stream = &*self.stream;
        loop {
            if let Some(window) = self.window {
                keep_window(&self.stream, window);
            }
            match stream.read(&mut buffer) {
                Ok(0) => {
                    // With [`CloseSignal::Elsewhere`] the end may come long after the last byte.
                    if self.closing != CloseSignal::Elsewhere {
                        *last = Instant::now();
                    }
                    return self.sink.as_ref().map_or(Ok(()), |sink| sink.lock().flush());
                }
                Ok(bytes) => {
                    if self.touch {
                        touch(&buffer[..bytes]);
                    }
                    self.read.fetch_add(bytes as u64, Ordering::Relaxed);
                    if self.closing == CloseSignal::Elsewhere {
                        *last = Instant::now();
                    }
                    if let Some(sink) = &self.sink {
                        let asked = Instant::now();
                        let written = sink.lock().write_all(&buffer[..bytes]);
                        *at_program += asked.elapsed();
                        written?;
                    }
                }
                Err(error) if is_pause(&error) => {}
                Err(error) => {
                    *last = Instant::now();
                    return Err(error);
                }
            }
            if self.shared.is_cut() {
                *last = Instant::now();
                abort(&self.stream);
                return Ok(());
            }
        }
    }
}
