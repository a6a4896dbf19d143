//! Releases of data by messages of the receiver's program.
//!
//! A program may keep a window of its own: it has so much data open, and sends more when the other
//! program reports that it has taken some. Examples are a channel of SSH (RFC 4254 section 5.2), a
//! stream of HTTP/2 (RFC 9113 section 5.2), and credits of SMB. Then bursts leave right behind
//! packets with data of the receiver, and hardly ever behind an ACK alone. Yet data is in flight
//! all the time, as behind a send buffer.

use windlass_base::Span;
use windlass_base::thresholds::{ENOUGH, HALF_OF_IT, MOST_OF_IT};
use windlass_macros::Packed;

/// Ends of the sender's waits, from a capture at the sender.
#[derive(Clone, Debug, Default, Packed)]
pub(crate) struct MessageReleases {
    /// The receiver's packets since the first wait, and those of them with data.
    packets: u64,
    messages: u64,
    /// Waits, their time, and the time of those that ended right behind a message.
    count: u64,
    waits: Span,
    by_messages: Span,
}

impl MessageReleases {
    /// Takes a packet of the receiver.
    pub(crate) fn heard(&mut self, has_data: bool) {
        self.packets += 1;
        self.messages += u64::from(has_data);
    }

    /// Takes a wait that ended right behind a packet of the receiver.
    pub(crate) fn waited(&mut self, wait: Span, has_data: bool) {
        self.count += 1;
        self.waits += wait;
        if has_data {
            self.by_messages += wait;
        }
    }

    /// Returns the time of the waits that messages ended, and of all waits, if messages ended most
    /// of it, by chance or not.
    pub(crate) fn most(&self) -> Option<(Span, Span)> {
        let is_most = self.by_messages.share_of(self.waits) >= MOST_OF_IT.get();
        (is_most && self.waits > Span::ZERO).then_some((self.by_messages, self.waits))
    }

    /// Returns the share of the time of waits that messages ended.
    pub(crate) fn share(&self) -> Option<f64> {
        (self.waits > Span::ZERO).then(|| self.by_messages.share_of(self.waits))
    }

    /// Returns whether messages let the data go, more than chance has them do.
    pub(crate) fn is_told(&self) -> bool {
        let chance = 1.0 - self.messages as f64 / self.packets.max(1) as f64;
        let others = 1.0 - self.by_messages.share_of(self.waits);
        self.count as f64 * chance >= ENOUGH.to::<f64>() && others <= HALF_OF_IT.get() * chance
    }
}
