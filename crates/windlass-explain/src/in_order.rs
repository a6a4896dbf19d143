//! Work by several threads, with results in the order of the items.
//!
//! Each worker takes the next item and puts the results into a short queue of its own. The caller's
//! thread empties the queue of the worker whose item comes next. A worker that is ahead waits, so
//! memory does not grow with the number of items.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// Capacity of a worker's queue.
const QUEUE: usize = 16;

/// Check interval of a waiting thread.
const POLL: Duration = Duration::from_millis(100);

/// Message of a worker about an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ItemOutput<P> {
    /// A piece of the item's results.
    Piece(P),
    /// End of the item's results.
    End,
}

/// End of the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All items are complete.
    Done,
    /// The stop was set; the results of an item without its end are incomplete.
    Stopped,
}

/// Shared state of workers.
struct SharedState<'a, W> {
    count: usize,
    work: W,
    stop: &'a AtomicBool,
    /// Index of the next free item.
    next: AtomicUsize,
    /// The worker of each item.
    owners: Mutex<Vec<Option<usize>>>,
    taken: Condvar,
    /// True if the receiver is gone.
    is_over: AtomicBool,
}

impl<W> SharedState<'_, W> {
    fn run<P>(&self, worker: usize, to: &SyncSender<ItemOutput<P>>)
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
            let is_told =
                (self.work)(place, &mut |piece| to.send(ItemOutput::Piece(piece)).is_ok());
            if !is_told || to.send(ItemOutput::End).is_err() {
                return;
            }
        }
    }

    /// Returns the worker of this item; `None` if the stop comes first.
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

/// Returns the number of captures explained at once: `at_once`, or the number of processors plus
/// one if it is zero. A worker sometimes waits for its reader or for its turn.
pub fn workers(at_once: usize) -> usize {
    let processors = || thread::available_parallelism().map_or(1, usize::from);
    if at_once == 0 { processors() + 1 } else { at_once }
}

/// Processes the items `0..count`, `at_once` at the same time. Passes the results to `take` in the
/// order of the items, on the caller's thread.
///
/// `work` passes on the pieces of an item. It returns `false` if the item is incomplete, because
/// `stop` was set or the receiver is gone. `on_wait` is called before each item, and at least ten
/// times a second during a pause.
///
/// # Errors
/// Returns the error of `take`, after which no result is passed on.
pub fn in_order<P: Send, E>(
    count: usize,
    at_once: usize,
    stop: &AtomicBool,
    work: impl Fn(usize, &mut dyn FnMut(P) -> bool) -> bool + Sync,
    mut on_wait: impl FnMut(),
    mut take: impl FnMut(usize, ItemOutput<P>) -> Result<(), E>,
) -> Result<Outcome, E> {
    let workers = at_once.min(count).max(1);
    let shared = SharedState {
        count,
        work,
        stop,
        next: AtomicUsize::new(0),
        owners: Mutex::new(vec![None; count]),
        taken: Condvar::new(),
        is_over: AtomicBool::new(false),
    };
    thread::scope(|scope| {
        let queues: Vec<Receiver<ItemOutput<P>>> = (0..workers)
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
                    Ok(ItemOutput::End) => {
                        take(place, ItemOutput::End)?;
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
        // Release workers that wait for room in their queues.
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
            // These pieces exceed the queue, so the workers behind must wait.
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
                    ItemOutput::Piece(piece) => told.push(piece),
                    ItemOutput::End => ends.push(place),
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
