//! Facts of a direction of a transfer.

use crate::{Bytes, Cause, Rate, Span};

/// Ways to sample a kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sampling {
    /// Frequent samples: levels are means over the time.
    #[default]
    Often,
    /// Two samples: levels are those of the two moments.
    Twice,
}

/// Facts of a direction of a transfer, over an interval. Facts that a source does not know are left
/// out. Of several streams, times, sizes and counts are sums.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Facts {
    /// Sampling of the kernel.
    pub sampling: Sampling,
    /// Time of each stream.
    pub seconds: Span,
    /// Number of streams.
    pub streams: u64,
    /// Bytes of data acknowledged.
    pub bytes: Bytes,
    /// Their rate; for two samples, over the busy time.
    pub rate: Rate,

    /// Time with data to send or to be acknowledged.
    pub busy: Span,
    /// Part of it in which the peer's window was the limit.
    pub window_held: Span,
    /// Part in which the send buffer was the limit.
    pub buffer_held: Span,
    /// Time in retransmission timeouts, with the silence before them.
    pub timeout: Span,
    /// True if idle time counts: a connection that began in the interval did so at an unknown
    /// moment.
    pub counts_idle: bool,
    /// Time in slow start with the congestion window in use, with frequent samples.
    pub slow_start: Option<Span>,
    /// Longest time without an ACK, with data in flight.
    pub longest_silence: Option<Span>,

    /// Smoothed RTT under load.
    pub rtt: Option<Span>,
    /// Its maximum.
    pub max_rtt: Option<Span>,
    /// Its mean during retransmissions, without those of a timer.
    pub loss_rtt: Option<Span>,
    /// Minimum RTT known to the kernel.
    pub least_rtt: Option<Span>,
    /// Small messages on the idle path.
    pub idle: Option<IdleMessages>,
    /// Small messages beside the transfer.
    pub loaded: Option<LoadedMessages>,

    /// Windows advertised by the peer; `None` if the kernel does not tell.
    pub window: Option<Bytes>,
    /// Largest window of a stream.
    pub largest_window: Option<Bytes>,
    /// Window as a share of its maximum until then.
    pub open_share: Option<f64>,
    /// Share of the time with a closed window.
    pub closed_share: f64,
    /// Openings of a closed window, as far as samples tell their time.
    pub window_openings: u64,
    /// Openings at which no probe of the sender was due, so that the receiver announced them.
    pub unprompted_openings: u64,
    /// Window that the receiver was asked to advertise on each stream.
    pub asked_window: Option<Bytes>,
    /// Bytes in flight, by samples.
    pub flight: Bytes,
    /// Congestion windows.
    pub congestion_window: Bytes,
    /// Send buffers.
    pub buffer: Bytes,
    /// Share of the samples at which the send buffer had no room for a write; `None` if not
    /// sampled.
    pub buffer_full: Option<f64>,
    /// Unsent bytes in the send buffers.
    pub unsent: Option<Bytes>,
    /// True if the kernel calls its delivery rate application-limited.
    pub is_application_limited: bool,
    /// Size of a full segment, in bytes.
    pub segment: u64,

    /// Data segments sent, retransmissions included.
    pub segments: u64,
    /// Segments retransmitted.
    pub retransmissions: u64,
    /// Retransmitted segments that the peer did not have.
    pub lost: u64,
    /// Lost segments that no timer retransmitted.
    pub lost_outside_timeouts: u64,
    /// Segments that a queue marked (ECN).
    pub marked: u64,
    /// Number of ACKs that showed reordering.
    pub reorderings: u64,
    /// The path MTU now, and its maximum.
    pub path_mtu: Option<(u64, u64)>,
    /// True if the congestion control takes a loss for a sign to send less, as Reno and CUBIC do
    /// (RFC 5681, RFC 9438). BBR follows the delivery rate: its window has no slow-start threshold,
    /// and the laws of loss do not apply to it.
    pub heeds_loss: bool,
    /// True if no slow-start threshold was ever set.
    pub never_left_slow_start: bool,

    /// The rates of slices of the time.
    pub delivery: Option<Delivery>,
    /// Best delivery rate of one stream at a moment.
    pub best: Rate,

    /// Requested pace.
    pub pace: Option<Rate>,
    /// Share of the time in which the sending program waited for its source of data.
    pub source_share: Option<f64>,
    /// Share of the time in which the receiving program waited for the sink of its data.
    pub sink_share: Option<f64>,
    /// The sender's thread.
    pub sender: Option<Thread>,
    /// The receiver's thread.
    pub receiver: Option<Thread>,
    /// The sender's machine.
    pub sending_machine: Option<Machine>,
    /// The receiver's machine.
    pub receiving_machine: Option<Machine>,
    /// True if both ends are one machine.
    pub is_one_machine: bool,
    /// True if there is no path between the ends: both have one address.
    pub is_loopback: bool,
}

