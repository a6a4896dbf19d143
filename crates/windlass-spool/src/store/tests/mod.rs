//! Tests of the store on a disk that loses data, stalls or is watched, and on a regular one.

mod behind;
mod crash;
mod damage;
mod salvage;
pub(crate) mod simulated;
pub(crate) mod slow;
mod watched;

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};

use self::watched::{Act, WatchedDisk, Watcher};
use super::disk::Folder;
use super::*;

/// Opens a spool on a simulated disk.
pub(crate) fn opened(disk: &simulated::SimulatedDisk) -> (Store, Vec<StoredJob>) {
    let settings = settings(Durability::Cache);
    load::open(Arc::new(disk.clone()), settings, Shape::default()).unwrap()
}

fn settings(durability: Durability) -> Settings {
    Settings { durability, most: None }
}

/// Returns pseudo-random bytes of a seed.
fn data(seed: u32, length: usize) -> Vec<u8> {
    let mut state = u64::from(seed) * 2 + 1;
    let mut next = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state.to_be_bytes()[0]
    };
    (0..length).map(|_| next()).collect()
}

fn document(store: &Store, seed: u32, length: usize, piece: usize) -> Document {
    let mut draft = store.draft();
    for piece in data(seed, length).chunks(piece) {
        draft.append(piece).unwrap();
    }
    assert_eq!(draft.len(), length as u64);
    draft.finish().unwrap()
}

fn bytes(document: &Document) -> Vec<u8> {
    let mut bytes = Vec::new();
    document.reader().read_to_end(&mut bytes).unwrap();
    bytes
}

#[test]
fn jobs_are_there_after_a_restart() {
    for durability in [Durability::Cache, Durability::Fsync] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/spool");
        let (store, kept) = Store::open(&path, settings(durability)).unwrap();
        assert!(kept.is_empty());
        for id in 0..50 {
            let documents = [
                document(&store, id, 7_000 * id as usize, 9_000),
                document(&store, id + 1_000, id as usize, 1),
            ];
            let ticket = store.put(id, &id.to_le_bytes(), &documents).unwrap();
            store.wait(ticket).unwrap();
        }
        for id in (0..50).step_by(3) {
            store.wait(store.remove(id).unwrap()).unwrap();
        }
        store.close().unwrap();
        let (store, mut kept) = Store::open(&path, settings(durability)).unwrap();
        assert_eq!(store.recovery(), &Recovery::default());
        kept.sort_by_key(|kept| kept.id);
        let ids: Vec<u32> = kept.iter().map(|kept| kept.id).collect();
        assert_eq!(ids, (0..50).filter(|id| id % 3 != 0).collect::<Vec<_>>());
        for job in &kept {
            assert_eq!(job.record, job.id.to_le_bytes());
            assert_eq!(bytes(&job.documents[0]), data(job.id, 7_000 * job.id as usize));
            assert_eq!(bytes(&job.documents[1]), data(job.id + 1_000, job.id as usize));
        }
    }
}

/// Counter of writes to the journal.
#[derive(Debug, Default)]
struct Writes(AtomicU64);

