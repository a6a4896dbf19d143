//! A test that runs: what both ends have of it.

use std::time::{Duration, Instant};

use windlass_base::{Bytes, Span};
use windlass_wire::iperf3::Results;

use super::convert::{heard, told};
use super::link::Link;
use crate::driven::Driven;
use crate::error::Error;
use crate::report::{DirectionReport, FlowReport, Interval, SideReport};
use crate::transfer::{End, Role, Transfer};

/// The streams of a test and its control connection, and what was measured.
pub(super) struct Running<'a> {
    pub(super) transfer: &'a Transfer,
    pub(super) link: Link,
    pub(super) side: Box<dyn Driven>,
    /// The bytes that have moved, and when they last did.
    pub(super) moved: (Bytes, Instant),
    /// What the streams came to, once that is told.
    pub(super) near: Option<SideReport>,
    pub(super) far: Option<Results>,
}

impl<'a> Running<'a> {
    pub(super) fn new(transfer: &'a Transfer, link: Link, side: Box<dyn Driven>) -> Self {
        let moved = (Bytes::ZERO, Instant::now());
        Self { transfer, link, side, moved, near: None, far: None }
    }

    /// Looks at the streams.
    pub(super) fn tick(&mut self, tell: &mut dyn FnMut(&Interval)) {
        if self.near.is_some() {
            return;
        }
        self.side.tick().iter().for_each(tell);
        let moved = self.side.moved();
        if moved != self.moved.0 {
            self.moved = (moved, Instant::now());
        }
    }

    /// The time to look again: after so long at the latest.
    pub(super) fn next_time(&self, latest: Duration) -> Instant {
        let latest = Instant::now() + latest;
        if self.near.is_some() { latest } else { self.side.next_time().min(latest) }
    }

    /// Returns whether all bytes count, from the first to the last. Otherwise each end
    /// begins to count anew at a moment of its own.
    pub(super) fn counts_all(&self) -> bool {
        self.transfer.omit == Span::ZERO
    }

    /// Makes the report of streams that have ended, and gives it in iperf3's words:
    /// `seconds` is the time of a direction that counts for the other end. What was received
    /// took `least` at the least. Nothing where that was done.
    pub(super) fn results(
        &mut self,
        least: Span,
        seconds: impl Fn(&DirectionReport) -> Span,
    ) -> Option<Results> {
        if self.near.is_some() {
            return None;
        }
        let totals: Vec<_> = self.side.each().filter(|_| self.counts_all()).collect();
        let mut report = self.side.finish();
        for direction in report.directions.iter_mut().filter(|one| one.role == Role::Receiver) {
            direction.last(least);
        }
        let results = told(&report, seconds, |number, role| {
            totals.iter().find(|one| (one.0, one.1) == (number, role)).map(|one| one.2)
        });
        self.near = Some(report);
        Some(results)
    }

    /// What this end measured, what `far` did, and what went wrong: results that are
    /// none, too.
    pub(super) fn end(
        mut self,
        far: End,
        failure: Option<Error>,
    ) -> (SideReport, Option<SideReport>, Option<Error>) {
        let mut near = self.near.unwrap_or_else(|| self.side.finish());
        match self.far.map(|results| heard(&results, far, self.transfer)).transpose() {
            Ok(mut far) => {
                if let Some(far) = far.as_mut().filter(|_| self.transfer.udp) {
                    learn(&mut near, far);
                    learn(far, &near);
                }
                (near, far, failure)
            }
            Err(error) => (near, None, failure.or(Some(error))),
        }
    }
}

/// Tells what one end received how many the other one sent, and where from.
fn learn(to: &mut SideReport, from: &SideReport) {
    let flows: Vec<FlowReport> = from
        .directions
        .iter()
        .flat_map(|one| &one.datagrams)
        .flat_map(|one| one.flows.clone())
        .collect();
    for direction in &mut to.directions {
        let is_receiver = direction.role == Role::Receiver;
        let Some(datagrams) = &mut direction.datagrams else { continue };
        for flow in &mut datagrams.flows {
            let Some(other) = flows.iter().find(|other| other.stream == flow.stream) else {
                continue;
            };
            if flow.local.is_empty() {
                flow.local.clone_from(&other.remote);
                flow.remote.clone_from(&other.local);
            }
        }
        if is_receiver {
            let sent = |stream| flows.iter().find(|flow| flow.stream == stream);
            datagrams.learn(|stream| sent(stream).map(FlowReport::all_sent));
        }
    }
}
