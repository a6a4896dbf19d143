//! Items that others may overtake, by the time of their arrival.

use std::cmp::Ordering;

use super::Held;

/// An item in a heap whose top is the next to arrive. Of two that arrive at
/// once, the one that was handed in first comes first.
#[derive(Clone, Debug)]
pub(super) struct Straggler<T> {
    pub(super) held: Held<T>,
    /// Its number among all that were handed in.
    pub(super) turn: u64,
}

impl<T> Ord for Straggler<T> {
    /// The earliest is the greatest, which is what a heap gives first.
    fn cmp(&self, other: &Self) -> Ordering {
        (other.held.arrives, other.turn).cmp(&(self.held.arrives, self.turn))
    }
}

impl<T> PartialOrd for Straggler<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> PartialEq for Straggler<T> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl<T> Eq for Straggler<T> {}
