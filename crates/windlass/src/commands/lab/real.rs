//! A scenario in real time: row after row, with a line that says how far it is.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use super::outcome::{Outcomes, RowOutcome};
use super::{LabArgs, keeper, kept, unwritten};
use crate::commands::watched::Watched;
use crate::failure::Failure;
use crate::interrupt;
use crate::lab::real::{self, Lasting};
use crate::lab::{Row, Scenario};
use crate::print::{Format, Output};

/// The time between two updates of the line.
const UPDATE: Duration = Duration::from_millis(200);

pub(super) fn run(
    args: &LabArgs,
    scenario: &mut Scenario,
    seed: u64,
    output: &mut Output,
) -> anyhow::Result<()> {
    let stop = interrupt::listen()
        .map_err(|error| Failure::new("cannot run the scenario in real time", error))?;
    let watcher = args.watching.start(output.format() == Format::Json)?;
    let whole = scenario.rows.len();
    let mut rows = Vec::with_capacity(whole);
    let mut progress = Progress::new();
    let (mut unwritable, mut broken) = (None, None);
    for (number, row) in (1_usize..).zip(&mut scenario.rows) {
        let documented = row.bytes;
        row.bytes = args.bytes.unwrap_or_else(|| real::size(row, seed));
        let same = row.bytes == documented;
        let name = format!("row {number} of {whole}, {}", label(row));
        let keeper = keeper(args, row, &mut unwritable);
        let tell = |lasting| progress.tell(&name, &lasting);
        match real::run(row, seed, keeper, &stop, tell) {
            Ok(Some(mut transfer)) => {
                let capture = kept(transfer.keeper.take(), &mut unwritable);
                rows.push(RowOutcome::real(row, transfer, same, capture));
            }
            Ok(None) => break,
            Err(failure) => {
                broken = Some(failure);
                break;
            }
        }
    }
    progress.clear();
    let done = rows.len();
    if broken.is_none() && done < whole {
        let doing = format!("cannot finish {}", scenario.id);
        let wrong = format!("it was interrupted after {done} of {whole} transfers");
        broken = Some(Failure::new(doing, wrong));
    }
    if done == 0
        && let Some(failure) = broken
    {
        // A table of nothing helps nobody.
        return Err(failure.into());
    }
    let record = Outcomes::new(scenario, seed, rows).in_real_time();
    let record = Watched::new(record, watcher);
    output.print(&record).map_err(unwritten)?;
    // The table is out: rows that are done are not lost with the others.
    broken.or(unwritable).map_or(Ok(()), |failure| Err(failure.into()))
}

/// The device and method of a row.
fn label(row: &Row) -> String {
    format!("{} {}", row.profile.name, row.method.id())
}

/// A line on the terminal that says how far a transfer is.
struct Progress {
    terminal: bool,
    shown: Option<Instant>,
}

impl Progress {
    fn new() -> Self {
        Self { terminal: std::io::stderr().is_terminal(), shown: None }
    }

    fn tell(&mut self, name: &str, lasting: &Lasting) {
        if !self.terminal || self.shown.is_some_and(|shown| shown.elapsed() < UPDATE) {
            return;
        }
        self.shown = Some(Instant::now());
        let Lasting { done, whole, time } = lasting;
        let mut stderr = std::io::stderr().lock();
        // Nobody is told where standard error is closed.
        let _ = write!(
            stderr,
            "\r\x1b[K{name}: {done} of {whole} after {:.1} s ({})",
            time.as_seconds(),
            done.per(*time)
        );
        let _ = stderr.flush();
    }

    fn clear(&mut self) {
        if self.shown.is_some() {
            let mut stderr = std::io::stderr().lock();
            let _ = write!(stderr, "\r\x1b[K");
            let _ = stderr.flush();
        }
    }
}
