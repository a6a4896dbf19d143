//! Work by several threads, told in its order.
//!
//! Each worker takes the next place and puts what it tells into a short queue of its own; the
//! caller's thread empties the queue of the one whose turn it is. So a worker that is ahead
//! waits, and memory does not grow with the number of places.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// What a worker may be ahead.
const QUEUE: usize = 16;

/// How often who waits looks whether to go on.
const POLL: Duration = Duration::from_millis(100);

/// What comes of a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told<P> {
    /// A piece of it.
    Piece(P),
    /// It is told to its end.
    End,
}

/// How the work ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Every place was told.
    Done,
    /// The stop was set; what was told of a place without its end is a part of it.
    Stopped,
}

/// What workers share.
struct Shared<'a, W> {
    count: usize,
    work: W,
    stop: &'a AtomicBool,
    /// The next place that nobody has taken.
    next: AtomicUsize,
    /// Who has taken each.
    owners: Mutex<Vec<Option<usize>>>,
    taken: Condvar,
    /// Whether nobody listens any more.
    is_over: AtomicBool,
}

impl<W> Shared<'_, W> {
    fn run<P>(&self, worker: usize, to: &SyncSender<Told<P>>)
    where
        W: Fn(usize, &mut dyn FnMut(P) -> bool) -> bool,
    {
        while !self.is_over.load(Ordering::Relaxed) {
            let place = self.next.fetch_add(1, Ordering::Relaxed);
            if place >= self.count {
                return;
            }
            self.owners.lock().unwrap_or_else(PoisonError::into_inner)[place] = Some(worker);
            self.taken.notify_all();
            let is_told = (self.work)(place, &mut |piece| to.send(Told::Piece(piece)).is_ok());
            if !is_told || to.send(Told::End).is_err() {
                return;
            }
        }
    }

    /// Who has this place; nothing where nobody takes it before the stop.
    fn owner(&self, place: usize, mut on_wait: impl FnMut()) -> Option<usize> {
        let mut owners = self.owners.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(owner) = owners[place] {
                return Some(owner);
            }
            if self.stop.load(Ordering::Relaxed) {
                return None;
            }
            on_wait();
            let waited = self.taken.wait_timeout(owners, POLL);
            owners = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// How many captures are explained at once: so many, or, where it is zero, one more than there are
/// processors. Each waits now and then for what reads ahead of it, or for its turn to tell.
pub fn workers(at_once: usize) -> usize {
    let processors = || thread::available_parallelism().map_or(1, usize::from);
    if at_once == 0 { processors() + 1 } else { at_once }
}

/// Does the work of places `0..count`, `at_once` at the same time, and hands what each tells to
/// `take` in the order of the places, on the caller's thread.
///
/// `work` tells the pieces of a place, and returns whether it came to its end: not so where `stop`
/// was set or nobody listens. `on_wait` is called before each place, and at least ten times a
/// second while nothing comes.
///
/// # Errors
/// That of `take`, behind which nothing is told.
pub fn in_order<P: Send, E>(
    count: usize,
    at_once: usize,
    stop: &AtomicBool,
    work: impl Fn(usize, &mut dyn FnMut(P) -> bool) -> bool + Sync,
    mut on_wait: impl FnMut(),
    mut take: impl FnMut(usize, Told<P>) -> Result<(), E>,
) -> Result<Outcome, E> {
    let workers = at_once.min(count).max(1);
    let shared = Shared {
        count,
        work,
        stop,
        next: AtomicUsize::new(0),
        owners: Mutex::new(vec![None; count]),
        taken: Condvar::new(),
        is_over: AtomicBool::new(false),
    };
    thread::scope(|scope| {
        let queues: Vec<Receiver<Told<P>>> = (0..workers)
            .map(|worker| {
                let (to, from) = sync_channel(QUEUE);
                let shared = &shared;
                scope.spawn(move || shared.run(worker, &to));
                from
            })
            .collect();
        let mut each = |place| -> Result<Outcome, E> {
            on_wait();
            let Some(owner) = shared.owner(place, &mut on_wait) else {
                return Ok(Outcome::Stopped);
            };
            loop {
                match queues[owner].recv_timeout(POLL) {
                    Ok(Told::End) => {
                        take(place, Told::End)?;
                        return Ok(Outcome::Done);
                    }
                    Ok(piece) => take(place, piece)?,
                    Err(RecvTimeoutError::Timeout) => on_wait(),
                    Err(RecvTimeoutError::Disconnected) => return Ok(Outcome::Stopped),
                }
            }
        };
        let mut outcome = Ok(Outcome::Done);
        for place in 0..count {
            outcome = each(place);
            if !matches!(outcome, Ok(Outcome::Done)) {
                break;
            }
        }
        // Whoever waits for room in a queue that is gone ends.
        shared.is_over.store(true, Ordering::Relaxed);
        drop(queues);
        outcome
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_told_in_their_order_whoever_is_first() {
        let stop = AtomicBool::new(false);
        let work = |place: usize, tell: &mut dyn FnMut(usize) -> bool| {
            // More than a queue holds, so that those behind have to wait.
            (0..3 * QUEUE).all(|piece| tell(place * 1_000 + piece))
        };
        let mut told = Vec::new();
        let mut ends = Vec::new();
        let outcome = in_order(
            40,
            4,
            &stop,
            work,
            || {},
            |place, what| {
                match what {
                    Told::Piece(piece) => told.push(piece),
                    Told::End => ends.push(place),
                }
                Ok::<(), ()>(())
            },
        );
        assert_eq!(outcome, Ok(Outcome::Done));
        assert!(told.is_sorted() && told.len() == 40 * 3 * QUEUE);
        assert_eq!(ends, (0..40).collect::<Vec<_>>());
    }

    #[test]
    fn a_stop_and_an_error_end_it() {
        let stop = AtomicBool::new(false);
        let work = |place: usize, tell: &mut dyn FnMut(usize) -> bool| {
            if place == 5 {
                stop.store(true, Ordering::Relaxed);
            }
            !stop.load(Ordering::Relaxed) && tell(place)
        };
        let outcome = in_order(100, 2, &stop, work, || {}, |_, _| Ok::<(), ()>(()));
        assert_eq!(outcome, Ok(Outcome::Stopped));
        let never = AtomicBool::new(false);
        let endless = |_: usize, tell: &mut dyn FnMut(u8) -> bool| {
            while tell(0) {}
            false
        };
        assert_eq!(in_order(3, 2, &never, endless, || {}, |place, _| Err(place)), Err(0));
        let none = |_: usize, _: &mut dyn FnMut(u8) -> bool| true;
        assert_eq!(in_order(0, 2, &never, none, || {}, |_, _| Err(())), Ok(Outcome::Done));
    }
}
