//! Losses, and what only seemed to be lost.

use windlass_base::thresholds::{A_QUARTER, BEFORE_TIMERS, MOST_OF_IT, NEARLY_ALL, SEVERAL};
use windlass_base::{Bytes, Span};

use super::Facts;
use crate::estimate::damaged_segments::DamagedSegments;
use crate::estimate::spurious::SlowTimer;
use crate::follow::ledger::WaitKind;
use crate::judge::checks::Checks;

impl Facts {
    /// Returns whether the receiver withholds its ACKs for longer than a sender's timer
    /// may run. It does so where timers ran out again and again and nothing was
    /// ever missing, or where its usual latency is that long.
    pub(crate) fn withholds_acks(&self) -> bool {
        let counts = &self.counts;
        let path = (self.path.rtt.unwrap_or_default() - self.capture.distance).or_zero();
        let own = self.acks.latency.median().unwrap_or_default() - path;
        let seen = counts.blind_timeouts + counts.withheld;
        // The receiver answers data that arrives out of order at once, so that much was lost. And
        // if data is lost, most timers run out for more than one segment.
        let lost = counts.duplicate_acks > seen + 2 || counts.timeouts * 2 > seen;
        counts.fast == 0 && (seen >= 3 && !lost || own >= BEFORE_TIMERS.get())
    }

    /// Retransmissions of data that was not lost.
    pub(crate) fn needless(&self) -> u64 {
        let blind = if self.withholds_acks() { self.counts.blind_timeouts } else { 0 };
        // The receiver's D-SACKs tell of each copy that it did not need.
        let twice = self.counts.d_sacks.min(self.counts.retransmissions);
        (self.counts.spurious + blind).max(twice).min(self.counts.retransmissions)
    }

    /// The sender's retransmission timer, where it runs far beyond what the path asks for,
    /// with the queues that ACKs stood in, and those that its data may have filled before it
    /// came here; and the longest usual round trip.
    pub(crate) fn slow_timer(&self) -> Option<(SlowTimer<'_>, Span)> {
        let latency = self.acks.latency.p90().unwrap_or_default() + self.capture.distance;
        let flight = Bytes::new(self.counts.flight_most);
        let line = self
            .data_line()
            .map(|line| line.rate)
            .or(self.line.capacity)
            .filter(|_| self.capture.is_far);
        let queued = line.map_or(Span::ZERO, |rate| rate.time_for(flight));
        let rtt = self.path.told_rtt?.max(latency).max(queued);
        Some((self.loss.in_vain.slow_timer(rtt)?, rtt))
    }

    /// Its timer, where it is slow and took most of the time that repair by it took.
    pub(crate) fn costly_timer(&self) -> Option<SlowTimer<'_>> {
        let (timer, _) = self.slow_timer().filter(|_| !self.loss.never_came_back)?;
        let repair = self.time_of_waits(|kind| kind == WaitKind::Timeout);
        (timer.waited * 2 > repair).then_some(timer)
    }

    /// Returns whether ACKs were lost, or came late, so often that it is the path's habit. Once or
    /// twice it may be a host that stood still. And where more than half of all segments came
    /// again, the capture may hold the conversation twice.
    pub(crate) fn loses_acks(&self) -> bool {
        let lost = self.loss.in_vain.acks_lost;
        lost >= SEVERAL.get() && lost * 2 <= self.counts.segments
    }

    /// Returns whether its repairs were mostly of what had been overtaken, and not lost.
    pub(crate) fn reorders(&self) -> bool {
        let (counts, vain) = (&self.counts, self.loss.in_vain.vain_repairs);
        vain >= SEVERAL.get()
            && vain as f64 >= counts.loss_events as f64 * MOST_OF_IT.get()
            && !self.repeats_unprompted()
    }

    /// Returns whether the sender repeats segments that had arrived without having been asked to:
    /// three duplicate ACKs come before a fast retransmit (RFC 5681 section 3.2), and one behind a
    /// copy that was not needed.
    pub(crate) fn repeats_unprompted(&self) -> bool {
        let (counts, needless) = (&self.counts, self.needless());
        needless >= SEVERAL.get()
            && needless as f64 >= counts.retransmissions as f64 * NEARLY_ALL.get()
            && counts.duplicate_acks <= needless
            && counts.d_sacks < SEVERAL.get()
            && counts.out_of_order == 0
    }

    /// Returns the number of timeouts before an ACK could come, per round trip.
    pub(crate) fn early_timers_per_round(&self) -> f64 {
        let rtt = self.round_trip();
        let rounds = self.time_busy().as_seconds() / rtt.max(Span::from_nanos(1)).as_seconds();
        self.loss.in_vain.early_repairs as f64 / rounds.max(1.0)
    }

    /// Returns whether its retransmission timer is shorter than the path's round trip.
    pub(crate) fn has_fast_timer(&self, checks: &mut Checks) -> bool {
        let counts = &self.counts;
        checks.at_least("sent again before an ACK could come", counts.early, SEVERAL)
            && checks.at_least("twice that", counts.early * 2, counts.retransmissions)
            && checks.at_least("in a round trip", self.early_timers_per_round(), A_QUARTER)
            || checks.is("it repeats without having been asked to", self.repeats_unprompted())
                && checks.at_least("repairs", counts.loss_events.max(counts.early), SEVERAL)
                && checks.at_least(
                    "duplicate ACKs, of copies",
                    counts.duplicate_acks * 2,
                    self.needless(),
                )
    }

    /// Returns the round trips from a loss to the next, on average.
    pub(crate) fn rounds_between_losses(&self) -> f64 {
        let rtt = self.round_trip().max(Span::from_nanos(1));
        let rounds = self.time_busy().as_seconds() / rtt.as_seconds();
        rounds / self.counts.loss_events.max(1) as f64
    }

    /// Returns whether something on the way made the receiver's SACK blocks useless.
    pub(crate) fn has_useless_sack(&self) -> bool {
        let (outside, all) = (self.counts.sacks_outside, self.counts.sack_blocks);
        outside >= SEVERAL.get() && outside as f64 >= all as f64 * NEARLY_ALL.get()
    }

    /// Returns what arrived damaged, where that is most of what was lost.
    pub(crate) fn damage(&self) -> Option<&DamagedSegments> {
        self.loss.damaged.as_ref().filter(|damaged| damaged.segments * 2 >= self.lost())
    }

    /// Segments that were lost: sent again, and not needlessly.
    pub(crate) fn lost(&self) -> u64 {
        self.counts.retransmissions - self.needless()
    }

    /// Returns whether anything proves that data was lost: some was sent again, and not
    /// needlessly.
    pub(crate) fn loses(&self) -> bool {
        self.lost() > 0
    }

    /// The share of segments that were lost: sent again, and not needlessly.
    pub(crate) fn loss_ratio(&self) -> f64 {
        self.counts.loss_ratio(self.needless())
    }
}
