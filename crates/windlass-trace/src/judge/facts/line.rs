//! Lines and queues of the path, and the connections that share them.

use windlass_base::thresholds::{
    A_TENTH, A_TENTH_MORE, AGGREGATE_ROUNDS, EVEN_SPACING, LARGE_PART, MOST_OF_IT, SEVERAL,
};
use windlass_base::{Bytes, Rate, Span};

use super::Facts;
use crate::estimate::arrivals::Aggregate;
use crate::estimate::far::FarLimit;
use crate::estimate::loss_pattern::FullQueue;
use crate::estimate::packet_pairs::Pace;
use crate::estimate::shared_bottlenecks::FullTimes;
use crate::estimate::trains::LineSpacing;

impl Facts {
    /// Returns the mean flight in bytes: the rate times the round trip (Little 1961).
    pub(crate) fn mean_flight(&self) -> f64 {
        let time = self.time_in_all().as_seconds().max(1e-9);
        self.sent.bytes as f64 / time * self.round_trip().as_seconds()
    }

    /// The line that spaced its data on the way here. At the sender it is the sender that
    /// spaces it.
    pub(crate) fn data_line(&self) -> Option<LineSpacing> {
        let is_written = self.far.limit == Some(FarLimit::Program);
        if self.capture.is_far && !is_written { self.line.of_data } else { None }
    }

    /// The line that spaced its ACKs on the way here. Far from the sender they have not passed
    /// all of the path.
    pub(crate) fn ack_line(&self) -> Option<LineSpacing> {
        if self.capture.is_far { None } else { self.line.of_acks }
    }

    /// Returns the rate of the narrowest place behind the sender. Far from it, bursts are parted
    /// before they come to the capture.
    pub(crate) fn service(&self) -> Option<Pace> {
        self.line.service.filter(|_| !self.capture.is_far)
    }

    /// The shortest time between two full segments: what one takes on the line, at the most.
    pub(crate) fn packet_time(&self) -> Option<Span> {
        self.line.packet_times.least()
    }

    /// Returns the distance of the closest full segments here: one pair of ten comes closer, as
    /// hosts that stand still for a moment hand on two at once.
    pub(crate) fn closest(&self) -> Option<Span> {
        self.line.packet_times.p10().filter(|time| *time > Span::ZERO)
    }

    /// Returns the spacing by the path's narrowest line, whoever had more to send.
    pub(crate) fn spacing(&self) -> Option<LineSpacing> {
        self.line.spacing
    }

    /// The line that it shared with others, where its sender shows it: what all of them sent stays
    /// the same, hardly below the most that they sent, and data waits for the line. At a sender
    /// that alone tells a line that is full from losses that come to each by chance.
    pub(crate) fn shared_queue(&self) -> Option<Aggregate> {
        let rtt = self.path.told_rtt?;
        let is_full =
            |line: &Aggregate| line.is_steady() && line.span >= rtt * AGGREGATE_ROUNDS.get();
        self.shared().filter(|line| {
            !self.capture.is_far && self.round_trips_exceed(A_TENTH_MORE.get()) && is_full(line)
        })
    }

    /// Returns the data of several connections, where that may be what a line carries which they
    /// fill.
    pub(crate) fn may_share_queue(&self) -> Option<Aggregate> {
        self.line.aggregate.filter(|all| {
            all.is_line || all.is_steady() && self.round_trips_exceed(A_TENTH_MORE.get())
        })
    }

    /// The queue that drops what is lost, where it is full then. Where nothing tells on which side
    /// of it the capture was taken, nothing tells what is late there.
    pub(crate) fn full_queue(&self) -> Option<FullQueue> {
        let shows = |queue: &FullQueue| {
            let rtt = self.path.told_rtt.unwrap_or_default();
            self.capture.is_far || queue.wait >= rtt.scaled(A_TENTH_MORE.get() - 1.0)
        };
        self.line.full_queue.filter(|queue| self.loses_when_full() && shows(queue))
    }

    /// Returns whether what is lost is lost when a queue is full, however short it is.
    pub(crate) fn loses_when_full(&self) -> bool {
        self.lost_queue().is_some_and(|queue| queue.is_sure)
    }

    /// The queue that drops what is lost, or may be.
    fn lost_queue(&self) -> Option<FullQueue> {
        let is_told = self.capture.distance > Span::ZERO || !self.capture.is_far;
        self.line.full_queue.filter(|_| is_told && self.line.policer.is_none())
    }

