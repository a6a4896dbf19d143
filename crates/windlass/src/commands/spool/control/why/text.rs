//! Why printing is slow, for people.

use windlass_base::Span;
use windlass_output::{Page, Record, Rows, Style, Table, Text, figures, verdict};

use super::job::JobTime;
use super::{Part, WhyReport};

/// The most jobs that are told of one by one.
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

    /// What the part is.
    const fn about(self) -> &'static str {
        match self {
            Self::Connecting => "until the device took the connection",
            Self::Sending => "until the device's TCP had all of the data",
            Self::Answering => "until the device said that it has the job, or closed",
            Self::Other => "attempts before the last, talk before the data, or not told",
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

    /// The printer, where it stands in the way.
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
        // While its device has it, both say the same.
        if let Some(hindrance) = self.hindrance().filter(|_| self.printer_message != job.message) {
            rows.push("printer", hindrance);
        }
        if let Some(before) = self.before {
            let text = match before {
                0 => "it is the next".into(),
                _ => figures::counted(before, "job").and(" of this printer"),
            };
            rows.push("before it", text);
        }
        let mut time = |name: &str, time: Option<Span>, about: &str| {
            if let Some(time) = time {
                rows.push(name, Text::default().strong(time).dim(format!(", {about}")));
            }
        };
        let had = job.turn_seconds.is_some();
        let queue = if had { "until its printer had it first" } else { "so far" };
        time("in queue", job.queued_seconds, queue);
        let turn =
            if job.is_over() { "from then on, all attempts" } else { "so far, all attempts" };
        time("its turn", job.turn_seconds, turn);
        for (part, seconds) in [
            (Part::Connecting, job.connecting_seconds),
            (Part::Sending, job.sending_seconds),
            (Part::Answering, job.answering_seconds),
        ] {
            time(part.words(), seconds, part.about());
        }
        if let Some(attempts) = job.attempts.filter(|count| *count > 1) {
            rows.push("attempts", format!("{attempts}; the times are of the last"));
        }
        let rate = job.limit.as_ref().and_then(|limit| limit.bytes_per_second);
        if let Some(rate) = rate {
            let bytes = job.bytes.map_or_else(Text::default, |bytes| Text::from(bytes).and(" at "));
            rows.push("data", bytes.strong(rate));
        }
        if job.is_over() && job.attempts.is_none() {
            rows.push("", NOT_TOLD);
        } else if job.attempts.is_none() && job.turn_seconds.is_some() {
            rows.push("", "its device has it: the parts are known when the attempt is over");
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
            page.line("no job is known that is over: what they took is not known");
            return;
        }
        page.gap();
        page.line(
            Text::from("the time that the last ")
                .and(figures::counted(self.jobs.len() as u64, "job"))
                .and(" had at the device"),
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
            page.line(format!("and {} before; --json has all", self.jobs.len() - MAX_JOBS));
        }
    }

    fn table(&self) -> Table {
        let mut table = Table::headed(
            "job: | size: | in queue: | its turn: | connecting: | sending: | device: | limit",
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

    /// What held the data back.
    fn limits(&self, page: &mut Page) {
        for limit in &self.limits {
            let mut head = Text::styled(Style::Bad, limit.limit.as_str());
            if self.job.is_none() {
                head = head
                    .and(": ")
                    .and(figures::counted(limit.jobs, "job"))
                    .and(", ")
                    .and(figures::percent(limit.share))
                    .and(" of the time that was sent");
            }
            page.line(head.and("; confidence ").and(verdict::confidence(limit.confidence)));
            page.paragraph(limit.sentence.as_str());
            if !limit.remedy.is_empty() {
                page.paragraph(Text::from("to change: ").and(limit.remedy.as_str()));
            }
            page.gap();
        }
    }
}

/// Why there are no parts.
const NOT_TOLD: &str = "this server does not tell more: windlass spool serve does, and windlass \
                        print --explain of a job sent by hand";
