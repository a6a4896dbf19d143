//! Jobs by LPR and to raw ports: a connection for each, as `windlass print` does.

use std::sync::atomic::Ordering;

use super::files::Data;
use super::tally::{Fate, Problem, is_refusal};
use super::{Dialing, Plan, To};
use crate::error::Error;
use crate::job::{Job, Sending, send};
use crate::monitor::Monitor;

/// Jobs in the names of the files of LPR are numbered up to here.
const NUMBERS: u64 = 1_000;

/// One of those who send.
pub(super) struct Sender<'a> {
    pub(super) plan: &'a Plan,
    pub(super) way: &'a Sending,
    pub(super) monitor: &'a Monitor,
    pub(super) dialing: &'a Dialing<'a>,
}

impl Sender<'_> {
    /// Sends a job.
    pub(super) fn send(&self, queue: usize, number: u64, data: &Data) -> Fate {
        let target = &self.plan.queues[queue];
        let mut way = self.way.clone();
        if let Sending::Lpr(lpr) = &mut way {
            lpr.number = (number % NUMBERS) as u16;
        }
        let job = Job {
            target: target.clone(),
            way,
            name: format!("{} {number:09}", self.plan.name),
            user: self.plan.user.clone(),
            patience: self.plan.patience,
        };
        let mut document = match data.document() {
            Ok(document) => document,
            Err(error) => return Fate::Failed(Problem::from(&Error::Document(error))),
        };
        let before = self.monitor.moved.load(Ordering::Relaxed);
        let mut to = To { dialing: self.dialing, target };
        match send(&job, &mut document, self.monitor, &mut to) {
            Ok(_) => Fate::Acknowledged(None),
            Err(error) if is_refusal(&error) => Fate::Refused(Problem::from(&error)),
            Err(error) => {
                let moved = self.monitor.moved.load(Ordering::Relaxed) - before;
                let problem = Problem::from(&error);
                if moved >= data.size { Fate::Unknown(problem) } else { Fate::Failed(problem) }
            }
        }
    }
}
