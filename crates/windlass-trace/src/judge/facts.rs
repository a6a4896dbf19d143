//! Facts of a transfer: all inputs of the judgement, measured once.
//!
//! A rule reads [`Facts`] and nothing else. Their source (packets, a kernel, a simulation) is
//! unknown to rules; a source without a fact leaves it out.

mod line;
mod list;
mod loss;
mod path;

use windlass_base::thresholds::{
    AS_GOOD_AS_EQUAL, LEVEL_FULLNESS, MOMENT, MOST_OF_IT, NEARLY_ALL, PROGRAMS_SHARE,
};
use windlass_base::{Bytes, Rate, Span};

pub use self::list::Fact;
use crate::estimate::active_rates::ActiveRates;
use crate::estimate::arrivals::Aggregate;
use crate::estimate::beacons::PowerSave;
use crate::estimate::black_hole::BlackHole;
use crate::estimate::damaged_segments::DamagedSegments;
use crate::estimate::discards::DiscardEvidence;
use crate::estimate::ecn::EcnResponse;
use crate::estimate::far::FarVerdict;
use crate::estimate::longer_path::LongerPath;
use crate::estimate::loss_pattern::{FullQueue, Policer};
use crate::estimate::packet_pairs::Pace;
use crate::estimate::program_pace::PaceShares;
use crate::estimate::reader::ReadingRate;
use crate::estimate::shared_bottlenecks::FullTimes;
use crate::estimate::split_tcp::SplitTcp;
use crate::estimate::spurious::SpuriousRetransmissions;
use crate::estimate::trains::LineSpacing;
use crate::follow::counts::Counts;
use crate::follow::flow::Scale;
use crate::follow::handshake::Handshake;
use crate::follow::ledger::{AbsorbedTime, Interval, Wait, WaitKind};

/// The facts of one transfer.
#[derive(Clone, Debug)]
pub(crate) struct Facts {
    pub(crate) capture: CaptureFacts,
    pub(crate) opening: OpeningFacts,
    pub(crate) path: PathFacts,
    pub(crate) line: LineFacts,
    pub(crate) window: WindowFacts,
    pub(crate) acks: AckFacts,
    pub(crate) loss: LossFacts,
    pub(crate) sent: SentFacts,
    /// Far from the sender, what holds the transfer by the facts of all of it.
    pub(crate) far: FarVerdict,
    /// Counts of the data and of the ACKs that answer it.
    pub(crate) counts: Counts,
    /// The waits of the sender, in order.
    pub(crate) waits: Vec<Interval>,
    /// The time of waits that were merged away, by kind.
    pub(crate) absorbed: Vec<AbsorbedTime>,
    /// The longest waits of each kind.
    pub(crate) longest: Vec<(WaitKind, Vec<Wait>)>,
}

/// The quality of the capture, and its place.
#[derive(Clone, Debug, Default)]
pub(crate) struct CaptureFacts {
    pub(crate) packets: u64,
    /// Packets that the capture holds twice.
    pub(crate) captured_twice: u64,
    /// Packets that the capture's writer says it lost.
    pub(crate) drops: Option<u64>,
    /// The step of the capture's clock; zero where it is fine enough.
    pub(crate) clock_step: Span,
    /// Number of times that the capture's clock was set back.
    pub(crate) set_backs: u64,
    /// Number of times that it was set ahead, and the sum.
    pub(crate) set_ahead: u64,
    pub(crate) set_ahead_by: Span,
    /// The most that a packet's time lay behind that of one before.
    pub(crate) disorder: Span,
    /// The most that an answer stood before what it answers.
    pub(crate) answered_before: Span,
    pub(crate) one_sided: bool,
    /// The receiver's ACKs are missing throughout.
    pub(crate) lacks_acks: bool,
    /// Both sides of a device that rewrites sequence numbers were captured.
    pub(crate) rewritten: bool,
    /// All packets come after the same time.
    pub(crate) made_up_times: bool,
    /// From the capture to the sender and back; zero where it was taken there.
    pub(crate) distance: Span,
    /// The capture may have been taken far from the sender.
    pub(crate) is_far: bool,
    /// The hop limit of the sender's last packet; zero where the capture tells none.
    pub(crate) hop_limit: u8,
    /// The hop limit of the receiver's last packet; zero where the capture tells none.
    pub(crate) receiver_hop_limit: u8,
    /// Bytes without an ACK when the capture ended.
    pub(crate) unanswered: u64,
}

