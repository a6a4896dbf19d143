//! A single device for the user's own sender: a private network with the device behind a link, and
//! the command that runs in it.

mod capture;
mod facts;
mod known;
mod observer;
mod report;
mod session;

pub use crate::real::look::{DeviceSnapshot, JobCounts, PeerSnapshot};
pub use facts::{DeviceFacts, ExtraPorts, Services};
pub use report::{CaptureSummary, Connection, DeviceRunReport, LinkDirection, LinkReport};
pub use session::{DevicePlan, DeviceRunOutcome, run};
pub use windlass_sim::LprTotals;
pub use windlass_sim::ipp::IppTotals;
pub use windlass_sim::{ConnectionSnapshot, Queue, ReaderActivity};
