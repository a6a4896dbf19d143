#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fmt::Write as _;
use std::time::Duration;

use windlass_wire::ipp::Status;

use super::change::PRINTER_KEY;
use super::incoming::MOST_NAMES;
use super::*;
use crate::device::Device;
use crate::job::{Ending, Phase, Ticket};
use crate::printer::{OnError, back_off};

#[path = "table_tests/documents.rs"]
mod documents;
#[path = "table_tests/random.rs"]
mod random;
#[path = "table_tests/starts.rs"]
mod starts;

const SECOND: Duration = Duration::from_secs(1);
const START: Moment = Moment(1_000_000);

// Of documents a size is enough.
type JobTable = super::JobTable<u64>;
type Job = super::Job<u64>;
type Filed = crate::job::Filed<u64>;

/// A job table, a clock that a test moves, and the journal.
struct Desk {
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
    Ticket { is_held: true, ..ticket("ann") }
}

impl Desk {
    fn new(printers: Vec<PrinterSettings>, rules: Rules) -> Self {
        Self { table: JobTable::new(printers, rules, START), now: START, journal: BTreeMap::new() }
    }

    fn plain() -> Self {
        Self::new(vec![printer("a"), printer("b")], Rules::default())
    }

    fn document(&self, bytes: u64) -> Filed {
        Filed { document: bytes, name: format!("{bytes} bytes").into() }
    }

    fn filed(&mut self, place: usize, ticket: Ticket) -> JobId {
        self.table.admit(place).unwrap();
        let documents = vec![self.document(1_000)];
        self.table.file(place, ticket, documents, self.now)
    }

    fn job(&mut self, place: usize) -> JobId {
        let id = self.filed(place, ticket("ann"));
        self.table.settled(id);
        id
    }

    fn opened(&mut self, ticket: Ticket) -> JobId {
        self.table.admit(0).unwrap();
        self.table.open(0, ticket, self.now)
    }

    fn add(&mut self, id: JobId, is_last: bool) -> Result<(), Refusal> {
        let document = self.document(1_000);
        self.table.add(id, Some(document), is_last, self.now)?;
        self.table.settled(id);
        Ok(())
    }

    fn wait(&mut self, seconds: u32) {
        self.now = self.now.after(SECOND * seconds);
    }

    /// The job that a printer gets.
    fn next(&mut self, place: usize) -> Option<JobId> {
        match self.table.next(place, self.now) {
            Next::Job(work) => Some(work.id),
            Next::At(_) | Next::Nothing => None,
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
                Some(Entry::Put(key, record, documents)) => {
                    self.journal.insert(key, (record, documents));
                }
                Some(Entry::Remove(key)) => drop(self.journal.remove(&key)),
                None => {}
            }
        }
    }

    fn kept(&self) -> Vec<Kept<u64>> {
        let kept = |(id, (record, documents)): (&u32, &(Vec<u8>, Vec<u64>))| Kept {
            id: *id,
            record: record.clone(),
            documents: documents.clone(),
        };
        self.journal.iter().map(kept).collect()
    }

    /// A crash, and a start with these printers.
    fn restarted(&mut self, printers: Vec<PrinterSettings>) -> Vec<Stray> {
        self.log();
        self.table = JobTable::new(printers, *self.table.rules(), self.now);
        let strays = self.table.restore(self.kept(), true, self.now);
        self.log();
        recount(&self.table);
        strays
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
        let waiting = own().filter(|job| job.phase == Phase::Waiting && job.is_settled);
        let waiting: BTreeSet<_> =
            waiting.map(|job| urgency(job.ticket.priority, job.id)).collect();
        assert_eq!(printer.waiting, waiting);
        let printing: Vec<_> =
            own().filter(|job| matches!(job.phase, Phase::Printing { .. })).collect();
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
    assert_eq!(table.open, open.collect());
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
    assert!(table.words.len() <= MOST_WORDS);
}