/// Round trips of small messages on the idle path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdleMessages {
    /// Minimum.
    pub least: Span,
    /// Median.
    pub p50: Span,
}

/// Round trips of small messages beside a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoadedMessages {
    /// The tenth percentile.
    pub p10: Option<Span>,
    /// Median.
    pub p50: Span,
    /// The ninetieth percentile.
    pub p90: Option<Span>,
}

/// Rates at which data arrived over slices of the time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Delivery {
    /// Number of slices.
    pub slices: u64,
    /// The tenth percentile.
    pub p10: Option<Rate>,
    /// The median.
    pub usual: Rate,
    /// The ninetieth percentile.
    pub p90: Option<Rate>,
    /// The maximum.
    pub most: Rate,
}

/// Processor time of an end: of its busiest thread, and of all of them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Thread {
    /// All threads, as a share of one processor.
    pub all: f64,
    /// The busiest one, as a share of one processor.
    pub share: f64,
    /// Share of its time in which the busiest thread was ready and waited for a processor.
    pub waiting: Option<f64>,
}

/// Processors of a machine.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Machine {
    /// Number of processors.
    pub processors: usize,
    /// Share of all of them in which they worked.
    pub busy_share: f64,
    /// Busy share of the busiest one.
    pub busiest_core_share: f64,
    /// Part of that share in interrupts.
    pub busiest_core_interrupt_share: f64,
    /// Other programs with the largest shares.
    pub others: Vec<Program>,
}

/// A program on a machine.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Program {
    /// Its number.
    pub pid: u32,
    /// Its name.
    pub name: String,
    /// Its share of one processor.
    pub share: f64,
}

impl Facts {
    /// Returns whether levels are those of two moments.
    pub(super) fn is_glance(&self) -> bool {
        self.sampling == Sampling::Twice
    }

    /// Returns the time of all streams together.
    pub(super) fn whole(&self) -> Span {
        self.seconds.scaled(self.streams as f64)
    }

    /// Returns the window of one stream.
    pub(super) fn one_window(&self) -> Bytes {
        Bytes::new(self.window.unwrap_or_default().get() / self.streams.max(1))
    }

    /// Returns the share of lost segments.
    pub(super) fn loss(&self) -> f64 {
        share(self.lost, self.segments)
    }

    /// Returns the share of lost segments outside timeouts: an outage loses a whole flight, and
    /// does not stand for the time beside it.
    pub(super) fn loss_outside_timeouts(&self) -> f64 {
        share(self.lost_outside_timeouts, self.segments)
    }

    /// Returns whether a cause is one that the sender's own kernel knows for sure by its clock.
    pub(super) const fn is_by_a_wait(cause: Cause) -> bool {
        matches!(
            cause,
            Cause::WindowPathRtt
                | Cause::WindowAckLatency
                | Cause::BufferPathRtt
                | Cause::BufferDelayedAck
        )
    }
}

fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}
