//! Turns for work that takes processor time: a limited number at once, one for each host, in the
//! order of arrival.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Maximum wait for a turn.
const MAX_WAIT: Duration = Duration::from_secs(5);

/// Maximum number of waiting requests of one host. Those of another host wait for at most that
/// many.
const MAX_OF_HOST: usize = 16;

/// Turns in use, and the requests that wait for one.
#[derive(Debug)]
pub(super) struct Turns {
    state: Mutex<State>,
    given_back: Condvar,
}

#[derive(Debug)]
struct State {
    free: usize,
    next: u64,
    /// Hosts with a turn.
    working: Vec<String>,
    /// Waiting requests: number and host.
    waiting: VecDeque<(u64, String)>,
}

impl State {
    /// Returns whether the request with this number may have a turn.
    fn is_first(&self, number: u64) -> bool {
        let mut could = self.waiting.iter().filter(|(_, host)| !self.working.contains(host));
        self.free > 0 && could.next().is_some_and(|(first, _)| *first == number)
    }
}

/// Reasons for getting no turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoTurn {
    /// Too many requests of the same host wait.
    OfHost,
    /// No turn was free in time.
    OfAll,
}

/// A turn. Dropping it ends the turn.
#[derive(Debug)]
pub(super) struct Turn<'a> {
    of: &'a Turns,
    host: String,
}

impl Turns {
    /// Allows `free` turns at a time.
    pub(super) const fn new(free: usize) -> Self {
        let state = State { free, next: 0, working: Vec::new(), waiting: VecDeque::new() };
        Self { state: Mutex::new(state), given_back: Condvar::new() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a turn of a host.
    pub(super) fn take(&self, host: &str) -> Result<Turn<'_>, NoTurn> {
        let mut state = self.state();
        if state.waiting.iter().filter(|(_, other)| other == host).count() >= MAX_OF_HOST {
            return Err(NoTurn::OfHost);
        }
        let number = state.next;
        state.next += 1;
        state.waiting.push_back((number, host.to_owned()));
        let waited =
            self.given_back.wait_timeout_while(state, MAX_WAIT, |state| !state.is_first(number));
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        let has_come = state.is_first(number);
        state.waiting.retain(|(one, _)| *one != number);
        if has_come {
            state.free -= 1;
            state.working.push(host.to_owned());
        }
        // Another request may be the first now.
        self.given_back.notify_all();
        if has_come { Ok(Turn { of: self, host: host.to_owned() }) } else { Err(NoTurn::OfAll) }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut state = self.of.state();
        state.free += 1;
        if let Some(at) = state.working.iter().position(|host| *host == self.host) {
            state.working.swap_remove(at);
        }
        self.of.given_back.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn one_host_keeps_no_other_waiting() {
        let turns = Turns::new(2);
        let first = turns.take("a").unwrap();
        thread::scope(|scope| {
            let others: Vec<_> =
                (0..MAX_OF_HOST).map(|_| scope.spawn(|| turns.take("a").map(drop))).collect();
            while turns.state().waiting.len() < MAX_OF_HOST {
                thread::yield_now();
            }
            // They wait for their own host's turn; the second turn is for another host.
            drop(turns.take("b").unwrap());
            assert_eq!(turns.take("a").err(), Some(NoTurn::OfHost));
            drop(first);
            assert!(others.into_iter().all(|one| one.join().unwrap().is_ok()));
        });
        let state = turns.state();
        assert_eq!((state.free, state.working.len(), state.waiting.len()), (2, 0, 0));
    }

    #[test]
    fn of_one_turn_each_host_has_its_share() {
        let turns = Turns::new(1);
        let order = Mutex::new(Vec::new());
        let first = turns.take("a").unwrap();
        let (turns, order) = (&turns, &order);
        thread::scope(|scope| {
            for (waiting, host) in ["a", "a", "b", "a"].into_iter().enumerate() {
                scope.spawn(move || {
                    let turn = turns.take(host);
                    order.lock().unwrap().push(host);
                    drop(turn);
                });
                while turns.state().waiting.len() <= waiting {
                    thread::yield_now();
                }
            }
            drop(first);
        });
        assert_eq!(*order.lock().unwrap(), ["a", "a", "b", "a"], "who came first");
    }
}