/// The opening of the connection, and who its ends are.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct OpeningFacts {
    pub(crate) handshake: Handshake,
    /// The direction of the transfer: 0 where the first packet's sender sends.
    pub(crate) direction: usize,
    /// The ports of the sender and of the receiver.
    pub(crate) ports: [u16; 2],
    /// True if the connection is a subflow of Multipath TCP.
    pub(crate) is_subflow: bool,
}

/// The path's round trip, and proxies that answer for a host.
#[derive(Clone, Debug, Default)]
pub(crate) struct PathFacts {
    /// The least round trip.
    pub(crate) rtt: Option<Span>,
    /// The least round trip, where something shows that it is the path's and not a host's.
    pub(crate) told_rtt: Option<Span>,
    /// The least time to an ACK of the data that went the other way.
    pub(crate) returned_rtt: Option<Span>,
    /// The round trip rests on a few ACKs that came far sooner than the opening and most others.
    pub(crate) rtt_of_few: bool,
    /// The path, where it may take longer than its handshake did.
    pub(crate) longer: Option<LongerPath>,
    /// Something nearer answers for the host that did not open the connection.
    pub(crate) split: Option<SplitTcp>,
    /// An ACK came so soon that it may be another's.
    pub(crate) may_be_split: bool,
    /// Answers to ACKs became slower for good.
    pub(crate) answers_became_slower: bool,
    /// ACKs became slower for good, near the sender.
    pub(crate) acks_became_slower: bool,
    /// ACKs that waited for the beacons of a Wi-Fi.
    pub(crate) power_save: Option<PowerSave>,
    /// Delay of data to the capture above the minimum, by the sender's timestamps.
    pub(crate) data_lateness: Quantiles,
    /// The sender's data echoes older ACKs than it should have.
    pub(crate) has_stale_echoes: bool,
}

/// The rates of the path, and its queues.
#[derive(Clone, Debug, Default)]
pub(crate) struct LineFacts {
    /// The line that spaced the data on its way to the capture, were it far from the sender.
    pub(crate) of_data: Option<LineSpacing>,
    /// The line that spaced the ACKs, were the capture near the sender.
    pub(crate) of_acks: Option<LineSpacing>,
    /// The spacing by the data's narrowest line, whoever had more to send.
    pub(crate) spacing: Option<LineSpacing>,
    /// The pace at which bursts were acknowledged.
    pub(crate) service: Option<Pace>,
    /// The times between two full segments that were in flight at once.
    pub(crate) packet_times: Quantiles,
    /// The best delivery over a few round trips.
    pub(crate) capacity: Option<Rate>,
    /// The data of several connections together.
    pub(crate) aggregate: Option<Aggregate>,
    /// Times in which the line to the receiver was full, by all that came over it.
    pub(crate) full_times: Option<FullTimes>,
    /// A queue that is full drops what is lost, as round trips tell.
    pub(crate) full_queue: Option<FullQueue>,
    /// Timestamps tell how late data came before losses.
    pub(crate) tells_lateness: bool,
    /// A token bucket drops what exceeds a rate.
    pub(crate) policer: Option<Policer>,
    /// The sender's cuts of its window for marks of queues.
    pub(crate) marks: EcnResponse,
    /// Rates at which data was acknowledged, and read, while there was some.
    pub(crate) moving: ActiveRates,
}

/// The receiver's window, and the program that reads behind it.
#[derive(Clone, Debug, Default)]
pub(crate) struct WindowFacts {
    pub(crate) scale: Scale,
    pub(crate) most: u64,
    /// The window of most ACKs.
    pub(crate) usual: Option<Bytes>,
    /// The share of ACKs that offered just that.
    pub(crate) usual_share: f64,
    /// The number of windows offered.
    pub(crate) offers: u64,
    /// The payload of a full segment.
    pub(crate) segment: u64,
    /// Times for which the window stayed closed.
    pub(crate) closures: Quantiles,
    /// The time for which the window of the data that went the other way was closed, too.
    pub(crate) both_closed: Span,
    /// The pace of the reading program, where it always had data to read.
    pub(crate) reading: Option<ReadingRate>,
    /// Signs of a reader in the right edge, where the sender waited for room.
    pub(crate) reader: Option<ReaderFacts>,
}

