//! Sends print jobs: raw to port 9100, by LPR (RFC 1179) and by IPP (RFC 8010 and
//! 8011).
//!
//! A [`Job`] says what is sent and how, a [`Document`] is its data, and [`send`]
//! does it over connections that the caller makes ([`Dial`]): so options of
//! sockets, captures and measurements are the caller's. A [`Monitor`] is shared
//! with who looks on meanwhile, and who may stop it.
//!
//! [`load`] does the same by the thousand.
//!
//! Whatever a server does, a job ends: nothing that it says is kept beyond fixed
//! sizes, and where nothing moves for the job's patience, that is an error. What a
//! server says does not count as moving: one that drips ends as one that is silent.

#[cfg(target_os = "linux")]
mod ask;
#[cfg(target_os = "linux")]
mod clock;
#[cfg(target_os = "linux")]
mod dial;
#[cfg(target_os = "linux")]
mod document;
#[cfg(target_os = "linux")]
mod error;
pub mod escape;
#[cfg(target_os = "linux")]
mod ipp;
#[cfg(target_os = "linux")]
mod job;
#[cfg(target_os = "linux")]
mod link;
#[cfg(target_os = "linux")]
pub mod load;
#[cfg(target_os = "linux")]
mod lpr;
#[cfg(target_os = "linux")]
mod monitor;
#[cfg(target_os = "linux")]
mod patience;
#[cfg(target_os = "linux")]
mod raw;
#[cfg(target_os = "linux")]
pub mod spool;
mod target;

#[cfg(target_os = "linux")]
pub use ask::Asker;
#[cfg(target_os = "linux")]
pub use dial::PlainDialer;
#[cfg(target_os = "linux")]
pub use document::{Document, Payload};
#[cfg(target_os = "linux")]
pub use error::Error;
#[cfg(target_os = "linux")]
pub use ipp::{Compression, Done, IppAnswer, JobEnd};
#[cfg(target_os = "linux")]
pub use job::{Answer, Dial, DialError, Ipp, Job, Lpr, Raw, Streaming, Way, send};
#[cfg(target_os = "linux")]
pub use lpr::{LprAnswer, Step};
#[cfg(target_os = "linux")]
pub use monitor::{Event, Monitor, Times};
#[cfg(target_os = "linux")]
pub use raw::{RawAnswer, RawEnd};
pub use target::{Protocol, Target, TargetError};
