//! What is sent, and how.

use std::net::TcpStream;
use std::time::Duration;

use serde::Serialize;
use windlass_wire::ipp::{Attribute, Compression, Version};
use windlass_wire::target::Target;

use crate::document::Document;
use crate::error::Error;
use crate::ipp::{self, IppAnswer};
use crate::link::Link;
use crate::lpr::{self, LprAnswer};
use crate::monitor::Monitor;
use crate::raw::{self, RawAnswer};

/// A job.
#[derive(Clone, Debug)]
pub struct Job {
    /// Where it is printed.
    pub target: Target,
    /// How.
    pub way: Sending,
    /// What it is called.
    pub name: String,
    /// Whose it is.
    pub user: String,
    /// How long nothing may move, and how long an answer may take from then on.
    pub patience: Duration,
}

/// How a job is sent.
#[derive(Clone, Debug)]
pub enum Sending {
    /// To port 9100.
    Raw(Raw),
    /// By LPR.
    Lpr(Lpr),
    /// By IPP.
    Ipp(Ipp),
}

/// The settings of raw printing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Raw {
    /// Whether the printer is asked for its status by PJL, before and after.
    pub pjl: bool,
}

/// The settings of LPR.
#[derive(Clone, Debug)]
pub struct Lpr {
    /// Whether the data file goes before the control file.
    pub data_first: bool,
    /// How a data file is announced whose size is not known.
    pub stream: Option<Streaming>,
    /// This host's name.
    pub host: String,
    /// The job's number, from 0 to 999.
    pub number: u16,
}

/// How a data file is announced whose size is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Streaming {
    /// As 999,999,999,999 bytes.
    Endless,
    /// As 0 bytes.
    Zero,
}

/// The settings of IPP.
#[derive(Clone, Debug)]
pub struct Ipp {
    /// The version of requests.
    pub version: Version,
    /// Whether the job is created first and the document sent after it.
    pub create_job: bool,
    /// How the document is compressed.
    pub compression: Compression,
    /// What it is: a media type.
    pub format: String,
    /// What the printer is to do with it: the attributes of a job template.
    pub template: Vec<Attribute>,
    /// Whether the end of the job is waited for, and for how long at most.
    pub wait: Option<Duration>,
}

/// Why there is no connection: the caller's own error.
pub type DialError = Box<dyn std::error::Error + Send + Sync>;

/// Makes connections to the target.
pub trait Dial {
    /// A connection. The first one that is asked for carries the data, as long as
    /// the server keeps it open.
    ///
    /// # Errors
    /// Where there is none.
    fn dial(&mut self) -> Result<TcpStream, DialError>;
}

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
    dial: &mut dyn Dial,
) -> Result<Answer, Error> {
    match &job.way {
        Sending::Ipp(settings) => {
            ipp::send(job, settings, document, monitor, dial).map(Answer::Ipp)
        }
        Sending::Raw(settings) => {
            let stream = dial.dial().map_err(Error::Dial)?;
            let link = Link::new(stream, monitor, job.patience)?;
            raw::send(link, settings.pjl, document).map(Answer::Raw)
        }
        Sending::Lpr(settings) => {
            let stream = dial.dial().map_err(Error::Dial)?;
            let link = Link::new(stream, monitor, job.patience)?;
            lpr::send(link, job, settings, document).map(Answer::Lpr)
        }
    }
}
