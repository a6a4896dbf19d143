//! Report of the comparison for people.

use windlass_base::figures::fixed;
use windlass_capture::live::{ReaderKind, WHOLE};
use windlass_netlab::compare::{CaptureFigures, CompareReport, Row};

use crate::{Page, Record, Style, Table, Text, figures};

impl Record for CompareReport {
    fn text(&self, page: &mut Page) {
        let each = figures::counted(self.runs.into(), "run");
        let mut head = Text::default().strong("One packet at a time, or many: ");
        head = head.and("medians of ").and(each).and(", taken in turn, on ");
        page.paragraph(head.and(figures::counted(self.processors, "processor")).and("."));
        if !self.complete {
            page.paragraph(Text::styled(Style::Warn, "The comparison is incomplete."));
        }
        if !self.tcp.is_empty() {
            tcp_part(self, page);
        }
        if !self.frames.is_empty() {
            frames_part(self, page);
        }
        if !self.mtu.is_empty() {
            mtu_part(self, page);
        }
        findings_part(self, page);
        page.gap();
        let [single, ring] = &self.document.drivers;
        let sources = Text::from("PCANDIS reads packet by packet, PCAMPR many at a time: ")
            .and(self.document.source)
            .and(". Its KB are ")
            .and(self.document.kb_bytes)
            .and(". They captured ")
            .and(single.captured_bytes_per_second)
            .and(" and ")
            .and(ring.captured_bytes_per_second)
            .and(" over a longer time than the transfer.");
        page.paragraph(Text::default().dim(sources.plain()));
        page.paragraph(Text::default().dim(
            "CPU s is the CPU time of the reader's thread, s/M its CPU time for a million packets. \
             The kernel's time to deliver packets counts to the load; the JSON has it.",
        ));
    }
}

fn tcp_part(report: &CompareReport, page: &mut Page) {
    page.heading(
        Text::from("TCP: ")
            .and(report.tcp_bytes)
            .and(" by writes of ")
            .and(report.tcp_write_bytes)
            .and(", whole packets captured at the receiver"),
    );
    let mut table = Table::headed(
        "reader | TCP: | packets/s: | packets: | lost: | loss: | CPU s: | s/M: | buffers/s:",
    );
    for row in &report.tcp {
        let mut cells = vec![Text::from(reader(row)), row.median.load.bytes_per_second.into()];
        if let Some(captured) = &row.median.captured {
            cells.push(figures::whole(captured.packets_per_second));
            cells.push(captured.received.into());
            cells.extend(costs(captured));
            cells.push(figures::whole(captured.buffers_per_second));
        }
        table.push(cells);
    }
    for driver in &report.document.drivers {
        table.push([
            Text::from(driver.name),
            driver.tcp_bytes_per_second.into(),
            figures::whole(driver.packets_per_second),
            Text::new(),
            Text::rare(driver.lost, Style::Bad),
        ]);
    }
    page.table(&table);
}

fn frames_part(report: &CompareReport, page: &mut Page) {
    let asked = figures::per_second(report.frames_packets_per_second as f64, "frame");
    page.heading(
        Text::from("Frames of ")
            .and(report.frame_bytes)
            .and(", ")
            .and(asked)
            .and(" asked for, ")
            .and(report.frames_seconds)
            .and(" each"),
    );
    let mut table = Table::headed(
        "reader | keeps: | sent/s: | sent: | lost: | loss: | CPU s: | s/M: | buffers/s:",
    );
    for row in &report.frames {
        let Some(captured) = &row.median.captured else { continue };
        let mut cells = vec![Text::from(reader(row)), kept(row)];
        cells.push(Text::known(row.median.load.packets_per_second.map(figures::whole)));
        cells.push(Text::known(row.median.load.packets));
        cells.extend(costs(captured));
        cells.push(figures::whole(captured.buffers_per_second));
        table.push(cells);
    }
    page.table(&table);
}

fn mtu_part(report: &CompareReport, page: &mut Page) {
    page.heading(
        Text::from("The same ")
            .and(report.document.average.bytes_per_second)
            .and(" in ever smaller frames, by the ring"),
    );
    let mut table = Table::headed(
        "frame: | rate: | packets/s: | buffers/s: | in each: | lost: | loss: | CPU s: | s/M:",
    );
    for row in &report.mtu {
        let Some(captured) = &row.median.captured else { continue };
        let mut cells = vec![Text::known(row.frame_bytes)];
        cells.push(captured.bytes_per_second.into());
        cells.push(figures::whole(captured.packets_per_second));
        cells.push(figures::whole(captured.buffers_per_second));
        cells.push(tenth(captured.packets_per_buffer));
        cells.extend(costs(captured));
        table.push(cells);
    }
    let average = &report.document.average;
    table.push([
        Text::from("document"),
        average.bytes_per_second.into(),
        figures::whole(average.packets_per_second),
        figures::whole(average.buffers_per_second),
        tenth(Some(average.packets_per_buffer)),
    ]);
    page.table(&table);
    let Some(first) = report.mtu.first() else { return };
    if let (Some(block), Some(within)) = (first.block_bytes, first.within_seconds) {
        page.paragraph(
            Text::from("Blocks are ")
                .and(figures::size(block))
                .and(", as the document's buffers, and wait ")
                .and(within)
                .and(" to be filled: larger blocks would be delivered by the timeout."),
        );
    }
}

