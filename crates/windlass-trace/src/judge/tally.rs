//! A transfer's time by cause: each wait charged to one.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use windlass_base::{Cause, Limit, Span};

use crate::follow::ledger::Interval;

/// A stretch of the timeline, charged to one cause.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Charge {
    pub(crate) cause: Cause,
    pub(crate) interval: Interval,
}

impl Charge {
    /// Takes the stretch behind it, of the same cause.
    pub(super) fn extend(&mut self, next: &Interval) {
        self.interval.end = next.end;
        self.interval.last = next.last;
        self.interval.charged += next.charged;
    }
}

/// A transfer's time by cause.
#[derive(Debug)]
pub(crate) struct Tally {
    pub(crate) charges: Vec<Charge>,
    /// Time by cause; the sum is the whole transfer.
    pub(crate) times: BTreeMap<Cause, Span>,
    pub(crate) total: Span,
    /// The flight at which a send buffer holds the transfer, on average.
    pub(crate) plateau: Option<u64>,
    /// Some of that shows by nothing but what waits behind segments: nothing.
    pub(crate) by_pushes: bool,
    /// Waits for ACKs that are charged to a program, as it sets the pace.
    pub(crate) between_bursts: Span,
    /// Bytes that were acknowledged while the path was full.
    pub(crate) delivered: u64,
}

impl Tally {
    /// Takes back what was charged to a cause: nobody knows where its time went.
    pub(crate) fn refute(&mut self, cause: Cause) {
        let Some(time) = self.times.remove(&cause) else { return };
        *self.times.entry(Cause::Unknown).or_default() += time;
        for charge in &mut self.charges {
            if charge.cause == cause {
                charge.cause = Cause::Unknown;
            }
        }
        self.charges.dedup_by(|next, before| {
            let same = before.cause == next.cause;
            if same {
                before.extend(&next.interval);
            }
            same
        });
    }

    /// The causes with their times: the costliest of the costliest limit first, as what is named
    /// must be what cost most by all of its reasons; then the others, the costliest first.
    pub(crate) fn causes(&self) -> Vec<(Cause, Span)> {
        in_order(&self.times)
    }

    /// The causes that lead in the first and in the second half of the time that has one, as the
    /// verdict would name them; `None` where none has.
    pub(crate) fn leaders_of_halves(&self) -> Option<[Cause; 2]> {
        let mut halves = [BTreeMap::new(), BTreeMap::new()];
        let known = || self.charges.iter().filter(|charge| charge.cause != Cause::Unknown);
        let time: Span = known().map(|charge| charge.interval.charged).sum();
        let mut until_middle = time / 2;
        for Charge { cause, interval } in known() {
            let first = interval.charged.min(until_middle);
            until_middle -= first;
            for (half, time) in halves.iter_mut().zip([first, interval.charged - first]) {
                *half.entry(*cause).or_default() += time;
            }
        }
        let [first, second] = halves.map(|times| in_order(&times).first().map(|(cause, _)| *cause));
        Some([first?, second?])
    }

    /// The cause that the verdict names.
    pub(crate) fn cause(&self) -> Cause {
        self.causes().first().map_or(Cause::Unknown, |(cause, _)| *cause)
    }

    /// The time of a limit by all of its causes.
    pub(crate) fn time_of_limit(&self, limit: Limit) -> Span {
        time_of_limit(&self.times, limit)
    }
}

fn time_of_limit(times: &BTreeMap<Cause, Span>, limit: Limit) -> Span {
    let same = times.iter().filter(|(cause, _)| cause.limit() == limit);
    same.map(|(_, time)| *time).sum()
}

/// Sorts causes with their times: the costliest of the costliest limit first, then the others.
fn in_order(times: &BTreeMap<Cause, Span>) -> Vec<(Cause, Span)> {
    let mut causes: Vec<(Cause, Span)> =
        times.iter().map(|(cause, time)| (*cause, *time)).collect();
    // Of equals the limit whose cause is the costliest.
    causes.sort_by_key(|(_, time)| Reverse(*time));
    let limits = causes.iter().map(|(cause, _)| cause.limit());
    let first = limits.rev().max_by_key(|limit| time_of_limit(times, *limit));
    causes.sort_by_key(|(cause, time)| (Some(cause.limit()) != first, Reverse(*time)));
    let others = causes.len().min(1);
    causes[others..].sort_by_key(|(_, time)| Reverse(*time));
    causes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::fixture::{OrdinaryTransfer, STEP, TIME};

    #[test]
    fn each_half_of_the_time_has_its_leader() {
        let mut transfer = OrdinaryTransfer::new();
        assert_eq!(transfer.tally.leaders_of_halves(), None);
        let interval = *transfer.wait();
        let mut leaders = |times: &[(Cause, Span)]| {
            let charge =
                |&(cause, charged)| Charge { cause, interval: Interval { charged, ..interval } };
            transfer.tally.charges = times.iter().map(charge).collect();
            transfer.tally.leaders_of_halves().unwrap()
        };
        let (idle, steady) = (Cause::SenderIdle, Cause::Steady);
        assert_eq!(leaders(&[(steady, TIME)]), [steady, steady]);
        assert_eq!(leaders(&[(idle, TIME / 4), (steady, TIME)]), [steady, steady]);
        assert_eq!(leaders(&[(idle, TIME / 3 + STEP), (steady, TIME)]), [idle, steady]);
        assert_eq!(leaders(&[(steady, TIME), (idle, TIME)]), [steady, idle]);
        assert_eq!(leaders(&[(Cause::Unknown, TIME), (steady, STEP * 2)]), [steady, steady]);
    }
}
