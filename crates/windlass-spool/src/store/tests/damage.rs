//! Tests of a start with files that were changed or lost.

use std::sync::Arc;

use proptest::prelude::*;

use super::simulated::{Chance, ServerEnd, SimulatedDisk};
use super::*;

const SHAPE: Shape = Shape { segment: 24, journal: 8_192, garbage: Some(1 << 20) };

fn settings(durability: Durability) -> Settings {
    Settings { durability, most: None }
}

fn open(disk: &SimulatedDisk, durability: Durability) -> Result<(Store, Vec<StoredJob>), Error> {
    load::open(Arc::new(disk.clone()), settings(durability), SHAPE)
}

/// Returns a disk with one-page jobs of a server that did not end regularly, and the name of its
/// journal.
fn left(durability: Durability, end: ServerEnd) -> (SimulatedDisk, &'static str) {
    let disk = SimulatedDisk::new(1 << 30);
    let (store, _) = open(&disk, durability).unwrap();
    for id in 0..20 {
        let mut draft = store.draft();
        draft.append(&[id as u8; 4_096]).unwrap();
        let document = draft.finish().unwrap();
        store.wait(store.put(id, &id.to_le_bytes(), &[document]).unwrap()).unwrap();
    }
    let name = journal::NAMES[store.lock().journal.as_ref().unwrap().current];
    let next = disk.restart(end, &mut Chance(1));
    drop(store);
    (next, name)
}

/// Size of one of those records in bytes.
const RECORD: usize = (HEAD + 8 + 16 + 8 + 4).next_multiple_of(8);
const HEAD: usize = record::HEAD;
const START: usize = record::START as usize;

#[test]
fn damage_in_the_middle_is_named_and_nothing_is_changed() {
    for durability in [Durability::Cache, Durability::Fsync] {
        let end = match durability {
            Durability::Fsync => ServerEnd::Power { survive: 0 },
            _ => ServerEnd::Process,
        };
        let (disk, name) = left(durability, end);
        let at = START + 7 * RECORD;
        disk.flip(name, at + 40, 0xee);
        let before = disk.content(name);
        for _ in 0..2 {
            let error = open(&disk, durability).unwrap_err();
            assert_eq!(
                error.to_string(),
                format!(
                    "{name} is damaged at byte {at}: a record is missing here, as others follow; \
                     nothing was changed. Recover the whole jobs with windlass spool salvage, or \
                     restore a backup of the folder"
                )
            );
            assert_eq!(disk.content(name), before);
        }
    }
}

#[test]
fn a_torn_end_is_cut() {
    // The last record was incomplete when the process ended: nobody was told of it.
    let (disk, name) = left(Durability::Cache, ServerEnd::Process);
    disk.damage(name, START + 20 * RECORD - 9..START + 20 * RECORD, 0);
    let (store, kept) = open(&disk, Durability::Cache).unwrap();
    assert_eq!(kept.len(), 19);
    assert_eq!(store.recovery(), &Recovery { torn: true, ..Recovery::default() });
    // New records follow the cut.
    store.put(100, b"new", &[]).unwrap();
    let disk = disk.restart(ServerEnd::Process, &mut Chance(1));
    drop((store, kept));
    assert_eq!(open(&disk, Durability::Cache).unwrap().1.len(), 20);
}

/// Returns a disk with more records than the header's copy leaves out, of a server that did not end
/// regularly. Also returns the name of its journal, and the position of its last eight records.
fn left_with_much(durability: Durability) -> (SimulatedDisk, &'static str, usize) {
    let disk = SimulatedDisk::new(1 << 30);
    let (store, _) = open(&disk, durability).unwrap();
    for id in 0..40 {
        store.wait(store.put(id, &[id as u8; 9_000], &[]).unwrap()).unwrap();
    }
    let name = journal::NAMES[store.lock().journal.as_ref().unwrap().current];
    let at = store.lock().index[&32].offset as usize;
    let next = disk.restart(ServerEnd::Process, &mut Chance(1));
    drop(store);
    (next, name, at)
}

#[test]
fn zeros_in_the_place_of_the_last_records_are_damage() {
    for durability in [Durability::Cache, Durability::Fsync] {
        let (disk, name, at) = left_with_much(durability);
        let before = disk.content(name);
        disk.damage(name, at..before.len(), 0);
        let before = disk.content(name);
        let error = open(&disk, durability).unwrap_err().to_string();
        assert!(
            error.starts_with(&format!(
                "{name} is damaged at byte {at}: a record is missing here, as "
            )),
            "{error}"
        );
        assert_eq!(disk.content(name), before);
    }
}

