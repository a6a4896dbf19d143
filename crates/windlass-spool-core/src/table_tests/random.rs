//! Operations at random: what the table counts is what there is, the printers' order
//! is that of the rules, and a start finds what was there.

use proptest::prelude::*;

use super::*;

/// Something that happens. Numbers choose among the jobs that were ever there.
#[derive(Clone, Copy, Debug)]
enum TableEvent {
    File { place: usize, priority: u8, hold: u32, is_durable: bool },
    Open { place: usize, hold: u32 },
    GiveUp(usize),
    Add { job: usize, has_one: bool, is_last: bool, is_kept: bool },
    MakeDurable(usize),
    Lose(usize),
    Hold(usize, u32),
    Release(usize),
    Cancel(usize),
    Restart(usize),
    Prefer(usize, u8),
    Next(usize),
    Progress(usize, u32),
    MayEnd(usize),
    Begin(usize),
    Finish(usize, u8),
    Stop(usize),
    Start(usize),
    Accept(usize, bool),
    Purge(usize),
    Move(usize, usize),
    MoveAll(usize, usize),
    Overdue,
    Wait(u32),
    Crash(bool),
}

fn step() -> impl Strategy<Value = TableEvent> {
    // Two printers, and a class of both.
    let place = || 0..3_usize;
    let job = || 0..1_000_usize;
    prop_oneof![
        6 => (place(), any::<u8>(), 0..300_u32, any::<bool>()).prop_map(
            |(place, priority, hold, is_durable)| TableEvent::File {
                place, priority: priority.clamp(1, 100), hold, is_durable
            }
        ),
        3 => (place(), 0..300_u32).prop_map(|(place, hold)| TableEvent::Open { place, hold }),
        1 => place().prop_map(TableEvent::GiveUp),
        4 => (job(), any::<bool>(), any::<bool>(), any::<bool>()).prop_map(
            |(job, has_one, is_last, is_kept)| TableEvent::Add { job, has_one, is_last, is_kept }
        ),
        3 => job().prop_map(TableEvent::MakeDurable),
        1 => job().prop_map(TableEvent::Lose),
        2 => (job(), 0..300_u32).prop_map(|(job, hold)| TableEvent::Hold(job, hold)),
        2 => job().prop_map(TableEvent::Release),
        2 => job().prop_map(TableEvent::Cancel),
        2 => job().prop_map(TableEvent::Restart),
        2 => (job(), any::<u8>()).prop_map(|(job, priority)| TableEvent::Prefer(job, priority)),
        6 => place().prop_map(TableEvent::Next),
        3 => place().prop_map(TableEvent::Begin),
        6 => (place(), 0..8_u8).prop_map(|(place, how)| TableEvent::Finish(place, how)),
        2 => (place(), 0..4_u32).prop_map(|(place, more)| TableEvent::Progress(place, more)),
        3 => place().prop_map(TableEvent::MayEnd),
        1 => place().prop_map(TableEvent::Stop),
        2 => place().prop_map(TableEvent::Start),
        1 => (place(), any::<bool>()).prop_map(|(place, yes)| TableEvent::Accept(place, yes)),
        1 => place().prop_map(TableEvent::Purge),
        2 => (job(), place()).prop_map(|(job, place)| TableEvent::Move(job, place)),
        1 => (place(), place()).prop_map(|(from, to)| TableEvent::MoveAll(from, to)),
        1 => Just(TableEvent::Overdue),
        2 => (0..400_u32).prop_map(TableEvent::Wait),
        1 => any::<bool>().prop_map(TableEvent::Crash),
    ]
}

/// None, without end, or until some time.
fn hold_of(number: u32, now: Moment) -> Option<Box<Hold>> {
    match number {
        0..100 => None,
        100..150 => Some(Box::new(Hold::indefinite())),
        _ => Some(Box::new(Hold { word: "23:59".into(), until: Some(now.after(SECOND * number)) })),
    }
}

fn rules() -> impl Strategy<Value = Rules> {
    let history = prop_oneof![Just(History::All), (0..6_usize).prop_map(History::Last),];
    (history, any::<bool>(), prop::option::of(1..20_usize), prop::option::of(1..3_u32)).prop_map(
        |(history, keeps_documents, max_jobs, max_attempts)| Rules {
            history,
            keeps_documents,
            max_jobs,
            max_attempts,
            ..Rules::default()
        },
    )
}

