//! The report of a capture as text.

use windlass_base::Span;
use windlass_base::figures::fixed;
use windlass_capture::live::EndReason;
use windlass_output::records::explain::{self, Extent};
use windlass_output::records::not_tcp::instead;
use windlass_output::{Column, Page, Record, Rows, Style, Table, Text, figures};

use super::report::{CaptureReport, Interval};
use crate::commands::moving;

impl Record for CaptureReport {
    fn text(&self, page: &mut Page) {
        if let Some(explained) = &self.explained {
            for connection in &explained.connections {
                explain::connection(page, Extent::Whole, connection, None, None);
            }
            if explained.connections.is_empty() {
                let passed = explained.passed_over;
                let packets = passed.not_tcp + passed.fragments + passed.unreadable;
                if explained.totals.segments == 0 && packets > 0 {
                    let (said, _) = instead(packets, passed, &explained.not_tcp_kinds);
                    page.paragraph(format!("N{}.", said.trim_start_matches('n')));
                } else {
                    page.paragraph("No TCP connection carried data.");
                }
            }
            if explained.left_out > 0 {
                page.gap();
                page.paragraph(
                    figures::counted(explained.left_out, "more connection")
                        .and(" carried data; --top N explains the N largest."),
                );
            }
            page.gap();
        }
        self.head(page);
        self.account(page);
        self.warnings(page);
    }
}

impl CaptureReport {
    fn head(&self, page: &mut Page) {
        let head = Text::default()
            .strong(self.opened.interface.as_str())
            .and(": ")
            .and(figures::counted(self.received, "packet"))
            .and(" in ")
            .and(self.seconds)
            .and(match self.ended_by {
                EndReason::Signal => "",
                EndReason::Count => ", stopped at the requested count",
                EndReason::Files => ", stopped after the requested files",
                EndReason::Duration => ", stopped after the requested time",
                EndReason::InterfaceGone => ", stopped because the interface disappeared",
                EndReason::WriteFailed => ", stopped by a write error",
                EndReason::ReaderGone => ", stopped because the reader closed the pipe",
            });
        page.paragraph(head);
    }

    fn account(&self, page: &mut Page) {
        let mut rows = Rows::new();
        let bad = |count: u64, why: &str| {
            Text::rare(count, Style::Bad).and(if count == 0 { "" } else { why })
        };
        let name = if self.format.is_some() { "written" } else { "read" };
        rows.push(name, self.written_text());
        rows.push(
            "dropped by the kernel",
            bad(
                self.kernel_drops,
                ": the buffer was full. Set a larger --buffer, or keep less of \
                 each packet with -s",
            ),
        );
        if self.opened.interfaces.len() > 1 {
            for one in &self.opened.interfaces {
                let mut text = figures::counted(one.received, "packet");
                if one.kernel_drops > 0 {
                    let dropped = Text::styled(Style::Bad, one.kernel_drops);
                    text = text.and(", ").and(dropped).and(" of them dropped");
                }
                rows.push(one.name.as_str(), text);
            }
        }
        if self.write_losses > 0 {
            rows.push("lost in writing", bad(self.write_losses, ""));
        }
        if let Some(worked) = &self.afterwards {
            if worked.compressed > 0 {
                let packed = figures::counted(worked.compressed, "file");
                rows.push("compressed", packed);
            }
            if worked.commands > 0 {
                rows.push("command ran for", figures::counted(worked.commands, "file"));
            }
            if worked.left_out > 0 {
                rows.push("not processed", figures::counted(worked.left_out, "file"));
            }
        }
        if self.after_count > 0 {
            rows.push("after the last wanted", self.after_count);
        }
        let mut rate = figures::both(self.bytes_per_second).and(", ");
        rate = rate.and(figures::per_second(self.packets_per_second, "packet"));
        rows.push("rate", rate);
        if let Some(packets) = self.packets_per_buffer {
            let mut text = figures::counted(self.buffers, "buffer");
            text = text.and(format!(
                ", {} packets in each; {} ",
                fixed(packets, 1),
                self.reader_name()
            ));
            text = text.and(figures::size(self.opened.buffer_bytes));
            if self.ring_freezes > 0 {
                text = text.and(", full ").and(figures::counted(self.ring_freezes, "time"));
            }
            rows.push("buffers", text);
        }
        rows.push(
            "CPU",
            Text::from(Span::from_seconds(self.cpu_seconds))
                .and(" by windlass, ")
                .and(figures::percent(self.cpu_share))
                .and(" of one CPU; all CPUs ")
                .and(figures::percent(self.system_cpu_share))
                .and(" busy"),
        );
        page.rows(&rows);
    }

