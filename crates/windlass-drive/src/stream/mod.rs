//! One data connection: a thread that sends, or one that receives.

mod receiver;
mod sender;
mod source;

use std::io;
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use windlass_sys::cpu::CpuTime;
use windlass_sys::socket::is_pause;

use crate::meter::ThreadTime;

pub use receiver::Sink;
pub(crate) use receiver::{Receiver, touch};
pub(crate) use sender::Sender;
pub(crate) use source::Data;
pub use source::Source;

/// Longest time of a read or write before the thread checks for the end of the test.
const WAIT: Duration = Duration::from_millis(100);

/// Longest time for the receiver to acknowledge the last bytes of a timed test.
const DRAINING: Duration = Duration::from_secs(5);

/// Signal that ends a stream's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CloseSignal {
    /// The sender closes its direction, and the receiver the other after it has read everything.
    Sender,
    /// Each end closes its own direction; the other direction of the connection continues.
    Own,
    /// A signal outside the streams: the sender leaves them open until it is told that the data is
    /// over.
    Elsewhere,
}

/// Flags shared by the threads of a test.
#[derive(Debug, Default)]
pub(crate) struct TestFlags {
    /// True if no thread may send any more.
    over: AtomicBool,
    /// True if all threads must end at once.
    cut: AtomicBool,
}

impl TestFlags {
    pub(crate) fn end(&self) {
        self.over.store(true, Ordering::Relaxed);
    }

    pub(crate) fn cut(&self) {
        self.end();
        self.cut.store(true, Ordering::Relaxed);
    }

    fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    fn is_cut(&self) -> bool {
        self.cut.load(Ordering::Relaxed)
    }
}

/// Number of bytes left to send, over all streams.
#[derive(Debug)]
pub(crate) struct Budget(Option<AtomicU64>);

impl Budget {
    pub(crate) fn new(bytes: Option<u64>) -> Self {
        Self(bytes.map(AtomicU64::new))
    }

    /// Returns a budget without a limit before [`Self::begin`].
    pub(crate) fn later(bytes: Option<u64>) -> Self {
        Self::new(bytes.map(|_| u64::MAX))
    }

    /// Sets the number of bytes left from now on.
    pub(crate) fn begin(&self, bytes: u64) {
        if let Some(left) = &self.0 {
            left.store(bytes, Ordering::Relaxed);
        }
    }

    /// Takes up to `wanted` bytes of the budget.
    fn take(&self, wanted: usize) -> usize {
        let Some(left) = &self.0 else { return wanted };
        let wanted = wanted as u64;
        let before = left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
            Some(left.saturating_sub(wanted))
        });
        let taken = before.unwrap_or(0).min(wanted);
        usize::try_from(taken).unwrap_or(usize::MAX)
    }

    /// Returns bytes that were taken but not sent.
    fn give_back(&self, bytes: usize) {
        if let Some(left) = &self.0 {
            let _ = left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
                Some(left.saturating_add(bytes as u64))
            });
        }
    }
}

/// Result of a stream's thread.
#[derive(Debug)]
pub(crate) struct StreamEnd {
    /// Time when its last byte was acknowledged and taken by the other end, or read here.
    pub(crate) at: Instant,
    /// Duration of the thread.
    pub(crate) ran: Duration,
    /// Processor time of the thread.
    pub(crate) cpu: CpuTime,
    /// Time in which it was ready and waited for a processor; nothing if unknown.
    pub(crate) waited: Option<Duration>,
    /// Time spent on reading the data to send, or writing the received data: from a file, to a
    /// pipe.
    pub(crate) at_program: Duration,
    /// Error of the stream.
    pub(crate) error: Option<io::Error>,
}

impl StreamEnd {
    /// Returns the times of the thread.
    pub(crate) const fn time(&self) -> ThreadTime {
        ThreadTime { cpu: self.cpu, ran: self.ran, waited: self.waited }
    }
}

/// Ends a connection at once, and discards its buffers.
fn abort(stream: &TcpStream) {
    // A connection that has ended by itself needs no reset.
    let _ = socket2::SockRef::from(stream).set_linger(Some(Duration::ZERO));
    let _ = stream.shutdown(Shutdown::Both);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_spent_once() {
        let budget = Budget::new(Some(1_000));
        assert_eq!(budget.take(600), 600);
        assert_eq!(budget.take(600), 400);
        assert_eq!(budget.take(600), 0);
        budget.give_back(50);
        assert_eq!(budget.take(600), 50);
        assert_eq!(Budget::new(None).take(7), 7);
        let later = Budget::later(Some(10));
        assert_eq!(later.take(600), 600);
        later.give_back(600);
        later.begin(10);
        assert_eq!(later.take(600), 10);
    }
}
