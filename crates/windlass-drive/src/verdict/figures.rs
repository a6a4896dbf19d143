//! What the figures of both ends say of a direction.

use windlass_base::{Bytes, Rate, Span, laws};

use super::DirectionSeen;
use crate::report::{DirectionReport, SenderStream, share};

/// A round trip under load this much above the idle one has waited in a queue, or for a
/// receiver. BBR's inflight bound is 1.25 × the product, too (draft-ietf-ccwg-bbr,
/// `ProbeBW` up).
const QUEUED: f64 = 1.25;

/// And by this much at least: below, it is the hosts' own doing.
const QUEUED_BY: Span = Span::from_micros(200);

/// A queue that is full makes round trips this much longer than they are on average, as Reno and
/// CUBIC halve what is in flight, or take 0.3 of it. Losses at random find them within 0.06 of
/// the average: of 60 transfers with 0.2 to 10 % of loss, but for two with timers that ran out.
const LONGER: f64 = 1.07;

/// And it makes them so much as long as they ever were: 0.64 to 1 over queues of 0.3 products and
/// more, where losses at random have 0.55 at most.
const NEAR_MOST: f64 = 0.6;

/// From this share of lost segments on, one message in ten may be lost as well.
const MANY_LOST: f64 = 0.04;

/// A law that is beaten by this factor does not hold.
const BEATEN: f64 = 3.0;

/// One small message in ten meets this share of the queue that losses meet.
const QUEUED_MESSAGES: f64 = 0.5;

/// Where it is shorter than this many idle ones, most of it is the path's own.
const MOSTLY_PATH: f64 = 2.0;

/// The share of a processor from which on a thread has no more to give.
const BUSY: f64 = 0.9;

/// A thread that only starts and ends has its processor for all of its time: what
/// is shorter than the longest tick of Linux says nothing of that.
const TICK: Span = Span::from_millis(10);

/// The same of all processors of a machine that is both ends: what the kernel
/// does in interrupts is nobody's.
const MACHINE_BUSY: f64 = 0.8;

/// A transfer at this share of the best delivery is at the path's rate, as in
/// `explain`.
const FULL: f64 = 0.8;

/// A rate at this share of the best has nothing left to hold it.
const NEARLY: f64 = 0.9;

/// So many slices of the time tell what is usual.
const FEW_SLICES: u64 = 4;

/// A silence this long, with data in flight, is none that a timer alone explains: Linux's first
/// one runs out after 200 ms and a round trip, and the next in twice the time.
const OUTAGE: Span = Span::from_millis(1_000);

/// And so many round trips.
const OUTAGE_TRIPS: f64 = 4.0;

/// A flight of this share of the offered window about fills it: the start, in
/// which it grows, is in the mean.
const FILLS: f64 = 0.6;

/// And of no more than this: what is beyond it was never in the window, but is a round trip
/// of other moments.
const OVERFILLS: f64 = 1.5;

/// The streams of a direction together.
#[derive(Clone, Copy, Debug)]
pub(super) struct Figures<'a> {
    pub(super) seen: DirectionSeen<'a>,
    pub(super) streams: u64,
    /// Means and counts of what their kernels know.
    pub(super) kernel: SenderStream,
    /// Sums of the means.
    pub(super) window: Bytes,
    pub(super) flight: Bytes,
    pub(super) congestion_window: Bytes,
    pub(super) buffer: Bytes,
    /// The largest window of a stream, and the most that one was closed.
    pub(super) largest_window: Option<Bytes>,
    pub(super) closed_share: f64,
    pub(super) segment: u64,
    pub(super) lost: u64,
    /// Of them, those that no timer sent again.
    pub(super) lost_outside_timeouts: u64,
}

