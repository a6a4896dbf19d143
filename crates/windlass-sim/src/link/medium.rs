//! A medium that both directions share: a half-duplex radio, or a cable of that kind.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use windlass_base::{Bytes, Span, Timestamp};

use super::line::Line;
use super::{LinkSettings, Queue};
use crate::written;

/// Settings of a medium that two ends share.
///
/// Only one end sends at a time. If both have frames, they alternate frame by frame: each end gets
/// the medium with equal probability, however long its queue is.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all(deserialize = "kebab-case"))]
pub struct HalfDuplex {
    /// Overhead before each frame: listening, the preamble, and the wait for the frame's
    /// acknowledgment. A radio that allows for a distance of d waits 2 d / c longer: 6.67 µs a
    /// kilometre.
    #[serde(rename(serialize = "access_seconds"), deserialize_with = "written::read")]
    pub access: Span,
}

/// A frame in the queue of an end.
#[derive(Clone, Debug)]
struct QueuedFrame<T> {
    item: T,
    bytes: u32,
    entered: Timestamp,
}

impl<T> QueuedFrame<T> {
    const fn bare(&self) -> QueuedFrame<()> {
        QueuedFrame { item: (), bytes: self.bytes, entered: self.entered }
    }
}

/// A frame that has left the medium.
#[derive(Clone, Debug)]
pub(super) struct SentFrame<T> {
    pub(super) way: usize,
    pub(super) item: T,
    pub(super) bytes: u32,
    /// Time at which the frame was queued.
    pub(super) entered: Timestamp,
    /// Time at which its last bit was sent.
    pub(super) done: Timestamp,
    /// Time for which the frame occupied the medium.
    pub(super) took: Span,
}

/// One end of the medium, with its queue.
#[derive(Clone, Debug)]
struct Side<T> {
    access: Span,
    line: Line,
    bound: Option<Bytes>,
    waiting: VecDeque<QueuedFrame<T>>,
    bytes: u64,
    most: u64,
}

/// The medium, and the queues at both ends.
#[derive(Clone, Debug)]
pub(super) struct Medium<T> {
    sides: [Side<T>; 2],
    /// Time at which the medium is free again.
    free: Timestamp,
    /// The end that sent last.
    last: usize,
    /// The frame in transmission.
    sending: Option<SentFrame<T>>,
}

impl<T> Medium<T> {
    /// Returns the medium of two directions; `None` if neither is half duplex.
    pub(super) fn of(settings: [LinkSettings; 2], seeds: [u64; 2]) -> Option<Self> {
        let [up, down] = settings.map(|way| way.half_duplex);
        // The setting of one direction applies to both.
        let access = [up.or(down)?.access, down.or(up)?.access];
        let side = |way: usize| Side {
            access: access[way].or_zero(),
            line: Line::new(settings[way].rate, None).fading(settings[way].fading, seeds[way]),
            bound: settings[way].queue,
            waiting: VecDeque::new(),
            bytes: 0,
            most: 0,
        };
        let sides = [side(0), side(1)];
        let free = Timestamp::from_nanos(i64::MIN);
        Some(Self { sides, free, last: 1, sending: None })
    }

    /// Returns whether an end has room for another frame. A frame that need not wait needs no room.
    pub(super) fn has_room(&self, way: usize, now: Timestamp, bytes: u32) -> bool {
        let waiting = self.sides[way].bytes + u64::from(bytes);
        self.is_idle(now) || self.sides[way].bound.is_none_or(|bound| waiting <= bound.get())
    }

    fn is_idle(&self, now: Timestamp) -> bool {
        self.sending.is_none()
            && self.free <= now
            && self.sides.iter().all(|side| side.waiting.is_empty())
    }

