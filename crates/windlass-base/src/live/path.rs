//! Evidence of the path: round trips, losses and rates.

use super::facts::Facts;
use crate::thresholds::{
    BEATS_LAW, BEYOND_JITTER, FEW_SLICES, FREQUENT_LOSS, KERNEL_QUEUE_DELAY, LONGER_AT_LOSS,
    MANY_LOST, MOST_OF_IT, MOSTLY_PATH, NEAR_LONGEST, NEARLY_BEST, OUTAGE, OUTAGE_TRIPS,
    PERHAPS_STEADY_DELIVERY, POLICED_SEGMENTS, QUEUED_MESSAGES, REORDERED, SPURIOUS_REPAIRS,
    STEADY_DELIVERY, STEADY_SLICES, Threshold, UNHEEDED_LOSS,
};
use crate::{Bytes, Rate, Span, laws};

impl Facts {
    /// Returns the RTT of the idle path. The kernel's own minimum may come from time stamps of a
    /// millisecond.
    pub(super) fn base(&self) -> Option<Span> {
        self.idle.map(|idle| idle.least).or(self.least_rtt)
    }

    /// Returns the median RTT of the idle path.
    fn typical(&self) -> Option<Span> {
        self.idle.map(|idle| idle.p50).or_else(|| self.base())
    }

    /// Returns the lowest known RTT. That of a small message includes both programs, which on a
    /// short path is most of it.
    pub(super) fn least(&self) -> Option<Span> {
        // Once segments are retransmitted, the kernel measures by time stamps.
        let own = self.least_rtt.filter(|_| self.retransmissions == 0);
        self.base().into_iter().chain(own).min()
    }

    /// Returns whether RTTs under load exceed the idle path's.
    pub(super) fn is_late(&self) -> bool {
        let known = self.base().zip(self.rtt);
        known.is_some_and(|(base, rtt)| is_longer(rtt, base))
    }

    /// Returns whether the idle path makes up most of an RTT.
    pub(super) fn is_mostly_path(&self) -> bool {
        let known = self.base().zip(self.rtt);
        known.is_some_and(|(base, rtt)| rtt < base.scaled(MOSTLY_PATH.get()))
    }

    /// Returns whether RTTs exceeded idle ones while data was lost. On a path that loses for other
    /// reasons than a full queue, losses are independent of the queue.
    pub(super) fn is_late_at_losses(&self) -> bool {
        let at_loss = self.loss_rtt.zip(self.typical());
        at_loss.is_some_and(|(rtt, idle)| is_longer(rtt, idle)) || self.is_longest_at_losses()
    }

    /// Returns whether RTTs at losses were near the maximum and above the mean, as before a short
    /// queue. Other causes of long RTTs, such as delayed ACKs, are independent of losses.
    fn is_longest_at_losses(&self) -> bool {
        let known = self.loss_rtt.zip(self.max_rtt).zip(self.base());
        known.is_some_and(|((rtt, most), base)| {
            rtt - base >= (most - base).scaled(NEAR_LONGEST.get())
                && rtt - base > KERNEL_QUEUE_DELAY.get()
                && rtt > self.rtt.unwrap_or_default().scaled(LONGER_AT_LOSS.get())
        })
    }

    /// Returns whether losses came from a full queue. With few segments in flight RTTs grow, too,
    /// as ACKs are delayed until a second segment. Small messages do not wait for those. Without
    /// messages, such RTTs are the same with and without losses.
    pub(super) fn loses_in_a_queue(&self) -> bool {
        let Some((rtt, idle)) = self.loss_rtt.zip(self.typical()) else { return false };
        let is_queue = match self.loaded {
            None => rtt > self.rtt.unwrap_or_default().scaled(LONGER_AT_LOSS.get()),
            Some(loaded) => {
                // At high loss, the slowest messages are lost, too.
                let few = self.loss() < MANY_LOST.get();
                let most = loaded.p90.filter(|_| few).unwrap_or(loaded.p50);
                most - idle >= (rtt - idle).scaled(QUEUED_MESSAGES.get())
            }
        };
        self.is_longest_at_losses() || is_longer(rtt, idle) && is_queue
    }

