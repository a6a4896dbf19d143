//! Intervals as text: one line each, with sections for disks and processes.

use windlass_base::figures::fixed;
use windlass_base::{Bytes, Rate, Span};
use windlass_host::rates::{DiskRates, Host, ProcessEventKind, ProcessRates};
use windlass_host::{Interval, Machine, Watcher};

use super::figures::{bytes, count, few, hundredths, millis};
use crate::{Column, Page, Style, Table, Text, figures};

/// Number of lines after which the head is repeated, as vmstat does on a terminal of 24 lines.
const HEAD: u64 = 20;

/// Maximum number of processes shown per interval.
const MAX_SHOWN: usize = 20;

/// Minimum width of a page that shows the optional columns.
const WIDE: usize = 100;

/// Minimum share at which a processor or a disk is highlighted.
const BUSY: f64 = windlass_host::findings::FULL;

/// Writes the lines before the first interval.
pub fn beginning(page: &mut Page, interval: Span, watcher: &Watcher) {
    let said = Text::from("watching ").and(machine(&watcher.machine)).and(", every ").and(interval);
    page.paragraph(said);
    for name in &watcher.missing {
        page.paragraph(format!("waiting for a process named {name}"));
    }
    page.line("");
}

/// Returns the description of a machine: `Linux 6.18, 2 processors, 23.5G of memory`.
pub fn machine(machine: &Machine) -> Text {
    let system = if machine.system.is_empty() { "this machine" } else { &machine.system };
    Text::from(system)
        .and(", ")
        .and(figures::counted(machine.processors, "processor"))
        .and(format!(", {} of memory", bytes(machine.memory_bytes.get() as f64)))
}

/// Formatter of the intervals as lines of text.
pub struct LineFormatter {
    /// True if an interval has more than one line.
    sections: bool,
    disks: bool,
    processes: bool,
    lines: u64,
    places: usize,
}

/// Lines of an interval.
pub struct Lines<'a> {
    interval: &'a Interval,
    when: String,
    head: bool,
    disks: bool,
    processes: bool,
}

impl LineFormatter {
    /// Creates the lines for intervals of this length, with tables of disks and processes if
    /// wanted.
    pub const fn new(interval: Span, disks: bool, processes: bool) -> Self {
        let millis = interval.as_nanos() / 1_000_000;
        let places = if millis % 1_000 == 0 { 0 } else { 1 };
        Self { sections: disks || processes, disks, processes, lines: 0, places }
    }

    /// Returns the empty line after the last interval, if it is not there yet.
    pub const fn end(&self) -> &'static [u8] {
        if self.lines > 0 && !self.sections { b"\n" } else { b"" }
    }

    /// Returns the lines of the time since the system started.
    pub fn since_boot<'a>(&mut self, interval: &'a Interval) -> Lines<'a> {
        self.lines_at(interval, "boot".to_owned())
    }

    /// Returns the lines of an interval.
    pub fn lines<'a>(&mut self, interval: &'a Interval) -> Lines<'a> {
        let seconds = interval.to_seconds.as_seconds();
        // The last interval may end at any time.
        let is_whole = (seconds - seconds.round()).abs() < 0.05;
        let places = if is_whole { self.places } else { 1 };
        let when = fixed(seconds, places);
        self.lines_at(interval, when)
    }

    fn lines_at<'a>(&mut self, interval: &'a Interval, when: String) -> Lines<'a> {
        let head = self.sections || self.lines.is_multiple_of(HEAD);
        self.lines += 1;
        let (disks, processes) = (self.disks, self.processes);
        Lines { interval, when, head, disks, processes }
    }
}

impl Lines<'_> {
    /// Writes the lines.
    pub fn text(&self, page: &mut Page) {
        let cells = cells(&self.when, &self.interval.host, page.width() >= WIDE);
        if self.head {
            let names = cells.iter().map(|(width, name, _)| (*width, Text::from(*name)));
            page.line(Text::styled(Style::Dim, row(names)));
        }
        page.line(row(cells.into_iter().map(|(width, _, value)| (width, value))));
        if self.disks {
            page.gap();
            page.indented(|page| page.table(&disks(&self.interval.disks)));
        }
        if self.processes {
            page.gap();
            page.indented(|page| {
                if !self.interval.processes.is_empty() {
                    page.table(&processes(self.interval));
                }
                self.say_events(page);
            });
        }
        if self.disks || self.processes {
            page.line("");
        }
    }

    fn say_events(&self, page: &mut Page) {
        for event in self.interval.events.iter().take(MAX_SHOWN) {
            let what = match event.what {
                ProcessEventKind::Appeared => " appeared",
                ProcessEventKind::Ended => " ended",
            };
            let pid = format!(" ({})", event.pid);
            page.line(Text::from(event.name.as_str()).and(pid).with(Style::Warn, what));
        }
        let more = self.interval.events.len().saturating_sub(MAX_SHOWN);
        if more > 0 {
            page.line(format!("{more} more processes appeared or ended"));
        }
        for total in self.interval.totals.iter().filter(|total| total.processes == 0) {
            page.line(Text::styled(Style::Dim, format!("no process {}", total.wanted)));
        }
    }
}

