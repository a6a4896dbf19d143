//! A receive window that does not hold one full segment.

use crate::follow::ledger::WaitKind;
use crate::judge::case::Case;
use crate::judge::causes::{Hypothesis, unknown};
use crate::judge::evidence::silly_windows;
use crate::judge::law;
use crate::judge::law::usable_window;
use crate::judge::rule::Rule;
use windlass_base::tuning::Tuning;
use windlass_base::verdict::{Remedy, Side, Unit};
use windlass_base::{Bytes, Cause, sentence};

pub(crate) const HYPOTHESIS: Hypothesis = Hypothesis {
    cause: Cause::WindowBelowMss,
    sentence: |case @ &Case { receiver, facts, .. }, time| {
        sentence!(
            "{receiver} takes only {} at a time, less than one full segment of {}, so the sender \
             sends a piece, waits for its ACK and sends the next: waiting takes {time}.",
            Bytes::new(facts.window.most),
            case.segment(),
        )
    },
    law: law::window,
    remedies: |it| {
        let window = usable_window(it.case).unwrap_or_default().get().max(1);
        let value = it.case.facts.window.segment * 4;
        let larger = it.remedy(
            Side::Receiver,
            sentence!("offer a window of at least 4 full segments: {}", Bytes::new(value)),
            Some((value as f64, Unit::Bytes)),
            window as f64 / value as f64,
        );
        let larger = Remedy { what_if: Some(format!("window={value}")), ..larger };
        [larger.set_by(Tuning::ReceiveWindow)]
            .into_iter()
            .chain(it.ack_at_once())
            .chain(it.no_silly_windows())
            .collect()
    },
    shows: |kind| kind == WaitKind::Window,
    packets: silly_windows,
    ..unknown::HYPOTHESIS
};

/// The largest window is smaller than a full segment.
pub(crate) const SMALLER_THAN_A_SEGMENT: Rule = Rule {
    name: "smaller-than-a-segment",
    cause: Cause::WindowBelowMss,
    of: |kind| kind == WaitKind::Window,
    holds: Some(|it, checks| {
        let (most, segment) = (it.facts.window.most, it.facts.window.segment);
        checks.below("largest window", Bytes::new(most), Bytes::new(segment))
    }),
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::fixture::{OrdinaryTransfer, SEGMENT};

    #[test]
    fn the_largest_window_is_below_a_segment() {
        let mut transfer = OrdinaryTransfer::waiting(WaitKind::Window);
        transfer.facts.window.most = SEGMENT;
        assert!(!transfer.is_named_by(&SMALLER_THAN_A_SEGMENT));
        transfer.facts.window.most -= 1;
        assert!(transfer.is_named_by(&SMALLER_THAN_A_SEGMENT));
    }
}
