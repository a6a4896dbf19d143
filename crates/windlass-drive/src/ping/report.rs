//! Report of `windlass ping`: the settings and the results.

use serde::Serialize;
use windlass_base::{Bytes, Schema, Span};

use super::buckets::Bucket;
use super::{Kind, PingResults};
use crate::ip::Ip;

/// Report of `windlass ping`.
#[derive(Debug, Serialize)]
pub struct PingReport {
    /// Schema of the JSON.
    pub schema: Schema,
    /// Host as given.
    pub host: String,
    /// Address of the host.
    pub address: String,
    /// Port; nothing with ICMP.
    pub port: Option<u16>,
    /// Size of a request, or of an echo's data; nothing if there is none.
    pub request_bytes: Option<Bytes>,
    /// Size of an answer.
    pub response_bytes: Option<Bytes>,
    /// Interval between requests; nothing if the next request follows the last answer.
    pub interval_seconds: Option<Span>,
    /// Timeout of an answer.
    pub timeout_seconds: Span,
    /// Results.
    #[serde(flatten)]
    pub measured: PingResults,
    /// Histogram of the times; nothing if none was requested.
    pub histogram: Option<Vec<Bucket>>,
    /// Start and end points of the measured time, and the clock.
    pub source: &'static str,
    /// Time that reading the clock adds to each figure.
    pub clock_seconds: Span,
    /// True if the program slept until the answer came, so that the times include the wake-up
    /// delay.
    pub asleep: bool,
    /// Settings of IP packets.
    pub ip: Ip,
    /// Processor that this end was pinned to.
    pub pinned_cpu: Option<usize>,
}

impl PingReport {
    /// Schema of the JSON, described by `schemas/ping.schema.json`.
    pub const SCHEMA: Schema = Schema { name: "windlass.ping", version: 2 };
}

/// Returns the start and end points of the measured time, and the clock.
pub const fn source(kind: Kind) -> &'static str {
    match kind {
        Kind::Connect => {
            "from the call of connect() until it tells how the handshake went, by the monotonic \
             clock"
        }
        Kind::Latency => {
            "from before a request's send() until recv() has given the last byte of its answer, by \
             the monotonic clock"
        }
        Kind::Udp => {
            "from before a request's send() until recv() has given its answer, by the monotonic \
             clock"
        }
        Kind::Icmp => {
            "from before a request's send() until recv() has given the echo, by the monotonic clock"
        }
    }
}
