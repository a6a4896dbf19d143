//! Facts of a direction of a transfer.

use crate::{Bytes, Cause, Rate, Span};

/// Ways to sample a kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sampling {
    /// Often: levels are means over the time.
    #[default]
    Often,
    /// Twice: levels are those of the two moments.
    Twice,
}

/// Facts of a direction of a transfer, over a stretch of time. What a source does not know
/// it leaves out. Of several streams, times, sizes and counts are sums.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Facts {
    /// The way in which the kernel was sampled.
    pub sampling: Sampling,
    /// The time of each stream.
    pub seconds: Span,
    /// The number of streams.
    pub streams: u64,
    /// Bytes of data that were acknowledged.
    pub bytes: Bytes,
    /// Their rate; of two looks, that of the busy time.
    pub rate: Rate,

    /// The time in which there was something to send or to be acknowledged.
    pub busy: Span,
    /// The part of it in which the peer's window held it.
    pub window_held: Span,
    /// The part in which the send buffer held it.
    pub buffer_held: Span,
    /// The time with a retransmission timer that ran out, with the silence before it.
    pub timeout: Span,
    /// True if the time without anything to send is of this stretch: of a connection that began in
    /// it nobody knows when.
    pub counts_idle: bool,
    /// The time in slow start by a congestion window in use, where it was looked at often.
    pub slow_start: Option<Span>,
    /// The longest time in which nothing was acknowledged, with something in flight.
    pub longest_silence: Option<Span>,

    /// The smoothed round trip under load.
    pub rtt: Option<Span>,
    /// The most that it was.
    pub max_rtt: Option<Span>,
    /// The mean while segments were sent again, all but a timer's.
    pub loss_rtt: Option<Span>,
    /// The least round trip that the kernel knows.
    pub least_rtt: Option<Span>,
    /// Small messages on the idle path.
    pub idle: Option<IdleMessages>,
    /// Small messages beside the transfer.
    pub loaded: Option<LoadedMessages>,

    /// The windows that the peer advertises; nothing where the kernel does not tell.
    pub window: Option<Bytes>,
    /// The largest window of a stream.
    pub largest_window: Option<Bytes>,
    /// The window as a share of the largest until then.
    pub open_share: Option<f64>,
    /// The share of the time in which a window was closed.
    pub closed_share: f64,
    /// Openings of a closed window, as far as samples tell when they were.
    pub window_openings: u64,
    /// Of them, those at which no probe of the sender's was due: the receiver announced them.
    pub unprompted_openings: u64,
    /// The window that the receiver was asked to advertise on each stream.
    pub asked_window: Option<Bytes>,
    /// Bytes in flight, by samples.
    pub flight: Bytes,
    /// The congestion windows.
    pub congestion_window: Bytes,
    /// The send buffers.
    pub buffer: Bytes,
    /// The share of the looks at which the send buffer had no room for a write; nothing where that
    /// was not looked at.
    pub buffer_full: Option<f64>,
    /// Bytes in the send buffers that were never sent.
    pub unsent: Option<Bytes>,
    /// True if the kernel calls its rate of delivery the program's.
    pub is_application_limited: bool,
    /// The size of a full segment, in bytes.
    pub segment: u64,

    /// Data segments sent, with those sent again.
    pub segments: u64,
    /// Those that were sent again.
    pub retransmissions: u64,
    /// Those of them that the peer did not have.
    pub lost: u64,
    /// Those of these that no timer sent again.
    pub lost_outside_timeouts: u64,
    /// Segments that a queue marked (ECN).
    pub marked: u64,
    /// The number of ACKs that showed overtaken segments.
    pub reorderings: u64,
    /// The largest packet that the path is believed to take now, and the most that this was.
    pub path_mtu: Option<(u64, u64)>,
    /// True if the congestion control takes a loss for a sign to send less, as Reno's and CUBIC's
    /// do (RFC 5681, RFC 9438). BBR goes by what is delivered; its window has no slow-start
    /// threshold, and the laws of loss are not its own.
    pub heeds_loss: bool,
    /// True if no slow-start threshold was ever set.
    pub never_left_slow_start: bool,

    /// The rates of slices of the time.
    pub delivery: Option<Delivery>,
    /// The best rate of delivery of one stream at a moment.
    pub best: Rate,

    /// The pace that was asked for.
    pub pace: Option<Rate>,
    /// The share of its time in which the sending program waited for what it sends.
    pub source_share: Option<f64>,
    /// The share in which the receiving program waited for where the data goes.
    pub sink_share: Option<f64>,
    /// The sender's thread.
    pub sender: Option<Thread>,
    /// The receiver's.
    pub receiver: Option<Thread>,
    /// The sender's machine.
    pub sending_machine: Option<Machine>,
    /// The receiver's.
    pub receiving_machine: Option<Machine>,
    /// True if both ends are one machine.
    pub is_one_machine: bool,
    /// True if no path lies between them: both have one address.
    pub is_loopback: bool,
}

/// Round trips of small messages on the idle path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdleMessages {
    /// The least.
    pub least: Span,
    /// The median.
    pub p50: Span,
}

/// Round trips of small messages beside a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoadedMessages {
    /// The least that nine of ten took.
    pub p10: Option<Span>,
    /// The median.
    pub p50: Span,
    /// One of ten took more.
    pub p90: Option<Span>,
}

/// Rates at which data arrived over slices of the time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Delivery {
    /// The number of slices.
    pub slices: u64,
    /// A tenth of them had less.
    pub p10: Option<Rate>,
    /// The median.
    pub usual: Rate,
    /// A tenth of them had more.
    pub p90: Option<Rate>,
    /// The best.
    pub most: Rate,
}

/// Processor time of an end: of its busiest thread, and of all of them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Thread {
    /// All threads, as a share of one processor.
    pub all: f64,
    /// The busiest one.
    pub share: f64,
    /// The share of its time in which that was ready and waited for a processor.
    pub waiting: Option<f64>,
}

/// Processors of a machine.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Machine {
    /// The number of them.
    pub processors: usize,
    /// The share of all of them in which they worked.
    pub busy_share: f64,
    /// The share of the one with most work.
    pub busiest_core_share: f64,
    /// The part of that which interrupts took.
    pub busiest_core_interrupt_share: f64,
    /// Other programs with most.
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

    /// The time of all streams together.
    pub(super) fn whole(&self) -> Span {
        self.seconds.scaled(self.streams as f64)
    }

    /// The window of one stream.
    pub(super) fn one_window(&self) -> Bytes {
        Bytes::new(self.window.unwrap_or_default().get() / self.streams.max(1))
    }

    /// The share of lost segments.
    pub(super) fn loss(&self) -> f64 {
        share(self.lost, self.segments)
    }

    /// The share of lost segments but for those of a timer: an outage loses a whole flight, and
    /// says nothing of the time beside it.
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