    /// Returns whether data may wait in a queue of the path.
    pub(super) fn may_be_queued(&self) -> bool {
        let Some(base) = self.base().filter(|_| !self.is_loopback) else { return false };
        // Small messages beside the test wait in the same queue, but a receiver with slow ACKs does
        // not delay them. Hosts that answer slowly do so without load, too.
        let messages = match (self.idle, self.loaded) {
            (Some(idle), Some(loaded)) => is_longer(loaded.p50, idle.p50),
            (None, Some(loaded)) => is_longer(loaded.p50, base),
            (_, None) => true,
        };
        messages && self.is_late()
    }

    /// Returns whether a queue of the path never empties, as with a window larger than the path's
    /// bandwidth-delay product. Even the fastest small messages wait in it.
    pub(super) fn has_standing_queue(&self) -> bool {
        let tenth = self.loaded.and_then(|loaded| loaded.p10).zip(self.typical());
        self.may_be_queued() && tenth.is_none_or(|(loaded, idle)| is_longer(loaded, idle))
    }

    /// Returns whether the kernel's own figures show a queue in the data's direction. Either RTTs
    /// stay high while data arrives at the path's rate, or they were high at losses. Every message
    /// beside the data waits in such a queue; a queue of the ACKs delays fewer.
    pub(super) fn shows_queue(&self) -> bool {
        let known = self.least_rtt.zip(self.rtt);
        let stands = known.is_some_and(|(least, rtt)| is_longer(rtt, least)) && self.is_full();
        if self.loaded.is_some() {
            stands && self.has_standing_queue() || self.lost > 0 && self.loses_in_a_queue()
        } else {
            stands && self.lost > 0 && self.is_late_at_losses()
        }
    }

    /// Returns the best rate at which data arrived over two round trips and 200 ms; `None` if
    /// unknown.
    pub(super) fn carried(&self) -> Option<Rate> {
        let delivery = self.delivery?;
        (delivery.slices >= FEW_SLICES.get()).then_some(delivery.most)
    }

    /// Returns whether the transfer runs at the best delivery rate, most of the time.
    pub(super) fn is_full(&self) -> bool {
        let one = self.best.bytes_per_second();
        match (self.delivery, self.carried()) {
            (Some(delivery), Some(most)) => {
                let most = most.bytes_per_second();
                // A momentary delivery rate is that of one stream.
                let most = if self.streams == 1 { most.max(one) } else { most };
                delivery.usual.bytes_per_second() >= MOST_OF_IT.get() * most
            }
            // Several streams had their best rates at different times.
            _ => {
                self.streams == 1
                    && one > 0.0
                    && self.rate.bytes_per_second() >= MOST_OF_IT.get() * one
            }
        }
    }

    /// Returns whether the whole transfer ran at the best rate at which data arrived for a while.
    pub(super) fn is_full_in_all(&self) -> bool {
        let rate = self.rate.bytes_per_second();
        self.carried().is_none_or(|most| rate >= MOST_OF_IT.get() * most.bytes_per_second())
    }

    /// Returns the rate that the law allows at this loss (Mathis et al. 1997), over all streams.
    pub(super) fn lossy_rate(&self, loss: f64) -> Option<Rate> {
        let one = laws::mathis_rate(Bytes::new(self.segment), self.base()?, loss)?;
        Some(Rate::from_bytes_per_second(one.bytes_per_second() * self.streams as f64))
    }

    /// Returns whether the rate exceeds the law's at its loss by far, so that the loss was not
    /// constant. A start that finds a full queue loses thousands of segments at once.
    fn beats_its_loss(&self) -> bool {
        let law = self.lossy_rate(self.loss_outside_timeouts());
        let rate = self.rate_outside_timeouts();
        law.is_some_and(|law| rate > BEATS_LAW.get() * law.bytes_per_second())
    }

    /// Returns whether loss limits the sender. Losses of a full queue and of an outage do not
    /// count. With a few segments in flight only a timer retransmits.
    pub(super) fn is_lossy(&self) -> bool {
        if self.is_glance() {
            let is_held = self.uses_congestion_window();
            return is_held && self.lost > 0 && self.loss() >= FREQUENT_LOSS.get();
        }
        if self.is_few() {
            return self.loss() >= FREQUENT_LOSS.get();
        }
        self.loss_outside_timeouts() >= FREQUENT_LOSS.get()
            && !self.loses_in_a_queue()
            && !self.beats_its_loss()
    }

