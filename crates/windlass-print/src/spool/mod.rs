//! A spool of print jobs: it takes them by IPP, LPR and raw 9100, keeps them as
//! safe as it promises, and forwards them to devices.
//!
//! [`book`] knows the printers and what becomes of jobs, and nothing of clocks,
//! disks and networks. [`store`] keeps jobs on the disk. A [`Spooler`] joins the
//! two, and [`Server`] listens to clients.

pub mod book;
mod device;
mod event;
mod forward;
mod job;
mod printer;
mod respond;
mod serve;
#[cfg(test)]
mod slow_tests;
mod spooler;
pub mod store;

/// Doors for fuzz targets.
#[doc(hidden)]
pub mod fuzzing {
    pub use super::respond::fuzzing::Responder;
    pub use super::serve::fuzzing::{Conversation, Protocol};
}

pub use book::{History, Rules};
pub use device::{Device, DeviceError};
pub use event::Event;
pub use job::{Job, JobId, Moment, Phase, Ticket};
pub use printer::{FORMATS, OnError, Printer, PrinterSettings};
pub use serve::{Access, Limits, Listen, ListenError, Net, NetError, Network, Server};
pub use spooler::{Spooler, SpoolerSettings};
