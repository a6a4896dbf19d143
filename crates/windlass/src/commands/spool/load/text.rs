//! The report for people.

use windlass_base::Quantiles;
use windlass_measure::load::{Figures, FilesReport, Limit, LoadReport, Since};

use crate::commands::watch;
use crate::print::{Column, Page, Record, Rows, Style, Table, Text, figures};

/// The most lines of the plot.
const MAX_LINES: usize = 16;

/// The widest bar of the plot.
const WIDEST: u64 = 40;

/// The most times of a full spool that are told.
const MAX_FULL: usize = 5;

impl Record for LoadReport {
    fn text(&self, page: &mut Page) {
        page.heading(title(self));
        page.indented(|page| {
            page.rows(&rows(self));
            troubles(self, page);
            page.gap();
            page.paragraph(
                Text::styled(Style::Strong, "Queueing: ").and(&self.limits.queue.sentence),
            );
            if let Some(Limit { sentence, .. }) = &self.limits.process {
                page.paragraph(Text::styled(Style::Strong, "Processing: ").and(sentence));
            }
            machine(self, page);
            plot(self, page);
        });
        if let Some(host) = &self.meanwhile.watched {
            watch::summary(page, host);
        }
    }
}

fn title(report: &LoadReport) -> Text {
    let target = &report.target;
    let to = match target.queues {
        1 => Text::from(&target.first_queue),
        _ => {
            let last = target.last_queue.rsplit('/').next().unwrap_or_default();
            Text::from(format!("{} … {last}", target.first_queue))
        }
    };
    let by = match target.program {
        Some(program) => program.name().to_owned(),
        None => target.protocol.to_ascii_uppercase(),
    };
    let over = figures::counted(report.asked.connections as u64, "connection");
    let queues = figures::counted(target.queues as u64, "queue");
    to.dim(Text::from("   ").and(queues).and(", by ").and(by).and(" over ").and(over))
}

fn rows(report: &LoadReport) -> Rows {
    let mut rows = Rows::new();
    let (counts, queue) = (&report.counts, &report.queue);
    rows.push("files", files(&report.files));
    let mut done = Text::new()
        .strong(counts.acknowledged)
        .and(" of ")
        .and(figures::counted(counts.asked, "job"))
        .and(" acknowledged");
    for (count, what, style) in [
        (counts.refused, "refused", Style::Bad),
        (counts.failed, "failed", Style::Bad),
        (counts.unknown, "unknown: no answer came", Style::Bad),
        (counts.not_sent, "not sent", Style::Warn),
    ] {
        if count > 0 {
            done = done.and(", ").with(style, Text::from(count).and(format!(" {what}")));
        }
    }
    rows.push("jobs", done);
    rows.push(
        "to queue",
        Text::new()
            .strong(queue.seconds)
            .and(": ")
            .strong(figures::per_second(queue.jobs_per_second, "job"))
            .and(", ")
            .and(queue.bytes)
            .and(" at ")
            .and(queue.bytes_per_second),
    );
    rows.push("to process", processed(report));
    if let Some(hold) = &report.hold {
        let mut text = figures::counted(hold.stopped as u64, "printer")
            .and(" stopped first, in ")
            .and(hold.stop_seconds);
        if let Some(start) = hold.start_seconds {
            text = text.and("; started again in ").and(start);
        }
        if hold.stopped_already > 0 {
            let already = hold.stopped_already as u64;
            text = text.and("; ").and(already).and(" were so already, and stay so");
        }
        if hold.left_stopped > 0 {
            let left = format!("; {} left stopped", hold.left_stopped);
            text = text.with(Style::Warn, left);
        }
        rows.push("held", text);
    }
    if let Some(latency) = &queue.latency_seconds {
        rows.push("answers", quantiles(latency));
    }
    rows.push("waiting", waited(report));
    if queue.retries > 0 {
        rows.push("tried again", figures::counted(queue.retries, "time"));
    }
    if queue.ghosts > 0 {
        let text = figures::counted(queue.ghosts, "job")
            .and(" created whose documents did not arrive; ")
            .and(queue.ghosts_cancelled)
            .and(" of them cancelled");
        rows.push("ghosts", text);
    }
    if let Some((first, last)) = queue.first_job_id.zip(queue.last_job_id) {
        rows.push("job numbers", Text::whole(&format!("{first} to {last}")));
    }
    let cpu = Text::from(queue.user_seconds)
        .and(" in the program, ")
        .and(queue.system_seconds)
        .and(" in the kernel");
    rows.push("to send", cpu);
    rows
}

fn processed(report: &LoadReport) -> Text {
    let Some(process) = &report.process else {
        let why = match &report.waiting.failure {
            Some(failure) => format!("not known: {failure}"),
            None if report.interrupted => "not known: it was stopped before".to_owned(),
            None if report.waiting.counted_by.is_some() => "not waited for".to_owned(),
            None => "not known: a raw port does not tell".to_owned(),
        };
        return Text::styled(Style::Dim, why);
    };
    let mut text = Text::new().strong(process.seconds);
    text = match process.from {
        Since::Release => text.and(" from when the printers were let go: "),
        Since::LastAnswer => {
            text.and(" after the last answer; all of it ").and(process.all_seconds).and(": ")
        }
    };
    text = text
        .strong(figures::per_second(process.jobs_per_second, "job"))
        .and(", ")
        .and(process.bytes_per_second);
    if process.complete {
        return text;
    }
    let left = figures::counted(process.left, "job").and(" waiting still");
    let text = text.and("; ").with(Style::Bad, left);
    match process.stopped_printers {
        Some(stopped) if stopped > 0 => {
            let printers = figures::counted(stopped as u64, "printer").and(" stopped");
            text.and(", ").with(Style::Bad, printers)
        }
        _ => text,
    }
}

