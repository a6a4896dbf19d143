//! Evidence of departures for the sender's program and for the path: the program's only at the
//! sender.

use windlass_base::Span;
use windlass_base::thresholds::{SEVERAL_SEGMENTS, SLOW_REACTION};

use super::data::INITIAL_WINDOW;
use super::{Data, Flow};
use crate::estimate::active_rates::DELAYED;
use crate::estimate::program_pace::Departure;
use crate::estimate::token_bucket::LostSegment;
use crate::follow::outstanding::SegmentInFlight;
use crate::follow::sequence_gaps::SequenceGap;

impl Flow {
    /// Adds new data to the token bucket's evidence, once more than an initial congestion window
    /// has been sent. Without a round trip the evidence is of no use.
    #[inline]
    pub(super) fn fill_bucket(&mut self, data: &Data) {
        let Some(rtt) = self.path.rtt else { return };
        if self.token_bucket.is_some() || self.counts.bytes > INITIAL_WINDOW * self.size.get() {
            let bucket = self.token_bucket.get_or_insert_default();
            bucket.sent(data.time, data.start, data.length, rtt);
        }
    }

    /// Returns the wait for an ACK, or for the sender's own program, that this segment ends, if
    /// known. It is known at the sender, without loss and without a closed window.
    #[inline]
    pub(super) fn told_wait(&self, data: &Data) -> Option<Departure> {
        let wait = self.since_data(data.time).filter(|wait| *wait > SLOW_REACTION.get())?;
        let is_told = self.path.turn == Span::ZERO
            && self.heard
            && self.closure.is_none()
            && self.recovery.is_none()
            && self.timeouts.count == 0
            && self.duplicates == 0
            && self.peer_sent.is_none();
        is_told.then(|| self.departure(data, wait))
    }

    fn departure(&self, data: &Data, wait: Span) -> Departure {
        let flight = self.flight();
        // Between two ACKs the next one tells whether the last one woke the program.
        let waking = if flight == 0 { self.waking() } else { Span::ZERO };
        Departure {
            time: data.time,
            length: data.length,
            size: self.size.get(),
            flight,
            wait,
            acked: self.last_advance.filter(|_| self.acks_since_data > 0),
            rtt: self.path.rtt,
            reaction: SLOW_REACTION.get().max(self.line_time()).max(waking),
        }
    }

    /// Adds a segment, and the wait that it ends, to the evidence of the sender's program.
    #[inline]
    pub(super) fn count_departure(&mut self, data: &Data, wait: Option<&Departure>) {
        if wait.is_some() {
            self.program_pace.get_or_insert_default();
        }
        let Some(pace) = &mut self.program_pace else { return };
        match wait {
            Some(departure) => pace.departed(departure),
            None => pace.goes_on(),
        }
        let room = self.edge.saturating_sub(data.start + data.length);
        pace.sent(data.length, self.size.get(), data.pushed, room);
    }

    /// Adds a retransmission to the token bucket's evidence, with its first copy. A copy that was
    /// lost before the capture is placed directly behind the last arrival: a policer drops data
    /// that follows too soon.
    pub(super) fn empty_bucket(
        &mut self,
        data: &Data,
        first: Option<SegmentInFlight>,
        gap: Option<SequenceGap>,
    ) {
        let Some(bucket) = &mut self.token_bucket else { return };
        let size = self.size.get();
        let seen = first.map(|first| LostSegment {
            sent: first.time,
            offset: data.start,
            length: data.length.min(first.end.saturating_sub(data.start)),
            number: first.number,
            again: first.sent_again,
            is_super_packet: first.end - first.start > size,
            is_seen: true,
            late: None,
        });
        let unseen = gap.map(|gap| LostSegment {
            sent: gap.after,
            offset: data.start,
            length: data.length,
            number: data.number,
            again: None,
            is_super_packet: false,
            is_seen: false,
            late: gap.came.map(|sample| sample.late),
        });
        bucket.sent_again(data.time, seen.or(unseen), data.length);
    }

    /// Counts the sender's reaction to an ACK for which it waited. Far from the sender the reaction
    /// does not show.
    pub(super) fn count_reaction(&mut self, data: &Data, gap: Span) {
        if self.path.turn > Span::ZERO {
            return;
        }
        if self.acks_since_data == 0 {
            self.counts.unprompted += u64::from(gap > SLOW_REACTION.get());
            return;
        }
        self.counts.reactions += 1;
        self.counts.slow_reactions += u64::from(gap > SLOW_REACTION.get());
        let drained = self.flight() <= DELAYED * self.size.get()
            && self.acks_since_data >= SEVERAL_SEGMENTS.to::<u32>();
        self.counts.drained += u64::from(drained);
        if let Some(releases) = &mut self.message_releases
            && let Some(wait) = self.last_data.map(|last| data.time.since(last))
            && wait > SLOW_REACTION.get()
        {
            releases.waited(wait, self.message_last);
        }
    }
}
