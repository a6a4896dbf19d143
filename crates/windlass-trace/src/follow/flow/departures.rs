//! Data as the accounts of the sender's program and of the path see it: the program's at the sender
//! alone.

use windlass_base::Span;
use windlass_base::thresholds::{SEVERAL_SEGMENTS, SLOW_REACTION};

use super::data::INITIAL_WINDOW;
use super::{Data, Flow};
use crate::estimate::active_rates::DELAYED;
use crate::estimate::program_pace::Departure;
use crate::estimate::token_bucket::Lost;
use crate::follow::outstanding::SegmentInFlight;
use crate::follow::sequence_gaps::SequenceGap;

impl Flow {
    /// Shows new data to the account of a token bucket, once more than an initial congestion window
    /// of it has been sent. Without a round trip the account is of no use.
    #[inline]
    pub(super) fn fill_bucket(&mut self, data: &Data) {
        let Some(rtt) = self.path.rtt else { return };
        if self.token_bucket.is_some() || self.counts.bytes > INITIAL_WINDOW * self.size.get() {
            let bucket = self.token_bucket.get_or_insert_default();
            bucket.sent(data.time, data.start, data.length, rtt);
        }
    }

    /// The wait for an ACK, or for the sender's own program, that this segment ends, as far as that
    /// is told: at the sender, where nothing is lost and no window closed.
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

    /// Shows a segment, and the wait that it ends, to the account of the sender's program.
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

    /// Shows a segment that is sent again to the account of a token bucket, with its first copy. A
    /// copy that was lost before it came to the capture is placed directly behind the last arrival:
    /// a policer drops what follows too soon.
    pub(super) fn empty_bucket(
        &mut self,
        data: &Data,
        first: Option<SegmentInFlight>,
        gap: Option<SequenceGap>,
    ) {
        let Some(bucket) = &mut self.token_bucket else { return };
        let size = self.size.get();
        let seen = first.map(|first| Lost {
            sent: first.time,
            offset: data.start,
            length: data.length.min(first.end.saturating_sub(data.start)),
            number: first.number,
            again: first.sent_again,
            is_super_packet: first.end - first.start > size,
            is_seen: true,
            late: None,
        });
        let unseen = gap.map(|gap| Lost {
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

    /// Counts how soon the sender sends behind an ACK that it waited for. Far from it that does
    /// not show.
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
