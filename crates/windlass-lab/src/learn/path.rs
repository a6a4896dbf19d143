//! The path's share of each time.
//!
//! A capture at one point shows only the sum of the path and the device. The path takes no longer
//! than the fastest answer. This time counts as the path's, unless the user gives another one or
//! the device is on the same network.

use serde::Serialize;
use windlass_base::{Bytes, Rate, Span, Timestamp};

use super::conversation::{Conversation, Event};
use super::replies::Reply;

/// The user's knowledge of the path.
#[derive(Clone, Copy, Debug, Default)]
pub struct KnownPath {
    /// Round trip from the capture point to the device.
    pub rtt: Option<Span>,
    /// Rate of the bottleneck.
    pub rate: Option<Rate>,
    /// True if an analysis of the same capture finds a receiver that withholds its ACK until more
    /// data has arrived (`send-buffer` / `delayed-ack`).
    pub is_ack_withheld: bool,
}

/// Source of the path's round trip.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PathSource {
    /// The user gave it.
    Given,
    /// The fastest answer, the handshake's or another.
    QuickestAnswer,
    /// None: the device is on the same network, and its fastest answer takes longer than such a
    /// network does.
    SameNetwork,
    /// None: no handshake was captured.
    Unknown,
}

/// The path from the capture to the device and back.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Path {
    /// Base RTT.
    #[serde(rename = "rtt_seconds")]
    pub rtt: Span,
    /// Source of the round trip.
    pub source: PathSource,
    /// Rate of the bottleneck; null if nothing shows it.
    #[serde(rename = "line_bytes_per_second")]
    pub rate: Option<Rate>,
}

/// Longest round trip on one network: an idle Wi-Fi answers in 1 to 5 ms, an Ethernet faster.
const SAME_NETWORK: Span = Span::from_millis(5);
/// Ethernet's framing and the headers of IPv4 and TCP.
const OVERHEAD: u64 = 38 + 40;

impl Path {
    /// Estimates the path, and sets the arrival times of the replies' data.
    pub(super) fn of(talk: &Conversation, replies: &mut [Reply], known: KnownPath) -> Self {
        let rate = known.rate.or_else(|| pace(talk, replies));
        if let Some(rate) = rate {
            queue(replies, rate);
        }
        let unspent = Self { rtt: Span::ZERO, source: PathSource::Unknown, rate };
        if let Some(rtt) = known.rtt {
            return Self { rtt, source: PathSource::Given, ..unspent };
        }
        let Some(handshake) = handshake(talk) else { return unspent };
        let quickest = replies
            .iter()
            .filter_map(|reply| Some(reply.time.since(reply.covered.last()?.arrived)));
        let quickest = quickest.chain(probes(talk)).min().unwrap_or(handshake);
        let rtt = quickest.min(handshake).or_zero();
        // No router has decremented the hop limit (RFC 1700 asks for 64; 30, 32, 60, 128 and 255
        // are common too).
        let direct = matches!(talk.hop_limit, 30 | 32 | 60 | 64 | 128 | 255);
        if direct && rtt > SAME_NETWORK {
            return Self { source: PathSource::SameNetwork, ..unspent };
        }
        Self { rtt, source: PathSource::QuickestAnswer, rate }
    }

    /// Returns the device's share of the time from an arrival to its answer.
    pub(super) fn own(&self, answer: Timestamp, arrival: Timestamp) -> Span {
        (answer.since(arrival) - self.rtt).or_zero()
    }
}

/// Sets the arrivals of segments that pass the bottleneck one after the other.
fn queue(replies: &mut [Reply], rate: Rate) {
    let mut free: Option<Timestamp> = None;
    for segment in replies.iter_mut().flat_map(|reply| &mut reply.covered) {
        let takes = rate.time_for(Bytes::new(u64::from(segment.payload) + OVERHEAD));
        let start = free.map_or(segment.sent, |free| free.max(segment.sent));
        segment.arrived = start + takes;
        free = Some(segment.arrived);
    }
}

/// Returns the time from the SYN to its answer, if neither was sent twice.
pub(super) fn handshake(talk: &Conversation) -> Option<Span> {
    let (asked, answered) = (talk.asked?, talk.answered?);
    let once = asked.times == 1 && answered.times == 1;
    let span = answered.time.since(asked.time);
    (once && span >= Span::ZERO).then_some(span)
}

/// Returns the response times of probes.
pub(super) fn probes(talk: &Conversation) -> impl Iterator<Item = Span> {
    let mut probe = None;
    talk.events.iter().filter_map(move |event| match event {
        Event::Sent(sent) => {
            probe = sent.probe.then_some(sent.time);
            None
        }
        Event::Answer(answer) => probe.take().map(|probe| answer.time.since(probe)),
    })
}

/// Returns the fastest rate of ACKs for data that was in flight together, as an upper bound of the
/// bottleneck rate. The bottleneck's share of a time may then be too small, but never too large.
fn pace(talk: &Conversation, replies: &[Reply]) -> Option<Rate> {
    let paces = replies.iter().filter_map(|reply| {
        let gap = reply.time.since(reply.before?);
        let enough = reply.bytes >= u64::from(talk.largest);
        let bytes = reply.bytes + OVERHEAD * reply.covered.len() as u64;
        (reply.in_flight && enough && gap > Span::ZERO)
            .then(|| Bytes::new(bytes).per(gap).bytes_per_second())
    });
    paces.reduce(f64::max).map(Rate::from_bytes_per_second)
}
