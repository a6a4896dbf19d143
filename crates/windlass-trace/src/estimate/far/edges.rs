//! Bursts that end at an advertised right edge.
//!
//! A sender that fills its receiver's window stops at the window's right edge. So the last byte
//! before its wait is the one that an ACK advertised as the edge, wherever the capture was taken.
//! A sender that stops for another reason stops there by chance, as often as any segment ends
//! there. That no burst ends at an edge proves nothing: many senders leave a window open by less
//! than a segment.

use std::collections::VecDeque;

use windlass_base::thresholds::{A_QUARTER, ENOUGH, LARGE_PART, SEVERAL_ROUNDS};
use windlass_base::{Span, Timestamp};
use windlass_macros::Packed;

use super::Arrival;

/// Maximum number of edges that are kept until data reaches them. Of a larger window only the next
/// edges are known: a sample.
const MAX: usize = 64;

/// The edges that a receiver advertised, and the data that ends at them.
#[derive(Clone, Debug, Default, Packed)]
pub(super) struct Edges {
    /// Edges that data has not reached, with the times of their advertisement.
    ahead: VecDeque<(Timestamp, u64)>,
    /// Furthest edge.
    last: u64,
    /// True if edges behind those are not kept.
    truncated: bool,
    /// Age of the edge at which the last segment ended.
    at_edge: Option<Option<Span>>,
    /// Segments of which this is known, and those that ended at an edge.
    segments: u32,
    hits: u32,
    /// Waits behind such segments.
    waits: u32,
    waited: Span,
    waits_at_edge: u32,
    waited_at_edge: Span,
    age: Span,
    least_age: Option<Span>,
}

impl Edges {
    /// Records the edge of an ACK.
    pub(super) fn advertised(&mut self, time: Timestamp, edge: u64) {
        if edge <= self.last {
            return;
        }
        self.last = edge;
        if self.ahead.len() < MAX && !self.truncated {
            self.ahead.push_back((time, edge));
        } else {
            self.truncated = true;
        }
    }

    /// Records the end of a segment.
    pub(super) fn arrived(&mut self, arrival: &Arrival) {
        while self.ahead.front().is_some_and(|(_, edge)| *edge < arrival.end) {
            self.ahead.pop_front();
        }
        let Some((time, edge)) = self.ahead.front() else {
            self.truncated = false;
            self.at_edge = None;
            return;
        };
        let age = (*edge == arrival.end).then(|| arrival.time.since(*time));
        self.at_edge = Some(age);
        self.segments = self.segments.saturating_add(1);
        self.hits = self.hits.saturating_add(u32::from(age.is_some()));
    }

    /// Records a wait behind the last segment.
    pub(super) fn waited(&mut self, wait: Span) {
        let Some(age) = self.at_edge else { return };
        self.waits = self.waits.saturating_add(1);
        self.waited += wait;
        if let Some(age) = age {
            self.waits_at_edge = self.waits_at_edge.saturating_add(1);
            self.waited_at_edge += wait;
            self.age += age;
            self.least_age = Some(self.least_age.map_or(age, |least| least.min(age)));
        }
    }

    /// Returns whether the last segment ended at an edge.
    pub(super) fn is_at_edge(&self) -> bool {
        self.at_edge.flatten().is_some()
    }

    /// Returns the least time from an edge's ACK to the data that ends there.
    pub(super) const fn least_age(&self) -> Option<Span> {
        self.least_age
    }

    pub(super) fn shrink(&mut self, most: usize) {
        if self.ahead.len() > most {
            self.ahead.truncate(most);
            self.truncated = true;
        }
    }

    /// Returns the share of waits behind a segment that ends at an edge, less that of segments
    /// elsewhere.
    pub(super) fn share(&self) -> f64 {
        let hits = self.hits.saturating_sub(self.waits_at_edge);
        let elsewhere =
            f64::from(hits) / f64::from(self.segments.saturating_sub(self.waits).max(1));
        self.at_waits() - elsewhere
    }

    /// Returns the share of waits behind a segment that ends at an edge.
    fn at_waits(&self) -> f64 {
        f64::from(self.waits_at_edge) / f64::from(self.waits.max(1))
    }

    /// Returns whether the window holds the transfer, whose path's round trip is `rtt`.
    pub(super) fn hold(&self, rtt: Option<Span>) -> bool {
        let age = self.age / i64::from(self.waits_at_edge.max(1));
        self.waits >= ENOUGH.to::<u32>()
            && self.at_waits() >= LARGE_PART.get()
            && self.waited_at_edge.share_of(self.waited) >= LARGE_PART.get()
            && self.share() >= A_QUARTER.get()
            && rtt.is_none_or(|rtt| age <= rtt * SEVERAL_ROUNDS.get())
    }
}
