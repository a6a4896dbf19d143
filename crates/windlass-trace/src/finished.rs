//! A connection that has ended, before it is put into words.

use windlass_base::{Bytes, Rate, Span, Timestamp};
use windlass_wire::{Endpoint, EthernetEnds};

use crate::arrivals::{Aggregate, Arrivals};
use crate::connection::Connection;
use crate::counts::Counts;
use crate::discards::Discarding;
use crate::distribution::Distribution;
use crate::drops::{FullQueue, Policer};
use crate::echoes::Echoes;
use crate::flow::Owed;
use crate::flow::{Flow, Scale};
use crate::handshake::Handshake;
use crate::leaps::Leap;
use crate::ledger::{Kind, Ledger};
use crate::lines::FullTimes;
use crate::marks::Marks;
use crate::moving::MovingRates;
use crate::needless::{Needless, SlowTimer};
use crate::outstanding::Stays;
use crate::path::Promptness;
use crate::pipeline::LongerPath;
use crate::reader::{Reader, Reading};
use crate::seconds::{LatencySecond, Seconds};
use crate::service::Pace;
use crate::sizes::Hole;
use crate::split::Split;
use crate::trains::{Line, Trains};
use crate::windows::Windows;

/// The hop limits that systems send with: RFC 1700's 64, Windows's 128, and the most, which
/// printers and routers take.
const INITIAL_HOP_LIMITS: [u8; 4] = [32, 64, 128, 255];

/// No idle path takes longer: one by a geostationary satellite takes 0.6 s.
const LONGEST_PATH: Span = Span::from_millis(700);

/// The least share of others in what a line carried that all of its connections tell.
const OTHERS: f64 = 0.1;

/// By how much the usual round trip is longer than the path's where data waits for a line that
/// others fill, too; and one through a queue that is full, to be told from what a burst takes before
/// a policer, which lasts longest before a loss, too.
const WAITS: f64 = 1.1;

/// The same where it may: hosts make an idle path of 20 ms longer by 1 to 4 %.
const MAY_WAIT: f64 = 1.05;

/// Who is alone on a line has this share of its pace, at least, when its queue is full: over links
/// 0.81 to 1.07, and two to four that shared one 0.30 to 0.57 each.
const ALONE: f64 = 0.7;

/// From this share of a line on a connection leaves others little of it.
const MOST: f64 = 0.8;

/// A line that spaces segments has most of them apart by this factor of the closest, at most. Of
/// streams that shared one 1.02 to 1.24; where their delays vary, or others pass between most of
/// them, 5 and more.
const ALIKE: f64 = 1.3;

/// What several sent is compared over so many round trips: within one it comes in bursts.
const ROUNDS: i64 = 2;

/// By how much round trips of an idle path vary.
const JITTER: f64 = 1.25;

/// A latency that sets off a sender's retransmission timer before the ACK
/// comes: Linux's least timeout is 200 ms, and 100 ms leaves a share for the
/// path.
const WITHHELD: Span = Span::from_millis(100);

/// Hosts take so long by themselves to acknowledge: interrupts are gathered for up to
/// 250 µs, and a program or an offload adds as much.
const OWN_TIME: Span = Span::from_micros(500);
/// The share of the time that hosts may hold a transfer back, by a full window or with
/// nothing to send, where a policer is looked for. A program that reads or writes at a
/// rate of its own puts losses on a line as well.
const HOSTS: f64 = 0.25;

/// So many repairs in vain, or ACKs that never came, make a habit of the path.
const SEVERAL: u64 = 3;

/// The share of a connection's time that makes no difference.
const LITTLE: f64 = 0.01;

/// The last signs of one side.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Signs {
    /// The packets of its first FIN and its first RST.
    pub(crate) fin: Option<u64>,
    pub(crate) reset: Option<u64>,
    /// When its last packet came.
    pub(crate) last: Option<Timestamp>,
    /// Its data that was not answered.
    pub(crate) owed: Option<Owed>,
}

/// One of ten pairs of segments may come closer than the line has them.
const CLOSEST: f64 = 0.1;

