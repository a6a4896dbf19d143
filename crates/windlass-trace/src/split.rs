//! Ends that answer far sooner than they opened: split connections.
//!
//! A proxy, or the translator of a virtual machine, opens a connection when the host
//! beyond it has, and acknowledges by itself from then on (RFC 3135 section 2.4). What
//! happens beyond it does not show: the sender may wait for it, and so may the reader.

use windlass_base::Span;
use windlass_macros::Packed;

/// How much longer than an ACK the opening took where the ACK is another's.
const SOONER: i64 = 4;

/// An opening that takes less than this longer: a host that looked for an address, or
/// woke its program, and no path.
const MIN_WAY: Span = Span::from_millis(5);

/// So many ACKs are no chance.
const SEVERAL: u32 = 2;

/// Somebody else acknowledges for an end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Split {
    /// From the SYN to its answer.
    pub(crate) opening: Span,
    /// From data to its ACK, at the least.
    pub(crate) soonest: Span,
}

/// Whether an ACK that took so long comes too soon for an end that took so long to open.
pub(crate) fn is_soon(wait: Span, opening: Span) -> bool {
    wait * SOONER < opening
}

/// How soon an end acknowledges, beside what its opening took.
#[derive(Clone, Copy, Debug, Default, Packed)]
pub(crate) struct Answers {
    soon: u32,
    /// As late as the opening has it.
    late: u32,
    /// The soonest of all.
    least: Span,
}

impl Answers {
    /// An ACK of data came so long after it, from an end that took so long to open.
    #[inline]
    pub(crate) fn heard(&mut self, wait: Span, opening: Span) {
        if !is_soon(wait, opening) || opening - wait < MIN_WAY {
            self.late = self.late.saturating_add(1);
            return;
        }
        self.least = if self.soon == 0 { wait } else { self.least.min(wait) };
        self.soon = self.soon.saturating_add(1);
    }

    /// The soonest ACK, where most come too soon for the host that opened.
    pub(crate) fn soonest_of_another(&self) -> Option<Span> {
        (self.soon >= SEVERAL && self.soon > self.late).then_some(self.least)
    }
}
