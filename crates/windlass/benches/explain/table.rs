//! The results of one capture, aligned.

use std::fmt::Write;
use std::time::Duration;

use crate::captures::Capture;
use crate::run::Outcome;

/// What one program did.
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
pub(crate) fn table(rows: &[Row], capture: &Capture) -> String {
    let mut text = String::new();
    let own = rows.first().and_then(Row::median);
    let _ = writeln!(
        text,
        "  {:<10} {:>4} {:>9} {:>9} {:>9} {:>12} {:>9} {:>9}  windlass is",
        "program", "runs", "median s", "min s", "max s", "M packets/s", "MB/s", "peak MB"
    );
    for row in rows {
        let (Some(median), Some(least), Some(most)) =
            (row.median(), row.times.iter().min(), row.times.iter().max())
        else {
            continue;
        };
        let seconds = median.as_secs_f64();
        let peak =
            row.peak.map_or_else(|| "?".to_owned(), |bytes| format!("{:.1}", bytes as f64 / 1e6));
        let ratio = match own {
            _ if row.program == "windlass" => String::new(),
            Some(own) => {
                let times = seconds / own.as_secs_f64();
                if times >= 1.0 {
                    format!("{times:.1} times as fast")
                } else {
                    format!("{:.1} times as slow", 1.0 / times)
                }
            }
            None => String::new(),
        };
        let ending = match row.outcome {
            Outcome::Done => "",
            Outcome::Stopped => " (stopped: too slow)",
            Outcome::Failed => " (FAILED: the time says nothing)",
        };
        let _ = writeln!(
            text,
            "  {:<10} {:>4} {seconds:>9.3} {:>9.3} {:>9.3} {:>12.2} {:>9.0} {peak:>9}  {ratio}{ending}",
            row.program,
            row.times.len(),
            least.as_secs_f64(),
            most.as_secs_f64(),
            capture.packets as f64 / seconds / 1e6,
            capture.bytes as f64 / seconds / 1e6,
        );
    }
    text
}
