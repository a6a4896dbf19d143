//! What was sent again though its data had arrived, and why; and how long the sender's
//! timer runs before it sends again.

use windlass_base::thresholds::{MORE_THAN_ONE, SEVERAL_ROUNDS, SLOW_TIMER};
use windlass_base::{Span, Timestamp};
use windlass_macros::PackedSparsely;

use crate::follow::counts::Examples;

/// Why segments were sent again in vain, as far as it shows.
#[derive(Clone, Debug, Default, PartialEq, PackedSparsely)]
pub(crate) struct SpuriousRetransmissions {
    /// Segments whose ACK never reached the sender; and behind the last of them.
    pub(crate) acks_lost: u64,
    heard: u64,
    /// Their packets.
    pub(crate) unheard: Examples,
    /// Repairs after duplicate ACKs whose first segment others had only overtaken, and the
    /// packets that began them.
    pub(crate) vain_repairs: u64,
    pub(crate) repeated: Examples,
    /// Packets that a timer shorter than the path sent, how often it ran out, and how long it ran
    /// at least.
    pub(crate) early: Examples,
    pub(crate) early_repairs: u64,
    pub(crate) early_timer: Option<Span>,
    /// The end of its flight when it last sent something again that was not so early.
    late_until: u64,
    /// The end of its flight when it took data for lost that was not. What it sends again below
    /// that is of the same repair.
    until: u64,
    /// The time when data last came late that others had overtaken.
    late: Option<Timestamp>,
    /// The silences before the first retransmission by a timer: how many, the least, all
    /// of them, and the packets that ended them.
    timers: u32,
    least: Option<Span>,
    waited: Span,
    timed: Examples,
    /// Those of them that ended with an ACK of more than was sent again, and before which
    /// no duplicate ACK came.
    pub(crate) unanswered: u32,
}

/// A retransmission timer that runs for long.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SlowTimer<'a> {
    /// The time for which, at least.
    pub(crate) least: Span,
    /// How often it ran out, but for the times that it was doubled.
    pub(crate) count: u32,
    /// The time for which that took.
    pub(crate) waited: Span,
    /// The packets that it sent.
    pub(crate) packets: &'a [u64],
}

impl SpuriousRetransmissions {
    /// The packet sent `start..end` again, and the sender had not heard the ACK of that.
    pub(crate) fn unheard(&mut self, start: u64, end: u64, number: u64) {
        // Each segment counts once, however often it was sent again.
        self.acks_lost += u64::from(start >= self.heard);
        self.heard = self.heard.max(end);
        self.unheard.add(number);
    }

    /// Others had overtaken what came at this time.
    pub(crate) fn came_late(&mut self, time: Timestamp) {
        self.late = Some(time);
    }

    /// Returns whether that was so at most so long before.
    pub(crate) fn came_late_within(&self, span: Span, time: Timestamp) -> bool {
        self.late.is_some_and(|late| time.since(late) <= span)
    }

    /// The packet began a repair, and brought again what others had overtaken.
    pub(crate) fn vain_repair(&mut self, number: u64) {
        self.vain_repairs += 1;
        self.repeated.add(number);
    }

    /// The packet was sent again so soon that no ACK of the first copy could have come.
    pub(crate) fn repeated_early(&mut self, age: Span, begins: bool, number: u64) {
        self.early_repairs += u64::from(begins);
        self.early_timer = Some(self.early_timer.map_or(age, |least| least.min(age)));
        self.early.add(number);
    }

    /// Something was sent again when its ACK might have come; the sender has sent up to `end`.
    pub(crate) fn sent_late(&mut self, end: u64) {
        self.late_until = self.late_until.max(end);
    }

    /// Returns whether what is sent again from `start` goes on with that.
    pub(crate) fn follows_others(&self, start: u64) -> bool {
        start < self.late_until
    }

    /// Returns whether what was sent again from `start` is of the repair that began last.
    pub(crate) fn is_same_repair(&self, start: u64) -> bool {
        start < self.until
    }

    /// Returns whether what was sent again from `start` begins another repair; the sender has
    /// sent up to `end`.
    pub(crate) fn begins_repair(&mut self, start: u64, end: u64) -> bool {
        let begins = start >= self.until;
        if begins {
            self.until = end;
        }
        begins
    }

    /// The packet was the first that a timer sent, after such a silence.
    pub(crate) fn timed(&mut self, silence: Span, number: u64) {
        self.timers = self.timers.saturating_add(1);
        self.least = Some(self.least.map_or(silence, |least| least.min(silence)));
        self.waited += silence;
        self.timed.add(number);
    }

    /// How long the timer runs, at least, where it ran out often enough to tell.
    pub(crate) fn timer(&self) -> Option<Span> {
        self.least.filter(|_| self.timers >= MORE_THAN_ONE.to::<u32>())
    }

    /// Returns whether most silences may be of lost ACKs as well as of lost data.
    pub(crate) fn may_be_of_acks(&self) -> bool {
        self.unanswered * 2 > self.timers
    }

    /// The timer, where it runs far beyond what round trips of at most `rtt` ask for.
    pub(crate) fn slow_timer(&self, rtt: Span) -> Option<SlowTimer<'_>> {
        let least = self
            .timer()
            .filter(|least| *least >= SLOW_TIMER.get() && *least >= rtt * SEVERAL_ROUNDS.get())?;
        let (count, waited) = (self.timers, self.waited);
        Some(SlowTimer { least, count, waited, packets: self.timed.as_slice() })
    }
}
