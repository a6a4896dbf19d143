//! How fast the spool's store is, in a folder of your choice:
//!
//!     cargo run --release -p windlass-print --example spool -- /var/tmp/speed
//!
//! It makes a spool of its own in there, and takes it away again.

use std::error::Error;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Instant;

use windlass_print::spool::store::{Document, Durability, Settings, Store};

type Done = Result<(), Box<dyn Error + Send + Sync>>;

const MEGABYTE: usize = 1_011_712;
const SMALL: usize = 10_240;
const RECORD: [u8; 300] = [b'r'; 300];

fn main() -> Done {
    let folder = std::env::args_os().nth(1).ok_or("say which folder to use")?;
    let folder = Path::new(&folder).join("windlass-speed");
    let result = all(&folder);
    let _ = fs::remove_dir_all(&folder);
    result
}

fn all(folder: &Path) -> Done {
    let durabilities = [Durability::Memory, Durability::Cache, Durability::Fsync];
    for durability in durabilities {
        for piece in [16 << 10, 64 << 10] {
            let store = open(folder, durability)?;
            let count = if durability == Durability::Fsync { 200 } else { 3_000 };
            timed(
                &format!("{durability:?}: 1 MB in {piece} bytes each, put, removed"),
                count,
                || {
                    (0..count).try_for_each(|id| {
                        let document = receive(&store, MEGABYTE, piece)?;
                        store.wait(store.put(id, &RECORD, &[document])?)?;
                        store.wait(store.remove(id)?)?;
                        Ok(())
                    })
                },
            )?;
        }
    }
    for durability in durabilities {
        let store = open(folder, durability)?;
        let count = if durability == Durability::Fsync { 500 } else { 20_000 };
        timed(&format!("{durability:?}: 10 KB, put, removed"), count, || {
            (0..count).try_for_each(|id| {
                let document = receive(&store, SMALL, SMALL)?;
                store.wait(store.put(id, &RECORD, &[document])?)?;
                store.wait(store.remove(id)?)?;
                Ok(())
            })
        })?;
        timed(&format!("{durability:?}: 10 KB, put and kept"), count, || {
            (0..count).try_for_each(|id| {
                let document = receive(&store, SMALL, SMALL)?;
                store.wait(store.put(id, &RECORD, &[document])?)?;
                Ok(())
            })
        })?;
        timed(&format!("{durability:?}: removed"), count, || {
            (0..count).try_for_each(|id| Ok(store.wait(store.remove(id)?)?))
        })?;
    }
    for durability in [Durability::Cache, Durability::Fsync] {
        for threads in [1, 8, 64] {
            let store = open(folder, durability)?;
            let (next, count) = (AtomicU32::new(0), 100 * threads.max(10));
            timed(&format!("{durability:?}: 10 KB, put, {threads} threads"), count, || {
                at_once(threads, || {
                    loop {
                        let id = next.fetch_add(1, Ordering::Relaxed);
                        if id >= count {
                            return Ok(());
                        }
                        let document = receive(&store, SMALL, SMALL)?;
                        store.wait(store.put(id, &RECORD, &[document])?)?;
                    }
                })
            })?;
        }
    }
    let store = open(folder, Durability::Cache)?;
    let count = 2_000;
    timed("Cache: 1 MB, put and kept", count, || {
        (0..count).try_for_each(|id| {
            let document = receive(&store, MEGABYTE, 64 << 10)?;
            store.put(id, &RECORD, &[document])?;
            Ok(())
        })
    })?;
    timed("Cache: removed", count, || {
        (0..count).try_for_each(|id| store.remove(id).map(drop).map_err(Into::into))
    })?;
    println!("left: {:?}", store.usage());
    drop(store);

    let store = open(folder, Durability::Cache)?;
    let count = 140_000;
    timed("Cache: jobs of 1 KB, put and kept", count, || {
        (0..count).try_for_each(|id| {
            let document = receive(&store, 1_024, 1_024)?;
            store.put(id, &RECORD, &[document])?;
            Ok(())
        })
    })?;
    timed("Cache: another state of each", count, || {
        (0..count).try_for_each(|id| store.put(id, &RECORD, &[]).map(drop).map_err(Into::into))
    })?;
    timed("end", 1, || Ok(store.close()?))?;
    let settings = Settings { durability: Durability::Cache, most: None };
    timed("start with 140,000 jobs", 1, || {
        let (_store, kept) = Store::open(folder, settings)?;
        assert_eq!(kept.len(), 140_000);
        Ok(())
    })
}

/// An empty spool.
fn open(folder: &Path, durability: Durability) -> Result<Store, Box<dyn Error + Send + Sync>> {
    let _ = fs::remove_dir_all(folder);
    Ok(Store::open(folder, Settings { durability, most: None })?.0)
}

fn receive(
    store: &Store,
    length: usize,
    piece: usize,
) -> Result<Document, Box<dyn Error + Send + Sync>> {
    static BYTES: [u8; 64 << 10] = [b'd'; 64 << 10];
    let mut draft = store.draft();
    let mut left = length;
    while left > 0 {
        let now = left.min(piece);
        draft.append(&BYTES[..now])?;
        left -= now;
    }
    Ok(draft.finish()?)
}

fn at_once(threads: u32, work: impl Fn() -> Done + Sync) -> Done {
    thread::scope(|scope| {
        let handles: Vec<_> = (0..threads).map(|_| scope.spawn(&work)).collect();
        handles.into_iter().try_for_each(|handle| handle.join().map_err(|_| "a thread panicked")?)
    })
}

fn timed(what: &str, count: u32, work: impl FnOnce() -> Done) -> Done {
    let start = Instant::now();
    work()?;
    let time = start.elapsed();
    let each = time.as_secs_f64() / f64::from(count);
    println!("{what:60} {:>10.1} us each, {:>9.0}/s, {:.2?} in all", each * 1e6, 1.0 / each, time);
    Ok(())
}
