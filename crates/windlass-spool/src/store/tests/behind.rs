//! Tests that documents which are printed much later leave the memory.

use std::io::Read as _;
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::watched::{Act, WatchedDisk, Watcher};
use crate::store::behind::WriteStep;
use crate::store::disk::Folder;
use crate::store::segments::is_segment;
use crate::store::{Durability, Settings, Shape, Store, StoredJob, load};

/// Number of bytes that may stay in memory.
const CACHED: u64 = 20 << 20;

/// Operations, with their file and part.
type RecordedSteps = Arc<Mutex<Vec<(WriteStep, String, Range<u64>)>>>;

/// Watcher that simulates a machine with little memory.
#[derive(Debug)]
struct SmallMemory(RecordedSteps);

impl Watcher for SmallMemory {
    fn cached(&self) -> u64 {
        CACHED
    }

    fn before(&self, file: &str, act: Act) {
        if let Act::Pass(pass, part) = act {
            self.0.lock().unwrap().push((pass, file.to_owned(), part));
        }
    }
}

fn opened(folder: &Path) -> (Store, Vec<StoredJob>, RecordedSteps) {
    let passes = RecordedSteps::default();
    let small = Arc::new(SmallMemory(Arc::clone(&passes)));
    let disk = WatchedDisk::new(Folder::open(folder).unwrap(), small);
    let settings = Settings { durability: Durability::Cache, most: None };
    let (store, kept) = load::open(Arc::new(disk), settings, Shape::default()).unwrap();
    (store, kept, passes)
}

fn data(seed: u32, length: usize) -> Vec<u8> {
    let round: Vec<u8> = (0..7 * 256_usize).map(|at| (at / 7) as u8 ^ seed as u8).collect();
    let mut data = round.repeat(length.div_ceil(round.len()));
    data.truncate(length);
    data
}

fn put(store: &Store, id: u32, length: usize) {
    let mut draft = store.draft();
    draft.expect(length as u64);
    data(id, length).chunks(200_000).for_each(|piece| draft.append(piece).unwrap());
    store.put(id, b"", &[draft.finish().unwrap()]).unwrap();
}

fn bytes(passes: &RecordedSteps, pass: WriteStep) -> u64 {
    let passes = passes.lock().unwrap();
    passes.iter().filter(|done| done.0 == pass).map(|done| done.2.end - done.2.start).sum()
}

#[test]
fn a_long_backlog_leaves_the_memory_and_is_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let (store, _, passes) = opened(folder.path());
    // Two documents fill the allowed memory.
    (0..2).for_each(|id| put(&store, id, 10_000_000));
    sleep(Duration::from_millis(50));
    assert!(passes.lock().unwrap().is_empty());
    // Of ten more documents, steps of 8 MiB are started, and those 64 MiB behind are forgotten.
    (2..12).for_each(|id| put(&store, id, 10_000_000));
    let until = Instant::now() + Duration::from_secs(60);
    let (begun, forgotten) = (11 << 23, 3 << 23);
    while bytes(&passes, WriteStep::Begin) < begun || bytes(&passes, WriteStep::Forget) < forgotten
    {
        assert!(Instant::now() < until, "{passes:?}");
        sleep(Duration::from_millis(5));
    }
    store.close().unwrap();
    assert!(bytes(&passes, WriteStep::Begin) <= 100_000_000 + 10 * 4_096);
    let passes = passes.lock().unwrap();
    for (place, (pass, name, part)) in passes.iter().enumerate() {
        let begun = (WriteStep::Begin, name.clone(), part.clone());
        assert!(*pass == WriteStep::Begin || passes[..place].contains(&begun), "{part:?}");
        assert!(is_segment(name), "{name}");
    }

    let (_store, kept, _) = opened(folder.path());
    assert_eq!(kept.len(), 12);
    for job in kept {
        let mut bytes = Vec::new();
        job.documents[0].reader().read_to_end(&mut bytes).unwrap();
        assert!(bytes == data(job.id, 10_000_000), "{}", job.id);
    }
}
