//! Wi-Fi power save: additions to a verdict for a station that dozes.

use windlass_base::thresholds::A_QUARTER;
use windlass_base::tuning::Tuning;
use windlass_base::verdict::{Evidence, Remedy, Side};
use windlass_base::{Sentence, sentence};

use super::case::Case;
use super::evidence::listed;
use super::remedy::advice;
use crate::estimate::beacons::PowerSave;

/// Returns the waits for beacons, where they are a great part of the time.
fn waits<'a>(case: &Case<'a>) -> Option<&'a PowerSave> {
    let waits = case.facts.path.power_save.as_ref()?;
    (waits.waited.share_of(case.total()) >= A_QUARTER.get()).then_some(waits)
}

/// Adds them to the sentence, the advice and the evidence of a verdict.
pub(crate) fn add(
    case: &Case<'_>,
    sentence: &mut Sentence,
    remedies: &mut Vec<Remedy>,
    evidence: &mut Vec<Evidence>,
) {
    let Some(PowerSave { waits, in_step, packets, .. }) = waits(case) else { return };
    sentence.push(&sentence!(
        " {in_step} of {waits} late ACKs come at multiples of 102.4 ms, as Wi-Fi beacons do: {}, or \
         a station before it, dozes between them (Wi-Fi power save).",
        case.receiver
    ));
    let action = "turn Wi-Fi power save off (of a printer, in its energy settings), or use a cable";
    remedies.insert(0, advice(Side::Receiver, action).set_by(Tuning::NoPowerSave));
    evidence.extend(listed(packets, "ACKs that came with a beacon".into()));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::follow::counts::Examples;
    use crate::judge::fixture::{OrdinaryTransfer, STEP, TIME};

    #[test]
    fn a_part_of_the_time_is_worth_a_word() {
        let said = |waited| {
            let mut transfer = OrdinaryTransfer::new();
            let packets = Examples::default();
            transfer.facts.path.power_save =
                Some(PowerSave { waits: 20, in_step: 19, waited, packets });
            let (mut sentence, mut remedies) = (Sentence::new(), Vec::new());
            add(&transfer.case(), &mut sentence, &mut remedies, &mut Vec::new());
            assert_eq!(sentence.is_empty(), remedies.is_empty());
            sentence.to_string()
        };
        let enough = TIME.scaled(A_QUARTER.get());
        assert!(said(enough).contains("19 of 20 late ACKs"), "{}", said(enough));
        assert!(said(enough - STEP).is_empty());
    }
}
