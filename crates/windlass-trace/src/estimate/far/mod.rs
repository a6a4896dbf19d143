//! Facts of a whole transfer, for captures far from its sender.
//!
//! Far from its sender a capture shows neither when an ACK reached the sender nor when a segment
//! left it. Some facts hold wherever the capture was taken: the byte that ends each burst, the
//! length of what ends it, and the messages of the receiver's program between bursts. They are
//! measured here over the whole transfer. [`FarFacts::limit`] is the one rule that weighs them
//! against what single waits look like.

mod bursts;
mod edges;
mod messages;

use windlass_base::thresholds::{HALF_OF_IT, LARGE_PART, LATEST_DELAYED_ACK, SHORTEST_TIME};
use windlass_base::{Span, Timestamp};
use windlass_macros::Packed;

use self::bursts::Bursts;
use self::edges::Edges;
use self::messages::Messages;
use crate::follow::ack::Ack;
use crate::follow::ledger::{Ledger, Phase, WaitKind};

/// A new segment, as captured, with what was known of the flow before it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    pub(crate) time: Timestamp,
    pub(crate) end: u64,
    pub(crate) length: u64,
    /// A full segment.
    pub(crate) size: u64,
    /// Time since the last segment; `None` if the reason of the sender's wait is unknown: a hole or
    /// a repair came between.
    pub(crate) silence: Option<Span>,
    /// Time since the last ACK must have reached the sender.
    pub(crate) since_release: Span,
    /// True if that ACK came with data of the receiver.
    pub(crate) by_message: bool,
    /// Data in flight by then.
    pub(crate) flight: u64,
    pub(crate) rtt: Option<Span>,
}

/// Limits of a transfer, by the facts of all of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FarLimit {
    /// Bursts end where the receiver's window does.
    Window,
    /// Bursts follow messages of the receiver's program.
    Messages,
    /// Bursts come when the sender's program writes.
    Program,
}

impl FarLimit {
    /// Returns the kind of its waits.
    const fn kind(self) -> WaitKind {
        match self {
            Self::Window => WaitKind::Window,
            Self::Messages => WaitKind::AwaitPeer,
            Self::Program => WaitKind::Idle,
        }
    }

    /// Returns whether a wait of this kind may be one of its waits. If the distance to the sender
    /// is uncertain, waits for ACKs and pauses look alike. Slow start, loss and a closed window
    /// show by themselves.
    fn may_be(self, kind: WaitKind, phase: Phase) -> bool {
        match kind {
            WaitKind::Open => phase == Phase::Level,
            WaitKind::Idle => self != Self::Program,
            WaitKind::Missing => self == Self::Window,
            _ => false,
        }
    }

    /// Enters its waits in this ledger, if most of them were entered as something else. Returns
    /// whether that is so.
    pub(crate) fn settle(self, ledger: &mut Ledger) -> bool {
        let known = ledger.time_of_waits(|kind, _| kind == self.kind());
        let is_new = ledger.time_of_waits(|kind, phase| self.may_be(kind, phase)) > known;
        if is_new {
            ledger.recast(|kind, phase| if self.may_be(kind, phase) { self.kind() } else { kind });
        }
        is_new
    }
}

/// Shares of the waits of a whole transfer, by how they began and ended.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FarShares {
    /// The share of waits behind a segment that ends at an advertised edge, beyond chance, and of
    /// those in which a message came.
    pub(crate) at_edges: f64,
    pub(crate) with_message: f64,
    /// The share of waits whose last ACK at the sender was a message, and of packets that are.
    pub(crate) by_message: f64,
    pub(crate) messages: f64,
    /// The share of bursts behind a short segment, beyond chance, of those that began soon behind
    /// an ACK, and of those that began with as much in flight as the last one.
    pub(crate) short_tails: f64,
    pub(crate) prompt: f64,
    pub(crate) level: f64,
    /// The share of steps that took as long as the last one, and of those with other amounts than
    /// the last one that took as long, or as long for each byte.
    pub(crate) regular: f64,
    pub(crate) in_time: f64,
    pub(crate) in_rate: f64,
    /// The share of time in which nothing came.
    pub(crate) silent: f64,
}

