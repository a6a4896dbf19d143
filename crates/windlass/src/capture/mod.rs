//! Capturing packets: from the kernel to files, to the analyser and to the
//! screen, with an account of each packet.

mod encode;
mod file;
pub(crate) mod filter;
mod machine;
mod session;
mod sink;
mod work;

pub(crate) use encode::FileFormat;
pub(crate) use file::{Rotation, Written};
pub(crate) use machine::Ticks;
pub(crate) use session::ReaderKind;
pub(crate) use session::{Count, Done, EndedBy, Plan, Session, WHOLE, Writing};
pub(crate) use sink::{Dropping, Gap};
