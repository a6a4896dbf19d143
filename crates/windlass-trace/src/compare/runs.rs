//! Two transfers of the same service side by side: before and after.

use std::collections::BTreeMap;

use serde::Serialize;
use windlass_base::figures::{Count, FineShare};
use windlass_base::thresholds::{A_TENTH_MORE, AS_GOOD_AS_EQUAL, HARDLY_SEEN};
use windlass_base::verdict::{Confidence, Side};
use windlass_base::{Bytes, Cause, Limit, Rate, Sentence, Span, sentence, whole_part};
use windlass_macros::Named;

use crate::report::ConnectionReport;

/// The unit of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Named)]
pub enum FigureUnit {
    /// A rate.
    BytesPerSecond,
    /// A size.
    Bytes,
    /// A time.
    Seconds,
    /// A part of a whole.
    Share,
    /// A number of things.
    Count,
}

/// A figure that is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Named)]
pub enum FigureName {
    /// The rate of the transfer.
    Rate,
    /// Its payload.
    Data,
    /// The time that it took.
    Time,
    /// The least round trip.
    BaseRtt,
    /// The median time from a segment to its ACK.
    AckLatency,
    /// The longest that data stood in the path's queue.
    Queue,
    /// The window that was offered most often.
    Window,
    /// The most that was in flight.
    LargestFlight,
    /// The payload of a full segment.
    SegmentSize,
    /// The share of segments that were lost.
    Loss,
    /// Segments that were sent again.
    Retransmissions,
    /// Segments that others overtook.
    OutOfOrder,
    /// ACKs that repeat the one before.
    DuplicateAcks,
}

impl FigureName {
    /// Returns its unit.
    pub const fn unit(self) -> FigureUnit {
        match self {
            Self::Rate => FigureUnit::BytesPerSecond,
            Self::Data | Self::Window | Self::LargestFlight | Self::SegmentSize => {
                FigureUnit::Bytes
            }
            Self::Time | Self::BaseRtt | Self::AckLatency | Self::Queue => FigureUnit::Seconds,
            Self::Loss => FigureUnit::Share,
            Self::Retransmissions | Self::OutOfOrder | Self::DuplicateAcks => FigureUnit::Count,
        }
    }

    /// Returns its value in a report; nothing where that has none.
    fn of(self, report: &ConnectionReport) -> Option<f64> {
        let seconds = |span: Option<Span>| span.map(Span::as_seconds);
        let bytes = |bytes: Option<Bytes>| bytes.map(|bytes| bytes.get() as f64);
        let window = &report.receive_window;
        match self {
            Self::Rate => Some(report.bytes_per_second.bytes_per_second()),
            Self::Data => bytes(Some(report.bytes)),
            Self::Time => seconds(Some(report.seconds)),
            Self::BaseRtt => seconds(report.rtt_seconds.map(|rtt| rtt.min)),
            Self::AckLatency => seconds(report.ack_latency_seconds.map(|latency| latency.p50)),
            Self::Queue => seconds(report.queue_seconds),
            Self::Window => bytes(window.bytes),
            Self::LargestFlight => bytes(Some(window.max_flight_bytes)),
            Self::SegmentSize => bytes(Some(window.segment_bytes)),
            Self::Loss => Some(report.losses.ratio),
            Self::Retransmissions => Some(report.losses.retransmissions as f64),
            Self::OutOfOrder => Some(report.losses.out_of_order as f64),
            Self::DuplicateAcks => Some(report.losses.duplicate_acks as f64),
        }
    }

    /// Returns whether it is a property of hosts or path that may change what this cause costs.
    /// Rate, data and time follow from these, and counts from the amount of data.
    fn matters_to(self, cause: Cause) -> bool {
        let limit = cause.limit();
        match self {
            Self::BaseRtt => true,
            Self::AckLatency => matches!(
                cause,
                Cause::WindowAckLatency | Cause::BufferDelayedAck | Cause::NagleDelayedAck
            ),
            Self::Queue => limit == Limit::PathCapacity,
            Self::Window => matches!(limit, Limit::ReceiverWindow | Limit::ZeroWindow),
            Self::LargestFlight => matches!(limit, Limit::SendBuffer | Limit::CongestionWindow),
            Self::SegmentSize => limit == Limit::SmallSegments,
            Self::Loss => matches!(limit, Limit::Loss | Limit::CongestionWindow),
            _ => false,
        }
    }

    /// Returns its name for people.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Rate => "rate",
            Self::Data => "data",
            Self::Time => "time",
            Self::BaseRtt => "base RTT",
            Self::AckLatency => "median ACK latency",
            Self::Queue => "longest queueing delay",
            Self::Window => "receive window",
            Self::LargestFlight => "largest flight",
            Self::SegmentSize => "segment size",
            Self::Loss => "loss",
            Self::Retransmissions => "retransmissions",
            Self::OutOfOrder => "out-of-order segments",
            Self::DuplicateAcks => "duplicate ACKs",
        }
    }
}

