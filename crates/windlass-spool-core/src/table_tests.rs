#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fmt::Write as _;
use std::time::Duration;

use windlass_wire::ipp::Status;

use super::change::PRINTER_KEY;
use super::incoming::{MAX_NAMES, MAX_OPEN_OF_HOST, MAX_OPEN_OF_USER};
use super::*;
use crate::device::Device;
use crate::hold::Hold;
use crate::job::{Ending, Phase, Ticket};
use crate::printer::{OnError, OnRefusal, back_off};
use crate::written::LogPosition;

#[path = "table_tests/accounts.rs"]
mod accounts;
#[path = "table_tests/classes.rs"]
mod classes;
#[path = "table_tests/documents.rs"]
mod documents;
#[path = "table_tests/partials.rs"]
mod partials;
#[path = "table_tests/printers.rs"]
mod printers;
#[path = "table_tests/random.rs"]
mod random;
#[path = "table_tests/starts.rs"]
mod starts;

const SECOND: Duration = Duration::from_secs(1);
const START: Moment = Moment(1_000_000);

// Of documents a size is enough.
type JobTable = super::JobTable<u64>;
type Job = super::Job<u64>;
type FiledDocument = crate::job::FiledDocument<u64>;

/// A job table, a clock that a test moves, and the journal.
struct Fixture {
    table: JobTable,
    now: Moment,
    journal: BTreeMap<u32, (Vec<u8>, Vec<u64>)>,
}

fn printer(name: &str) -> PrinterSettings {
    PrinterSettings::new(name, Device::Drop)
}

fn ticket(user: &str) -> Ticket {
    Ticket { format: "application/pdf".into(), ..Ticket::new("report", user, "192.0.2.1") }
}

fn held() -> Ticket {
    Ticket { hold: Some(Box::new(Hold::indefinite())), ..ticket("ann") }
}

impl Fixture {
    fn new(printers: Vec<PrinterSettings>, rules: Rules) -> Self {
        Self { table: JobTable::new(printers, rules, START), now: START, journal: BTreeMap::new() }
    }

    fn plain() -> Self {
        Self::new(vec![printer("a"), printer("b")], Rules::default())
    }

    fn document(&self, bytes: u64) -> FiledDocument {
        FiledDocument { document: bytes, name: format!("{bytes} bytes").into() }
    }

    fn filed(&mut self, place: usize, ticket: Ticket) -> JobId {
        self.table.admit(place).unwrap();
        let documents = vec![self.document(1_000)];
        self.table.file(place, ticket, documents, self.now)
    }

    fn job(&mut self, place: usize) -> JobId {
        let id = self.filed(place, ticket("ann"));
        self.table.made_durable(id);
        id
    }

    fn opened(&mut self, ticket: Ticket) -> JobId {
        self.table.admit(0).unwrap();
        self.table.open(0, ticket, self.now)
    }

    fn add(&mut self, id: JobId, is_last: bool) -> Result<(), Refusal> {
        let document = self.document(1_000);
        self.table.add(id, Some(document), is_last, self.now)?;
        self.table.made_durable(id);
        Ok(())
    }

    fn wait(&mut self, seconds: u32) {
        self.now = self.now.after(SECOND * seconds);
    }

    /// The job that a printer gets.
    fn next(&mut self, place: usize) -> Option<JobId> {
        match self.table.next(place, self.now) {
            NextStep::Job(work) => Some(work.id),
            NextStep::At(_) | NextStep::Nothing => None,
        }
    }

    fn finish(&mut self, place: usize, outcome: Outcome) {
        self.table.finished(place, outcome, self.now);
    }

    fn fails(&mut self, place: usize) {
        self.finish(place, Outcome::Failed("no paper".to_owned()));
    }

    /// Delivers the next job.
    fn delivers(&mut self, place: usize) -> Option<JobId> {
        let id = self.next(place);
        self.finish(place, Outcome::Delivered);
        id
    }

    fn phase(&self, id: JobId) -> String {
        self.table.job(id).map_or("forgotten".to_owned(), |job| named_phase(job.phase).to_owned())
    }

    fn log(&mut self) {
        for change in self.table.orders().changes {
            match self.table.entry(change) {
                Entry::Put(key, record, documents) => {
                    self.journal.insert(key, (record, documents));
                }
                Entry::Remove(key) => drop(self.journal.remove(&key)),
            }
        }
    }

