//! Job table of the spool: its printers, its jobs, and their state.
//!
//! The table has no clock, no disk and no network. Each call reports an event and its time, and
//! [`JobTable::orders`] returns what to do about it.

mod accounts;
mod change;
mod classes;
mod control;
mod endings;
mod incoming;
mod printers;
mod refusal;
mod restore;
mod rules;
mod told;
mod turns;
mod waits;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::sync::Arc;

use jiff::tz::TimeZone;

use self::accounts::Accounts;
use self::waits::Waits;

use crate::formats::Conversions;
use crate::job::{Job, JobId, StoredDocument, Ticket};
use crate::moment::Moment;
use crate::printer::{Printer, PrinterSettings};

pub use accounts::{ByteAllowance, MAX_UNLOGGED};
pub use change::{Entry, MAX_RECORD, Orders};
pub use incoming::MAX_OPEN;
pub use printers::{ChangeKind, Leftover, PrinterChange};
pub use refusal::{MAX_DOCUMENTS, Refusal};
pub use restore::{Orphan, StoredRecord};
pub use rules::{History, Rules};
pub use told::{JobSummary, RecordSummary, held_back, is_job, told};
pub use turns::{NextStep, Outcome};

/// Maximum number of distinct users, hosts and formats that are stored once. More are stored with
/// each job.
const MAX_WORDS: usize = 4_096;

/// Maximum length of a stored failure reason: a device's message may be long. It is the maximum of
/// an IPP text (RFC 8011, section 5.1.2).
const MAX_WHY: usize = 1_023;

/// Printers and jobs of the spool.
#[derive(Debug)]
pub struct JobTable<D> {
    rules: Rules,
    printers: Vec<Printer>,
    by_name: HashMap<String, usize>,
    /// Indexes of printers that are not removed, in order.
    order: Vec<usize>,
    /// Name of the default printer, if one was set.
    default: Option<String>,
    jobs: BTreeMap<JobId, Job<D>>,
    /// Next job number.
    next: JobId,
    /// First job number that is not reserved yet.
    reserved: JobId,
    /// Finished jobs in the order of their endings.
    over: VecDeque<JobId>,
    /// Number of unfinished jobs, incoming ones included.
    active: usize,
    /// Jobs that wait for a point in time.
    waits: Waits,
    /// Time zone of the printers, which determines when `evening` is.
    zone: TimeZone,
    /// Numbers of jobs that are in the spool but not in the table.
    orphans: BTreeSet<JobId>,
    words: HashSet<Arc<str>>,
    accounts: Accounts,
    /// Conversions by filters of this host.
    conversions: Conversions,
    /// Identity of this server: the name of its host.
    identity: String,
    orders: Orders,
}

impl<D: StoredDocument> JobTable<D> {
    /// Creates a table with printers and without jobs.
    pub fn new(printers: Vec<PrinterSettings>, rules: Rules, now: Moment) -> Self {
        let by_name = printers.iter().enumerate();
        let by_name = by_name.map(|(place, one)| (one.name.clone(), place)).collect();
        let order = (0..printers.len()).collect();
        let new = |settings| {
            let said = Some(printers::mark(&settings));
            Printer { said, ..Printer::new(settings, now) }
        };
        let mut table = Self {
            rules,
            printers: printers.into_iter().map(new).collect(),
            by_name,
            order,
            default: None,
            jobs: BTreeMap::new(),
            next: 1,
            reserved: 1,
            over: VecDeque::new(),
            active: 0,
            waits: Waits::default(),
            zone: TimeZone::UTC,
            orphans: BTreeSet::new(),
            words: HashSet::new(),
            accounts: Accounts::default(),
            conversions: Conversions::default(),
            identity: String::new(),
            orders: Orders::default(),
        };
        table.link();
        table
    }

    /// Returns the printers by index, including removed ones ([`Printer::is_removed`]).
    /// [`Self::listed`] returns the others.
    pub fn printers(&self) -> &[Printer] {
        &self.printers
    }

    /// Returns the printer of a job, and the printer whose device gets the job. For a class the
    /// latter is a member.
    pub fn printers_of(&self, job: &Job<D>) -> (&Printer, &Printer) {
        (&self.printers[job.printer], &self.printers[job.at.unwrap_or(job.printer)])
    }

    /// Returns the index of a printer.
    ///
    /// # Errors
    /// Returns an error if no printer has this name.
    pub fn place(&self, name: &str) -> Result<usize, Refusal> {
        self.by_name.get(name).copied().ok_or_else(|| Refusal::NoPrinter(name.to_owned()))
    }

    /// Returns the rules of the table.
    pub const fn rules(&self) -> &Rules {
        &self.rules
    }

