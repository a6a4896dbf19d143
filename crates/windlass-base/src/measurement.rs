//! Result of a transfer over a path, as sweeps measure it.

use crate::{Bytes, Cause, CongestionControl, Rate, Span};

/// Result of one measurement, by sockets or in virtual time. All figures are whole numbers, so that
/// saved results are read back unchanged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Measurement {
    /// Data of all streams that arrived, or was acknowledged, in the time that counts.
    pub bytes: Bytes,
    /// The time that counts: from the point at which the rate is steady, or seems so, to the end.
    pub time: Span,
    /// The time before it, in which the rate still grew.
    pub left_out: Span,
    /// Whole duration of the measurement, with its opening and its end.
    pub spent: Span,
    /// Half of the 95 % confidence interval of the rate, in millionths of the rate; `None` if there
    /// were too few samples.
    pub half_width_ppm: Option<u32>,
    /// Minimum RTT, handshakes included.
    pub least_rtt: Option<Span>,
    /// Mean RTT under load (RFC 6349 section 4.3).
    pub mean_rtt: Option<Span>,
    /// Maximum RTT under load, each the mean of a short time.
    pub max_rtt: Option<Span>,
    /// Highest delivery rate over a round trip, as bytes per second, by the kernel of a sender of
    /// one stream, if known.
    pub fastest: Option<Bytes>,
    /// Median RTT of small messages beside the transfer.
    pub small_rtt: Option<Span>,
    /// 99th percentile of [`Self::small_rtt`].
    pub small_rtt_p99: Option<Span>,
    /// Data sent, retransmissions included.
    pub transmitted: Bytes,
    /// Data retransmitted.
    pub retransmitted: Bytes,
    /// Segments retransmitted.
    pub retransmissions: u64,
    /// Segments retransmitted in the time that counts, if known.
    pub steady_retransmissions: Option<u64>,
    /// Window that a receiver offered, on average or, in virtual time, at most, if known: systems
    /// grant more or less than was asked for.
    pub offered: Option<Bytes>,
    /// Processor time of both ends, if known.
    pub cpu: Option<Span>,
    /// All data of the transfer, which the processor time was for.
    pub all_bytes: Bytes,
    /// Cause of the transfer's rate, if known.
    pub cause: Option<Cause>,
    /// Congestion control of the sender, if known.
    pub congestion: Option<CongestionControl>,
}

impl Measurement {
    /// Returns the data over the time.
    pub fn rate(&self) -> Rate {
        self.bytes.per(self.time)
    }
}
