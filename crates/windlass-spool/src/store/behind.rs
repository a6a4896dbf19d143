//! Write-behind of documents: a thread writes them to the disk and drops them from memory.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use super::space::Extent;

/// Number of units that are written at a time: 8 MiB.
const STEP: u64 = 2_048;
/// Maximum number of units whose writing was started but not awaited: 64 MiB. Beyond that, the
/// first of them are awaited.
const BUSY: u64 = 16_384;
/// Number of recent parts that a new part may be merged with: those of clients that write side by
/// side.
const NEAR: usize = 16;
/// Minimum size of a part in units: 256 KiB. Smaller parts are left to the kernel.
const MIN: u32 = 64;
/// Maximum number of waiting parts, if the disk stalls. Later parts are left to the kernel, too.
const MAX: usize = 1 << 16;

/// Operation on a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WriteStep {
    /// Starts writing the part.
    Begin,
    /// Waits for the part's writing, and drops it from memory.
    Forget,
}

/// Written parts that need not stay in memory. One thread processes them.
#[derive(Debug)]
pub(super) struct WriteBehind {
    /// Size of a segment in units. A part lies in one segment.
    segment: u32,
    waiting: Mutex<WriteQueue>,
    /// Notified when there is enough for a step, and at the end.
    more: Condvar,
}

#[derive(Debug, Default)]
struct WriteQueue {
    parts: VecDeque<Extent>,
    units: u64,
    works: bool,
    is_over: bool,
}

impl WriteBehind {
    pub(super) fn new(segment: u32) -> Self {
        Self { segment, waiting: Mutex::default(), more: Condvar::new() }
    }

    /// Adds a part that was written. The part lies in one segment.
    pub(super) fn add(&self, part: Extent) {
        let mut waiting = self.lock();
        // Without a thread, the kernel does it in its own time.
        if !waiting.works || part.count == 0 {
            return;
        }
        let begins = part.start.is_multiple_of(self.segment);
        let has_room = waiting.parts.len() < MAX;
        let before =
            waiting.parts.iter_mut().rev().take(NEAR).find(|last| last.end() == part.start);
        match before.filter(|_| !begins) {
            Some(before) => before.count += part.count,
            None if has_room => waiting.parts.push_back(part),
            None => return,
        }
        waiting.units += u64::from(part.count);
        if waiting.units >= STEP {
            self.more.notify_one();
        }
    }

    /// Processes parts until the end: each part is started, and later forgotten.
    pub(super) fn work(&self, mut pass: impl FnMut(Extent, WriteStep)) {
        {
            let mut waiting = self.lock();
            waiting.works = !waiting.is_over;
        }
        let (mut busy, mut units) = (VecDeque::new(), 0);
        while let Some(part) = self.next() {
            if part.count < MIN {
                continue;
            }
            pass(part, WriteStep::Begin);
            busy.push_back(part);
            units += u64::from(part.count);
            while units > BUSY
                && let Some(part) = busy.pop_front()
            {
                pass(part, WriteStep::Forget);
                units -= u64::from(part.count);
            }
        }
    }

    /// Ends the work. Waiting parts stay in memory.
    pub(super) fn stop(&self) {
        let mut waiting = self.lock();
        (waiting.works, waiting.is_over) = (false, true);
        waiting.parts.clear();
        self.more.notify_one();
    }

    /// Returns the first part, or one step of it, once there is enough to do; `None` at the end.
    fn next(&self) -> Option<Extent> {
        let mut waiting = self.lock();
        while waiting.units < STEP && !waiting.is_over {
            waiting = self.more.wait(waiting).unwrap_or_else(PoisonError::into_inner);
        }
        let first = waiting.parts.front_mut()?;
        let count = first.count.min(STEP as u32);
        let part = Extent { start: first.start, count };
        (first.start, first.count) = (first.start + count, first.count - count);
        if first.count == 0 {
            waiting.parts.pop_front();
        }
        waiting.units -= u64::from(count);
        Some(part)
    }

    fn lock(&self) -> MutexGuard<'_, WriteQueue> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::mpsc::channel;
    use std::thread;

    use super::*;

    const SEGMENT: u32 = 4_096;

    fn part(start: u32, count: u32) -> Extent {
        Extent { start, count }
    }

    /// Returns the operations for these written parts.
    fn done(parts: &[(u32, u32)], steps: usize) -> Vec<(Extent, WriteStep)> {
        let behind = Arc::new(WriteBehind::new(SEGMENT));
        behind.add(part(0, 5_000));
        assert!(behind.lock().parts.is_empty(), "nobody would take it");
        let (say, hear) = channel();
        let worker = {
            let behind = Arc::clone(&behind);
            thread::spawn(move || behind.work(|part, pass| say.send((part, pass)).unwrap()))
        };
        while !behind.lock().works {
            thread::yield_now();
        }
        parts.iter().for_each(|(start, count)| behind.add(part(*start, *count)));
        let done = (0..steps).map(|_| hear.recv().unwrap()).collect();
        behind.stop();
        worker.join().unwrap();
        behind.add(part(0, 5_000));
        assert!(behind.lock().parts.is_empty(), "it is already finished");
        done
    }

    #[test]
    fn parts_of_clients_side_by_side_are_joined_and_little_ones_left() {
        let parts = [(0, 64), (1_024, 64), (3_000, 63), (64, 900), (1_088, 900), (500, 63)];
        let begun = [part(0, 964), part(1_024, 964)].map(|part| (part, WriteStep::Begin));
        assert_eq!(done(&[&parts[..], &[(9_000, 2_048)]].concat(), 2), begun);
    }

    #[test]
    fn a_disk_that_stands_still_makes_no_endless_list() {
        let behind = WriteBehind::new(SEGMENT);
        behind.lock().works = true;
        (0..MAX as u32 + 9).for_each(|number| behind.add(part(number * 3, 1)));
        let waiting = behind.lock();
        assert_eq!((waiting.parts.len(), waiting.units), (MAX, MAX as u64));
    }

    #[test]
    fn parts_stay_in_their_segments_and_are_forgotten_in_order() {
        let begun = |number: u32| (part(number * 2_048, 2_048), WriteStep::Begin);
        let mut steps: Vec<_> = (0..9).map(begun).collect();
        // The ninth part exceeds the limit of started parts.
        steps.push((part(0, 2_048), WriteStep::Forget));
        let all: Vec<_> = (0..9 * 4).map(|number| (number * 512, 512)).collect();
        assert_eq!(done(&all, 10), steps);
    }
}
