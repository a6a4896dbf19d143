//! Questions to the spooler about the outcomes of acknowledged jobs.
//!
//! The spooler is asked for all jobs from the lowest number that may be unfinished, one page at a
//! time. A spooler may keep no finished jobs, as cupsd with `PreserveJobHistory No`. Its log is
//! then read, if it is on this machine. Otherwise its events are used: they are subscribed to
//! first.

use std::time::Duration;

use serde::Serialize;
use windlass_wire::ipp::{GroupTag, Operation, Value};
use windlass_wire::target::{Protocol, Target};

use super::counters::{MAX_METRICS, PATH, counted};
use super::events::{Subscription, seen};
use super::job_log::{Documents, JobLog};
use super::outcome::{OutcomeCounts, ReportedJob, Sweep};
use super::program::queue_name;
use super::times::JobTimes;
use super::{Load, Submission};
use crate::ask::Asker;
use crate::dial::Dial;
use crate::error::{Error, one_line};
use crate::monitor::Monitor;
use crate::page::get;

/// Maximum number of jobs of a page. Each has some 130 bytes and five values, and an answer has at
/// most 1 MiB and 65,536 values.
const PAGE: usize = 5_000;

/// Maximum number of jobs of a page if jobs are known by their names alone. In cupsd, a job outside
/// its memory has no name, unless a requested attribute makes it read the job. It then returns at
/// most 500.
const NAMED_PAGE: usize = 500;

/// Attribute that makes cupsd read a job.
const MAKES_IT_READ: &str = "job-priority";

/// Maximum number of pages read before the first job, if jobs are known by their names alone.
const MAX_FIRST_PAGES: usize = 100;

/// Number of reasons for which a text is requested.
const MAX_EXPLAINED: usize = 4;

/// Number of events after which the next request follows at once. cupsd stores 100 events by
/// default (`MaxEvents`).
const MANY_EVENTS: usize = 25;

/// Times at which a job was created, started and finished (RFC 8011, section 5.3.14).
const TIMES: [&str; 3] = ["time-at-creation", "time-at-processing", "time-at-completed"];

/// Source of the outcomes of jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum OutcomeSource {
    /// The spooler's list of jobs, which has finished ones.
    History,
    /// The spooler's events; its list has no finished jobs.
    Events,
    /// The log of a cupsd on this machine; its list has no finished jobs.
    Log,
    /// The spooler's counts of finished jobs, for those that its list no longer has. They include
    /// all jobs of the queues, of any sender.
    Counts,
}

/// Lists that a spooler supports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ListSupport {
    /// All jobs, from a number on.
    All,
    /// Finished jobs, and unfinished ones.
    Both,
}

/// Client that asks a spooler about jobs.
pub struct Follower<'a> {
    load: &'a Load,
    monitor: &'a Monitor,
    dial: &'a Dial<'a>,
    patience: Duration,
    /// Targets of lists: all printers, or each in turn.
    places: Vec<Target>,
    each: &'a [Target],
    lists: ListSupport,
    /// Number below which jobs are older than the load, or finished.
    floor: i32,
    sweep: Option<ListingProgress>,
    events: Option<Subscription>,
    /// Log of the ends of jobs, if the list lacks them.
    log: Option<JobLog>,
    /// True if the spooler keeps finished jobs, if its settings are known.
    keeps_history: Option<bool>,
    /// Server's counts before the first job, if it has counts.
    counts: Option<OutcomeCounts>,
    has_counts: bool,
    /// A job that was finished at an earlier look, and whether it was looked for again.
    over_first: Option<i32>,
    confirmed: bool,
}

/// A look at all jobs, page by page.
#[derive(Clone, Copy, Debug)]
struct ListingProgress {
    sweep: Sweep,
    place: usize,
    from: i32,
    /// True if each list was read to its end.
    is_whole: bool,
    /// Lowest number of an unfinished job.
    lowest: Option<i32>,
    highest: i32,
}

impl std::fmt::Debug for Follower<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Follower").field("lists", &self.lists).finish_non_exhaustive()
    }
}

/// Outcome of a question.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FollowOutcome {
    /// True if all jobs were read.
    pub is_whole: bool,
    /// True if more can be read at once.
    pub has_more: bool,
    /// True if a log was read, and the server was not asked.
    pub by_log: bool,
}

