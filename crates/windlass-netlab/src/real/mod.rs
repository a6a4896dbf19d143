//! Transfers in real time: Linux's own TCP as the sender, the emulated device
//! behind a TUN interface.
//!
//! A private network namespace holds the sender's socket and one interface. The kernel's packets
//! pass the simulated link to the simulated device, in one thread with a clock.

pub(crate) mod device;
pub(crate) mod emulator;
pub(crate) mod look;
mod passing;
mod program;
mod sending;
mod transfer;
mod twin;
mod watch;

pub use passing::send_into;
pub use sending::{Job, MTU, line};
pub use transfer::{Transfer, TransferProgress, run};
pub use twin::size;
use windlass_base::Failure;

/// Returns the failure of a transfer in real time.
fn broken(wrong: impl std::fmt::Display) -> Failure {
    Failure::new("cannot run the transfer in real time", wrong)
}
