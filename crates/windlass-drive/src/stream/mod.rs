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

/// The time for which a read or write waits before the thread looks whether the test is
/// over.
const WAIT: Duration = Duration::from_millis(100);

/// The time for which a sender waits, after its last byte, for the receiver to have all
/// of it, where the test is one of a time.
const DRAINING: Duration = Duration::from_secs(5);

/// What says that a stream carries no more data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Closing {
    /// The sender closes its direction, and the receiver the other once it has
    /// read all.
    Sender,
    /// Each end its own direction: the other one of the same connection goes on.
    Own,
    /// Something beside the streams: the sender leaves them open, until it is
    /// told that the data is over.
    Elsewhere,
}

/// What the threads of a test share.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    /// Nobody is to send any more.
    over: AtomicBool,
    /// Nobody is to do anything any more.
    cut: AtomicBool,
}

impl Shared {
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

/// Bytes that are left to send, over all streams.
#[derive(Debug)]
pub(crate) struct Budget(Option<AtomicU64>);

impl Budget {
    pub(crate) fn new(bytes: Option<u64>) -> Self {
        Self(bytes.map(AtomicU64::new))
    }

    /// One that is no limit before [`Self::begin`].
    pub(crate) fn later(bytes: Option<u64>) -> Self {
        Self::new(bytes.map(|_| u64::MAX))
    }

    /// From now on these are left.
    pub(crate) fn begin(&self, bytes: u64) {
        if let Some(left) = &self.0 {
            left.store(bytes, Ordering::Relaxed);
        }
    }

    /// Takes up to `wanted` of it.
    fn take(&self, wanted: usize) -> usize {
        let Some(left) = &self.0 else { return wanted };
        let wanted = wanted as u64;
        let before = left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
            Some(left.saturating_sub(wanted))
        });
        let taken = before.unwrap_or(0).min(wanted);
        usize::try_from(taken).unwrap_or(usize::MAX)
    }

    /// Gives back what was taken and not sent.
    fn give_back(&self, bytes: usize) {
        if let Some(left) = &self.0 {
            let _ = left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
                Some(left.saturating_add(bytes as u64))
            });
        }
    }
}

/// How a stream's thread ended.
#[derive(Debug)]
pub(crate) struct StreamEnd {
    /// The time when its last byte was through: acknowledged and taken by the other end,
    /// or read here.
    pub(crate) at: Instant,
    /// The time for which the thread ran.
    pub(crate) ran: Duration,
    /// The processor time that it took.
    pub(crate) cpu: CpuTime,
    /// The time for which it was ready and waited for a processor; nothing where that is not known.
    pub(crate) waited: Option<Duration>,
    /// The time for which it read what it sends, or wrote what came, elsewhere: from a file, to a
    /// pipe.
    pub(crate) at_program: Duration,
    /// What went wrong.
    pub(crate) error: Option<io::Error>,
}

impl StreamEnd {
    /// The time of its thread.
    pub(crate) const fn time(&self) -> ThreadTime {
        ThreadTime { cpu: self.cpu, ran: self.ran, waited: self.waited }
    }
}

/// Ends a connection at once, with what is in its buffers.
fn abort(stream: &TcpStream) {
    // Where the connection has ended by itself, all is well.
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
