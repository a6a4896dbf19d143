//! What the spool does, for people and for who collects it.

use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use windlass_spool_core::Printer;

use super::Gate;
use crate::spooler::{JobTable, Spooler};

/// A page for people.
pub(super) fn page(spooler: &Arc<Spooler>) -> String {
    let usage = spooler.usage();
    spooler.look(|table| {
        let mut text = String::new();
        let jobs = table.active();
        // Writing to a string does not fail.
        let _ =
            writeln!(text, "windlass spool: {jobs} jobs, {} bytes of documents\n", usage.documents);
        let widest = table.printers().iter().map(|one| one.settings.name.chars().count()).max();
        let wide = widest.unwrap_or(0);
        for printer in table.printers() {
            let (name, jobs) = (&printer.settings.name, printer.live.len());
            let takes = if printer.is_accepting { "" } else { ", takes no jobs" };
            let _ =
                writeln!(text, "{name:wide$}  {jobs:>8} jobs  {}{takes}", printer.state().words());
        }
        text
    })
}

/// A family of metrics.
struct Family {
    name: &'static str,
    kind: &'static str,
    help: &'static str,
}

impl Family {
    fn head(&self, text: &mut String) {
        let Self { name, kind, help } = self;
        let _ = writeln!(text, "# TYPE {name} {kind}");
        if let Some(unit) = ["bytes", "seconds"].iter().find(|unit| name.ends_with(*unit)) {
            let _ = writeln!(text, "# UNIT {name} {unit}");
        }
        let _ = writeln!(text, "# HELP {name} {help}");
    }

    fn suffix(&self) -> &'static str {
        if self.kind == "counter" { "_total" } else { "" }
    }

    /// One of the whole server.
    fn whole(&self, text: &mut String, value: u64) {
        self.head(text);
        let _ = writeln!(text, "{}{} {value}", self.name, self.suffix());
    }

    /// One of each printer.
    fn each(&self, text: &mut String, table: &JobTable, value: impl Fn(&Printer) -> u64) {
        self.head(text);
        for printer in table.printers() {
            let name = escaped(&printer.settings.name);
            let _ = writeln!(
                text,
                "{}{}{{printer=\"{name}\"}} {}",
                self.name,
                self.suffix(),
                value(printer)
            );
        }
    }
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

const fn counter(name: &'static str, help: &'static str) -> Family {
    Family { name, kind: "counter", help }
}

const fn gauge(name: &'static str, help: &'static str) -> Family {
    Family { name, kind: "gauge", help }
}

/// What is told of each printer: a name, what it is, and its value.
type Of = (&'static str, &'static str, fn(&Printer) -> u64);

const GAUGES: [Of; 4] = [
    ("windlass_spool_queued_jobs", "Jobs of a printer that are not over.", |one| {
        one.live.len() as u64
    }),
    ("windlass_spool_printer_stopped", "1 where a printer is stopped.", |one| {
        u64::from(one.stopped.is_some())
    }),
    ("windlass_spool_printer_accepting", "1 where a printer takes jobs.", |one| {
        u64::from(one.is_accepting)
    }),
    ("windlass_spool_device_failing", "1 where a device did not take its last job.", |one| {
        u64::from(one.trouble.is_some())
    }),
];

const COUNTERS: [Of; 8] = [
    ("windlass_spool_jobs_accepted", "Jobs that were accepted.", |one| one.counts.accepted),
    ("windlass_spool_jobs_refused", "Jobs that were refused.", |one| one.counts.refused),
    ("windlass_spool_jobs_completed", "Jobs that were delivered.", |one| one.counts.completed),
    ("windlass_spool_jobs_canceled", "Jobs that were canceled.", |one| one.counts.canceled),
    ("windlass_spool_jobs_aborted", "Jobs that were given up.", |one| one.counts.aborted),
    ("windlass_spool_delivery_failures", "Tries to deliver a job that failed.", |one| {
        one.counts.failures
    }),
    ("windlass_spool_accepted_bytes", "Bytes of documents that were accepted.", |one| {
        one.counts.bytes_in
    }),
    ("windlass_spool_delivered_bytes", "Bytes of documents that were delivered.", |one| {
        one.counts.bytes_out
    }),
];

/// The metrics in the text of `OpenMetrics` 1.0.
pub(super) fn text(spooler: &Arc<Spooler>, gate: &Arc<Gate>) -> String {
    let usage = spooler.usage();
    let mut text = String::new();
    let out = &mut text;
    gauge("windlass_spool_document_bytes", "Bytes of documents that are kept.")
        .whole(out, usage.documents);
    gauge("windlass_spool_disk_bytes", "Bytes of the spool's files.").whole(out, usage.files);
    let open = gate.open.load(Ordering::Relaxed) as u64;
    gauge("windlass_spool_connections", "Open connections.").whole(out, open);
    let counts = &gate.counts;
    let read = |count: &std::sync::atomic::AtomicU64| count.load(Ordering::Relaxed);
    counter("windlass_spool_connections_accepted", "Connections that came.")
        .whole(out, read(&counts.accepted));
    counter("windlass_spool_connections_over_limit", "Connections that were one too many.")
        .whole(out, read(&counts.too_many));
    counter("windlass_spool_connections_forbidden", "Connections of who may not print.")
        .whole(out, read(&counts.forbidden));
    counter("windlass_spool_http_requests", "Requests of HTTP.").whole(out, read(&counts.requests));
    spooler.look(|table| {
        gauge("windlass_spool_active_jobs", "Jobs that are not over.")
            .whole(out, table.active() as u64);
        for (name, help, value) in GAUGES {
            gauge(name, help).each(out, table, value);
        }
        for (name, help, value) in COUNTERS {
            counter(name, help).each(out, table, value);
        }
    });
    text.push_str("# EOF\n");
    text
}
