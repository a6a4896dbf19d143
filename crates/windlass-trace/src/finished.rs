//! A connection that has ended, before it is put into words.

use windlass_base::{Span, Timestamp};
use windlass_wire::Endpoint;

use crate::arrivals::{Arrivals, SharedLine};
use crate::connection::Connection;
use crate::counts::Counts;
use crate::distribution::Distribution;
use crate::flow::{Flow, Scale};
use crate::handshake::Handshake;
use crate::ledger::{Closed, Ledger};
use crate::trains::Line;
use crate::windows::Windows;
use windlass_base::Rate;

/// A latency that sets off a sender's retransmission timer before the ACK
/// comes: Linux's least timeout is 200 ms, and 100 ms leaves a share for the
/// path.
const WITHHELD: Span = Span::from_millis(100);

/// The share of a connection's time that makes no difference.
const LITTLE: f64 = 0.01;

/// A connection that has ended, reduced to its larger transfer.
#[derive(Debug)]
pub struct Finished {
    pub(crate) number: u64,
    pub(crate) sender: Endpoint,
    pub(crate) receiver: Endpoint,
    /// The direction of the transfer: 0 where the first packet's sender sends.
    pub(crate) direction: usize,
    pub(crate) handshake: Handshake,
    /// When its first packet came, and its last.
    lived: (Timestamp, Timestamp),
    pub(crate) packets: u64,
    pub(crate) captured_twice: u64,
    pub(crate) set_backs: u64,
    /// The step of the capture's clock; zero where it is fine enough.
    pub(crate) clock_step: Span,
    /// Bytes that went the other way.
    pub(crate) returned: u64,
    pub(crate) one_sided: bool,
    /// Both sides of a device that rewrites sequence numbers were captured.
    pub(crate) rewritten: bool,
    /// The receiver's ACKs are missing throughout.
    pub(crate) lacks_acks: bool,
    /// All packets come after the same time.
    pub(crate) made_up_times: bool,
    pub(crate) ack_delay: Span,
    pub(crate) path_rtt: Option<Span>,
    pub(crate) scale: Scale,
    pub(crate) segment_size: u64,
    pub(crate) window_most: u64,
    pub(crate) windows: Windows,
    pub(crate) latency: Distribution,
    pub(crate) cycles: Distribution,
    pub(crate) closures: Distribution,
    pub(crate) counts: Counts,
    /// Counts of the data that went the other way.
    pub(crate) counts_returned: Option<Counts>,
    pub(crate) capacity: Option<Rate>,
    /// The shortest time between two full segments.
    pub(crate) packet_time: Option<Span>,
    pub(crate) initial_flight: u64,
    pub(crate) unanswered: u64,
    pub(crate) ledger: Closed,
    /// The rate of a line that spaced its data, as far as that shows.
    line: Option<Line>,
    /// The line that it shared with other connections.
    pub(crate) shared: Option<SharedLine>,
    pub(crate) arrivals: Arrivals,
}

impl Finished {
    /// The larger transfer of a connection; `None` where none carried data.
    pub(crate) fn new(connection: Connection) -> Option<Self> {
        Self::look(connection, None)
    }

