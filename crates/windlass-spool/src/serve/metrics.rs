//! Metrics of the spool, as plain text and as `OpenMetrics`.

use std::fmt::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{
    DescriptorEncoder, EncodeCounterValue, EncodeGaugeValue, EncodeMetric, NoLabelSet,
};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::{Registry, Unit};
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

/// Metric of each printer: type, name, help and value.
type PrinterMetric = (MetricType, &'static str, &'static str, fn(&Printer) -> u64);

const OF_PRINTERS: [PrinterMetric; 15] = [
    (MetricType::Gauge, "queued_jobs", "Unfinished jobs of a printer.", |one| {
        one.live.len() as u64
    }),
    (MetricType::Gauge, "printer_stopped", "1 if the printer is stopped.", |one| {
        u64::from(one.stopped.is_some())
    }),
    (MetricType::Gauge, "printer_accepting", "1 if the printer accepts jobs.", |one| {
        u64::from(one.is_accepting)
    }),
    (MetricType::Gauge, "device_failing", "1 if the device failed with its last job.", |one| {
        u64::from(one.trouble.is_some())
    }),
    (
        MetricType::Gauge,
        "device_stalled",
        "1 if the device has a job and makes no progress.",
        |one| u64::from(one.stall().is_some()),
    ),
    (MetricType::Counter, "jobs_accepted", "Accepted jobs.", |one| one.counts.accepted),
    (MetricType::Counter, "jobs_refused", "Refused jobs.", |one| one.counts.refused),
    (MetricType::Counter, "jobs_completed", "Completed jobs.", |one| one.counts.completed),
    (MetricType::Counter, "jobs_canceled", "Canceled jobs.", |one| one.counts.canceled),
    (MetricType::Counter, "jobs_aborted", "Aborted jobs.", |one| one.counts.aborted),
    (MetricType::Counter, "delivery_failures", "Failed attempts to deliver a job.", |one| {
        one.counts.failures
    }),
    (MetricType::Counter, "accepted_bytes", "Bytes of accepted documents.", |one| {
        one.counts.bytes_in
    }),
    (MetricType::Counter, "delivered_bytes", "Bytes of delivered documents.", |one| {
        one.counts.bytes_out
    }),
    (MetricType::Counter, "printed_pages", "Delivered pages, including copies.", |one| {
        one.counts.pages
    }),
    (
        MetricType::Counter,
        "jobs_of_unknown_pages",
        "Completed jobs with an unknown number of pages.",
        |one| one.counts.pages_unknown,
    ),
];

/// Returns the metrics in the text format of `OpenMetrics` 1.0.
pub(super) fn text(spooler: &Arc<Spooler>, gate: &Arc<Gate>) -> String {
    let mut registry = Registry::with_prefix("windlass_spool");
    registry.register_collector(Box::new(SpoolMetrics {
        spooler: Arc::clone(spooler),
        gate: Arc::clone(gate),
    }));
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = encode(&mut text, &registry);
    text
}

/// The metrics of a spool at a scrape.
struct SpoolMetrics {
    spooler: Arc<Spooler>,
    gate: Arc<Gate>,
}

impl fmt::Debug for SpoolMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SpoolMetrics")
    }
}

impl Collector for SpoolMetrics {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        use MetricType::{Counter, Gauge};
        let to = &mut encoder;
        let usage = self.spooler.usage();
        let counts = &self.gate.counts;
        let open = self.gate.budget.len() as u64;
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let (accepted, too_many) = (read(&counts.accepted), read(&counts.too_many));
        let (forbidden, requests) = (read(&counts.forbidden), read(&counts.requests));
        self.spooler.look(|table| {
            let active = table.active() as u64;
            let no_labels = |value| [(Vec::new(), value)];
            for (kind, name, help, value) in [
                (Gauge, "document_bytes", "Bytes of stored documents.", usage.documents),
                (Gauge, "disk_bytes", "Bytes of the spool's files.", usage.files),
                (Gauge, "connections", "Open connections.", open),
                (Counter, "connections_accepted", "Accepted connections.", accepted),
                (
                    Counter,
                    "connections_over_limit",
                    "Connections closed because of a limit.",
                    too_many,
                ),
                (
                    Counter,
                    "connections_forbidden",
                    "Connections of clients that may not print.",
                    forbidden,
                ),
                (Counter, "http_requests", "HTTP requests.", requests),
                (Gauge, "active_jobs", "Unfinished jobs.", active),
            ] {
                family(to, kind, name, help, no_labels(value))?;
            }
            for (kind, name, help, value) in OF_PRINTERS {
                let each = table.listed().map(|printer| (printer_label(printer), value(printer)));
                family(to, kind, name, help, each)?;
            }
            attempts(to, table.printers())?;
            LATENCIES.into_iter().try_for_each(|latency| histogram(to, latency, table.printers()))
        })
    }
}

