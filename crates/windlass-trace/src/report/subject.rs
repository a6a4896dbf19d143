//! A transfer as its words see it: the numbers that more than one of them needs.

use windlass_base::{Bytes, Cause, Span};

use crate::classify::Classified;
use crate::finished::Finished;

/// A count with its noun: `1 packet`, `2 packets`.
pub(super) fn counted(count: u64, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{plural}")
}

/// A transfer with everything that its words are made of.
pub(super) struct Subject<'a> {
    pub(super) finished: &'a Finished,
    pub(super) classified: &'a Classified,
    pub(super) sender: &'a str,
    pub(super) receiver: &'a str,
    /// Packets that the capture's writer says it lost.
    pub(super) drops: Option<u64>,
}

impl Subject<'_> {
    pub(super) fn bytes(&self) -> Bytes {
        Bytes::new(self.finished.bytes())
    }

    pub(super) fn total(&self) -> Span {
        self.classified.total
    }

    pub(super) fn time_of(&self, cause: Cause) -> Span {
        self.classified.times.get(&cause).copied().unwrap_or_default()
    }

    /// The window of most ACKs.
    pub(super) fn window(&self) -> Option<Bytes> {
        self.finished.windows.usual()
    }

    /// From the first segment of a flight to the effect of its ACK.
    pub(super) fn cycle(&self) -> Option<Span> {
        Some(self.finished.cycles.median()? + self.finished.ack_delay)
    }

    pub(super) fn segment(&self) -> Bytes {
        Bytes::new(self.finished.segment_size)
    }
}