/// Returns the remaining share of a rate. A capture makes nothing faster: an excess over the whole
/// is the variation between runs.
fn kept_rate(share: f64) -> Text {
    if share > 1.0 {
        return Text::from("all (").and(figures::percent(share)).and(": runs differ by as much)");
    }
    figures::percent(share)
}

fn findings_part(report: &CompareReport, page: &mut Page) {
    let (found, document) = (&report.findings, &report.document);
    page.heading("Conclusions");
    let item = |page: &mut Page, text: Text| page.item("-", text);
    if let (Some(ring), Some(single)) = (found.tcp_with_ring, found.tcp_with_single) {
        item(
            page,
            Text::from("TCP keeps ")
                .and(kept_rate(ring))
                .and(" of its rate while the ring captures, and ")
                .and(kept_rate(single))
                .and(" while the single reader does."),
        );
    }
    if let Some(times) = found.cpu_single_over_ring {
        item(
            page,
            Text::from("Of headers the single reader takes ")
                .and(tenth(Some(times)))
                .and(" times the ring's CPU time per packet."),
        );
    }
    if let Some(share) = found.tcp_ring_cpu_share {
        item(
            page,
            Text::from("While TCP sent as fast as it could, the ring's reader took ")
                .and(figures::percent(share))
                .and(" of one processor; the document's driver and reader took less than ")
                .and(figures::percent(document.cpu_share_below))
                .and(" of the host at its rate."),
        );
    }
    if let (Some(packets), Some(buffers)) = (found.mtu_packets_times, found.mtu_buffers_times) {
        item(
            page,
            Text::from("With the smallest frames ")
                .and(tenth(Some(packets)))
                .and(" times the packets came in ")
                .and(tenth(Some(buffers)))
                .and(" times the buffers: the kernel's header stands before each packet."),
        );
    }
    item(page, goal(report, "bytes"));
    item(page, goal(report, "packets"));
}

/// Returns the result on a goal of the document.
fn goal(report: &CompareReport, which: &str) -> Text {
    let (found, document) = (&report.findings, &report.document);
    let (goal, ours, over) = if which == "bytes" {
        let rate = found.bytes_per_second.map(figures::both);
        (figures::both(document.goal_bytes_per_second), rate, found.bytes_over_goal)
    } else {
        let packets = |rate| figures::per_second(rate, "packet");
        let ours = found.packets_per_second.map(packets);
        (packets(document.goal_packets_per_second), ours, found.packets_over_goal)
    };
    let text = Text::from("The document's goal of ").and(goal).and(" is ");
    match (ours, over) {
        (Some(ours), Some(over)) => {
            let (style, verdict) =
                if over >= 1.0 { (Style::Good, "passed") } else { (Style::Bad, "not reached") };
            let times = tenth(Some(over));
            text.with(style, verdict)
                .and(": the ring took ")
                .and(ours)
                .and(" without a loss in any run, ")
                .and(times)
                .and(" times as much.")
        }
        _ => text.with(Style::Bad, "not reached").and(": the ring lost packets in each load."),
    }
}

/// Returns lost packets, their share, and the reader's processor time.
fn costs(captured: &CaptureFigures) -> [Text; 4] {
    [
        Text::rare(captured.lost, Style::Bad),
        figures::fine_percent(captured.loss),
        Text::from(fixed(captured.cpu_seconds, 3)),
        Text::known(captured.cpu_seconds_per_million_packets.map(|seconds| fixed(seconds, 3))),
    ]
}

fn tenth(value: Option<f64>) -> Text {
    Text::known(value.map(|value| fixed(value, 1)))
}

/// Returns the reader of a row.
const fn reader(row: &Row) -> &'static str {
    match row.reader {
        None => "none",
        Some(ReaderKind::Single) => "single",
        Some(ReaderKind::Ring) => "ring",
    }
}

/// Returns the bytes kept of a packet.
fn kept(row: &Row) -> Text {
    match row.snap_length {
        Some(bytes) if bytes < WHOLE => Text::whole(&format!("{bytes} B")),
        _ => Text::from("all"),
    }
}
