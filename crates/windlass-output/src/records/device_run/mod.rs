//! Report on an emulated device, as text.

pub mod view;

use windlass_base::{Bytes, Span};
use windlass_netlab::device::{Connection, DeviceRunReport, LinkDirection};

use crate::records::ended::ended;
use crate::{Page, Record, Rows, Style, Table, Text, figures, verdict};

/// Minimum time that is reported: the kernel keeps sending for some milliseconds after most
/// commands.
const WORTH_A_LINE: Span = Span::from_millis(100);

impl Record for DeviceRunReport {
    fn text(&self, page: &mut Page) {
        page.heading(
            Text::from(self.device.full_name())
                .and(format!(" at {}, for ", self.device.address))
                .and(self.seconds),
        );
        page.indented(|page| page.rows(&device_rows(self)));
        transfers(self, page);
        page.gap();
        page.rows(&rest(self));
    }
}

fn device_rows(report: &DeviceRunReport) -> Rows {
    let device = &report.device;
    let mut rows = Rows::new();
    rows.push("about", device.about.as_str());
    rows.push("listens on", listens(report));
    rows.push("window", device.window.as_str());
    rows.push("acknowledges", device.acknowledges.as_str());
    rows.push("reads", device.reads.as_str());
    if let Some(stalls) = &device.stalls {
        rows.push("stalls", stalls.as_str());
    }
    rows
}

fn transfers(report: &DeviceRunReport, page: &mut Page) {
    page.heading("Received");
    page.indented(|page| {
        if report.connections.is_empty() {
            page.line("no data");
        } else {
            page.table(&table(report));
        }
        for line in beside(report) {
            page.paragraph(line);
        }
    });
    if report.connections.is_empty() {
        return;
    }
    page.heading("What held each back");
    for connection in &report.connections {
        page.indented(|page| held_back(page, connection));
    }
}

fn table(report: &DeviceRunReport) -> Table {
    let mut table =
        Table::headed("connection: | from port… | to | received: | ACK after: | time: | rate:");
    let own = format!("{}:", report.local_address);
    for connection in &report.connections {
        // Hosts other than the command's are rare: only made-up addresses appear here.
        let sender = &connection.sender;
        // If the device sent more, its own rate does not matter.
        let has_sent = connection.verdict.is_some();
        table.push([
            connection.number.to_string().into(),
            sender.strip_prefix(&own).unwrap_or(sender).into(),
            connection.service.as_str().into(),
            connection.received_bytes.into(),
            Text::known(connection.ack_latency_seconds),
            Text::known(has_sent.then_some(connection.seconds)),
            Text::known(has_sent.then_some(connection.bytes_per_second)),
        ]);
    }
    table
}

/// Returns lines on other traffic, and on missing traffic.
fn beside(report: &DeviceRunReport) -> Vec<Text> {
    let mut lines = Vec::new();
    if report.left_out > 0 {
        let others = figures::counted(report.left_out, "other connection");
        lines.push(others.and(" carried less: --top shows more"));
    }
    if report.without_data > 0 {
        let others = figures::counted(report.without_data, "connection");
        lines.push(others.and(" carried no data"));
    }
    if report.lpr.data_files + report.lpr.control_files > 0 {
        lines.push(
            Text::from("by LPR: ")
                .and(figures::counted(report.lpr.data_files, "data file"))
                .and(" of ")
                .and(report.lpr.data_bytes)
                .and(", ")
                .and(figures::counted(report.lpr.control_files, "control file")),
        );
    }
    if report.ipp.jobs > 0 {
        lines.push(
            Text::from("by IPP: ")
                .and(figures::counted(report.ipp.jobs, "job"))
                .and(", ")
                .and(figures::counted(report.ipp.documents, "document"))
                .and(" of ")
                .and(report.ipp.data_bytes),
        );
    }
    if report.pings > 0 {
        lines.push(figures::counted(report.pings, "ping").and(" answered"));
    }
    if report.syns_dropped > 0 {
        let text = figures::counted(report.syns_dropped, "SYN");
        let text = Text::styled(Style::Warn, text);
        lines.push(
            text.and(format!(
                " dropped: the device holds {} connections",
                report.device.connections
            )),
        );
    }
    if report.unsent_bytes.get() > 0 {
        let unsent = Text::styled(Style::Warn, report.unsent_bytes);
        lines.push(unsent.and(" were unsent at the interruption"));
    }
    lines
}