    fn kept(&self) -> Vec<StoredRecord<u64>> {
        let kept = |(id, (record, documents)): (&u32, &(Vec<u8>, Vec<u64>))| StoredRecord {
            id: *id,
            record: record.clone(),
            documents: documents.clone(),
        };
        self.journal.iter().map(kept).collect()
    }

    /// A crash, and a start with these printers.
    fn restarted(&mut self, printers: Vec<PrinterSettings>) -> Vec<Orphan> {
        self.log();
        self.table = JobTable::new(printers, *self.table.rules(), self.now);
        let orphans = self.table.restore(self.kept(), true, self.now);
        self.log();
        recount(&self.table);
        orphans
    }
}

const fn named_phase(phase: Phase) -> &'static str {
    match phase {
        Phase::Open { .. } => "open",
        Phase::Held => "held",
        Phase::Waiting => "waiting",
        Phase::Printing { is_canceled: false, .. } => "printing",
        Phase::Printing { is_canceled: true, .. } => "printing, canceled",
        Phase::Over { how: Ending::Completed, .. } => "completed",
        Phase::Over { how: Ending::Canceled, .. } => "canceled",
        Phase::Over { how: Ending::Aborted, .. } => "aborted",
    }
}

/// All that a job table counts, counted from its jobs.
fn recount(table: &JobTable) {
    let mut over = BTreeSet::new();
    let mut active = 0;
    for (place, printer) in table.printers.iter().enumerate() {
        let own = || table.jobs.values().filter(move |job| job.printer == place);
        let ids = |jobs: Vec<&Job>| jobs.into_iter().map(|job| job.id).collect::<BTreeSet<_>>();
        assert_eq!(printer.live, ids(own().filter(|job| !job.is_over()).collect()));
        assert_eq!(printer.over, ids(own().filter(|job| job.is_over()).collect()));
        let waiting = own().filter(|job| job.phase == Phase::Waiting && job.is_durable);
        let waiting: BTreeSet<_> =
            waiting.map(|job| urgency(job.ticket.priority, job.id)).collect();
        assert_eq!(printer.waiting, waiting);
        let printing = table.jobs.values().filter(|job| {
            matches!(job.phase, Phase::Printing { .. }) && job.at.unwrap_or(job.printer) == place
        });
        let printing: Vec<_> = printing.collect();
        assert_eq!(printer.current, printing.first().map(|job| job.id));
        assert!(printing.len() <= 1);
        active += printer.live.len() + printer.incoming;
        over.extend(&printer.over);
    }
    assert_eq!(table.active, active);
    assert_eq!(table.over.len(), over.len());
    assert_eq!(table.over.iter().copied().collect::<BTreeSet<_>>(), over);
    let open = table.jobs.values().filter_map(|job| match job.phase {
        Phase::Open { since } => Some((since, job.id)),
        _ => None,
    });
    assert_eq!(table.waits.open, open.collect());
    let timed = table.jobs.values().filter(|job| job.phase == Phase::Held);
    let timed = timed.filter_map(|job| Some((job.ticket.hold.as_ref()?.until?, job.id)));
    assert_eq!(table.waits.held, timed.collect());
    for job in table.jobs.values() {
        assert_eq!(usize::from(job.count), job.documents.len().max(usize::from(job.count)));
        if !job.is_over() {
            let size: u64 = job.documents.iter().map(|filed| filed.document.size()).sum();
            assert_eq!((job.size, usize::from(job.count)), (size, job.documents.len()));
        }
        assert!(job.id < table.next || table.next == 1);
    }
    if let History::Last(most) = table.rules.history {
        assert!(table.over.len() <= most);
    }
    assert!(table.words.len() <= MAX_WORDS);
}

#[test]
fn a_job_is_filed_waits_is_printed_and_is_over() {
    let mut fixture = Fixture::plain();
    let id = fixture.filed(0, ticket("ann"));
    assert_eq!((id, fixture.phase(id).as_str()), (1, "waiting"));
    // It is not safe yet: nobody has it.
    assert_eq!(fixture.next(0), None);
    fixture.table.made_durable(id);
    assert_eq!(fixture.table.orders().wake, [0]);
    fixture.wait(1);
    assert_eq!(fixture.next(0), Some(id));
    assert_eq!(fixture.phase(id), "printing");
    // A printer has one job at a time, and the other printer none.
    fixture.job(0);
    assert_eq!((fixture.next(0), fixture.next(1)), (None, None));
    fixture.wait(1);
    fixture.finish(0, Outcome::Delivered);
    assert_eq!(fixture.phase(id), "completed");
    let job = fixture.table.job(id).unwrap();
    assert_eq!(job.began, Some(START.after(SECOND)));
    assert_eq!(job.ended(), Some(START.after(SECOND * 2)));
    assert!(job.documents.is_empty());
    assert_eq!((job.size, job.count, job.attempts), (1_000, 1, 1));
    let counts = fixture.table.printers()[0].counts;
    assert_eq!((counts.accepted, counts.completed, counts.bytes_in), (2, 1, 2_000));
    assert_eq!(counts.bytes_out, 1_000);
    assert_eq!(fixture.table.active(), 1);
    recount(&fixture.table);
}

