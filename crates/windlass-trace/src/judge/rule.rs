//! Rules: what they are asked of, and what they make of it.

use windlass_base::Cause;

use super::checks::Checks;
use super::facts::Facts;
use super::habits::Habits;
use crate::follow::ledger::{Interval, WaitKind};

/// A wait, with the transfer that it is a part of.
#[derive(Clone, Copy)]
pub(crate) struct WaitContext<'a> {
    pub(crate) facts: &'a Facts,
    pub(crate) habits: &'a Habits,
    pub(crate) wait: &'a Interval,
    /// Its place among the waits of the transfer; none where it was merged away.
    pub(crate) index: Option<usize>,
}

/// Asks of a wait, and keeps an account of what was asked.
pub(crate) type RuleTest = fn(&WaitContext<'_>, &mut Checks) -> bool;

/// A rule that names waits.
pub(crate) struct Rule {
    /// Its name in `--why`.
    pub(crate) name: &'static str,
    /// The cause that it names.
    pub(crate) cause: Cause,
    /// The kinds of wait that it is asked about.
    pub(crate) of: fn(WaitKind) -> bool,
    /// Its conditions; `None` where it takes what is left.
    pub(crate) holds: Option<RuleTest>,
}

/// Returns whether a cause is one of a sender that seems to be held by a window of its own.
pub(crate) fn is_of_sender(cause: Cause) -> bool {
    matches!(
        cause,
        Cause::BufferPathRtt
            | Cause::BufferDelayedAck
            | Cause::Steady
            | Cause::AfterLoss
            | Cause::PathQueue
    )
}

/// A rule that takes time from a cause which was named.
pub(crate) struct TakeoverRule {
    /// Its name in `--why`.
    pub(crate) name: &'static str,
    /// The causes that it takes time from.
    pub(crate) from: fn(Cause) -> bool,
    /// The cause that the time goes to.
    pub(crate) to: Cause,
    pub(crate) holds: RuleTest,
}

impl WaitContext<'_> {
    /// Returns whether a send buffer holds the flight level around this wait.
    pub(crate) fn is_level(&self) -> bool {
        self.index.is_some_and(|index| self.habits.plateaus[index].is_some())
    }

    /// Returns whether the flight grows around it as in slow start.
    pub(crate) fn grows(&self) -> bool {
        self.index.is_some_and(|index| self.habits.grows[index])
    }

    /// Returns whether the flight grows around it by little, for long.
    pub(crate) fn creeps(&self) -> bool {
        self.index.is_some_and(|index| self.habits.creeps[index])
    }

    /// Returns whether the path was full.
    pub(crate) fn is_path_full(&self) -> bool {
        self.index.is_some_and(|index| self.habits.full.holds(index))
    }
}

/// Returns whether the receiver withholds its ACKs for longer than a sender's timer may run, by
/// habit.
pub(crate) fn withholds_acks(it: &WaitContext<'_>, checks: &mut Checks) -> bool {
    checks.is("the receiver withholds its ACKs by habit", it.facts.withholds_acks())
}
