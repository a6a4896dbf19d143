//! What a printer takes much later does not stay in memory.

use std::fs::File;
use std::io::{self, Read as _};
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::behind::Pass;
use super::disk::{Disk, Folder, Open};
use super::segments::is_segment;
use super::{Durability, Kept, Settings, Shape, Store, load};

/// Bytes that may be in memory, too.
const CACHED: u64 = 20 << 20;

/// What was done with which part of which file.
type Passes = Arc<Mutex<Vec<(Pass, String, Range<u64>)>>>;

/// A folder of a machine with little memory.
#[derive(Debug)]
struct Small {
    folder: Folder,
    passes: Passes,
}

#[derive(Debug)]
struct Watched {
    name: String,
    file: Arc<dyn Open>,
    passes: Passes,
}

impl Small {
    fn watched(&self, name: &str, file: Arc<dyn Open>) -> Arc<dyn Open> {
        Arc::new(Watched { name: name.to_owned(), file, passes: Arc::clone(&self.passes) })
    }
}

impl Disk for Small {
    fn names(&self) -> io::Result<Vec<String>> {
        self.folder.names()
    }

    fn create(&self, name: &str) -> io::Result<Arc<dyn Open>> {
        Ok(self.watched(name, self.folder.create(name)?))
    }

    fn open(&self, name: &str) -> io::Result<Arc<dyn Open>> {
        Ok(self.watched(name, Disk::open(&self.folder, name)?))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.folder.remove(name)
    }

    fn sync_names(&self) -> io::Result<()> {
        self.folder.sync_names()
    }

    fn available(&self) -> io::Result<u64> {
        self.folder.available()
    }

    fn cached(&self) -> u64 {
        CACHED
    }

    fn boot(&self) -> [u8; 16] {
        self.folder.boot()
    }

    fn path(&self, name: &str) -> String {
        self.folder.path(name)
    }
}

impl Open for Watched {
    fn write_at(&self, pieces: [&[u8]; 2], offset: u64) -> io::Result<()> {
        self.file.write_at(pieces, offset)
    }

    fn read_at(&self, into: &mut [u8], offset: u64) -> io::Result<usize> {
        self.file.read_at(into, offset)
    }

    fn copy_to(&self, to: &File, most: usize, offset: u64) -> io::Result<usize> {
        self.file.copy_to(to, most, offset)
    }

    fn allocate(&self, part: Range<u64>) -> io::Result<()> {
        self.file.allocate(part)
    }

    fn size(&self) -> io::Result<u64> {
        self.file.size()
    }

    fn sync(&self) -> io::Result<()> {
        self.file.sync()
    }

    fn start_writing(&self, part: Range<u64>) -> io::Result<()> {
        self.passes.lock().unwrap().push((Pass::Begin, self.name.clone(), part.clone()));
        self.file.start_writing(part)
    }

    fn forget(&self, part: Range<u64>) -> io::Result<()> {
        self.passes.lock().unwrap().push((Pass::Forget, self.name.clone(), part.clone()));
        self.file.forget(part)
    }
}

fn opened(folder: &Path) -> (Store, Vec<Kept>, Passes) {
    let passes = Passes::default();
    let disk = Small { folder: Folder::open(folder).unwrap(), passes: Arc::clone(&passes) };
    let settings = Settings { durability: Durability::Cache, most: None };
    let (store, kept) = load::open(Arc::new(disk), settings, Shape::default()).unwrap();
    (store, kept, passes)
}

fn data(seed: u32, length: usize) -> Vec<u8> {
    (0..length).map(|at| (at / 7) as u8 ^ seed as u8).collect()
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
