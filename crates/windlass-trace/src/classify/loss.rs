//! What a loss cost: the path's part, and what others make of it.

use windlass_base::{Cause, Span};

use crate::finished::Finished;
use crate::ledger::Kind;

/// The cause of a wait that was charged to `cause`, as far as it goes by what lost the
/// data, and by the timer that repairs it, which may be slow.
pub(super) fn of_loss(finished: &Finished, slow_timer: bool, cause: Cause) -> Cause {
    if finished.reorders() && matches!(cause, Cause::FastRecovery | Cause::AfterLoss) {
        return Cause::Reordering;
    }
    let repair = matches!(cause, Cause::FastRecovery | Cause::Timeout);
    let held_back = matches!(cause, Cause::AfterLoss | Cause::Steady | Cause::PathQueue);
    if finished.policer.is_some() && (repair || held_back) {
        Cause::PathPolicer
    } else if finished.black_hole.is_some() && cause == Cause::Timeout {
        Cause::BlackHole
    } else if finished.discarding.is_some() && repair && !ends_in_silence(finished) {
        Cause::ReceiverDiscards
    } else if slow_timer && cause == Cause::Timeout {
        Cause::SlowTimer
    } else {
        cause
    }
}

/// Whether most of the repair was a wait for a receiver that never answered again.
fn ends_in_silence(finished: &Finished) -> bool {
    let intervals = finished.ledger.intervals.iter();
    let repairs = intervals
        .filter(|one| matches!(one.kind, Kind::Recovery | Kind::Timeout | Kind::Blind { .. }));
    let repair: Span = repairs.map(|one| one.charged).sum();
    finished.counts.silent_at_end * 2 > repair
}
