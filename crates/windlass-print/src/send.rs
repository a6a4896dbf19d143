//! A job to its target, by the protocol that it names.

use serde::Serialize;

use crate::dial::{Dial, connected};
use crate::document::Document;
use crate::error::Error;
use crate::ipp::{self, IppAnswer};
use crate::job::{Job, Sending};
use crate::link::Link;
use crate::lpr::{self, LprAnswer};
use crate::monitor::Monitor;
use crate::raw::{self, RawAnswer};

/// What the server said.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "lowercase", tag = "protocol")]
pub enum Answer {
    /// Of raw printing.
    Raw(RawAnswer),
    /// Of LPR.
    Lpr(LprAnswer),
    /// Of IPP.
    Ipp(IppAnswer),
}

/// Sends a job.
///
/// # Errors
/// Where it does not arrive. How far it came is in the monitor.
pub fn send(
    job: &Job,
    document: &mut Document,
    monitor: &Monitor,
    dial: &Dial<'_>,
) -> Result<Answer, Error> {
    match &job.way {
        Sending::Ipp(settings) => {
            ipp::send(job, settings, document, monitor, dial).map(Answer::Ipp)
        }
        Sending::Raw(settings) => {
            let link = Link::of_job(connected(dial, &job.target)?, monitor, job)?;
            raw::send(link, job, *settings, document).map(Answer::Raw)
        }
        Sending::Lpr(settings) => {
            let link = Link::of_job(connected(dial, &job.target)?, monitor, job)?;
            lpr::send(link, job, settings, document).map(Answer::Lpr)
        }
    }
}
