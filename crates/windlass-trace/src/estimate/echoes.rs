//! Checks whether data echoes the newest ACK that has reached its sender.
//!
//! TCP echoes the last timestamp that it got (RFC 7323 section 4.3). Data may echo an older
//! timestamp than that of an ACK which should have reached its sender long before. Then the data
//! was made before that ACK came. Either something between the sender's TCP and the capture held
//! the data back (a traffic shaper, a virtual switch), or the ACK is late on its way.

use std::collections::VecDeque;

use windlass_base::thresholds::{ECHO_SILENCE, ENOUGH, HOST_DELAY, ONE_IN_HUNDRED};
use windlass_base::{Span, Timestamp};
use windlass_macros::Packed;

/// Maximum number of values that wait until they are settled, a quarter of the turn apart.
const MAX_PENDING: usize = 4;

/// The echoes of one direction's data.
#[derive(Clone, Debug, Default, Packed)]
pub(crate) struct Echoes {
    /// Last value that should have reached the sender long before.
    settled: Option<u32>,
    /// Later values, with the times of their capture.
    pending: VecDeque<(Timestamp, u32)>,
    /// Time before which all captured values are to be settled.
    due: Option<Timestamp>,
    told: u32,
    stale: u32,
}

impl Echoes {
    /// Takes an ACK with this value; `turn` is the way to the sender and back.
    pub(crate) fn acked(&mut self, time: Timestamp, value: u32, turn: Span) {
        self.settle(time - (turn + HOST_DELAY.get()));
        let apart = (turn + HOST_DELAY.get()) / 4;
        let is_next = |(last, _): &(Timestamp, u32)| time.since(*last) >= apart;
        if self.pending.len() < MAX_PENDING && self.pending.back().is_none_or(is_next) {
            self.pending.push_back((time, value));
        }
    }

    /// Takes new data with this echo, after a silence.
    #[inline]
    pub(crate) fn sent(&mut self, time: Timestamp, echo: u32, silence: Span, turn: Span) {
        let due = time - (turn + HOST_DELAY.get());
        if silence < ECHO_SILENCE.get() {
            // Nothing is asked yet.
            self.due = self.due.max(Some(due));
            return;
        }
        self.settle(due);
        let Some(settled) = self.settled else { return };
        self.told = self.told.saturating_add(1);
        // Before the settled one, by the numbers' own circle.
        self.stale += u32::from(echo.wrapping_sub(settled) >= 1 << 31);
    }

    /// Returns whether data repeatedly echoes older ACKs than its sender should have.
    pub(crate) fn are_stale(&self) -> bool {
        self.told >= ENOUGH.to::<u32>()
            && self.stale.saturating_mul(ONE_IN_HUNDRED.to::<u32>()) >= self.told
    }

    /// Settles the values captured before this time.
    #[inline]
    fn settle(&mut self, due: Timestamp) {
        let due = self.due.take().map_or(due, |before| before.max(due));
        while let Some((captured, value)) = self.pending.front().copied()
            && captured < due
        {
            self.pending.pop_front();
            self.settled = Some(value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: i64) -> Timestamp {
        Timestamp::from_nanos(millis * 1_000_000)
    }

    /// Twenty rounds of 20 ms: an ACK, and data so much later with this echo.
    fn rounds(later: i64, behind: u32) -> Echoes {
        let mut echoes = Echoes::default();
        for round in 0..20 {
            let (time, value) = (20 * i64::from(round), 1_000 + 20 * round);
            echoes.acked(at(time), value, Span::ZERO);
            let sent = at(time + later);
            echoes.sent(sent, value - behind, Span::from_millis(20), Span::ZERO);
        }
        echoes
    }

    #[test]
    fn data_that_waited_behind_its_tcp_echoes_what_is_old() {
        assert!(rounds(6, 20).are_stale());
        assert!(!rounds(6, 0).are_stale(), "a program that takes its time");
        assert!(!rounds(1, 20).are_stale(), "the ACK may not be there yet");
    }

    #[test]
    fn an_ack_on_its_way_is_not_there_yet() {
        let mut echoes = Echoes::default();
        for round in 0..20 {
            let (time, value) = (20 * i64::from(round), 1_000 + 20 * round);
            echoes.acked(at(time), value, Span::from_millis(10));
            echoes.sent(at(time + 9), value - 20, Span::from_millis(20), Span::from_millis(10));
        }
        assert!(!echoes.are_stale());
    }
}