#[test]
fn a_job_is_filed_waits_is_printed_and_is_over() {
    let mut desk = Desk::plain();
    let id = desk.filed(0, ticket("ann"));
    assert_eq!((id, desk.phase(id).as_str()), (1, "waiting"));
    // It is not safe yet: nobody has it.
    assert_eq!(desk.next(0), None);
    desk.table.settled(id);
    assert_eq!(desk.table.orders().wake, [0]);
    desk.wait(1);
    assert_eq!(desk.next(0), Some(id));
    assert_eq!(desk.phase(id), "printing");
    // A printer has one job at a time, and the other printer none.
    desk.job(0);
    assert_eq!((desk.next(0), desk.next(1)), (None, None));
    desk.wait(1);
    desk.finish(0, Outcome::Delivered);
    assert_eq!(desk.phase(id), "completed");
    let job = desk.table.job(id).unwrap();
    assert_eq!(job.began, Some(START.after(SECOND)));
    assert_eq!(job.ended(), Some(START.after(SECOND * 2)));
    assert!(job.documents.is_empty());
    assert_eq!((job.size, job.count, job.attempts), (1_000, 1, 1));
    let counts = desk.table.printers()[0].counts;
    assert_eq!((counts.accepted, counts.completed, counts.bytes_in), (2, 1, 2_000));
    assert_eq!(counts.bytes_out, 1_000);
    assert_eq!(desk.table.active(), 1);
    recount(&desk.table);
}

/// A job in each phase that there is.
fn in_phase(phase: &str) -> (Desk, JobId) {
    let keeps = Rules { keeps_documents: true, ..Rules::default() };
    let rules = if phase == "completed, kept" { keeps } else { Rules::default() };
    let mut desk = Desk::new(vec![printer("a")], rules);
    let id = match phase {
        "open" => desk.opened(ticket("ann")),
        "open with one" => {
            let id = desk.opened(ticket("ann"));
            desk.add(id, false).unwrap();
            id
        }
        "held" => {
            let id = desk.filed(0, held());
            desk.table.settled(id);
            id
        }
        "not safe yet" => desk.filed(0, ticket("ann")),
        _ => desk.job(0),
    };
    match phase {
        "printing" => drop(desk.next(0)),
        "printing, canceled" => {
            desk.next(0);
            assert_eq!(desk.table.cancel(id, desk.now), Ok(true));
        }
        "completed" | "completed, kept" => drop(desk.delivers(0)),
        "canceled" => assert_eq!(desk.table.cancel(id, desk.now), Ok(false)),
        "forgotten" => {
            desk.delivers(0);
            desk.table.purge(0..1);
        }
        _ => {}
    }
    (desk, id)
}

