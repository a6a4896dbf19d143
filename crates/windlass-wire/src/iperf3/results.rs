//! Results that an end measured.

use serde::{Deserialize, Serialize};

use super::number::{optional, whole};

/// Number of retransmissions of an end that does not know them.
pub const NO_RETRANSMITS: i64 = -1;

/// Results of an end, with iperf3's names and order. Other fields are ignored.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Results {
    /// Processor time of the program, in percent of the test's duration.
    #[serde(default)]
    pub cpu_util_total: f64,
    /// Part of the processor time in user mode, in percent.
    #[serde(default)]
    pub cpu_util_user: f64,
    /// Part of the processor time in the kernel, in percent.
    #[serde(default)]
    pub cpu_util_system: f64,
    /// 1 if this end knows its retransmissions; 0 or negative otherwise.
    #[serde(default, deserialize_with = "whole")]
    pub sender_has_retransmits: i64,
    /// Name of the congestion control.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub congestion_used: Option<String>,
    /// Results of each stream.
    pub streams: Vec<StreamResults>,
    /// Printed text of a server, if its client asked for it (`--get-server-output`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_output_text: Option<String>,
}

/// Results of one stream.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StreamResults {
    /// Number of the stream ([`super::stream_id`]).
    #[serde(deserialize_with = "whole")]
    pub id: i64,
    /// Bytes sent or received, without those of the omitted time.
    #[serde(deserialize_with = "whole")]
    pub bytes: i64,
    /// Retransmitted segments; [`NO_RETRANSMITS`] if unknown.
    #[serde(deserialize_with = "whole")]
    pub retransmits: i64,
    /// Jitter of datagrams, in seconds.
    pub jitter: f64,
    /// Lost datagrams.
    #[serde(deserialize_with = "whole")]
    pub errors: i64,
    /// Lost datagrams of the omitted time (iperf 3.13).
    #[serde(default, deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub omitted_errors: Option<i64>,
    /// Datagrams.
    #[serde(deserialize_with = "whole")]
    pub packets: i64,
    /// Datagrams of the omitted time (iperf 3.13).
    #[serde(default, deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub omitted_packets: Option<i64>,
    /// Start of the measured time, in seconds.
    #[serde(default)]
    pub start_time: f64,
    /// End of the measured time, in seconds.
    #[serde(default)]
    pub end_time: f64,
}
