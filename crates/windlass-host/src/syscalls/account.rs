//! From entries and exits to what each system call took, interval by interval. It is pure: the
//! moments come with what is told.
//!
//! A call that goes on at the end of an interval counts there with its time until then, and is
//! counted, with its error, where it returns.

use std::collections::{BTreeMap, HashMap, HashSet};

use windlass_base::Span;
use windlass_sys::ptrace::{Call, Did};

/// What came of one system call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallTotals {
    /// How often it returned.
    pub returned: u64,
    /// The errors among those, by their numbers.
    pub errors: BTreeMap<i32, u64>,
    /// The time that threads were in it.
    pub time: Span,
    /// The time that those took in all that returned, wherever it began.
    pub of_returned: Span,
    /// Threads that are in it still, or ended there.
    pub unfinished: u64,
}

/// What came of all of them in a time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// The time for which it was.
    pub lasted: Span,
    /// How often traced threads were stopped.
    pub stops: u64,
    /// Each call.
    pub calls: BTreeMap<Call, CallTotals>,
}

/// A thread that is in a call.
#[derive(Clone, Copy, Debug)]
struct Open {
    call: Call,
    began: Span,
    /// Until here its time is counted.
    counted: Span,
}

/// Takes what threads do as it comes.
#[derive(Clone, Debug, Default)]
pub struct Account {
    open: HashMap<u32, Open>,
    /// The interval that goes on.
    now: BTreeMap<Call, CallTotals>,
    /// Since when.
    since: Span,
    /// How many stops there had been then.
    stops_before: u64,
    /// All intervals before it.
    before: Tally,
    /// All processes and threads that were ever traced.
    processes: HashSet<u32>,
    threads: u64,
}

impl Account {
    /// One that begins at a moment.
    pub fn begin(at: Span) -> Self {
        Self { since: at, ..Self::default() }
    }

    /// A thread did something.
    pub fn take(&mut self, thread: u32, at: Span, did: Did) {
        match did {
            Did::Begin { is_process } => {
                self.threads += 1;
                if is_process {
                    self.processes.insert(thread);
                }
            }
            Did::Enter(call) => {
                self.open.insert(thread, Open { call, began: at, counted: at });
            }
            Did::Leave(error) => self.returned(thread, at, error),
            Did::Rename { former } => {
                self.ended(thread, at);
                let open = self.open.remove(&former);
                self.open.extend(open.map(|open| (thread, open)));
            }
            Did::End => self.ended(thread, at),
        }
    }

    fn returned(&mut self, thread: u32, at: Span, error: Option<i32>) {
        // Without one it was in the call before it was traced.
        let Some(open) = self.open.remove(&thread) else { return };
        let counted = self.now.entry(open.call).or_default();
        counted.returned += 1;
        counted.time += (at - open.counted).or_zero();
        counted.of_returned += at - open.began;
        if let Some(error) = error {
            *counted.errors.entry(error).or_default() += 1;
        }
    }

    /// A thread ended: what it was in never returned.
    fn ended(&mut self, thread: u32, at: Span) {
        let Some(open) = self.open.remove(&thread) else { return };
        let counted = self.now.entry(open.call).or_default();
        counted.time += (at - open.counted).or_zero();
        counted.unfinished += 1;
    }

    /// An interval ends; `stops` is how many there were so far. Another begins.
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
        // They go on, so they are of this interval and not of the sum.
        for open in self.open.values() {
            tally.calls.entry(open.call).or_default().unfinished += 1;
        }
        (self.since, self.stops_before) = (at, stops);
        tally
    }

    /// All that there was, to this moment, with what goes on still.
    pub fn total(&mut self, at: Span, stops: u64) -> Tally {
        self.close(at, stops);
        let mut total = self.before.clone();
        for open in self.open.values() {
            total.calls.entry(open.call).or_default().unfinished += 1;
        }
        total
    }

    /// How many processes and threads were traced.
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
