//! Brings documents to the disk behind those who write them, and out of memory.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use super::space::Extent;

/// Units that are brought to the disk at a time: 8 MiB.
const STEP: u64 = 2_048;
/// Units that the disk may have been told of and be busy with still: 64 MiB. When
/// more are, the first of them are waited for.
const BUSY: u64 = 16_384;
/// How many of the last parts another one is tried to be joined with: those of
/// clients that write side by side.
const NEAR: usize = 16;
/// Smaller parts are worth no calls of their own, and are left to the kernel: 256 KiB.
const MIN: u32 = 64;
/// The most parts that wait, where the disk stands still. What comes then is left to
/// the kernel, too.
const MAX: usize = 1 << 16;

/// What is done with a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pass {
    /// The disk is told of it.
    Begin,
    /// It is waited for, and leaves the memory.
    Forget,
}

/// Parts that were written and need not stay in memory. One thread works on them.
#[derive(Debug)]
pub(super) struct Behind {
    /// Units of a segment, which a part does not leave.
    segment: u32,
    waiting: Mutex<Waiting>,
    /// There is enough for a step, or it is over.
    more: Condvar,
}

#[derive(Debug, Default)]
struct Waiting {
    parts: VecDeque<Extent>,
    units: u64,
    works: bool,
    is_over: bool,
}

impl Behind {
    pub(super) fn new(segment: u32) -> Self {
        Self { segment, waiting: Mutex::default(), more: Condvar::new() }
    }

    /// Takes a part that was written. It lies in one segment.
    pub(super) fn add(&self, part: Extent) {
        let mut waiting = self.lock();
        // Where there is no thread for it, the kernel does it in its own time.
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

    /// Works until it is over, and has each part begun and later forgotten.
    pub(super) fn work(&self, mut pass: impl FnMut(Extent, Pass)) {
        {
            let mut waiting = self.lock();
            waiting.works = !waiting.is_over;
        }
        let (mut busy, mut units) = (VecDeque::new(), 0);
        while let Some(part) = self.next() {
            if part.count < MIN {
                continue;
            }
            pass(part, Pass::Begin);
            busy.push_back(part);
            units += u64::from(part.count);
            while units > BUSY
                && let Some(part) = busy.pop_front()
            {
                pass(part, Pass::Forget);
                units -= u64::from(part.count);
            }
        }
    }

    /// Ends the work. What waits stays in memory.
    pub(super) fn stop(&self) {
        let mut waiting = self.lock();
        (waiting.works, waiting.is_over) = (false, true);
        waiting.parts.clear();
        self.more.notify_one();
    }

    /// The first part, or a step of it, when there is enough to do; nothing when it
    /// is over.
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

    fn lock(&self) -> MutexGuard<'_, Waiting> {
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

    /// What is done where all of these parts were written.
    fn done(parts: &[(u32, u32)], steps: usize) -> Vec<(Extent, Pass)> {
        let behind = Arc::new(Behind::new(SEGMENT));
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
        assert!(behind.lock().parts.is_empty(), "it is over");
        done
    }

    #[test]
    fn parts_of_clients_side_by_side_are_joined_and_little_ones_left() {
        let parts = [(0, 64), (1_024, 64), (3_000, 63), (64, 900), (1_088, 900), (500, 63)];
        let begun = [part(0, 964), part(1_024, 964)].map(|part| (part, Pass::Begin));
        assert_eq!(done(&[&parts[..], &[(9_000, 2_048)]].concat(), 2), begun);
    }

    #[test]
    fn a_disk_that_stands_still_makes_no_endless_list() {
        let behind = Behind::new(SEGMENT);
        behind.lock().works = true;
        (0..MAX as u32 + 9).for_each(|number| behind.add(part(number * 3, 1)));
        let waiting = behind.lock();
        assert_eq!((waiting.parts.len(), waiting.units), (MAX, MAX as u64));
    }

    #[test]
    fn parts_stay_in_their_segments_and_are_forgotten_in_order() {
        let begun = |number: u32| (part(number * 2_048, 2_048), Pass::Begin);
        let mut steps: Vec<_> = (0..9).map(begun).collect();
        // The ninth is more than the disk is to be busy with.
        steps.push((part(0, 2_048), Pass::Forget));
        let all: Vec<_> = (0..9 * 4).map(|number| (number * 512, 512)).collect();
        assert_eq!(done(&all, 10), steps);
    }
}
