//! Tests of a store on a disk that loses unsynced data. Whatever the store was doing, a start finds
//! everything up to some point of the log. That includes all that was waited for, byte by byte.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::sync::Arc;

use proptest::prelude::*;

use super::simulated::{Chance, ServerEnd, SimulatedDisk};
use super::*;

/// A job in the model.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ModelJob {
    record: Vec<u8>,
    /// Seed and length of each document.
    documents: Vec<(u64, usize)>,
}

type JobsByNumber = BTreeMap<u32, ModelJob>;

/// Number of cases: enough for each kind of end; a long run takes more.
const CASES: u32 = 16;

const SHAPE: Shape = Shape { segment: 24, journal: 8_192, garbage: Some(3_000) };

fn data(seed: u64, length: usize) -> Vec<u8> {
    let mut chance = Chance(seed);
    let mut bytes = Vec::with_capacity(length + 8);
    while bytes.len() < length {
        bytes.extend(chance.next().to_le_bytes());
    }
    bytes.truncate(length);
    bytes
}

fn content(document: &Document) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    document.reader().read_to_end(&mut bytes).map_err(Error::io("read", "a document"))?;
    Ok(bytes)
}

/// A server, and its expected content.
struct Run {
    disk: SimulatedDisk,
    chance: Chance,
    store: Option<Store>,
    documents: BTreeMap<u32, Vec<Document>>,
    state: JobsByNumber,
    /// States after each entry since the last point that was waited for; the first of them is safe.
    states: Vec<JobsByNumber>,
    /// Documents of removed jobs that somebody still reads.
    held: Vec<(Document, u64, usize)>,
    drafts: Vec<Draft>,
    settings: Settings,
}

impl Run {
    fn new(seed: u64, capacity: u64, settings: Settings) -> Self {
        let disk = SimulatedDisk::new(capacity);
        let (store, kept) = load::open(Arc::new(disk.clone()), settings, SHAPE).unwrap();
        assert!(kept.is_empty());
        Self {
            disk,
            chance: Chance(seed),
            store: Some(store),
            documents: BTreeMap::new(),
            state: JobsByNumber::new(),
            states: vec![JobsByNumber::new()],
            held: Vec::new(),
            drafts: Vec::new(),
            settings,
        }
    }

    fn receive(&mut self) -> Result<(Document, u64, usize), Error> {
        let seed = self.chance.next();
        let length = match self.chance.below(10) {
            0 => 0,
            1..6 => self.chance.below(9_000),
            6..9 => self.chance.below(70_000),
            _ => self.chance.below(250_000),
        } as usize;
        let mut draft = self.store.as_ref().unwrap().draft();
        let bytes = data(seed, length);
        if self.chance.below(3) == 0 {
            draft.expect(length as u64);
        }
        let mut rest = &bytes[..];
        while !rest.is_empty() {
            let count = 1 + self.chance.below(30_000) as usize;
            let (now, later) = rest.split_at(count.min(rest.len()));
            draft.append(now)?;
            rest = later;
        }
        Ok((draft.finish()?, seed, length))
    }

    /// Makes a step. An error comes from the disk, or means that the disk is full.
    fn step(&mut self) -> Result<(), Error> {
        let id = 1 + self.chance.below(12) as u32;
        match self.chance.below(20) {
            0..8 => {
                let count = self.chance.below(3);
                let mut job = ModelJob { record: self.record(), documents: Vec::new() };
                let mut documents = Vec::new();
                for _ in 0..count {
                    let (document, seed, length) = self.receive()?;
                    documents.push(document);
                    job.documents.push((seed, length));
                }
                self.put(id, &job, documents)
            }
            // Another state of a job, with its documents or some of them.
            8..11 => {
                let Some(mut job) = self.state.get(&id).cloned() else { return Ok(()) };
                let mut documents = self.documents[&id].clone();
                job.record = self.record();
                if self.chance.below(4) == 0 {
                    job.documents.pop();
                    documents.pop();
                }
                self.put(id, &job, documents)
            }
            11..15 => self.remove(id),
            15 => {
                let others = [(); 2].map(|()| 1 + self.chance.below(12) as u32);
                self.remove_all(&[others[0], id, others[1]])
            }
            16 => {
                let bytes = data(self.chance.next(), self.chance.below(90_000) as usize);
                let mut draft = self.store.as_ref().unwrap().draft();
                draft.append(&bytes)?;
                self.drafts.push(draft);
                Ok(())
            }
            17 => {
                self.drafts.clear();
                for (document, seed, length) in self.held.drain(..) {
                    assert_eq!(content(&document)?, data(seed, length), "space of a held document");
                }
                Ok(())
            }
            _ => self.wait(),
        }
    }