/// A job in each phase that there is.
fn in_phase(phase: &str) -> (Fixture, JobId) {
    let keeps = Rules { keeps_documents: true, ..Rules::default() };
    let rules = if phase == "completed, kept" { keeps } else { Rules::default() };
    let mut fixture = Fixture::new(vec![printer("a")], rules);
    let id = match phase {
        "open" => fixture.opened(ticket("ann")),
        "open with one" => {
            let id = fixture.opened(ticket("ann"));
            fixture.add(id, false).unwrap();
            id
        }
        "held" => {
            let id = fixture.filed(0, held());
            fixture.table.made_durable(id);
            id
        }
        "not safe yet" => fixture.filed(0, ticket("ann")),
        _ => fixture.job(0),
    };
    match phase {
        "printing" => drop(fixture.next(0)),
        "printing, canceled" => {
            fixture.next(0);
            assert_eq!(fixture.table.cancel(id, fixture.now), Ok(true));
        }
        "completed" | "completed, kept" => drop(fixture.delivers(0)),
        "canceled" => assert_eq!(fixture.table.cancel(id, fixture.now), Ok(false)),
        "forgotten" => {
            fixture.delivers(0);
            fixture.table.purge(0..1);
        }
        _ => {}
    }
    (fixture, id)
}

#[test]
fn each_operation_in_each_phase() {
    type Operation = fn(&mut Fixture, JobId) -> Result<(), Refusal>;
    let operations: [(&str, Operation); 10] = [
        ("hold", |fixture, id| fixture.table.hold(id)),
        ("release", |fixture, id| fixture.table.release(id)),
        ("cancel", |fixture, id| fixture.table.cancel(id, fixture.now).map(drop)),
        ("restart", |fixture, id| fixture.table.restart(id)),
        ("priority", |fixture, id| fixture.table.prefer(id, 80)),
        ("document", |fixture, id| fixture.add(id, false)),
        ("last document", |fixture, id| fixture.add(id, true)),
        ("close", |fixture, id| {
            fixture.table.add(id, None, true, fixture.now)?;
            fixture.table.made_durable(id);
            Ok(())
        }),
        ("delivered", |fixture, _| {
            fixture.finish(0, Outcome::Delivered);
            Ok(())
        }),
        ("failed", |fixture, _| {
            fixture.fails(0);
            Ok(())
        }),
    ];
    let phases = [
        "open",
        "open with one",
        "held",
        "not safe yet",
        "waiting",
        "printing",
        "printing, canceled",
        "completed",
        "completed, kept",
        "canceled",
        "forgotten",
    ];
    let mut table = String::new();
    for phase in phases {
        writeln!(table, "{phase}").unwrap();
        for (name, operation) in operations {
            let (mut fixture, id) = in_phase(phase);
            let done = operation(&mut fixture, id);
            recount(&fixture.table);
            let after = fixture.phase(id);
            let done = done.map_or_else(|refusal| refusal.to_string(), |()| "done".to_owned());
            writeln!(table, "  {name:<14} {after:<19} {done}").unwrap();
        }
    }
    insta::assert_snapshot!(table);
}

#[test]
fn the_most_urgent_goes_first_and_then_the_oldest() {
    let mut fixture = Fixture::plain();
    let ids: Vec<_> = (0..4).map(|_| fixture.job(0)).collect();
    fixture.table.prefer(ids[2], 90).unwrap();
    fixture.table.prefer(ids[0], 0).unwrap();
    assert_eq!(fixture.table.job(ids[0]).unwrap().ticket.priority, 1);
    fixture.table.prefer(ids[3], 255).unwrap();
    assert_eq!(fixture.table.job(ids[3]).unwrap().ticket.priority, 100);
    let order: Vec<_> = std::iter::from_fn(|| fixture.delivers(0)).collect();
    assert_eq!(order, [ids[3], ids[2], ids[1], ids[0]]);
}

