//! What `windlass ping` reports: the figures, and each trip as it is made.

use serde::Serialize;
use windlass_base::{Bytes, Quantiles, Schema, Span};

use super::histogram::Bucket;

/// What was measured.
#[derive(Clone, Debug, Serialize)]
pub struct PingReport {
    /// The shape of the JSON.
    pub schema: Schema,
    /// What was timed.
    pub kind: Kind,
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
    /// How long an answer was waited for.
    pub timeout_seconds: Span,
    /// Requests that do not count.
    pub warmup: u64,
    /// Requests that count.
    pub sent: u64,
    /// How many were answered: with what was asked for, or with a refusal.
    pub answered: u64,
    /// How many of the answers were refusals.
    pub refused: u64,
    /// Requests of which the system, or a host on the way, said that they do not
    /// get there.
    pub unreachable: u64,
    /// Requests without a word in time.
    pub silent: u64,
    /// Both as a share of those sent.
    pub loss: f64,
    /// Handshakes for which the SYN was sent again; their times hold the wait.
    pub resent: Option<u64>,
    /// Echoes with other data than was sent.
    pub altered: Option<u64>,
    /// Echoes that came when they were no longer waited for.
    pub late: Option<u64>,
    /// Echoes that came again.
    pub repeated: Option<u64>,
    /// From the first request that counts to the last answer.
    pub seconds: Span,
    /// How long answers took; nothing where there were none.
    pub trip_seconds: Option<Quantiles>,
    /// The same in buckets; nothing where that was not asked for.
    pub histogram: Option<Vec<Bucket>>,
    /// From where to where the time is taken, and with what.
    pub source: &'static str,
    /// What reading the clock adds to each time.
    pub clock_seconds: Span,
    /// Whether the program slept until the answer came, so that the times hold
    /// what it takes to wake.
    pub asleep: bool,
    /// The processor that this end was kept to.
    pub pinned_cpu: Option<usize>,
    /// Where this end ran.
    pub client: Placement,
    /// Where the server ran, as it says itself.
    pub server: Option<Placement>,
    /// What the kernel says of the connection.
    pub connection: Option<Connection>,
    /// By which socket echoes were asked for.
    pub socket: Option<Socket>,
    /// Whether it was stopped before its end.
    pub interrupted: bool,
    /// Why it could not go on, where it could not.
    pub failure: Option<String>,
}

/// What was timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Handshakes of TCP.
    Connect,
    /// Requests and answers over one connection.
    Latency,
    /// Echoes of ICMP.
    Icmp,
}

/// The processors on which an end ran.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Placement {
    /// Their numbers, in the order in which they were met.
    pub cpus: Vec<u32>,
    /// How often it was another one than before.
    pub moves: u64,
}

/// What the kernel says of the connection (`TCP_INFO`).
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Connection {
    /// The least RTT of late.
    pub min_rtt_seconds: Option<Span>,
    /// Segments that this end sent again.
    pub retransmissions: u32,
}

/// By which socket echoes are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Socket {
    /// One for echoes alone.
    Ping,
    /// A raw one.
    Raw,
}

impl PingReport {
    /// The shape of the JSON, described by `schemas/ping.schema.json`.
    pub const SCHEMA: Schema = Schema { name: "windlass.ping", version: 2 };
}

impl Kind {
    /// From where to where the time is taken, and with what.
    pub(super) const fn source(self) -> &'static str {
        match self {
            Self::Connect => {
                "from the call of connect() until it tells how the handshake went, by the \
                 monotonic clock"
            }
            Self::Latency => {
                "from before a request's send() until recv() has given the last byte of its \
                 answer, by the monotonic clock"
            }
            Self::Icmp => {
                "from before a request's send() until recv() has given the echo, by the monotonic \
                 clock"
            }
        }
    }
}
