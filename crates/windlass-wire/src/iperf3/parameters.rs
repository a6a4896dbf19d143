//! What a client asks for.

use serde::{Deserialize, Serialize};

use super::number::{flag, optional, unset, whole, zero};

/// The parameters of a test, named and ordered as iperf3 writes them. Numbers
/// are as they came: who serves the test has to judge them. Fields that are not
/// here are ignored.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Parameters {
    /// Over TCP.
    #[serde(deserialize_with = "flag", skip_serializing_if = "unset")]
    pub tcp: bool,
    /// Over UDP.
    #[serde(deserialize_with = "flag", skip_serializing_if = "unset")]
    pub udp: bool,
    /// Over SCTP.
    #[serde(deserialize_with = "flag", skip_serializing_if = "unset")]
    pub sctp: bool,
    /// The time at the start that does not count, in seconds.
    #[serde(deserialize_with = "whole")]
    pub omit: i64,
    /// The length of the test after that, in seconds; 0 where something else
    /// ends it.
    #[serde(deserialize_with = "whole")]
    pub time: i64,
    /// The bytes of the test; 0 where something else ends it.
    #[serde(deserialize_with = "whole")]
    pub num: i64,
    /// The blocks of the test; 0 where something else ends it.
    #[serde(deserialize_with = "whole")]
    pub blockcount: i64,
    /// The largest segment, in bytes.
    #[serde(rename = "MSS", deserialize_with = "whole", skip_serializing_if = "zero")]
    pub mss: i64,
    /// Whether small writes are sent at once (`TCP_NODELAY`).
    #[serde(deserialize_with = "flag", skip_serializing_if = "unset")]
    pub nodelay: bool,
    /// How many streams, each way.
    #[serde(deserialize_with = "whole")]
    pub parallel: i64,
    /// Whether the server sends.
    #[serde(deserialize_with = "flag", skip_serializing_if = "unset")]
    pub reverse: bool,
    /// Whether both send.
    #[serde(deserialize_with = "flag", skip_serializing_if = "unset")]
    pub bidirectional: bool,
    /// The socket buffers of both ends, in bytes; 0 for the system's.
    #[serde(deserialize_with = "whole", skip_serializing_if = "zero")]
    pub window: i64,
    /// How many bytes are written and read at a time.
    #[serde(deserialize_with = "whole")]
    pub len: i64,
    /// The most that a stream sends, in bits per second; 0 for no limit.
    #[serde(deserialize_with = "whole", skip_serializing_if = "zero")]
    pub bandwidth: i64,
    /// The rate at which the kernel paces a stream, in bits per second; 0 for
    /// none.
    #[serde(deserialize_with = "whole", skip_serializing_if = "zero")]
    pub fqrate: i64,
    /// The type of service of both ends' packets; 0 for the system's own.
    #[serde(rename = "TOS", deserialize_with = "whole", skip_serializing_if = "zero")]
    pub tos: i64,
    /// The processor that the server is to keep to.
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub server_affinity: Option<i64>,
    /// How often iperf3 looks at its pace, in microseconds.
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub pacing_timer: Option<i64>,
    /// Whether datagrams are numbered in 64 bits.
    #[serde(deserialize_with = "flag", skip_serializing_if = "unset")]
    pub udp_counters_64bit: bool,
    /// The congestion control, by its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub congestion: Option<String>,
    /// Whether the server's printed text is wanted with its results.
    #[serde(deserialize_with = "flag", skip_serializing_if = "unset")]
    pub get_server_output: bool,
    /// The client's version: `3.12`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_version: Option<String>,
}