impl<'a> Follower<'a> {
    /// Makes a client for the jobs of a load, on these queues of one spooler; returns nothing if it
    /// does not support IPP. `patience` limits an answer.
    pub fn new(
        load: &'a Load,
        queues: &'a [Target],
        monitor: &'a Monitor,
        dial: &'a Dial<'a>,
        patience: Duration,
    ) -> Option<Self> {
        let first = queues.first().filter(|first| first.protocol == Protocol::Ipp)?;
        let all = Target { queue: "/".to_owned(), ..first.clone() };
        let places = if queues.len() > 1 { vec![all] } else { vec![first.clone()] };
        load.plan.follows.then_some(Self {
            load,
            monitor,
            dial,
            patience,
            places,
            each: queues,
            lists: ListSupport::All,
            floor: 1,
            sweep: None,
            events: None,
            log: None,
            keeps_history: None,
            counts: None,
            has_counts: false,
            over_first: None,
            confirmed: false,
        })
    }

    /// Adds the facts about a cupsd on this machine: whether it keeps finished jobs, its log, and
    /// its documents.
    #[must_use]
    pub fn with_records(
        self,
        keeps_history: Option<bool>,
        log: Option<JobLog>,
        documents: Option<Documents>,
    ) -> Self {
        // With a history, a document may be kept longer than its job.
        let documents = documents.filter(|_| keeps_history == Some(false));
        self.load.book(|book| book.documents = documents);
        Self { keeps_history, log, ..self }
    }