    fn record(&mut self) -> Vec<u8> {
        let length = self.chance.below(400) as usize;
        data(self.chance.next(), length)
    }

    fn put(&mut self, id: u32, job: &ModelJob, documents: Vec<Document>) -> Result<(), Error> {
        let mut next = self.state.clone();
        next.insert(id, job.clone());
        let result = self.store.as_ref().unwrap().put(id, &job.record, &documents);
        self.logged(next, result)?;
        self.documents.insert(id, documents);
        Ok(())
    }

    fn remove(&mut self, id: u32) -> Result<(), Error> {
        let mut next = self.state.clone();
        if next.remove(&id).is_none() {
            return self.store.as_ref().unwrap().remove(id).map(drop);
        }
        let job = self.state[&id].clone();
        let result = self.store.as_ref().unwrap().remove(id);
        self.logged(next, result)?;
        let documents = self.documents.remove(&id).unwrap();
        if self.chance.below(2) == 0 {
            for (document, (seed, length)) in documents.into_iter().zip(job.documents) {
                self.held.push((document, seed, length));
            }
        }
        Ok(())
    }

    /// Removes several jobs at once. Some may not exist, or be named twice.
    fn remove_all(&mut self, ids: &[u32]) -> Result<(), Error> {
        let going: BTreeSet<u32> =
            ids.iter().copied().filter(|id| self.state.contains_key(id)).collect();
        let result = self.store.as_ref().unwrap().remove_all(ids);
        let mut next = self.state.clone();
        let mut steps = Vec::new();
        for id in &going {
            next.remove(id);
            steps.push(next.clone());
        }
        let Some(last) = steps.pop() else { return result.map(drop) };
        // A crash may find the first of them gone.
        let may_be_torn = match &result {
            Ok(_) => self.settings.durability == Durability::Fsync,
            Err(error) => !error.is_full(),
        };
        if may_be_torn {
            self.states.append(&mut steps);
        }
        self.logged(last, result)?;
        self.documents.retain(|id, _| !going.contains(id));
        Ok(())
    }

    fn logged(&mut self, next: JobsByNumber, result: Result<Ticket, Error>) -> Result<(), Error> {
        match result {
            Ok(_) => {
                self.state = next.clone();
                if self.settings.durability == Durability::Cache {
                    self.states.clear();
                }
                self.states.push(next);
                Ok(())
            }
            Err(error) if error.is_full() => Err(error),
            Err(error) => {
                // The entry may be there or not.
                self.states.push(next);
                Err(error)
            }
        }
    }

    fn wait(&mut self) -> Result<(), Error> {
        let store = self.store.as_ref().unwrap();
        let ticket = Ticket(store.lock().logged);
        store.wait(ticket)?;
        self.states = vec![self.state.clone()];
        Ok(())
    }

    /// Ends the server and starts another one.
    fn restart(&mut self, end: ServerEnd) {
        self.disk = self.disk.restart(end, &mut self.chance);
        // The disk accepts nothing from these any more.
        self.documents.clear();
        self.held.clear();
        self.drafts.clear();
        self.store = None;
        self.open();
    }

