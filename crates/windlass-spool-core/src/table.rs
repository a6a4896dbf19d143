//! The job table of the spool: its printers, its jobs, and what becomes of them.
//!
//! It knows no clock, no disk and no network. Each call says what happened and
//! when, and [`JobTable::orders`] gives what is to be done about it.

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
use crate::job::{Job, JobId, Stored, Ticket};
use crate::moment::Moment;
use crate::printer::{Printer, PrinterSettings};

pub use accounts::{ByteAllowance, MAX_UNLOGGED};
pub use change::{Entry, MAX_RECORD, Orders};
pub use incoming::MAX_OPEN;
pub use printers::{Changed, Leftover, PrinterChange};
pub use refusal::{MAX_DOCUMENTS, Refusal};
pub use restore::{Kept, Orphan};
pub use rules::{History, Rules};
pub use told::{Told, ToldJob, held_back, is_job, told};
pub use turns::{Next, Outcome};

/// The most different users, hosts and formats that are kept once. More are kept
/// with each job.
const MAX_WORDS: usize = 4_096;

/// The most that is kept of why something failed: what a device says may be long
/// (a text of IPP has as many octets at the most: RFC 8011, section 5.1.2).
const MAX_WHY: usize = 1_023;

/// Printers and jobs.
#[derive(Debug)]
pub struct JobTable<D> {
    rules: Rules,
    printers: Vec<Printer>,
    by_name: HashMap<String, usize>,
    /// The places of printers that are not removed, in their order.
    order: Vec<usize>,
    /// The printer of who names none, where one was chosen.
    default: Option<String>,
    jobs: BTreeMap<JobId, Job<D>>,
    /// The next number.
    next: JobId,
    /// The first number that is not set aside.
    reserved: JobId,
    /// Jobs that are over, in the order in which they ended.
    over: VecDeque<JobId>,
    /// Jobs that are not, those on their way in among them.
    active: usize,
    /// Jobs that wait for a moment.
    waits: Waits,
    /// Where the printers stand: what `evening` means is said by the clocks there.
    zone: TimeZone,
    /// Numbers of jobs that are in the spool and not in the table.
    orphans: BTreeSet<JobId>,
    words: HashSet<Arc<str>>,
    accounts: Accounts,
    /// Conversions by filters of this host.
    conversions: Conversions,
    /// What tells this server from others: its host's name.
    identity: String,
    orders: Orders,
}

impl<D: Stored> JobTable<D> {
    /// With printers and without jobs.
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

    /// The printers by their places: those, too, that are removed ([`Printer::is_removed`]).
    /// [`Self::listed`] has those that there are.
    pub fn printers(&self) -> &[Printer] {
        &self.printers
    }

    /// Returns the printer of a job, and the one whose device it goes to: of a class that is a
    /// member.
    pub fn printers_of(&self, job: &Job<D>) -> (&Printer, &Printer) {
        (&self.printers[job.printer], &self.printers[job.at.unwrap_or(job.printer)])
    }

    /// The place of a printer.
    ///
    /// # Errors
    /// Where there is none of that name.
    pub fn place(&self, name: &str) -> Result<usize, Refusal> {
        self.by_name.get(name).copied().ok_or_else(|| Refusal::NoPrinter(name.to_owned()))
    }

    /// What is kept to.
    pub const fn rules(&self) -> &Rules {
        &self.rules
    }

    /// A job.
    pub fn job(&self, id: JobId) -> Option<&Job<D>> {
        self.jobs.get(&id)
    }

    /// The printer of who names none: the one that was chosen, or else the first.
    ///
    /// # Errors
    /// Where there is none at all.
    pub fn default_place(&self) -> Result<usize, Refusal> {
        let chosen = self.default.as_ref().and_then(|name| self.place(name).ok());
        let place = chosen.or_else(|| self.order.first().copied());
        place.ok_or_else(|| Refusal::NoPrinter(String::new()))
    }

    /// Takes other rules. What they know no more of is forgotten.
    pub fn set_rules(&mut self, rules: Rules) {
        self.rules = rules;
        self.trim();
    }

    /// Jobs that are known, of a printer or of all, from a number on.
    pub fn known(&self, place: Option<usize>, first: JobId) -> impl Iterator<Item = &Job<D>> {
        let is_there = move |job: &&Job<D>| place.is_none_or(|place| job.printer == place);
        self.jobs.range(first..).map(|(_, job)| job).filter(is_there)
    }

    /// Those that are not over, the oldest first.
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

    /// Those that are over, the newest number first.
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

    /// Jobs that are not over.
    pub const fn active(&self) -> usize {
        self.active
    }

    /// Takes what is to be done about what happened.
    pub fn orders(&mut self) -> Orders {
        let looks_again = std::mem::take(&mut self.waits.is_new);
        Orders { looks_again, ..std::mem::take(&mut self.orders) }
    }

    /// Has filters for documents that devices do not take.
    pub fn set_conversions(&mut self, conversions: Conversions) {
        self.conversions = conversions;
    }

    /// Returns what filters of this host convert.
    pub const fn conversions(&self) -> &Conversions {
        &self.conversions
    }

    /// Returns the formats that a printer takes; a class those that all its members take.
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

    /// What tells this server from others.
    pub fn set_identity(&mut self, identity: String) {
        self.identity = identity;
    }

    /// What tells this server from others.
    pub fn identity(&self) -> &str {
        &self.identity
    }

    /// Where the printers stand. Without this it is UTC.
    pub fn set_zone(&mut self, zone: TimeZone) {
        self.zone = zone;
    }

    /// Where the printers stand.
    pub const fn zone(&self) -> &TimeZone {
        &self.zone
    }

    /// Keeps words once that many tickets have.
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

/// The most urgent first, then the oldest.
const fn urgency(priority: u8, id: JobId) -> (u8, JobId) {
    (u8::MAX - priority, id)
}

#[cfg(test)]
#[path = "table_tests.rs"]
mod tests;
