//! What a transfer over a path gave, as sweeps measure it.

use crate::{Bytes, Cause, CongestionControl, Rate, Span};

/// What one measurement gave, by sockets or in virtual time. All figures are whole numbers,
/// so that what was saved comes back as it was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Measurement {
    /// Data of all streams that arrived, or was acknowledged, in the time that counts.
    pub bytes: Bytes,
    /// The time that counts: from where the rate is steady, or seems so, to the end.
    pub time: Span,
    /// The time before it, in which the rate still grew.
    pub left_out: Span,
    /// All that the measurement took, with what opens and ends it.
    pub spent: Span,
    /// Half of the 95 % confidence interval of the rate, in millionths of it; nothing where
    /// there was too little to tell.
    pub half_width_ppm: Option<u32>,
    /// The least round trip that was seen, the handshakes' included.
    pub least_rtt: Option<Span>,
    /// The mean round trip under load (RFC 6349 section 4.3).
    pub mean_rtt: Option<Span>,
    /// The most of the round trips under load, each the mean of a short time.
    pub max_rtt: Option<Span>,
    /// The highest rate at which data was delivered over a round trip, as the data of a second, by
    /// the kernel of a sender of one stream, where that is known.
    pub fastest: Option<Bytes>,
    /// The median round trip of small messages beside the transfer.
    pub small_rtt: Option<Span>,
    /// The 99th percentile of the same.
    pub small_rtt_p99: Option<Span>,
    /// Data that left the senders, copies included.
    pub transmitted: Bytes,
    /// Of that, the copies.
    pub retransmitted: Bytes,
    /// Segments that left again.
    pub retransmissions: u64,
    /// Of them, in the time that counts; nothing where that is not known.
    pub steady_retransmissions: Option<u64>,
    /// The window that a receiver offered, on average or, in virtual time, at the most,
    /// where that is known: systems grant more or less than was asked for.
    pub offered: Option<Bytes>,
    /// Processor time of both ends, where that is known.
    pub cpu: Option<Span>,
    /// All data of the transfer: what the processor time was for.
    pub all_bytes: Bytes,
    /// What held the transfer back, where that is known.
    pub cause: Option<Cause>,
    /// The congestion control of the sender, where that is known.
    pub congestion: Option<CongestionControl>,
}

impl Measurement {
    /// The data over the time.
    pub fn rate(&self) -> Rate {
        self.bytes.per(self.time)
    }
}
