//! Text of the report about slow printing.

use windlass_base::Span;
use windlass_output::{Page, Record, Rows, Style, Table, Text, figures, verdict};

use super::job::JobTime;
use super::{Part, WhyReport};

/// Maximum number of jobs with a line of their own.
const MAX_JOBS: usize = 10;

impl Part {
    const fn words(self) -> &'static str {
        match self {
            Self::Connecting => "connecting",
            Self::Sending => "sending",
            Self::Answering => "waiting for the device",
            Self::Other => "other",
        }
    }

    /// Returns the definition of the part.
    const fn about(self) -> &'static str {
        match self {
            Self::Connecting => "until the device accepted the connection",
            Self::Sending => "until the device's TCP had all of the data",
            Self::Answering => "until the device confirmed the job, or closed",
            Self::Other => "earlier attempts, exchanges before the data, or unknown",
        }
    }
}

impl Record for WhyReport {
    fn text(&self, page: &mut Page) {
        page.heading(self.head());
        page.indented(|page| {
            if self.job.is_none() {
                self.of_printer(page);
            } else if let Some(job) = self.jobs.first() {
                page.rows(&self.of_job(job));
            }
            page.gap();
            self.limits(page);
        });
    }
}

impl WhyReport {
    fn head(&self) -> Text {
        match (self.job, self.jobs.first()) {
            (Some(id), Some(job)) => Text::from(format!("job {id} of {}", self.printer))
                .dim(format!("   {:?} of {}", job.name, job.user)),
            _ => Text::from(self.printer.as_str()).dim(format!("   {}", self.server)),
        }
    }

    /// Returns the printer's state, if it holds jobs back.
    fn hindrance(&self) -> Option<Text> {
        let state = self.printer_state.filter(|state| *state == "stopped");
        let message = self.printer_message.as_str();
        match state {
            Some(state) if message.is_empty() => Some(Text::styled(Style::Warn, state)),
            Some(state) => Some(Text::styled(Style::Warn, format!("{state}: {message}"))),
            None if message.is_empty() => None,
            None => Some(Text::styled(Style::Warn, message)),
        }
    }

    fn of_job(&self, job: &JobTime) -> Rows {
        let mut rows = Rows::new();
        let state = job.state.unwrap_or("unknown");
        let words = match (state, job.message.as_str()) {
            (state, "") => state.to_owned(),
            (state, message) => format!("{state}: {message}"),
        };
        rows.push("state", words);
        // While the device has the job, both texts are equal.
        if let Some(hindrance) = self.hindrance().filter(|_| self.printer_message != job.message) {
            rows.push("printer", hindrance);
        }
        if let Some(before) = self.before {
            let text = match before {
                0 => "none: this job is the next".into(),
                _ => figures::counted(before, "job").and(" of this printer"),
            };
            rows.push("jobs ahead", text);
        }
        let mut time = |name: &str, time: Option<Span>, about: &str| {
            if let Some(time) = time {
                rows.push(name, Text::default().strong(time).dim(format!(", {about}")));
            }
        };
        let had = job.turn_seconds.is_some();
        let queue = if had { "until the printer started it" } else { "so far" };
        time("in queue", job.queued_seconds, queue);
        let turn = if job.is_over() { "all attempts" } else { "all attempts so far" };
        time("at the device", job.turn_seconds, turn);
        for (part, seconds) in [
            (Part::Connecting, job.connecting_seconds),
            (Part::Sending, job.sending_seconds),
            (Part::Answering, job.answering_seconds),
        ] {
            time(part.words(), seconds, part.about());
        }
        if let Some(attempts) = job.attempts.filter(|count| *count > 1) {
            rows.push(
                "attempts",
                format!("{attempts}; the times of the parts are of the last one"),
            );
        }
        let rate = job.limit.as_ref().and_then(|limit| limit.bytes_per_second);
        if let Some(rate) = rate {
            let bytes = job.bytes.map_or_else(Text::default, |bytes| Text::from(bytes).and(" at "));
            rows.push("data", bytes.strong(rate));
        }
        if job.is_over() && job.attempts.is_none() {
            rows.push("", NOT_TOLD);
        } else if job.attempts.is_none() && job.turn_seconds.is_some() {
            rows.push("", "the device has the job: its parts are known after the attempt");
        }
        rows
    }

    fn of_printer(&self, page: &mut Page) {
        let mut rows = Rows::new();
        if let Some(hindrance) = self.hindrance() {
            rows.push("printer", hindrance);
        }
        rows.push("waiting", figures::counted(self.waiting, "job"));
        page.rows(&rows);
        if self.jobs.is_empty() {
            page.line("no finished job is known, so there are no times to explain");
            return;
        }
        page.gap();
        page.line(
            Text::from("time at the device of the last ")
                .and(figures::counted(self.jobs.len() as u64, "job")),
        );
        let mut rows = Rows::new();
        for part in &self.parts {
            let share = figures::percent(part.share);
            let about = format!(", {}", part.part.about());
            rows.push(part.part.words(), share.and(": ").and(part.seconds).dim(about));
        }
        page.rows(&rows);
        if self.jobs.iter().all(|job| job.attempts.is_none()) {
            page.line(NOT_TOLD);
        }
        page.gap();
        page.table(&self.table());
        if self.jobs.len() > MAX_JOBS {
            page.line(format!("… and {} earlier; --json lists all", self.jobs.len() - MAX_JOBS));
        }
    }

    fn table(&self) -> Table {
        let mut table = Table::headed(
            "job: | size: | in queue: | at device: | connecting: | sending: | answer: | limit",
        );
        let time = |time: Option<Span>| time.map_or_else(|| "".into(), Text::from);
        for job in self.jobs.iter().take(MAX_JOBS) {
            table.push([
                job.id.to_string().as_str().into(),
                job.bytes.map_or_else(|| "".into(), Text::from),
                time(job.queued_seconds),
                time(job.turn_seconds),
                time(job.connecting_seconds),
                time(job.sending_seconds),
                time(job.answering_seconds),
                job.limit.as_ref().map_or("", |limit| limit.limit.as_str()).into(),
            ]);
        }
        table
    }

    /// Writes the limits.
    fn limits(&self, page: &mut Page) {
        for limit in &self.limits {
            let mut head = Text::styled(Style::Bad, limit.limit.as_str());
            if self.job.is_none() {
                head = head
                    .and(": ")
                    .and(figures::counted(limit.jobs, "job"))
                    .and(", ")
                    .and(figures::percent(limit.share))
                    .and(" of the sending time");
            }
            page.line(head.and("; confidence ").and(verdict::confidence(limit.confidence)));
            page.paragraph(limit.sentence.as_str());
            if !limit.remedy.is_empty() {
                page.paragraph(Text::from("remedy: ").and(limit.remedy.as_str()));
            }
            page.gap();
        }
    }
}

/// Reason for missing parts.
const NOT_TOLD: &str = "this server reports no parts: use windlass spool serve, or send a job \
                        with windlass print --explain";
