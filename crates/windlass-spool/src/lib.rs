#![doc = include_str!("../README.md")]
//!
//! The rules are `windlass-spool-core`'s: a [`JobTable`] of printers and jobs, which knows
//! no clock, no disk and no network. [`store`] keeps jobs on the disk, a [`Spooler`]
//! joins the two, and [`Server`] listens to clients.
#![cfg(target_os = "linux")]

mod commands;
#[cfg(test)]
mod damage_tests;
mod delivery;
pub mod descriptors;
mod observer;
mod rights;
mod salvage;
mod serve;
#[cfg(test)]
mod slow_tests;
mod spooler;
pub mod store;
mod table;

pub use commands::{CommandSettings, RunAs};
pub use observer::{Observation, Observer};
pub use rights::give_up_rights;
pub use salvage::{Salvaged, SalvagedJob, salvage};
pub use serve::{Access, Bound, Limits, Listen, ListenError, NetError, Network, Server, net};
#[doc(hidden)]
pub use serve::{Speaks, Stream, serve_over};
pub use spooler::{Spooler, SpoolerSettings};
pub use windlass_spool_core::{
    Attempt, Device, DeviceError, Event, FORMATS, History, JobTable, OnError, OnRefusal, Printer,
    PrinterSettings, Rules, ToldJob, TransferLimit,
};
pub use windlass_wire::filter::IpNet;