impl Watcher for Writes {
    fn before(&self, file: &str, act: Act) {
        if act == Act::Write && journal::NAMES.contains(&file) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
}

#[test]
fn jobs_that_go_together_are_one_write() {
    let folder = tempfile::tempdir().unwrap();
    let writes = Arc::new(Writes::default());
    let watcher: Arc<dyn Watcher> = Arc::<Writes>::clone(&writes);
    let disk = WatchedDisk::new(Folder::open(folder.path()).unwrap(), watcher);
    let (store, _) =
        load::open(Arc::new(disk), settings(Durability::Cache), Shape::default()).unwrap();
    for id in 1..=40 {
        store.put(id, b"job", &[document(&store, id, 100, 100)]).unwrap();
    }
    let before = writes.0.load(Ordering::Relaxed);
    // Some numbers are unknown, and one comes twice.
    let ids: Vec<u32> = (5..=35).chain([99, 7, 0]).collect();
    store.remove_all(&ids).unwrap();
    assert_eq!(writes.0.load(Ordering::Relaxed) - before, 1);
    store.remove_all(&ids).unwrap();
    assert_eq!(writes.0.load(Ordering::Relaxed) - before, 1, "there are none of them");
    assert_eq!(store.usage().jobs, 9);
    store.close().unwrap();
    let (_store, kept) = Store::open(folder.path(), settings(Durability::Cache)).unwrap();
    let mut left: Vec<u32> = kept.iter().map(|kept| kept.id).collect();
    left.sort_unstable();
    assert_eq!(left, (1..5).chain(36..=40).collect::<Vec<_>>());
}

#[test]
fn threads_share_a_store() {
    for durability in [Durability::Memory, Durability::Cache, Durability::Fsync] {
        let folder = tempfile::tempdir().unwrap();
        let (store, _) = Store::open(folder.path(), settings(durability)).unwrap();
        let work = |thread: u32| {
            let mut kept = Vec::new();
            for round in 0..40 {
                let id = round * 8 + thread;
                let length = (id as usize * 7_919) % 90_000;
                let document = document(&store, id, length, 1 + length / 3);
                let ticket =
                    store.put(id, &id.to_le_bytes(), std::slice::from_ref(&document)).unwrap();
                if round % 2 == 0 {
                    store.wait(ticket).unwrap();
                }
                if round % 3 == 0 {
                    store.remove(id).unwrap();
                } else {
                    store.put(id, b"done", std::slice::from_ref(&document)).unwrap();
                    kept.push(id);
                }
                assert_eq!(bytes(&document), data(id, length), "job {id}");
            }
            kept
        };
        let mut ids: Vec<u32> = thread::scope(|scope| {
            let work = &work;
            let threads: Vec<_> = (0..8).map(|thread| scope.spawn(move || work(thread))).collect();
            threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
        });
        ids.sort_unstable();
        assert_eq!(store.usage().jobs, ids.len() as u64);
        store.close().unwrap();
        let (_store, mut kept) = Store::open(folder.path(), settings(durability)).unwrap();
        if durability == Durability::Memory {
            assert!(kept.is_empty());
            continue;
        }
        kept.sort_by_key(|kept| kept.id);
        assert_eq!(kept.iter().map(|kept| kept.id).collect::<Vec<_>>(), ids);
        for job in kept {
            assert_eq!(job.record, b"done");
            let length = (job.id as usize * 7_919) % 90_000;
            assert_eq!(bytes(&job.documents[0]), data(job.id, length));
        }
    }
}

#[test]
fn a_folder_serves_one_server_and_nobody_else_looks_into_it() {
    use std::os::unix::fs::PermissionsExt;

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("spool");
    let (store, _) = Store::open(&path, settings(Durability::Cache)).unwrap();
    store.put(1, b"", &[document(&store, 1, 100, 100)]).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&path), 0o700);
    for entry in fs::read_dir(&path).unwrap() {
        assert_eq!(mode(&entry.unwrap().path()), 0o600);
    }
    let error = Store::open(&path, settings(Durability::Cache)).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "the spool {} is in use by process {}: only one server can use a folder",
            path.display(),
            std::process::id()
        )
    );
    drop(store);
    let (_, kept) = Store::open(&path, settings(Durability::Cache)).unwrap();
    assert_eq!(kept.len(), 1, "dropping is as good as closing");
}

#[test]
fn a_document_is_read_from_anywhere() {
    let (store, _) = Store::open(Path::new("/none"), settings(Durability::Memory)).unwrap();
    // Two documents that grow in turn have several parts each.
    let (mut one, mut other) = (store.draft(), store.draft());
    let expected = data(1, 3_000_000);
    for piece in expected.chunks(100_000) {
        one.append(piece).unwrap();
        other.append(piece).unwrap();
    }
    let document = one.finish().unwrap();
    let folder = tempfile::tempdir().unwrap();
    assert!(document.extents().len() > 1);
    for offset in [0, 1, 4_096, 262_144, 1_234_567, 2_999_999, 3_000_000, 9_000_000] {
        let read_to = |offset: u64| {
            let mut reader = document.reader();
            std::io::copy(&mut reader.by_ref().take(offset), &mut std::io::sink()).unwrap();
            reader
        };
        let mut reader = read_to(offset as u64);
        let rest = &expected[offset.min(expected.len())..];
        assert_eq!(reader.left, rest.len() as u64);
        let mut read = Vec::new();
        reader.read_to_end(&mut read).unwrap();
        assert!(read == rest, "from {offset} on");
        // The kernel copies to the first file, and reports that it cannot for the second.
        let name = folder.path().join("copy");
        let (plain, appended) =
            (File::create(&name).unwrap(), File::options().append(true).open(&name).unwrap());
        for to in [plain, appended] {
            to.set_len(0).unwrap();
            let mut reader = read_to(offset as u64);
            while reader.copy_to(&to, 700_000).unwrap() > 0 {}
            assert_eq!(reader.left, 0);
            assert!(fs::read(&name).unwrap() == rest, "from {offset} on");
        }
    }
}

