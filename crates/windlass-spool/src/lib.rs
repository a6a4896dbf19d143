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
pub use salvage::{SalvagedJob, SalvagedSpool, salvage};
pub use self_signed::{MAX_DAYS, SelfSignedCertificate, SelfSignedError};
pub use serve::{
    BoundSockets, Certificate, CertificateError, HandedSockets, Limits, ListenAddresses,
    ListenError, Names, Network, Passwords, PasswordsError, PrinterPorts, Server, set_password,
};
#[doc(hidden)]
pub use serve::{PortProtocol, Stream, serve_over};
pub use spooler::{Spooler, SpoolerSettings};
pub use windlass_spool_core::{
    Access, Attempt, ChangeKind, Device, DeviceError, Event, FORMATS, FormatError, History,
    JobSummary, JobTable, LocalRights, MAX_NAME, NetError, OnError, OnPartial, OnRefusal, Origin,
    PageLogFormat, Peer, Policy, Principal, Printer, PrinterChange, PrinterSettings, Quota,
    Refusal, Rights, Rules, SimpleAccess, TransferLimit, UncountedPolicy, Users, is_printer_name,
    net,
};
pub use windlass_wire::filter::IpNet;
