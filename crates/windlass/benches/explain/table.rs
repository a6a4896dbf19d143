//! The results of one capture, aligned.

use std::time::Duration;

use crate::captures::Capture;
use crate::common::Part;
use crate::run::Outcome;

/// Result of one program.
pub(crate) struct Row {
    pub(crate) program: &'static str,
    pub(crate) times: Vec<Duration>,
    pub(crate) peak: Option<u64>,
    pub(crate) outcome: Outcome,
}

impl Row {
    pub(crate) fn median(&self) -> Option<Duration> {
        let mut times = self.times.clone();
        times.sort_unstable();
        times.get(times.len() / 2).copied()
    }
}

/// The rows, the first of which is windlass.
pub(crate) fn part(name: &'static str, rows: &[Row], capture: &Capture) -> Part {
    let columns =
        ["", "runs", "median s", "min s", "max s", "M packets/s", "MB/s", "peak MB", "× windlass"];
    let mut part = Part::new(name, capture.about(), &columns);
    let own = rows.first().and_then(Row::median);
    for row in rows {
        let (Some(median), Some(least), Some(most)) =
            (row.median(), row.times.iter().min(), row.times.iter().max())
        else {
            continue;
        };
        let seconds = median.as_secs_f64();
        let over = own.map_or(f64::NAN, |own| seconds / own.as_secs_f64());
        let over = match row.outcome {
            Outcome::Done => format!("{over:.2}"),
            Outcome::Stopped => format!("> {over:.0}, stopped"),
            Outcome::Failed => "failed".to_owned(),
        };
        part.row([
            row.program.to_owned(),
            row.times.len().to_string(),
            format!("{seconds:.3}"),
            format!("{:.3}", least.as_secs_f64()),
            format!("{:.3}", most.as_secs_f64()),
            format!("{:.2}", capture.packets as f64 / seconds / 1e6),
            format!("{:.0}", capture.bytes as f64 / seconds / 1e6),
            row.peak.map_or_else(|| "?".to_owned(), |bytes| format!("{:.1}", bytes as f64 / 1e6)),
            over,
        ]);
    }
    part
}
