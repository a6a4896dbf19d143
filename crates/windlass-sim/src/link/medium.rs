//! A medium that both ways share: a half-duplex radio, or a cable of that kind.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use windlass_base::{Bytes, Span, Timestamp};

use super::line::Line;
use super::{LinkSettings, Queue};
use crate::written;

/// How two ends share a medium.
///
/// Only one sends at a time. Where both have something they take turns, a frame each: who
/// waits for a medium comes to it as likely as the other, however long its queue is.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all(deserialize = "kebab-case"))]
pub struct HalfDuplex {
    /// What comes before each frame: listening, preamble, and the wait for the frame's
    /// answer. A radio that allows for a distance of d waits 2 d / c longer: 6.67 µs a
    /// kilometre.
    #[serde(rename(serialize = "access_seconds"), deserialize_with = "written::read")]
    pub access: Span,
}

/// A frame that waits.
#[derive(Clone, Debug)]
struct Waiting<T> {
    item: T,
    bytes: u32,
    entered: Timestamp,
}

impl<T> Waiting<T> {
    const fn bare(&self) -> Waiting<()> {
        Waiting { item: (), bytes: self.bytes, entered: self.entered }
    }
}

/// A frame that has left the medium.
#[derive(Clone, Debug)]
pub(super) struct Sent<T> {
    pub(super) way: usize,
    pub(super) item: T,
    pub(super) bytes: u32,
    /// When it began to wait.
    pub(super) entered: Timestamp,
    /// When its last bit was sent.
    pub(super) done: Timestamp,
    /// How long the medium was taken.
    pub(super) took: Span,
}

/// What waits at one end.
#[derive(Clone, Debug)]
struct Side<T> {
    access: Span,
    line: Line,
    bound: Option<Bytes>,
    waiting: VecDeque<Waiting<T>>,
    bytes: u64,
    most: u64,
}

/// The medium, and what waits for it at both ends.
#[derive(Clone, Debug)]
pub(super) struct Medium<T> {
    sides: [Side<T>; 2],
    /// When it is free again.
    free: Timestamp,
    /// Who sent last.
    last: usize,
    /// The frame that is on it.
    sending: Option<Sent<T>>,
}

impl<T> Medium<T> {
    /// The medium of these two ways, where it is one.
    pub(super) fn of(settings: [LinkSettings; 2], seeds: [u64; 2]) -> Option<Self> {
        let [up, down] = settings.map(|way| way.half_duplex);
        // What one way says holds for both.
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

    /// Whether an end has room for a frame more. One that need not wait needs none.
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
        side.waiting.push_back(Waiting { item, bytes, entered: now });
    }

    /// The next frame that has left by `now`.
    pub(super) fn poll(&mut self, now: Timestamp) -> Option<Sent<T>> {
        self.begin(now);
        if self.sending.as_ref().is_none_or(|sent| sent.done > now) {
            return None;
        }
        let sent = self.sending.take();
        self.begin(now);
        sent
    }

    /// When a frame has left, or may begin.
    pub(super) fn next_time(&self) -> Option<Timestamp> {
        self.sending.as_ref().map(|sent| sent.done).or_else(|| self.start())
    }

    /// When the next frame begins.
    fn start(&self) -> Option<Timestamp> {
        let heads = self.sides.iter().filter_map(|side| side.waiting.front());
        let first = heads.map(|head| head.entered).min()?;
        Some(first.max(self.free))
    }

    /// Puts the next frame onto the medium, where it is free by `now`.
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
        let Some(Waiting { item, bytes, entered }) = side.waiting.pop_front() else { return };
        side.bytes -= u64::from(bytes);
        let work = side.line.enqueue(start + side.access, bytes);
        let done = work.map_or(start, |work| work.done);
        let took = done.since(start);
        self.sending = Some(Sent { way, item, bytes, entered, done, took });
        (self.last, self.free) = (way, done);
    }

    /// The most bytes that ever waited at an end.
    pub(super) const fn most_waiting(&self, way: usize) -> Bytes {
        Bytes::new(self.sides[way].most)
    }

    /// What waits at an end at this time. How long that takes depends on what waits at the
    /// other one: it is played to its end.
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

    /// The same without what frames carry.
    fn played(&self) -> Medium<()> {
        let side = |side: &Side<T>| Side {
            access: side.access,
            line: side.line.clone(),
            bound: side.bound,
            waiting: side.waiting.iter().map(Waiting::bare).collect(),
            bytes: side.bytes,
            most: side.most,
        };
        let [up, down] = &self.sides;
        let sending = self.sending.as_ref().map(|sent| Sent {
            way: sent.way,
            item: (),
            bytes: sent.bytes,
            entered: sent.entered,
            done: sent.done,
            took: sent.took,
        });
        Medium { sides: [side(up), side(down)], free: self.free, last: self.last, sending }
    }

    /// Frames that wait, or are on the medium.
    pub(super) fn under_way(&self) -> usize {
        let waiting: usize = self.sides.iter().map(|side| side.waiting.len()).sum();
        waiting + usize::from(self.sending.is_some())
    }
}
