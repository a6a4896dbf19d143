//! A damaged spool: a start refuses it, and what is whole of it is brought into a new one.

use std::fs;
use std::path::Path;

use serde_json::Value;
use windlass_wire::ipp::{Operation, Status};

use super::client::{about, ask, print};
use super::server::{Spool, words};
use super::some_bytes;
use windlass_testkit::schema::checked;
use windlass_testkit::{run, told, windlass};

const JOBS: usize = 40;

fn data(job: usize) -> Vec<u8> {
    some_bytes(job, 3_000 + job * 700)
}

/// Returns the offset of some bytes in a file.
fn place(file: &Path, bytes: &[u8]) -> usize {
    let all = fs::read(file).unwrap();
    all.windows(bytes.len()).position(|window| window == bytes).unwrap()
}

fn change(file: &Path, at: usize, with: impl FnOnce(&mut u8)) {
    let mut all = fs::read(file).unwrap();
    with(&mut all[at]);
    fs::write(file, all).unwrap();
}

fn salvage(words: &str, code: i32) -> (Value, String) {
    let (stdout, stderr, got) = told(&run(&format!("spool salvage {words} --json")));
    assert_eq!(got, code, "{stdout}{stderr}");
    (if stdout.is_empty() { Value::Null } else { checked("spool-salvage", &stdout) }, stderr)
}

#[test]
fn every_whole_job_is_brought_out_of_a_damaged_spool() {
    let folder = tempfile::tempdir().unwrap();
    let (spool, new, out) =
        (folder.path().join("spool"), folder.path().join("new"), folder.path().join("out"));
    fs::create_dir(&out).unwrap();
    let printer = format!("a=file:{}", out.display());
    let server = Spool::start(&spool, &["--printer", &printer, "--stopped"]);
    let ids: Vec<i32> =
        (0..JOBS).map(|job| print(server.ipp, "a", &format!("job {job}"), &data(job))).collect();
    let (_, stderr, code) = told(&run(&format!("spool salvage {}", spool.display())));
    assert!(code == 1 && stderr.contains("is in use by process"), "{stderr}");
    server.kill();
    // The server of a spool that is whole: nothing is to be done.
    let (report, _) = salvage(&spool.display().to_string(), 0);
    assert_eq!(report["whole"], JOBS);
    // A bit of a record behind its head, and one of a document.
    let journal = spool.join("journal.a");
    let name = b"job 13";
    let is_there = fs::read(&journal).unwrap().windows(name.len()).any(|window| window == name);
    let journal = if is_there { journal } else { spool.join("journal.b") };
    change(&journal, place(&journal, name), |byte| *byte ^= 1);
    let segment = spool.join("data.00000");
    change(&segment, place(&segment, &data(21)) + 5_000, |byte| *byte ^= 0x80);
    let before = [&journal, &segment].map(|file| fs::read(file).unwrap());

    let mut command = windlass();
    command.args(words(&spool, &["--printer", &printer]));
    let ended = Spool::of(command).err().expect("it refuses a damaged journal");
    assert!(
        ended.stderr.contains("Recover the whole jobs with windlass spool salvage"),
        "{}",
        ended.stderr
    );

    let (report, stderr) = salvage(&format!("{} --to {}", spool.display(), new.display()), 1);
    for (of, count) in [("whole", JOBS - 2), ("uncertain", 0), ("damaged", 1), ("lost", 1)] {
        assert_eq!(report[of], count, "{of}: {report}");
    }
    assert!(stderr.contains("2 jobs cannot be recovered"), "{stderr}");
    let fate = |job: usize| &report["jobs"][job]["fate"];
    assert_eq!((fate(13), fate(21)), (&Value::from("lost"), &Value::from("damaged")));
    assert!(before == [&journal, &segment].map(|file| fs::read(file).unwrap()));
    let (_, again) = salvage(&format!("{} --to {}", spool.display(), new.display()), 1);
    assert!(again.contains("nothing was put there"), "{again}");

    let server = Spool::start(&new, &["--printer", &printer, "--stopped"]);
    let resume = about(Operation::RESUME_PRINTER, server.ipp, "a");
    assert_eq!(Status(ask(server.ipp, &resume, b"").code), Status::OK);
    server.wait_counts("a", "completed", JOBS as u64 - 2);
    for (job, id) in ids.iter().enumerate() {
        let file = out.join(format!("a-{id:08}"));
        if job == 13 || job == 21 {
            assert!(!file.exists(), "job {job}");
        } else {
            assert!(fs::read(file).unwrap() == data(job), "job {job}");
        }
    }
    assert!(print(server.ipp, "a", "after", b"1") > *ids.last().unwrap());
    assert_eq!(server.stop().code, Some(0));
}