    fn asking<T>(&self, work: impl FnOnce(&mut Asker<'_>) -> Result<T, Error>) -> Result<T, Error> {
        let first = self.places.first().ok_or(Error::Stopped)?;
        let user = &self.load.plan.user;
        work(&mut Asker::new(first, user, self.monitor, self.dial, self.patience))
    }

    /// Reads the state before the first job, and subscribes to events if no finished job is known.
    ///
    /// # Errors
    /// Fails if the spooler does not report jobs.
    pub fn begin(&mut self) -> Result<(), Error> {
        let mut over = self.over();
        if over.is_err() && self.places.len() < self.each.len() {
            // The server has no path for all of its printers.
            self.places = self.each.to_vec();
            over = self.over();
        }
        let has_history = self.keeps_history.unwrap_or(over?);
        if self.knows_no_numbers() {
            self.skip()?;
        }
        self.counts = self.counted();
        self.load.book(|book| book.has_history = has_history);
        let has_list = has_history || self.counts.is_some();
        // The log has numbers, but no names.
        if has_list || self.knows_no_numbers() {
            self.log = None;
        }
        if !has_list && self.log.is_none() {
            self.events = self.subscribed();
        }
        Ok(())
    }

    /// Reads the ends of jobs in the log, if it is used. A log that cannot be read is no longer
    /// used.
    fn read_log(&mut self) {
        let Some(log) = &mut self.log else { return };
        let Ok(ends) = log.read() else {
            self.log = None;
            return;
        };
        let tells = log.has_jobs;
        self.load.book(|book| {
            book.log_tells = tells;
            for end in ends {
                let (id, state, reasons) = (end.id, end.state, end.message);
                book.event(&ReportedJob { id, state, reasons, number: None });
            }
        });
    }

    /// Returns the server's counts, if it has any.
    fn counted(&self) -> Option<OutcomeCounts> {
        let first = self.each.first()?;
        let (monitor, patience) = (self.monitor, self.patience);
        let page = get(first, PATH, &[], monitor, self.dial, patience, MAX_METRICS).ok()?;
        let printers = self.each.iter().map(queue_name).collect();
        let text = String::from_utf8_lossy(&page.bytes);
        (page.status == 200).then(|| counted(&text, &printers)).flatten()
    }

    /// Reads the counts if they cover jobs that the list no longer has.
    fn count(&mut self) {
        let unknown = self.load.outcomes(true).map_or(0, |outcomes| outcomes.unknown);
        let Some(before) = self.counts.filter(|_| unknown > 0) else { return };
        let ends = self.counted().and_then(|now| now.since(before));
        if let Some(ends) = ends {
            self.load.book(|book| book.count(ends));
        }
        self.has_counts = ends.is_some();
    }

    fn subscribed(&self) -> Option<Subscription> {
        // Each of several subscriptions would report only its own printer.
        let place = self.places.first().filter(|_| self.places.len() == 1)?;
        self.asking(|asker| Subscription::begin(asker, place)).ok()
    }

    /// Returns whether there is a finished job.
    fn over(&self) -> Result<bool, Error> {
        self.asking(|asker| {
            for place in &self.places {
                if !list(asker, place, "completed", (1, 1), &|_| None)?.is_empty() {
                    return Ok(true);
                }
            }
            Ok(false)
        })
    }

    /// Returns whether jobs are known by their names alone: neither LPR nor `lpr` gives a number.
    fn knows_no_numbers(&self) -> bool {
        match &self.load.plan.way {
            Submission::Program(program) => *program == super::Program::Lpr,
            Submission::Job(_) => {
                self.load.plan.queues.first().is_some_and(|it| it.protocol == Protocol::Lpr)
            }
        }
    }

    /// Skips earlier jobs, which may have the same names.
    fn skip(&mut self) -> Result<(), Error> {
        let mut floor = self.floor;
        self.asking(|asker| {
            for place in &self.places {
                for _ in 0..MAX_FIRST_PAGES {
                    let page = list(asker, place, "all", (floor, PAGE), &|_| None)?;
                    let highest = page.iter().map(|job| job.id).max();
                    floor = floor.max(highest.map_or(floor, |id| id.saturating_add(1)));
                    if page.len() < PAGE {
                        break;
                    }
                }
            }
            Ok(())
        })?;
        self.floor = floor;
        Ok(())
    }

    /// Returns the number of a job here, by its name.
    fn number(name: &str, load: &Load) -> Option<u64> {
        let digits = name.strip_prefix(load.plan.name.as_str())?.strip_prefix(' ')?;
        digits.parse().ok()
    }

    /// Reads the log, if it is used. Otherwise asks once for events, if they are used, and for a
    /// page of jobs.
    ///
    /// # Errors
    /// Fails without an answer, or if the server refuses.
    pub fn follow(&mut self) -> Result<FollowOutcome, Error> {
        let mut followed = FollowOutcome::default();
        if self.log.is_some() {
            self.read_log();
            return Ok(FollowOutcome { by_log: true, ..followed });
        }
        if self.events.is_some() {
            followed.has_more = self.take_events()?;
        }
        followed.is_whole = self.page(false, false)?;
        self.confirm()?;
        followed.has_more |= self.sweep.is_some();
        Ok(followed)
    }

    /// Checks whether a job that was finished at an earlier look is still known: a spooler without
    /// a history lists it for a moment.
    fn confirm(&mut self) -> Result<(), Error> {
        let is_known = self.load.book(|book| book.has_history).unwrap_or(true);
        if is_known || self.keeps_history.is_some() || self.confirmed {
            return Ok(());
        }
        let first = self.load.book(|book| book.timed().first().copied()).flatten();
        let Some(over) = self.over_first else {
            self.over_first = first;
            return Ok(());
        };
        self.confirmed = true;
        let has_history = self.has(over)?;
        self.load.book(|book| book.has_history = has_history);
        Ok(())
    }

    /// Returns whether the spooler knows a job.
    fn has(&self, id: i32) -> Result<bool, Error> {
        self.asking(|asker| {
            for place in &self.places {
                let mut request = asker.request_at(Operation::GET_JOB_ATTRIBUTES, place);
                request.add("job-id", Value::Integer(id));
                request.want(&["job-state"]);
                match asker.ask(&request) {
                    Ok(_) => return Ok(true),
                    Err(Error::Ipp { .. }) => {}
                    Err(error) => return Err(error),
                }
            }
            Ok(false)
        })
    }

    /// Asks for events alone. Returns whether there were many; nothing if events are not used.
    ///
    /// # Errors
    /// Fails without an answer, or if the server refuses.
    pub fn hear(&mut self) -> Result<Option<bool>, Error> {
        if self.events.is_none() {
            return Ok(None);
        }
        self.take_events().map(Some)
    }

    fn take_events(&mut self) -> Result<bool, Error> {
        let load = self.load;
        let Some(mut events) = self.events.take() else { return Ok(false) };
        let number = |name: &str| Self::number(name, load);
        let ended = self.asking(|asker| events.ended(asker, &number));
        self.events = Some(events);
        let ended = match ended {
            // A restarted server may have forgotten the subscription.
            Err(Error::Ipp { .. }) => {
                self.events = self.subscribed();
                Vec::new()
            }
            ended => ended?,
        };
        self.load.book(|book| ended.iter().for_each(|seen| book.event(seen)));
        Ok(ended.len() >= MANY_EVENTS)
    }

    /// Asks for all jobs, to the end. Jobs that are not found then are lost; those without a number
    /// only if it is `late` for them to appear.
    ///
    /// # Errors
    /// Fails without an answer, or if the server refuses.
    pub fn finish(&mut self, late: bool) -> Result<(), Error> {
        while self.hear()? == Some(true) {}
        self.sweep = None;
        while !self.page(true, late)? {
            if self.sweep.is_none() {
                break;
            }
        }
        self.count();
        // A job that is finished now was finished a moment ago.
        self.confirm()?;
        self.confirm()?;
        self.explain();
        Ok(())
    }

    /// Returns the waiting and printing times of jobs from the spooler's records; nothing if it
    /// keeps none.
    pub fn times(&self) -> Option<JobTimes> {
        let ids = self.load.book(|book| book.has_history.then(|| book.timed().to_vec()))??;
        let place = self.places.first()?;
        let mut times = Vec::with_capacity(ids.len());
        for id in ids {
            let asked = self.asking(|asker| {
                let mut request = asker.request_at(Operation::GET_JOB_ATTRIBUTES, place);
                request.add("job-id", Value::Integer(id));
                request.want(&TIMES);
                asker.ask(&request)
            });
            match asked {
                Ok(answer) => {
                    let time = |name| answer.number(GroupTag::JOB, name);
                    let [created, begun, over] = TIMES.map(time);
                    if let (Some(created), Some(begun), Some(over)) = (created, begun, over) {
                        times.push([created, begun, over]);
                    }
                }
                // It has forgotten this job.
                Err(Error::Ipp { .. }) => {}
                Err(_) => break,
            }
        }
        JobTimes::of(&times)
    }

    /// Cancels the subscription.
    pub fn end(&mut self) {
        if let Some(events) = self.events.take() {
            let ended = self.asking(|asker| {
                events.end(asker);
                Ok(())
            });
            // The subscription expires by itself, too.
            let _: Result<(), Error> = ended;
        }
    }

    /// Returns the source of the outcomes; nothing if there is none.
    pub fn known_by(&self) -> Option<OutcomeSource> {
        let has_history = self.load.book(|book| book.has_history)?;
        if self.has_counts {
            return Some(OutcomeSource::Counts);
        }
        Some(match (has_history, &self.log, &self.events) {
            (false, Some(_), _) => OutcomeSource::Log,
            (false, None, Some(_)) => OutcomeSource::Events,
            _ => OutcomeSource::History,
        })
    }

    /// Reads a page of jobs. Returns whether it was the last one. At the last time, events are not
    /// awaited.
    fn page(&mut self, is_last: bool, late: bool) -> Result<bool, Error> {
        let load = self.load;
        let mut under_way = match self.sweep.take() {
            Some(under_way) => under_way,
            None => {
                let begun =
                    load.book(|book| (book.open() > 0).then(|| (book.sweep(), book.lowest())));
                let Some((sweep, lowest)) = begun.flatten() else { return Ok(true) };
                let from = lowest.unwrap_or(self.floor).max(self.floor);
                // After a restart, numbers may be lower than before.
                let from = lowest.map_or(from, |lowest| lowest.min(from));
                ListingProgress { sweep, place: 0, from, is_whole: true, lowest: None, highest: 0 }
            }
        };
        let Some(place) = self.places.get(under_way.place).cloned() else { return Ok(true) };
        let number = |name: &str| Self::number(name, load);
        let from = under_way.from;
        let most = if self.knows_no_numbers() { NAMED_PAGE } else { PAGE };
        let asked = self.asking(|asker| match self.lists {
            ListSupport::All => list(asker, &place, "all", (from, most), &number),
            ListSupport::Both => {
                let mut jobs = list(asker, &place, "completed", (from, most), &number)?;
                jobs.extend(list(asker, &place, "not-completed", (from, most), &number)?);
                Ok(jobs)
            }
        });
        let jobs = match asked {
            Err(Error::Ipp { .. }) if self.lists == ListSupport::All => {
                self.lists = ListSupport::Both;
                return Ok(false);
            }
            jobs => jobs?,
        };
        load.book(|book| jobs.iter().for_each(|job| book.tell(&mut under_way.sweep, job)));
        let highest = jobs.iter().map(|job| job.id).max().unwrap_or(0);
        let live = jobs.iter().filter(|job| !job.state.is_over()).map(|job| job.id).min();
        under_way.lowest = match (under_way.lowest, live) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
        under_way.highest = under_way.highest.max(highest);
        let is_full = jobs.len() >= most;
        if is_full && self.lists == ListSupport::All && highest >= from {
            under_way.from = highest.saturating_add(1);
            self.sweep = Some(under_way);
            return Ok(false);
        }
        under_way.is_whole &= !is_full;
        if under_way.place + 1 < self.places.len() {
            let first = load.book(|book| book.lowest()).flatten();
            under_way.place += 1;
            under_way.from = first.unwrap_or(self.floor);
            self.sweep = Some(under_way);
            return Ok(false);
        }
        if under_way.is_whole {
            // A job that ended after the list has its line in the log by now.
            self.read_log();
            // Without a history, missing jobs are reported only at the end, or by events.
            load.book(|book| {
                let may_be_told = !book.has_history && !is_last;
                book.swept(under_way.sweep, may_be_told, late);
            });
            if self.places.len() == 1 {
                let next = under_way.highest.saturating_add(1);
                self.floor = self.floor.max(under_way.lowest.unwrap_or(next));
            }
        }
        Ok(true)
    }

    /// Asks for the text of the reasons of failed jobs.
    fn explain(&self) {
        let reasons = self.load.outcomes(true).map(|it| it.reasons).unwrap_or_default();
        for (place, reason) in reasons.iter().take(MAX_EXPLAINED).enumerate() {
            if reason.message.is_some() {
                continue;
            }
            let said = self.asking(|asker| {
                let mut said = None;
                for place in &self.places {
                    let mut request = asker.request_at(Operation::GET_JOB_ATTRIBUTES, place);
                    request.add("job-id", Value::Integer(reason.first_job_id));
                    request.want(&["job-printer-state-message", "job-state-message"]);
                    let answer = asker.ask(&request)?;
                    let group = answer.group(GroupTag::JOB);
                    let text = |name| group.and_then(|group| group.text(name));
                    let text = text("job-state-message").or(text("job-printer-state-message"));
                    said = text.map(|text| one_line(&text)).filter(|text| !text.is_empty());
                    if said.is_some() {
                        break;
                    }
                }
                Ok(said)
            });
            if let Ok(Some(said)) = said {
                self.load.book(|book| book.explain(place, said));
            }
        }
    }
}

/// Returns a list of jobs from a number on, up to a maximum number.
fn list(
    asker: &mut Asker<'_>,
    place: &Target,
    which: &str,
    (from, most): (i32, usize),
    number: &dyn Fn(&str) -> Option<u64>,
) -> Result<Vec<ReportedJob>, Error> {
    let mut request = asker.request_at(Operation::GET_JOBS, place);
    request.add("limit", Value::Integer(i32::try_from(most).unwrap_or(i32::MAX)));
    request.add("which-jobs", Value::keyword(which));
    if from > 1 {
        request.add("first-job-id", Value::Integer(from));
    }
    let mut wanted = vec!["job-id", "job-state", "job-state-reasons", "job-name"];
    wanted.extend((most == NAMED_PAGE).then_some(MAKES_IT_READ));
    request.want(&wanted);
    let answer = asker.ask(&request)?;
    let jobs = answer.groups.iter().filter(|group| group.tag == GroupTag::JOB);
    Ok(jobs.filter_map(|job| seen(job, "job-id", number)).collect())
}
