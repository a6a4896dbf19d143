//! Packet capture: from the kernel to files, to the analyser and to text output, with an account of
//! each packet.

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

pub use afterwards::{FileWork, FinishedWork, PendingWork, WorkFailure};
pub use encode::{CaptureOrigin, DescribedInterface, FileFormat};
pub use file::{Outcome, WriteSettings, Writer, WrittenFile};
pub use pipe::Target;
pub use rotation::Rotation;
pub use session::{CaptureResult, Count, EndReason, Plan, ReaderKind, Session, interfaces};
pub use sink::{Gap, HEADERS, KernelDrops, WHOLE, link_type};
pub use windlass_sys::capture::{Direction, Framing, Interface, Statistics};
pub use windlass_sys::cpu::CpuTime;
pub use windlass_sys::interfaces::ListedInterface;
pub use windlass_sys::route::interface_to;
