//! A print job and its settings.

use std::time::Duration;

use windlass_wire::ipp::{Attribute, Compression, Version};
use windlass_wire::status_source::StatusSource;
use windlass_wire::target::Target;

use crate::patience::Limit;

/// A job.
#[derive(Clone, Debug)]
pub struct Job {
    /// Printer.
    pub target: Target,
    /// Protocol and its settings.
    pub way: JobProtocol,
    /// Name of the job.
    pub name: String,
    /// User of the job.
    pub user: String,
    /// Longest time without progress, and then for an answer.
    pub patience: Limit,
    /// Way to end a connection whose job is interrupted.
    pub on_break: OnBreak,
    /// Source of the printer's state while it has the job, for the job's attendant
    /// ([`crate::Attendant::says`]). IPP needs none.
    pub status: Option<StatusSource>,
}

/// Way to end a connection whose job is interrupted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnBreak {
    /// Close the connection: the kernel continues to deliver its part.
    Close,
    /// Reset the connection, even when the process ends. The server never gets the missing part, so
    /// the job can be sent again. The connection lasts as long as the peer answers TCP.
    Reset,
}

/// Protocol of a job, with its settings.
#[derive(Clone, Debug)]
pub enum JobProtocol {
    /// Raw data to port 9100.
    Raw(Raw),
    /// LPR.
    Lpr(Lpr),
    /// IPP.
    Ipp(Ipp),
}

/// Settings of raw printing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Raw {
    /// True if the printer is asked for its status by PJL, before and after.
    pub pjl: bool,
    /// Time for which a printer that has everything may leave the connection open, if shorter than
    /// the patience. This also applies when the job is stopped.
    pub close: Option<Duration>,
}

/// Settings of LPR.
#[derive(Clone, Debug)]
pub struct Lpr {
    /// True if the data file goes before the control file.
    pub data_first: bool,
    /// Announced size of a data file of unknown size.
    pub stream: Option<StreamSize>,
    /// Name of this host.
    pub host: String,
    /// Number of the job, from 0 to 999.
    pub number: u16,
    /// Number of copies: the control file names the document as often.
    pub copies: u16,
}

/// Announced size of a data file of unknown size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamSize {
    /// 999,999,999,999 bytes.
    Endless,
    /// 0 bytes.
    Zero,
}

/// Settings of IPP.
#[derive(Clone, Debug)]
pub struct Ipp {
    /// IPP version of requests.
    pub version: Version,
    /// True if the job is created first and the document sent after it.
    pub create_job: bool,
    /// Compression of the document.
    pub compression: Compression,
    /// Media type of the document.
    pub format: String,
    /// Job template attributes for the printer.
    pub template: Vec<Attribute>,
    /// Following of the job after the server has it.
    pub follow: FollowMode,
}

/// Following of an IPP job after the server has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FollowMode {
    /// Do not follow.
    No,
    /// Wait for the end, at most this long.
    Within(Duration),
    /// Follow the job to its end, even if a connection breaks. A partial job is cancelled at the
    /// server; a complete one is awaited. The patience limits questions without an answer.
    ToItsEnd,
}
