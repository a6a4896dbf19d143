//! Spurious retransmissions with their reasons, and the sender's retransmission timeout.

use windlass_base::thresholds::{MORE_THAN_ONE, SEVERAL_ROUNDS, SLOW_TIMER};
use windlass_base::{Span, Timestamp};
use windlass_macros::PackedSparsely;

use crate::follow::counts::Examples;

/// Spurious retransmissions by their reasons, as far as these show.
#[derive(Clone, Debug, Default, PartialEq, PackedSparsely)]
pub(crate) struct SpuriousRetransmissions {
    /// Segments whose ACK never reached the sender; and the end of the last of them.
    pub(crate) acks_lost: u64,
    heard: u64,
    /// Their packets.
    pub(crate) unheard: Examples,
    /// Repairs after duplicate ACKs whose first segment others had only overtaken, and the
    /// packets that began them.
    pub(crate) vain_repairs: u64,
    pub(crate) repeated: Examples,
    /// Packets sent by a timer shorter than the path, the number of its timeouts, and its least
    /// length.
    pub(crate) early: Examples,
    pub(crate) early_repairs: u64,
    pub(crate) early_timer: Option<Span>,
    /// End of the flight at the last retransmission that was not so early.
    late_until: u64,
    /// End of the flight when the sender took arrived data for lost. Retransmissions below that
    /// belong to the same repair.
    until: u64,
    /// Time of the last late data, which others had overtaken.
    late: Option<Timestamp>,
    /// Silences before the first retransmission by a timer: their number, their minimum, their sum,
    /// and the packets that ended them.
    timers: u32,
    least: Option<Span>,
    waited: Span,
    timed: Examples,
    /// Number of silences that ended with an ACK of more than the retransmitted data, without a
    /// duplicate ACK before.
    pub(crate) unanswered: u32,
}

/// Retransmission timer that runs too long.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SlowTimer<'a> {
    /// Least length of the timer.
    pub(crate) least: Span,
    /// Number of timeouts, without backed-off ones.
    pub(crate) count: u32,
    /// Total time of these waits.
    pub(crate) waited: Span,
    /// The packets that it sent.
    pub(crate) packets: &'a [u64],
}

impl SpuriousRetransmissions {
    /// Takes the packet that sent `start..end` again, because the sender had not got the ACK of
    /// that data.
    pub(crate) fn unheard(&mut self, start: u64, end: u64, number: u64) {
        // Each segment counts once, however often it was sent again.
        self.acks_lost += u64::from(start >= self.heard);
        self.heard = self.heard.max(end);
        self.unheard.add(number);
    }

    /// Takes data that came at this time, which others had overtaken.
    pub(crate) fn came_late(&mut self, time: Timestamp) {
        self.late = Some(time);
    }

    /// Returns whether late data came at most so long before.
    pub(crate) fn came_late_within(&self, span: Span, time: Timestamp) -> bool {
        self.late.is_some_and(|late| time.since(late) <= span)
    }

    /// Takes the packet that began a repair, and repeated data that others had only overtaken.
    pub(crate) fn vain_repair(&mut self, number: u64) {
        self.vain_repairs += 1;
        self.repeated.add(number);
    }

    /// Takes a retransmission that came too soon for an ACK of the first copy.
    pub(crate) fn repeated_early(&mut self, age: Span, begins: bool, number: u64) {
        self.early_repairs += u64::from(begins);
        self.early_timer = Some(self.early_timer.map_or(age, |least| least.min(age)));
        self.early.add(number);
    }

    /// Takes a retransmission at a time when its ACK might have come; the sender has sent up to
    /// `end`.
    pub(crate) fn sent_late(&mut self, end: u64) {
        self.late_until = self.late_until.max(end);
    }

    /// Returns whether a retransmission from `start` continues that one.
    pub(crate) fn follows_others(&self, start: u64) -> bool {
        start < self.late_until
    }

    /// Returns whether a retransmission from `start` belongs to the last repair.
    pub(crate) fn is_same_repair(&self, start: u64) -> bool {
        start < self.until
    }

    /// Returns whether a retransmission from `start` begins another repair; the sender has sent up
    /// to `end`.
    pub(crate) fn begins_repair(&mut self, start: u64, end: u64) -> bool {
        let begins = start >= self.until;
        if begins {
            self.until = end;
        }
        begins
    }

    /// Takes the first packet of a timeout, after such a silence.
    pub(crate) fn timed(&mut self, silence: Span, number: u64) {
        self.timers = self.timers.saturating_add(1);
        self.least = Some(self.least.map_or(silence, |least| least.min(silence)));
        self.waited += silence;
        self.timed.add(number);
    }

    /// Returns the minimum timeout, if enough timeouts occurred.
    pub(crate) fn timer(&self) -> Option<Span> {
        self.least.filter(|_| self.timers >= MORE_THAN_ONE.to::<u32>())
    }

    /// Returns whether most silences may be of lost ACKs as well as of lost data.
    pub(crate) fn may_be_of_acks(&self) -> bool {
        self.unanswered * 2 > self.timers
    }

    /// Returns the timer, if it runs far beyond the need of round trips of at most `rtt`.
    pub(crate) fn slow_timer(&self, rtt: Span) -> Option<SlowTimer<'_>> {
        let least = self
            .timer()
            .filter(|least| *least >= SLOW_TIMER.get() && *least >= rtt * SEVERAL_ROUNDS.get())?;
        let (count, waited) = (self.timers, self.waited);
        Some(SlowTimer { least, count, waited, packets: self.timed.as_slice() })
    }
}
