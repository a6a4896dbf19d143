#![doc = include_str!("../README.md")]
//!
//! Input and output of captures. Input goes from a file, a pipe or a kernel ring to packets,
//! segments and the analyser; output goes from the ring into files.
//!
//! [`read`] reads a capture file, [`read_each`] each capture of an archive. `live`, on Linux only,
//! captures on this machine, with an account of each packet.

mod input;
#[cfg(target_os = "linux")]
pub mod live;
mod reading;
mod two_passes;

pub use input::{
    Archive, ArchiveDamage, ArchiveFormat, Name, Sha256, SkipReason, SkippedMembers, file_of,
    is_packed,
};
pub use reading::{
    CaptureFacts, CaptureReceiver, Member, ReadCapture, ReadSettings, read, read_each,
};
pub use two_passes::{FirstPass, FirstPassObserver, SecondPass};
