//! Counts of finished jobs among the metrics of `windlass spool serve`.
//!
//! A spooler of a hundred thousand jobs a second forgets most of them before it can be asked. Its
//! counts forget none. Their increase gives the outcomes of jobs that its list no longer has.

use std::collections::HashSet;

use super::outcome::OutcomeCounts;

/// Prefix of the metrics' names, before the outcome.
const PREFIX: &str = "windlass_spool_jobs_";

/// Path of the metrics, and their maximum size.
pub(super) const PATH: &str = "/metrics";
pub(super) const MAX_METRICS: usize = 8 << 20;

/// Returns the counts of these printers; nothing if there are none.
pub(super) fn counted(text: &str, printers: &HashSet<String>) -> Option<OutcomeCounts> {
    let mut ends = None;
    for line in text.lines() {
        let Some((what, printer, value)) = sample(line) else { continue };
        if !printers.contains(&printer) {
            continue;
        }
        let counts = ends.get_or_insert_with(OutcomeCounts::default);
        let of = match what {
            "completed_total" => &mut counts.completed,
            "canceled_total" => &mut counts.canceled,
            "aborted_total" => &mut counts.aborted,
            _ => continue,
        };
        *of = of.saturating_add(value);
    }
    ends
}

/// Parses a line: its outcome, printer and count.
fn sample(line: &str) -> Option<(&str, String, u64)> {
    let (what, rest) = line.strip_prefix(PREFIX)?.split_once("{printer=\"")?;
    let (label, value) = rest.rsplit_once("\"} ")?;
    let mut printer = String::new();
    let mut letters = label.chars();
    while let Some(letter) = letters.next() {
        printer.push(match letter {
            '\\' => match letters.next()? {
                'n' => '\n',
                other => other,
            },
            other => other,
        });
    }
    Some((what, printer, value.trim().parse().ok()?))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Any text of a server gives counts or none.
        #[test]
        fn any_text_is_read(
            text in "(windlass_spool_jobs_|completed_total|\\{printer=\"|a|\"\\} |[0-9\\\\\n]|.){0,30}"
        ) {
            let _ = counted(&text, &["a".to_owned()].into());
        }
    }

    #[test]
    fn counts_of_printers_are_read() {
        let text = "# TYPE windlass_spool_jobs_completed counter\n\
            windlass_spool_jobs_completed_total{printer=\"a\"} 7\n\
            windlass_spool_jobs_completed_total{printer=\"b\\\"c\"} 5\n\
            windlass_spool_jobs_completed_total{printer=\"other\"} 100\n\
            windlass_spool_jobs_aborted_total{printer=\"a\"} 2\n\
            windlass_spool_jobs_canceled_total{printer=\"a\"} x\n\
            windlass_spool_jobs_accepted_total{printer=\"a\"} 9\n\
            windlass_spool_jobs_canceled_total{printer\n# EOF\n";
        let printers = ["a", "b\"c"].map(str::to_owned).into();
        let ends = counted(text, &printers).unwrap();
        assert_eq!((ends.completed, ends.aborted, ends.canceled), (12, 2, 0));
        assert_eq!(counted("<html>", &printers), None);
    }
}