    fn open(&mut self) {
        let disk = Arc::new(self.disk.clone());
        let (store, kept) = load::open(disk, self.settings, SHAPE).unwrap();
        assert_eq!(store.recovery().lost, Vec::<u32>::new());
        let mut found = JobsByNumber::new();
        for job in kept {
            let known = self.states.iter().rev().find_map(|state| {
                let known = state.get(&job.id)?;
                let sizes = job.documents.iter().map(|document| document.size() as usize);
                (known.record == job.record && sizes.eq(known.documents.iter().map(|one| one.1)))
                    .then_some(known)
            });
            let known = known.expect("a job that was logged").clone();
            for (document, (seed, length)) in job.documents.iter().zip(&known.documents) {
                assert_eq!(content(document).unwrap(), data(*seed, *length), "job {}", job.id);
            }
            assert_eq!(found.insert(job.id, known), None, "it is there once");
            self.documents.insert(job.id, job.documents);
        }
        assert!(
            self.states.contains(&found),
            "there is {:?}, and it should be one of {:?}",
            found.keys().collect::<Vec<_>>(),
            self.states.iter().map(|state| state.keys().collect::<Vec<_>>()).collect::<Vec<_>>()
        );
        let usage = store.usage();
        let units: u64 = found
            .values()
            .flat_map(|job| &job.documents)
            .map(|(_, length)| (*length as u64).div_ceil(4_096) * 4_096)
            .sum();
        assert_eq!((usage.jobs, usage.taken), (found.len() as u64, units));
        (self.state, self.states, self.store) = (found.clone(), vec![found], Some(store));
    }
}

fn settings(durability: Durability) -> Settings {
    Settings { durability, most: None }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: CASES, max_shrink_iters: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_loss_of_power_loses_what_was_waited_for(
        seed: u64,
        rounds in prop::collection::vec((1_u64..300, prop::sample::select(vec![0, 20, 128, 250, 255])), 1..5),
    ) {
        let mut run = Run::new(seed, 1 << 30, settings(Durability::Fsync));
        for (changes, survive) in rounds {
            run.disk.end_after(changes);
            while run.step().is_ok() {}
            run.restart(ServerEnd::Power { survive });
        }
    }

    #[test]
    fn no_end_of_the_process_loses_anything(
        seed: u64,
        fsync: bool,
        rounds in prop::collection::vec(1_u64..300, 1..5),
    ) {
        let durability = if fsync { Durability::Fsync } else { Durability::Cache };
        let mut run = Run::new(seed, 1 << 30, settings(durability));
        for changes in rounds {
            run.disk.end_after(changes);
            while run.step().is_ok() {}
            run.restart(ServerEnd::Process);
        }
    }

    #[test]
    fn a_start_that_ends_early_loses_nothing(
        seed: u64,
        fsync: bool,
        ends in prop::collection::vec(1_u64..12, 1..6),
    ) {
        let (durability, end) = if fsync {
            (Durability::Fsync, ServerEnd::Power { survive: 128 })
        } else {
            (Durability::Cache, ServerEnd::Process)
        };
        let mut run = Run::new(seed, 1 << 30, settings(durability));
        for _ in 0..60 {
            run.step().unwrap();
        }
        run.restart(end);
        for changes in ends {
            run.documents.clear();
            run.store = None;
            run.disk.end_after(changes);
            drop(load::open(Arc::new(run.disk.clone()), run.settings, SHAPE));
            run.disk = run.disk.restart(end, &mut run.chance);
        }
        run.open();
    }

    #[test]
    fn a_full_disk_keeps_all_and_goes_on(
        seed: u64,
        fsync: bool,
        capacity in 60_000_u64..400_000,
        most in prop::option::of(20_000_u64..200_000),
    ) {
        let durability = if fsync { Durability::Fsync } else { Durability::Cache };
        let mut run = Run::new(seed, capacity, Settings { durability, most });
        let mut refused = 0;
        for _ in 0..400 {
            match run.step() {
                Err(error) if error.is_full() => refused += 1,
                done => done.unwrap(),
            }
            let usage = run.store.as_ref().unwrap().usage();
            prop_assert!(usage.files <= capacity && most.is_none_or(|most| usage.taken <= most));
        }
        prop_assert!(refused > 0, "it was never full");
        // Removals are always possible.
        let ids: Vec<u32> = run.state.keys().copied().collect();
        for id in ids {
            run.remove(id).unwrap();
        }
        run.wait().unwrap();
        run.held.clear();
        run.drafts.clear();
        prop_assert_eq!(run.store.as_ref().unwrap().usage().taken, 0);
        run.disk.set_capacity(1 << 30);
        run.settings.most = None;
        run.restart(ServerEnd::Process);
        for _ in 0..50 {
            run.step().unwrap();
        }
        run.wait().unwrap();
        run.restart(if fsync { ServerEnd::Power { survive: 0 } } else { ServerEnd::Process });
    }

    #[test]
    fn a_failed_write_or_sync_is_never_taken_for_done(
        seed: u64,
        fails in 1_u64..300,
        survive in prop::sample::select(vec![0, 128, 255]),
    ) {
        let mut run = Run::new(seed, 1 << 30, settings(Durability::Fsync));
        run.disk.fail_after(fails);
        for _ in 0..300 {
            // After a failed sync the store accepts nothing; after a failed write of a document it
            // goes on.
            let _ = run.step();
        }
        run.restart(ServerEnd::Power { survive });
    }
}