#[test]
fn space_is_used_again_when_nobody_needs_it() {
    let (store, _) = Store::open(Path::new("/none"), settings(Durability::Memory)).unwrap();
    let first = document(&store, 1, 1_000_000, 50_000);
    store.put(1, b"", std::slice::from_ref(&first)).unwrap();
    let place = first.extents().to_vec();
    store.remove(1).unwrap();
    // The removed document is still being read.
    let second = document(&store, 2, 1_000_000, 50_000);
    assert_ne!(second.extents(), place);
    let mut reader = first.reader();
    drop(first);
    assert_eq!(store.usage().documents, 2_000_000);
    let mut read = Vec::new();
    reader.read_to_end(&mut read).unwrap();
    assert!(read == data(1, 1_000_000));
    drop(reader);
    assert_eq!(store.usage().documents, 1_000_000);
    // A dropped draft frees its space, too.
    let mut draft = store.draft();
    draft.append(&[0; 200_000]).unwrap();
    assert!(store.usage().taken > 1_200_000);
    drop(draft);
    let third = document(&store, 3, 1_000_000, 50_000);
    assert_eq!(third.extents(), place);
}

#[test]
fn a_limit_is_kept_and_left_again() {
    let limited = Settings { durability: Durability::Memory, most: Some(1_000_000) };
    let (store, _) = Store::open(Path::new("/none"), limited).unwrap();
    let one = document(&store, 1, 600_000, 600_000);
    let mut draft = store.draft();
    draft.append(&[1; 300_000]).unwrap();
    let error = draft.append(&[1; 300_000]).unwrap_err();
    assert!(error.is_full());
    assert_eq!(error.to_string(), "the spool is full: it holds its maximum of 999424 bytes");
    assert!(matches!(draft.append(&[1; 300_000]), Err(Error::Unfinished)));
    assert!(matches!(draft.finish(), Err(Error::Unfinished)));
    drop(one);
    assert_eq!(store.usage().taken, 0);
    document(&store, 1, 999_424, 100_000);
}

#[test]
fn records_have_a_most() {
    let (store, _) = Store::open(Path::new("/none"), settings(Durability::Memory)).unwrap();
    store.put(1, &[0; MAX_RECORD], &[]).unwrap();
    let error = store.put(1, &[0; MAX_RECORD + 1], &[]).unwrap_err();
    assert!(matches!(error, Error::TooLarge { bytes: 65_537, most: 65_536 }));
}

#[test]
fn a_lock_that_leads_elsewhere_is_refused_and_left_alone() {
    for is_link in [true, false] {
        let folder = tempfile::tempdir().unwrap();
        let (victim, lock) = (folder.path().join("victim"), folder.path().join("spool/lock"));
        fs::write(&victim, "keep this").unwrap();
        fs::DirBuilder::new().mode(0o700).create(folder.path().join("spool")).unwrap();
        if is_link {
            std::os::unix::fs::symlink(&victim, &lock).unwrap();
        } else {
            fs::hard_link(&victim, &lock).unwrap();
        }
        let opened = Store::open(&folder.path().join("spool"), settings(Durability::Cache));
        let refused = opened.unwrap_err().to_string();
        assert!(refused.contains("lock"), "{refused}");
        assert_eq!(fs::read_to_string(&victim).unwrap(), "keep this");
    }
}

#[test]
fn root_keeps_no_spool_where_others_may_write() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("spool");
    fs::create_dir(&path).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o777)).unwrap();
    let opened = Store::open(&path, settings(Durability::Cache));
    if windlass_sys::privileges::Identity::own().user == 0 {
        let refused = opened.unwrap_err().to_string();
        assert!(refused.contains("others than its owner may write to it (mode 777)"), "{refused}");
    } else {
        opened.unwrap();
    }
}
