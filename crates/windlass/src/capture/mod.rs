//! Capturing packets: from the kernel to files, to the analyser and to the
//! screen, with an account of each packet.

mod encode;
mod file;
pub(crate) mod filter;
pub(crate) mod machine;
mod session;
mod sink;
mod work;

pub(crate) use encode::{About, FileFormat};
pub(crate) use file::{Rotation, Writer, Written};
pub(crate) use machine::Ticks;
pub use session::ReaderKind;
pub(crate) use session::{Count, Done, EndedBy, Plan, Session, WHOLE, Writing};
pub(crate) use sink::{Dropping, Gap};
