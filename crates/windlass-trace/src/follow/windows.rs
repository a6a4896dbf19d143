//! The windows that a receiver offers.

use std::cmp::Reverse;

use windlass_base::Bytes;
use windlass_macros::Packed;

/// The largest window without window scaling (RFC 9293 section 3.1).
pub(crate) const UNSCALED: u64 = 65_535;
/// The largest shift of the window scale option (RFC 7323 section 2.3).
pub(crate) const MOST_SCALE: u8 = 14;

/// Number of different windows counted separately.
const MAX: usize = 16;

/// Counter for the window that a receiver offers most often, in bounded memory (Misra and Gries
/// 1982). A window that makes up more than a seventeenth of all is never missed.
#[derive(Clone, Debug, Default, Packed)]
pub(crate) struct Windows {
    counts: Vec<(u64, u64)>,
    pub(crate) seen: u64,
}

impl Windows {
    pub(crate) fn record(&mut self, window: u64) {
        self.seen += 1;
        if let Some((_, count)) = self.counts.iter_mut().find(|(known, _)| *known == window) {
            *count += 1;
        } else if self.counts.len() < MAX {
            self.counts.push((window, 1));
        } else {
            self.counts.retain_mut(|(_, count)| {
                *count -= 1;
                *count > 0
            });
        }
    }

    /// Keeps the windows that were offered most often.
    pub(crate) fn shrink(&mut self, most: usize) {
        if self.counts.len() > most {
            self.counts.sort_unstable_by_key(|(window, count)| Reverse((*count, *window)));
            self.counts.truncate(most);
        }
    }

    /// Returns the window offered most often, and of equals the largest; if they hardly repeat, the
    /// largest of those at hand.
    pub(crate) fn usual(&self) -> Option<Bytes> {
        let usual = self.counts.iter().max_by_key(|(window, count)| (*count, *window));
        usual.map(|(window, _)| Bytes::new(*window))
    }

    /// Returns the share of all windows that were the usual one, to the byte; `closed` windows were
    /// offered beside those that were recorded.
    pub(crate) fn usual_share(&self, closed: u64) -> f64 {
        let most = self.counts.iter().map(|(_, count)| *count).max();
        most.unwrap_or_default() as f64 / (self.seen + closed).max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_window_is_found_among_many() {
        let mut windows = Windows::default();
        assert_eq!(windows.usual(), None);
        for step in 0..10_000_u64 {
            windows.record(if step % 4 == 0 { 16_704 } else { step });
        }
        assert_eq!(windows.usual(), Some(Bytes::new(16_704)));
        assert!(windows.counts.len() <= MAX);
    }
}
