//! Any bytes are a spool's journal or an error; what is read of one fits into it.
//! A second run changes bytes behind a header that is whole, as a disk would.
#![no_main]

use libfuzzer_sys::fuzz_target;
use windlass_spool::store::{Durability, MAX_RECORD, Settings, Store, read_journal};

fuzz_target!(|bytes: &[u8]| {
    check(bytes);
    let mut journal = real();
    for (at, byte) in bytes.chunks_exact(3).map(|change| (&change[..2], change[2])) {
        let at = usize::from(u16::from_le_bytes([at[0], at[1]])) % journal.len();
        journal[at] ^= byte;
    }
    check(&journal);
});

fn check(bytes: &[u8]) {
    if let Ok(jobs) = read_journal(bytes) {
        let all: usize =
            jobs.iter().map(|(_, record, sizes)| 40 + record.len() + 16 * sizes.len()).sum();
        assert!(all <= bytes.len());
        assert!(jobs.iter().all(|(_, record, _)| record.len() <= bytes.len().max(MAX_RECORD)));
    }
}

/// The start of a journal with some jobs, made once.
fn real() -> Vec<u8> {
    static REAL: std::sync::OnceLock<Vec<u8>> = std::sync::OnceLock::new();
    let make = || {
        let folder = std::env::temp_dir().join(format!("windlass-fuzz-{}", std::process::id()));
        let settings = Settings { durability: Durability::Cache, most: None };
        let (store, _) = Store::open(&folder, settings).expect("a spool");
        for id in 0..30 {
            let mut draft = store.draft();
            draft.append(&vec![1; id as usize * 500]).expect("data");
            let document = draft.finish().expect("a document");
            store.put(id, &vec![2; id as usize * 7], &[document]).expect("a job");
        }
        let mut journal = std::fs::read(folder.join("journal.a")).expect("its journal");
        journal.truncate(16 << 10);
        drop(store);
        let _ = std::fs::remove_dir_all(&folder);
        journal
    };
    REAL.get_or_init(make).clone()
}
