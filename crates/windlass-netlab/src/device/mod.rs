//! A device alone, for a sender of the user's: a private network with the device
//! behind a link, and the command that runs in it.

mod capture;
mod facts;
mod known;
mod observer;
mod report;
mod session;

pub use crate::real::look::{DeviceLook, JobsDone, PeerLook};
pub use facts::{DeviceFacts, More, Services};
pub use report::{Connection, DeviceRunReport, LinkDirection, LinkReport, Written};
pub use session::{Done, Plan, run};
pub use windlass_sim::Received as Jobs;
pub use windlass_sim::ipp::Received as IppJobs;
pub use windlass_sim::{ConnectionLook, Queue, Reading};
