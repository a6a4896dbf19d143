//! Detection of split connections: ends that answer far sooner than they opened.
//!
//! A proxy, or the translator of a virtual machine, opens a connection when the host beyond it has.
//! From then on it acknowledges by itself (RFC 3135 section 2.4). The capture does not show the
//! part beyond it: the sender may wait for that part, and so may the reader.

use windlass_base::Span;
use windlass_base::thresholds::{
    LEAST_TIMER, MORE_THAN_ONE, SPLIT_FAR_SOONER, SPLIT_SOONER, SPLIT_WAY,
};
use windlass_macros::Packed;

/// Evidence that something else acknowledges for an end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SplitTcp {
    /// Time from the SYN to its answer.
    pub(crate) opening: Span,
    /// Least time from data to its ACK.
    pub(crate) soonest: Span,
}

/// Returns whether an ACK that took so long comes too soon for an end that took so long to open.
pub(crate) fn is_soon(wait: Span, opening: Span) -> bool {
    wait * SPLIT_SOONER.get() < opening
}

/// Counts of an end's ACKs by their latency, compared with its opening.
#[derive(Clone, Copy, Debug, Default, Packed)]
pub(crate) struct Answers {
    soon: u32,
    /// Number of ACKs as late as the opening.
    late: u32,
    /// Least latency of all.
    least: Span,
    /// True if one came far sooner than the opening.
    far_sooner: bool,
}

impl Answers {
    /// Takes an ACK that came so long after its data, from an end that took so long to open.
    #[inline]
    pub(crate) fn heard(&mut self, wait: Span, opening: Span) {
        if !is_soon(wait, opening) || opening - wait < SPLIT_WAY.get() {
            self.late = self.late.saturating_add(1);
            return;
        }
        self.least = if self.soon == 0 { wait } else { self.least.min(wait) };
        self.soon = self.soon.saturating_add(1);
        self.far_sooner |=
            wait * SPLIT_FAR_SOONER.get() < opening && opening - wait >= LEAST_TIMER.get();
    }

    /// Returns whether something else may have sent the ACKs.
    pub(crate) const fn may_be_of_another(&self) -> bool {
        self.far_sooner
    }

    /// Returns whether only a few ACKs came so soon, and most as late as the opening: then the
    /// path's own time is unknown.
    pub(crate) const fn are_few_soon(&self) -> bool {
        self.soon > 0 && self.soon < self.late
    }

    /// Returns the least latency, if most ACKs come too soon for the host that opened.
    pub(crate) fn soonest_of_another(&self) -> Option<Span> {
        (self.soon >= MORE_THAN_ONE.to::<u32>() && self.soon > self.late).then_some(self.least)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_ack_that_comes_far_sooner_may_be_anothers() {
        let heard = |wait: i64, opening: i64| {
            let mut answers = Answers::default();
            answers.heard(Span::from_micros(wait), Span::from_micros(opening));
            (answers.soonest_of_another().is_some(), answers.may_be_of_another())
        };
        assert_eq!(heard(430, 2_760_000), (false, true));
        assert_eq!(heard(430, 40_000), (false, false));
        assert_eq!(heard(100_000, 2_760_000), (false, false));
    }

    #[test]
    fn a_few_that_come_sooner_tell_of_no_path() {
        let few = |waits: &[i64]| {
            let mut answers = Answers::default();
            for wait in waits {
                answers.heard(Span::from_micros(*wait), Span::from_millis(30));
            }
            answers.are_few_soon()
        };
        assert!(few(&[100, 50_000, 50_000]));
        assert!(!few(&[100, 100, 50_000]), "mostly it answers so soon");
        assert!(!few(&[50_000, 30_100]), "none is sooner than the opening");
    }
}
