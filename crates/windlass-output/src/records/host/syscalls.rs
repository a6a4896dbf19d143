//! System calls of processes, as a table.

use windlass_base::Span;
use windlass_host::syscalls::report::{Syscall, SyscallReport};

use crate::{Page, Style, Table, Text, figures};

/// Maximum number of calls with a row of their own.
const MAX_ROWS: usize = 15;

/// Maximum number of error names in a row.
const MAX_ERRORS: usize = 3;

/// Writes the system calls of a run, and the cost of tracing.
pub(super) fn syscalls(page: &mut Page, report: &SyscallReport) {
    let of = figures::counted(report.threads, "thread");
    let processes = match report.processes {
        1 => Text::from("1 process"),
        many => Text::from(many).and(" processes"),
    };
    page.heading(Text::from("system calls of ").and(of).and(" in ").and(processes));
    page.indented(|page| {
        if report.all.calls.is_empty() {
            page.line("none");
        } else {
            page.table(&table(&report.all.calls));
        }
    });
    page.gap();
    page.paragraph(Text::styled(Style::Dim, &report.cost.sentence));
}

fn table(calls: &[Syscall]) -> Table {
    let mut table = Table::headed("call | calls: | time: | of wall: | mean: | errors…");
    let (shown, rest) = calls.split_at(calls.len().min(MAX_ROWS));
    for call in shown {
        table.push([
            Text::from(call.name.as_str()),
            Text::from(call.count),
            Text::new().strong(call.seconds),
            figures::percent(call.wall_share),
            call.mean_seconds.map_or_else(|| Text::styled(Style::Dim, "-"), Text::from),
            errors(call),
        ]);
    }
    if !rest.is_empty() {
        table.push(sum(rest));
    }
    table
}

/// Returns the row of the remaining calls.
fn sum(rest: &[Syscall]) -> [Text; 6] {
    let count: u64 = rest.iter().map(|call| call.count).sum();
    let seconds: Span = rest.iter().map(|call| call.seconds).sum();
    let failed: u64 = rest.iter().flat_map(|call| &call.errors).map(|error| error.count).sum();
    [
        Text::from(format!("{} more", rest.len())),
        Text::from(count),
        Text::new().strong(seconds),
        figures::percent(rest.iter().map(|call| call.wall_share).sum()),
        Text::new(),
        if failed > 0 { figures::counted(failed, "error") } else { Text::new() },
    ]
}

/// Returns the errors of a call: `1,000 ENOENT, 2 EAGAIN`.
fn errors(call: &Syscall) -> Text {
    let mut said = Text::new();
    for (place, error) in call.errors.iter().take(MAX_ERRORS).enumerate() {
        let between = if place > 0 { ", " } else { "" };
        said = said.and(between).and(error.count).and(format!(" {}", error.name));
    }
    let others = call.errors.iter().skip(MAX_ERRORS).map(|error| error.count).sum::<u64>();
    if others > 0 {
        said = said.and(", ").and(others).and(" others");
    }
    said
}
