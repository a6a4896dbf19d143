//! A scenario in real time: row after row, with a progress line.

use std::time::Duration;

use windlass_base::Failure;
use windlass_base::figures::fixed;
use windlass_lab::{Row, Scenario, TransferEnd};
use windlass_netlab::real::{self, Transfer, TransferProgress};
use windlass_output::{Output, Progress};

use super::kept::{self, KeptCapture};
use super::outcome::{Outcomes, RowOutcome};
use super::{LabArgs, unwritten};
use crate::commands::watched::WatchedRecord;
use crate::interrupt;

/// The time between two updates of the line.
const UPDATE: Duration = Duration::from_millis(200);

pub(super) fn run(
    args: &LabArgs,
    scenario: &mut Scenario,
    seed: u64,
    output: &mut Output,
) -> anyhow::Result<()> {
    let stop = interrupt::listen("cannot run the scenario in real time")?;
    let running = args.watching.start(output.wants_intervals())?;
    let whole = scenario.rows.len();
    let mut rows = Vec::with_capacity(whole);
    let mut progress = Progress::new(Duration::ZERO, UPDATE);
    let (mut unwritable, mut broken) = (None, None);
    for (number, row) in (1_usize..).zip(&mut scenario.rows) {
        let documented = row.bytes;
        row.bytes = args.bytes.unwrap_or_else(|| real::size(row, seed));
        let same = row.bytes == documented;
        let name = format!("row {number} of {whole}, {}", label(row));
        let (keeper, kept) = KeptCapture::of(args, row, &mut unwritable).unzip();
        let tell = |lasting| progress.tell(|| line(&name, &lasting));
        match real::run(row, seed, keeper, &stop, tell) {
            Ok(Some(mut transfer)) => {
                let capture = kept::finish(kept.zip(transfer.keeper.take()), &mut unwritable);
                rows.push(outcome(row, transfer, same, capture));
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
        // An empty table is useless.
        return Err(failure.into());
    }
    let record = Outcomes { real: true, ..Outcomes::new(scenario, seed, rows) };
    let record = WatchedRecord::new(record, running);
    output.print(&record).map_err(unwritten)?;
    // The table is printed first: finished rows must not be lost with the others.
    broken.or(unwritable).map_or(Ok(()), |failure| Err(failure.into()))
}

/// Returns the outcome of a row, with that of its simulated twin.
fn outcome(row: &Row, transfer: Transfer, same: bool, capture: Option<String>) -> RowOutcome {
    let Transfer { real, simulated, asked, granted, held, .. } = transfer;
    let (ours, theirs) = (real.rate.bytes_per_second(), simulated.rate.bytes_per_second());
    let both = [&real, &simulated].iter().all(|outcome| outcome.ended == TransferEnd::Finished);
    RowOutcome {
        simulated_bytes_per_second: Some(simulated.rate),
        simulated_seconds: Some(simulated.time),
        simulated_rate_difference: (both && theirs > 0.0).then(|| ours / theirs - 1.0),
        simulated_verdict: simulated.report.map(|report| report.verdict),
        send_buffer_bytes: asked,
        granted_send_buffer_bytes: granted,
        held_send_buffer_bytes: held,
        ..RowOutcome::new(row, real, same, capture)
    }
}

/// Returns the device and method of a row.
fn label(row: &Row) -> String {
    format!("{} {}", row.profile.name, row.method.id())
}

/// Returns the progress of a transfer.
fn line(name: &str, lasting: &TransferProgress) -> String {
    let TransferProgress { done, whole, time } = lasting;
    let rate = done.per(*time);
    format!("{name}: {done} of {whole} after {} s ({rate})", fixed(time.as_seconds(), 1))
}