    fn reader_name(&self) -> &'static str {
        match self.opened.reader {
            windlass_capture::live::ReaderKind::Ring => "a ring of",
            windlass_capture::live::ReaderKind::Single => "one by one, from a buffer of",
        }
    }

    fn written_text(&self) -> Text {
        let text = Text::from(self.written);
        match self.files.as_slice() {
            [] => text,
            [file] => {
                let text = text.and(" in ").and(file.file.as_str()).and(", ");
                match file.packed_bytes {
                    Some(packed) => text.and(packed).and(" of ").and(file.bytes),
                    None => text.and(file.bytes),
                }
            }
            [first, .., last] => {
                let mut text =
                    text.and(" in ").and(figures::counted(self.files_there.into(), "file"));
                text = match self.files.len() < self.files_there as usize {
                    true => text.and(", the last "),
                    false => text.and(", ").and(first.file.as_str()).and(" to "),
                };
                text = text.and(last.file.as_str());
                if self.files_removed > 0 {
                    let removed = figures::counted(self.files_removed.into(), "earlier file");
                    text = text.and("; ").and(removed).and(" removed");
                }
                text
            }
        }
    }

    fn warnings(&self, page: &mut Page) {
        let warn = |page: &mut Page, text: Text| page.paragraph(Text::styled(Style::Warn, text));
        if let Some(worked) = &self.afterwards {
            for failed in worked.failures.iter().take(MAX_FAILURES) {
                warn(page, Text::from(format!("{}: {}.", failed.file, failed.wrong)));
            }
            let more = worked.failed.saturating_sub(MAX_FAILURES as u64);
            if more > 0 {
                warn(page, figures::counted(more, "more file").and(" failed."));
            }
        }
        if self.opened.buffer_is_small {
            let text = Text::from("Memory was short: the buffer has only ")
                .and(figures::size(self.opened.buffer_bytes))
                .and(".");
            warn(page, text);
        }
        for gap in &self.gaps {
            let which = match self.opened.interfaces.len() {
                1 => "The interface",
                _ => gap.interface.as_str(),
            };
            let text = match gap.to {
                Some(to) => {
                    Text::from(which).and(" was down for ").and(to.since(gap.from)).and(".")
                }
                None => Text::from(which).and(" was down at the end."),
            };
            warn(page, text);
        }
        if self.unaccounted != 0 {
            warn(
                page,
                Text::from(format!(
                    "The counts differ by {}: the kernel's counts are wrong here.",
                    self.unaccounted
                )),
            );
        }
    }
}

/// Maximum number of failures in the text.
const MAX_FAILURES: usize = 5;

/// Returns the table of intervals.
pub(super) fn table() -> Table {
    Table::new([
        Column::right("seconds").least(13),
        Column::right("rate").least(11),
        Column::right("packets/s").least(10),
        Column::right("buffers/s").least(9),
        Column::right("in each").least(8),
        Column::right("dropped").least(8),
        Column::right("full").least(5),
        Column::right("CPU").least(5),
        Column::right("system").least(6),
    ])
}

/// Returns an interval as a line of the table.
pub(super) fn line(interval: &Interval) -> Text {
    let lost = |count: u64| match count {
        0 => Text::styled(Style::Dim, "0"),
        count => Text::styled(Style::Bad, count),
    };
    table().line(&[
        Text::from(moving::between(interval.from_seconds, interval.to_seconds)),
        Text::from(interval.bytes_per_second),
        figures::whole(interval.packets_per_second),
        figures::whole(interval.buffers_per_second),
        Text::known(interval.packets_per_buffer.map(|packets| fixed(packets, 1))),
        lost(interval.kernel_drops),
        lost(interval.ring_freezes),
        figures::percent(interval.cpu_share),
        figures::percent(interval.system_cpu_share),
    ])
}