fn waited(report: &LoadReport) -> Text {
    let waiting = &report.waiting;
    let Some(most) = waiting.max else {
        return Text::styled(Style::Dim, "not known");
    };
    let mut text = Text::from("at most ").and(figures::counted(most, "job")).and(" at once");
    if let Some(before) = waiting.before.filter(|before| *before > 0) {
        text = text.and(", beside ").and(before).and(" that waited before");
    }
    text.dim(
        Text::from("; asked ")
            .and(figures::counted(waiting.questions, "time"))
            .and(", which took ")
            .and(waiting.questions_seconds),
    )
}

fn troubles(report: &LoadReport, page: &mut Page) {
    for trouble in &report.wrong.troubles {
        page.gap();
        let head = figures::counted(trouble.jobs, "job")
            .and(format!(" {}, {}", figures::word(&trouble.became), figures::word(&trouble.kind)))
            .and(", from ")
            .and(trouble.first_seconds)
            .and(" to ")
            .and(trouble.last_seconds);
        page.paragraph(Text::styled(Style::Bad, head).and(": ").and(&trouble.words));
    }
    if report.wrong.troubles_left_out > 0 {
        let left_out = figures::counted(report.wrong.troubles_left_out, "job");
        page.paragraph(left_out.and(" more, in other words"));
    }
    for full in report.wrong.full.iter().take(MAX_FULL) {
        let mut text = Text::from(format!("{}: no jobs taken from ", figures::word(&full.kind)))
            .and(full.refused_seconds);
        text = match full.accepted_seconds {
            Some(accepted) => text.and(" on; taken again at ").with(Style::Good, accepted),
            None => text.with(Style::Bad, " on, to the end"),
        };
        let refusals = figures::counted(full.refusals, "refusal");
        page.paragraph(text.and(" (").and(refusals).and(")"));
    }
    let more = report.wrong.full.len().saturating_sub(MAX_FULL) as u64 + report.wrong.full_left_out;
    if more > 0 {
        page.paragraph(figures::counted(more, "more such time"));
    }
}

fn machine(report: &LoadReport, page: &mut Page) {
    let parts = [("queueing", &report.machine.queue), ("processing", &report.machine.process)];
    let mut table = Table::new([
        Column::left("of this machine"),
        Column::right("time"),
        Column::right("server"),
        Column::right("windlass"),
        Column::right("all busy"),
        Column::right("iowait"),
        Column::right("disk"),
        Column::right("written"),
    ]);
    for (name, figures) in parts {
        if let Some(figures) = figures {
            table.push(row(name, figures));
        }
    }
    if !table.is_empty() {
        page.gap();
        page.table(&table);
    }
}

/// Jobs that waited, over time.
fn plot(report: &LoadReport, page: &mut Page) {
    let points: Vec<_> = report.waiting.points.iter().collect();
    let known = points.iter().filter_map(|point| point.waiting);
    let Some(most) = known.max().filter(|most| *most > 0) else { return };
    let lines = points.len().min(MAX_LINES);
    let mut table = Table::new([
        Column::right("at"),
        Column::right("acknowledged"),
        Column::right("waiting"),
        Column::left(""),
    ]);
    for line in 0..lines {
        // From the first to the last.
        let point = points[(line * (points.len() - 1)).div_ceil(lines.max(2) - 1)];
        let columns = (point.waiting.unwrap_or(0) * WIDEST).div_ceil(most);
        let columns = usize::try_from(columns).unwrap_or(0);
        table.push([
            point.seconds.into(),
            point.acknowledged.into(),
            Text::known(point.waiting),
            Text::styled(Style::Hue(0), "#".repeat(columns)),
        ]);
    }
    page.gap();
    page.table(&table);
}

fn row(name: &str, figures: &Figures) -> [Text; 8] {
    let server: Vec<f64> = figures.server.iter().filter_map(|it| it.cpu_share).collect();
    let disk = figures.disk.as_ref();
    [
        name.into(),
        figures.seconds.into(),
        Text::known((!server.is_empty()).then(|| figures::percent(server.iter().sum()))),
        figures::percent(figures.client_cpu_share + figures.programs_cpu_share),
        figures::percent(figures.busy_share),
        figures::percent(figures.iowait_share),
        Text::known(
            disk.map(|disk| {
                Text::from(&disk.name).and(" ").and(figures::percent(disk.utilisation))
            }),
        ),
        Text::known(disk.map(|disk| disk.written_bytes_per_second)),
    ]
}

fn files(of: &FilesReport) -> Text {
    let sizes = match (of.count, of.min_bytes == of.max_bytes) {
        (1, _) => Text::from(of.max_bytes),
        (count, true) => Text::from(count as u64).and(" of ").and(of.max_bytes),
        (count, false) => {
            Text::from(count as u64).and(" of ").and(of.min_bytes).and(" to ").and(of.max_bytes)
        }
    };
    let mut text = Text::from(of.payload.join(", ")).and(", ").and(sizes);
    if let Some(create) = of.create_seconds {
        text = text.and("; created in ").and(create);
    }
    text.and(", copied in ").and(of.copy_seconds).and(format!(", sent from {}", of.from))
}

/// How long answers took.
fn quantiles(of: &Quantiles) -> Text {
    let mut text = Text::new().strong(of.p50).and(" in the median");
    for (share, span) in [("90 %", of.p90), ("99 %", of.p99), ("99.9 %", of.p99_9)] {
        if let Some(span) = span {
            text = text.and(", ").and(share).and(" ").and(span);
        }
    }
    text.and(", at most ").and(of.max)
}