/// Returns the figures of a line: each with its width, its name and its value.
fn cells(when: &str, host: &Host, wide: bool) -> Vec<(usize, &'static str, Text)> {
    let share = |value: f64| Text::from(hundredths(value));
    let cpu = &host.cpu;
    let mut cells = vec![
        (5, "sec", Text::from(when)),
        (2, "r", Text::from(host.run_queue.to_string())),
        (2, "b", Text::from(host.blocked.to_string())),
        (5, "free", size(host.free_bytes)),
    ];
    if wide {
        cells.push((5, "buff", size(host.buffers_bytes)));
    }
    cells.push((5, "cache", size(host.cache_bytes)));
    if wide {
        cells.push((5, "swpd", size(host.swap_used_bytes)));
    }
    cells.extend([
        (4, "si", rate(host.swap_in_bytes_per_second)),
        (4, "so", rate(host.swap_out_bytes_per_second)),
        (5, "bi", rate(host.block_in_bytes_per_second)),
        (5, "bo", rate(host.block_out_bytes_per_second)),
        (5, "in", Text::from(count(host.interrupts_per_second))),
        (5, "cs", Text::from(count(host.context_switches_per_second))),
    ]);
    // Without room, group related columns as vmstat does.
    if wide {
        cells.extend([
            (3, "us", share(cpu.user_share)),
            (2, "ni", share(cpu.nice_share)),
            (3, "sy", share(cpu.system_share)),
            (2, "hi", share(cpu.irq_share)),
            (2, "sq", share(cpu.softirq_share)),
        ]);
    } else {
        let kernel = cpu.system_share + cpu.irq_share + cpu.softirq_share;
        cells.push((3, "us", share(cpu.user_share + cpu.nice_share)));
        cells.push((3, "sy", share(kernel)));
    }
    cells.extend([
        (2, "wa", share(cpu.iowait_share)),
        (2, "st", share(cpu.steal_share)),
        (3, "id", share(cpu.idle_share)),
        (3, "max", Text::known(host.busiest_core_share.map(busy))),
    ]);
    cells
}

/// Aligns cells to the right of their columns, with a space between. A cell that is too wide takes
/// from the space before the next one.
fn row(cells: impl Iterator<Item = (usize, Text)>) -> Text {
    let (mut line, mut end) = (Text::new(), 0);
    for (width, cell) in cells {
        end += width + usize::from(end > 0);
        let gap = usize::from(!line.is_empty());
        let pad = end.saturating_sub(line.width() + cell.width()).max(gap);
        line = line.and(" ".repeat(pad)).and(cell);
    }
    line
}

fn size(size: Bytes) -> Text {
    bytes(size.get() as f64).into()
}

fn rate(rate: Option<Rate>) -> Text {
    Text::known(rate.map(|rate| bytes(rate.bytes_per_second())))
}

/// Returns a share, highlighted if it is nearly all.
fn busy(share: f64) -> Text {
    Text::styled(if share >= BUSY { Style::Bad } else { Style::Plain }, hundredths(share))
}

/// Returns a table with a row for each disk.
pub fn disks(all: &[DiskRates]) -> Table {
    Table::of(
        all,
        &[
            (Column::left("disk").flexible(), |disk| disk.name.as_str().into()),
            (Column::right("reads/s").least(7), |disk| few(disk.reads_per_second).into()),
            (Column::right("writes/s").least(8), |disk| few(disk.writes_per_second).into()),
            (Column::right("read/s").least(6), |disk| rate(Some(disk.read_bytes_per_second))),
            (Column::right("written/s").least(9), |disk| rate(Some(disk.written_bytes_per_second))),
            (Column::right("size").least(5), |disk| Text::known(disk.request_bytes.map(size))),
            (Column::right("queue").least(5), |disk| few(disk.queue).into()),
            (Column::right("await ms").least(8), |disk| {
                Text::known(disk.await_seconds.map(|span| millis(span.as_seconds())))
            }),
            (Column::right("util %").least(6), |disk| busy(disk.utilisation)),
        ],
    )
}

/// Returns the processes with the highest load, and the sum for each name that several share.
pub fn processes(interval: &Interval) -> Table {
    let mut table = process_table();
    let mut all: Vec<&ProcessRates> = interval.processes.iter().collect();
    let share = |process: &ProcessRates| process.cpu_share.unwrap_or(0.0);
    all.sort_by(|one, next| share(next).total_cmp(&share(one)));
    let files = |files: Option<u64>| Text::known(files.map(|files| count(files as f64)));
    for process in all.iter().take(MAX_SHOWN) {
        table.push([
            Text::from(process.name.as_str()),
            Text::from(process.pid.to_string()),
            Text::from(process.state.to_string()),
            Text::known(process.cpu_share.map(hundredths)),
            size(process.resident_bytes),
            size(process.virtual_bytes),
            Text::from(count(process.threads as f64)),
            rate(process.read_bytes_per_second),
            rate(process.written_bytes_per_second),
            files(process.open_files),
        ]);
    }
    for total in interval.totals.iter().filter(|total| total.processes > 1) {
        table.push([
            Text::from(format!("all {}", total.wanted)),
            Text::from(total.processes.to_string()),
            Text::from("Σ"),
            Text::from(hundredths(total.cpu_share)),
            size(total.resident_bytes),
            Text::new(),
            Text::from(count(total.threads as f64)),
            rate(total.read_bytes_per_second),
            rate(total.written_bytes_per_second),
            files(total.open_files),
        ]);
    }
    table
}

/// Returns an empty table of processes.
pub fn process_table() -> Table {
    Table::new([
        Column::left("process").flexible(),
        Column::right("pid").least(6),
        Column::left("s"),
        Column::right("CPU %").least(5),
        Column::right("res").least(5),
        Column::right("virt").least(5),
        Column::right("thr").least(3),
        Column::right("read/s").least(6),
        Column::right("written/s").least(9),
        Column::right("files").least(5),
    ])
}

#[cfg(test)]
#[path = "lines_tests.rs"]
mod tests;
