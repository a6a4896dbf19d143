//! The rows of the tables: what the analyser says, with the keys that join it.

use std::net::IpAddr;
use std::sync::Arc;

use windlass_base::Bytes;
use windlass_base::verdict::{Remedy, Side};
use windlass_capture::CaptureFacts;
use windlass_trace::report::{ConnectionReport, Interval};
use windlass_trace::{LatencySecond, Totals, Transfer};

use crate::date::Date;

/// Values that a file's name tells, by the fields of a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taken(pub(crate) Vec<String>);

impl Taken {
    /// The field at this place.
    pub fn text(&self, place: usize) -> Option<&str> {
        self.0.get(place).map(String::as_str)
    }

    /// The date there.
    pub fn date(&self, place: usize) -> Option<Date> {
        self.text(place).and_then(Date::named)
    }
}

/// A row of `captures`: a file, read or not.
#[derive(Clone, Debug, Default)]
pub struct CaptureRow {
    /// The SHA-256 of the file in hexadecimal digits; nothing where it could not be read.
    pub capture: Option<Arc<str>>,
    /// The file, as it was named.
    pub file: String,
    /// How large it is.
    pub size: Option<Bytes>,
    /// The file before it that has the same content, and the rows of the other tables.
    pub copy_of: Option<String>,
    /// Why it could not be explained.
    pub error: Option<String>,
    /// What it says of itself; nothing of one that could not be explained.
    pub facts: Option<CaptureFacts>,
    /// What all of its connections come to.
    pub totals: Option<Totals>,
    /// What its name tells, by the pattern that was given; nothing where there was none, or
    /// the name does not match.
    pub taken: Option<Taken>,
}

/// A row of `connections`, and of `verdicts`.
#[derive(Clone, Debug)]
pub struct ConnectionRow {
    /// The capture's key.
    pub capture: Arc<str>,
    /// The report of the connection.
    pub report: ConnectionReport,
    /// The port that was connected to.
    pub service_port: u16,
    /// The side of the transfer that was connected to.
    pub service: Side,
}

impl ConnectionRow {
    /// The row of a connection that is reported so.
    pub fn new(capture: &Arc<str>, report: ConnectionReport, connection: &Transfer) -> Self {
        let peer = connection.peer();
        let service = if peer == connection.receiver() { Side::Receiver } else { Side::Sender };
        Self { capture: Arc::clone(capture), report, service_port: peer.port, service }
    }

    /// The rows of its timeline.
    pub fn intervals(&self) -> impl Iterator<Item = IntervalRow> + '_ {
        (1..).zip(&self.report.timeline).map(|(interval, of)| IntervalRow {
            capture: Arc::clone(&self.capture),
            connection: self.report.number,
            interval,
            start_time: self.report.timeline_start.map(|start| start + of.start),
            of: of.clone(),
        })
    }

    /// The remedy that brings most: of those of which a rate is expected the one with the
    /// highest, else the first.
    pub(crate) fn best(&self) -> Option<&Remedy> {
        let remedies = &self.report.verdict.remedies;
        let rate = |remedy: &&Remedy| remedy.expected_bytes_per_second;
        let expected = remedies.iter().filter(|remedy| rate(remedy).is_some());
        let best =
            expected.reduce(|best, next| if rate(&next) > rate(&best) { next } else { best });
        best.or(remedies.first())
    }
}

/// A row of `intervals`: a part of a connection's timeline.
#[derive(Clone, Debug)]
pub struct IntervalRow {
    /// The capture's key.
    pub capture: Arc<str>,
    /// The number of the connection.
    pub connection: u64,
    /// Its place in the timeline, from 1.
    pub interval: u64,
    /// When it begins, where the capture has dates.
    pub start_time: Option<windlass_base::Timestamp>,
    /// The interval.
    pub of: Interval,
}

/// A row of `rtt`: the ACKs of a connection's data in a second.
#[derive(Clone, Debug)]
pub struct RttRow {
    /// The capture's key.
    pub capture: Arc<str>,
    /// The number of the connection.
    pub connection: u64,
    /// The ACKs.
    pub of: LatencySecond,
}

/// The network that an address is in: of 24 bits, of IPv6 64.
pub(crate) fn prefix(address: IpAddr) -> String {
    match address {
        IpAddr::V4(address) => {
            let [one, two, three, _] = address.octets();
            format!("{one}.{two}.{three}.0/24")
        }
        IpAddr::V6(address) => {
            let network = std::net::Ipv6Addr::from_bits(address.to_bits() >> 64 << 64);
            format!("{network}/64")
        }
    }
}
