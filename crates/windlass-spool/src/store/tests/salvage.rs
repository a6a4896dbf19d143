//! Tests of the recovery from a damaged spool: everything undamaged is recovered, nothing altered,
//! and nothing is called certain that is not.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use proptest::prelude::*;

use super::simulated::{Chance, ServerEnd, SimulatedDisk};
use super::*;
use crate::store::salvage::bring;

const SHAPE: Shape = Shape { segment: 24, journal: 8_192, garbage: Some(1 << 20) };

/// A stored job: its record and its documents.
type JobData = (Vec<u8>, Vec<Vec<u8>>);

/// A spool that was left, and its known content.
struct AbandonedSpool {
    disk: SimulatedDisk,
    journal: &'static str,
    now: BTreeMap<u32, JobData>,
    /// All states that each job ever had.
    ever: BTreeMap<u32, Vec<JobData>>,
    /// Positions of the newest record of each job, and of its documents' parts, by file.
    places: BTreeMap<u32, Vec<(String, Range<usize>)>>,
}

fn left(seed: u64, durability: Durability, is_closed: bool) -> AbandonedSpool {
    let disk = SimulatedDisk::new(1 << 30);
    let settings = settings(durability);
    let (store, _) = load::open(Arc::new(disk.clone()), settings, SHAPE).unwrap();
    let mut chance = Chance(seed);
    let (mut now, mut ever) = (BTreeMap::new(), BTreeMap::<u32, Vec<JobData>>::new());
    let mut kept: BTreeMap<u32, Vec<Document>> = BTreeMap::new();
    // Some jobs change or are removed.
    for round in 0..70 {
        let id = if round < 45 { round } else { chance.below(45) as u32 };
        if round >= 45 && chance.below(3) == 0 {
            store.wait(store.remove(id).unwrap()).unwrap();
            now.remove(&id);
            kept.remove(&id);
            continue;
        }
        let mut record = data(round, chance.below(300) as usize);
        record.extend(id.to_le_bytes());
        if round < 45 || !kept.contains_key(&id) {
            let count = chance.below(3);
            let lengths: Vec<usize> = (0..count).map(|_| chance.below(12_000) as usize).collect();
            let all = lengths.iter().map(|length| document(&store, round, *length, 9_000));
            kept.insert(id, all.collect());
        }
        let put = (record.clone(), kept[&id].iter().map(bytes).collect::<Vec<_>>());
        store.wait(store.put(id, &record, &kept[&id]).unwrap()).unwrap();
        ever.entry(id).or_default().push(put.clone());
        now.insert(id, put);
    }
    let log = store.lock();
    let journal = journal::NAMES[log.journal.as_ref().unwrap().current];
    let places = log.index.iter().map(|(id, entry)| {
        let start = entry.offset as usize;
        let mut places = vec![(journal.to_owned(), start..start + entry.size as usize)];
        for document in &entry.documents {
            let mut left = document.size() as usize;
            for extent in document.extents() {
                let start = (extent.start % SHAPE.segment) as usize * 4_096;
                let length = left.min(extent.bytes() as usize);
                left -= length;
                let name = segments::name(extent.start / SHAPE.segment);
                places.push((name, start..start + length));
            }
        }
        (*id, places)
    });
    let places = places.collect();
    drop(log);
    let disk = if is_closed {
        store.close().unwrap();
        disk.restart(ServerEnd::Process, &mut chance)
    } else {
        let next = disk.restart(ServerEnd::Process, &mut chance);
        drop(store);
        next
    };
    AbandonedSpool { disk, journal, now, ever, places }
}

const HELD: &[u8] = b"held back: ";

fn held_back(record: &[u8]) -> Vec<u8> {
    [HELD, record].concat()
}

/// Salvages the jobs, and returns what a server would find in the new spool.
fn salvaged(disk: &SimulatedDisk) -> Result<(Findings, BTreeMap<u32, JobData>), Error> {
    let to = SimulatedDisk::new(1 << 30);
    let (store, _) = load::open(Arc::new(to.clone()), settings(Durability::Fsync), SHAPE)?;
    let findings = bring(disk, Some(&store), held_back)?;
    assert_eq!(bring(disk, None, held_back)?, findings, "it is the same without another spool");
    let next = to.restart(ServerEnd::Power { survive: 0 }, &mut Chance(1));
    drop(store);
    let (store, kept) = load::open(Arc::new(next), settings(Durability::Fsync), SHAPE)?;
    assert_eq!(store.recovery(), &Recovery::default());
    let put = |job: StoredJob| (job.id, (job.record, job.documents.iter().map(bytes).collect()));
    Ok((findings, kept.into_iter().map(put).collect()))
}