#[test]
fn what_a_loss_of_power_took_of_a_cache_is_counted() {
    let (disk, name, at) = left_with_much(Durability::Cache);
    disk.restart_machine();
    disk.damage(name, at..disk.content(name).len(), 0);
    let (store, kept) = open(&disk, Durability::Cache).unwrap();
    assert_eq!(kept.len(), 32);
    let recovery = store.recovery();
    assert!(recovery.uncertain && !recovery.torn);
    let record = (HEAD + 8 + 9_000).next_multiple_of(8) as u64;
    assert!((4 * record..=8 * record).contains(&recovery.missing), "{}", recovery.missing);
}

#[test]
fn a_closed_spool_whose_last_word_is_gone_is_damaged() {
    for durability in [Durability::Cache, Durability::Fsync] {
        let disk = SimulatedDisk::new(1 << 30);
        let (store, _) = open(&disk, durability).unwrap();
        store.wait(store.put(1, b"one", &[]).unwrap()).unwrap();
        let name = journal::NAMES[store.lock().journal.as_ref().unwrap().current];
        store.close().unwrap();
        let disk = disk.restart(ServerEnd::Process, &mut Chance(1));
        disk.restart_machine();
        disk.damage(name, START..disk.content(name).len(), 0);
        assert!(matches!(open(&disk, durability), Err(Error::Damaged { .. })));
    }
}

#[test]
fn what_was_synced_is_not_taken_for_torn() {
    // All but the last batch is known to be on the disk by a later record.
    let (disk, name) = left(Durability::Fsync, ServerEnd::Power { survive: 0 });
    disk.flip(name, START + 18 * RECORD, 0x55);
    assert!(matches!(open(&disk, Durability::Fsync), Err(Error::Damaged { .. })));
}

#[test]
fn a_lost_header_is_not_taken_for_a_new_spool() {
    let (disk, name) = left(Durability::Fsync, ServerEnd::Process);
    disk.damage(name, 0..512, 0);
    let error = open(&disk, Durability::Fsync).unwrap_err().to_string();
    assert!(
        error.starts_with(&format!("{name} is damaged at byte 0: the file is empty, but ")),
        "{error}"
    );
    let (disk, name) = left(Durability::Fsync, ServerEnd::Process);
    disk.damage(name, 100..101, 1);
    let error = open(&disk, Durability::Fsync).unwrap_err().to_string();
    assert!(error.contains("this is not the header of a journal"), "{error}");
    let (disk, name) = left(Durability::Fsync, ServerEnd::Process);
    disk.damage(name, 8..9, 9);
    assert_eq!(
        open(&disk, Durability::Fsync).unwrap_err().to_string(),
        format!(
            "{name} has version 9 of the spool's format, but only version 4 is supported: use the \
             windlass that made it, or another folder"
        )
    );
}

#[test]
fn a_job_without_its_data_is_named() {
    let (disk, _) = left(Durability::Cache, ServerEnd::Process);
    disk.remove("data.00000").unwrap();
    let (store, kept) = open(&disk, Durability::Cache).unwrap();
    assert!(kept.is_empty());
    assert_eq!(store.recovery().lost, (0..20).collect::<Vec<_>>());
    drop(store);
    let (store, kept) = open(&disk, Durability::Cache).unwrap();
    assert!(kept.is_empty() && store.recovery().lost.is_empty());
}

#[test]
fn after_a_failed_sync_nothing_is_taken_before_a_restart() {
    let disk = SimulatedDisk::new(1 << 30);
    let (store, _) = open(&disk, Durability::Fsync).unwrap();
    let safe = store.put(1, b"safe", &[]).unwrap();
    store.wait(safe).unwrap();
    let ticket = store.put(2, b"not safe", &[]).unwrap();
    // The write is the first change, the sync the second.
    disk.fail_after(2);
    for _ in 0..2 {
        let error = store.wait(ticket).unwrap_err().to_string();
        assert!(
            error.starts_with("the spool accepts no more jobs since this failed: cannot sync "),
            "{error}"
        );
    }
    store.wait(safe).unwrap();
    assert!(matches!(store.put(3, b"", &[]), Err(Error::Broken(_))));
    assert!(matches!(store.remove(1), Err(Error::Broken(_))));
    assert!(matches!(store.close(), Err(Error::Broken(_))));
    let disk = disk.restart(ServerEnd::Power { survive: 0 }, &mut Chance(1));
    let (_, kept) = open(&disk, Durability::Fsync).unwrap();
    assert_eq!(kept.iter().map(|kept| kept.id).collect::<Vec<_>>(), [1]);
}

#[test]
fn a_document_of_two_jobs_is_one_after_a_restart() {
    let disk = SimulatedDisk::new(1 << 30);
    let (store, _) = open(&disk, Durability::Cache).unwrap();
    let mut draft = store.draft();
    draft.append(&[1; 50_000]).unwrap();
    let document = draft.finish().unwrap();
    store.put(1, b"", std::slice::from_ref(&document)).unwrap();
    store.put(2, b"", &[document]).unwrap();
    store.close().unwrap();
    let (store, kept) = open(&disk, Durability::Cache).unwrap();
    assert_eq!((kept.len(), store.usage().documents), (2, 50_000));
    store.remove(1).unwrap();
    drop(kept);
    assert_eq!(store.usage().documents, 50_000);
    store.remove(2).unwrap();
    assert_eq!(store.usage().taken, 0);
}