    /// Returns a job.
    pub fn job(&self, id: JobId) -> Option<&Job<D>> {
        self.jobs.get(&id)
    }

    /// Returns the index of the default printer: the one that was set, otherwise the first.
    ///
    /// # Errors
    /// Returns an error if there are no printers.
    pub fn default_place(&self) -> Result<usize, Refusal> {
        let chosen = self.default.as_ref().and_then(|name| self.place(name).ok());
        let place = chosen.or_else(|| self.order.first().copied());
        place.ok_or_else(|| Refusal::NoPrinter(String::new()))
    }

    /// Replaces the rules. Finished jobs beyond the new history are forgotten.
    pub fn set_rules(&mut self, rules: Rules) {
        self.rules = rules;
        self.trim();
    }

    /// Returns known jobs of one printer or of all, from a number on.
    pub fn known(&self, place: Option<usize>, first: JobId) -> impl Iterator<Item = &Job<D>> {
        let is_there = move |job: &&Job<D>| place.is_none_or(|place| job.printer == place);
        self.jobs.range(first..).map(|(_, job)| job).filter(is_there)
    }

    /// Returns unfinished jobs, oldest first.
    pub fn live(
        &self,
        place: Option<usize>,
        first: JobId,
    ) -> Box<dyn Iterator<Item = &Job<D>> + '_> {
        match place {
            Some(place) => {
                let ids = self.printers[place].live.range(first..);
                Box::new(ids.filter_map(|id| self.jobs.get(id)))
            }
            None => Box::new(self.known(None, first).filter(|job| !job.is_over())),
        }
    }

    /// Returns finished jobs, highest number first.
    pub fn over(
        &self,
        place: Option<usize>,
        first: JobId,
    ) -> Box<dyn Iterator<Item = &Job<D>> + '_> {
        match place {
            Some(place) => {
                let ids = self.printers[place].over.range(first..).rev();
                Box::new(ids.filter_map(|id| self.jobs.get(id)))
            }
            None => {
                let over = self.over.iter().rev().filter(move |id| **id >= first);
                Box::new(over.filter_map(|id| self.jobs.get(id)))
            }
        }
    }

    /// Returns the number of unfinished jobs.
    pub const fn active(&self) -> usize {
        self.active
    }

    /// Takes the orders: what to do about the events so far.
    pub fn orders(&mut self) -> Orders {
        let looks_again = std::mem::take(&mut self.waits.is_new);
        Orders { looks_again, ..std::mem::take(&mut self.orders) }
    }

    /// Sets the filters for documents that devices do not accept.
    pub fn set_conversions(&mut self, conversions: Conversions) {
        self.conversions = conversions;
    }

    /// Returns the conversions by filters of this host.
    pub const fn conversions(&self) -> &Conversions {
        &self.conversions
    }

    /// Returns the formats that a printer accepts; for a class, those that all its members accept.
    pub fn formats<'a>(&self, printer: &'a Printer) -> Cow<'a, [String]> {
        let mut formats = printer.formats(&self.conversions);
        for member in self.members(printer) {
            let of_member = member.formats(&self.conversions);
            formats
                .to_mut()
                .retain(|one| of_member.iter().any(|other| other.eq_ignore_ascii_case(one)));
        }
        formats
    }

    /// Sets the identity of this server.
    pub fn set_identity(&mut self, identity: String) {
        self.identity = identity;
    }

    /// Returns the identity of this server.
    pub fn identity(&self) -> &str {
        &self.identity
    }

    /// Sets the time zone of the printers. The default is UTC.
    pub fn set_zone(&mut self, zone: TimeZone) {
        self.zone = zone;
    }

    /// Returns the time zone of the printers.
    pub const fn zone(&self) -> &TimeZone {
        &self.zone
    }

    /// Shares the memory of words that many tickets have.
    fn share(&mut self, ticket: &mut Ticket) {
        for word in [&mut ticket.user, &mut ticket.host, &mut ticket.format] {
            *word = self.word(Arc::clone(word));
        }
    }

    fn word(&mut self, word: Arc<str>) -> Arc<str> {
        if let Some(known) = self.words.get(&word) {
            return Arc::clone(known);
        }
        if self.words.len() >= MAX_WORDS {
            self.words.retain(|word| Arc::strong_count(word) > 1);
        }
        if self.words.len() < MAX_WORDS {
            self.words.insert(Arc::clone(&word));
        }
        word
    }
}

/// Returns a sort key: the most urgent first, then the oldest.
const fn urgency(priority: u8, id: JobId) -> (u8, JobId) {
    (u8::MAX - priority, id)
}

#[cfg(test)]
#[path = "table_tests.rs"]
mod tests;
