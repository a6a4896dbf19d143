//! Counts of a capture.

/// The counts of a capture since it was opened.
///
/// The kernel resets its own counts on each read; these add up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Packets that passed the filter, dropped ones included.
    pub received: u64,
    /// Packets for which there was no room.
    pub dropped: u64,
    /// Number of times that the ring was full.
    pub freezes: u64,
}

impl std::ops::AddAssign for Statistics {
    fn add_assign(&mut self, other: Self) {
        self.received = self.received.saturating_add(other.received);
        self.dropped = self.dropped.saturating_add(other.dropped);
        self.freezes = self.freezes.saturating_add(other.freezes);
    }
}

impl std::iter::Sum for Statistics {
    fn sum<I: Iterator<Item = Self>>(counts: I) -> Self {
        counts.fold(Self::default(), |mut sum, counts| {
            sum += counts;
            sum
        })
    }
}
