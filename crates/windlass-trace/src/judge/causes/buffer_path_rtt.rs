//! A send buffer too small for the path's round trip.

use crate::follow::ledger::WaitKind;
use crate::judge::case::Case;
use crate::judge::causes::{Hypothesis, unknown};
use crate::judge::confidence::{Doubt, LINE_OR_BUFFER};
use crate::judge::law::{filled, on_its_path};
use crate::judge::rivals;
use crate::judge::rule::Rule;
use windlass_base::verdict::CaveatId;
use windlass_base::{Bytes, Cause, sentence};

pub(crate) const HYPOTHESIS: Hypothesis = Hypothesis {
    cause: Cause::BufferPathRtt,
    sentence: |case @ &Case { sender, facts, .. }, time| {
        sentence!(
            "{sender} keeps only {} in flight, its send buffer, {}: it waits for \
             ACKs {time}, though the receiver would take {}.",
            case.plateau(),
            on_its_path(facts),
            Bytes::new(facts.window.most),
        )
    },
    law: filled,
    remedies: |it| vec![it.larger_buffer()],
    shows: |kind| kind == WaitKind::Open,
    is_habit: true,
    doubts: &[FAR, BY_PUSHES, LINE_OR_BUFFER],
    as_likely: &[rivals::WRITER, rivals::OWN_PACE],
    rivals: &[rivals::NEARLY_FULL_WINDOW, rivals::ASKED_FOR],
    ..unknown::HYPOTHESIS
};

/// The flight stays level over many rounds, and the waits do not look like a congestion window's.
pub(crate) const LEVEL_FLIGHT: Rule = Rule {
    name: "level-flight",
    cause: Cause::BufferPathRtt,
    of: |kind| kind == WaitKind::Open,
    holds: Some(|it, checks| checks.is("a send buffer holds the flight level", it.is_level())),
};

/// Far from the sender, what ends each wait is reconstructed.
const FAR: Doubt = Doubt {
    name: "taken-at-the-receiver",
    holds: |it, checks| it.has(CaveatId::TakenAtReceiver, checks),
};

/// Only PSH flags show the send buffer: each segment empties it.
const BY_PUSHES: Doubt = Doubt {
    name: "shown-by-pushes-alone",
    holds: |it, checks| checks.is("only PSH shows it", it.case.tally.by_pushes),
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::fixture::OrdinaryTransfer;
    use crate::judge::habits::PlateauSign;

    #[test]
    fn a_buffer_holds_the_flight_level() {
        let mut transfer = OrdinaryTransfer::new();
        assert!(!transfer.is_named_by(&LEVEL_FLIGHT));
        transfer.habits = |habits| habits.plateaus = vec![Some(PlateauSign::Pushes)];
        assert!(transfer.is_named_by(&LEVEL_FLIGHT));
    }

    #[test]
    fn a_place_far_from_the_sender_is_a_doubt() {
        let mut transfer = OrdinaryTransfer::far();
        assert!(!transfer.is_doubted_by(&FAR));
        transfer.caveats = vec![CaveatId::TakenAtReceiver];
        assert!(transfer.is_doubted_by(&FAR));
    }

    #[test]
    fn pushes_alone_are_a_doubt() {
        let mut transfer = OrdinaryTransfer::new();
        assert!(!transfer.is_doubted_by(&BY_PUSHES));
        transfer.tally.by_pushes = true;
        assert!(transfer.is_doubted_by(&BY_PUSHES));
    }
}