    /// The queue that others fill: this connection has little of the line behind it then, by
    /// the pace of its bursts. Where no pace is known they may.
    pub(crate) fn queue_of_others(&self) -> Option<FullQueue> {
        // The closest spacing of any segments gives no less than the pace.
        let pace = self.line_pace().or_else(|| self.closest_rate());
        let alone = pace.map(|rate| rate.bytes_per_second() * LARGE_PART.get());
        let has_little = |rate: Rate| alone.is_none_or(|alone| rate.bytes_per_second() < alone);
        self.full_queue().filter(|queue| has_little(queue.rate))
    }

    /// Returns whether others may fill a queue that loses this data, and nothing here tells: what
    /// is lost comes late, but not late enough. Or it was captured far from its sender, who sends
    /// no timestamps, or on this side of where it is lost, and has less than most of what its
    /// closest segments show of the line.
    pub(crate) fn may_hide_queue(&self, measured: Rate) -> bool {
        if self.lost_queue().is_some() {
            return self.full_queue().is_none();
        }
        let most = self.closest_rate().map(|rate| rate.bytes_per_second() * MOST_OF_IT.get());
        self.capture.is_far
            && !self.line.tells_lateness
            && self.counts.loss_events >= SEVERAL.get()
            && most.is_none_or(|most| measured.bytes_per_second() < most)
    }

    /// The pace of the line whose queue others are known to fill.
    pub(crate) fn pace_beside_others(&self) -> Option<Rate> {
        self.line_pace().filter(|_| self.queue_of_others().is_some())
    }

    /// The pace at which bursts pass the line, whoever has how much of it: behind the sender, and
    /// far from it where most full segments come as close as the closest do.
    pub(crate) fn line_pace(&self) -> Option<Rate> {
        let alike = |time: &Span| {
            let usual = self.line.packet_times.median();
            usual.is_some_and(|usual| usual <= time.scaled(EVEN_SPACING.get()))
        };
        let far = self.closest_rate().filter(|_| self.closest().as_ref().is_some_and(alike));
        self.service().map(|pace| pace.rate).or(far)
    }

    /// Returns the rate at which full segments come that are closest to each other, far from the
    /// sender. If a card joins them, this rate does not show.
    fn closest_rate(&self) -> Option<Rate> {
        let closest =
            self.closest().filter(|_| self.capture.is_far && self.counts.super_packets == 0)?;
        Some(Bytes::new(self.window.segment).per(closest))
    }

    /// Returns the rate of the line that the connection fills alone. Behind the sender this is the
    /// pace of bursts. Far from the sender it is the fastest rate, or that of most full segments,
    /// which a moment's lateness changes less.
    pub(crate) fn line_rate(&self) -> Option<Rate> {
        let usual = self.line.packet_times.median().filter(|_| self.counts.super_packets == 0);
        let usual = usual.map(|time| Bytes::new(self.window.segment).per(time));
        let fastest = self.line.capacity.filter(|_| self.capture.is_far);
        let fastest = fastest.map(|rate| usual.map_or(rate, |usual| usual.min(rate)));
        self.service().map(|pace| pace.rate).or(fastest)
    }

    /// The line that it shared with other connections, where what came over all of them tells, or
    /// a queue that it does not fill alone.
    pub(crate) fn shared(&self) -> Option<Aggregate> {
        let is_full = |all: &Aggregate| all.is_steady() && self.queue_of_others().is_some();
        self.line.aggregate.filter(|all| all.is_line || is_full(all))
    }

    /// Returns the times in which the line to its receiver was full, by the spacing of all that
    /// came over this connection and others: no window and no program of this one made that.
    pub(crate) fn full_times(&self) -> Option<&FullTimes> {
        let own = self.counts.bytes as f64;
        let is_shared = |line: &&FullTimes| line.bytes.get() as f64 * (1.0 - A_TENTH.get()) >= own;
        self.line.full_times.as_ref().filter(|_| self.capture.is_far).filter(is_shared)
    }

