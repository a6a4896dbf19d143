//! Both directions between two ends: a link each, or two links behind one shared medium.

use windlass_base::Timestamp;

use super::line::Work;
use super::medium::Medium;
use super::{Delivery, Fate, Link, LinkCounters, LinkSettings, Queue};

/// The links of both directions between two ends, direction 0 and direction 1. If one of them is
/// half duplex, both share one medium.
#[derive(Clone, Debug)]
pub struct Channel<T> {
    links: [Link<T>; 2],
    medium: Option<Medium<Option<T>>>,
}

impl<T> Channel<T> {
    /// Returns an idle channel. Each direction has random numbers of its own.
    pub fn new(settings: [LinkSettings; 2], seeds: [u64; 2]) -> Self {
        let [up, down] = settings;
        Self {
            links: [Link::new(up, seeds[0]), Link::new(down, seeds[1])],
            medium: Medium::of(settings, seeds),
        }
    }

    /// Takes an item that occupies the line for `bytes`, as [`Link::handle`] does.
    pub fn handle(&mut self, way: usize, now: Timestamp, item: T, bytes: u32) -> Fate {
        let link = &mut self.links[way];
        let Some(medium) = &mut self.medium else { return link.handle(now, item, bytes) };
        if let Some(refused) = link.refuses(now, bytes) {
            return refused;
        }
        if !medium.has_room(way, now, bytes) {
            return link.dropped_by_queue();
        }
        // A lost frame takes its time on the medium all the same.
        let is_lost = link.loses();
        medium.enqueue(way, now, (!is_lost).then_some(item), bytes);
        link.waited(medium.most_waiting(way));
        if is_lost { Fate::Lost } else { Fate::Taken }
    }

    /// Returns the next item of a direction that has arrived by `now`.
    pub fn poll(&mut self, way: usize, now: Timestamp) -> Option<Delivery<T>> {
        self.send(now);
        self.links[way].poll(now)
    }

    /// Moves the frames that have left the medium into their links.
    fn send(&mut self, now: Timestamp) {
        let Some(medium) = &mut self.medium else { return };
        while let Some(sent) = medium.poll(now) {
            let link = &mut self.links[sent.way];
            link.was_busy(sent.took);
            if let Some(item) = sent.item {
                let work = Work { done: sent.done, took: sent.took };
                link.travels((sent.entered, work), item, sent.bytes);
            }
        }
    }

    /// Returns the time at which to poll a direction again; `None` if nothing is under way.
    pub fn next_time(&self, way: usize) -> Option<Timestamp> {
        let medium = self.medium.as_ref().and_then(Medium::next_time);
        self.links[way].next_time().into_iter().chain(medium).min()
    }

    /// Returns whether the directions share a medium, so that one changes the times of the other.
    pub const fn is_shared(&self) -> bool {
        self.medium.is_some()
    }

    /// Returns the counters of a direction.
    pub const fn counters(&self, way: usize) -> &LinkCounters {
        self.links[way].counters()
    }

    /// Returns the queue of a direction at this time: before its line, or before the shared medium.
    pub fn queue(&self, way: usize, now: Timestamp) -> Queue {
        match &self.medium {
            Some(medium) => medium.queue(way, now),
            None => self.links[way].queue(now),
        }
    }

    /// Returns the settings of a direction.
    pub const fn settings(&self, way: usize) -> &LinkSettings {
        self.links[way].settings()
    }

    /// Returns the number of items under way.
    pub fn under_way(&self) -> usize {
        let links: usize = self.links.iter().map(Link::under_way).sum();
        links + self.medium.as_ref().map_or(0, Medium::under_way)
    }
}

#[cfg(test)]
#[path = "channel_tests.rs"]
mod tests;
