//! What the figures of both ends say of a direction.

use windlass_base::{Bytes, Rate, Span};

use super::DirectionSeen;
use crate::report::{DirectionReport, SenderStream, share};

/// A round trip under load this much above the idle one has waited in a queue, or for a
/// receiver. BBR's inflight bound is 1.25 × the product, too (draft-ietf-ccwg-bbr,
/// `ProbeBW` up).
const QUEUED: f64 = 1.25;

/// And by this much at least: below, it is the hosts' own doing.
const QUEUED_BY: Span = Span::from_micros(200);

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
        }
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

    /// Whether the congestion control of every stream takes a loss for a sign to send less, as
    /// Reno's and CUBIC's do (RFC 5681, RFC 9438). BBR goes by what is delivered; its window has
    /// no slow-start threshold, and the laws of loss are not its own.
    pub(super) fn heeds_loss(&self) -> bool {
        !self.sender().streams.iter().any(|stream| stream.congestion.starts_with("bbr"))
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

    /// Whether the transfer goes as fast as data was ever delivered.
    pub(super) fn is_full(&self) -> bool {
        self.rate() >= FULL * self.kernel.max_delivery_bytes_per_second.bytes_per_second()
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