impl<'a> Figures<'a> {
    pub(super) fn of(seen: &DirectionSeen<'a>) -> Self {
        let sender = seen.sender;
        let all = || {
            let streams = sender.streams.iter();
            streams.filter_map(|stream| Some((stream, stream.sender.as_ref()?)))
        };
        let sum = |of: fn(&SenderStream) -> Bytes| all().map(|(_, kernel)| of(kernel)).sum();
        let lost = |kernel: &SenderStream| {
            kernel.retransmissions.saturating_sub(kernel.needless_retransmissions)
        };
        Self {
            seen: *seen,
            streams: all().count() as u64,
            kernel: sender.kernel().unwrap_or_default(),
            window: sum(|kernel| kernel.mean_peer_window_bytes.unwrap_or_default()),
            flight: sum(|kernel| kernel.mean_flight_bytes),
            congestion_window: sum(|kernel| kernel.mean_congestion_window_bytes),
            buffer: all().map(|(stream, _)| stream.granted_send_buffer_bytes).sum(),
            largest_window: all().filter_map(|(_, kernel)| kernel.max_peer_window_bytes).max(),
            closed_share: all().map(|(_, kernel)| kernel.closed_share).fold(0.0, f64::max),
            segment: all().map(|(stream, _)| stream.mss_bytes.into()).max().unwrap_or(0),
            lost: all().map(|(_, kernel)| lost(kernel)).sum(),
            lost_outside_timeouts: all()
                .map(|(_, kernel)| {
                    lost(kernel).saturating_sub(kernel.timeout_retransmissions.unwrap_or(0))
                })
                .sum(),
        }
    }

    /// Segments that a queue on the path marked.
    pub(super) fn marked(&self) -> u64 {
        self.kernel.marked_segments.unwrap_or(0)
    }

