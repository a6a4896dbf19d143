//! What a transfer over a path gave, as sweeps measure it.

use crate::{Bytes, Cause, Rate, Span};

/// What one measurement gave, by sockets or in virtual time. All figures are whole numbers,
/// so that what was saved comes back as it was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Measurement {
    /// Data of all streams that arrived, or was acknowledged.
    pub bytes: Bytes,
    /// The time that it took.
    pub time: Span,
    /// The least round trip that was seen, the handshakes' included.
    pub least_rtt: Option<Span>,
    /// The mean round trip under load (RFC 6349 section 4.3).
    pub mean_rtt: Option<Span>,
    /// Data that left the senders, copies included.
    pub transmitted: Bytes,
    /// Of that, the copies.
    pub retransmitted: Bytes,
    /// Segments that left again.
    pub retransmissions: u64,
    /// The window that a receiver offered, on average or, in virtual time, at the most,
    /// where that is known: systems grant more or less than was asked for.
    pub offered: Option<Bytes>,
    /// Processor time of both ends, where that is known.
    pub cpu: Option<Span>,
    /// What held the transfer back, where that is known.
    pub cause: Option<Cause>,
}

impl Measurement {
    /// The data over the time.
    pub fn rate(&self) -> Rate {
        self.bytes.per(self.time)
    }
}
