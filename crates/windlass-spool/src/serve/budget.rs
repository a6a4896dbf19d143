//! Room for connections: how many there may be, how many of one host, and which end first where
//! others want theirs.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// One host has so large a part of all connections at the most: a print server in front of this
/// one has many, and leaves as many to others.
const PART_OF_HOST: usize = 2;

/// So large a part is for Unix sockets and administrators alone.
const PART_RESERVED: usize = 8;

/// The connections that there are.
#[derive(Debug, Default)]
pub(super) struct Budget {
    seats: Mutex<Seats>,
}

#[derive(Debug, Default)]
struct Seats {
    next: u64,
    taken: HashMap<u64, Occupant>,
    /// The number of these of each host.
    hosts: HashMap<Arc<str>, usize>,
}

/// A connection that has a seat.
#[derive(Debug)]
struct Occupant {
    host: Arc<str>,
    presence: Arc<Presence>,
}

/// The presence of a connection, as others see it.
#[derive(Debug, Default)]
pub(super) struct Presence {
    /// Since when nothing comes that anybody waits for.
    idle_since: Mutex<Option<Instant>>,
    /// It is to end: others have its place already.
    leaves: AtomicBool,
}

impl Presence {
    /// Notes that it is idle since then, or is not.
    pub(super) fn set_idle(&self, since: Option<Instant>) {
        *self.idle_since.lock().unwrap_or_else(PoisonError::into_inner) = since;
    }

    /// Returns whether it is to end.
    pub(super) fn leaves(&self) -> bool {
        self.leaves.load(Ordering::Relaxed)
    }

    fn idle_since(&self) -> Option<Instant> {
        *self.idle_since.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The place of a connection. It is free when this goes.
#[derive(Debug)]
pub(super) struct Seat {
    of: Arc<Budget>,
    number: u64,
    pub(super) presence: Arc<Presence>,
    /// Another, that was idle, ends for it.
    pub(super) made_room: bool,
}

/// A reason for no place for a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum NoSeat {
    /// Its host has its part.
    #[error("its host has {part} connections, as many as one host may have")]
    OfHost {
        /// The number of those.
        part: usize,
    },
    /// All are taken.
    #[error(
        "all {most} connections are taken, but for {reserved} that are for Unix sockets and \
         administrators"
    )]
    OfAll {
        /// The number of all.
        most: usize,
        /// The number of those that are kept.
        reserved: usize,
    },
}

impl Budget {
    fn seats(&self) -> MutexGuard<'_, Seats> {
        self.seats.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns how many there are.
    pub(super) fn len(&self) -> usize {
        self.seats().taken.len()
    }

    /// Takes the place of a connection of a host, of so many at the most. Where there is no room,
    /// the one that is idle for longest makes it: for its own host where that has its part, for
    /// any otherwise.
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
    /// Has the connection leave that is idle for longest of those that may.
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
        // One that made room has none any more.
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
        // Where a host has its part its own make room.
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