/// Labels of a sample.
type Labels = Vec<(&'static str, String)>;

fn printer_label(printer: &Printer) -> Labels {
    vec![("printer", printer.settings.name.clone())]
}

/// Writes the times and limits of attempts.
fn attempts(to: &mut DescriptorEncoder<'_>, printers: &[Printer]) -> fmt::Result {
    let labels = |printer: &Printer, name: &'static str, value: &str| -> Labels {
        vec![("printer", printer.settings.name.clone()), (name, value.to_owned())]
    };
    let reasons = printers.iter().flat_map(|printer| {
        printer.device_reasons.iter().map(|reason| (labels(printer, "reason", reason), 1_u64))
    });
    let help = "State reasons of a device during a job (printer-state-reasons).";
    family(to, MetricType::Gauge, "device_reason", help, reasons)?;
    let parts = printers.iter().flat_map(|printer| {
        let all = &printer.attempts;
        [("connecting", all.connecting), ("sending", all.sending), ("answering", all.answering)]
            .map(|(part, time)| (labels(printer, "part", part), time.as_secs_f64()))
    });
    let help = "Time of jobs at devices, by part.";
    family(to, MetricType::Counter, "device_seconds", help, parts)?;
    let limits = || {
        printers.iter().flat_map(|printer| {
            let limits = &printer.attempts.limits;
            limits.iter().map(move |(cause, (count, time))| {
                (labels(printer, "limit", cause), *count, time.as_secs_f64())
            })
        })
    };
    let help = "Delivery attempts by limit.";
    let counts = limits().map(|(labels, count, _)| (labels, count));
    family(to, MetricType::Counter, "limited_attempts", help, counts)?;
    let help = "Sending time by limit.";
    let times = limits().map(|(labels, _, time)| (labels, time));
    family(to, MetricType::Counter, "limited_seconds", help, times)
}

/// Splits a name into its stem and the unit that it ends with.
fn stem(name: &str) -> (&str, Option<Unit>) {
    for (suffix, unit) in [("_bytes", Unit::Bytes), ("_seconds", Unit::Seconds)] {
        if let Some(stem) = name.strip_suffix(suffix) {
            return (stem, Some(unit));
        }
    }
    (name, None)
}

/// Writes a family of counters or gauges.
fn family<V: EncodeCounterValue + EncodeGaugeValue>(
    to: &mut DescriptorEncoder<'_>,
    kind: MetricType,
    name: &str,
    help: &str,
    values: impl IntoIterator<Item = (Labels, V)>,
) -> fmt::Result {
    let (stem, unit) = stem(name);
    let mut family = to.encode_descriptor(stem, help, unit.as_ref(), kind)?;
    for (labels, value) in values {
        let sample = family.encode_family(&labels)?;
        match kind {
            MetricType::Counter => ConstCounter::new(value).encode(sample)?,
            _ => ConstGauge::new(value).encode(sample)?,
        }
    }
    Ok(())
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
    to: &mut DescriptorEncoder<'_>,
    (name, help, smallest, of): LatencyMetric,
    printers: &[Printer],
) -> fmt::Result {
    let (stem, unit) = stem(name);
    let mut family = to.encode_descriptor(stem, help, unit.as_ref(), MetricType::Histogram)?;
    for printer in printers.iter().filter(|printer| of(printer).count() > 0) {
        let latency = of(printer);
        let (mut buckets, mut before) = (Vec::new(), 0);
        for (bound, up_to) in latency.up_to() {
            if bound.is_some_and(|bound| bound < smallest) {
                continue;
            }
            buckets.push((bound.map_or(f64::INFINITY, seconds), up_to - before));
            before = up_to;
        }
        let (sum, labels) = (seconds(latency.sum()), printer_label(printer));
        family.encode_family(&labels)?.encode_histogram::<NoLabelSet>(
            sum,
            latency.count(),
            &buckets,
            None,
        )?;
    }
    Ok(())
}

fn seconds(microseconds: u64) -> f64 {
    Duration::from_micros(microseconds).as_secs_f64()
}