fn rest(report: &DeviceRunReport) -> Rows {
    let mut rows = Rows::new();
    rows.push("command", ended(&report.command, report.ending, report.interrupted));
    if report.sending_on_seconds >= WORTH_A_LINE {
        rows.push(
            "after it",
            Text::from("the kernel sent for another ").and(report.sending_on_seconds),
        );
    }
    if let Some(name) = &report.congestion_control {
        rows.push("sender", format!("{}, with {name}", report.local_address));
    }
    let link = &report.link;
    rows.push(
        "link",
        Text::from(link.bytes_per_second.in_bits())
            .and(" and ")
            .and(figures::exact(link.delay_seconds))
            .and(" each way, a queue of ")
            .and(link.queue_bytes)
            .and(", an MTU of ")
            .and(Bytes::new(report.mtu_bytes.into()))
            .and(loss(link.loss)),
    );
    rows.push("to the device", passed(&link.up));
    rows.push("from it", passed(&link.down));
    let bad = [
        (link.missed.unwrap_or(0), "missed by the emulator"),
        (link.not_taken, "not taken by the sender"),
        (report.lost_by_device, "lost by the device, as its profile says"),
    ];
    for (count, what) in bad.into_iter().filter(|(count, _)| *count > 0) {
        let text = Text::styled(Style::Warn, figures::counted(count, "packet"));
        rows.push("", text.and(" ").and(what));
    }
    rows.push("seed", report.seed.to_string());
    rows.push("scheduling", report.scheduling.words());
    if let Some(capture) = &report.capture {
        rows.push(
            "capture",
            Text::from(capture.file.as_str())
                .and(", ")
                .and(figures::counted(capture.packets, "packet")),
        );
    }
    rows
}

fn listens(report: &DeviceRunReport) -> Text {
    let services = &report.device.services;
    let [raw, lpr, ipp] = services.ports();
    let all = [
        ("raw", raw, services.raw_in_profile),
        ("LPR", lpr, services.lpr_in_profile),
        ("IPP", ipp, services.ipp_in_profile),
    ];
    let listed = |of_profile: bool| {
        let some = all.iter().filter(|(.., in_profile)| *in_profile == of_profile);
        let some = some.map(|(word, ports, _)| {
            let ports: Vec<String> = ports.iter().map(u16::to_string).collect();
            format!("{word} {}", ports.join(", "))
        });
        some.collect::<Vec<_>>().join("; ")
    };
    match listed(false) {
        more if more.is_empty() => Text::from(listed(true)),
        more => Text::from(format!("{}; besides the profile, {more}", listed(true))),
    }
}

fn held_back(page: &mut Page, connection: &Connection) {
    let head = Text::default()
        .strong(format!("connection {}, to {}", connection.number, connection.service));
    page.paragraph(head);
    page.indented(|page| match &connection.verdict {
        Some(verdict) => {
            verdict::in_short(page, verdict);
            verdict::first_remedy(page, verdict);
        }
        None => page.paragraph(
            Text::from("the device sent more than it received, ").and(connection.returned_bytes),
        ),
    });
}

fn loss(share: f64) -> Text {
    match share {
        0.0 => Text::default(),
        share => Text::from(", ").and(figures::fine_percent(share)).and(
            " lost on the way to the \
                                                                         device",
        ),
    }
}

fn passed(way: &LinkDirection) -> Text {
    let text = figures::counted(way.packets, "packet").and(", ").and(way.line_bytes);
    let bad = [(way.dropped_by_queue, "found the queue full"), (way.lost, "lost on the line")];
    let bad = bad.into_iter().filter(|(count, _)| *count > 0);
    bad.fold(text.and(" of the line"), |text, (count, what)| {
        text.and("; ").with(Style::Warn, figures::count(count)).and(" ").and(what)
    })
}
