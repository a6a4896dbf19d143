//! Metrics of the spool, as plain text and as `OpenMetrics`.

use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use windlass_spool_core::{Latency, Printer};

use super::Gate;
use crate::spooler::Spooler;

/// Returns the plain-text page.
pub(super) fn page(spooler: &Arc<Spooler>) -> String {
    let usage = spooler.usage();
    spooler.look(|table| {
        let mut text = String::new();
        let jobs = table.active();
        // Writing to a string does not fail.
        let _ =
            writeln!(text, "windlass spool: {jobs} jobs, {} bytes of documents\n", usage.documents);
        let widest = table.listed().map(|one| one.settings.name.chars().count()).max();
        let wide = widest.unwrap_or(0);
        for printer in table.listed() {
            let (name, jobs) = (&printer.settings.name, printer.live.len());
            let takes = if printer.is_accepting { "" } else { ", rejects jobs" };
            let _ =
                writeln!(text, "{name:wide$}  {jobs:>8} jobs  {}{takes}", printer.state().words());
        }
        text
    })
}

/// Metric of each printer: kind, name, help and value.
type PrinterMetric = (&'static str, &'static str, &'static str, fn(&Printer) -> u64);

const OF_PRINTERS: [PrinterMetric; 15] = [
    ("gauge", "queued_jobs", "Unfinished jobs of a printer.", |one| one.live.len() as u64),
    ("gauge", "printer_stopped", "1 if the printer is stopped.", |one| {
        u64::from(one.stopped.is_some())
    }),
    ("gauge", "printer_accepting", "1 if the printer accepts jobs.", |one| {
        u64::from(one.is_accepting)
    }),
    ("gauge", "device_failing", "1 if the device failed with its last job.", |one| {
        u64::from(one.trouble.is_some())
    }),
    ("gauge", "device_stalled", "1 if the device has a job and makes no progress.", |one| {
        u64::from(one.stall().is_some())
    }),
    ("counter", "jobs_accepted", "Accepted jobs.", |one| one.counts.accepted),
    ("counter", "jobs_refused", "Refused jobs.", |one| one.counts.refused),
    ("counter", "jobs_completed", "Completed jobs.", |one| one.counts.completed),
    ("counter", "jobs_canceled", "Canceled jobs.", |one| one.counts.canceled),
    ("counter", "jobs_aborted", "Aborted jobs.", |one| one.counts.aborted),
    ("counter", "delivery_failures", "Failed attempts to deliver a job.", |one| {
        one.counts.failures
    }),
    ("counter", "accepted_bytes", "Bytes of accepted documents.", |one| one.counts.bytes_in),
    ("counter", "delivered_bytes", "Bytes of delivered documents.", |one| one.counts.bytes_out),
    ("counter", "printed_pages", "Delivered pages, including copies.", |one| one.counts.pages),
    (
        "counter",
        "jobs_of_unknown_pages",
        "Completed jobs with an unknown number of pages.",
        |one| one.counts.pages_unknown,
    ),
];

/// Returns the metrics in the text format of `OpenMetrics` 1.0.
pub(super) fn text(spooler: &Arc<Spooler>, gate: &Arc<Gate>) -> String {
    let usage = spooler.usage();
    let mut text = String::new();
    let counts = &gate.counts;
    let open = gate.budget.len() as u64;
    let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
    let (accepted, too_many) = (read(&counts.accepted), read(&counts.too_many));
    let (forbidden, requests) = (read(&counts.forbidden), read(&counts.requests));
    spooler.look(|table| {
        let active = table.active() as u64;
        for (kind, name, help, value) in [
            ("gauge", "document_bytes", "Bytes of stored documents.", usage.documents),
            ("gauge", "disk_bytes", "Bytes of the spool's files.", usage.files),
            ("gauge", "connections", "Open connections.", open),
            ("counter", "connections_accepted", "Accepted connections.", accepted),
            (
                "counter",
                "connections_over_limit",
                "Connections closed because of a limit.",
                too_many,
            ),
            (
                "counter",
                "connections_forbidden",
                "Connections of clients that may not print.",
                forbidden,
            ),
            ("counter", "http_requests", "HTTP requests.", requests),
            ("gauge", "active_jobs", "Unfinished jobs.", active),
        ] {
            family(&mut text, kind, name, help, [(String::new(), value)]);
        }
        for (kind, name, help, value) in OF_PRINTERS {
            let each = table.listed().map(|printer| {
                let label = format!("{{printer=\"{}\"}}", escaped(&printer.settings.name));
                (label, value(printer))
            });
            family(&mut text, kind, name, help, each);
        }
        attempts(&mut text, table.printers());
        for (name, help, smallest, of) in LATENCIES {
            histogram(&mut text, name, help, smallest, table.printers(), of);
        }
    });
    text.push_str("# EOF\n");
    text
}

/// Writes the times and limits of attempts.
fn attempts(text: &mut String, printers: &[Printer]) {
    let label = |printer: &Printer, name: &str, value: &str| {
        format!("{{printer=\"{}\",{name}=\"{value}\"}}", escaped(&printer.settings.name))
    };
    let reasons = printers.iter().flat_map(|printer| {
        printer.device_reasons.iter().map(|reason| (label(printer, "reason", &escaped(reason)), 1))
    });
    let help = "State reasons of a device during a job (printer-state-reasons).";
    family(text, "gauge", "device_reason", help, reasons);
    let parts = printers.iter().flat_map(|printer| {
        let all = &printer.attempts;
        [("connecting", all.connecting), ("sending", all.sending), ("answering", all.answering)]
            .map(|(part, time)| (label(printer, "part", part), time.as_secs_f64()))
    });
    let help = "Time of jobs at devices, by part.";
    family(text, "counter", "device_seconds", help, parts);
    let limits = || {
        printers.iter().flat_map(|printer| {
            let limits = &printer.attempts.limits;
            limits.iter().map(move |(cause, (count, time))| {
                (label(printer, "limit", cause), *count, time.as_secs_f64())
            })
        })
    };
    let help = "Delivery attempts by limit.";
    let counts = limits().map(|(label, count, _)| (label, count));
    family(text, "counter", "limited_attempts", help, counts);
    let help = "Sending time by limit.";
    let times = limits().map(|(label, _, time)| (label, time));
    family(text, "counter", "limited_seconds", help, times);
}

/// Writes a family of metrics: its type, unit and help, and a value for each label.
fn family(
    text: &mut String,
    kind: &str,
    name: &str,
    help: &str,
    values: impl IntoIterator<Item = (String, impl std::fmt::Display)>,
) {
    let name = format!("windlass_spool_{name}");
    let _ = writeln!(text, "# TYPE {name} {kind}");
    if let Some(unit) = ["bytes", "seconds"].iter().find(|unit| name.ends_with(*unit)) {
        let _ = writeln!(text, "# UNIT {name} {unit}");
    }
    let _ = writeln!(text, "# HELP {name} {help}");
    let suffix = if kind == "counter" { "_total" } else { "" };
    for (label, value) in values {
        let _ = writeln!(text, "{name}{suffix}{label} {value}");
    }
}

/// Latency of each printer: name, help, smallest bound in microseconds that its clock resolves, and
/// value.
type LatencyMetric = (&'static str, &'static str, u64, fn(&Printer) -> &Latency);

const LATENCIES: [LatencyMetric; 3] = [
    (
        "acknowledgement_seconds",
        "Time from the last byte of a job to its acknowledgement.",
        0,
        |one| &one.latencies.acknowledgement,
    ),
    (
        "queue_seconds",
        "Time from the arrival of a job until its printer starts it, including holds.",
        5_000,
        |one| &one.latencies.queue,
    ),
    ("delivery_seconds", "Time from there until the device has the whole job.", 5_000, |one| {
        &one.latencies.delivery
    }),
];

/// Writes a histogram of each printer with data. Printers and bounds are fixed, which bounds the
/// number of lines.
fn histogram(
    text: &mut String,
    name: &str,
    help: &str,
    smallest: u64,
    printers: &[Printer],
    of: fn(&Printer) -> &Latency,
) {
    let name = format!("windlass_spool_{name}");
    let _ = writeln!(text, "# TYPE {name} histogram\n# UNIT {name} seconds\n# HELP {name} {help}");
    for printer in printers {
        let latency = of(printer);
        if latency.count() == 0 {
            continue;
        }
        let printer = escaped(&printer.settings.name);
        for (bound, count) in latency.up_to() {
            let bound = match bound {
                Some(bound) if bound < smallest => continue,
                Some(bound) => seconds(bound),
                None => "+Inf".to_owned(),
            };
            let _ = writeln!(text, "{name}_bucket{{printer=\"{printer}\",le=\"{bound}\"}} {count}");
        }
        let (count, sum) = (latency.count(), seconds(latency.sum()));
        let _ = writeln!(text, "{name}_count{{printer=\"{printer}\"}} {count}");
        let _ = writeln!(text, "{name}_sum{{printer=\"{printer}\"}} {sum}");
    }
}

/// Formats microseconds as seconds, in `OpenMetrics`'s form of fractions.
fn seconds(microseconds: u64) -> String {
    let (whole, part) = (microseconds / 1_000_000, microseconds % 1_000_000);
    let part = format!("{part:06}");
    let part = part.trim_end_matches('0');
    format!("{whole}.{}", if part.is_empty() { "0" } else { part })
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}