#[test]
fn a_held_job_waits_for_its_release_and_others_pass() {
    let mut fixture = Fixture::plain();
    let first = fixture.filed(0, held());
    fixture.table.made_durable(first);
    let second = fixture.job(0);
    assert_eq!(fixture.delivers(0), Some(second));
    assert_eq!(fixture.next(0), None);
    fixture.table.release(first).unwrap();
    assert_eq!(fixture.delivers(0), Some(first));
    // One that is released before it is safe waits until it is.
    let third = fixture.filed(0, held());
    fixture.table.release(third).unwrap();
    assert_eq!(fixture.next(0), None);
    fixture.table.made_durable(third);
    assert_eq!(fixture.delivers(0), Some(third));
}

#[test]
fn a_device_that_fails_is_tried_later_and_later() {
    let mut fixture = Fixture::plain();
    let id = fixture.job(0);
    let mut waits = Vec::new();
    for _ in 0..9 {
        assert_eq!(fixture.next(0), Some(id));
        fixture.fails(0);
        let NextStep::At(then) = fixture.table.next(0, fixture.now) else { panic!("it waits") };
        waits.push(fixture.now.until(then).as_secs());
        fixture.now = then;
    }
    assert_eq!(waits, [1, 2, 4, 8, 16, 32, 60, 60, 60]);
    assert_eq!(fixture.table.job(id).unwrap().failure.as_deref(), Some("no paper"));
    assert_eq!(back_off(u32::MAX), Duration::from_secs(60));
    // A delivery ends the failure state, so the wait after the next failure is short again.
    assert_eq!(fixture.delivers(0), Some(id));
    assert_eq!(fixture.table.printers()[0].trouble, None);
    let next = fixture.job(0);
    assert_eq!(fixture.next(0), Some(next), "it does not wait");
    fixture.fails(0);
    assert_eq!(fixture.table.ready(0, fixture.now), NextStep::At(fixture.now.after(SECOND)));
    // To start the printer is to try at once.
    fixture.table.start(0, fixture.now);
    assert!(fixture.next(0).is_some());
    assert_eq!(fixture.table.printers()[0].counts.failures, 10);
}

#[test]
fn a_clock_that_is_set_back_keeps_no_device_waiting() {
    let mut fixture = Fixture::plain();
    let id = fixture.job(0);
    for _ in 0..5 {
        fixture.wait(60);
        assert_eq!(fixture.next(0), Some(id));
        fixture.fails(0);
    }
    assert_eq!(fixture.next(0), None, "it is tried in 16 s");
    fixture.now = Moment(fixture.now.0 - 600_000);
    assert_eq!(fixture.next(0), Some(id));
    // From here on by the clock as it is.
    fixture.fails(0);
    assert_eq!(fixture.table.ready(0, fixture.now), NextStep::At(fixture.now.after(SECOND * 32)));
}

#[test]
fn a_device_that_is_busy_is_asked_again_and_does_not_fail() {
    let rules = Rules { max_attempts: Some(1), ..Rules::default() };
    let aborts = PrinterSettings { on_error: OnError::Abort, ..printer("a") };
    let mut fixture = Fixture::new(vec![aborts], rules);
    let id = fixture.job(0);
    for _ in 0..5 {
        assert_eq!(fixture.next(0), Some(id));
        fixture.finish(0, Outcome::Busy("another job".to_owned()));
        assert_eq!(fixture.table.ready(0, fixture.now), NextStep::At(fixture.now.after(SECOND)));
        fixture.wait(1);
    }
    assert_eq!(fixture.delivers(0), Some(id));
    let counts = fixture.table.printers()[0].counts;
    assert_eq!((counts.completed, counts.failures, counts.aborted), (1, 0, 0));
}