#[test]
fn each_operation_in_each_phase() {
    type Operation = fn(&mut Desk, JobId) -> Result<(), Refusal>;
    let operations: [(&str, Operation); 10] = [
        ("hold", |desk, id| desk.table.hold(id)),
        ("release", |desk, id| desk.table.release(id)),
        ("cancel", |desk, id| desk.table.cancel(id, desk.now).map(drop)),
        ("restart", |desk, id| desk.table.restart(id)),
        ("priority", |desk, id| desk.table.prefer(id, 80)),
        ("document", |desk, id| desk.add(id, false)),
        ("last document", |desk, id| desk.add(id, true)),
        ("close", |desk, id| {
            desk.table.add(id, None, true, desk.now)?;
            desk.table.settled(id);
            Ok(())
        }),
        ("delivered", |desk, _| {
            desk.finish(0, Outcome::Delivered);
            Ok(())
        }),
        ("failed", |desk, _| {
            desk.fails(0);
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
            let (mut desk, id) = in_phase(phase);
            let done = operation(&mut desk, id);
            recount(&desk.table);
            let after = desk.phase(id);
            let done = done.map_or_else(|refusal| refusal.to_string(), |()| "done".to_owned());
            writeln!(table, "  {name:<14} {after:<19} {done}").unwrap();
        }
    }
    insta::assert_snapshot!(table);
}

#[test]
fn the_most_urgent_goes_first_and_then_the_oldest() {
    let mut desk = Desk::plain();
    let ids: Vec<_> = (0..4).map(|_| desk.job(0)).collect();
    desk.table.prefer(ids[2], 90).unwrap();
    desk.table.prefer(ids[0], 0).unwrap();
    assert_eq!(desk.table.job(ids[0]).unwrap().ticket.priority, 1);
    desk.table.prefer(ids[3], 255).unwrap();
    assert_eq!(desk.table.job(ids[3]).unwrap().ticket.priority, 100);
    let order: Vec<_> = std::iter::from_fn(|| desk.delivers(0)).collect();
    assert_eq!(order, [ids[3], ids[2], ids[1], ids[0]]);
}

#[test]
fn a_held_job_waits_for_its_release_and_others_pass() {
    let mut desk = Desk::plain();
    let first = desk.filed(0, held());
    desk.table.settled(first);
    let second = desk.job(0);
    assert_eq!(desk.delivers(0), Some(second));
    assert_eq!(desk.next(0), None);
    desk.table.release(first).unwrap();
    assert_eq!(desk.delivers(0), Some(first));
    // One that is released before it is safe waits until it is.
    let third = desk.filed(0, held());
    desk.table.release(third).unwrap();
    assert_eq!(desk.next(0), None);
    desk.table.settled(third);
    assert_eq!(desk.delivers(0), Some(third));
}

#[test]
fn a_device_that_fails_is_tried_later_and_later() {
    let mut desk = Desk::plain();
    let id = desk.job(0);
    let mut waits = Vec::new();
    for _ in 0..9 {
        assert_eq!(desk.next(0), Some(id));
        desk.fails(0);
        let Next::At(then) = desk.table.next(0, desk.now) else { panic!("it waits") };
        waits.push(desk.now.until(then).as_secs());
        desk.now = then;
    }
    assert_eq!(waits, [1, 2, 4, 8, 16, 32, 60, 60, 60]);
    assert_eq!(desk.table.job(id).unwrap().failure.as_deref(), Some("no paper"));
    assert_eq!(back_off(u32::MAX), Duration::from_secs(60));
    // What is delivered ends the trouble, so the next failure waits shortly again.
    assert_eq!(desk.delivers(0), Some(id));
    assert_eq!(desk.table.printers()[0].trouble, None);
    let next = desk.job(0);
    assert_eq!(desk.next(0), Some(next), "it does not wait");
    desk.fails(0);
    assert_eq!(desk.table.ready(0, desk.now), Ready::At(desk.now.after(SECOND)));
    // To start the printer is to try at once.
    desk.table.start(0, desk.now);
    assert!(desk.next(0).is_some());
    assert_eq!(desk.table.printers()[0].counts.failures, 10);
}

#[test]
fn a_device_that_is_busy_is_asked_again_and_does_not_fail() {
    let rules = Rules { most_attempts: Some(1), ..Rules::default() };
    let aborts = PrinterSettings { on_error: OnError::Abort, ..printer("a") };
    let mut desk = Desk::new(vec![aborts], rules);
    let id = desk.job(0);
    for _ in 0..5 {
        assert_eq!(desk.next(0), Some(id));
        desk.finish(0, Outcome::Busy("another job".to_owned()));
        assert_eq!(desk.table.ready(0, desk.now), Ready::At(desk.now.after(SECOND)));
        desk.wait(1);
    }
    assert_eq!(desk.delivers(0), Some(id));
    let counts = desk.table.printers()[0].counts;
    assert_eq!((counts.completed, counts.failures, counts.aborted), (1, 0, 0));
}

#[test]
fn a_job_is_given_up_after_its_attempts_or_by_policy() {
    let rules = Rules { most_attempts: Some(2), ..Rules::default() };
    let aborts = PrinterSettings { on_error: OnError::Abort, ..printer("b") };
    let stops = PrinterSettings { on_error: OnError::Stop, ..printer("c") };
    let mut desk = Desk::new(vec![printer("a"), aborts, stops], rules);
    let ids = [desk.job(0), desk.job(1), desk.job(2)];
    for (place, id) in ids.into_iter().enumerate() {
        assert_eq!(desk.next(place), Some(id));
        desk.fails(place);
    }
    assert_eq!(ids.map(|id| desk.phase(id)), ["waiting", "aborted", "waiting"]);
    assert_eq!(desk.table.printers()[2].stopped.as_deref(), Some("no paper"));
    assert_eq!(desk.next(2), None);
    desk.wait(1);
    assert_eq!(desk.next(0), Some(ids[0]));
    desk.fails(0);
    assert_eq!(desk.phase(ids[0]), "aborted");
    assert_eq!(desk.table.printers()[0].trouble, None);
    // The stopped printer goes on when it is started.
    desk.table.start(2, desk.now);
    assert_eq!(desk.delivers(2), Some(ids[2]));
    recount(&desk.table);
}

#[test]
fn what_a_device_says_is_kept_in_part_only() {
    let mut desk = Desk::plain();
    let id = desk.job(0);
    desk.next(0);
    desk.finish(0, Outcome::Failed("é".repeat(40_000)));
    assert_eq!(desk.table.job(id).unwrap().failure.as_ref().unwrap().len(), 1_022);
    desk.table.stop(0, &"x".repeat(40_000), desk.now);
    assert_eq!(desk.table.printers()[0].stopped.as_ref().unwrap().len(), 1_023);
}

#[test]
fn jobs_that_are_over_are_known_as_long_as_the_rules_say() {
    for (history, known) in [
        (History::All, vec![1, 2, 3, 4, 5]),
        (History::Last(2), vec![4, 5]),
        (History::Last(0), vec![]),
    ] {
        let mut desk = Desk::new(vec![printer("a")], Rules { history, ..Rules::default() });
        for _ in 0..5 {
            desk.job(0);
            desk.delivers(0);
        }
        let ids: Vec<_> = desk.table.known(None, 0).map(|job| job.id).collect();
        assert_eq!(ids, known, "{history:?}");
        let over: Vec<_> = desk.table.over(None, 0).map(|job| job.id).collect();
        assert_eq!(over, known.iter().rev().copied().collect::<Vec<_>>());
        desk.log();
        let logged: Vec<_> = desk.journal.keys().copied().filter(|key| *key != 0).collect();
        assert_eq!(logged, known, "{history:?}");
        recount(&desk.table);
    }
}

#[test]
fn too_many_jobs_are_refused_those_on_their_way_in_among_them() {
    let two = PrinterSettings { most_jobs: Some(2), ..printer("a") };
    let rules = Rules { most_jobs: Some(3), ..Rules::default() };
    let mut desk = Desk::new(vec![two, printer("b")], rules);
    desk.job(0);
    desk.table.admit(0).unwrap();
    let no = desk.table.admit(0).unwrap_err();
    assert_eq!(no.to_string(), "too many jobs: \"a\" keeps 2 at a time");
    desk.job(1);
    let no = desk.table.admit(1).unwrap_err();
    assert_eq!(no.to_string(), "too many jobs: the spool keeps 3 at a time");
    assert_eq!(no.status(), Status::TOO_MANY_JOBS);
    // One that does not come makes room, and so does one that is over.
    desk.table.give_up(0);
    desk.job(1);
    assert!(desk.table.admit(1).is_err());
    desk.delivers(1);
    desk.job(1);
    assert_eq!(desk.table.printers()[0].counts.refused, 2);
    desk.table.accept(1, false, desk.now);
    assert_eq!(desk.table.admit(1), Err(Refusal::NotAccepting("b".to_owned())));
    recount(&desk.table);
}

#[test]
fn a_purge_forgets_what_is_over_of_its_printers_alone() {
    let mut desk = Desk::plain();
    for place in [0, 1, 0, 1] {
        desk.job(place);
        desk.delivers(place);
    }
    let live = desk.job(0);
    desk.table.purge(0..1);
    let known: Vec<_> = desk.table.known(None, 0).map(|job| job.id).collect();
    assert_eq!(known, [2, 4, live]);
    recount(&desk.table);
    desk.table.purge(0..2);
    assert_eq!(desk.table.over(None, 0).count(), 0);
    desk.log();
    assert_eq!(desk.journal.keys().copied().collect::<Vec<_>>(), [0, live]);
}

#[test]
fn a_job_that_is_printed_again_counts_as_new() {
    let rules = Rules { keeps_documents: true, history: History::Last(2), ..Rules::default() };
    let mut desk = Desk::new(vec![printer("a")], rules);
    let (first, second) = (desk.job(0), desk.job(0));
    desk.delivers(0);
    desk.delivers(0);
    desk.table.restart(first).unwrap();
    recount(&desk.table);
    assert_eq!(desk.delivers(0), Some(first));
    let job = desk.table.job(first).unwrap();
    assert_eq!((job.attempts, job.documents.len()), (1, 1));
    // It ended last now: the other is forgotten before it.
    desk.job(0);
    desk.delivers(0);
    assert_eq!(
        (desk.phase(first).as_str(), desk.phase(second).as_str()),
        ("completed", "forgotten")
    );
    recount(&desk.table);
}

#[test]
fn a_server_that_ends_leaves_jobs_for_the_next() {
    let mut desk = Desk::plain();
    let id = desk.job(0);
    desk.next(0);
    desk.finish(0, Outcome::Interrupted);
    assert_eq!(desk.phase(id), "waiting");
    desk.next(0);
    desk.table.cancel(id, desk.now).unwrap();
    desk.finish(0, Outcome::Interrupted);
    assert_eq!(desk.phase(id), "canceled");
}
