//! Many transfers, some at a time, with what is done kept in a list.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::list::List;
use crate::named;
use crate::run::{self, RunResult};
use crate::situation::Situation;

/// Runs each situation with each seed, `at_once` at a time, into a folder.
pub(crate) fn write(folder: &Path, situations: &[&Situation], seeds: Range<u64>, at_once: usize) {
    std::fs::create_dir_all(folder).unwrap();
    let list = List::new(folder);
    let done = list.done();
    let all: Vec<(&Situation, u64)> = seeds
        .flat_map(|seed| situations.iter().map(move |one| (*one, seed)))
        .filter(|(one, seed)| {
            one.is_possible() && !done.contains(&format!("{}-{seed}", named(one)))
        })
        .collect();
    eprintln!("{} transfers were there, {} are to be made", done.len(), all.len());
    let (next, counts) = (AtomicUsize::new(0), Mutex::new(BTreeMap::<&str, [u64; 2]>::new()));
    let work = || {
        while let Some((situation, seed)) = all.get(next.fetch_add(1, Ordering::Relaxed)) {
            let ended = run::run(situation, *seed, folder);
            let name = format!("{}-{seed}", named(situation));
            let mut counts = counts.lock().unwrap();
            let count = counts.entry(situation.name).or_default();
            match ended {
                RunResult::Kept(line) => {
                    count[0] += 1;
                    let Situation { truth, program, .. } = situation;
                    let of = named(situation);
                    let lines = ["snd", "rcv"].map(|end| {
                        format!("{name}.{end}.pcap.gz\t{truth}\t{of}\t{program}\t{line}\n")
                    });
                    list.append("LIST", &lines.concat());
                }
                RunResult::Dropped(why) => {
                    count[1] += 1;
                    list.append("DROPPED", &format!("{name}\t{why}\n"));
                    eprintln!("dropped {name}: {why}");
                }
            }
            let sums = counts.values().fold([0; 2], |sum, one| [sum[0] + one[0], sum[1] + one[1]]);
            if (sums[0] + sums[1]) % 20 == 0 {
                eprintln!("{} made, {} dropped, of {}", sums[0], sums[1], all.len());
            }
        }
    };
    std::thread::scope(|scope| (0..at_once).for_each(|_| drop(scope.spawn(work))));
    for (name, [kept, dropped]) in counts.into_inner().unwrap() {
        eprintln!("{name:24} {kept:4} made {dropped:4} dropped");
    }
}
