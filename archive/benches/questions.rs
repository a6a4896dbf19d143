//! Benchmark of the canned questions over a very large archive: time and memory.
//!
//!     cargo bench --bench questions
//!     cargo bench --bench questions -- --rows 1000000
//!
//! The archive covers a year of a firm that has fifty sites with a hundred printers each. Its
//! connections are synthetic; the tables, sums and log are written as `add` writes them. The
//! archive is made once below `target/`, 30 GB for a hundred million connections, and reused by the
//! next run with the same number.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a bench fails by panicking")]

#[path = "../../crates/windlass/benches/common/mod.rs"]
mod common;
#[path = "questions/made_up.rs"]
mod made_up;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use common::{Bench, Bound, OwnOption, Part, bytes_in, grouped, in_turn, median};
use windlass_archive::sums::Sum;

/// Maximum time of an answer in seconds.
const TIME: f64 = 2.0;

/// Maximum memory of the program in MB, besides the memory for queries.
const BESIDE: f64 = 300.0;

/// Memory for queries in MiB.
const MEMORY: u32 = 1024;

const QUESTIONS: [&str; 5] = [
    "docs/queries/captures.sql",
    "archive/queries/limits-by-prefix-and-hour.sql",
    "archive/queries/devices.sql",
    "archive/queries/changed-pairs.sql",
    "archive/queries/slow-hours.sql",
];

fn main() -> ExitCode {
    let rows = OwnOption("--rows", "N", "connections: a hundred million, unless told");
    Bench::run("questions", &[rows], &["questions"], measure)
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn measure(bench: &mut Bench) -> Result<()> {
    let runs = bench.asked.runs(5, 1);
    let rows = bench.asked.number("--rows", 100_000_000, 1_000_000);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("questions-{rows}"));
    let archive = folder.join("archive");
    if !folder.join("whole").exists() {
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&archive)?;
        let began = Instant::now();
        made_up::write(&archive, rows)?;
        fs::write(folder.join("whole"), "")?;
        eprintln!(
            "made {} connections in {:.0} s",
            grouped(rows as f64),
            began.elapsed().as_secs_f64()
        );
    }
    let told = in_turn(runs, &QUESTIONS, |question| ask(&archive, question))?;
    let about = format!(
        "windlass-archive sql over {} connections of {} MB, with --memory {MEMORY}MiB; sums of {} rows",
        grouped(rows as f64),
        grouped(bytes_in(&archive)? as f64 / 1e6),
        grouped(count(&archive)? as f64),
    );
    let mut part = Part::new("questions", about, &["question", "s", "MB at most", "bound"]);
    for (question, told) in QUESTIONS.iter().zip(&told) {
        let seconds = median(told.iter().map(|(seconds, _)| *seconds)).context("no runs")?;
        let memory = told.iter().map(|(_, memory)| *memory).fold(0.0, f64::max);
        let most = f64::from(MEMORY) * 1.048_576 + BESIDE;
        let holds = Bound::Most(TIME).holds(seconds) && Bound::Most(most).holds(memory);
        let words = part.bound(&format!("at most {TIME} s and {most:.0} MB"), holds);
        let name = Path::new(question).file_stem().unwrap_or_default().to_string_lossy();
        part.row([name.into_owned(), format!("{seconds:.2}"), grouped(memory), words]);
    }
    bench.tell(part);
    Ok(())
}

/// Counts the rows of all sums.
fn count(archive: &Path) -> Result<u64> {
    let counts = Sum::ALL.map(|sum| format!("(select count(*) from {})", sum.id())).join(" + ");
    let query = format!("select {counts} as n");
    let mut command = program(archive);
    let output = command
        .args(["--format", "csv", &query])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .output()?;
    ensure!(output.status.success(), "cannot count");
    let text = String::from_utf8(output.stdout)?;
    Ok(text.lines().nth(1).context("no number")?.parse()?)
}

fn program(archive: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_windlass-archive"));
    command.arg("sql").arg("--from").arg(archive).args(["--memory", &format!("{MEMORY}MiB")]);
    command
}

/// Returns the time of an answer in seconds, and the peak memory in MB.
fn ask(archive: &Path, question: &str) -> Result<(f64, f64)> {
    let query = fs::File::open(repository().join(question))?;
    let began = Instant::now();
    let child = program(archive).stdin(query).stdout(Stdio::null()).spawn()?;
    let (status, memory) = watched(child)?;
    ensure!(status, "{question} has no answer");
    Ok((began.elapsed().as_secs_f64(), memory))
}

fn watched(mut child: Child) -> Result<(bool, f64)> {
    let path = format!("/proc/{}/status", child.id());
    let mut highest = 0.0;
    loop {
        let text = fs::read_to_string(&path).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<f64>().ok());
        highest = kib.map_or(highest, |kib| kib * 1024.0 / 1e6).max(highest);
        if let Some(status) = child.try_wait()? {
            return Ok((status.success(), highest));
        }
        thread::sleep(Duration::from_millis(2));
    }
}