/// Compares the salvaged jobs with the original ones.
fn check(left: &AbandonedSpool, touched: Option<&(&str, Range<usize>)>) {
    let names: Vec<_> = left.disk.names().unwrap();
    let before: Vec<_> = names.iter().map(|name| left.disk.content(name)).collect();
    let (findings, kept) = salvaged(&left.disk).unwrap();
    let after: Vec<_> = names.iter().map(|name| left.disk.content(name)).collect();
    assert!(before == after, "the damaged one is changed");
    let fates: BTreeMap<u32, &Fate> =
        findings.found.iter().map(|found| (found.id, &found.fate)).collect();
    for (id, (record, documents)) in &kept {
        let fate = fates[id];
        let (is_held, record) = match record.strip_prefix(HELD) {
            Some(record) => (true, record.to_owned()),
            None => (false, record.clone()),
        };
        assert_eq!(*fate, if is_held { Fate::Uncertain } else { Fate::Whole });
        let put = (record, documents.clone());
        assert!(left.ever[id].contains(&put), "job {id} never was so");
        if !is_held {
            assert_eq!(left.now.get(id), Some(&put), "job {id} is not as it was at last");
        }
    }
    let is_brought = |fate: &Fate| matches!(fate, Fate::Whole | Fate::Uncertain);
    assert_eq!(fates.values().filter(|fate| is_brought(fate)).count(), kept.len());
    for id in left.now.keys() {
        let is_touched = touched.is_some_and(|(file, range)| {
            left.places[id].iter().any(|(name, place)| {
                name == file && place.start < range.end && range.start < place.end
            })
        });
        assert!(is_touched || kept.contains_key(id), "job {id} was not touched: {findings:?}");
    }
    if touched.is_none() {
        assert!(findings.is_whole(), "{findings:?}");
        assert_eq!(kept, left.now);
    }
}

#[test]
fn a_spool_that_is_whole_is_brought_as_it_is() {
    for durability in [Durability::Cache, Durability::Fsync] {
        for is_closed in [false, true] {
            check(&left(7, durability, is_closed), None);
        }
    }
}

#[test]
fn a_damaged_record_puts_no_other_job_in_doubt() {
    let left = left(3, Durability::Fsync, false);
    let newest = |id: &u32| left.places[id][0].1.clone();
    // Damage after the head: the job of the record is known.
    let id = *left.now.keys().next_back().unwrap();
    let at = newest(&id).start + 40;
    left.disk.flip(left.journal, at, 0x04);
    check(&left, Some(&(left.journal, at..at + 1)));
    let (findings, _) = salvaged(&left.disk).unwrap();
    assert_eq!((findings.damaged, findings.missing, findings.is_cut), (1, 0, false));
    let others: Vec<_> = findings.found.iter().filter(|found| found.fate != Fate::Whole).collect();
    assert!(others.iter().all(|found| found.id == id) && others.len() == 1, "{others:?}");
}

#[test]
fn a_lost_header_is_found_in_its_copy() {
    for durability in [Durability::Cache, Durability::Fsync] {
        let left = left(5, durability, false);
        left.disk.damage(left.journal, 0..record::START as usize, 0);
        assert!(load::open(Arc::new(left.disk.clone()), settings(durability), SHAPE).is_err());
        check(&left, None);
    }
}

#[test]
fn nothing_to_read_is_said() {
    let disk = SimulatedDisk::new(1 << 30);
    let error = bring(&disk, None, held_back).unwrap_err().to_string();
    assert!(error.contains("this is no spool, or nothing can be recovered"), "{error}");
    let left = left(5, Durability::Fsync, false);
    for name in [journal::NAMES[0], journal::NAMES[1], journal::COPY] {
        left.disk.damage(name, 8..9, 77);
    }
    let error = bring(&left.disk, None, held_back).unwrap_err();
    assert!(matches!(error, Error::Version { found: 77, .. }), "{error}");
}

/// Damage to a file.
#[derive(Clone, Debug)]
enum Damage {
    Flip(prop::sample::Index, u8),
    Zero(prop::sample::Index, prop::sample::Index),
    Cut(prop::sample::Index),
}

fn damages() -> impl Strategy<Value = Damage> {
    let index = any::<prop::sample::Index>;
    prop_oneof![
        (index(), 0_u8..8).prop_map(|(at, bit)| Damage::Flip(at, 1 << bit)),
        (index(), index()).prop_map(|(from, to)| Damage::Zero(from, to)),
        index().prop_map(Damage::Cut),
    ]
}

/// Applies the damage, and returns the range that it touched.
fn damage(disk: &SimulatedDisk, name: &str, end: usize, what: &Damage) -> Range<usize> {
    match what {
        Damage::Flip(at, bits) => {
            let at = at.index(end);
            disk.flip(name, at, *bits);
            at..at + 1
        }
        Damage::Zero(from, to) => {
            let (from, to) = (from.index(end), to.index(end));
            let range = from.min(to)..from.max(to) + 1;
            disk.damage(name, range.clone(), 0);
            range
        }
        Damage::Cut(at) => {
            let at = at.index(end);
            disk.cut(name, at);
            at..usize::MAX
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn all_that_is_untouched_is_brought_and_nothing_is_wrong(
        seed: u64,
        fsync: bool,
        is_closed: bool,
        in_journal in prop::bool::weighted(0.6),
        file: prop::sample::Index,
        what in damages(),
    ) {
        let durability = if fsync { Durability::Fsync } else { Durability::Cache };
        let left = left(seed, durability, is_closed);
        let names = left.disk.names().unwrap();
        let name = if in_journal { left.journal.to_owned() } else { file.get(&names).clone() };
        let length = left.disk.content(&name).len();
        prop_assume!(length > 0);
        // Damages only the used part: most of a journal is room for more.
        let end = left.places.values().flatten().filter(|place| place.0 == name);
        let end = end.map(|place| place.1.end + 100).max().unwrap_or(length).min(length);
        let touched = damage(&left.disk, &name, end, &what);
        check(&left, Some(&(&name, touched)));
    }

    #[test]
    fn any_bytes_have_survivors_or_not(
        bytes in prop::collection::vec(any::<u8>(), 0..9_000),
        salt: u64,
    ) {
        let found = survivors(&bytes, salt);
        prop_assert!(found.iter().all(|one| one.offset < bytes.len()));
    }
}