#[test]
fn a_job_is_given_up_after_its_attempts_or_by_policy() {
    let rules = Rules { max_attempts: Some(2), ..Rules::default() };
    let aborts = PrinterSettings { on_error: OnError::Abort, ..printer("b") };
    let stops = PrinterSettings { on_error: OnError::Stop, ..printer("c") };
    let mut fixture = Fixture::new(vec![printer("a"), aborts, stops], rules);
    let ids = [fixture.job(0), fixture.job(1), fixture.job(2)];
    for (place, id) in ids.into_iter().enumerate() {
        assert_eq!(fixture.next(place), Some(id));
        fixture.fails(place);
    }
    assert_eq!(ids.map(|id| fixture.phase(id)), ["waiting", "aborted", "waiting"]);
    assert_eq!(fixture.table.printers()[2].stopped.as_deref(), Some("no paper"));
    assert_eq!(fixture.next(2), None);
    fixture.wait(1);
    assert_eq!(fixture.next(0), Some(ids[0]));
    fixture.fails(0);
    assert_eq!(fixture.phase(ids[0]), "aborted");
    assert_eq!(fixture.table.printers()[0].trouble, None);
    // The stopped printer goes on when it is started.
    fixture.table.start(2, fixture.now);
    assert_eq!(fixture.delivers(2), Some(ids[2]));
    recount(&fixture.table);
}

#[test]
fn what_a_device_refuses_for_good_is_not_tried_again_and_keeps_nobody_waiting() {
    let holds = PrinterSettings { on_refusal: OnRefusal::Hold, ..printer("b") };
    let stops = PrinterSettings { on_error: OnError::Stop, ..printer("c") };
    let mut fixture = Fixture::new(vec![printer("a"), holds, stops], Rules::default());
    for (place, phase) in ["aborted", "held", "aborted"].into_iter().enumerate() {
        let (id, behind) = (fixture.job(place), fixture.job(place));
        fixture.next(place);
        fixture.finish(place, Outcome::Failed("no paper".to_owned()));
        fixture.table.start(place, fixture.now);
        fixture.next(place);
        fixture.finish(place, Outcome::Refused("no such format".to_owned()));
        assert_eq!(fixture.phase(id), phase);
        assert_eq!(fixture.table.job(id).unwrap().failure.as_deref(), Some("no such format"));
        let printer = &fixture.table.printers()[place];
        assert_eq!((&printer.stopped, &printer.trouble), (&None, &None));
        assert_eq!(printer.counts.failures, 2);
        assert_eq!(fixture.delivers(place), Some(behind));
        recount(&fixture.table);
    }
    // The one that is held is so after a start, too, and has another try when it is released.
    let held = fixture.table.known(Some(1), 0).next().unwrap().id;
    fixture.restarted(vec![printer("b")]);
    assert_eq!(fixture.phase(held), "held");
    fixture.table.release(held).unwrap();
    assert_eq!(fixture.delivers(0), Some(held));
}

#[test]
fn what_a_device_has_of_a_job_outlives_a_failure_and_a_crash() {
    let mut fixture = Fixture::plain();
    let id = fixture.filed(0, Ticket { copies: 5, ..ticket("ann") });
    fixture.table.made_durable(id);
    fixture.next(0);
    fixture.table.progressed(0, 2);
    fixture.fails(0);
    let delivered = |fixture: &Fixture| fixture.table.job(id).unwrap().delivered;
    assert_eq!(delivered(&fixture), 2);
    fixture.wait(1);
    fixture.next(0);
    fixture.table.progressed(0, 3);
    fixture.restarted(vec![printer("a")]);
    assert_eq!(delivered(&fixture), 3);
    assert_eq!(fixture.delivers(0), Some(id));
    // The device got all copies; a job that is printed again is printed whole.
    assert_eq!(fixture.table.printers()[0].counts.bytes_out, 5_000);
    let rules = Rules { keeps_documents: true, ..Rules::default() };
    let mut fixture = Fixture::new(vec![printer("a")], rules);
    let id = fixture.job(0);
    fixture.next(0);
    fixture.table.progressed(0, 9);
    assert_eq!(fixture.table.job(id).unwrap().delivered, 1, "there are no more");
    fixture.finish(0, Outcome::Delivered);
    fixture.table.restart(id).unwrap();
    assert_eq!(fixture.table.job(id).unwrap().delivered, 0);
}

#[test]
fn what_a_device_says_is_kept_in_part_only() {
    let mut fixture = Fixture::plain();
    let id = fixture.job(0);
    fixture.next(0);
    fixture.finish(0, Outcome::Failed("é".repeat(40_000)));
    assert_eq!(fixture.table.job(id).unwrap().failure.as_ref().unwrap().len(), 1_022);
    fixture.table.stop(0, &"x".repeat(40_000), fixture.now);
    assert_eq!(fixture.table.printers()[0].stopped.as_ref().unwrap().len(), 1_023);
}

