//! What an end measured.

use serde::{Deserialize, Serialize};

use super::number::{optional, whole};

/// What stands for retransmissions where an end does not know them.
pub const NO_RETRANSMITS: i64 = -1;

/// What an end measured, named and ordered as iperf3 writes it. Fields that are
/// not here are ignored.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Results {
    /// The processor time of the program, in percent of the test's length.
    #[serde(default)]
    pub cpu_util_total: f64,
    /// The part of it that was the program's own.
    #[serde(default)]
    pub cpu_util_user: f64,
    /// The part of it that was the kernel's.
    #[serde(default)]
    pub cpu_util_system: f64,
    /// 1 where this end knows retransmissions, 0 or negative where it does not.
    #[serde(default, deserialize_with = "whole")]
    pub sender_has_retransmits: i64,
    /// The congestion control.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub congestion_used: Option<String>,
    /// Each stream.
    pub streams: Vec<StreamResults>,
    /// What a server printed, where its client asked for that (`--get-server-output`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_output_text: Option<String>,
}

/// What an end measured of one stream.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StreamResults {
    /// Its number ([`super::stream_id`]).
    #[serde(deserialize_with = "whole")]
    pub id: i64,
    /// The bytes that were sent or received, without those of the time that does
    /// not count.
    #[serde(deserialize_with = "whole")]
    pub bytes: i64,
    /// Segments sent again; [`NO_RETRANSMITS`] where that is not known.
    #[serde(deserialize_with = "whole")]
    pub retransmits: i64,
    /// The jitter of datagrams, in seconds.
    pub jitter: f64,
    /// Datagrams that were lost.
    #[serde(deserialize_with = "whole")]
    pub errors: i64,
    /// Those of the time that does not count (iperf 3.13).
    #[serde(default, deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub omitted_errors: Option<i64>,
    /// Datagrams.
    #[serde(deserialize_with = "whole")]
    pub packets: i64,
    /// Those of the time that does not count (iperf 3.13).
    #[serde(default, deserialize_with = "optional", skip_serializing_if = "Option::is_none")]
    pub omitted_packets: Option<i64>,
    /// When the time that counts began, in seconds.
    #[serde(default)]
    pub start_time: f64,
    /// When it ended.
    #[serde(default)]
    pub end_time: f64,
}
