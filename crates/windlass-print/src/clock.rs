//! What time it is, for whatever waits: a test moves the hand of its own clock,
//! and no result of it hangs on how fast a machine is.

use std::time::Instant;

/// A clock.
#[derive(Clone, Debug, Default)]
pub(crate) enum Clock {
    /// The system's.
    #[default]
    System,
    /// One whose hand a test moves.
    #[cfg(test)]
    Hand(hand::Hand),
}

impl Clock {
    pub(crate) fn now(&self) -> Instant {
        match self {
            Self::System => Instant::now(),
            #[cfg(test)]
            Self::Hand(hand) => hand.now(),
        }
    }
}

#[cfg(test)]
pub(crate) mod hand {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::time::{Duration, Instant};

    use super::Clock;

    /// The hand of a clock: it stands still until it is moved.
    #[derive(Clone, Debug)]
    pub(crate) struct Hand {
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
        pub(crate) fn clock(&self) -> Clock {
            Clock::Hand(self.clone())
        }

        /// So much time passes.
        pub(crate) fn pass(&self, time: Duration) {
            let nanos = u64::try_from(time.as_nanos()).expect("some centuries");
            self.nanos.fetch_add(nanos, Ordering::SeqCst);
        }

        /// How much time has passed.
        pub(crate) fn passed(&self) -> Duration {
            Duration::from_nanos(self.nanos.load(Ordering::SeqCst))
        }

        pub(super) fn now(&self) -> Instant {
            self.began + self.passed()
        }
    }
}