/// Entries that a thread logged since it last waited: the jobs after each step, with the byte that
/// fills their documents.
type Steps = Vec<BTreeMap<u32, u8>>;

/// Logs until the disk ends, and waits now and then.
fn work(store: &Store, seed: u64, first: u32) -> Steps {
    let mut chance = Chance(seed);
    let mut steps = vec![BTreeMap::new()];
    loop {
        let mut next = steps.last().unwrap().clone();
        let id = first + chance.below(10) as u32;
        let result = if chance.below(3) > 0 {
            let value = chance.below(256) as u8;
            next.insert(id, value);
            let mut draft = store.draft();
            let document = draft.append(&[value; 5_000]).and_then(|()| draft.finish());
            let Ok(document) = document else { return steps };
            store.put(id, &[value; 150], &[document])
        } else {
            next.remove(&id);
            store.remove(id)
        };
        steps.push(next.clone());
        let Ok(ticket) = result else { return steps };
        if chance.below(4) == 0 {
            if store.wait(ticket).is_err() {
                return steps;
            }
            steps = vec![next];
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: CASES, failure_persistence: None, ..ProptestConfig::default() })]

    /// The journal is rewritten meanwhile, many times.
    #[test]
    fn threads_lose_nothing_that_they_waited_for(
        seed: u64,
        changes in 20_u64..1_500,
        survive in prop::sample::select(vec![0, 128, 255]),
    ) {
        let disk = SimulatedDisk::new(1 << 30);
        let settings = settings(Durability::Fsync);
        let (store, _) = load::open(Arc::new(disk.clone()), settings, SHAPE).unwrap();
        disk.end_after(changes);
        let logged: Vec<Steps> = thread::scope(|scope| {
            let store = &store;
            let work = |thread: u32| scope.spawn(move || work(store, seed ^ u64::from(thread), thread * 10));
            let threads: Vec<_> = (0..4).map(work).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        let disk = disk.restart(ServerEnd::Power { survive }, &mut Chance(seed));
        drop(store);
        let (_store, kept) = load::open(Arc::new(disk), settings, SHAPE).unwrap();
        let mut found: Steps = vec![BTreeMap::new(); 4];
        for job in kept {
            let value = job.record[0];
            prop_assert_eq!(&job.record, &[value; 150]);
            prop_assert_eq!(content(&job.documents[0]).unwrap(), vec![value; 5_000]);
            found[job.id as usize / 10].insert(job.id, value);
        }
        for (found, steps) in found.iter().zip(&logged) {
            prop_assert!(steps.contains(found), "{:?} is none of {:?}", found, steps);
        }
    }
}