#[test]
fn files_that_nobody_needs_go() {
    let disk = SimulatedDisk::new(1 << 30);
    let (store, _) = open(&disk, Durability::Cache).unwrap();
    let segments = || {
        let names = disk.names().unwrap();
        names.iter().filter(|name| name.starts_with("data.")).count()
    };
    for id in 0..50 {
        let mut draft = store.draft();
        draft.append(&[1; 24 * 4_096]).unwrap();
        store.put(id, b"", &[draft.finish().unwrap()]).unwrap();
    }
    assert_eq!(segments(), 50);
    for id in 0..50 {
        store.remove(id).unwrap();
    }
    assert_eq!(segments(), 2, "two are spare");
}

#[test]
fn too_many_open_files_are_no_broken_spool() {
    let disk = SimulatedDisk::new(1 << 30);
    let (store, _) = open(&disk, Durability::Cache).unwrap();
    let document = |store: &Store| {
        let mut draft = store.draft();
        draft.append(&[1; 20 * 4_096])?;
        draft.finish()
    };
    let first = document(&store).unwrap();
    store.put(1, b"", &[first]).unwrap();
    disk.set_out_of_files(true);
    let error = document(&store).unwrap_err();
    assert!(error.is_full() && error.to_string().contains("limit of open files"), "{error}");
    // Existing jobs and files stay usable.
    store.put(2, b"", &[]).unwrap();
    store.remove(1).unwrap();
    let again = document(&store).unwrap();
    store.put(3, b"", &[again]).unwrap();
    disk.set_out_of_files(false);
    let another = document(&store).unwrap();
    store.put(4, b"", &[another]).unwrap();
    store.close().unwrap();
}

#[test]
fn small_jobs_take_the_room_of_large_ones() {
    let disk = SimulatedDisk::new(24 * 4_096 + 40_000);
    let (store, _) = open(&disk, Durability::Cache).unwrap();
    let mut draft = store.draft();
    draft.append(&[1; 24 * 4_096]).unwrap();
    store.put(1_000, b"", &[draft.finish().unwrap()]).unwrap();
    let put = |from: u32| {
        let full = (from..).find(|id| store.put(*id, &[1; 300], &[]).is_err());
        full.unwrap() - from
    };
    let few = put(0);
    store.remove(1_000).unwrap();
    let many = put(2_000);
    assert!(many > 2 * few, "{few} and then {many}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_loss_of_power_without_syncs_is_survived_and_told(
        seed: u64,
        jobs in 1_u32..150,
        survive: u8,
    ) {
        let shape = Shape { garbage: Some(2_000), ..SHAPE };
        let disk = SimulatedDisk::new(1 << 30);
        let settings = settings(Durability::Cache);
        let (store, _) = load::open(Arc::new(disk.clone()), settings, shape).unwrap();
        let mut chance = Chance(seed);
        for count in 0..jobs {
            let id = chance.below(20) as u32;
            let mut draft = store.draft();
            draft.append(&vec![0; chance.below(60_000) as usize]).unwrap();
            store.put(id, &[id as u8; 100], &[draft.finish().unwrap()]).unwrap();
            if count % 3 == 0 {
                store.remove(chance.below(20) as u32).unwrap();
            }
        }
        let disk = disk.restart(ServerEnd::Power { survive }, &mut chance);
        drop(store);
        let (store, kept) = load::open(Arc::new(disk.clone()), settings, shape).unwrap();
        prop_assert!(store.recovery().uncertain);
        for job in kept {
            prop_assert_eq!(job.record, [job.id as u8; 100]);
        }
        store.close().unwrap();
        let (store, _) = load::open(Arc::new(disk), settings, shape).unwrap();
        prop_assert_eq!(store.recovery(), &Recovery::default());
    }

    #[test]
    fn changed_bytes_never_make_other_jobs(
        synced: bool,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..5),
    ) {
        let durability = if synced { Durability::Fsync } else { Durability::Cache };
        let (disk, name) = left(durability, ServerEnd::Process);
        for (index, value) in changes {
            let at = index.index(START + 21 * RECORD);
            disk.damage(name, at..at + 1, value);
        }
        let told = read_journal(&disk.content(name));
        for (id, record, sizes) in told.unwrap_or_default() {
            prop_assert_eq!((record, sizes), (id.to_le_bytes().to_vec(), vec![4_096]));
        }
        if let Ok((_, kept)) = open(&disk, durability) {
            for job in kept {
                prop_assert_eq!(job.record, job.id.to_le_bytes());
                let mut bytes = Vec::new();
                job.documents[0].reader().read_to_end(&mut bytes).unwrap();
                prop_assert_eq!(bytes, vec![job.id as u8; 4_096]);
            }
        }
    }
}