    /// The same of the given direction, where it carried data.
    pub(crate) fn look(connection: Connection, wanted: Option<usize>) -> Option<Self> {
        // By the capture's clock, which may have been set back meanwhile.
        let lived = (connection.began, connection.last - connection.stepped());
        let Connection { number, ends, sides, handshake, set_backs, oddities, .. } = connection;
        let packets = sides.iter().map(|side| side.packets).sum();
        let captured_twice = sides.iter().map(|side| side.captured_twice).sum();
        let one_sided = sides.iter().any(|side| side.packets == 0);
        let mut flows = sides.map(|side| side.flow);
        for flow in flows.iter_mut().flatten() {
            flow.close(&mut ());
        }
        let sizes = [0, 1].map(|place: usize| flows[place].as_deref().map_or(0, Flow::moved));
        // Two transfers of about the same size: the one that was held back longer
        // is of interest, or where neither was, the one whose program paused: the
        // other program waited for that.
        let (less, more) = if sizes[0] < sizes[1] { (0, 1) } else { (1, 0) };
        let direction = if sizes[less] * 10 >= sizes[more] * 9 {
            let time = |place: usize, of: fn(&Ledger) -> Span| {
                flows[place].as_deref().map_or(Span::ZERO, |flow| of(&flow.ledger))
            };
            let least = lived.1.since(lived.0).scaled(LITTLE);
            let (busy, other) = (time(less, Ledger::busy), time(more, Ledger::busy));
            let idle = time(less, Ledger::idle) > time(more, Ledger::idle);
            if busy > other + least || busy + least >= other && idle { less } else { more }
        } else {
            more
        };
        let direction = wanted.filter(|wanted| sizes[*wanted] > 0).unwrap_or(direction);
        let returned = sizes[1 - direction];
        let flow = flows[direction].take()?;
        if sizes[direction] == 0 && !flow.ledger.started() {
            return None;
        }
        let flow = *flow;
        let back = flows[1 - direction].take().filter(|flow| flow.counts.segments > 0);
        Some(Self {
            number,
            sender: ends[direction],
            receiver: ends[1 - direction],
            direction,
            handshake,
            lived,
            packets,
            captured_twice,
            set_backs,
            clock_step: Span::ZERO,
            returned,
            one_sided,
            rewritten: oddities.is_rewritten(),
            lacks_acks: oddities.lacks_acks(direction),
            made_up_times: oddities.has_made_up_times(),
            ack_delay: flow.path.turn(),
            path_rtt: flow.path.rtt(),
            scale: flow.scale,
            segment_size: flow.size.get(),
            window_most: flow.window_most,
            unanswered: if flow.was_heard() { flow.unanswered() } else { 0 },
            capacity: flow.capacity.best(),
            packet_time: flow.packet_time,
            initial_flight: flow.initial_flight,
            windows: flow.windows,
            latency: flow.latency,
            cycles: flow.cycles,
            closures: flow.closures,
            counts: flow.counts,
            counts_returned: back.map(|flow| flow.counts),
            ledger: flow.ledger.close(),
            line: flow.trains.line(),
            shared: None,
            arrivals: flow.arrivals,
        })
    }

    /// Whether the capture is none of a conversation as two hosts had it, so that it tells
    /// of no limit.
    pub(crate) fn is_untrue(&self) -> bool {
        self.rewritten || self.made_up_times
    }

    /// Who sent its larger transfer.
    #[must_use]
    pub fn sender(&self) -> Endpoint {
        self.sender
    }

    /// Who received it.
    #[must_use]
    pub fn receiver(&self) -> Endpoint {
        self.receiver
    }

    /// The bytes of its larger transfer.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.counts.bytes + self.counts.missing_bytes
    }

    /// The bytes of both directions.
    #[must_use]
    pub fn all_bytes(&self) -> u64 {
        self.bytes() + self.returned
    }

    /// Whether the receiver withholds its ACKs for longer than a sender's timer
    /// may run. It does so where timers ran out again and again and nothing was
    /// ever missing, or where its usual latency is that long.
    pub(crate) fn withholds_acks(&self) -> bool {
        let counts = &self.counts;
        let path = (self.path_rtt.unwrap_or_default() - self.ack_delay).or_zero();
        let own = self.latency.median().unwrap_or_default() - path;
        let seen = counts.blind_timeouts + counts.withheld;
        // It answers what arrives out of order at once, so that much was lost. And
        // where data is lost, most timers run out for more than one segment.
        let lost = counts.duplicate_acks > seen + 2 || counts.timeouts * 2 > seen;
        counts.fast == 0 && (seen >= 3 && !lost || own >= WITHHELD)
    }

    /// Retransmissions of data that was not lost.
    pub(crate) fn needless(&self) -> u64 {
        let blind = if self.withholds_acks() { self.counts.blind_timeouts } else { 0 };
        // The receiver's D-SACKs tell of each copy that it did not need.
        let twice = self.counts.d_sacks.min(self.counts.retransmissions);
        (self.counts.spurious + blind).max(twice)
    }

    /// The line that spaced its data on the way here. At the sender it is the sender that
    /// spaces it.
    pub(crate) fn line(&self) -> Option<Line> {
        self.line.filter(|_| self.is_far())
    }

    /// The line that it shared with other connections. At the sender each pause is its own.
    pub(crate) fn shared(&self) -> Option<SharedLine> {
        self.shared.filter(|_| self.is_far())
    }

    /// Whether the capture may have been taken far from the sender.
    fn is_far(&self) -> bool {
        self.ack_delay > Span::ZERO || self.handshake.rtt().is_none()
    }

    /// Whether anything proves that data was lost: some was sent again, and not
    /// needlessly.
    pub(crate) fn loses(&self) -> bool {
        self.counts.retransmissions > self.needless()
    }

    /// The share of segments that were lost: sent again, and not needlessly.
    pub(crate) fn loss_ratio(&self) -> f64 {
        self.counts.loss_ratio(self.needless())
    }

    /// When its first packet came, and its last: what the capture lost at another
    /// time is none of it.
    #[must_use]
    pub fn lived(&self) -> (Timestamp, Timestamp) {
        self.lived
    }

    /// Its number, from 1 in order of appearance.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.number
    }
}
