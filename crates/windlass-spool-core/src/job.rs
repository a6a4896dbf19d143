//! A job of the spool.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use windlass_wire::ipp::JobState;
use windlass_wire::pages::Pages;

use crate::attempt::Attempt;
use crate::hold::Hold;
use crate::moment::Moment;

/// The number of a job, from 1 on.
pub type JobId = u32;

/// What a client said of a job. The journal has it in this order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ticket {
    /// What it is called.
    pub name: Box<str>,
    /// Whose it is.
    pub user: Arc<str>,
    /// The host that it came from.
    pub host: Arc<str>,
    /// What the documents are: a media type.
    pub format: Arc<str>,
    /// From 1 to 100; higher ones go first (RFC 8011, section 5.2.1).
    pub priority: u8,
    /// That it is held, where it is.
    pub hold: Option<Box<Hold>>,
    /// How often each document is printed, from 1 to [`MAX_COPIES`](crate::MAX_COPIES).
    pub copies: u16,
    /// Whether several documents follow each other for each copy, and not copies of one.
    pub is_collated: bool,
    /// What the printer is to do with it: the attributes of a job template as
    /// octets of a group, for who understands them.
    pub template: Box<[u8]>,
}

impl Ticket {
    /// With what is usual.
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

/// What is known here of a document. Where its bytes are is the store's alone.
pub trait Stored: Clone {
    /// How many bytes it has.
    fn size(&self) -> u64;
}

/// One that is nowhere, known by its size: for who has no store.
impl Stored for u64 {
    fn size(&self) -> u64 {
        *self
    }
}

/// A document of a job. The journal has its name; its data is with the store.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Filed<D> {
    /// Its data.
    #[serde(skip)]
    pub document: D,
    /// What it is called; empty where that is not kept.
    pub name: Box<str>,
}

/// How a job ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ending {
    /// It was delivered.
    Completed,
    /// Somebody did not want it any more.
    Canceled,
    /// It could not be delivered, or its documents never came.
    Aborted,
}

/// Where a job is on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Phase {
    /// Documents are still to come. Without one for the time of
    /// `multiple-operation-time-out` it ends.
    Open {
        /// When something came last.
        since: Moment,
    },
    /// It waits to be released.
    Held,
    /// It waits for its printer.
    Waiting,
    /// Its printer has it.
    Printing {
        /// Since when.
        since: Moment,
        /// Whether it was canceled meanwhile.
        is_canceled: bool,
    },
    /// It is over.
    Over {
        /// How it ended.
        how: Ending,
        /// When.
        at: Moment,
    },
}

/// A job. The journal has what is not skipped, in this order.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(bound(serialize = "", deserialize = "D: Default"))]
pub struct Job<D> {
    /// Its number.
    #[serde(skip)]
    pub id: JobId,
    /// The place of its printer in the table.
    #[serde(skip)]
    pub printer: usize,
    /// What the client said.
    pub ticket: Ticket,
    /// Where it is.
    pub phase: Phase,
    /// When it came.
    pub created: Moment,
    /// When its printer got it first.
    pub began: Option<Moment>,
    /// Its documents, as far as they are kept.
    pub documents: Vec<Filed<D>>,
    /// How many bytes they have or had.
    pub size: u64,
    /// How many there are or were.
    pub count: u16,
    /// How often it was tried.
    pub attempts: u32,
    /// How many [`Passes`](crate::Passes) over its documents its device has, as far as is
    /// known: another attempt goes on behind them.
    pub delivered: u32,
    /// Why it did not go the last time.
    pub failure: Option<Box<str>>,
    /// Where the time of the last attempt went, where it is over.
    pub last_attempt: Option<Box<Attempt>>,
    /// How many pages its documents have, where they were looked through.
    pub pages: Option<Pages>,
    /// Which ending of a job its own is, of all that were accounted for; 0 before it has one.
    pub ending: u64,
    /// True if its device has begun to take data of it, and it is not known yet what came of that.
    pub(crate) is_begun: bool,
    /// Bytes that devices may have printed in attempts that broke off.
    pub broken_off: u64,
    /// Sides that its device says it has printed, where it says that.
    pub printed: Option<u64>,
    /// Whether it is as safe as was promised. Until then nobody has it.
    #[serde(skip)]
    pub(crate) is_durable: bool,
    /// The member of its class that has it.
    #[serde(skip)]
    pub(crate) at: Option<usize>,
    /// The printer that it goes to when the one that has it gives it back.
    #[serde(skip)]
    pub(crate) moves_to: Option<usize>,
    /// Whether it was moved: a crash may find it where it was until that is safe.
    #[serde(skip)]
    pub is_moved: bool,
}

impl<D> Job<D> {
    /// Whether it was canceled while a printer has it: it is over when that gives it back.
    pub const fn is_canceled(&self) -> bool {
        matches!(self.phase, Phase::Printing { is_canceled: true, .. })
    }

    /// Its state in IPP.
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

    /// Why it is there, in keywords of RFC 8011, section 5.3.8.
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

    /// How many bytes of documents its device gets, with all copies.
    pub fn bytes_to_print(&self) -> u64 {
        self.size.saturating_mul(u64::from(self.ticket.copies.max(1)))
    }

    /// Whether it is over.
    pub const fn is_over(&self) -> bool {
        matches!(self.phase, Phase::Over { .. })
    }

    /// When it ended, where it has.
    pub const fn ended(&self) -> Option<Moment> {
        match self.phase {
            Phase::Over { at, .. } => Some(at),
            _ => None,
        }
    }
}
