//! The rows of the tables: results of the analyser, with the keys that join them.

use std::net::IpAddr;
use std::sync::Arc;

use windlass_base::Bytes;
use windlass_base::verdict::{Remedy, Side};
use windlass_capture::CaptureFacts;
use windlass_trace::report::{ConnectionReport, Interval};
use windlass_trace::{LatencySecond, Totals, Transfer};

use crate::date::Date;

/// Values of a pattern's fields in a file's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileNameFields(pub(crate) Vec<String>);

impl FileNameFields {
    /// Returns the field at this index.
    pub fn text(&self, place: usize) -> Option<&str> {
        self.0.get(place).map(String::as_str)
    }

    /// Returns the date at this index.
    pub fn date(&self, place: usize) -> Option<Date> {
        self.text(place).and_then(Date::named)
    }
}

/// A row of `captures`: a file, read or not.
#[derive(Clone, Debug, Default)]
pub struct CaptureRow {
    /// The SHA-256 of the file in hexadecimal digits; `None` if the file could not be read.
    pub capture: Option<Arc<str>>,
    /// The file, as it was named.
    pub file: String,
    /// Size of the file.
    pub size: Option<Bytes>,
    /// An earlier file with the same content, which has the rows of the other tables.
    pub copy_of: Option<String>,
    /// Reason why the file could not be explained.
    pub error: Option<String>,
    /// Facts about the capture; `None` for a file that could not be explained.
    pub facts: Option<CaptureFacts>,
    /// Totals of all its connections.
    pub totals: Option<Totals>,
    /// Fields in its name, by the pattern that was given; `None` without a pattern, and if the name
    /// does not match.
    pub taken: Option<FileNameFields>,
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
    /// Makes the row of a connection from its report.
    pub fn new(capture: &Arc<str>, report: ConnectionReport, connection: &Transfer) -> Self {
        let peer = connection.peer();
        let service = if peer == connection.receiver() { Side::Receiver } else { Side::Sender };
        Self { capture: Arc::clone(capture), report, service_port: peer.port, service }
    }

    /// Returns the rows of its timeline.
    pub fn intervals(&self) -> impl Iterator<Item = IntervalRow> + '_ {
        (1..).zip(&self.report.timeline).map(|(interval, of)| IntervalRow {
            capture: Arc::clone(&self.capture),
            connection: self.report.number,
            interval,
            start_time: self.report.timeline_start.map(|start| start + of.start),
            of: of.clone(),
        })
    }

    /// Returns the remedy that helps most: the one with the highest expected rate, or the first if
    /// none has an expected rate.
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
    /// Its index in the timeline, from 1.
    pub interval: u64,
    /// Its start, if the capture has dates.
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

/// Returns the network of an address: 24 bits of an IPv4 address, 64 of an IPv6 address.
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
