//! Parameters of a client's test.

use serde::{Deserialize, Serialize};

use super::number::{flag, optional, unset, whole, zero};

/// Parameters of a test, with iperf3's names and order. Numbers are unchecked: the server must
/// validate them. Other fields are ignored.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Parameters {
    /// True for a test over TCP.
    #[serde(deserialize_with = "flag", skip_serializing_if = "unset")]
    pub tcp: bool,
    /// True for a test over UDP.
    #[serde(deserialize_with = "flag", skip_serializing_if = "unset")]
    pub udp: bool,
    /// True for a test over SCTP.
    #[serde(deserialize_with = "flag", skip_serializing_if = "unset")]
    pub sctp: bool,
    /// Omitted time at the start, in seconds.
    #[serde(deserialize_with = "whole")]
    pub omit: i64,
    /// Duration of the test after the omitted time, in seconds; 0 for another limit.
    #[serde(deserialize_with = "whole")]
    pub time: i64,
    /// Bytes of the test; 0 for another limit.
    #[serde(deserialize_with = "whole")]
    pub num: i64,
    /// Blocks of the test; 0 for another limit.
    #[serde(deserialize_with = "whole")]
    pub blockcount: i64,
    /// Maximum segment size, in bytes.
    #[serde(rename = "MSS", deserialize_with = "whole", skip_serializing_if = "zero")]
    pub mss: i64,
    /// True to send small writes at once (`TCP_NODELAY`).
    #[serde(deserialize_with = "flag", skip_serializing_if = "unset")]
    pub nodelay: bool,
    /// Number of streams in each direction.
    #[serde(deserialize_with = "whole")]
    pub parallel: i64,
    /// True if the server sends.
    #[serde(deserialize_with = "flag", skip_serializing_if = "unset")]
    pub reverse: bool,
    /// True if both ends send.
    #[serde(deserialize_with = "flag", skip_serializing_if = "unset")]
    pub bidirectional: bool,
    /// Socket buffer size of both ends, in bytes; 0 for the system's default.
    #[serde(deserialize_with = "whole", skip_serializing_if = "zero")]
    pub window: i64,
    /// Bytes of one write and one read.
    #[serde(deserialize_with = "whole")]
    pub len: i64,
    /// Maximum rate of a stream, in bits per second; 0 for no limit.
    #[serde(deserialize_with = "whole", skip_serializing_if = "zero")]
    pub bandwidth: i64,
    /// Rate at which the kernel paces a stream, in bits per second; 0 for no pacing.
    #[serde(deserialize_with = "whole", skip_serializing_if = "zero")]
    pub fqrate: i64,
    /// Type of service of both ends' packets; 0 for the system's default.
    #[serde(rename = "TOS", deserialize_with = "whole", skip_serializing_if = "zero")]
    pub tos: i64,
    /// Processor that the server must run on.
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub server_affinity: Option<i64>,
    /// Interval at which iperf3 checks its pace, in microseconds.
    #[serde(deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub pacing_timer: Option<i64>,
    /// True if datagram numbers have 64 bits.
    #[serde(deserialize_with = "flag", skip_serializing_if = "unset")]
    pub udp_counters_64bit: bool,
    /// Name of the congestion control.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub congestion: Option<String>,
    /// True to get the server's printed text with its results.
    #[serde(deserialize_with = "flag", skip_serializing_if = "unset")]
    pub get_server_output: bool,
    /// Version of the client, such as `3.12`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_version: Option<String>,
}