/// Times out of order by more than this share of the round trip make what rests on it doubtful.
/// Several interfaces, or queues of one, write packets out of order by less than the least.
const DISORDER: f64 = 0.25;
const LEAST_DISORDER: Span = Span::from_millis(1);

/// How far an answer may stand before what it answers, where one clock serves two queues of a card.
const MIN_BEFORE: Span = Span::from_micros(200);

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
    /// How far its own time is ahead of the capture's.
    stepped: Span,
    /// When the capture ended.
    pub(crate) capture_end: Option<Timestamp>,
    /// The link header of its first packet.
    pub(crate) link: Option<EthernetEnds>,
    /// The last signs of the first packet's sender, and of the other side.
    signs: [Signs; 2],
    /// Whether both sides ended it.
    over: bool,
    /// Whether another connection took its ports.
    pub(crate) replaced: bool,
    pub(crate) packets: u64,
    pub(crate) captured_twice: u64,
    pub(crate) set_backs: u64,
    /// Where the capture's clock was set ahead.
    pub(crate) leaps: Vec<Leap>,
    /// How far a packet's time lay behind that of one before, at most.
    pub(crate) disorder: Span,
    /// How far an answer stood before what it answers, at most.
    pub(crate) answered_before: Span,
    /// The step of the capture's clock; zero where it is fine enough.
    pub(crate) clock_step: Span,
    /// The hop limit of the sender's last packet; zero where the capture tells none.
    hop_limit: u8,
    /// Bytes that went the other way.
    pub(crate) returned: u64,
    pub(crate) one_sided: bool,
    /// It is a subflow of Multipath TCP.
    pub(crate) is_subflow: bool,
    /// Both sides of a device that rewrites sequence numbers were captured.
    pub(crate) rewritten: bool,
    /// The receiver's ACKs are missing throughout.
    pub(crate) lacks_acks: bool,
    /// All packets come after the same time.
    pub(crate) made_up_times: bool,
    pub(crate) ack_delay: Span,
    /// Whether its data echoes the newest ACK that its sender has.
    pub(crate) echoes: Echoes,
    /// Whether answers to ACKs went on as quick as they were.
    pub(crate) turns: Promptness,
    /// And of ACKs, near the sender.
    pub(crate) ack_promptness: Promptness,
    /// That of the end that did not open the connection. A third segment that comes late
    /// is another matter.
    pub(crate) split: Option<Split>,
    pub(crate) path_rtt: Option<Span>,
    /// Whether an ACK came so soon that it may be somebody else's.
    pub(crate) may_be_split: bool,
    /// Whether the path's round trip rests on a few ACKs that came far sooner than the opening, and
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
    /// How long each byte was in flight.
    pub(crate) stays: Stays,
    pub(crate) closures: Distribution,
    pub(crate) counts: Counts,
    /// Counts of the data that went the other way.
    pub(crate) returned_losses: Option<(Counts, Needless, Marks)>,
    pub(crate) capacity: Option<Rate>,
    /// The times between two full segments that were in flight at once.
    pub(crate) packet_times: Distribution,
    pub(crate) initial_flight: u64,
    pub(crate) unanswered: u64,
    /// The receiver discards what comes behind a hole.
    pub(crate) discarding: Option<Discarding>,
    /// Large segments never arrive.
    pub(crate) black_hole: Option<Hole>,
    /// A token bucket drops what goes beyond a rate.
    pub(crate) policer: Option<Policer>,
    /// When its sender cut its window for what queues marked.
    pub(crate) marks: Marks,
    /// Whether losses come as evenly as at a limit of the path.
    pub(crate) even_losses: bool,
    /// A queue that is full drops what is lost, as round trips tell.
    full_queue: Option<FullQueue>,
    /// Whether it tells how late data came before losses.
    tells_lateness: bool,
    pub(crate) ledger: Ledger,
    /// How evenly its data came, and its ACKs.
    trains: Trains,
    ack_trains: Trains,
    /// The pace at which bursts were acknowledged.
    service: Option<Pace>,
    /// What came to its receiver over all connections in its time, or from its sender, where there
    /// were others.
    pub(crate) aggregate: Option<Aggregate>,
    pub(crate) arrivals: Arrivals,
    /// When the line to its receiver was full, by all that came over it.
    pub(crate) full_times: Option<FullTimes>,
    /// Why segments were sent again in vain, and how long the timer runs.
    pub(crate) sent_in_vain: Needless,
    /// The receiver's program, where it always had data to read.
    pub(crate) reading: Option<Reading>,
    pub(crate) reader: Option<Box<Reader>>,
    /// How fast it was while it was under way.
    pub(crate) moving: MovingRates,
}