/// Returns the state of each job that a restart must restore.
fn picture(table: &JobTable, is_before: bool) -> BTreeMap<JobId, String> {
    let line = |job: &Job| {
        let mut job = job.clone();
        let prints = matches!(job.phase, Phase::Printing { is_canceled: false, .. });
        if is_before && prints && job.is_begun {
            // Its device may have any part of it.
            job.phase = Phase::Waiting;
            job.hold_back(restore::BEGUN);
        }
        let job = &job;
        let phase = match job.phase {
            // Its printer's part in it is not known after a start, and the client of
            // an open job has its time anew.
            Phase::Printing { is_canceled: false, .. } if is_before => "waiting".to_owned(),
            Phase::Printing { is_canceled: true, .. } if is_before => "canceled".to_owned(),
            phase => named_phase(phase).to_owned(),
        };
        let documents: Vec<_> =
            job.documents.iter().map(|one| (one.document.size(), one.name.clone())).collect();
        let is_ending = matches!(job.phase, Phase::Printing { is_canceled: true, .. });
        let documents = if is_before && is_ending && !table.rules.keeps_documents {
            Vec::new()
        } else {
            documents
        };
        let place = if is_before { table.place_after_crash(job) } else { job.printer };
        format!(
            "{} {phase} {:?} {documents:?} {} {} {:?} {} {:?}",
            table.printers[place].settings.name,
            job.ticket,
            job.size,
            job.count,
            job.created,
            job.delivered,
            job.failure,
        )
    };
    table.jobs.values().map(|job| (job.id, line(job))).collect()
}

struct Run {
    fixture: Fixture,
    ids: Vec<JobId>,
    delivered: BTreeMap<JobId, u32>,
    restarted: BTreeMap<JobId, u32>,
}

impl Run {
    fn id(&self, which: usize) -> JobId {
        if self.ids.is_empty() { 1 } else { self.ids[which % self.ids.len()] }
    }

    /// The job that has its turn, by the rules alone.
    fn turn(&self, place: usize) -> Option<JobId> {
        let printer = &self.fixture.table.printers[place];
        if printer.is_class() {
            return None;
        }
        let class = self.fixture.table.place("c").unwrap();
        let is_class_idle = self.fixture.table.printers[class].stopped.is_none();
        let takes_class = printer.is_accepting && is_class_idle;
        let is_late = printer.trouble.as_ref().is_some_and(|one| one.again > self.fixture.now);
        if printer.stopped.is_some() || printer.current.is_some() || is_late {
            return None;
        }
        let waits = |job: &&Job| {
            (job.printer == place || (takes_class && job.printer == class))
                && job.phase == Phase::Waiting
                && job.is_durable
        };
        let jobs = self.fixture.table.jobs.values().filter(waits);
        jobs.min_by_key(|job| (u8::MAX - job.ticket.priority, job.id)).map(|job| job.id)
    }

    fn came(&mut self, id: JobId) {
        assert!(!self.ids.contains(&id), "{id} is given twice");
        self.ids.push(id);
    }

    fn take(&mut self, step: TableEvent) {
        let now = self.fixture.now;
        let fixture = &mut self.fixture;
        match step {
            TableEvent::File { place, priority, hold, is_durable } => {
                if fixture.table.admit(place).is_err() {
                    return;
                }
                let documents = vec![fixture.document(10)];
                let copies = u16::from(priority % 3) + 1;
                let ticket = Ticket { priority, hold: hold_of(hold, now), copies, ..ticket("ann") };
                let id = fixture.table.file(place, ticket, documents, now);
                if is_durable {
                    fixture.table.made_durable(id);
                }
                self.came(id);
            }
            TableEvent::Open { place, hold } => {
                if fixture.table.admit(place).is_ok() {
                    let ticket = Ticket { hold: hold_of(hold, now), ..ticket("bob") };
                    let id = fixture.table.open(place, ticket, now);
                    self.came(id);
                }
            }
            TableEvent::GiveUp(place) => {
                if fixture.table.admit(place).is_ok() {
                    recount(&fixture.table);
                    fixture.table.give_up(place);
                }
            }
            TableEvent::Add { job, has_one, is_last, is_kept } => {
                let id = self.id(job);
                let fixture = &mut self.fixture;
                let document = has_one.then(|| fixture.document(20));
                if fixture.table.add(id, document, is_last, now).is_ok() {
                    recount(&fixture.table);
                    if is_kept {
                        fixture.table.made_durable(id);
                    } else {
                        fixture.table.withdraw(id, has_one, now);
                    }
                }
            }
            TableEvent::MakeDurable(job) => {
                let id = self.id(job);
                self.fixture.table.made_durable(id);
            }
            TableEvent::Lose(job) => {
                let id = self.id(job);
                let is_durable = self.fixture.table.job(id).is_none_or(|job| job.is_durable);
                if !is_durable {
                    self.fixture.table.lost(id);
                }
            }
            TableEvent::Hold(job, hold) => {
                let hold = hold_of(hold, now).map_or_else(Hold::indefinite, |hold| *hold);
                drop(self.fixture.table.hold_until(self.id(job), hold));
            }
            TableEvent::Release(job) => drop(self.fixture.table.release(self.id(job))),
            TableEvent::Cancel(job) => drop(self.fixture.table.cancel(self.id(job), now)),
            TableEvent::Restart(job) => {
                let id = self.id(job);
                if self.fixture.table.restart(id).is_ok() {
                    *self.restarted.entry(id).or_default() += 1;
                }
            }
            TableEvent::Prefer(job, priority) => {
                drop(self.fixture.table.prefer(self.id(job), priority));
            }
            TableEvent::Next(place) => {
                let turn = self.turn(place);
                assert_eq!(self.fixture.next(place), turn);
            }
            TableEvent::Progress(place, more) => {
                let current = fixture.table.printers[place].current;
                if let Some(job) = current.and_then(|id| fixture.table.job(id)) {
                    let passes = job.delivered + more;
                    fixture.table.progressed(place, passes);
                }
            }
            TableEvent::MayEnd(place) => {
                let current = fixture.table.printers[place].current;
                if fixture.table.may_end(place) {
                    let id = current.unwrap();
                    // Nobody takes it away any more.
                    assert!(fixture.table.cancel(id, now).is_err());
                    assert!(fixture.table.move_job(id, (place + 1) % 2, now).is_err());
                }
            }
            TableEvent::Begin(place) => fixture.table.begins(place),
            TableEvent::Finish(place, how) => {
                let outcome = match how {
                    0 | 1 => Outcome::Delivered,
                    2 => Outcome::Failed("no paper".to_owned()),
                    3 => Outcome::Refused("no such format".to_owned()),
                    4 => Outcome::Partial("it is gone".to_owned(), partials::part(40)),
                    5 => Outcome::Canceled("at its panel".to_owned()),
                    _ => Outcome::Interrupted,
                };
                let id = fixture.table.printers[place].current;
                if let (Some(id), Outcome::Delivered) = (id, &outcome) {
                    *self.delivered.entry(id).or_default() += 1;
                }
                self.fixture.finish(place, outcome);
            }
            TableEvent::Stop(place) => fixture.table.stop(place, "toner", now),
            TableEvent::Start(place) => fixture.table.start(place, now),
            TableEvent::Accept(place, yes) => fixture.table.accept(place, yes, now),
            TableEvent::Purge(place) => fixture.table.purge(place..place + 1),
            TableEvent::Move(job, to) => {
                drop(self.fixture.table.move_job(self.id(job), to, now));
            }
            TableEvent::MoveAll(from, to) => drop(fixture.table.move_all(from, to, now)),
            TableEvent::Overdue => {
                let next = fixture.table.overdue(now);
                let jobs = fixture.table.jobs.values();
                let held = jobs.filter(|job| job.phase == Phase::Held);
                let until = held.filter_map(|job| job.ticket.hold.as_ref()?.until).min();
                assert!(
                    until.is_none_or(|until| until > now && next.is_some_and(|next| next <= until))
                );
            }
            TableEvent::Wait(seconds) => fixture.wait(seconds),
            TableEvent::Crash(swaps) => self.crash(swaps),
        }
    }

