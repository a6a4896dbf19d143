//! Sums of system calls by interval, from their entries and exits. The account is pure: the times
//! come with the events.
//!
//! A call that continues at the end of an interval counts there with its time until then. Its
//! number and its error count in the interval in which it returns.

use std::collections::{BTreeMap, HashMap, HashSet};

use windlass_base::Span;
use windlass_sys::ptrace::{Call, ThreadAction};

/// Totals of one system call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallTotals {
    /// Number of returns.
    pub returned: u64,
    /// Errors among those, by their numbers.
    pub errors: BTreeMap<i32, u64>,
    /// Time of threads in the call.
    pub time: Span,
    /// Time of the returned calls, from their beginning in any interval.
    pub of_returned: Span,
    /// Threads that are still in the call, or ended there.
    pub unfinished: u64,
}

/// Totals of all system calls in a time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Length of that time.
    pub lasted: Span,
    /// Number of stops of traced threads.
    pub stops: u64,
    /// Each call.
    pub calls: BTreeMap<Call, CallTotals>,
}

/// A call that a thread is in.
#[derive(Clone, Copy, Debug)]
struct CallInProgress {
    call: Call,
    began: Span,
    /// Time up to which it is counted.
    counted: Span,
}

/// Adds up the actions of threads.
#[derive(Clone, Debug, Default)]
pub struct Account {
    open: HashMap<u32, CallInProgress>,
    /// The current interval.
    now: BTreeMap<Call, CallTotals>,
    /// Its start.
    since: Span,
    /// Number of stops at its start.
    stops_before: u64,
    /// All intervals before it.
    before: Tally,
    /// All processes and threads that were ever traced.
    processes: HashSet<u32>,
    threads: u64,
}

impl Account {
    /// Begins an account at a time.
    pub fn begin(at: Span) -> Self {
        Self { since: at, ..Self::default() }
    }

    /// Adds an action of a thread.
    pub fn take(&mut self, thread: u32, at: Span, did: ThreadAction) {
        match did {
            ThreadAction::Begin { is_process } => {
                self.threads += 1;
                if is_process {
                    self.processes.insert(thread);
                }
            }
            ThreadAction::Enter(call) => {
                self.open.insert(thread, CallInProgress { call, began: at, counted: at });
            }
            ThreadAction::Leave(error) => self.returned(thread, at, error),
            ThreadAction::Rename { former } => {
                self.ended(thread, at);
                let open = self.open.remove(&former);
                self.open.extend(open.map(|open| (thread, open)));
            }
            ThreadAction::End => self.ended(thread, at),
        }
    }

    fn returned(&mut self, thread: u32, at: Span, error: Option<i32>) {
        // A return without an entry is of a call from before tracing.
        let Some(open) = self.open.remove(&thread) else { return };
        let counted = self.now.entry(open.call).or_default();
        counted.returned += 1;
        counted.time += (at - open.counted).or_zero();
        counted.of_returned += at - open.began;
        if let Some(error) = error {
            *counted.errors.entry(error).or_default() += 1;
        }
    }

    /// Ends a thread: its call never returned.
    fn ended(&mut self, thread: u32, at: Span) {
        let Some(open) = self.open.remove(&thread) else { return };
        let counted = self.now.entry(open.call).or_default();
        counted.time += (at - open.counted).or_zero();
        counted.unfinished += 1;
    }

    /// Ends an interval, and begins another; `stops` is the number of stops so far.
    pub fn close(&mut self, at: Span, stops: u64) -> Tally {
        for open in self.open.values_mut() {
            let counted = self.now.entry(open.call).or_default();
            counted.time += (at - open.counted).or_zero();
            open.counted = open.counted.max(at);
        }
        let mut tally = Tally {
            lasted: at - self.since,
            stops: stops - self.stops_before,
            calls: std::mem::take(&mut self.now),
        };
        self.before.add(&tally);
        // Calls in progress belong to this interval and not to the sum.
        for open in self.open.values() {
            tally.calls.entry(open.call).or_default().unfinished += 1;
        }
        (self.since, self.stops_before) = (at, stops);
        tally
    }

    /// Returns the totals up to this time, with calls in progress.
    pub fn total(&mut self, at: Span, stops: u64) -> Tally {
        self.close(at, stops);
        let mut total = self.before.clone();
        for open in self.open.values() {
            total.calls.entry(open.call).or_default().unfinished += 1;
        }
        total
    }

    /// Returns how many processes and threads were traced.
    pub fn traced(&self) -> (u64, u64) {
        (self.processes.len() as u64, self.threads)
    }
}

impl Tally {
    fn add(&mut self, next: &Self) {
        self.lasted += next.lasted;
        self.stops += next.stops;
        for (call, counted) in &next.calls {
            let sum = self.calls.entry(*call).or_default();
            sum.returned += counted.returned;
            sum.time += counted.time;
            sum.of_returned += counted.of_returned;
            sum.unfinished += counted.unfinished;
            for (error, times) in &counted.errors {
                *sum.errors.entry(*error).or_default() += times;
            }
        }
    }
}

#[cfg(test)]
#[path = "account_tests.rs"]
mod tests;
