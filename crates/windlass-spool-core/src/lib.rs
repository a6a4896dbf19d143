#![doc = include_str!("../README.md")]
//!
//! Nothing here has a clock, a disk, a socket or a thread. A [`JobTable`] is told what
//! happened and when, and gives [`Orders`]: what is to be logged, which printers may
//! have something to do, and which are to break off. [`respond::respond`] takes a
//! request of IPP to an answer and to orders. What a document is, is up to who keeps
//! it ([`Stored`]).

mod access;
mod account;
mod attempt;
mod device;
mod event;
mod formats;
mod hold;
mod job;
mod latency;
pub mod lpq;
mod message;
mod moment;
mod passes;
mod printer;
mod quota;
mod record;
mod requester;
pub mod respond;
mod standing;
mod table;
mod template;
mod users;
mod written;

pub use access::{Access, Asker, Local, NetError, Place, Plain, Policy, Who, net};
pub use account::{Account, FormatError, PageLogFormat};
pub use attempt::{Attempt, AttemptTotals, TransferLimit};
pub use device::{Device, DeviceError};
pub use event::{Event, Then};
pub use formats::{Conversions, DeviceOffer, OCTETS, Passage, filter_options, left_by_filters};
pub use hold::{HOLD_WORDS, Hold, HoldUntil};
pub use job::{Ending, Filed, Job, JobId, Phase, Stored, Ticket, USUAL_PRIORITY};
pub use latency::{Latencies, Latency};
pub use message::job_message;
pub use moment::Moment;
pub use passes::{MAX_COPIES, Passes, with_copies};
pub use printer::{
    Condition, Counts, FORMATS, MAX_NAME, OPERATIONS_SUPPORTED, OnError, OnPartial, OnRefusal,
    Printer, PrinterSettings, Trouble, is_printer_name,
};
pub use quota::{BYTES_OF_A_PAGE, Quota, Uncounted, Used};
pub use requester::{ANONYMOUS, Peer, Requester, Right, Rights};
pub use standing::{DeviceStall, PartialPrint, StallSign, Standing};
pub use table::{
    ByteAllowance, Changed, Entry, History, JobTable, Kept, Leftover, MAX_DOCUMENTS, MAX_OPEN,
    MAX_RECORD, MAX_UNLOGGED, Next, Orders, Orphan, Outcome, PrinterChange, Refusal, Rules, Told,
    ToldJob, held_back, is_job, told,
};
pub use users::{Users, UsersError};
pub use written::Written;
