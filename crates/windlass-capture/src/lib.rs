#![doc = include_str!("../README.md")]
//!
//! Captures on their way in and out: from a file, a pipe or a ring of the kernel
//! to packets, segments and the analyser, and from the ring into files.
//!
//! [`read`] reads what was captured before, [`read_each`] each capture of an archive;
//! `live`, which is for Linux alone, captures on this machine, with an account of
//! each packet.

mod input;
#[cfg(target_os = "linux")]
pub mod live;
mod reading;
mod two_passes;

pub use input::{
    Archive, ArchiveDamage, ArchiveFormat, Name, Sha256, Unread, Why, file_of, is_packed,
};
pub use reading::{CaptureFacts, Each, Member, Read, Reading, read, read_each};
pub use two_passes::{Again, FirstPass, Pass};
