//! End of a connection.

use serde::Serialize;
use windlass_base::thresholds::{LONGER_THAN_PATHS, LONGEST_SILENCE, SEVERAL_ROUNDS};
use windlass_base::{Bytes, Named, Span};

use super::Side;
use crate::follow::flow::UnansweredData;
use crate::follow::transfer::Transfer;

/// Kind of a connection's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Named)]
pub enum EndingKind {
    /// A side said that it has nothing more to send (FIN).
    Fin,
    /// A side broke it off (RST) before both had closed it.
    Reset,
    /// No packet came until long before the capture's end, or a side left a retransmission
    /// unanswered.
    Silence,
    /// Another connection took its ports.
    Replaced,
    /// The capture ended first.
    Open,
}

/// End of a connection.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Ending {
    /// Kind of the end.
    pub how: EndingKind,
    /// The side that closed it first, reset it or stopped answering; null for none.
    pub by: Option<Side>,
    /// The packet of the FIN or RST.
    pub packet: Option<u64>,
    /// True if both sides closed it (FIN); null where only one was captured.
    pub both_closed: Option<bool>,
    /// Time from its last packet to the capture's end; null if it was ended.
    pub silent_seconds: Option<Span>,
    /// Data without an answer of the side that stopped answering.
    pub unanswered_bytes: Option<Bytes>,
    /// Time for which this data waits.
    pub unanswered_seconds: Option<Span>,
}

/// Silence of a side: its data and duration.
#[derive(Clone, Copy)]
struct SilentSide {
    side: Side,
    bytes: u64,
    waited: Span,
}

const SIDES: [Side; 2] = [Side::Sender, Side::Receiver];

impl Transfer {
    /// Returns the end of the connection.
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
            (Some((side, packet)), _, _) => (EndingKind::Reset, Some(side), Some(packet)),
            (None, Some((side, packet)), _) => (EndingKind::Fin, Some(side), Some(packet)),
            (None, None, _) if self.replaced => (EndingKind::Replaced, None, None),
            (None, None, Some(silent)) => (EndingKind::Silence, Some(silent.side), None),
            (None, None, None) if quiet >= LONGEST_SILENCE.get() => {
                (EndingKind::Silence, None, None)
            }
            (None, None, None) => (EndingKind::Open, None, None),
        };
        let silent = silent.filter(|_| how == EndingKind::Silence);
        Ending {
            how,
            by,
            packet,
            both_closed: (!self.one_sided).then_some(both_closed),
            silent_seconds: matches!(how, EndingKind::Silence | EndingKind::Open).then_some(quiet),
            unanswered_bytes: silent.map(|silent| Bytes::new(silent.bytes)),
            unanswered_seconds: silent.map(|silent| silent.waited),
        }
    }

    /// Returns whether the receiver stopped answering: it left data unanswered until the end.
    pub(crate) fn is_deserted(&self) -> bool {
        self.silent().is_some_and(|silent| silent.side == Side::Receiver)
    }

    /// Returns whether the receiver answered none of the timer's retransmissions until the end, and
    /// nothing else was ever retransmitted. Then no loss is proven, and no host is there.
    pub(crate) fn never_came_back(&self) -> bool {
        self.counts.acks == 0
            || self.is_deserted()
            || self.unanswered > 0 && self.again() == self.counts.retransmissions
    }

    /// Returns the number of timeouts for data that was never acknowledged.
    pub(crate) fn again(&self) -> u64 {
        self.signs()[0].owed.map_or(0, |owed| u64::from(owed.again))
    }

    /// Returns the side that left data unanswered for longer than any answer takes.
    fn silent(&self) -> Option<SilentSide> {
        let signs = self.signs();
        let end = self.observed_until();
        let patience = (self.told_rtt().unwrap_or_default() * SEVERAL_ROUNDS.get())
            .max(LONGER_THAN_PATHS.get());
        let silent = |place: usize| {
            let UnansweredData { bytes, since, again } = signs[place].owed?;
            // A sender without an ACK retransmits. Without a retransmission, the capture may lack
            // the ACKs, or ended before.
            if again == 0 {
                return None;
            }
            let heard = signs[1 - place].last.map_or(since, |last| last.max(since));
            (end.since(heard) >= patience).then(|| SilentSide {
                side: SIDES[1 - place],
                bytes,
                waited: end.since(since),
            })
        };
        silent(0).or_else(|| silent(1))
    }
}
