#![doc = include_str!("../README.md")]
//!
//! [`Run`] is a stored measurement, [`Store`] the folder of the runs, [`Summary`] the entry of a
//! run in lists, and [`Row`] a line of a table. [`shapes`] knows the locations of figures in the
//! records of each command. [`compare`] compares groups of runs by [`statistics`], and
//! [`condition`] tests the result for scripts. Only the store and [`Host`] touch the system.

pub mod compare;
pub mod condition;
mod figure;
pub mod flent;
mod host;
mod id;
mod index;
pub mod iperf3;
mod private;
mod row;
mod run;
mod select;
pub mod shapes;
pub mod statistics;
mod store;
mod summary;

pub use figure::{Figure, FigureName, Preference, Unit, VerdictSummary};
pub use host::Host;
pub use id::RunId;
pub use row::{FirstFigure, FirstLimit, Row, Word};
pub use run::{Note, Run, RunRecord, without_password};
pub use select::{Filter, Selector};
pub use store::{Listing, Store, UnreadableRun};
pub use summary::Summary;
