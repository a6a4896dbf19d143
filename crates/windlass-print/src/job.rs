//! What is sent, and how.

use std::time::Duration;

use windlass_wire::ipp::{Attribute, Compression, Version};
use windlass_wire::status_source::StatusSource;
use windlass_wire::target::Target;

use crate::patience::Limit;

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
    pub patience: Limit,
    /// The end of a connection whose job does not come to its end.
    pub on_break: OnBreak,
    /// The source of the printer's state while it has the job, told to whoever attends the job
    /// ([`crate::Attendant::says`]). IPP needs none.
    pub status: Option<StatusSource>,
}

/// The end of a connection whose job does not come to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnBreak {
    /// It is closed: the kernel goes on to deliver what it has taken.
    Close,
    /// It is reset, by the end of the process, too: what the server does not have yet it never
    /// gets, so the job can be sent again. As long as the peer answers TCP the connection lasts.
    Reset,
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
    /// The time for which a printer that has all may leave the connection open, where that is less than the
    /// patience. One that has all counts so when the job is stopped, too.
    pub close: Option<Duration>,
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
    /// How often the document is printed: its name stands in the control file as often.
    pub copies: u16,
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
    /// The following of the job once the server has it.
    pub follow: Follow,
}

/// The following of a job of IPP once the server has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Follow {
    /// It is not.
    No,
    /// Its end is waited for, for so long at most.
    Within(Duration),
    /// It is followed to its end, over a connection that breaks, too: a job that the server has in
    /// part is canceled there, and one that it has whole is waited for. For questions without an
    /// answer there is the patience.
    ToItsEnd,
}