/// Signs of the reading program in the right edge of the window.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReaderFacts {
    /// Enough blocks were read for a pace to show.
    pub(crate) is_told: bool,
    /// Nearly all blocks took as long.
    pub(crate) is_steady: bool,
    /// The window moves on apart from the ACKs of as much data.
    pub(crate) moves_out_of_step: bool,
    /// Most room came as the program read, and not as data came.
    pub(crate) makes_room_by_itself: bool,
    /// The window hardly ever opens whole.
    pub(crate) leaves_some: bool,
    /// The share of the edge's way that differs from what ACKs cover, and that came by itself.
    pub(crate) out_of_step: f64,
    pub(crate) own_room: f64,
    /// The mean of the largest windows of blocks, by the largest of all.
    pub(crate) largest: f64,
    /// The time that nine of ten blocks take at most, by the median.
    pub(crate) spread: Option<f64>,
    /// Small offers of a window: how many, how large on average, and in which packets.
    pub(crate) silly: Option<(u64, Bytes)>,
    pub(crate) silly_packets: Vec<u64>,
}

/// Times of ACKs.
#[derive(Clone, Debug, Default)]
pub(crate) struct AckFacts {
    /// From a segment to its ACK, at the capture.
    pub(crate) latency: Quantiles,
    /// From the first segment of a flight to its ACK, at the capture.
    pub(crate) cycles: Quantiles,
    /// The mean time of a byte in flight, at the capture.
    pub(crate) mean_stay: Option<Span>,
}

/// Losses, and their repair.
#[derive(Clone, Debug, Default)]
pub(crate) struct LossFacts {
    /// The receiver discards data after a gap.
    pub(crate) discarding: Option<DiscardEvidence>,
    /// Segments that arrived damaged.
    pub(crate) damaged: Option<DamagedSegments>,
    /// Large segments never arrive.
    pub(crate) black_hole: Option<BlackHole>,
    /// A full segment arrived, or may have.
    pub(crate) full_arrived: bool,
    /// Losses come as evenly as at a limit of the path.
    pub(crate) are_even: bool,
    /// Reasons for segments sent again in vain, and the timer.
    pub(crate) in_vain: SpuriousRetransmissions,
    /// The receiver answered nothing of what a timer sent again, until the end.
    pub(crate) never_came_back: bool,
    /// Number of times that a timer sent again what was never answered.
    pub(crate) unanswered_again: u64,
    /// Counts of the data that went the other way.
    pub(crate) returned: Option<(Counts, SpuriousRetransmissions, EcnResponse)>,
}

/// Data that was sent.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SentFacts {
    /// The bytes of the transfer, those that the capture misses among them.
    pub(crate) bytes: u64,
    /// The bytes that went the other way.
    pub(crate) returned: u64,
    /// The sender's program sets the pace, as its departures show near the sender.
    pub(crate) is_paced_by_program: bool,
    pub(crate) pace: Option<PaceShares>,
    /// The share of the time of waits that messages of the receiver's program ended.
    pub(crate) by_messages: Option<f64>,
    /// Messages of the receiver's program let the data go, near the sender.
    pub(crate) is_let_go_by_messages: bool,
    /// The waits that ended with such a message, and all, where most did.
    pub(crate) ended_by_messages: Option<(Span, Span)>,
    /// The first flight.
    pub(crate) initial_flight: u64,
}

impl Facts {
    /// Returns the time of the waits of a kind, those that were merged away among them.
    pub(crate) fn time_of_kind(&self, kind: WaitKind) -> Span {
        self.time_of(|other| other == kind)
    }

    /// Returns the time in which a sender with data to send was held back.
    pub(crate) fn time_busy(&self) -> Span {
        self.time_of(|kind| !matches!(kind, WaitKind::Idle | WaitKind::AwaitPeer))
    }

    /// Returns the time of the waits of some kinds that were kept.
    pub(crate) fn time_of_waits(&self, counts: impl Fn(WaitKind) -> bool) -> Span {
        let waits = self.waits.iter().filter(|wait| counts(wait.kind));
        waits.map(|wait| wait.charged).sum()
    }

    /// Returns the time of all waits.
    pub(crate) fn time_in_all(&self) -> Span {
        self.time_of(|_| true)
    }

    /// Returns how far the transfer fills its largest flight, once in each round trip of the path:
    /// a window or a buffer that holds it is full all the time.
    pub(crate) fn fullness(&self) -> f64 {
        let rtt = self.path.rtt.unwrap_or_default();
        let whole = self.sent.bytes as f64 * rtt.as_seconds();
        whole
            / (self.counts.flight_most as f64 * self.time_in_all().as_seconds())
                .max(f64::MIN_POSITIVE)
    }

    /// Returns the share of segments with PSH.
    pub(crate) fn pushed(&self) -> f64 {
        self.counts.pushes as f64 / self.counts.segments.max(1) as f64
    }

