//! System calls of an interval and of a run.

use serde::Serialize;
use windlass_base::figures::{Count, Share};
use windlass_base::{Sentence, Span, sentence};
use windlass_sys::ptrace::Cost;

use super::account::{CallTotals, Tally};
use super::names;

/// The system calls of all traced processes in a time.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Syscalls {
    /// Length of that time.
    pub seconds: Span,
    /// Number of returned calls.
    pub count: u64,
    /// Time of threads in calls, summed up.
    pub in_calls_seconds: Span,
    /// Number of stops of threads.
    pub stops: u64,
    /// Each call, the one with most time first.
    pub calls: Vec<Syscall>,
}

/// One system call.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Syscall {
    /// Its name.
    pub name: String,
    /// Number of returns.
    pub count: u64,
    /// Errors that it returned with, the most frequent first.
    pub errors: Vec<Errors>,
    /// Time of threads in it, from entry to exit by the clock; calls in progress count to the end.
    pub seconds: Span,
    /// That time as a share of the wall time: with several threads, it may exceed 1.
    pub wall_share: f64,
    /// Mean time of the returned calls; `None` without returns.
    pub mean_seconds: Option<Span>,
    /// Threads that were in it at the end, or ended there.
    pub unfinished: u64,
}

/// An error of a system call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Errors {
    /// Its name, as `ENOENT`.
    pub name: String,
    /// Number of times.
    pub count: u64,
}

/// The system calls of a run, and the cost of tracing them.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SyscallReport {
    /// The calls.
    #[serde(flatten)]
    pub all: Syscalls,
    /// Number of processes traced: those asked for, and their children.
    pub processes: u64,
    /// Number of threads, the first of each process included.
    pub threads: u64,
    /// Cost of tracing.
    pub cost: TracingCost,
}

/// Cost of tracing for the traced processes.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct TracingCost {
    /// Additional time of a call, measured before on this machine.
    pub call_seconds: Span,
    /// Part of that which is in the times of the calls.
    pub inside_seconds: Span,
    /// Additional time of all calls.
    pub seconds: Span,
    /// That as a share of the wall time: with several threads, it may exceed 1.
    pub wall_share: f64,
    /// The cost in a sentence.
    pub sentence: Sentence,
}

impl Syscalls {
    /// Returns the system calls of a tally.
    pub fn of(tally: &Tally) -> Self {
        let mut calls: Vec<Syscall> = tally
            .calls
            .iter()
            .map(|(call, counted)| Syscall::of(names::name(*call), counted, tally.lasted))
            .collect();
        // Equal calls are sorted by name.
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
    /// Returns the report on a run; `traced` are the numbers of processes and threads.
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
            "Tracing cost {call} per call, {} of the time watched, in {stops} stops. Of this, \
             {inside} are in the time of each call above.",
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
        // Two threads; the mean is over returned calls, without those in progress.
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
            "Tracing cost 5.2 µs per call, <1 % of the time watched, in 2,003 stops. Of this, \
             2.9 µs are in the time of each call above."
        );
    }
}
