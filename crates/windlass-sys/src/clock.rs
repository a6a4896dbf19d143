//! What time it is, for whatever waits: a test moves the hand of its own clock,
//! and no result of it hangs on how fast a machine is.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use windlass_base::{Span, Timestamp};

/// What the host's clock says, as a time since 1970. One that is set before that is
/// as good as none: zero.
pub fn since_1970() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// The same as a point in time.
pub fn now() -> Timestamp {
    Timestamp::ZERO + Span::from_duration(since_1970())
}

/// A clock.
#[derive(Clone, Debug, Default)]
pub enum Clock {
    /// The system's.
    #[default]
    System,
    /// One whose hand a test moves.
    Hand(Hand),
}

impl Clock {
    /// What time it is.
    pub fn now(&self) -> Instant {
        match self {
            Self::System => Instant::now(),
            Self::Hand(hand) => hand.began + hand.passed(),
        }
    }
}

/// The hand of a clock: it stands still until it is moved.
#[derive(Clone, Debug)]
pub struct Hand {
    began: Instant,
    nanos: Arc<AtomicU64>,
}

impl Default for Hand {
    fn default() -> Self {
        Self { began: Instant::now(), nanos: Arc::default() }
    }
}

impl Hand {
    /// The clock that it is of.
    pub fn clock(&self) -> Clock {
        Clock::Hand(self.clone())
    }

    /// So much time passes.
    pub fn pass(&self, time: Duration) {
        let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.nanos.fetch_add(nanos, Ordering::SeqCst);
    }

    /// How much time has passed.
    pub fn passed(&self) -> Duration {
        Duration::from_nanos(self.nanos.load(Ordering::SeqCst))
    }
}
