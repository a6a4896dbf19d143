//! State of a running test that both ends share.

use std::time::{Duration, Instant};

use windlass_base::{Bytes, Span};
use windlass_wire::iperf3::Results;

use super::convert::{heard, told};
use super::link::Link;
use crate::driven::TestSide;
use crate::error::Error;
use crate::report::{DirectionReport, FlowReport, Interval, SideReport};
use crate::transfer::{End, Role, Transfer};

/// Streams of a running test, its control connection, and its measurements.
pub(super) struct RunningTest<'a> {
    pub(super) transfer: &'a Transfer,
    pub(super) link: Link,
    pub(super) side: Box<dyn TestSide>,
    /// Bytes that have moved, and the time when they last moved.
    pub(super) moved: (Bytes, Instant),
    /// This end's measurements, once they have been reported.
    pub(super) near: Option<SideReport>,
    pub(super) far: Option<Results>,
}

impl<'a> RunningTest<'a> {
    pub(super) fn new(transfer: &'a Transfer, link: Link, side: Box<dyn TestSide>) -> Self {
        let moved = (Bytes::ZERO, Instant::now());
        Self { transfer, link, side, moved, near: None, far: None }
    }

    /// Samples the streams.
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

    /// Returns the time of the next sample: after `latest` at the latest.
    pub(super) fn next_time(&self, latest: Duration) -> Instant {
        let latest = Instant::now() + latest;
        if self.near.is_some() { latest } else { self.side.next_time().min(latest) }
    }

    /// Returns whether all bytes count, from the first to the last. Otherwise each end begins to
    /// count at a moment of its own.
    pub(super) fn counts_all(&self) -> bool {
        self.transfer.omit == Span::ZERO
    }

    /// Makes the report of streams that have ended, and returns it as iperf3's results. `seconds`
    /// is the time of a direction that counts for the other end. Receiving took at least `least`.
    /// Returns nothing if the report was made before.
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

    /// Returns this end's measurements, those of `far`, and the error of the test, which may be
    /// invalid results.
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

/// Gives each receiver the number of datagrams sent by the other end, and their addresses.
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
