#![doc = include_str!("../README.md")]
//!
//! [`Run`] is what is kept of a measurement, [`Store`] the folder in which runs are,
//! [`Summary`] what lists know of one, and [`Row`] what a table shows. [`shapes`] knows where
//! the records of each command have their figures. [`compare`] holds groups of runs against
//! each other by [`statistics`], and [`condition`] is what a script may ask of the outcome.
//! Only the store and [`Host`] touch the system.

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

pub use figure::{Better, Figure, FigureName, Unit, VerdictSeen};
pub use host::Host;
pub use id::RunId;
pub use row::{FirstFigure, FirstLimit, Row, Word};
pub use run::{Kept, Note, Run, without_password};
pub use select::{Filter, Selector};
pub use store::{Listing, Store, Unreadable};
pub use summary::Summary;
