//! A connection that has ended, before it is judged.

mod facts;

use windlass_base::thresholds::{A_QUARTER, A_TENTH, AS_GOOD_AS_EQUAL, HOST_TIME};
use windlass_base::{Rate, Span, Timestamp};
use windlass_wire::{Endpoint, EthernetEnds};

use crate::estimate::active_rates::ActiveRates;
use crate::estimate::arrivals::{Aggregate, Arrivals};
use crate::estimate::beacons::PowerSave;
use crate::estimate::black_hole::BlackHole;
use crate::estimate::damaged_segments::DamagedSegments;
use crate::estimate::discards::DiscardEvidence;
use crate::estimate::distribution::Distribution;
use crate::estimate::echoes::Echoes;
use crate::estimate::ecn::EcnResponse;
use crate::estimate::far::FarVerdict;
use crate::estimate::longer_path::LongerPath;
use crate::estimate::loss_pattern::{FullQueue, Policer};
use crate::estimate::message_releases::MessageReleases;
use crate::estimate::packet_pairs::Pace;
use crate::estimate::path::Promptness;
use crate::estimate::program_pace::PaceShares;
use crate::estimate::reader::{Reader, ReadingRate};
use crate::estimate::seconds::{LatencySecond, Seconds};
use crate::estimate::shared_bottlenecks::FullTimes;
use crate::estimate::split_tcp::SplitTcp;
use crate::estimate::spurious::SpuriousRetransmissions;
use crate::estimate::trains::Trains;
use crate::follow::connection::Connection;
use crate::follow::counts::Counts;
use crate::follow::flow::UnansweredData;
use crate::follow::flow::{Flow, Scale};
use crate::follow::handshake::Handshake;
use crate::follow::ledger::Ledger;
use crate::follow::outstanding::TimeInFlight;
use crate::follow::windows::Windows;
use crate::quality::clock_jumps::ClockJump;

/// The last signs of one side.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LastSigns {
    /// The packets of its first FIN and its first RST.
    pub(crate) fin: Option<u64>,
    pub(crate) reset: Option<u64>,
    /// The time when its last packet came.
    pub(crate) last: Option<Timestamp>,
    /// Its data that was not answered.
    pub(crate) owed: Option<UnansweredData>,
}

