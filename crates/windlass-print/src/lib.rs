#![doc = include_str!("../README.md")]
//!
//! Sending print jobs.
//!
//! A [`Job`] has the target and the settings, and a [`Document`] the data. [`send`] sends them over
//! connections that the caller makes ([`Dial`]), so socket options, captures and measurements are
//! the caller's. A [`Monitor`] is shared with observers, who may stop the job.
//!
//! [`load`] sends jobs by the thousand.
//!
//! Whatever a server does, a job ends. Text of a server is stored only up to fixed sizes, and a job
//! without progress for its patience fails. Text of a server is no progress: a server that drips
//! ends like a silent one.
#![cfg(target_os = "linux")]

mod ask;
mod connection;
mod dial;
mod document;
mod error;
mod ipp;
mod job;
mod link;
pub mod load;
mod login;
mod lpr;
mod monitor;
mod page;
mod patience;
mod raw;
mod send;
mod status;
mod tls;

pub use ask::Asker;
pub use connection::Connection;
pub use dial::{Access, Dial, DialWithin, Dialer, SecuredDialer, dial_within};
pub use document::{Document, Payload};
pub use error::{DialError, Error};
pub use ipp::{FinishedOperation, IppAnswer, JobEnd};
pub use job::{FollowMode, Ipp, Job, JobProtocol, Lpr, OnBreak, Raw, StreamSize};
pub use login::{Login, own_name};
pub use lpr::{LprAnswer, LprStep};
pub use monitor::{
    Attendant, Event, JobProgress, Monitor, PartialDelivery, Sign, Stall, Times, rest,
};
pub use page::{Page, get};
pub use patience::Limit;
pub use raw::{RawAnswer, RawEnd};
pub use send::{Answer, send};
pub use tls::{Fingerprint, FingerprintError, KnownError, KnownServers, Tls, Trust};
pub use windlass_wire::escape;
pub use windlass_wire::ipp::Compression;
pub use windlass_wire::status_source::StatusSource;
pub use windlass_wire::target::{Protocol, Target, TargetError};
