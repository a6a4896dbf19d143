//! What a printer takes much later does not stay in memory.

use std::io::Read as _;
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::watched::{Act, Watched, Watcher};
use crate::store::behind::Pass;
use crate::store::disk::Folder;
use crate::store::segments::is_segment;
use crate::store::{Durability, Kept, Settings, Shape, Store, load};

/// Bytes that may be in memory, too.
const CACHED: u64 = 20 << 20;

/// What was done with which part of which file.
type Passes = Arc<Mutex<Vec<(Pass, String, Range<u64>)>>>;

/// A machine with little memory.
#[derive(Debug)]
struct Small(Passes);

impl Watcher for Small {
    fn cached(&self) -> u64 {
        CACHED
    }

    fn before(&self, file: &str, act: Act) {
        if let Act::Pass(pass, part) = act {
            self.0.lock().unwrap().push((pass, file.to_owned(), part));
        }
    }
}

fn opened(folder: &Path) -> (Store, Vec<Kept>, Passes) {
    let passes = Passes::default();
    let small = Arc::new(Small(Arc::clone(&passes)));
    let disk = Watched::new(Folder::open(folder).unwrap(), small);
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

fn bytes(passes: &Passes, pass: Pass) -> u64 {
    let passes = passes.lock().unwrap();
    passes.iter().filter(|done| done.0 == pass).map(|done| done.2.end - done.2.start).sum()
}

#[test]
fn a_long_backlog_leaves_the_memory_and_is_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let (store, _, passes) = opened(folder.path());
    // Two take all the memory that there is.
    (0..2).for_each(|id| put(&store, id, 10_000_000));
    sleep(Duration::from_millis(50));
    assert!(passes.lock().unwrap().is_empty());
    // Of ten more, steps of 8 MiB are begun, and what is 64 MiB behind is forgotten.
    (2..12).for_each(|id| put(&store, id, 10_000_000));
    let until = Instant::now() + Duration::from_secs(60);
    let (begun, forgotten) = (11 << 23, 3 << 23);
    while bytes(&passes, Pass::Begin) < begun || bytes(&passes, Pass::Forget) < forgotten {
        assert!(Instant::now() < until, "{passes:?}");
        sleep(Duration::from_millis(5));
    }
    store.close().unwrap();
    assert!(bytes(&passes, Pass::Begin) <= 100_000_000 + 10 * 4_096);
    let passes = passes.lock().unwrap();
    for (place, (pass, name, part)) in passes.iter().enumerate() {
        let begun = (Pass::Begin, name.clone(), part.clone());
        assert!(*pass == Pass::Begin || passes[..place].contains(&begun), "{part:?}");
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
