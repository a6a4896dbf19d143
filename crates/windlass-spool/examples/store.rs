//! Speed of the spool's store, in a folder of your choice:
//!
//!     cargo run --release -p windlass-spool --example store -- /var/tmp/speed
//!
//! A word after the folder (hot, small, threads, large, start) selects one part. The example
//! creates a spool in the folder, and removes it again.

use std::error::Error;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Instant;

use windlass_spool::store::{Durability, Settings, Store};

type Measurement = fn(&Path) -> ExampleResult;
type ExampleResult = Result<(), Box<dyn Error + Send + Sync>>;

const MEGABYTE: usize = 1_011_712;
const SMALL: usize = 10_240;
const RECORD: [u8; 300] = [b'r'; 300];

fn main() -> ExampleResult {
    let folder = std::env::args_os().nth(1).ok_or("say which folder to use")?;
    let folder = Path::new(&folder).join("windlass-speed");
    let part = std::env::args().nth(2);
    let result = parts(&folder, part.as_deref());
    let _ = fs::remove_dir_all(&folder);
    result
}

fn parts(folder: &Path, only: Option<&str>) -> ExampleResult {
    let parts: [(&str, Measurement); 5] =
        [("hot", hot), ("small", small), ("threads", threads), ("large", large), ("start", start)];
    let wanted = parts.into_iter().filter(|(name, _)| only.is_none_or(|only| only == *name));
    wanted.map(|(_, part)| part).try_for_each(|part| part(folder))
}

const ALL: [Durability; 3] = [Durability::Memory, Durability::Cache, Durability::Fsync];

/// Measures jobs of 1 MB that are removed as soon as they are stored.
fn hot(folder: &Path) -> ExampleResult {
    for durability in ALL {
        for piece in [16 << 10, 64 << 10] {
            let store = open(folder, durability)?;
            let count = if durability == Durability::Fsync { 200 } else { 3_000 };
            timed(
                &format!("{durability:?}: 1 MB in {piece} bytes each, put, removed"),
                count,
                || {
                    (0..count).try_for_each(|id| {
                        keep(&store, id, MEGABYTE, piece)?;
                        store.wait(store.remove(id)?)?;
                        Ok(())
                    })
                },
            )?;
        }
    }
    Ok(())
}

/// Measures jobs of 10 KB, one after the other.
fn small(folder: &Path) -> ExampleResult {
    for durability in ALL {
        let store = open(folder, durability)?;
        let count = if durability == Durability::Fsync { 500 } else { 20_000 };
        timed(&format!("{durability:?}: 10 KB, put, removed"), count, || {
            (0..count).try_for_each(|id| {
                keep(&store, id, SMALL, SMALL)?;
                store.wait(store.remove(id)?)?;
                Ok(())
            })
        })?;
        timed(&format!("{durability:?}: 10 KB, put and kept"), count, || {
            (0..count).try_for_each(|id| keep(&store, id, SMALL, SMALL))
        })?;
        timed(&format!("{durability:?}: removed"), count, || {
            (0..count).try_for_each(|id| Ok(store.wait(store.remove(id)?)?))
        })?;
    }
    Ok(())
}

/// Measures several threads at once.
fn threads(folder: &Path) -> ExampleResult {
    for durability in [Durability::Cache, Durability::Fsync] {
        for (size, threads) in [(SMALL, 1), (SMALL, 8), (SMALL, 64), (MEGABYTE, 1), (MEGABYTE, 8)] {
            let store = open(folder, durability)?;
            let each = if size == SMALL { 100 } else { 25 };
            let (next, count) = (AtomicU32::new(0), each * threads.max(10));
            timed(&format!("{durability:?}: {size} bytes, put, {threads} threads"), count, || {
                at_once(threads, || {
                    loop {
                        let id = next.fetch_add(1, Ordering::Relaxed);
                        if id >= count {
                            return Ok(());
                        }
                        keep(&store, id, size, 64 << 10)?;
                    }
                })
            })?;
        }
    }
    Ok(())
}

/// Measures jobs of 1 MB that stay.
fn large(folder: &Path) -> ExampleResult {
    let store = open(folder, Durability::Cache)?;
    let count = 2_000;
    timed("Cache: 1 MB, put and kept", count, || {
        (0..count).try_for_each(|id| keep(&store, id, MEGABYTE, 64 << 10))
    })?;
    timed("Cache: removed", count, || {
        (0..count).try_for_each(|id| Ok(store.wait(store.remove(id)?)?))
    })?;
    println!("left: {:?}", store.usage());
    Ok(())
}

/// Measures a start with many jobs.
fn start(folder: &Path) -> ExampleResult {
    let store = open(folder, Durability::Cache)?;
    let count = 140_000;
    timed("Cache: jobs of 1 KB, put and kept", count, || {
        (0..count).try_for_each(|id| keep(&store, id, 1_024, 1_024))
    })?;
    timed("end", 1, || Ok(store.close()?))?;
    let settings = Settings { durability: Durability::Cache, most: None };
    timed("start with 140,000 jobs", 1, || {
        let (_store, kept) = Store::open(folder, settings)?;
        assert_eq!(kept.len(), 140_000);
        Ok(())
    })
}

/// Stores a job, and waits until it is safe.
fn keep(store: &Store, id: u32, length: usize, piece: usize) -> ExampleResult {
    static BYTES: [u8; 64 << 10] = [b'd'; 64 << 10];
    let mut draft = store.draft();
    let mut left = length;
    while left > 0 {
        let now = left.min(piece);
        draft.append(&BYTES[..now])?;
        left -= now;
    }
    store.wait(store.put(id, &RECORD, &[draft.finish()?])?)?;
    Ok(())
}

/// Opens an empty spool.
fn open(folder: &Path, durability: Durability) -> Result<Store, Box<dyn Error + Send + Sync>> {
    let _ = fs::remove_dir_all(folder);
    Ok(Store::open(folder, Settings { durability, most: None })?.0)
}

fn at_once(threads: u32, work: impl Fn() -> ExampleResult + Sync) -> ExampleResult {
    thread::scope(|scope| {
        let handles: Vec<_> = (0..threads).map(|_| scope.spawn(&work)).collect();
        handles.into_iter().try_for_each(|handle| handle.join().map_err(|_| "a thread panicked")?)
    })
}

fn timed(what: &str, count: u32, work: impl FnOnce() -> ExampleResult) -> ExampleResult {
    let start = Instant::now();
    work()?;
    let time = start.elapsed();
    let each = time.as_secs_f64() / f64::from(count);
    println!("{what:60} {:>10.1} us each, {:>9.0}/s, {:.2?} in all", each * 1e6, 1.0 / each, time);
    Ok(())
}
