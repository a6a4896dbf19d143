//! What `windlass ping` reports: what was asked for, and what was measured.

use serde::Serialize;
use windlass_base::{Bytes, Schema, Span};

use super::buckets::Bucket;
use super::{Kind, Measured};
use crate::ip::Ip;

/// What was measured.
#[derive(Debug, Serialize)]
pub struct PingReport {
    /// The shape of the JSON.
    pub schema: Schema,
    /// The host, as it was named.
    pub host: String,
    /// Its address.
    pub address: String,
    /// The port; nothing with ICMP.
    pub port: Option<u16>,
    /// The size of a request, or of an echo's data; nothing where there is none.
    pub request_bytes: Option<Bytes>,
    /// The size of an answer.
    pub response_bytes: Option<Bytes>,
    /// From one request to the next; nothing where the next one goes when the
    /// last is answered.
    pub interval_seconds: Option<Span>,
    /// The time for which an answer was waited for.
    pub timeout_seconds: Span,
    /// The outcome.
    #[serde(flatten)]
    pub measured: Measured,
    /// The times in buckets; nothing where that was not asked for.
    pub histogram: Option<Vec<Bucket>>,
    /// From where to where the time is taken, and with what.
    pub source: &'static str,
    /// What reading the clock adds to each time.
    pub clock_seconds: Span,
    /// True if the program slept until the answer came, so that the times hold
    /// what it takes to wake.
    pub asleep: bool,
    /// What was set on the packets of IP.
    pub ip: Ip,
    /// The processor that this end was kept to.
    pub pinned_cpu: Option<usize>,
}

impl PingReport {
    /// The shape of the JSON, described by `schemas/ping.schema.json`.
    pub const SCHEMA: Schema = Schema { name: "windlass.ping", version: 2 };
}

/// From where to where the time is taken, and with what.
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