    /// Returns whether nearly all segments are full.
    fn has_full_segments(&self) -> bool {
        let full = (self.counts.segments * self.window.segment) as f64;
        self.counts.bytes as f64 >= full * (1.0 - AS_GOOD_AS_EQUAL.get())
    }

    /// Returns the time from the first segment of a flight to the effect of its ACK.
    pub(crate) fn cycle(&self) -> Option<Span> {
        Some(self.acks.cycles.median()? + self.capture.distance)
    }

    /// Returns the number of the receiver's segments with data in a round trip, on average.
    pub(crate) fn messages_per_round(&self) -> Option<f64> {
        let rounds = self.time_in_all().as_seconds() / self.cycle()?.as_seconds();
        let (back, ..) = self.loss.returned.as_ref()?;
        (rounds > 0.0).then(|| back.segments as f64 / rounds)
    }

    /// Returns the share of the receiver's packets that carry data.
    pub(crate) fn message_share(&self) -> f64 {
        let messages = self.loss.returned.as_ref().map_or(0, |(back, ..)| back.segments);
        messages as f64 / self.counts.acks.max(1) as f64
    }

    /// Returns whether something spaces data far from the capture: it comes in even steps of full
    /// segments, of which some are pushed, and leaves room in the largest flight.
    pub(crate) fn is_spaced_far(&self) -> bool {
        let shares = &self.far.shares;
        self.capture.is_far
            && shares.regular >= NEARLY_ALL.get()
            && (PROGRAMS_SHARE.get()..MOST_OF_IT.get()).contains(&self.pushed())
            && self.has_full_segments()
            && self.fullness() < LEVEL_FULLNESS.get()
    }

    /// Returns whether data leaves the sender evenly, a full segment or two at a time, apart from
    /// ACKs, and leaves room in its largest flight. Each segment pushed would be a write; and where
    /// a program has sent all that it wrote, the ACKs come before it writes again.
    pub(crate) fn is_spaced_at_sender(&self) -> bool {
        let counts = &self.counts;
        let segments = i64::try_from(counts.segments).unwrap_or(i64::MAX).max(1);
        self.sent.pace.is_some_and(|pace| {
            pace.own >= MOST_OF_IT.get()
                && pace.paced >= MOST_OF_IT.get()
                && pace.behind_short < PROGRAMS_SHARE.get()
                && self.pushed() < MOST_OF_IT.get()
        }) && counts.unprompted * 2 <= counts.reactions
            && self.has_full_segments()
            && self.time_in_all() / segments * 2 <= MOMENT.get()
            && self.fullness() < LEVEL_FULLNESS.get()
    }

    /// Returns the longest wait of a kind.
    pub(crate) fn longest_of(&self, kind: WaitKind) -> Option<Span> {
        let longest = self.longest.iter().filter(|(other, _)| *other == kind);
        longest.flat_map(|(_, waits)| waits).map(|wait| wait.span).max()
    }

    fn time_of(&self, counts: impl Fn(WaitKind) -> bool) -> Span {
        let kept = self.waits.iter().map(|wait| (wait.kind, wait.charged));
        let absorbed = self.absorbed.iter().map(|absorbed| (absorbed.kind, absorbed.charged));
        kept.chain(absorbed).filter(|(kind, _)| counts(*kind)).map(|(_, span)| span).sum()
    }
}

/// Quantiles of a measure.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Quantiles {
    pub(crate) count: u64,
    pub(crate) total: Span,
    least: Span,
    p10: Span,
    p50: Span,
    p90: Span,
    most: Span,
}

impl Quantiles {
    /// Gathers the quantiles of a distribution.
    pub(crate) fn of(values: &crate::estimate::distribution::Distribution) -> Self {
        let [p10, p50, p90] = values.quantiles([0.1, 0.5, 0.9]);
        Self {
            count: values.count,
            total: values.total(),
            least: values.least().unwrap_or_default(),
            p10,
            p50,
            p90,
            most: values.most().unwrap_or_default(),
        }
    }

    fn some(self, value: Span) -> Option<Span> {
        (self.count > 0).then_some(value)
    }

    pub(crate) fn least(self) -> Option<Span> {
        self.some(self.least)
    }

    pub(crate) fn p10(self) -> Option<Span> {
        self.some(self.p10)
    }

    pub(crate) fn median(self) -> Option<Span> {
        self.some(self.p50)
    }

    pub(crate) fn p90(self) -> Option<Span> {
        self.some(self.p90)
    }

    pub(crate) fn most(self) -> Option<Span> {
        self.some(self.most)
    }
}
