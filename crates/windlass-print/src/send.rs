//! Sending a job to its target, by the target's protocol.

use serde::Serialize;

use crate::dial::{Dial, connected};
use crate::document::Document;
use crate::error::Error;
use crate::ipp::{self, IppAnswer};
use crate::job::{Job, JobProtocol};
use crate::link::Link;
use crate::lpr::{self, LprAnswer};
use crate::monitor::Monitor;
use crate::raw::{self, RawAnswer};

/// Answer of the server.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "lowercase", tag = "protocol")]
pub enum Answer {
    /// Answer of a raw printer.
    Raw(RawAnswer),
    /// Answer of an LPR server.
    Lpr(LprAnswer),
    /// Answer of an IPP server.
    Ipp(IppAnswer),
}

/// Sends a job.
///
/// # Errors
/// Fails if the job does not arrive. The monitor has its progress.
pub fn send(
    job: &Job,
    document: &mut Document,
    monitor: &Monitor,
    dial: &Dial<'_>,
) -> Result<Answer, Error> {
    match &job.way {
        JobProtocol::Ipp(settings) => {
            ipp::send(job, settings, document, monitor, dial).map(Answer::Ipp)
        }
        JobProtocol::Raw(settings) => {
            let link = Link::of_job(connected(dial, &job.target)?, monitor, job)?;
            raw::send(link, job, *settings, document).map(Answer::Raw)
        }
        JobProtocol::Lpr(settings) => {
            let link = Link::of_job(connected(dial, &job.target)?, monitor, job)?;
            lpr::send(link, job, settings, document).map(Answer::Lpr)
        }
    }
}
