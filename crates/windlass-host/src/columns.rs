//! The figures of an interval by name: one list for the columns of the CSV, the fields of the
//! summary and the rows of its text.

use windlass_base::{Bytes, Rate, Span};

use super::rates::{DiskRates, Host, ProcessRates, Total};

/// A figure of a `T`.
#[derive(Debug)]
pub struct Column<T> {
    /// Name in JSON and CSV, with its unit at the end.
    pub name: &'static str,
    /// Name for people.
    pub words: &'static str,
    /// Unit of the figure.
    pub unit: Unit,
    /// The figure; `None` if unknown.
    pub of: fn(&T) -> Option<f64>,
}

/// The unit of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A count.
    Count,
    /// A count per second.
    PerSecond,
    /// Bytes.
    Bytes,
    /// Bytes per second.
    BytesPerSecond,
    /// Seconds.
    Seconds,
    /// A share of a whole.
    Share,
}

macro_rules! column {
    ($name:literal, $words:literal, $unit:ident, $of:expr) => {
        Column { name: $name, words: $words, unit: Unit::$unit, of: $of }
    };
}

/// The figures of the machine as a whole.
pub const HOST: [Column<Host>; 23] = [
    column!("run_queue", "run queue", Count, |host| Some(host.run_queue as f64)),
    column!("blocked", "blocked", Count, |host| Some(host.blocked as f64)),
    column!("load_1min", "load, 1 min", Count, |host| host.load_1min),
    column!("free_bytes", "free", Bytes, |host| Some(size(host.free_bytes))),
    column!("available_bytes", "available", Bytes, |host| host.available_bytes.map(size)),
    column!("buffers_bytes", "buffers", Bytes, |host| Some(size(host.buffers_bytes))),
    column!("cache_bytes", "cache", Bytes, |host| Some(size(host.cache_bytes))),
    column!("swap_used_bytes", "swap used", Bytes, |host| Some(size(host.swap_used_bytes))),
    column!("swap_in_bytes_per_second", "swap in", BytesPerSecond, |host| {
        host.swap_in_bytes_per_second.map(rate)
    }),
    column!("swap_out_bytes_per_second", "swap out", BytesPerSecond, |host| {
        host.swap_out_bytes_per_second.map(rate)
    }),
    column!("block_in_bytes_per_second", "block in", BytesPerSecond, |host| {
        host.block_in_bytes_per_second.map(rate)
    }),
    column!("block_out_bytes_per_second", "block out", BytesPerSecond, |host| {
        host.block_out_bytes_per_second.map(rate)
    }),
    column!("interrupts_per_second", "interrupts", PerSecond, |host| {
        Some(host.interrupts_per_second)
    }),
    column!("context_switches_per_second", "context switches", PerSecond, |host| {
        Some(host.context_switches_per_second)
    }),
    column!("user_share", "user", Share, |host| Some(host.cpu.user_share)),
    column!("nice_share", "nice", Share, |host| Some(host.cpu.nice_share)),
    column!("system_share", "system", Share, |host| Some(host.cpu.system_share)),
    column!("irq_share", "irq", Share, |host| Some(host.cpu.irq_share)),
    column!("softirq_share", "softirq", Share, |host| Some(host.cpu.softirq_share)),
    column!("iowait_share", "iowait", Share, |host| Some(host.cpu.iowait_share)),
    column!("steal_share", "steal", Share, |host| Some(host.cpu.steal_share)),
    column!("idle_share", "idle", Share, |host| Some(host.cpu.idle_share)),
    column!("busiest_core_share", "busiest core", Share, |host| host.busiest_core_share),
];

/// The figures of a disk.
pub const DISK: [Column<DiskRates>; 8] = [
    column!("reads_per_second", "reads/s", PerSecond, |disk| Some(disk.reads_per_second)),
    column!("writes_per_second", "writes/s", PerSecond, |disk| Some(disk.writes_per_second)),
    column!("read_bytes_per_second", "read", BytesPerSecond, |disk| {
        Some(rate(disk.read_bytes_per_second))
    }),
    column!("written_bytes_per_second", "written", BytesPerSecond, |disk| {
        Some(rate(disk.written_bytes_per_second))
    }),
    column!("request_bytes", "request", Bytes, |disk| disk.request_bytes.map(size)),
    column!("queue", "queue", Count, |disk| Some(disk.queue)),
    column!("await_seconds", "await", Seconds, |disk| disk.await_seconds.map(Span::as_seconds)),
    column!("utilisation", "utilisation", Share, |disk| Some(disk.utilisation)),
];

/// The figures of a process.
pub const PROCESS: [Column<ProcessRates>; 7] = [
    column!("cpu_share", "CPU", Share, |process| process.cpu_share),
    column!("resident_bytes", "resident", Bytes, |process| Some(size(process.resident_bytes))),
    column!("virtual_bytes", "virtual", Bytes, |process| Some(size(process.virtual_bytes))),
    column!("threads", "threads", Count, |process| Some(process.threads as f64)),
    column!("read_bytes_per_second", "read", BytesPerSecond, |process| {
        process.read_bytes_per_second.map(rate)
    }),
    column!("written_bytes_per_second", "written", BytesPerSecond, |process| {
        process.written_bytes_per_second.map(rate)
    }),
    column!("open_files", "open files", Count, |process| {
        process.open_files.map(|files| files as f64)
    }),
];

/// The figures of all processes of a name.
pub const TOTAL: [Column<Total>; 7] = [
    column!("processes", "processes", Count, |total| Some(total.processes as f64)),
    column!("cpu_share", "CPU", Share, |total| Some(total.cpu_share)),
    column!("resident_bytes", "resident", Bytes, |total| Some(size(total.resident_bytes))),
    column!("threads", "threads", Count, |total| Some(total.threads as f64)),
    column!("read_bytes_per_second", "read", BytesPerSecond, |total| {
        total.read_bytes_per_second.map(rate)
    }),
    column!("written_bytes_per_second", "written", BytesPerSecond, |total| {
        total.written_bytes_per_second.map(rate)
    }),
    column!("open_files", "open files", Count, |total| {
        total.open_files.map(|files| files as f64)
    }),
];

fn size(bytes: Bytes) -> f64 {
    bytes.get() as f64
}

fn rate(rate: Rate) -> f64 {
    rate.bytes_per_second()
}
