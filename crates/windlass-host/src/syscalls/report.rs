//! What the calls of an interval, and of a run, came to.

use serde::Serialize;
use windlass_base::figures::{Count, Share};
use windlass_base::{Sentence, Span, sentence};
use windlass_sys::ptrace::Cost;

use super::account::{CallTotals, Tally};
use super::names;

/// The system calls of a time, of all processes that are traced.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Syscalls {
    /// The time for which it was.
    pub seconds: Span,
    /// How many calls returned.
    pub count: u64,
    /// The time for which threads were in calls, all together.
    pub in_calls_seconds: Span,
    /// How often threads were stopped for it.
    pub stops: u64,
    /// Each call, that with most time first.
    pub calls: Vec<Syscall>,
}

/// One system call.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Syscall {
    /// Its name.
    pub name: String,
    /// How often it returned.
    pub count: u64,
    /// The errors that it returned with, the most frequent first.
    pub errors: Vec<Errors>,
    /// The time for which threads were in it, from entry to exit by the clock; what goes on, to the
    /// end.
    pub seconds: Span,
    /// That as a share of the time: of several threads, more than 1.
    pub wall_share: f64,
    /// The mean of those that returned; nothing where none did.
    pub mean_seconds: Option<Span>,
    /// Threads that were in it at the end, or ended there.
    pub unfinished: u64,
}

/// An error of a system call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Errors {
    /// Its name, as `ENOENT`.
    pub name: String,
    /// How often.
    pub count: u64,
}

/// The system calls of a run, and what it cost to hear of them.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SyscallReport {
    /// The calls.
    #[serde(flatten)]
    pub all: Syscalls,
    /// How many processes were traced: those that were asked for, and what they started.
    pub processes: u64,
    /// How many threads, the first of each process among them.
    pub threads: u64,
    /// What it cost.
    pub cost: TracingCost,
}

/// What tracing costs those who are traced.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct TracingCost {
    /// By how much it makes a call slower, measured before on this machine.
    pub call_seconds: Span,
    /// The part of that which is in the times of the calls.
    pub inside_seconds: Span,
    /// All calls together.
    pub seconds: Span,
    /// That as a share of the time: of several threads, more than 1.
    pub wall_share: f64,
    /// All this in a sentence.
    pub sentence: Sentence,
}

impl Syscalls {
    /// What a tally comes to.
    pub fn of(tally: &Tally) -> Self {
        let mut calls: Vec<Syscall> = tally
            .calls
            .iter()
            .map(|(call, counted)| Syscall::of(names::name(*call), counted, tally.lasted))
            .collect();
        // Of equals the order is that of their names.
        calls.sort_by(|one, next| {
            next.seconds.cmp(&one.seconds).then_with(|| one.name.cmp(&next.name))
        });
        Self {
            seconds: tally.lasted,
            count: calls.iter().map(|call| call.count).sum(),
            in_calls_seconds: calls.iter().map(|call| call.seconds).sum(),
            stops: tally.stops,
            calls,
        }
    }
}

impl Syscall {
    fn of(name: String, counted: &CallTotals, lasted: Span) -> Self {
        let errors = counted.errors.iter();
        let mut errors: Vec<Errors> = errors
            .map(|(error, count)| Errors { name: names::error(*error), count: *count })
            .collect();
        errors.sort_by_key(|error| std::cmp::Reverse(error.count));
        let mean = (counted.returned > 0).then(|| counted.of_returned.part_of(counted.returned));
        Self {
            name,
            count: counted.returned,
            errors,
            seconds: counted.time,
            wall_share: share(counted.time, lasted),
            mean_seconds: mean,
            unfinished: counted.unfinished,
        }
    }
}

impl SyscallReport {
    /// What a run comes to; `traced` is how many processes and threads there were.
    pub fn of(tally: &Tally, traced: (u64, u64), cost: Cost) -> Self {
        let all = Syscalls::of(tally);
        let cost = TracingCost::of(cost, &all);
        Self { all, processes: traced.0, threads: traced.1, cost }
    }
}

impl TracingCost {
    fn of(cost: Cost, all: &Syscalls) -> Self {
        let (call, inside) = (Span::from_duration(cost.call), Span::from_duration(cost.inside));
        let seconds = call * i64::try_from(all.count).unwrap_or(i64::MAX);
        let wall_share = share(seconds, all.seconds);
        let stops = Count(all.stops);
        let sentence = sentence!(
            "Tracing cost {call} a call, {} of the time watched; there were {stops} stops. {inside} \
             of it are in the time of each call here, the rest lies around it.",
            Share(wall_share)
        );
        Self { call_seconds: call, inside_seconds: inside, seconds, wall_share, sentence }
    }
}

fn share(part: Span, whole: Span) -> f64 {
    if whole > Span::ZERO { part.as_seconds() / whole.as_seconds() } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use windlass_sys::ptrace::Call;

    use super::*;

    const fn call(number: u64) -> Call {
        Call { machine: 0xc000_003e, number }
    }

    fn tally() -> Tally {
        let access = CallTotals {
            returned: 1_000,
            errors: [(2, 990), (13, 10)].into(),
            time: Span::from_millis(20),
            of_returned: Span::from_millis(20),
            unfinished: 0,
        };
        let read = CallTotals {
            returned: 1,
            time: Span::from_millis(1_500),
            of_returned: Span::from_millis(300),
            unfinished: 1,
            ..CallTotals::default()
        };
        let waits =
            CallTotals { time: Span::from_millis(20), unfinished: 1, ..CallTotals::default() };
        let calls = [(call(21), access), (call(0), read), (call(61), waits)].into();
        Tally { lasted: Span::from_millis(1_000), stops: 2_003, calls }
    }

    #[test]
    fn calls_come_by_their_time_with_errors_by_name() {
        let calls = Syscalls::of(&tally());
        let names: Vec<&str> = calls.calls.iter().map(|call| call.name.as_str()).collect();
        assert_eq!(names, ["read", "access", "wait4"]);
        assert_eq!((calls.count, calls.in_calls_seconds), (1_001, Span::from_millis(1_540)));
        let [read, access, waits] = calls.calls.as_slice() else { panic!("{calls:?}") };
        let errors: Vec<(&str, u64)> =
            access.errors.iter().map(|error| (error.name.as_str(), error.count)).collect();
        assert_eq!(errors, [("ENOENT", 990), ("EACCES", 10)]);
        assert_eq!(access.mean_seconds, Some(Span::from_micros(20)));
        assert!((access.wall_share - 0.02).abs() < 1e-12);
        // Two threads; the mean is that of what returned, not of what goes on.
        assert_eq!((read.wall_share, read.mean_seconds), (1.5, Some(Span::from_millis(300))));
        assert_eq!((waits.mean_seconds, waits.unfinished), (None, 1));
    }

    #[test]
    fn its_own_cost_is_told() {
        let (call, inside) = (Duration::from_nanos(5_200), Duration::from_nanos(2_900));
        let report = SyscallReport::of(&tally(), (1, 2), Cost { call, inside });
        let cost = report.cost;
        assert_eq!(cost.seconds, Span::from_nanos(5_200 * 1_001));
        assert_eq!(
            cost.sentence.to_string(),
            "Tracing cost 5.2 µs a call, <1 % of the time watched; there were 2,003 stops. 2.9 µs \
             of it are in the time of each call here, the rest lies around it."
        );
    }
}