/// A connection that has ended, reduced to its larger transfer.
#[derive(Debug)]
pub struct Transfer {
    pub(crate) number: u64,
    pub(crate) sender: Endpoint,
    pub(crate) receiver: Endpoint,
    /// Direction of the transfer: 0 if the first packet's sender sends.
    pub(crate) direction: usize,
    pub(crate) handshake: Handshake,
    /// The time when its first packet came, and its last.
    lived: (Timestamp, Timestamp),
    /// Time by which the connection's own clock is ahead of the capture's.
    stepped: Span,
    /// End of the capture.
    pub(crate) capture_end: Option<Timestamp>,
    /// The link header of its first packet.
    pub(crate) link: Option<EthernetEnds>,
    /// The last signs of the first packet's sender, and of the other side.
    signs: [LastSigns; 2],
    /// True if both sides ended it.
    over: bool,
    /// True if another connection took its ports.
    pub(crate) replaced: bool,
    pub(crate) packets: u64,
    pub(crate) captured_twice: u64,
    pub(crate) set_backs: u64,
    /// Times when the capture's clock was set ahead.
    pub(crate) leaps: Vec<ClockJump>,
    /// Largest time by which a packet stood before its predecessor.
    pub(crate) disorder: Span,
    /// Largest time by which an answer stood before the packet that it answers.
    pub(crate) answered_before: Span,
    /// The step of the capture's clock; zero where it is fine enough.
    pub(crate) clock_step: Span,
    /// The hop limits of the last packets of the sender and of the receiver; zero where the capture
    /// tells none.
    hop_limits: [u8; 2],
    /// Bytes that went the other way.
    pub(crate) returned: u64,
    pub(crate) one_sided: bool,
    /// True if the connection is a subflow of Multipath TCP.
    pub(crate) is_subflow: bool,
    /// True if both sides of a device that rewrites sequence numbers were captured.
    pub(crate) rewritten: bool,
    /// True if the receiver's ACKs are missing throughout.
    pub(crate) lacks_acks: bool,
    /// True if all packets follow each other after the same time.
    pub(crate) made_up_times: bool,
    pub(crate) ack_delay: Span,
    /// Echoes of its data, compared with the newest ACK that its sender has.
    pub(crate) echoes: Echoes,
    /// Promptness of answers to ACKs.
    pub(crate) turns: Promptness,
    /// Promptness of ACKs, near the sender.
    pub(crate) ack_promptness: Promptness,
    /// Shares of the sender's waits by their beginning and end, near the sender.
    pub(crate) pace_shares: Option<PaceShares>,
    /// Releases of data by messages of the receiver's program.
    pub(crate) message_releases: Option<Box<MessageReleases>>,
    /// Split TCP at the end that accepted the connection. A late third segment of the handshake is
    /// another matter.
    pub(crate) split: Option<SplitTcp>,
    pub(crate) path_rtt: Option<Span>,
    /// True if an ACK came so soon that it may be somebody else's.
    pub(crate) may_be_split: bool,
    /// True if the path's round trip rests on a few ACKs that came far sooner than the opening, and
    /// than most others.
    pub(crate) rtt_of_few: bool,
    /// The path, where it may take longer than its handshake did.
    pub(crate) longer_path: Option<LongerPath>,
    /// The least time to an ACK of the data that went the other way.
    returned_rtt: Option<Span>,
    pub(crate) scale: Scale,
    pub(crate) segment_size: u64,
    pub(crate) window_most: u64,
    pub(crate) windows: Windows,
    pub(crate) latency: Distribution,
    seconds: Option<Box<Seconds>>,
    pub(crate) cycles: Distribution,
    /// The time for which each byte was in flight.
    pub(crate) stays: TimeInFlight,
    pub(crate) closures: Distribution,
    pub(crate) counts: Counts,
    /// Counts of the data that went the other way.
    pub(crate) returned_losses: Option<(Counts, SpuriousRetransmissions, EcnResponse)>,
    pub(crate) capacity: Option<Rate>,
    /// The times between two full segments that were in flight at once.
    pub(crate) packet_times: Distribution,
    pub(crate) initial_flight: u64,
    pub(crate) unanswered: u64,
    /// The receiver discards what comes behind a hole.
    pub(crate) discarding: Option<DiscardEvidence>,
    /// Segments that arrived damaged.
    damaged: Option<DamagedSegments>,
    /// Black hole, if large segments never arrive.
    pub(crate) black_hole: Option<BlackHole>,
    /// True if a full segment arrived, or may have.
    pub(crate) full_arrived: bool,
    /// Token bucket that drops the data beyond a rate.
    pub(crate) policer: Option<Policer>,
    /// ACKs that waited for the beacons of a Wi-Fi.
    power_save: Option<PowerSave>,
    /// Delay of data, by its timestamps.
    data_lateness: Distribution,
    /// Time for which the windows of both directions were closed.
    both_closed: Span,
    /// Cuts of the sender's window in response to marks of queues.
    pub(crate) marks: EcnResponse,
    /// True if losses come as evenly as at a limit of the path.
    pub(crate) even_losses: bool,
    /// Full queue that drops the lost data, by round-trip times.
    full_queue: Option<FullQueue>,
    /// True if timestamps tell the delay of data before losses.
    tells_lateness: bool,
    pub(crate) ledger: Ledger,
    /// Evenness of its data and ACKs.
    trains: Trains,
    ack_trains: Trains,
    /// The pace at which bursts were acknowledged.
    service: Option<Pace>,
    /// Arrivals over all connections in its time, at its receiver or from its sender, if there were
    /// others.
    pub(crate) aggregate: Option<Aggregate>,
    pub(crate) arrivals: Arrivals,
    /// Times when the line to its receiver was full, by all arrivals over it.
    pub(crate) full_times: Option<FullTimes>,
    /// Spurious retransmissions with their reason, and the timer's length.
    pub(crate) sent_in_vain: SpuriousRetransmissions,
    /// Reading rate of the receiver's program, if it always had data to read.
    pub(crate) reading: Option<ReadingRate>,
    pub(crate) reader: Option<Box<Reader>>,
    /// Rates while it was active.
    pub(crate) moving: ActiveRates,
    /// Limit of the transfer by facts of the whole transfer, far from the sender.
    pub(crate) far: FarVerdict,
}

impl Transfer {
    /// Returns the larger transfer of a connection; `None` if neither direction carried data.
    pub(crate) fn new(connection: Connection) -> Option<Self> {
        Self::look(connection, None)
    }

