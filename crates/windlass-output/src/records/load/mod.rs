//! Report of a load test, for people.

pub mod view;

use windlass_base::{Bytes, Quantiles, Span, whole_part};
use windlass_host::busiest::named;
use windlass_measure::load::{
    Comparison, FigureUnit, Figures, FilesReport, JobStage, JobStages, Limit, LoadReport, WaitEnd,
    WaitStart,
};

use crate::records::host;
use crate::{Page, Record, Rows, Style, Table, Text, figures};

/// Maximum number of lines of the plot.
const MAX_LINES: usize = 16;

/// Maximum width of the plot's bars.
const WIDEST: u64 = 40;

/// Maximum number of times of a full spool that are reported.
const MAX_FULL: usize = 5;

impl Record for LoadReport {
    fn text(&self, page: &mut Page) {
        page.heading(title(self));
        page.indented(|page| {
            page.rows(&rows(self));
            reasons(self, page);
            troubles(self, page);
            page.gap();
            page.paragraph(
                Text::styled(Style::Strong, "Queueing: ").and(&self.limits.queue.sentence),
            );
            if let Some(Limit { sentence, .. }) = &self.limits.process {
                page.paragraph(Text::styled(Style::Strong, "Processing: ").and(sentence));
            }
            machine(self, page);
            cups(self, page);
            plot(self, page);
        });
        if let Some(comparison) = &self.compared {
            compared(comparison, page);
        }
        if let Some(host) = &self.meanwhile.watched {
            host::summary(page, host);
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
        Some(program) => program.id().to_owned(),
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
    if let Some(became) = became(report) {
        rows.push("became", became);
    }
    if let Some(times) = report.outcomes.as_ref().and_then(|outcomes| outcomes.times) {
        let text = Text::new()
            .strong(times.queued_seconds)
            .and(" in the queue, ")
            .strong(times.processed_seconds)
            .and(" printed, mean of ")
            .and(figures::counted(times.jobs, "job"))
            .dim(
                Text::from("; the spooler keeps whole seconds: error up to ")
                    .and(times.off_by_seconds),
            );
        rows.push("a job", text);
    }
    if let Some(stages) = &report.stages {
        rows.push("of that", staged(stages));
    }
    if let Some(away) = away(report) {
        rows.push("server away", away);
    }
    if let Some(hold) = &report.hold {
        let mut text = figures::counted(hold.stopped as u64, "printer")
            .and(" stopped first, in ")
            .and(hold.stop_seconds);
        if let Some(start) = hold.start_seconds {
            text = text.and("; started again in ").and(start);
        }
        if hold.stopped_already > 0 {
            let already = hold.stopped_already as u64;
            text = text.and("; ").and(already).and(" were stopped before, and stay stopped");
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
            .and(" created without their documents; ")
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
            None if report.interrupted => "not known: the load was stopped before".to_owned(),
            None if report.waiting.counted_by.is_some() => "not waited for".to_owned(),
            None => "not known: a raw port does not report it".to_owned(),
        };
        return Text::styled(Style::Dim, why);
    };
    let mut text = Text::new().strong(process.seconds);
    text = match process.from {
        WaitStart::Release => text.and(" from the release of the printers: "),
        WaitStart::LastAnswer => {
            text.and(" after the last answer; in total ").and(process.all_seconds).and(": ")
        }
    };
    // Without outcomes, only the end of the jobs' wait is known.
    let what = match &report.outcomes {
        Some(became) if became.outcomes.forgotten > 0 => " processed, ",
        Some(_) => " completed, ",
        None => " left the queue, ",
    };
    text = text
        .and(figures::counted(process.jobs, "job"))
        .and(what)
        .strong(figures::per_second(process.jobs_per_second, "job"))
        .and(", ")
        .and(process.bytes_per_second);
    match (process.end, process.left) {
        (WaitEnd::Done, _) => return text,
        (WaitEnd::NoAnswer, _) => {
            let silent = "; then the server stopped answering";
            return text.with(Style::Bad, silent);
        }
        (_, Some(left)) => {
            let left = figures::counted(left, "job").and(" still waiting");
            text = text.and("; ").with(Style::Bad, left);
        }
        (_, None) => {}
    }
    match process.stopped_printers {
        Some(stopped) if stopped > 0 => {
            let printers = figures::counted(stopped as u64, "printer").and(" stopped");
            text.and(", ").with(Style::Bad, printers)
        }
        _ => text,
    }
}

/// Returns the outcomes of the acknowledged jobs.
fn became(report: &LoadReport) -> Option<Text> {
    let became = &report.outcomes.as_ref()?.outcomes;
    let mut text = Text::new().strong(became.completed).and(" completed");
    for (count, what, style) in [
        (became.aborted, "aborted", Style::Bad),
        (became.canceled, "canceled", Style::Bad),
        (became.waiting, "still waiting", Style::Bad),
        (
            became.missing,
            "missing: acknowledged before the server was away, and not found after",
            Style::Bad,
        ),
        (
            became.forgotten,
            "not known: they left the queue, and the server keeps no record of them",
            Style::Warn,
        ),
        (became.lost_sight(), "unknown: the server no longer reports them", Style::Bad),
    ] {
        if count > 0 {
            text = text.and(", ").with(style, Text::from(count).and(format!(" {what}")));
        }
    }
    Some(text)
}

/// Returns the stages of jobs.
fn staged(stages: &JobStages) -> Text {
    let mut text = Text::new();
    for (place, one) in stages.stages.iter().enumerate() {
        let what = match one.stage {
            JobStage::Filter => "a filter worked",
            JobStage::FilterWaits => "filters waited",
            JobStage::Backend => "the backend worked",
            JobStage::Connecting => "connecting",
            JobStage::Network => "data was on the network",
            JobStage::Device => "waiting for the device",
            JobStage::Unseen => "the backend waited; only root can see for what",
        };
        text = text.and(if place > 0 { ", " } else { "" });
        text = text.strong(figures::percent(one.share)).and(format!(" {what}"));
    }
    let mut programs = Text::new();
    for (place, program) in stages.programs.iter().enumerate() {
        programs = programs.and(if place > 0 { ", " } else { "; " });
        programs =
            programs.and(program.name.as_str()).and(" ").and(figures::percent(program.share));
    }
    text.and(programs).dim(
        Text::from("; of ")
            .and(figures::counted(stages.jobs_seen, "job"))
            .and(" in ")
            .and(figures::counted(stages.looks, "look")),
    )
}

/// Returns the absences of the server.
fn away(report: &LoadReport) -> Option<Text> {
    let absences = &report.absences;
    let Some(first) = absences.times.first() else {
        let restarted = report.restarted == Some(true);
        return restarted.then(|| Text::from("never seen away, but it is another process now"));
    };
    let times = absences.times.len() as u64 + absences.times_left_out;
    let text = Text::new().with(Style::Bad, absences.seconds).and(match times {
        1 => Text::from(", from ").and(first.from_seconds).and(" on"),
        _ => Text::from(" in ").and(figures::counted(times, "time")),
    });
    let ended = absences.times.last().and_then(|last| last.to_seconds);
    let text = match (absences.lasts, times, ended) {
        (true, ..) => text.and("; ").with(Style::Bad, "it did not come back"),
        (false, 1, Some(back)) => text.and("; back at ").with(Style::Good, back),
        _ => text,
    };
    Some(if report.restarted == Some(true) {
        text.and("; it is another process now")
    } else {
        text
    })
}

/// Writes the reasons of jobs that were not completed.
fn reasons(report: &LoadReport, page: &mut Page) {
    let Some(outcomes) = &report.outcomes else { return };
    for reason in &outcomes.outcomes.reasons {
        page.gap();
        let head = figures::counted(reason.jobs, "job").and(format!(" {}", reason.state.id()));
        let first = format!(", first job {}: ", reason.first_job_id);
        let mut text = Text::styled(Style::Bad, head).and(Text::whole(&first)).and(&reason.reasons);
        if let Some(message) = &reason.message {
            text = text.and(". ").and(message);
        }
        page.paragraph(text);
    }
    if outcomes.outcomes.reasons_left_out > 0 {
        let left_out = figures::counted(outcomes.outcomes.reasons_left_out, "job");
        page.paragraph(left_out.and(" more, for other reasons"));
    }
    if let Some(failure) = &outcomes.failure {
        page.gap();
        page.paragraph(Text::from("The results of the jobs are not known: ").and(failure));
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
            .and(waiting.questions_seconds)
            .and(", ")
            .and(figures::percent(waiting.questions_share))
            .and(" of the time"),
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
        page.paragraph(left_out.and(" more, with other messages"));
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
        page.paragraph(figures::counted(more, "more such period"));
    }
}

fn machine(report: &LoadReport, page: &mut Page) {
    let parts = [("queueing", &report.machine.queue), ("processing", &report.machine.process)];
    let mut table = Table::headed(
        "of this machine | time: | server: | windlass: | all busy: | iowait: | disk: | written:",
    );
    for (name, figures) in parts {
        if let Some(figures) = figures {
            table.push(row(name, figures));
        }
    }
    if !table.is_empty() {
        page.gap();
        page.table(&table);
    }
    for (name, figures) in parts {
        let Some(figures) = figures else { continue };
        children(page, name, figures);
        if !figures.others.is_empty() {
            let mut text = Text::styled(Style::Dim, format!("beside the load, {name}: "));
            for (place, other) in figures.others.iter().enumerate() {
                text = text.and(if place > 0 { "; " } else { "" }).and(&named(other));
            }
            page.paragraph(text);
        }
    }
}

/// Writes the CPU time of the server's children, by name.
fn children(page: &mut Page, part: &str, of: &Figures) {
    for process in of.server.iter().filter(|it| it.children_cpu_share > 0.0) {
        let head = format!("children of {} ({}), {part}: ", process.name, process.pid);
        let mut text =
            Text::styled(Style::Dim, head).and(figures::percent(process.children_cpu_share));
        for child in process.children.iter().filter(|child| child.cpu_share > 0.0) {
            text = text.and(format!(", {} ", child.name)).and(figures::percent(child.cpu_share));
        }
        page.paragraph(text);
    }
}

/// Writes the settings of cupsd, and those to change.
fn cups(report: &LoadReport, page: &mut Page) {
    let Some(cups) = &report.cups else { return };
    let mut text = Text::styled(Style::Dim, "cupsd: ");
    for (place, setting) in cups.settings.iter().filter(|it| it.is_given).enumerate() {
        let said =
            format!("{}{} {}", if place > 0 { ", " } else { "" }, setting.name, setting.value);
        text = text.and(said);
    }
    page.gap();
    page.paragraph(text.dim(Text::from("; of ").and(cups.read_from.join(", "))));
    for advice in &report.advice {
        let head = format!("{} in {}: ", advice.line, advice.file);
        page.paragraph(Text::styled(Style::Strong, head).and(&advice.sentence));
    }
}

/// Writes the comparison with an earlier load.
fn compared(of: &Comparison, page: &mut Page) {
    page.heading(Text::from("beside ").and(of.file.as_str()));
    page.indented(|page| {
        let unknown = || "not known".to_owned();
        for (what, all, style) in [
            ("different option", &of.asked_otherwise, Style::Warn),
            ("changed", &of.settings, Style::Strong),
        ] {
            for one in all {
                let before = one.before.clone().unwrap_or_else(unknown);
                let now = one.now.clone().unwrap_or_else(unknown);
                let head = format!("{what}: {} ", one.name);
                page.paragraph(Text::styled(style, head).and(format!("{before} → {now}")));
            }
        }
        let mut table = Table::headed(" | before: | now: | of before:");
        for figure in &of.figures {
            let value = |value: Option<f64>| Text::known(value.map(|it| in_unit(it, figure.unit)));
            table.push([
                figure.words.into(),
                value(figure.before),
                value(figure.now),
                Text::known(figure.ratio.map(figures::percent)),
            ]);
        }
        page.gap();
        page.table(&table);
    });
}

fn in_unit(value: f64, unit: FigureUnit) -> Text {
    match unit {
        FigureUnit::JobsPerSecond => figures::per_second(value, "job"),
        FigureUnit::Seconds => Text::from(Span::from_seconds(value)),
        FigureUnit::Jobs => Text::from(whole_part(value)),
        FigureUnit::Bytes => Text::from(Bytes::new(whole_part(value))),
    }
}

/// Writes the plot of waiting jobs over time.
fn plot(report: &LoadReport, page: &mut Page) {
    let points: Vec<_> = report.waiting.points.iter().collect();
    let known = points.iter().filter_map(|point| point.waiting);
    let Some(most) = known.max().filter(|most| *most > 0) else { return };
    let lines = points.len().min(MAX_LINES);
    let mut table = Table::headed("at: | acknowledged: | waiting: | ");
    for line in 0..lines {
        // From the first point to the last.
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
    let is_known = figures.server.iter().any(|it| it.cpu_share.is_some());
    let disk = figures.disk.as_ref();
    [
        name.into(),
        figures.seconds.into(),
        Text::known(is_known.then(|| figures::percent(figures.server_cpu_share()))),
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

/// Returns the latency of answers.
fn quantiles(of: &Quantiles) -> Text {
    let mut text = Text::new().strong(of.p50).and(" in the median");
    for (share, span) in [("90 %", of.p90), ("99 %", of.p99), ("99.9 %", of.p99_9)] {
        if let Some(span) = span {
            text = text.and(", ").and(share).and(" ").and(span);
        }
    }
    text.and(", at most ").and(of.max).and("; ").and(of.mean).and(" in the mean")
}
