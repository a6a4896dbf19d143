#![doc = include_str!("../README.md")]
//!
//! The rules are `windlass-spool-core`'s: a [`JobTable`] of printers and jobs, which knows
//! no clock, no disk and no network. [`store`] keeps jobs on the disk, a [`Spooler`]
//! joins the two, and [`Server`] listens to clients.
#![cfg(target_os = "linux")]

mod account;
mod announce;
mod asking;
mod commands;
mod counting;
#[cfg(test)]
mod damage_tests;
mod delivery;
pub mod descriptors;
mod device_logins;
mod filters;
mod host;
mod log;
mod observer;
mod rights;
mod rotation;
mod salvage;
mod self_signed;
mod serve;
#[cfg(test)]
mod slow_tests;
mod spooler;
pub mod store;
mod table;

pub use account::{AccountLine, AccountSettings, Rotation};
pub use announce::{AnnounceError, Announcer};
pub use commands::{CommandSettings, RunAs};
pub use device_logins::{DeviceLogins, DeviceLoginsError};
pub use log::{Log, LogSettings};
pub use observer::{Observation, Observer};
pub use rights::give_up_rights;
pub use salvage::{Salvaged, SalvagedJob, salvage};
pub use self_signed::{MAX_DAYS, SelfSigned, SelfSignedError};
pub use serve::{
    Bound, Certificate, CertificateError, Handed, Limits, Listen, ListenError, Names, Network,
    Passwords, PasswordsError, PrinterPorts, Server, set_password,
};
#[doc(hidden)]
pub use serve::{Speaks, Stream, serve_over};
pub use spooler::{Spooler, SpoolerSettings};
pub use windlass_spool_core::{
    Access, Attempt, Changed, Device, DeviceError, Event, FORMATS, FormatError, History, JobTable,
    Local, MAX_NAME, NetError, OnError, OnPartial, OnRefusal, PageLogFormat, Peer, Place, Plain,
    Policy, Printer, PrinterChange, PrinterSettings, Quota, Refusal, Rights, Rules, ToldJob,
    TransferLimit, Uncounted, Users, Who, is_printer_name, net,
};
pub use windlass_wire::filter::IpNet;
