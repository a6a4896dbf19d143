//! Any bytes have records that survived or not: each is in the file, behind the one before,
//! and what a disk does to a real journal makes no record that was never written.
#![no_main]

use std::collections::HashMap;
use std::sync::OnceLock;

use libfuzzer_sys::fuzz_target;
use windlass_spool::store::{Durability, Settings, Store, Survivor, survivors};

fuzz_target!(|bytes: &[u8]| {
    check(bytes, 0);
    let (journal, salt, real) = real();
    let mut damaged = journal.clone();
    for change in bytes.chunks_exact(4) {
        let at = usize::from(u16::from_le_bytes([change[0], change[1]])) % damaged.len();
        match change[3] % 4 {
            // A few bits, zeros, a cut.
            0 | 1 => damaged[at] ^= change[2],
            2 => {
                let end = (at + 8 * usize::from(change[2])).min(damaged.len());
                damaged[at..end].fill(0);
            }
            _ => damaged.truncate((at + 4_096).min(damaged.len())),
        }
    }
    for found in check(&damaged, *salt).iter().filter(|found| found.is_whole) {
        assert_eq!(real.get(&found.offset), Some(found), "a record that was never written");
    }
});

fn check(bytes: &[u8], salt: u64) -> Vec<Survivor> {
    let found = survivors(bytes, salt);
    for pair in found.windows(2) {
        assert!(pair[0].offset < pair[1].offset && pair[0].sequence < pair[1].sequence);
    }
    assert!(found.iter().all(|one| !one.is_whole || one.offset + one.size <= bytes.len()));
    found
}

/// The start of a journal with some jobs, its salt and its records, made once.
fn real() -> &'static (Vec<u8>, u64, HashMap<usize, Survivor>) {
    static REAL: OnceLock<(Vec<u8>, u64, HashMap<usize, Survivor>)> = OnceLock::new();
    REAL.get_or_init(|| {
        let folder = std::env::temp_dir().join(format!("windlass-salvage-{}", std::process::id()));
        let settings = Settings { durability: Durability::Cache, most: None };
        let (store, _) = Store::open(&folder, settings).expect("a spool");
        for id in 0..30 {
            store.put(id, &vec![2; id as usize * 7], &[]).expect("a job");
        }
        let mut journal = std::fs::read(folder.join("journal.a")).expect("its journal");
        journal.truncate(16 << 10);
        drop(store);
        let _ = std::fs::remove_dir_all(&folder);
        let salt = u64::from_le_bytes(journal[24..32].try_into().expect("eight bytes"));
        let found = survivors(&journal, salt);
        assert_eq!(found.iter().filter(|found| found.is_whole).count(), 30);
        (journal, salt, found.into_iter().map(|found| (found.offset, found)).collect())
    })
}