/// A figure of two transfers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Figure {
    /// Its name.
    pub name: FigureName,
    /// Its unit.
    pub unit: FigureUnit,
    /// Its value in the first capture and in the second; null where that has none.
    pub values: [Option<f64>; 2],
    /// The second over the first; null where one of them is missing or zero.
    pub ratio: Option<f64>,
}

impl Figure {
    fn of(name: FigureName, reports: [&ConnectionReport; 2]) -> Self {
        let values = reports.map(|report| name.of(report));
        let ratio = match values {
            [Some(first), Some(second)] if first > 0.0 && second > 0.0 => Some(second / first),
            _ => None,
        };
        Self { name, unit: name.unit(), values, ratio }
    }

    /// Returns how many times it changed, as a logarithm. Values near zero count as an amount that
    /// is hardly seen, so that they do not differ by any factor.
    fn change(&self) -> Option<f64> {
        let floor = match self.unit {
            FigureUnit::BytesPerSecond | FigureUnit::Bytes | FigureUnit::Count => 1.0,
            FigureUnit::Seconds | FigureUnit::Share => HARDLY_SEEN.get(),
        };
        let [first, second] = self.values;
        Some(((second? + floor) / (first? + floor)).ln().abs())
    }

    /// Returns the values as they are read.
    fn words(&self) -> Option<[Sentence; 2]> {
        let word = |value: f64| match self.unit {
            FigureUnit::BytesPerSecond => {
                let rate = Rate::from_bytes_per_second(value);
                sentence!("{rate}")
            }
            FigureUnit::Bytes => {
                let bytes = Bytes::new(whole_part(value));
                sentence!("{bytes}")
            }
            FigureUnit::Seconds => {
                let span = Span::from_seconds(value);
                sentence!("{span}")
            }
            FigureUnit::Share => sentence!("{share}", share = FineShare(value)),
            FigureUnit::Count => sentence!("{count}", count = Count(whole_part(value))),
        };
        let [first, second] = self.values;
        Some([word(first?), word(second?)])
    }
}

/// Returns the figures of two transfers that one of them has at least.
pub fn figures(reports: [&ConnectionReport; 2]) -> Vec<Figure> {
    let all = FigureName::ALL.iter().map(|name| Figure::of(*name, reports));
    all.filter(|figure| figure.values.iter().flatten().next().is_some()).collect()
}

/// The share of the time that a limit cost two transfers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LimitShares {
    /// The limit.
    pub limit: Limit,
    /// Its share in the first capture and in the second.
    pub shares: [f64; 2],
}

/// The way in which two transfers were chosen to be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Named)]
pub enum SelectionRule {
    /// They go to the same host and port, or come from there.
    SameServer,
    /// They go to the same port of two hosts, or come from there.
    SamePort,
    /// They are the largest transfers; no port is common.
    Largest,
}

/// Two transfers side by side.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TwoRuns {
    /// The way in which they were chosen.
    pub chosen_by: SelectionRule,
    /// The server, as `host:port`, or its port alone; null where none is common.
    pub service: Option<String>,
    /// True if a device between may end TCP, or rewrite sequence numbers: the ports are the same,
    /// at the same time.
    pub may_be_split: bool,
    /// The figures.
    pub figures: Vec<Figure>,
    /// The shares of the limits, those that cost most first.
    pub limits: Vec<LimitShares>,
    /// The property that changed most; null where none changed by a tenth.
    pub changed_most: Option<Figure>,
    /// True if another limit holds the second one; null where a capture does not tell its limit.
    pub limit_changed: Option<bool>,
    /// Sentence on the limit, the rate and the property.
    pub sentence: Sentence,
}

/// A server and the direction of the data.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Service {
    host: Option<String>,
    port: u16,
    receives: bool,
}

impl Service {
    fn of(report: &ConnectionReport) -> Self {
        let opened_by = report.handshake.as_ref().and_then(|handshake| handshake.opened_by);
        let receives = match opened_by {
            Some(Side::Sender) => true,
            Some(Side::Receiver) => false,
            // Servers have the lower port, as a rule.
            _ => report.receiver_port <= report.sender_port,
        };
        let (end, port) = match receives {
            true => (&report.receiver, report.receiver_port),
            false => (&report.sender, report.sender_port),
        };
        let host = end.rsplit_once(':').map_or(end.as_str(), |(host, _)| host);
        Self { host: Some(host.to_owned()), port, receives }
    }

    fn anywhere(self) -> Self {
        Self { host: None, ..self }
    }
}

