//! A spool of print jobs: it takes them by IPP, LPR and raw 9100, keeps them as
//! safe as it promises, and forwards them to devices.
//!
//! A [`Book`] knows the printers and what becomes of jobs. [`store`] keeps jobs on
//! the disk. A [`Spooler`] joins the two, and [`Server`] listens to clients.

mod forward;
mod serve;
#[cfg(test)]
mod slow_tests;
mod spooler;
pub mod store;

/// Doors for fuzz targets.
#[doc(hidden)]
pub mod fuzzing {
    pub use super::serve::fuzzing::{Conversation, Protocol};
}

pub use serve::{Access, Limits, Listen, ListenError, Net, NetError, Network, Server};
pub use spooler::{Spooler, SpoolerSettings};
pub use windlass_spool_core::{
    Book, Device, DeviceError, Event, FORMATS, History, Job, JobId, Moment, OnError, Phase,
    Printer, PrinterSettings, Rules, Ticket,
};