    /// Takes a frame.
    pub(super) fn enqueue(&mut self, way: usize, now: Timestamp, item: T, bytes: u32) {
        let is_idle = self.is_idle(now);
        let side = &mut self.sides[way];
        side.bytes += u64::from(bytes);
        if !is_idle {
            side.most = side.most.max(side.bytes);
        }
        side.waiting.push_back(QueuedFrame { item, bytes, entered: now });
    }

    /// Returns the next frame that has left by `now`.
    pub(super) fn poll(&mut self, now: Timestamp) -> Option<SentFrame<T>> {
        self.begin(now);
        if self.sending.as_ref().is_none_or(|sent| sent.done > now) {
            return None;
        }
        let sent = self.sending.take();
        self.begin(now);
        sent
    }

    /// Returns the time at which a frame has left, or may begin.
    pub(super) fn next_time(&self) -> Option<Timestamp> {
        self.sending.as_ref().map(|sent| sent.done).or_else(|| self.start())
    }

    /// Returns the time at which the next frame begins.
    fn start(&self) -> Option<Timestamp> {
        let heads = self.sides.iter().filter_map(|side| side.waiting.front());
        let first = heads.map(|head| head.entered).min()?;
        Some(first.max(self.free))
    }

    /// Puts the next frame onto the medium if the medium is free by `now`.
    fn begin(&mut self, now: Timestamp) {
        let Some(start) = self.start().filter(|start| self.sending.is_none() && *start <= now)
        else {
            return;
        };
        let is_there =
            |way: usize| self.sides[way].waiting.front().is_some_and(|head| head.entered <= start);
        let other = 1 - self.last;
        let way = if is_there(other) { other } else { self.last };
        let side = &mut self.sides[way];
        let Some(QueuedFrame { item, bytes, entered }) = side.waiting.pop_front() else { return };
        side.bytes -= u64::from(bytes);
        let work = side.line.enqueue(start + side.access, bytes);
        let done = work.map_or(start, |work| work.done);
        let took = done.since(start);
        self.sending = Some(SentFrame { way, item, bytes, entered, done, took });
        (self.last, self.free) = (way, done);
    }

    /// Returns the largest queue of an end so far, in bytes.
    pub(super) const fn most_waiting(&self, way: usize) -> Bytes {
        Bytes::new(self.sides[way].most)
    }

    /// Returns the queue of an end at this time. Its waiting time depends on the queue of the other
    /// end: a copy of the medium is run until the queue is empty.
    pub(super) fn queue(&self, way: usize, now: Timestamp) -> Queue {
        let mut played = self.played();
        while played.poll(now).is_some() {}
        let bytes = Bytes::new(played.sides[way].bytes);
        let mut end = played.sending.as_ref().map_or(now, |sending| sending.done);
        while !played.sides[way].waiting.is_empty() {
            let Some(next) = played.next_time() else { break };
            while let Some(sent) = played.poll(next) {
                end = sent.done;
            }
            end = played.sending.as_ref().map_or(end, |sending| sending.done);
        }
        Queue { bytes, wait: end.max(now).since(now) }
    }

    /// Returns a copy of the medium without the frames' contents.
    fn played(&self) -> Medium<()> {
        let side = |side: &Side<T>| Side {
            access: side.access,
            line: side.line.clone(),
            bound: side.bound,
            waiting: side.waiting.iter().map(QueuedFrame::bare).collect(),
            bytes: side.bytes,
            most: side.most,
        };
        let [up, down] = &self.sides;
        let sending = self.sending.as_ref().map(|sent| SentFrame {
            way: sent.way,
            item: (),
            bytes: sent.bytes,
            entered: sent.entered,
            done: sent.done,
            took: sent.took,
        });
        Medium { sides: [side(up), side(down)], free: self.free, last: self.last, sending }
    }

    /// Returns the number of frames that wait or are on the medium.
    pub(super) fn under_way(&self) -> usize {
        let waiting: usize = self.sides.iter().map(|side| side.waiting.len()).sum();
        waiting + usize::from(self.sending.is_some())
    }
}
