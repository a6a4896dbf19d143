//! The time, for code that waits. A test moves the hand of its own clock, so that its result does
//! not depend on the machine's speed.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use windlass_base::{Span, Timestamp};

/// Returns the host's clock as the time since 1970. Returns zero for a clock set before 1970, which
/// is as good as none.
pub fn since_1970() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// Returns the host's clock as a point in time.
pub fn now() -> Timestamp {
    Timestamp::ZERO + Span::from_duration(since_1970())
}

/// A clock.
#[derive(Clone, Debug, Default)]
pub enum Clock {
    /// The system's clock.
    #[default]
    System,
    /// A clock whose hand a test moves.
    Hand(Hand),
}

impl Clock {
    /// Returns the time.
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
    /// Returns the clock of this hand.
    pub fn clock(&self) -> Clock {
        Clock::Hand(self.clone())
    }

    /// Moves the hand by this time.
    pub fn pass(&self, time: Duration) {
        let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.nanos.fetch_add(nanos, Ordering::SeqCst);
    }

    /// Returns the time that has passed.
    pub fn passed(&self) -> Duration {
        Duration::from_nanos(self.nanos.load(Ordering::SeqCst))
    }
}