impl FarShares {
    /// Returns whether ACKs let the bursts go, each with as much in flight as the last one.
    pub(crate) fn is_clocked(&self) -> bool {
        self.prompt >= LARGE_PART.get() && self.level >= HALF_OF_IT.get()
    }
}

/// The conclusion from the facts of a whole transfer.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FarVerdict {
    pub(crate) limit: Option<FarLimit>,
    /// True if single waits looked like something else.
    pub(crate) decides: bool,
    /// True if bursts come at other times than soon behind an ACK.
    pub(crate) is_unprompted: bool,
    /// Shares on which the verdict rests.
    pub(crate) shares: FarShares,
}

impl FarVerdict {
    /// Returns whether this limit was found by facts of the whole transfer, and not by single
    /// waits.
    pub(crate) fn decides(self, limit: FarLimit) -> bool {
        self.decides && self.limit == Some(limit)
    }
}

/// The facts of one direction.
#[derive(Clone, Debug, Default, Packed)]
pub(crate) struct FarFacts {
    /// Silences between segments.
    silences: i64,
    silent: Span,
    edges: Edges,
    messages: Messages,
    bursts: Bursts,
}

impl FarFacts {
    /// Records an ACK as captured, with the right edge that it advertises if that is known.
    pub(crate) fn acked(&mut self, ack: &Ack, edge: Option<u64>) {
        if ack.closing {
            return;
        }
        self.messages.heard(ack);
        if let Some(edge) = edge {
            self.edges.advertised(ack.time, edge);
        }
    }

    /// Records a new segment as captured.
    pub(crate) fn arrived(&mut self, arrival: &Arrival) {
        let wait = arrival.silence.filter(|silence| self.is_wait(*silence));
        if let Some(silence) =
            arrival.silence.filter(|silence| *silence <= LATEST_DELAYED_ACK.get())
        {
            self.silences += 1;
            self.silent += silence;
        }
        if let Some(wait) = wait {
            self.bursts.waited(arrival, self.edges.is_at_edge());
            self.edges.waited(wait);
            self.messages.waited(arrival);
        } else if arrival.silence.is_none() {
            self.bursts.interrupted();
        }
        self.messages.arrived();
        self.bursts.arrived(arrival);
        self.edges.arrived(arrival);
    }

    /// Returns whether a silence is as long as the mean: one that is longer than those within
    /// bursts.
    fn is_wait(&self, silence: Span) -> bool {
        // Few silences are as long as a wait; the product is for them alone.
        silence >= SHORTEST_TIME.get() && silence * self.silences >= self.silent
    }

    /// Discards detail until its lists have at most so many entries.
    pub(crate) fn shrink(&mut self, most: usize) {
        self.edges.shrink(most);
    }

    /// Returns the least time from an ACK to the data for which it made room, if the window limits
    /// the transfer. The way from the capture to the sender and back takes no less.
    pub(crate) fn turn(&self) -> Option<Span> {
        self.edges.least_age()
    }

    /// Returns the limit of the transfer, if its facts tell. `rtt` is the path's round trip.
    pub(crate) fn limit(&self, rtt: Option<Span>) -> Option<FarLimit> {
        if self.edges.hold(rtt) {
            Some(FarLimit::Window)
        } else if self.messages.hold() {
            Some(FarLimit::Messages)
        } else if self.bursts.are_written(rtt) {
            Some(FarLimit::Program)
        } else {
            None
        }
    }

    /// Returns the shares of its waits and bursts.
    pub(crate) fn shares(&self) -> FarShares {
        let shares = FarShares {
            at_edges: self.edges.share(),
            with_message: self.messages.share(),
            by_message: self.messages.released(),
            messages: self.messages.of_packets(),
            ..FarShares::default()
        };
        self.bursts.add_to(shares)
    }

    /// Returns the number of waits in which a message of the receiver came, or which it ended,
    /// whichever is more.
    pub(crate) fn waits_with_message(&self) -> u32 {
        self.messages.awaited()
    }

    /// Returns whether bursts come at other times than soon behind an ACK.
    pub(crate) fn is_unprompted(&self) -> bool {
        self.bursts.are_unprompted()
    }
}
