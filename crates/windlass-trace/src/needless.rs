//! What was sent again though its data had arrived, and why; and how long the sender's
//! timer runs before it sends again.

use windlass_base::Span;

use crate::counts::Examples;
use crate::packed::packed;

/// RFC 6298 section 2.4 asks for a timer of a second at least, where the path's round
/// trip is shorter; Linux's runs for 200 ms. What runs for longer than either is slow.
const SLOW: Span = Span::from_millis(1_200);

/// And for so many round trips: with the variance of a path that queues, RFC 6298's
/// timer may run for three.
const ROUNDS: i64 = 5;

/// Timers after which the least of them is the sender's own.
const ENOUGH: u32 = 2;

/// Why segments were sent again in vain, as far as it shows.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Needless {
    /// Segments whose ACK never reached the sender.
    pub(crate) acks_lost: u64,
    /// Their packets.
    pub(crate) unheard: Examples,
    /// Segments that only others had overtaken.
    pub(crate) overtaken: u64,
    /// The silences before the first retransmission by a timer: how many, the least,
    /// and the packets that ended them.
    timers: u32,
    least: Option<Span>,
    timed: Examples,
}

packed!(sparse Needless { acks_lost, unheard, overtaken, timers, least, timed });

/// A retransmission timer that runs for long.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SlowTimer<'a> {
    /// How long, at least.
    pub(crate) least: Span,
    /// The packets that it sent.
    pub(crate) packets: &'a [u64],
}

impl Needless {
    /// The packet was sent again, and the sender had not heard the ACK of its data.
    pub(crate) fn unheard(&mut self, number: u64) {
        self.acks_lost += 1;
        self.unheard.add(number);
    }

    /// The packet was the first that a timer sent, after such a silence.
    pub(crate) fn timed(&mut self, silence: Span, number: u64) {
        self.timers = self.timers.saturating_add(1);
        self.least = Some(self.least.map_or(silence, |least| least.min(silence)));
        self.timed.add(number);
    }

    /// The timer, where it runs far beyond what round trips of at most `rtt` ask for.
    pub(crate) fn slow_timer(&self, rtt: Span) -> Option<SlowTimer<'_>> {
        let least = self
            .least
            .filter(|least| self.timers >= ENOUGH && *least >= SLOW && *least >= rtt * ROUNDS)?;
        Some(SlowTimer { least, packets: self.timed.as_slice() })
    }
}
