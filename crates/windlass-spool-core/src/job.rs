//! Jobs of the spool.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use windlass_wire::ipp::JobState;
use windlass_wire::pages::Pages;

use crate::attempt::Attempt;
use crate::hold::Hold;
use crate::moment::Moment;

/// Number of a job, from 1 on.
pub type JobId = u32;

/// Attributes that a client gave to a job. The journal stores the fields in this order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ticket {
    /// Name of the job.
    pub name: Box<str>,
    /// Name of the user.
    pub user: Arc<str>,
    /// Host that sent the job.
    pub host: Arc<str>,
    /// Media type of the documents.
    pub format: Arc<str>,
    /// Priority from 1 to 100; higher ones go first (RFC 8011, section 5.2.1).
    pub priority: u8,
    /// Hold on the job, if there is one.
    pub hold: Option<Box<Hold>>,
    /// Number of copies of each document, from 1 to [`MAX_COPIES`](crate::MAX_COPIES).
    pub copies: u16,
    /// True if the copies are collated: all documents follow each other once for each copy.
    pub is_collated: bool,
    /// Job template attributes as the octets of a group, for devices that understand them.
    pub template: Box<[u8]>,
}

impl Ticket {
    /// Returns a ticket with default attributes.
    pub fn new(name: &str, user: &str, host: impl Into<Arc<str>>) -> Self {
        Self {
            name: name.into(),
            user: user.into(),
            host: host.into(),
            format: "application/octet-stream".into(),
            priority: USUAL_PRIORITY,
            hold: None,
            copies: 1,
            is_collated: false,
            template: Box::default(),
        }
    }
}

/// The priority of a job that asks for none (RFC 8011, section 5.2.1).
pub const USUAL_PRIORITY: u8 = 50;

/// Document as the job table knows it. Only the store knows where its bytes are.
pub trait StoredDocument: Clone {
    /// Returns the size in bytes.
    fn size(&self) -> u64;
}

/// A document without a store, known by its size alone.
impl StoredDocument for u64 {
    fn size(&self) -> u64 {
        *self
    }
}

/// Document of a job. The journal stores its name; the store has its data.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FiledDocument<D> {
    /// Data of the document.
    #[serde(skip)]
    pub document: D,
    /// Name of the document; empty if names are not kept.
    pub name: Box<str>,
}

/// Ending of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ending {
    /// The job was delivered.
    Completed,
    /// The job was canceled by somebody.
    Canceled,
    /// The job could not be delivered, or its documents never came.
    Aborted,
}

/// Phase in the life of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Phase {
    /// The job waits for more documents. It is aborted if none comes within
    /// `multiple-operation-time-out`.
    Open {
        /// Time of the last arrival.
        since: Moment,
    },
    /// The job waits to be released.
    Held,
    /// The job waits for its printer.
    Waiting,
    /// A printer has the job.
    Printing {
        /// Start of printing.
        since: Moment,
        /// True if the job was canceled since.
        is_canceled: bool,
    },
    /// The job is finished.
    Over {
        /// Ending of the job.
        how: Ending,
        /// Time of the ending.
        at: Moment,
    },
}

/// Job of the spool. The journal stores the fields that are not skipped, in this order.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(bound(serialize = "", deserialize = "D: Default"))]
pub struct Job<D> {
    /// Number of the job.
    #[serde(skip)]
    pub id: JobId,
    /// Index of the printer in the table.
    #[serde(skip)]
    pub printer: usize,
    /// Attributes that the client gave.
    pub ticket: Ticket,
    /// Phase of the job.
    pub phase: Phase,
    /// Time of arrival.
    pub created: Moment,
    /// Time at which a printer first began the job.
    pub began: Option<Moment>,
    /// Documents that are kept.
    pub documents: Vec<FiledDocument<D>>,
    /// Size of all documents in bytes, kept or not.
    pub size: u64,
    /// Number of all documents, kept or not.
    pub count: u16,
    /// Number of delivery attempts.
    pub attempts: u32,
    /// Number of [`Passes`](crate::Passes) over the documents that the device is known to have. The
    /// next attempt continues after them.
    pub delivered: u32,
    /// Reason of the last failure.
    pub failure: Option<Box<str>>,
    /// Timing of the last attempt that has ended.
    pub last_attempt: Option<Box<Attempt>>,
    /// Pages of the documents, if they were scanned.
    pub pages: Option<Pages>,
    /// Sequence number of the job's ending in the accounts; 0 before the job has ended.
    pub ending: u64,
    /// True if the device has begun to take data of the job, and the result is not known yet.
    pub(crate) is_begun: bool,
    /// Bytes that devices may have printed in attempts that broke off.
    pub broken_off: u64,
    /// Sides that the device reports as printed, if it reports them.
    pub printed: Option<u64>,
    /// True once the job is as durable as was promised. Until then no printer gets the job.
    #[serde(skip)]
    pub(crate) is_durable: bool,
    /// Index of the class member that has the job.
    #[serde(skip)]
    pub(crate) at: Option<usize>,
    /// Index of the printer that gets the job once the current one gives it back.
    #[serde(skip)]
    pub(crate) moves_to: Option<usize>,
    /// True if the job was moved. Until the move is durable, a crash may restore the job at its old
    /// printer.
    #[serde(skip)]
    pub is_moved: bool,
}

impl<D> Job<D> {
    /// Returns whether the job was canceled while a printer has it. The job ends when the printer
    /// gives it back.
    pub const fn is_canceled(&self) -> bool {
        matches!(self.phase, Phase::Printing { is_canceled: true, .. })
    }

    /// Returns the IPP state.
    pub const fn state(&self) -> JobState {
        match self.phase {
            Phase::Open { .. } | Phase::Held => JobState::PendingHeld,
            Phase::Waiting => JobState::Pending,
            Phase::Printing { .. } => JobState::Processing,
            Phase::Over { how: Ending::Completed, .. } => JobState::Completed,
            Phase::Over { how: Ending::Canceled, .. } => JobState::Canceled,
            Phase::Over { how: Ending::Aborted, .. } => JobState::Aborted,
        }
    }

    /// Returns the reason of the state, as a keyword of RFC 8011, section 5.3.8.
    pub const fn reason(&self) -> &'static str {
        match self.phase {
            Phase::Open { .. } => "job-incoming",
            Phase::Held => "job-hold-until-specified",
            Phase::Waiting => "none",
            Phase::Printing { is_canceled: true, .. } => "processing-to-stop-point",
            Phase::Printing { .. } => "job-printing",
            Phase::Over { how: Ending::Completed, .. } => "job-completed-successfully",
            Phase::Over { how: Ending::Canceled, .. } => "job-canceled-by-user",
            Phase::Over { how: Ending::Aborted, .. } => "aborted-by-system",
        }
    }

    /// Returns the bytes that the device gets, with all copies.
    pub fn bytes_to_print(&self) -> u64 {
        self.size.saturating_mul(u64::from(self.ticket.copies.max(1)))
    }

    /// Returns whether the job is finished.
    pub const fn is_over(&self) -> bool {
        matches!(self.phase, Phase::Over { .. })
    }

    /// Returns when the job ended, if it has.
    pub const fn ended(&self) -> Option<Moment> {
        match self.phase {
            Phase::Over { at, .. } => Some(at),
            _ => None,
        }
    }
}
