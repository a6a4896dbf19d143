//! Connection limits: in total and per host, and the choice of idle connections that make room.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Divisor of all connections for the maximum of one host. A print server in front of this one has
/// many, and leaves as many to others.
const PART_OF_HOST: usize = 2;

/// Divisor of all connections for those reserved for Unix sockets and administrators.
const PART_RESERVED: usize = 8;

/// Open connections.
#[derive(Debug, Default)]
pub(super) struct Budget {
    seats: Mutex<Seats>,
}

#[derive(Debug, Default)]
struct Seats {
    next: u64,
    taken: HashMap<u64, Occupant>,
    /// Number of connections of each host.
    hosts: HashMap<Arc<str>, usize>,
}

/// A connection with a seat.
#[derive(Debug)]
struct Occupant {
    host: Arc<str>,
    presence: Arc<Presence>,
}

/// State of a connection that others see.
#[derive(Debug, Default)]
pub(super) struct Presence {
    /// Time since when the connection is idle.
    idle_since: Mutex<Option<Instant>>,
    /// True if the connection must end: another has its seat already.
    leaves: AtomicBool,
}

impl Presence {
    /// Sets the time since when the connection is idle; `None` if it is not.
    pub(super) fn set_idle(&self, since: Option<Instant>) {
        *self.idle_since.lock().unwrap_or_else(PoisonError::into_inner) = since;
    }

    /// Returns whether the connection must end.
    pub(super) fn leaves(&self) -> bool {
        self.leaves.load(Ordering::Relaxed)
    }

    fn idle_since(&self) -> Option<Instant> {
        *self.idle_since.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Seat of a connection. Dropping it frees the seat.
#[derive(Debug)]
pub(super) struct Seat {
    of: Arc<Budget>,
    number: u64,
    pub(super) presence: Arc<Presence>,
    /// True if an idle connection ends for this one.
    pub(super) made_room: bool,
}

/// Reasons to refuse a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum NoSeat {
    /// The host has its maximum of connections.
    #[error("its host has {part} connections, the maximum of one host")]
    OfHost {
        /// Maximum number of connections of a host.
        part: usize,
    },
    /// All connections are in use.
    #[error(
        "all {most} connections are in use, except {reserved} reserved for Unix sockets and \
         administrators"
    )]
    OfAll {
        /// Maximum number of connections.
        most: usize,
        /// Number of reserved connections.
        reserved: usize,
    },
}

impl Budget {
    fn seats(&self) -> MutexGuard<'_, Seats> {
        self.seats.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the number of connections.
    pub(super) fn len(&self) -> usize {
        self.seats().taken.len()
    }

    /// Takes a seat for a connection of a host, with `most` seats in total. If there is no room,
    /// the connection that is idle for longest makes room. If the host has its maximum, one of its
    /// own connections must.
    pub(super) fn take(
        self: &Arc<Self>,
        host: &str,
        most: usize,
        is_reserved: impl FnOnce() -> bool,
    ) -> Result<Seat, NoSeat> {
        let mut seats = self.seats();
        let of_host = seats.hosts.get(host).copied().unwrap_or(0);
        let (part, reserved) = ((most / PART_OF_HOST).max(1), most / PART_RESERVED);
        let all = seats.taken.len();
        let made_room = if of_host >= part {
            seats.make_room(|of| *of.host == *host).ok_or(NoSeat::OfHost { part })?;
            true
        } else if all >= most || (all >= most - reserved && !is_reserved()) {
            seats.make_room(|_| true).ok_or(NoSeat::OfAll { most, reserved })?;
            true
        } else {
            false
        };
        let number = seats.next;
        seats.next += 1;
        let presence = Arc::new(Presence::default());
        let host: Arc<str> = Arc::from(host);
        *seats.hosts.entry(Arc::clone(&host)).or_default() += 1;
        seats.taken.insert(number, Occupant { host, presence: Arc::clone(&presence) });
        Ok(Seat { of: Arc::clone(self), number, presence, made_room })
    }
}

impl Seats {
    /// Ends the connection that is idle for longest among those that `may` allows.
    fn make_room(&mut self, may: impl Fn(&Occupant) -> bool) -> Option<()> {
        let idle = self.taken.iter().filter(|(_, one)| may(one));
        let idle = idle.filter_map(|(number, one)| Some((one.presence.idle_since()?, *number)));
        let (_, number) = idle.min()?;
        if let Some(left) = self.free(number) {
            left.presence.leaves.store(true, Ordering::Relaxed);
        }
        Some(())
    }

    fn free(&mut self, number: u64) -> Option<Occupant> {
        let taken = self.taken.remove(&number)?;
        if let Some(count) = self.hosts.get_mut(&taken.host) {
            *count -= 1;
            if *count == 0 {
                self.hosts.remove(&taken.host);
            }
        }
        Some(taken)
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        // A connection that made room has no seat any more.
        self.of.seats().free(self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn take(budget: &Arc<Budget>, host: &str) -> Option<Seat> {
        budget.take(host, 16, || host == "admin").ok()
    }

    #[test]
    fn no_host_takes_the_part_of_others() {
        let budget = Arc::new(Budget::default());
        let first: Vec<_> = (0..8).map_while(|_| take(&budget, "a")).collect();
        assert_eq!(first.len(), 8);
        assert!(take(&budget, "a").is_none(), "a half");
        let others: Vec<_> = (0..8).map_while(|_| take(&budget, "b")).collect();
        assert_eq!(others.len(), 6, "but what is reserved");
        assert!(take(&budget, "c").is_none());
        let reserved: Vec<_> = (0..8).map_while(|_| take(&budget, "admin")).collect();
        assert_eq!((reserved.len(), budget.len()), (2, 16));
        drop(first);
        assert!(take(&budget, "a").is_some());
        drop((others, reserved));
        assert_eq!(budget.len(), 0);
        assert!(budget.seats().hosts.is_empty());
    }

    #[test]
    fn who_is_idle_for_longest_makes_room() {
        let budget = Arc::new(Budget::default());
        let now = Instant::now();
        let seats: Vec<_> = (0..14).filter_map(|at| take(&budget, ["a", "b"][at % 2])).collect();
        assert_eq!(seats.len(), 14);
        assert!(take(&budget, "c").is_none(), "nobody is idle");
        seats[2].presence.set_idle(Some(now + Duration::from_secs(2)));
        seats[5].presence.set_idle(Some(now + Duration::from_secs(1)));
        let new = take(&budget, "c").expect("one makes room");
        let leave: Vec<_> = (0..14).filter(|at| seats[*at].presence.leaves()).collect();
        assert_eq!((leave, budget.len()), (vec![5], 14));
        // If a host has its maximum, its own connections make room.
        let own = take(&budget, "b").expect("there is room");
        drop((new, own));
        let full: Vec<_> = (0..2).filter_map(|_| take(&budget, "a")).collect();
        assert_eq!(full.len(), 2);
        seats[5].presence.set_idle(None);
        assert!(take(&budget, "a").is_none() || seats[2].presence.leaves());
        drop(full);
        drop(seats);
        assert_eq!(budget.len(), 0);
    }

    #[test]
    fn few_connections_are_for_each_host_one() {
        let budget = Arc::new(Budget::default());
        let _seat = budget.take("a", 1, || false).unwrap();
        let no = budget.take("b", 1, || true).unwrap_err();
        assert_eq!(no, NoSeat::OfAll { most: 1, reserved: 0 });
        assert_eq!(budget.take("a", 1, || true).unwrap_err(), NoSeat::OfHost { part: 1 });
    }
}