    fn crash(&mut self, swaps: bool) {
        let fixture = &mut self.fixture;
        fixture.log();
        let before = picture(&fixture.table, true);
        let printers: Vec<_> =
            fixture.table.printers.iter().map(|one| one.settings.clone()).collect();
        let state = |table: &JobTable| {
            let state = |one: &Printer| {
                (one.settings.name.clone(), (one.stopped.clone(), one.is_accepting))
            };
            table.printers.iter().map(state).collect::<BTreeMap<_, _>>()
        };
        let states = state(&fixture.table);
        let printers = if swaps { printers.into_iter().rev().collect() } else { printers };
        assert_eq!(fixture.restarted(printers), []);
        let after = picture(&fixture.table, false);
        // Only what is over may be forgotten, where more of it is there now than is
        // to be known.
        let History::Last(_) = fixture.table.rules.history else {
            assert_eq!(after, before);
            return;
        };
        for (id, line) in &after {
            assert_eq!(Some(line), before.get(id));
        }
        let is_over =
            |line: &str| ["completed", "canceled", "aborted"].iter().any(|how| line.contains(how));
        assert!(before.iter().all(|(id, line)| after.contains_key(id) || is_over(line)));
        assert_eq!(state(&fixture.table), states);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    #[test]
    fn the_job_table_is_right_whatever_happens(
        rules in rules(),
        steps in prop::collection::vec(step(), 0..120),
    ) {
        let holds = PrinterSettings { on_refusal: OnRefusal::Hold, ..printer("b") };
        let members = ["a", "b"].map(str::to_owned).to_vec();
        let class = PrinterSettings::class("c", members);
        let fixture = Fixture::new(vec![printer("a"), holds, class], rules);
        let (delivered, restarted) = (BTreeMap::new(), BTreeMap::new());
        let mut run = Run { fixture, ids: Vec::new(), delivered, restarted };
        for step in steps {
            run.take(step);
            recount(&run.fixture.table);
            run.fixture.log();
            // The journal has what is known and no more.
            let jobs = run.fixture.journal.keys().filter(|key| **key != 0 && **key < PRINTER_KEY);
            prop_assert!(jobs.eq(run.fixture.table.jobs.keys()));
        }
        run.crash(true);
        for (id, times) in &run.delivered {
            let most = 1 + run.restarted.get(id).copied().unwrap_or(0);
            prop_assert!(*times <= most, "{} is delivered {} times", id, times);
        }
    }
}
