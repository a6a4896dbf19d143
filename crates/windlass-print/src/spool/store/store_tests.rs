use std::io::Read;

use super::*;

fn settings(durability: Durability) -> Settings {
    Settings { durability, most: None }
}

/// Bytes that differ from those of another seed.
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
