//! Who ended a connection, and how.

use serde::Serialize;
use windlass_base::thresholds::{LONGER_THAN_PATHS, LONGEST_SILENCE, SEVERAL_ROUNDS};
use windlass_base::{Bytes, Named, Span};

use super::Side;
use crate::follow::flow::Owed;
use crate::follow::transfer::Transfer;

/// What a connection came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Named)]
pub enum How {
    /// A side said that it has nothing more to send (FIN).
    Fin,
    /// A side broke it off (RST) before both had closed it.
    Reset,
    /// Nothing more came, long before the capture's end, or a side left unanswered what
    /// the other sent again.
    Silence,
    /// Another connection took its ports.
    Replaced,
    /// The capture ended first.
    Open,
}

/// Who ended a connection, and how.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Ending {
    /// What it came to.
    pub how: How,
    /// Who closed it first, broke it off or stopped answering; null where nobody did.
    pub by: Option<Side>,
    /// The packet of the FIN or RST.
    pub packet: Option<u64>,
    /// True if both sides closed it (FIN); null where only one was captured.
    pub both_closed: Option<bool>,
    /// From its last packet to the capture's end; null where it was ended.
    pub silent_seconds: Option<Span>,
    /// The data that waits for an answer of the side that stopped answering.
    pub unanswered_bytes: Option<Bytes>,
    /// The time for which it waits.
    pub unanswered_seconds: Option<Span>,
}

/// Who stopped answering, how much and for how long.
#[derive(Clone, Copy)]
struct Silent {
    side: Side,
    bytes: u64,
    waited: Span,
}

const SIDES: [Side; 2] = [Side::Sender, Side::Receiver];

impl Transfer {
    /// Who ended the connection, and how.
    pub(crate) fn ending(&self) -> Ending {
        let first = |packets: [Option<u64>; 2]| {
            let [sender, receiver] = packets;
            match (sender, receiver) {
                (Some(sender), Some(receiver)) if receiver < sender => {
                    Some((Side::Receiver, receiver))
                }
                (Some(sender), _) => Some((Side::Sender, sender)),
                (None, receiver) => receiver.map(|receiver| (Side::Receiver, receiver)),
            }
        };
        let signs = self.signs();
        let both_closed = signs.iter().all(|side| side.fin.is_some());
        let fin = first(signs.map(|side| side.fin));
        let reset = first(signs.map(|side| side.reset)).filter(|_| !both_closed);
        let silent = self.silent();
        let quiet = self.silent_for();
        let (how, by, packet) = match (reset, fin, silent) {
            (Some((side, packet)), _, _) => (How::Reset, Some(side), Some(packet)),
            (None, Some((side, packet)), _) => (How::Fin, Some(side), Some(packet)),
            (None, None, _) if self.replaced => (How::Replaced, None, None),
            (None, None, Some(silent)) => (How::Silence, Some(silent.side), None),
            (None, None, None) if quiet >= LONGEST_SILENCE.get() => (How::Silence, None, None),
            (None, None, None) => (How::Open, None, None),
        };
        let silent = silent.filter(|_| how == How::Silence);
        Ending {
            how,
            by,
            packet,
            both_closed: (!self.one_sided).then_some(both_closed),
            silent_seconds: matches!(how, How::Silence | How::Open).then_some(quiet),
            unanswered_bytes: silent.map(|silent| Bytes::new(silent.bytes)),
            unanswered_seconds: silent.map(|silent| silent.waited),
        }
    }

    /// Returns whether the receiver stopped answering: it left data unanswered until the end.
    pub(crate) fn is_deserted(&self) -> bool {
        self.silent().is_some_and(|silent| silent.side == Side::Receiver)
    }

    /// Returns whether the receiver answered nothing of what a timer sent again, until the end, and
    /// nothing else was ever sent again: no loss is proven, and nobody is there.
    pub(crate) fn never_came_back(&self) -> bool {
        self.counts.acks == 0
            || self.is_deserted()
            || self.unanswered > 0 && self.again() == self.counts.retransmissions
    }

    /// How often a timer sent again what was never answered.
    pub(crate) fn again(&self) -> u64 {
        self.signs()[0].owed.map_or(0, |owed| u64::from(owed.again))
    }

    /// The side that left data unanswered for longer than any answer takes.
    fn silent(&self) -> Option<Silent> {
        let signs = self.signs();
        let end = self.observed_until();
        let patience = (self.told_rtt().unwrap_or_default() * SEVERAL_ROUNDS.get())
            .max(LONGER_THAN_PATHS.get());
        let silent = |place: usize| {
            let Owed { bytes, since, again } = signs[place].owed?;
            // Who gets no ACK sends again. Where that did not happen, the capture may lack
            // the ACKs, or ended before.
            if again == 0 {
                return None;
            }
            let heard = signs[1 - place].last.map_or(since, |last| last.max(since));
            (end.since(heard) >= patience).then(|| Silent {
                side: SIDES[1 - place],
                bytes,
                waited: end.since(since),
            })
        };
        silent(0).or_else(|| silent(1))
    }
}
