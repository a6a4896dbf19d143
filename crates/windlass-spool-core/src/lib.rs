#![doc = include_str!("../README.md")]
//!
//! This crate has no clock, no disk, no socket and no thread. A [`JobTable`] is told of events and
//! their times. It returns [`Orders`]: records to log, printers that may have work, and printers
//! that must break off. [`respond::respond`] turns an IPP request into an answer and orders. The
//! crate's user defines documents by [`StoredDocument`].

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

pub use access::{
    Access, Asker, LocalRights, NetError, Origin, Policy, Principal, SimpleAccess, net,
};
pub use account::{Account, FormatError, PageLogFormat};
pub use attempt::{Attempt, AttemptTotals, TransferLimit};
pub use device::{Device, DeviceError};
pub use event::{Consequence, Event};
pub use formats::{Conversions, DeviceOffer, OCTETS, Passage, filter_options, left_by_filters};
pub use hold::{HOLD_WORDS, Hold, HoldUntil};
pub use job::{Ending, FiledDocument, Job, JobId, Phase, StoredDocument, Ticket, USUAL_PRIORITY};
pub use latency::{Latencies, Latency};
pub use message::job_message;
pub use moment::Moment;
pub use passes::{MAX_COPIES, Passes, with_copies};
pub use printer::{
    Condition, Counts, FORMATS, MAX_NAME, OPERATIONS_SUPPORTED, OnError, OnPartial, OnRefusal,
    Printer, PrinterSettings, Trouble, is_printer_name,
};
pub use quota::{BYTES_OF_A_PAGE, Quota, UncountedPolicy, UsageAmount};
pub use requester::{ANONYMOUS, Peer, Requester, Right, Rights};
pub use standing::{DeviceProgress, DeviceStall, PartialPrint, StallSign};
pub use table::{
    ByteAllowance, ChangeKind, Entry, History, JobSummary, JobTable, Leftover, MAX_DOCUMENTS,
    MAX_OPEN, MAX_RECORD, MAX_UNLOGGED, NextStep, Orders, Orphan, Outcome, PrinterChange,
    RecordSummary, Refusal, Rules, StoredRecord, held_back, is_job, told,
};
pub use users::{Users, UsersError};
pub use written::LogPosition;
