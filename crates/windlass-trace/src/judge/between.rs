//! Causes that fit the findings as well as the named one.

use windlass_base::thresholds::A_TENTH;
use windlass_base::verdict::Confidence;
use windlass_base::{Cause, Limit, Sentence};

use super::causes::path_queue::UNSEEN_QUEUE;
use super::checks::Checks;
use super::confidence::{Claim, Doubt, LINE_OR_BUFFER, LINE_OR_WINDOW};
use super::rivals::Rival;

/// Maximum number of causes: more are no answer.
const MOST: usize = 3;

/// Returns the causes that fit as well, the named one first; none where it stands alone.
///
/// These are the causes that packets cannot tell from it, and the causes of a rival that explains
/// the pace. A cause of another limit that cost nearly as much time is one as well.
pub(crate) fn between(
    claim: &Claim<'_>,
    confidence: Confidence,
    rivals: &[(&Rival, Sentence)],
) -> Vec<Cause> {
    if confidence == Confidence::High || claim.cause == Cause::Unknown {
        return Vec::new();
    }
    let mut others: Vec<Cause> =
        rivals.iter().flat_map(|(rival, _)| (rival.causes)(claim.case)).collect();
    others.extend(inseparable(claim));
    others.extend(close(claim));
    others.extend(claim.case.tally.leaders_of_halves().into_iter().flatten());
    let mut causes = vec![claim.cause];
    for other in others {
        if !causes.contains(&other) && causes.len() < MOST {
            causes.push(other);
        }
    }
    if causes.len() > 1 { causes } else { Vec::new() }
}

/// Returns the cause that packets cannot tell from the named one.
fn inseparable(claim: &Claim<'_>) -> Option<Cause> {
    let checks = &mut Checks::silent();
    let may_be_line = |doubt: &Doubt, checks: &mut Checks| {
        (doubt.holds)(claim, checks).then_some(Cause::PathQueue)
    };
    match claim.cause {
        // A program that refills its buffer at once, and a congestion window that stands.
        Cause::Steady => Some(Cause::BufferPathRtt),
        Cause::BufferPathRtt => may_be_line(&LINE_OR_BUFFER, checks).or(Some(Cause::Steady)),
        Cause::WindowPathRtt => may_be_line(&LINE_OR_WINDOW, checks),
        Cause::PathQueue => (UNSEEN_QUEUE.holds)(claim, checks).then_some(Cause::SenderIdle),
        // A window that opens by parts: a program that always reads, or one that stops.
        _ if claim.case.may_read_always(claim.cause) => Some(Cause::ReceiverLimited),
        _ => None,
    }
}

/// Returns the costliest cause of another limit, if that cost nearly as much.
fn close(claim: &Claim<'_>) -> Option<Cause> {
    let lead = claim.share - claim.other_limit;
    let causes = claim.case.tally.causes();
    let mut others = causes
        .iter()
        .map(|(cause, _)| *cause)
        .filter(|cause| cause.limit() != claim.cause.limit() && cause.limit() != Limit::Unknown);
    (lead < A_TENTH.get()).then(|| others.next()).flatten()
}

#[cfg(test)]
mod tests {
    use windlass_base::Span;
    use windlass_base::thresholds::PACING_PAUSES;

    use super::*;
    use crate::follow::ledger::WaitKind;
    use crate::judge::fixture::{OrdinaryTransfer, STEP, TIME};
    use crate::judge::rivals::holder;

    fn claiming(cause: Cause) -> OrdinaryTransfer {
        let mut transfer = OrdinaryTransfer::new();
        transfer.cause = cause;
        transfer
    }

    #[test]
    fn a_sure_or_unknown_cause_stands_alone() {
        let transfer = claiming(Cause::Steady);
        assert_eq!(transfer.between(Confidence::High), []);
        assert_eq!(transfer.between(Confidence::Medium), [Cause::Steady, Cause::BufferPathRtt]);
        assert_eq!(claiming(Cause::Unknown).between(Confidence::Low), []);
        assert_eq!(claiming(Cause::Timeout).between(Confidence::Medium), []);
    }

    #[test]
    fn a_rival_that_explains_the_pace_comes_first() {
        let mut transfer = claiming(Cause::BufferPathRtt);
        transfer.charge(Cause::SenderIdle, TIME.scaled(PACING_PAUSES.get()) + STEP);
        let all = [Cause::BufferPathRtt, Cause::SenderIdle, Cause::Steady];
        assert_eq!(transfer.between(Confidence::Medium), all);
    }

    #[test]
    fn a_cause_of_another_limit_that_cost_nearly_as_much_is_told() {
        let mut transfer = claiming(Cause::Timeout);
        transfer.tally.times.clear();
        transfer.charge(Cause::Timeout, TIME);
        transfer.charge(Cause::WindowPathRtt, TIME - STEP);
        transfer.share = 0.5;
        transfer.other_limit = 0.5 - A_TENTH.get() - 1e-9;
        assert_eq!(transfer.between(Confidence::Medium), []);
        transfer.other_limit += 2e-9;
        let both = [Cause::Timeout, Cause::WindowPathRtt];
        assert_eq!(transfer.between(Confidence::Medium), both);
        transfer.tally.times.insert(Cause::Unknown, Span::ZERO);
        assert_eq!(transfer.between(Confidence::Medium), both);
    }

    #[test]
    fn the_flight_is_held_by_a_window_that_is_full_for_half_of_the_time() {
        let mut transfer = OrdinaryTransfer::new();
        let open = transfer.facts.time_busy();
        transfer.add_wait(WaitKind::Window, open);
        assert_eq!(holder(&transfer.case()), [Cause::WindowPathRtt]);
        transfer.add_wait(WaitKind::Open, STEP * 2);
        assert_eq!(holder(&transfer.case())[0], Cause::Steady);
        transfer.tally.plateau = Some(1);
        assert_eq!(holder(&transfer.case())[0], Cause::BufferPathRtt);
    }
}