#[test]
fn jobs_that_are_over_are_known_as_long_as_the_rules_say() {
    for (history, known) in [
        (History::All, vec![1, 2, 3, 4, 5]),
        (History::Last(2), vec![4, 5]),
        (History::Last(0), vec![]),
    ] {
        let mut fixture = Fixture::new(vec![printer("a")], Rules { history, ..Rules::default() });
        for _ in 0..5 {
            fixture.job(0);
            fixture.delivers(0);
        }
        let ids: Vec<_> = fixture.table.known(None, 0).map(|job| job.id).collect();
        assert_eq!(ids, known, "{history:?}");
        let over: Vec<_> = fixture.table.over(None, 0).map(|job| job.id).collect();
        assert_eq!(over, known.iter().rev().copied().collect::<Vec<_>>());
        fixture.log();
        let logged: Vec<_> = fixture.journal.keys().copied().filter(|key| *key != 0).collect();
        assert_eq!(logged, known, "{history:?}");
        recount(&fixture.table);
    }
}

#[test]
fn too_many_jobs_are_refused_those_on_their_way_in_among_them() {
    let two = PrinterSettings { max_jobs: Some(2), ..printer("a") };
    let rules = Rules { max_jobs: Some(3), ..Rules::default() };
    let mut fixture = Fixture::new(vec![two, printer("b")], rules);
    fixture.job(0);
    fixture.table.admit(0).unwrap();
    let no = fixture.table.admit(0).unwrap_err();
    assert_eq!(no.to_string(), "too many jobs: the limit of \"a\" is 2");
    fixture.job(1);
    let no = fixture.table.admit(1).unwrap_err();
    assert_eq!(no.to_string(), "too many jobs: the limit of the spool is 3");
    assert_eq!(no.status(), Status::TOO_MANY_JOBS);
    // One that does not come makes room, and so does one that is over.
    fixture.table.give_up(0);
    fixture.job(1);
    assert!(fixture.table.admit(1).is_err());
    fixture.delivers(1);
    fixture.job(1);
    assert_eq!(fixture.table.printers()[0].counts.refused, 2);
    fixture.table.accept(1, false, fixture.now);
    assert_eq!(fixture.table.admit(1), Err(Refusal::NotAccepting("b".to_owned())));
    recount(&fixture.table);
}

#[test]
fn a_purge_forgets_what_is_over_of_its_printers_alone() {
    let mut fixture = Fixture::plain();
    for place in [0, 1, 0, 1] {
        fixture.job(place);
        fixture.delivers(place);
    }
    let live = fixture.job(0);
    fixture.table.purge(0..1);
    let known: Vec<_> = fixture.table.known(None, 0).map(|job| job.id).collect();
    assert_eq!(known, [2, 4, live]);
    recount(&fixture.table);
    fixture.table.purge(0..2);
    assert_eq!(fixture.table.over(None, 0).count(), 0);
    fixture.log();
    assert_eq!(fixture.journal.keys().copied().collect::<Vec<_>>(), [0, live]);
}

#[test]
fn a_job_that_is_printed_again_counts_as_new() {
    let rules = Rules { keeps_documents: true, history: History::Last(2), ..Rules::default() };
    let mut fixture = Fixture::new(vec![printer("a")], rules);
    let (first, second) = (fixture.job(0), fixture.job(0));
    fixture.delivers(0);
    fixture.delivers(0);
    fixture.table.restart(first).unwrap();
    recount(&fixture.table);
    assert_eq!(fixture.delivers(0), Some(first));
    let job = fixture.table.job(first).unwrap();
    assert_eq!((job.attempts, job.documents.len()), (1, 1));
    // It ended last now: the other is forgotten before it.
    fixture.job(0);
    fixture.delivers(0);
    assert_eq!(
        (fixture.phase(first).as_str(), fixture.phase(second).as_str()),
        ("completed", "forgotten")
    );
    recount(&fixture.table);
}

#[test]
fn a_server_that_ends_leaves_jobs_for_the_next() {
    let mut fixture = Fixture::plain();
    let id = fixture.job(0);
    fixture.next(0);
    fixture.finish(0, Outcome::Interrupted);
    assert_eq!(fixture.phase(id), "waiting");
    fixture.next(0);
    fixture.table.cancel(id, fixture.now).unwrap();
    fixture.finish(0, Outcome::Interrupted);
    assert_eq!(fixture.phase(id), "canceled");
}