    const fn sender(&self) -> &'a DirectionReport {
        self.seen.sender
    }

    /// In bytes a second.
    pub(super) fn rate(&self) -> f64 {
        self.sender().bytes_per_second.bytes_per_second()
    }

    /// The mean round trip under load; zero where it is not known.
    pub(super) fn rtt(&self) -> Span {
        self.kernel.mean_rtt_seconds.unwrap_or_default()
    }

    pub(super) const fn has_window(&self) -> bool {
        self.kernel.mean_peer_window_bytes.is_some()
    }

    pub(super) fn loss(&self) -> f64 {
        share(self.lost, self.kernel.segments)
    }

    /// The share of lost segments but for those of a timer: an outage loses a whole flight, and
    /// says nothing of the time beside it.
    pub(super) fn loss_outside_timeouts(&self) -> f64 {
        share(self.lost_outside_timeouts, self.kernel.segments)
    }

    /// Whether round trips were longer than idle ones while data was lost. A path that loses for
    /// other reasons than a full queue does so whatever waits in it.
    pub(super) fn is_late_at_losses(&self) -> bool {
        let at_loss = self.kernel.loss_rtt_seconds.zip(self.typical());
        at_loss.is_some_and(|(rtt, idle)| is_longer(rtt, idle)) || self.is_longest_at_losses()
    }

    /// Whether round trips were about as long as ever while data was lost, and longer than on
    /// average: so it is before a short queue, too. Whatever else makes them longer, as ACKs that
    /// are delayed, does so at any time.
    fn is_longest_at_losses(&self) -> bool {
        let kernel = &self.kernel;
        let known = kernel.loss_rtt_seconds.zip(kernel.max_rtt_seconds).zip(self.base());
        known.is_some_and(|((rtt, most), base)| {
            rtt - base >= (most - base).scaled(NEAR_MOST)
                && rtt - base > QUEUED_BY
                && rtt > self.rtt().scaled(LONGER)
        })
    }

    /// Whether what was lost found a queue full. Few segments in flight make round trips longer,
    /// too, as ACKs are delayed for want of a second one; small messages do not wait for those,
    /// and where there are none, it does so whether data is lost or not.
    pub(super) fn loses_in_a_queue(&self) -> bool {
        let Some((rtt, idle)) = self.kernel.loss_rtt_seconds.zip(self.typical()) else {
            return false;
        };
        let is_queue = match self.seen.latency.loaded_seconds {
            None => rtt > self.rtt().scaled(LONGER),
            Some(loaded) => {
                // Where much is lost, so are the messages that take longest.
                let few = self.loss() < MANY_LOST;
                let most = loaded.p90.filter(|_| few).unwrap_or(loaded.p50);
                most - idle >= (rtt - idle).scaled(QUEUED_MESSAGES)
            }
        };
        self.is_longest_at_losses() || is_longer(rtt, idle) && is_queue
    }

    /// The idle path's usual round trip.
    fn typical(&self) -> Option<Span> {
        self.seen.latency.idle_seconds.map(|idle| idle.p50).or_else(|| self.base())
    }

    /// The rate that the law allows at this loss (Mathis et al. 1997), over all streams.
    pub(super) fn lossy_rate(&self, loss: f64) -> Option<Rate> {
        let one = laws::mathis_rate(Bytes::new(self.segment), self.base()?, loss)?;
        Some(Rate::from_bytes_per_second(one.bytes_per_second() * self.streams as f64))
    }

    /// Whether it goes so much faster than the law allows at its loss that this was not lost
    /// all the time: a start that found a queue full loses thousands of segments at once.
    pub(super) fn beats_its_loss(&self) -> bool {
        let law = self.lossy_rate(self.loss_outside_timeouts());
        law.is_some_and(|law| self.rate_outside_timeouts() > BEATEN * law.bytes_per_second())
    }

    /// The time of all streams together.
    pub(super) fn whole(&self) -> Span {
        self.sender().seconds.scaled(self.streams as f64)
    }

    /// The share of the time with a retransmission timer that ran out.
    pub(super) fn timeout_share(&self) -> f64 {
        let whole = self.whole();
        if whole <= Span::ZERO {
            return 0.0;
        }
        self.kernel.timeout_seconds.map_or(0.0, |time| time.share_of(whole).min(1.0))
    }

    /// How long nothing was acknowledged at a stretch, where no single timer explains that.
    pub(super) fn outage(&self) -> Option<Span> {
        let least = OUTAGE.max(self.base().unwrap_or_default().scaled(OUTAGE_TRIPS));
        self.kernel.longest_silence_seconds.filter(|silence| *silence >= least)
    }

    /// In bytes a second of the time without a timer that ran out.
    pub(super) fn rate_outside_timeouts(&self) -> f64 {
        let rest = 1.0 - self.timeout_share();
        if rest > 0.0 { self.rate() / rest } else { 0.0 }
    }

    /// The same as a rate that the transfer has without them: where it is nearly the best at
    /// which data ever arrived, so that nothing else held it either.
    pub(super) fn promised_outside_timeouts(&self) -> Option<Rate> {
        let (rate, most) = (self.rate_outside_timeouts(), self.carried()?.bytes_per_second());
        let promised = Rate::from_bytes_per_second(rate);
        let promised = self.seen.pace.map_or(promised, |pace| promised.min(pace));
        (rate >= NEARLY * most && rate <= most).then_some(promised)
    }

    /// Whether the transfer as a whole went as fast as data ever arrived for a while.
    pub(super) fn is_full_in_all(&self) -> bool {
        self.carried().is_none_or(|most| self.rate() >= FULL * most.bytes_per_second())
    }

    /// The best rate at which data arrived for two round trips and 200 ms; nothing where that
    /// is not known.
    pub(super) fn carried(&self) -> Option<Rate> {
        let delivery = self.sender().delivery?;
        (delivery.slices >= FEW_SLICES).then_some(delivery.most_bytes_per_second)
    }

    /// Whether the congestion control of every stream takes a loss for a sign to send less, as
    /// Reno's and CUBIC's do (RFC 5681, RFC 9438). BBR goes by what is delivered; its window has
    /// no slow-start threshold, and the laws of loss are not its own.
    pub(super) fn heeds_loss(&self) -> bool {
        !self.sender().streams.iter().any(|stream| stream.congestion.starts_with("bbr"))
    }

    /// How far the window was open on average: as a share of the largest, or of what was asked
    /// for. (Until a clamp holds, more may be offered for a moment.)
    pub(super) fn open_share(&self) -> Option<f64> {
        let asked = self.seen.window.filter(|asked| asked.get() > 0);
        let of_asked =
            asked.map(|asked| (self.one_window().get() as f64 / asked.get() as f64).min(1.0));
        self.kernel.open_share.map(|open| of_asked.map_or(open, |share| share.max(open)))
    }

    /// The window of one stream.
    pub(super) fn one_window(&self) -> Bytes {
        Bytes::new(self.window.get() / self.streams.max(1))
    }

    /// What may be in flight by the windows and the send buffers.
    pub(super) fn room(&self) -> Bytes {
        self.window.min(self.buffer)
    }

    /// The round trip of the idle path. The kernel's own least may come from time
    /// stamps of a millisecond.
    pub(super) fn base(&self) -> Option<Span> {
        self.seen.latency.idle_seconds.map(|idle| idle.min).or(self.kernel.min_rtt_seconds)
    }

    /// The least round trip that is known: that of a small message holds what both
    /// programs take as well, which on a short path is most of it.
    pub(super) fn least(&self) -> Option<Span> {
        // Where segments leave twice, the kernel goes by time stamps.
        let own = self.kernel.min_rtt_seconds.filter(|_| self.kernel.retransmissions == 0);
        self.base().into_iter().chain(own).min()
    }

    /// Whether the transfer goes as fast as data was ever delivered, most of the time.
    pub(super) fn is_full(&self) -> bool {
        let one = self.kernel.max_delivery_bytes_per_second.bytes_per_second();
        match (self.sender().delivery, self.carried()) {
            (Some(delivery), Some(most)) => {
                let most = most.bytes_per_second();
                // A moment's delivery is that of one stream.
                let most = if self.streams == 1 { most.max(one) } else { most };
                delivery.usual_bytes_per_second.bytes_per_second() >= FULL * most
            }
            // What several streams had at their best, they had at different times.
            _ => self.streams == 1 && self.rate() >= FULL * one,
        }
    }

    /// Whether one stream's congestion control has looked for the path's rate and has not seen
    /// more delivered when it sent more: BBR's start ends so, after three round trips without a
    /// quarter more (draft-ietf-ccwg-bbr, Startup). Beside others of its kind it finds a share.
    pub(super) fn has_found_the_rate(&self) -> bool {
        !self.heeds_loss()
            && self.streams == 1
            && !self.kernel.never_left_slow_start
            && self.is_full()
    }

    /// Whether small messages beside the test say whether they wait, too.
    pub(super) const fn has_messages(&self) -> bool {
        self.seen.latency.loaded_seconds.is_some()
    }

    /// Whether round trips take longer than the idle path.
    pub(super) fn is_late(&self) -> bool {
        self.base().is_some_and(|base| is_longer(self.rtt(), base))
    }

    /// Whether most of a round trip is what the idle path takes.
    pub(super) fn is_mostly_path(&self) -> bool {
        self.base().is_some_and(|base| self.rtt() < base.scaled(MOSTLY_PATH))
    }

    /// Whether a queue of the path never empties, as one before which a window stands does that
    /// is larger than the path's product: the quickest of the small messages wait in it, too.
    pub(super) fn has_standing_queue(&self) -> bool {
        let tenth = self.seen.latency.loaded_p10_seconds.zip(self.typical());
        self.may_be_queued() && tenth.is_none_or(|(loaded, idle)| is_longer(loaded, idle))
    }

    /// Whether data may wait in a queue of the path.
    pub(super) fn may_be_queued(&self) -> bool {
        let Some(base) = self.base() else { return false };
        // Small messages beside the test wait in the same queue; a receiver that is
        // slow to acknowledge does not delay them. Hosts that are slow to answer do
        // so without load, too.
        let messages = match (self.seen.latency.idle_seconds, self.seen.latency.loaded_seconds) {
            (Some(idle), Some(loaded)) => is_longer(loaded.p50, idle.p50),
            (None, Some(loaded)) => is_longer(loaded.p50, base),
            (_, None) => true,
        };
        messages && self.is_late()
    }

    pub(super) fn is_busy(&self) -> bool {
        self.is_long() && self.sender().cpu.busiest_share >= BUSY
    }

    /// Whether it took long enough for processors to matter.
    fn is_long(&self) -> bool {
        self.sender().seconds >= TICK
    }

    /// The share that both ends take of the processors that they share.
    pub(super) fn machine(&self) -> Option<f64> {
        let shares = self.sender().cpu.share + self.seen.receiver?.cpu.share;
        Some(shares / self.seen.shared? as f64)
    }

    pub(super) fn machine_is_busy(&self) -> bool {
        self.is_long() && self.machine().is_some_and(|share| share >= MACHINE_BUSY)
    }

    pub(super) fn receiver_is_busy(&self) -> bool {
        self.is_long()
            && self.seen.receiver.is_some_and(|receiver| receiver.cpu.busiest_share >= BUSY)
    }

    /// Samples of what is in flight miss what is acknowledged just before them.
    fn flight_by_rate(&self) -> f64 {
        flight(self.sender().bytes_per_second, self.rtt())
    }

    /// Whether the congestion window has never met a loss. Beside a pace it has to be in use, half
    /// of it at the least, as for Linux in slow start: else it has room, and holds nothing.
    pub(super) fn starts_slowly(&self) -> bool {
        let in_use = self.flight.get().saturating_mul(2) >= self.congestion_window.get();
        self.kernel.never_left_slow_start && (in_use || self.seen.pace.is_none())
    }

    /// Whether the pace that was asked for was kept, but for the time with a timer that ran out
    /// and for moments.
    pub(super) fn keeps_its_pace(&self) -> bool {
        let Some(pace) = self.seen.pace else { return false };
        let usual = self.sender().delivery.map(|delivery| delivery.usual_bytes_per_second);
        let whole = Rate::from_bytes_per_second(self.rate_outside_timeouts());
        super::keeps(pace, whole) || usual.is_some_and(|usual| super::keeps(pace, usual))
    }

    /// Whether the flight fills the offered window, and the congestion window would
    /// allow more. Linux adds up in jiffies for how long a window held it
    /// (`tcp_chrono_set`), so on a path that is shorter than a jiffy much of that is
    /// missed.
    pub(super) fn fills_window(&self) -> bool {
        let flight = self.flight_by_rate();
        self.has_window()
            && self.window > Bytes::ZERO
            && fills(flight, self.window)
            && flight <= OVERFILLS * self.window.get() as f64
            && self.congestion_window > self.window
    }

    /// Whether the flight fills the send buffer, and the congestion window would
    /// allow more. Linux does not count all of that wait: a write that finds room
    /// takes a whole segment of the stack (up to 64 KB), and while that one is on its
    /// way the kernel waits for ACKs and not for room. A buffer that the kernel
    /// sizes holds twice the congestion window (`tcp_sndbuf_expand`), so no flight
    /// fills it before that is full.
    pub(super) fn fills_buffer(&self) -> bool {
        let flight = self.flight_by_rate();
        self.buffer > Bytes::ZERO
            && fills(flight, self.buffer)
            && flight <= FULL * self.congestion_window.get() as f64
            && (!self.has_window() || flight < FULL * self.window.get() as f64)
    }
}

/// What is in flight on average, in bytes: the rate times the round trip (Little 1961).
pub fn flight(rate: Rate, rtt: Span) -> f64 {
    rate.bytes_per_second() * rtt.as_seconds()
}

/// Whether so many bytes in flight about fill a window or a buffer.
pub fn fills(flight: f64, room: Bytes) -> bool {
    flight >= FILLS * room.get() as f64
}

/// Whether a round trip has waited beyond what it takes otherwise.
fn is_longer(rtt: Span, idle: Span) -> bool {
    rtt > idle.scaled(QUEUED) && rtt - idle > QUEUED_BY
}