    /// Returns the rate of the shared line, and its number of connections.
    pub(crate) fn shared_line(&self) -> Option<(Rate, u64)> {
        let full = self.full_times().map(|line| (line.rate, line.connections));
        full.or_else(|| self.shared().map(|line| (line.rate, line.connections)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::fixture::{
        OrdinaryTransfer, RTT, STEP, full_queue, line, pace, quantiles, times,
    };
    use windlass_base::thresholds::MOST_OF_IT;

    /// The rate that a transfer has of a line whose queue is full.
    fn rate() -> Rate {
        Rate::from_bytes_per_second(1e6)
    }

    /// Returns a transfer that loses data of a full queue.
    fn losing(mut transfer: OrdinaryTransfer) -> OrdinaryTransfer {
        transfer.facts.line.full_queue = Some(full_queue(rate()));
        transfer
    }

    #[test]
    fn a_full_queue_shows_near_the_sender_by_how_long_data_waits() {
        let has_queue = |wait, mut transfer: OrdinaryTransfer| {
            transfer.facts.line.full_queue = Some(FullQueue { wait, ..full_queue(rate()) });
            transfer.facts.full_queue().is_some()
        };
        let least = RTT.scaled(A_TENTH_MORE.get() - 1.0);
        assert!(
            has_queue(least, OrdinaryTransfer::new())
                && !has_queue(least - STEP, OrdinaryTransfer::new())
        );
        assert!(has_queue(STEP, OrdinaryTransfer::far()));
    }

    #[test]
    fn others_fill_a_queue_of_a_line_with_a_faster_pace() {
        let has_others = |factor| {
            let mut transfer = losing(OrdinaryTransfer::new());
            transfer.facts.line.service = Some(pace(times(rate(), factor / LARGE_PART.get())));
            transfer.facts.queue_of_others().is_some()
        };
        assert!(has_others(1.0 + 1e-9) && !has_others(1.0 - 1e-9));
        assert!(losing(OrdinaryTransfer::new()).facts.queue_of_others().is_some());
    }

    #[test]
    fn far_away_the_closest_segments_tell_the_pace() {
        let mut transfer = losing(OrdinaryTransfer::far());
        let each = rate().time_for(Bytes::new(transfer.facts.window.segment));
        let alone = each.scaled(LARGE_PART.get());
        let mut has_others = |time, joined| {
            transfer.facts.line.packet_times = quantiles([time]);
            transfer.facts.counts.super_packets = joined;
            transfer.facts.queue_of_others().is_some()
        };
        assert!(has_others(alone - STEP, 0) && !has_others(alone + STEP, 0));
        assert!(has_others(alone + STEP, 1));
    }

    #[test]
    fn far_away_most_segments_come_as_close_as_the_closest() {
        let mut transfer = OrdinaryTransfer::far();
        let closest = Span::from_millis(1);
        let mut has_pace = |usual| {
            let times = (0..10).map(|pair| if pair == 0 { closest } else { usual });
            transfer.facts.line.packet_times = quantiles(times);
            transfer.facts.line_pace().is_some()
        };
        let most = closest.scaled(EVEN_SPACING.get());
        assert!(has_pace(most) && !has_pace(most + STEP));
    }

    #[test]
    fn a_shared_line_is_steady_where_its_queue_is_of_others() {
        let mut transfer = losing(OrdinaryTransfer::new());
        let mut sum = Aggregate {
            is_line: false,
            rate: rate(),
            busy: 1.0,
            connections: 2,
            mean: times(rate(), MOST_OF_IT.get()),
            most: rate(),
            own: rate(),
            span: RTT,
        };
        let mut is_shared = |sum| {
            transfer.facts.line.aggregate = Some(sum);
            transfer.facts.shared().is_some()
        };
        assert!(is_shared(sum));
        sum.mean = times(rate(), MOST_OF_IT.get() - 1e-9);
        assert!(!is_shared(sum));
        sum.is_line = true;
        assert!(is_shared(sum));
    }

    #[test]
    fn a_line_spaces_data_far_from_a_sender_whose_program_does_not() {
        let mut transfer = OrdinaryTransfer::new();
        transfer.facts.line.of_data = Some(line(rate()));
        assert!(transfer.facts.data_line().is_none());
        transfer.facts.capture.is_far = true;
        assert!(transfer.facts.data_line().is_some());
        transfer.facts.far.limit = Some(FarLimit::Program);
        assert!(transfer.facts.data_line().is_none());
    }

    #[test]
    fn a_queue_is_told_where_the_captures_place_is_known() {
        let mut transfer = losing(OrdinaryTransfer::far());
        assert!(transfer.facts.loses_when_full());
        transfer.facts.capture.distance = Span::ZERO;
        assert!(!transfer.facts.loses_when_full());
        transfer.facts.capture.is_far = false;
        assert!(transfer.facts.loses_when_full());
    }
}
