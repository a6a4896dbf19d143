//! Jobs over LPR and to raw ports: one connection for each, as with `windlass print`.

use std::sync::atomic::Ordering;

use super::Plan;
use super::files::Data;
use super::tally::{Fate, Problem, SubmissionFailure};
use crate::dial::Dial;
use crate::error::Error;
use crate::job::{Job, JobProtocol, OnBreak};
use crate::monitor::Monitor;
use crate::send::send;

/// Limit of the job numbers in LPR file names.
const NUMBERS: u64 = 1_000;

/// One of the senders.
pub(super) struct Sender<'a> {
    pub(super) plan: &'a Plan,
    pub(super) way: &'a JobProtocol,
    pub(super) monitor: &'a Monitor,
    pub(super) dial: &'a Dial<'a>,
}

impl Sender<'_> {
    /// Sends a job.
    pub(super) fn send(&self, queue: usize, number: u64, data: &Data) -> Fate {
        let target = &self.plan.queues[queue];
        let mut way = self.way.clone();
        if let JobProtocol::Lpr(lpr) = &mut way {
            lpr.number = (number % NUMBERS) as u16;
        }
        let job = Job {
            target: target.clone(),
            way,
            name: format!("{} {number:09}", self.plan.name),
            user: self.plan.user.clone(),
            patience: self.plan.patience.into(),
            on_break: OnBreak::Close,
            status: None,
        };
        let failed = |error| Problem::of(&Error::Document(error), SubmissionFailure::Failed);
        let mut document = data.document().map_err(failed)?;
        let before = self.monitor.moved.load(Ordering::Relaxed);
        let sent = send(&job, &mut document, self.monitor, self.dial);
        sent.map(|_| None).map_err(|error| {
            let moved = self.monitor.moved.load(Ordering::Relaxed) - before;
            let is_whole = moved >= data.size;
            Problem::of(
                &error,
                if is_whole { SubmissionFailure::Unknown } else { SubmissionFailure::Failed },
            )
        })
    }
}
