#![doc = include_str!("../README.md")]
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
pub use dial::{Access, Dial, DialWithin, Dialer, Secured, dial_within};
pub use document::{Document, Payload};
pub use error::{DialError, Error};
pub use ipp::{Done, IppAnswer, JobEnd};
pub use job::{Follow, Ipp, Job, Lpr, OnBreak, Raw, Sending, Streaming};
pub use login::{Login, own_name};
pub use lpr::{LprAnswer, LprStep};
pub use monitor::{Attendant, Event, Monitor, PartialDelivery, Sign, Stall, Standing, Times, rest};
pub use page::{Page, get};
pub use patience::Limit;
pub use raw::{RawAnswer, RawEnd};
pub use send::{Answer, send};
pub use tls::{Fingerprint, FingerprintError, Known, KnownError, Tls, Trust};
pub use windlass_wire::escape;
pub use windlass_wire::ipp::Compression;
pub use windlass_wire::status_source::StatusSource;
pub use windlass_wire::target::{Protocol, Target, TargetError};
