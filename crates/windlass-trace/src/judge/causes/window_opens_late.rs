//! A window that closes and opens again a moment later.

use crate::follow::ledger::{Reopening, WaitKind};
use crate::judge::case::Case;
use crate::judge::causes::{Hypothesis, unknown};
use crate::judge::confidence::START_IS_MISSING;
use crate::judge::law::{by, bytes, seconds, usable_window};
use crate::judge::remedy::NO_TIME;
use crate::judge::rule::Rule;
use windlass_base::tuning::Tuning;
use windlass_base::verdict::{Side, Unit};
use windlass_base::{Bytes, Cause, laws, sentence};

pub(crate) const HYPOTHESIS: Hypothesis = Hypothesis {
    cause: Cause::WindowOpensLate,
    sentence: |&Case { receiver, facts, .. }, time| match facts.counts.closures {
        1 => sentence!(
            "{receiver} closed its window and opened it {} later: it is closed {time}.",
            facts.window.closures.most().unwrap_or_default(),
        ),
        _ => sentence!(
            "{receiver} closes its window with its ACKs and opens it {} later, again and again: \
             it is closed {time}.",
            facts.window.closures.median().unwrap_or_default(),
        ),
    },
    law: |case| {
        let window = usable_window(case)?.get().max(case.facts.counts.flight_most);
        let (window, open) = (Bytes::new(window), case.cycle()?);
        let closed = case.facts.window.closures.median()?;
        let inputs = vec![
            bytes("W", window, "the window when it is open"),
            seconds("T", open, "from the first segment to its ACK"),
            seconds("Z", closed, "from that ACK to the open window"),
        ];
        Some(by(laws::window_rate(window, open + closed), "window", "W / (T + Z)", inputs))
    },
    remedies: |it| {
        let facts = it.case.facts;
        let window = 2 * facts.window.most.max(facts.window.segment);
        let open = it.case.cycle().unwrap_or_default();
        let closed = facts.window.closures.median().unwrap_or_default();
        // The program still takes as long for each buffer, but takes the next meanwhile: of T + Z
        // the longer one is left.
        let left = (closed - open).or_zero().share_of(closed);
        let second = it.remedy(
            Side::Receiver,
            sentence!(
                "give it a second buffer, so that it can take data while it handles the last: a \
                 window of {} that does not close",
                Bytes::new(window),
            ),
            Some((window as f64, Unit::Bytes)),
            left,
        )
        .set_by(Tuning::ReceiveWindow);
        let mut faster = it.remedy(
            Side::Receiver,
            sentence!("empty its buffer sooner: it takes {closed} for each"),
            NO_TIME,
            0.0,
        );
        it.bracket(&mut faster);
        // If the program handles a buffer for ten times as long as it takes to fill it, a second
        // buffer brings less than a tenth.
        if left > 0.9 {
            vec![faster]
        } else if left > 0.5 {
            vec![second, faster]
        } else {
            vec![second]
        }
    },
    shows: |kind| matches!(kind, WaitKind::OpensLate | WaitKind::Partly(Reopening::Late)),
    doubts: &[START_IS_MISSING],
    ..unknown::HYPOTHESIS
};

/// The window was closed for a moment.
pub(crate) const OPENS_LATE: Rule = Rule {
    name: "opens-a-moment-later",
    cause: Cause::WindowOpensLate,
    of: |kind| matches!(kind, WaitKind::OpensLate | WaitKind::Partly(Reopening::Late)),
    holds: None,
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::fixture::{OrdinaryTransfer, RTT, quantiles};
    use windlass_base::Span;

    #[test]
    fn a_window_opens_a_moment_later() {
        let named = |kind| OrdinaryTransfer::waiting(kind).is_named_by(&OPENS_LATE);
        assert!(named(WaitKind::OpensLate) && named(WaitKind::Partly(Reopening::Late)));
        assert!(!named(WaitKind::NotReading) && !named(WaitKind::Partly(Reopening::AfterLong)));
    }

    /// Returns the values of the remedies where the window stays closed for so long: bytes of a
    /// second buffer, or no time of a faster reader.
    fn remedies(closed: Span) -> Vec<Option<f64>> {
        let mut transfer = OrdinaryTransfer::new();
        transfer.facts.window.closures = quantiles([closed]);
        transfer.remedies(HYPOTHESIS.remedies).into_iter().map(|remedy| remedy.value).collect()
    }

    #[test]
    fn a_second_buffer_helps_where_it_fills_as_slowly_as_it_is_handled() {
        let second = Some(2.0 * 131_072.0);
        let step = Span::from_micros(1);
        assert_eq!(remedies(RTT * 2), [second]);
        assert_eq!(remedies(RTT * 2 + step), [second, Some(0.0)]);
        assert_eq!(remedies(RTT * 10), [second, Some(0.0)]);
        assert_eq!(remedies(RTT * 10 + step), [Some(0.0)]);
    }
}