impl Finished {
    /// The larger transfer of a connection; `None` where none carried data.
    pub(crate) fn new(connection: Connection) -> Option<Self> {
        Self::look(connection, None)
    }

    /// The same of the given direction, where it carried data.
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
            ..
        } = connection;
        let leaps = leaps.all(clock_step);
        let packets = sides.iter().map(|side| side.packets).sum();
        let captured_twice = sides.iter().map(|side| side.captured_twice).sum();
        let one_sided = sides.iter().any(|side| side.packets == 0);
        let signs = [0, 1].map(|place: usize| {
            let side = &sides[place];
            Signs {
                fin: side.fin_packet,
                reset: side.reset_packet,
                last: side.last,
                owed: side.flow.as_deref().and_then(Flow::owed),
            }
        });
        let hop_limits = [0, 1].map(|place: usize| sides[place].hop_limit);
        let mut flows = sides.map(|side| side.flow);
        for (direction, flow) in flows.iter_mut().enumerate() {
            let Some(flow) = flow else { continue };
            flow.close(&mut ());
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
        let (size, rtt, marks) = (flow.size.get(), flow.path.rtt, flow.marks());
        let unanswered = if flow.heard { flow.unanswered() } else { 0 };
        let ledger = flow.ledger.close();
        let policer = rtt
            .filter(|_| ledger.share_of_hosts() <= HOSTS)
            .and_then(|rtt| flow.drops.policer(size, rtt));
        let full_queue = match &flow.lateness {
            Some(lateness) => flow.drops.full_queue_before(&lateness.all, size),
            None => rtt.and_then(|rtt| flow.drops.full_queue(&flow.latency, rtt, size)),
        };
        let back = flows[1 - direction].take().filter(|flow| flow.counts.segments > 0);
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
            hop_limit: hop_limits[direction],
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
            discarding: flow.discards.discarding(size),
            black_hole: flow.sizes.hole(flow.outstanding.largest.min(size)),
            policer,
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
        })
    }

    /// The last signs of the sender and of the receiver.
    pub(crate) fn signs(&self) -> [Signs; 2] {
        [self.signs[self.direction], self.signs[1 - self.direction]]
    }

    /// Until when it was looked at: until it ended, or the capture did, by its own clock.
    pub(crate) fn observed_until(&self) -> Timestamp {
        let last = self.lived.1;
        let end = if self.over || self.replaced { last } else { self.capture_end.unwrap_or(last) };
        end.max(last) + self.stepped
    }

    /// From its last packet to the capture's end.
    pub(crate) fn silent_for(&self) -> Span {
        let end = self.capture_end.unwrap_or(self.lived.1);
        end.since(self.lived.1).or_zero()
    }

    /// The path's round trip, where something tells it.
    ///
    /// A handshake does. Without one there is only the time from data to its ACK, and at
    /// the receiver that is the receiver's own. What takes longer than a host does is the
    /// path's, and so is what the other side's ACKs do not take longer than. (One step of the
    /// capture's clock may be no time at all.)
    pub(crate) fn told_rtt(&self) -> Option<Span> {
        let least = self.path_rtt?;
        let told = self.handshake.rtt().is_some()
            || least >= OWN_TIME.max(self.clock_step * 2)
            || self.returned_rtt.is_some_and(|returned| returned <= least);
        told.then_some(least)
    }

    /// Whether the capture is none of a conversation as two hosts had it, so that it tells
    /// of no limit.
    pub(crate) fn is_untrue(&self) -> bool {
        self.rewritten || self.made_up_times
    }

    /// Who sent its larger transfer.
    pub fn sender(&self) -> Endpoint {
        self.sender
    }

    /// Who received it.
    pub fn receiver(&self) -> Endpoint {
        self.receiver
    }

    /// The end that was connected to: the other one opened it. Where no SYN tells, the
    /// one with the lower port, as servers have.
    pub fn peer(&self) -> Endpoint {
        let opened = self.handshake.opener.map(|opener| opener == self.direction);
        let by_sender = opened.unwrap_or(self.receiver.port <= self.sender.port);
        if by_sender { self.receiver } else { self.sender }
    }

    /// The bytes of its larger transfer.
    pub fn bytes(&self) -> u64 {
        self.counts.bytes + self.counts.missing_bytes
    }

    /// The bytes of both directions.
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
        (self.counts.spurious + blind).max(twice).min(self.counts.retransmissions)
    }

    /// The sender's retransmission timer, where it runs far beyond what the path asks for,
    /// with the queues that ACKs stood in, and those that its data may have filled before it
    /// came here; and the longest usual round trip.
    pub(crate) fn slow_timer(&self) -> Option<(SlowTimer<'_>, Span)> {
        let latency = self.latency.quantile(0.9).unwrap_or_default() + self.ack_delay;
        let flight = Bytes::new(self.counts.flight_most);
        let line = self.line().map(|line| line.rate).or(self.capacity).filter(|_| self.is_far());
        let queued = line.map_or(Span::ZERO, |rate| rate.time_for(flight));
        let rtt = self.told_rtt()?.max(latency).max(queued);
        Some((self.sent_in_vain.slow_timer(rtt)?, rtt))
    }

    /// Its timer, where it is slow and took most of the time that repair by it took.
    pub(crate) fn costly_timer(&self) -> Option<SlowTimer<'_>> {
        let (timer, _) = self.slow_timer().filter(|_| !self.never_came_back())?;
        let repairs = self.ledger.intervals.iter().filter(|one| one.kind == Kind::Timeout);
        let repair: Span = repairs.map(|one| one.charged).sum();
        (timer.waited * 2 > repair).then_some(timer)
    }

    /// Whether ACKs were lost, or came late, so often that it is the path's habit. Once or
    /// twice it may be a host that stood still. And where more than half of all segments came
    /// again, the capture may hold the conversation twice.
    pub(crate) fn loses_acks(&self) -> bool {
        let lost = self.sent_in_vain.acks_lost;
        lost >= SEVERAL && lost * 2 <= self.counts.segments
    }

    /// Whether its repairs were mostly of what had been overtaken, and not lost.
    pub(crate) fn reorders(&self) -> bool {
        let (counts, vain) = (&self.counts, self.sent_in_vain.vain_repairs);
        vain >= SEVERAL && vain * 5 >= counts.loss_events * 4
    }

    /// Segments that were lost: sent again, and not needlessly.
    pub(crate) fn lost(&self) -> u64 {
        self.counts.retransmissions - self.needless()
    }

    /// The line that spaced its data on the way here. At the sender it is the sender that
    /// spaces it.
    pub(crate) fn line(&self) -> Option<Line> {
        if self.is_far() { self.trains.line(self.clock_step) } else { None }
    }

    /// The line that spaced its ACKs on the way here. Far from the sender they have not passed
    /// all of the path.
    pub(crate) fn ack_line(&self) -> Option<Line> {
        if self.is_far() { None } else { self.ack_trains.spacing(self.clock_step) }
    }

    /// What the narrowest place behind the sender takes. Far from it, bursts are parted
    /// before they come to the capture.
    pub(crate) fn service(&self) -> Option<Pace> {
        self.service.filter(|_| !self.is_far())
    }

    /// The shortest time between two full segments: what one takes on the line, at the most.
    pub(crate) fn packet_time(&self) -> Option<Span> {
        self.packet_times.least()
    }

    /// How close two full segments come to each other here: one pair of ten comes closer, as hosts
    /// that stand still for a moment hand on two at once.
    pub(crate) fn closest(&self) -> Option<Span> {
        self.packet_times.quantile(CLOSEST).filter(|time| *time > Span::ZERO)
    }

    /// How the line spaced its data that is the path's narrowest, whoever had more to send.
    pub(crate) fn spacing(&self) -> Option<Line> {
        self.trains.spacing(self.clock_step)
    }

    /// The line that it shared with others, where its sender shows it: what all of them sent stays
    /// the same, hardly below the most that they sent, and data waits for the line. At a sender
    /// that alone tells a line that is full from losses that come to each by chance.
    pub(crate) fn shared_queue(&self) -> Option<Aggregate> {
        let rtt = self.told_rtt()?;
        let is_full = |line: &Aggregate| line.is_steady() && line.span >= rtt * ROUNDS;
        self.shared().filter(|line| !self.is_far() && self.waits(WAITS) && is_full(line))
    }

    /// What several connections sent, where that may be what a line carries which they fill.
    pub(crate) fn may_share_queue(&self) -> Option<Aggregate> {
        self.aggregate.filter(|all| all.is_line || all.is_steady() && self.waits(MAY_WAIT))
    }

    /// The queue that drops what is lost, where it is full then. Where nothing tells on which side
    /// of it the capture was taken, nothing tells what is late there.
    pub(crate) fn full_queue(&self) -> Option<FullQueue> {
        let shows = |queue: &FullQueue| {
            let rtt = self.told_rtt().unwrap_or_default();
            self.is_far() || queue.wait >= rtt.scaled(WAITS - 1.0)
        };
        self.full_queue.filter(|queue| self.loses_when_full() && shows(queue))
    }

    /// Whether what is lost is lost when a queue is full, however short it is.
    pub(crate) fn loses_when_full(&self) -> bool {
        self.lost_queue().is_some_and(|queue| queue.is_sure)
    }

    /// The queue that drops what is lost, or may be.
    fn lost_queue(&self) -> Option<FullQueue> {
        let is_told = self.ack_delay > Span::ZERO || !self.is_far();
        self.full_queue.filter(|_| is_told && self.policer.is_none())
    }

    /// The same where others fill it: this connection has little of the line behind it then, by
    /// the pace of its bursts. Where no pace is known they may.
    pub(crate) fn queue_of_others(&self) -> Option<FullQueue> {
        // How close any segments come is no less than the pace.
        let pace = self.line_pace().or_else(|| self.closest_rate());
        let alone = pace.map(|rate| rate.bytes_per_second() * ALONE);
        let has_little = |rate: Rate| alone.is_none_or(|alone| rate.bytes_per_second() < alone);
        self.full_queue().filter(|queue| has_little(queue.rate))
    }

    /// Whether others may fill a queue that loses this data, and nothing here tells: what is lost
    /// comes late, but not late enough. Or it was captured far from its sender, who sends no
    /// timestamps, or on this side of where it is lost, and has less than most of what its closest
    /// segments show of the line.
    pub(crate) fn may_hide_queue(&self, measured: Rate) -> bool {
        if self.lost_queue().is_some() {
            return self.full_queue().is_none();
        }
        let most = self.closest_rate().map(|rate| rate.bytes_per_second() * MOST);
        self.is_far()
            && !self.tells_lateness
            && self.counts.loss_events >= SEVERAL
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
            let usual = self.packet_times.median();
            usual.is_some_and(|usual| usual <= time.scaled(ALIKE))
        };
        let far = self.closest_rate().filter(|_| self.closest().as_ref().is_some_and(alike));
        self.service().map(|pace| pace.rate).or(far)
    }

    /// The rate at which full segments come that are closest to each other, far from the sender.
    /// Where a card joins them it does not show.
    fn closest_rate(&self) -> Option<Rate> {
        let closest = self.closest().filter(|_| self.is_far() && self.counts.super_packets == 0)?;
        Some(Bytes::new(self.segment_size).per(closest))
    }

    /// The rate of the line that it fills alone: the pace of bursts behind the sender, and far from
    /// it the fastest rate, or what most full segments take, which a moment's lateness changes less.
    pub(crate) fn line_rate(&self) -> Option<Rate> {
        let usual = self.packet_times.median().filter(|_| self.counts.super_packets == 0);
        let usual = usual.map(|time| Bytes::new(self.segment_size).per(time));
        let fastest = self.capacity.filter(|_| self.is_far());
        let fastest = fastest.map(|rate| usual.map_or(rate, |usual| usual.min(rate)));
        self.service().map(|pace| pace.rate).or(fastest)
    }

    /// Whether the usual round trip is longer than the path's by this factor.
    fn waits(&self, longer: f64) -> bool {
        let usual = self.latency.median().zip(self.told_rtt());
        usual.is_some_and(|(usual, rtt)| usual + self.ack_delay >= rtt.scaled(longer))
    }

    /// The line that it shared with other connections, where what came over all of them tells, or
    /// a queue that it does not fill alone.
    pub(crate) fn shared(&self) -> Option<Aggregate> {
        let is_full = |all: &Aggregate| all.is_steady() && self.queue_of_others().is_some();
        self.aggregate.filter(|all| all.is_line || is_full(all))
    }

    /// When the line to its receiver was full, by the spacing of all that came over this
    /// connection and others: no window and no program of this one made that.
    pub(crate) fn full_times(&self) -> Option<&FullTimes> {
        let own = self.counts.bytes as f64;
        let is_shared = |line: &&FullTimes| line.bytes.get() as f64 * (1.0 - OTHERS) >= own;
        self.full_times.as_ref().filter(|_| self.is_far()).filter(is_shared)
    }

    /// What the line carries that it shares with so many connections in all.
    pub(crate) fn shared_line(&self) -> Option<(Rate, u64)> {
        let full = self.full_times().map(|line| (line.rate, line.connections));
        full.or_else(|| self.shared().map(|line| (line.rate, line.connections)))
    }

    /// Whether it is a split connection, and split at its sender, who then did not open it.
    pub(crate) fn splits_sender(&self) -> bool {
        self.split.is_some() && self.handshake.opener != Some(self.direction)
    }

    /// How long an ACK may take from the capture to the sender, and its answer back, where no
    /// handshake told it, or a queue on its way is full again and again: a sender that waits for an
    /// ACK then looks as one that has nothing to send. `None` where it is told, or no router lies
    /// between them.
    pub(crate) fn longest_turn(&self) -> Option<Span> {
        if let Some(queue) = self.full_queue().filter(|_| self.is_far()) {
            return Some(self.ack_delay + queue.wait * 2);
        }
        let told = self.handshake.rtt().is_some() || self.ack_delay > Span::ZERO;
        let is_near = self.hop_limit == 0 || INITIAL_HOP_LIMITS.contains(&self.hop_limit);
        let longest = || self.returned_rtt.map_or(LONGEST_PATH, |rtt| rtt.scaled(JITTER));
        (!told && !is_near).then(longest)
    }

    /// Whether the capture may have been taken far from the sender. A clock whose step hides
    /// the handshake does not tell.
    pub(crate) fn is_far(&self) -> bool {
        let hidden = |rtt: Span| rtt < self.clock_step;
        self.ack_delay > Span::ZERO || self.handshake.rtt().is_none_or(hidden)
    }

    /// Whether packets stand in the capture with times so far out of order that the path's round
    /// trip may be one that never was.
    pub(crate) fn is_disordered(&self) -> bool {
        self.disorder > self.path_rtt.unwrap_or_default().scaled(DISORDER).max(LEAST_DISORDER)
    }

    /// Whether the two directions were captured by clocks that differ.
    pub(crate) fn has_two_clocks(&self) -> bool {
        self.answered_before > self.clock_step + MIN_BEFORE
    }

    /// Whether anything proves that data was lost: some was sent again, and not
    /// needlessly.
    pub(crate) fn loses(&self) -> bool {
        self.lost() > 0
    }

    /// The share of segments that were lost: sent again, and not needlessly.
    pub(crate) fn loss_ratio(&self) -> f64 {
        self.counts.loss_ratio(self.needless())
    }

    /// When its first packet came, and its last: what the capture lost at another
    /// time is none of it.
    pub fn lived(&self) -> (Timestamp, Timestamp) {
        self.lived
    }

    /// How its ACKs came in each second, the earliest first; none where the analyser was not
    /// told to count them. Seconds are of the connection's own clock, which goes on where the
    /// capture's was set back.
    pub fn latencies(&self) -> Vec<LatencySecond> {
        self.seconds.as_ref().map_or_else(Vec::new, |seconds| seconds.rows())
    }

    /// Its number, from 1 in order of appearance.
    pub fn number(&self) -> u64 {
        self.number
    }
}