    /// Returns the steadiness of the rate: the tenth percentile of the slices, as a share of the
    /// ninetieth.
    fn steadiness(&self) -> Option<f64> {
        let delivery = self.delivery.filter(|it| it.slices >= STEADY_SLICES.get())?;
        let (low, high) = delivery.p10.zip(delivery.p90)?;
        Some(low.bytes_per_second() / high.bytes_per_second().max(f64::MIN_POSITIVE))
    }

    /// Returns whether segments are lost, none of them waited, and the rate is at least this
    /// steady.
    fn is_policed_by(&self, least: Threshold<f64>) -> bool {
        // A busy host lengthens RTTs of the data, and those of small messages less.
        let waits = match (self.loaded, self.typical(), self.loss_rtt) {
            (Some(loaded), Some(idle), _) => is_longer(loaded.p50, idle),
            (None, Some(idle), Some(rtt)) => is_longer(rtt, idle),
            _ => false,
        };
        self.lost_outside_timeouts >= POLICED_SEGMENTS.get()
            && !self.is_late()
            && !waits
            && !self.is_longest_at_losses()
            && self.steadiness().is_some_and(|steady| steady >= least.get())
    }

    /// Returns whether a token bucket drops data beyond its rate. BBR keeps its rate despite
    /// losses, and probes for more.
    pub(super) fn is_policed(&self) -> bool {
        self.is_policed_by(STEADY_DELIVERY)
            && (self.heeds_loss || self.loss() >= UNHEEDED_LOSS.get())
    }

    /// Returns whether a token bucket is possible.
    pub(super) fn may_be_policed(&self) -> bool {
        self.is_policed_by(PERHAPS_STEADY_DELIVERY)
    }

    /// Returns whether reordering causes retransmissions. Either ACKs show as many reordered
    /// segments as there were retransmissions, or they show some, and the peer reports half of the
    /// retransmissions as duplicates (DSACK, RFC 2883).
    pub(super) fn is_reordered(&self) -> bool {
        let again = self.retransmissions as f64;
        let in_vain = self.retransmissions.saturating_sub(self.lost) as f64;
        let overtaken = self.reorderings as f64;
        again > 0.0
            && (overtaken >= REORDERED.get() * again
                || overtaken > 0.0 && in_vain >= SPURIOUS_REPAIRS.get() * again)
    }

    /// Returns whether the path MTU fell.
    pub(super) fn path_mtu_fell(&self) -> bool {
        self.path_mtu.is_some_and(|(now, most)| now < most)
    }

    /// Returns whether full segments never arrive while small messages beside them do.
    pub(super) fn loses_whole_segments_only(&self) -> bool {
        let is_nothing = self.bytes.get() < self.segment.max(1);
        self.outage().is_some() && is_nothing && self.loaded.is_some()
    }

    /// Returns the share of the time in retransmission timeouts.
    pub(super) fn timeout_share(&self) -> f64 {
        let whole = self.whole();
        if whole > Span::ZERO { self.timeout.share_of(whole).min(1.0) } else { 0.0 }
    }

    /// Returns the longest silence, if no single timer explains it.
    pub(super) fn outage(&self) -> Option<Span> {
        let least = OUTAGE.get().max(self.base().unwrap_or_default().scaled(OUTAGE_TRIPS.get()));
        self.longest_silence.filter(|silence| *silence >= least)
    }

    /// Returns the rate without timeouts, in bytes per second.
    pub(super) fn rate_outside_timeouts(&self) -> f64 {
        let rest = 1.0 - self.timeout_share();
        if rest > 0.0 { self.rate.bytes_per_second() / rest } else { 0.0 }
    }

    /// Returns that rate as one to expect without timeouts: it must be nearly the best at which
    /// data ever arrived, so that nothing else limited it.
    pub(super) fn promised_outside_timeouts(&self) -> Option<Rate> {
        let (rate, most) = (self.rate_outside_timeouts(), self.carried()?.bytes_per_second());
        let promised = Rate::from_bytes_per_second(rate);
        let promised = self.pace.map_or(promised, |pace| promised.min(pace));
        (rate >= NEARLY_BEST.get() * most && rate <= most).then_some(promised)
    }
}

/// Returns whether an RTT exceeds the idle one by a queue.
fn is_longer(rtt: Span, idle: Span) -> bool {
    rtt > idle.scaled(BEYOND_JITTER.get()) && rtt - idle > KERNEL_QUEUE_DELAY.get()
}
