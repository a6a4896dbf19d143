//! Capturing packets: from the kernel to files, to the analyser and to who prints
//! them, with an account of each packet.

mod afterwards;
mod encode;
mod file;
pub mod filter;
pub mod machine;
mod names;
mod out;
mod patience;
mod pipe;
mod rotation;
mod session;
mod sink;
mod work;

pub use afterwards::{Afterwards, Failed, Worked, Working};
pub use encode::{About, Described, FileFormat};
pub use file::{Outcome, Writer, Writing, Written};
pub use pipe::Target;
pub use rotation::Rotation;
pub use session::{Count, Done, EndedBy, Plan, ReaderKind, Session, interfaces};
pub use sink::{Dropping, Gap, HEADERS, WHOLE, link_type};
pub use windlass_sys::capture::{Direction, Framing, Interface, Statistics};
pub use windlass_sys::cpu::CpuTime;
pub use windlass_sys::interfaces::Listed;
pub use windlass_sys::route::interface_to;
