//! A machine's figures as text: interval by interval ([`lines`]), and their [`summary`].

pub mod csv;
pub mod figures;
pub mod lines;
mod syscalls;
pub mod view;

use windlass_host::HostReport;
use windlass_host::busiest::belonging;
use windlass_host::columns::{Column as Figure, DISK, HOST, PROCESS, TOTAL};
use windlass_host::summary::Spreads;

use self::figures::with_unit;
use self::lines::machine;
use self::syscalls::syscalls;
use crate::figures::{counted, percent};
use crate::{Column, Page, Rows, Style, Table, Text};

/// Maximum number of disks, and of processes, that are shown.
const MAX_SHOWN: usize = 8;

/// Maximum number of names of children in a row.
const MAX_CHILDREN: usize = 3;

/// Writes the summary of a machine.
pub fn summary(page: &mut Page, host: &HostReport) {
    page.heading(machine(&host.machine));
    page.indented(|page| {
        let rows = Rows::new().row(
            "watched",
            Text::from(host.seconds)
                .and(", ")
                .and(counted(host.count, "interval"))
                .and(" of ")
                .and(host.interval_seconds),
        );
        page.rows(&rows);
        page.gap();
        if host.count > 0 {
            page.table(&table(&HOST, &host.summary.host));
        }
        disks(page, host);
        processes(page, host);
        busiest(page, host);
        if let Some(report) = &host.syscalls {
            syscalls(page, report);
        }
        page.gap();
        findings(page, host);
        for note in &host.notes {
            page.paragraph(Text::styled(Style::Dim, note));
        }
    });
}

/// Writes the processes with the most processor time, including their children.
fn busiest(page: &mut Page, host: &HostReport) {
    if host.busiest_processes.is_empty() {
        return;
    }
    page.heading("busiest processes, with their children");
    let mut table =
        Table::headed("… | pid: | mean: | max: | own: | ended: | children… | belongs to…");
    for row in &host.busiest_processes {
        let process = &row.process;
        let names = process.children.iter().take(MAX_CHILDREN).map(|child| child.name.as_str());
        let names = names.collect::<Vec<_>>().join(", ");
        table.push([
            Text::from(process.name.as_str()),
            Text::from(process.pid.to_string()),
            Text::new().strong(percent(process.cpu_share)),
            percent(row.max_cpu_share),
            percent(process.own_cpu_share),
            percent(process.ended_cpu_share),
            Text::from(names),
            Text::from(belonging(&process.belongs_to).trim_start().to_owned()),
        ]);
    }
    page.indented(|page| page.table(&table));
}

/// Writes the busiest resource, and others at their limit.
fn findings(page: &mut Page, host: &HostReport) {
    page.paragraph(Text::new().strong(&host.busiest));
    for finding in host.summary.findings.iter().skip(1) {
        page.paragraph(&finding.sentence);
    }
}

fn disks(page: &mut Page, host: &HostReport) {
    let disks = &host.summary.disks;
    for disk in disks.iter().take(MAX_SHOWN) {
        page.heading(Text::from("disk ").and(disk.name.as_str()));
        let table = table(&DISK, &disk.figures);
        page.indented(|page| match (table.is_empty(), disk.intervals) {
            (true, 0) => page.line("not found"),
            (true, _) => page.line("idle"),
            (false, _) => page.table(&table),
        });
    }
    more(page, disks.len(), "disk");
}

fn processes(page: &mut Page, host: &HostReport) {
    for total in &host.summary.totals {
        if !total.seen {
            let said = format!("no process {} appeared", total.wanted);
            page.heading(Text::styled(Style::Warn, said));
        } else if total.different > 1 {
            let number = counted(total.different, "process").plain();
            let number = number.replace("processs", "processes");
            page.heading(format!("all {}: {number}", total.wanted));
            page.indented(|page| page.table(&table(&TOTAL, &total.figures)));
        }
    }
    let processes = &host.summary.processes;
    for process in processes.iter().take(MAX_SHOWN) {
        let mut heading = Text::from(process.name.as_str()).and(format!(" ({})", process.pid));
        if let Some(ended) = process.ended_seconds {
            heading = heading.and(", ended at ").and(ended);
        }
        page.heading(heading);
        page.indented(|page| page.table(&table(&PROCESS, &process.figures)));
    }
    more(page, processes.len(), "process");
}

fn more(page: &mut Page, all: usize, noun: &str) {
    let left = all.saturating_sub(MAX_SHOWN) as u64;
    if left > 0 {
        let noun = if noun == "process" && left > 1 { "processe" } else { noun };
        page.gap();
        page.line(counted(left, noun).and(" more in the JSON"));
    }
}

/// Returns a table with a row for each figure that was ever above zero.
fn table<T>(columns: &[Figure<T>], spreads: &Spreads) -> Table {
    let mut table = Table::new([
        Column::left(""),
        Column::right("mean").least(8),
        Column::right("median").least(8),
        Column::right("p95").least(8),
        Column::right("max").least(8),
    ]);
    for column in columns {
        let Some(spread) = spreads.of(column.name).filter(|spread| spread.max > 0.0) else {
            continue;
        };
        let figure = |value| with_unit(value, column.unit);
        table.push([
            Text::styled(Style::Dim, column.words),
            figure(spread.mean).clone(),
            figure(spread.median),
            figure(spread.p95),
            Text::new().strong(figure(spread.max)),
        ]);
    }
    table
}