    /// Returns the transfer of a direction, if it carried data.
    pub(crate) fn look(connection: Connection, wanted: Option<usize>) -> Option<Self> {
        // By the capture's clock, which may have been set back meanwhile.
        let stepped = connection.stepped;
        let lived = (connection.began, connection.last - stepped);
        let (over, is_subflow) = (connection.is_over(), connection.is_subflow());
        let Connection {
            number,
            ends,
            sides,
            handshake,
            set_backs,
            disorder,
            answered_before,
            oddities,
            leaps,
            clock_step,
            replaced,
            last,
            reset,
            ..
        } = connection;
        let leaps = leaps.all(clock_step);
        let packets = sides.iter().map(|side| side.packets).sum();
        let captured_twice = sides.iter().map(|side| side.captured_twice).sum();
        let one_sided = sides.iter().any(|side| side.packets == 0);
        let signs = [0, 1].map(|place: usize| {
            let side = &sides[place];
            LastSigns {
                fin: side.fin_packet,
                reset: side.reset_packet,
                last: side.last,
                owed: side.flow.as_deref().and_then(Flow::owed),
            }
        });
        let hop_limits = [0, 1].map(|place: usize| sides[place].hop_limit);
        let has_end = reset || sides.iter().any(|side| side.fin_packet.is_some());
        let ended = has_end.then_some(last);
        let mut damaged = [None, None];
        let mut flows = [None, None];
        for (place, side) in sides.into_iter().enumerate() {
            damaged[place] = side.damage.damaged();
            flows[place] = side.flow;
        }
        for (direction, flow) in flows.iter_mut().enumerate() {
            let Some(flow) = flow else { continue };
            flow.close(ended, &mut ());
            for leap in leaps.iter().rev() {
                flow.leave_out(leap, leap.spanned[direction]);
            }
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
            let least = lived.1.since(lived.0).scaled(AS_GOOD_AS_EQUAL.get());
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
        let mut flow = *flow;
        let far = flow.settle_far(handshake.rtt().is_some());
        let (size, rtt, marks) = (flow.size.get(), flow.path.rtt, flow.marks());
        let black_hole = flow.black_hole();
        let full_arrived = flow.may_have_brought_full();
        let unanswered = if flow.heard { flow.unanswered() } else { 0 };
        let ledger = flow.ledger.close();
        let is_near = flow.path.turn == Span::ZERO;
        let discarding = flow.discards.discarding(size);
        let hosts_hold = ledger.share_of_hosts() > A_QUARTER.get();
        let policer = rtt.filter(|_| !hosts_hold).and_then(|rtt| {
            let counts = &flow.counts;
            let needless = counts.spurious.max(counts.d_sacks);
            let is_lost = needless * 2 <= counts.retransmissions && discarding.is_none();
            let bucket = flow.token_bucket.filter(|_| is_lost)?;
            let (policer, taken) = bucket.policer(size, rtt, counts.super_packets, is_near)?;
            if is_near {
                return flow.drops.is_unqueued(&policer, taken).then_some(policer);
            }
            let closest = flow.packet_times.quantile(A_TENTH.get());
            let usual = flow.lateness.as_ref().and_then(|lateness| lateness.all.median());
            let is_unqueued = bucket.is_unqueued_before(&policer, size, closest, usual)
                && (!bucket.loses_behind() || flow.drops.is_unqueued(&policer, policer.burst));
            is_unqueued.then_some(policer)
        });
        let full_queue = match &flow.lateness {
            Some(lateness) => flow.drops.full_queue_before(&lateness.all, size),
            None => rtt.and_then(|rtt| flow.drops.full_queue(&flow.latency, rtt, size)),
        };
        let back = flows[1 - direction].take().filter(|flow| flow.counts.segments > 0);
        let both_closed = back.as_ref().map_or(Span::ZERO, |back| ledger.closed_with(&back.ledger));
        let may_be_split =
            flow.path.may_be_split() || back.as_ref().is_some_and(|flow| flow.path.may_be_split());
        let split = match handshake.opener {
            Some(opener) if opener == direction => flow.path.split(),
            Some(_) => back.as_ref().and_then(|flow| flow.path.split()),
            None => None,
        };
        Some(Self {
            number,
            sender: ends[direction],
            receiver: ends[1 - direction],
            direction,
            handshake,
            lived,
            stepped,
            capture_end: None,
            link: None,
            signs,
            over,
            replaced,
            packets,
            captured_twice,
            set_backs,
            leaps,
            disorder,
            answered_before,
            clock_step: Span::ZERO,
            hop_limits: [hop_limits[direction], hop_limits[1 - direction]],
            returned,
            one_sided,
            is_subflow,
            rewritten: oddities.is_rewritten(),
            lacks_acks: oddities.lacks_acks(direction),
            made_up_times: oddities.has_made_up_times(),
            ack_delay: flow.path.turn,
            echoes: flow.echoes,
            turns: flow.turns,
            ack_promptness: flow.ack_promptness,
            message_releases: flow.message_releases.filter(|_| is_near),
            pace_shares: flow.program_pace.filter(|_| is_near).and_then(|pace| pace.shares()),
            split,
            may_be_split,
            rtt_of_few: flow.path.is_of_few(),
            path_rtt: flow.path.rtt,
            longer_path: flow.pipeline.longer(&flow.latency, flow.path.opening),
            returned_rtt: back.as_ref().and_then(|flow| flow.path.rtt),
            scale: flow.scale,
            segment_size: size,
            window_most: flow.window_most,
            unanswered,
            capacity: flow.capacity.best(),
            packet_times: flow.packet_times,
            initial_flight: flow.initial_flight,
            windows: flow.windows,
            latency: flow.latency,
            seconds: flow.seconds,
            cycles: flow.cycles,
            stays: flow.stays,
            closures: flow.closures,
            counts: flow.counts,
            returned_losses: back.map(|flow| {
                let marks = flow.marks();
                (flow.counts, flow.needless, marks)
            }),
            ledger,
            discarding,
            damaged: damaged[direction].take(),
            black_hole,
            full_arrived,
            policer,
            both_closed,
            power_save: flow.beacons.and_then(|beacons| beacons.power_save()),
            data_lateness: flow.lateness.map(|lateness| lateness.all).unwrap_or_default(),
            marks,
            even_losses: flow.drops.are_even(),
            full_queue,
            tells_lateness: flow.drops.tell_lateness(),
            trains: flow.trains,
            ack_trains: flow.ack_trains,
            service: flow.service.pace(),
            aggregate: None,
            arrivals: flow.arrivals,
            full_times: None,
            sent_in_vain: flow.needless,
            reading: flow.reader.as_ref().and_then(|reader| reader.reading()),
            reader: flow.reader,
            moving: flow.moving.rates(flow.size.get()),
            far,
        })
    }

    /// Returns the last signs of the sender and of the receiver.
    pub(crate) fn signs(&self) -> [LastSigns; 2] {
        [self.signs[self.direction], self.signs[1 - self.direction]]
    }

    /// Returns the end of its observation: its own end, or the capture's, by its own clock.
    pub(crate) fn observed_until(&self) -> Timestamp {
        let last = self.lived.1;
        let end = if self.over || self.replaced { last } else { self.capture_end.unwrap_or(last) };
        end.max(last) + self.stepped
    }

    /// Returns the time from its last packet to the capture's end.
    pub(crate) fn silent_for(&self) -> Span {
        let end = self.capture_end.unwrap_or(self.lived.1);
        end.since(self.lived.1).or_zero()
    }

    /// Returns the path's round trip, if something shows it.
    ///
    /// A handshake shows it. Without one there is only the time from data to its ACK, which at the
    /// receiver is the receiver's own. A time longer than a host's own is the path's, and so is a
    /// time that the other side's ACKs do not exceed. (One step of the capture's clock may be no
    /// time at all.)
    pub(crate) fn told_rtt(&self) -> Option<Span> {
        let least = self.path_rtt?;
        let told = self.handshake.rtt().is_some()
            || least >= HOST_TIME.get().max(self.clock_step * 2)
            || self.returned_rtt.is_some_and(|returned| returned <= least);
        told.then_some(least)
    }

    /// Returns whether the capture may have been taken far from the sender. A clock whose step
    /// hides the handshake does not tell.
    pub(crate) fn is_far(&self) -> bool {
        let hidden = |rtt: Span| rtt < self.clock_step;
        self.ack_delay > Span::ZERO || self.handshake.rtt().is_none_or(hidden)
    }

    /// Returns the sender of its larger transfer.
    pub fn sender(&self) -> Endpoint {
        self.sender
    }

    /// Returns the receiver.
    pub fn receiver(&self) -> Endpoint {
        self.receiver
    }

    /// Returns the end that accepted the connection. Without a SYN this is the end with the lower
    /// port, as servers have.
    pub fn peer(&self) -> Endpoint {
        let opened = self.handshake.opener.map(|opener| opener == self.direction);
        let by_sender = opened.unwrap_or(self.receiver.port <= self.sender.port);
        if by_sender { self.receiver } else { self.sender }
    }

    /// Returns the bytes of its larger transfer.
    pub fn bytes(&self) -> u64 {
        self.counts.bytes + self.counts.missing_bytes
    }

    /// Returns the bytes of both directions.
    pub fn all_bytes(&self) -> u64 {
        self.bytes() + self.returned
    }

    /// Returns the times of its first and its last packet: packets that the capture lost at another
    /// time are none of it.
    pub fn lived(&self) -> (Timestamp, Timestamp) {
        self.lived
    }

    /// Returns the ACK latencies of each second, the earliest first; none unless the analyzer
    /// counts by the second. Seconds are of the connection's own clock, which goes on where the
    /// capture's was set back.
    pub fn latencies(&self) -> Vec<LatencySecond> {
        self.seconds.as_ref().map_or_else(Vec::new, |seconds| seconds.rows())
    }

    /// Returns its number, from 1 in order of appearance.
    pub fn number(&self) -> u64 {
        self.number
    }
}