/// Chooses the transfers of two captures to be compared, of reports with the largest first: of one
/// server, else of one port, else the largest. Gives their places and the service.
pub fn choose(
    reports: [&[ConnectionReport]; 2],
) -> Option<([usize; 2], SelectionRule, Option<String>)> {
    let by = |key: &dyn Fn(&ConnectionReport) -> Service| {
        let [first, second] = reports.map(|reports| {
            let mut largest: BTreeMap<Service, usize> = BTreeMap::new();
            for (place, report) in reports.iter().enumerate() {
                largest.entry(key(report)).or_insert(place);
            }
            largest
        });
        let pairs = first.into_iter().filter_map(|(service, place)| {
            let places = [place, *second.get(&service)?];
            let least = reports[0][places[0]].bytes.min(reports[1][places[1]].bytes);
            Some((least, places, service))
        });
        pairs.max_by(|one, other| one.0.cmp(&other.0).then(other.1.cmp(&one.1)))
    };
    if let Some((_, places, service)) = by(&Service::of) {
        let host = service.host.unwrap_or_default();
        return Some((places, SelectionRule::SameServer, Some(format!("{host}:{}", service.port))));
    }
    if let Some((_, places, service)) = by(&|report| Service::of(report).anywhere()) {
        return Some((places, SelectionRule::SamePort, Some(format!("port {}", service.port))));
    }
    let is_there = reports.iter().all(|reports| !reports.is_empty());
    is_there.then_some(([0, 0], SelectionRule::Largest, None))
}

impl TwoRuns {
    /// Sets two transfers beside each other, which were chosen so; `is_common` tells whether the
    /// captures share sequence numbers.
    pub fn of(
        reports: [&ConnectionReport; 2],
        chosen_by: SelectionRule,
        service: Option<String>,
        is_common: bool,
    ) -> Self {
        let figures = figures(reports);
        let share = |report: &ConnectionReport, limit: Limit| {
            report.shares.get(limit.id()).copied().unwrap_or(0.0)
        };
        let limits = Limit::ALL.iter().map(|limit| LimitShares {
            limit: *limit,
            shares: reports.map(|report| share(report, *limit)),
        });
        let most = |shares: &LimitShares| shares.shares[0].max(shares.shares[1]);
        let mut limits: Vec<LimitShares> = limits.filter(|shares| most(shares) > 0.0).collect();
        limits.sort_by(|one, other| most(other).total_cmp(&most(one)));
        let causes = reports.map(|report| report.verdict.cause);
        let changed_most = changed_most(&figures, causes);
        let is_known = causes.iter().all(|cause| *cause != Cause::Unknown);
        Self {
            chosen_by,
            service,
            may_be_split: !is_common && may_be_split(reports),
            sentence: sentence_of(reports, changed_most.as_ref()),
            figures,
            limits,
            changed_most,
            limit_changed: is_known.then(|| causes[0].limit() != causes[1].limit()),
        }
    }
}

/// Returns the figure that changed most of those that matter to the causes.
fn changed_most(figures: &[Figure], causes: [Cause; 2]) -> Option<Figure> {
    let matters = |figure: &&Figure| causes.iter().any(|cause| figure.name.matters_to(*cause));
    // Of equals the first.
    let properties = figures.iter().rev().filter(matters);
    let changed = properties.filter_map(|figure| Some((figure.change()?, *figure)));
    let (change, figure) = changed.max_by(|one, other| one.0.total_cmp(&other.0))?;
    (change > A_TENTH_MORE.get().ln()).then_some(figure)
}

/// Returns whether the transfers have the same ports at the same time.
fn may_be_split(reports: [&ConnectionReport; 2]) -> bool {
    let [first, second] = reports;
    let ports = |report: &ConnectionReport| (report.sender_port, report.receiver_port);
    let begins_before = |one: &ConnectionReport, other: &ConnectionReport| {
        one.start_time.zip(other.end_time).is_some_and(|(start, end)| start <= end)
    };
    ports(first) == ports(second) && begins_before(first, second) && begins_before(second, first)
}

fn sentence_of(reports: [&ConnectionReport; 2], most: Option<&Figure>) -> Sentence {
    let [before, after] = reports.map(|report| report.verdict.cause);
    let rates = reports.map(|report| report.bytes_per_second);
    let are_unknown = before == Cause::Unknown && after == Cause::Unknown;
    let mut text = if are_unknown {
        Sentence::from("Neither capture shows its limit")
    } else if before == Cause::Unknown || after == Cause::Unknown {
        sentence!("One capture does not show its limit: {before} before and {after} after")
    } else if before.limit() != after.limit() {
        sentence!("The limit changed from {before} to {after}")
    } else if before != after {
        let limit = before.limit();
        sentence!("The limit is {limit} as before, for another reason: {before}, then {after}")
    } else {
        sentence!("The limit did not change: {before}")
    };
    let is_unsure = reports.iter().any(|report| report.verdict.confidence == Confidence::Low);
    if is_unsure && !are_unknown {
        text.push(" (with low confidence)");
    }
    let [first, second] = rates.map(Rate::bytes_per_second);
    let is_same = (second - first).abs() <= first.max(second) * AS_GOOD_AS_EQUAL.get();
    let [before, after] = rates;
    text.push(&match (is_same, second > first) {
        (true, _) => sentence!("; the rate stayed at {after}"),
        (false, true) => sentence!("; the rate rose from {before} to {after}"),
        (false, false) => sentence!("; the rate fell from {before} to {after}"),
    });
    if let Some((figure, [before, after])) = most.and_then(|most| Some((most, most.words()?))) {
        let name = figure.name.name();
        text.push(&sentence!("; the {name} changed most, from {before} to {after}"));
    }
    text.push(".");
    text
}
