//! State of the spool that the page shows, and its HTML.

use std::sync::Arc;

use windlass_base::Bytes;
use windlass_spool_core::{Moment, Phase, Printer, job_message};
use windlass_sys::clock::since_1970;
use windlass_wire::pages::Pages;

use super::deed::DEEDS;
use super::html::Html;
use super::rates::{Rate, Rates};
use crate::spooler::Spooler;
use crate::table::{Job, JobTable, now};

/// Maximum number of printers on the page.
const PRINTERS: usize = 1_000;
/// Maximum number of unfinished jobs on the page.
const JOBS: usize = 100;
/// Maximum number of finished jobs on the page.
const OVER: usize = 30;

/// State of the spool that the page shows.
pub(super) struct PageState {
    now: Moment,
    active: usize,
    documents: u64,
    files: u64,
    printers: Vec<PrinterRow>,
    more_printers: usize,
    jobs: Vec<JobRow>,
    over: Vec<JobRow>,
}

struct PrinterRow {
    name: String,
    info: String,
    state: &'static str,
    holds: String,
    is_stopped: bool,
    is_in_trouble: bool,
    jobs: usize,
    pages: u64,
    rate: Option<Rate>,
}

struct JobRow {
    id: u32,
    printer: String,
    name: String,
    user: String,
    state: &'static str,
    why: String,
    is_held: bool,
    is_over: bool,
    bytes: u64,
    pages: Option<Pages>,
    since: Moment,
}

impl JobRow {
    fn of(job: &Job, table: &JobTable, now: Moment) -> Self {
        let (printer, device) = table.printers_of(job);
        Self {
            id: job.id,
            printer: printer.settings.name.clone(),
            name: job.ticket.name.to_string(),
            user: job.ticket.user.to_string(),
            state: job.state().id(),
            why: job_message(job, device, now).into_owned(),
            is_held: matches!(job.phase, Phase::Held),
            is_over: job.is_over(),
            bytes: job.size,
            pages: job.pages,
            since: job.ended().unwrap_or(job.created),
        }
    }
}

/// Returns the reason why a printer's jobs wait, or its activity.
fn holds(printer: &Printer, now: Moment) -> String {
    if let Some(why) = &printer.stopped {
        let jobs = printer.live.len();
        let waits = if jobs == 0 { "" } else { ": its jobs wait until it is started" };
        return format!("stopped ({why}){waits}");
    }
    let message = printer.message(now);
    if !message.is_empty() {
        return message;
    }
    if let Some(job) = printer.current {
        let since = now.until_since(printer.changed);
        return format!("device: busy with job {job} for {since}");
    }
    if printer.live.is_empty() {
        return "no jobs".to_owned();
    }
    "jobs are held, or wait for their documents".to_owned()
}

/// Time since a moment, in words.
trait TimeSince {
    fn until_since(self, then: Moment) -> String;
}

impl TimeSince for Moment {
    fn until_since(self, then: Moment) -> String {
        let seconds = then.until(self).as_secs();
        match seconds {
            0..=119 => format!("{seconds} s"),
            120..=7_199 => format!("{} min", seconds / 60),
            7_200..=172_799 => format!("{} h", seconds / 3_600),
            _ => format!("{} d", seconds / 86_400),
        }
    }
}

impl PageState {
    /// Reads the state of the spool.
    pub(super) fn of(spooler: &Arc<Spooler>, rates: &Rates) -> Self {
        let (usage, now) = (spooler.usage(), now());
        let mut seen = spooler.look(|table| {
            let printers = table.printers();
            let shown = printers.iter().take(PRINTERS);
            let rows = shown.map(|printer| PrinterRow {
                name: printer.settings.name.clone(),
                info: printer.settings.info.clone(),
                state: printer.state().words(),
                holds: holds(printer, now),
                is_stopped: printer.stopped.is_some(),
                is_in_trouble: printer.is_failing() || printer.stall().is_some(),
                jobs: printer.live.len(),
                pages: printer.counts.pages,
                rate: None,
            });
            let first =
                |printer: &Printer| printer.live.iter().copied().take(JOBS).collect::<Vec<_>>();
            let mut ids: Vec<u32> = printers.iter().flat_map(first).collect();
            ids.sort_unstable();
            let jobs = ids.iter().take(JOBS).filter_map(|id| table.job(*id));
            Self {
                now,
                active: table.active(),
                documents: usage.documents,
                files: usage.files,
                printers: rows.collect(),
                more_printers: printers.len().saturating_sub(PRINTERS),
                jobs: jobs.map(|job| JobRow::of(job, table, now)).collect(),
                over: table
                    .over(None, 0)
                    .take(OVER)
                    .map(|job| JobRow::of(job, table, now))
                    .collect(),
            }
        });
        let done: Vec<(String, (u64, u64))> = spooler.look(|table| {
            let each = table.printers().iter().take(PRINTERS);
            each.map(|one| {
                (one.settings.name.clone(), (one.counts.completed, one.counts.bytes_out))
            })
            .collect()
        });
        let rates = rates.of(since_1970(), done.iter().map(|(name, done)| (name.as_str(), *done)));
        for row in &mut seen.printers {
            row.rate = rates.get(&row.name).copied();
        }
        seen
    }

    /// Writes the page.
    pub(super) fn write(&self, html: &mut Html, token: &str) {
        html.raw("<h1>windlass spool</h1>\n<p>");
        let kept = Bytes::new(self.documents);
        html.say(&format!(
            "{} unfinished jobs with {kept} of documents; the spool uses {} of the disk.",
            self.active,
            Bytes::new(self.files)
        ));
        html.raw("</p>\n<h2>Printers</h2>\n<table class=\"printers\"><thead><tr>");
        for title in ["printer", "state", "details", "jobs", "jobs/min", "rate", "pages", ""] {
            html.raw("<th>");
            html.say(title);
            html.raw("</th>");
        }
        html.raw("</tr></thead><tbody>\n");
        for printer in &self.printers {
            printer.write(html, token);
        }
        html.raw("</tbody></table>\n");
        if self.more_printers > 0 {
            html.raw("<p>");
            html.say(&format!("{} more printers are not shown.", self.more_printers));
            html.raw("</p>\n");
        }
        self.write_jobs(html, "Unfinished jobs", &self.jobs, token);
        if self.active > self.jobs.len() {
            html.raw("<p>");
            let more = self.active - self.jobs.len();
            html.say(&format!("{more} more jobs are not shown: windlass spool jobs lists all."));
            html.raw("</p>\n");
        }
        self.write_jobs(html, "Finished jobs", &self.over, token);
    }

    fn write_jobs(&self, html: &mut Html, title: &str, jobs: &[JobRow], token: &str) {
        html.raw("<h2>");
        html.say(title);
        html.raw("</h2>\n");
        if jobs.is_empty() {
            html.raw("<p>None.</p>\n");
            return;
        }
        html.raw("<table><thead><tr>");
        for title in ["job", "printer", "title", "user", "state", "size", "pages", "age", ""] {
            html.raw("<th>");
            html.say(title);
            html.raw("</th>");
        }
        html.raw("</tr></thead><tbody>\n");
        for job in jobs {
            job.write(html, self.now, token);
        }
        html.raw("</tbody></table>\n");
    }
}

impl PrinterRow {
    fn write(&self, html: &mut Html, token: &str) {
        let class = match (self.is_stopped, self.is_in_trouble) {
            (true, _) => "stopped",
            (_, true) => "failing",
            _ => "fine",
        };
        html.raw("<tr class=\"");
        html.raw(class);
        html.raw("\"><td data-of=\"printer\" title=\"");
        html.say(&self.info);
        html.raw("\">");
        html.say(&self.name);
        html.raw("</td>");
        html.cell("state", self.state);
        html.cell("details", &self.holds);
        html.cell("jobs", &self.jobs.to_string());
        let unknown = || "–".to_owned();
        let rate = self.rate;
        let jobs = rate.map_or_else(unknown, |one| one.jobs_per_minute.to_string());
        html.cell("jobs/min", &jobs);
        let bytes = |one: Rate| format!("{}/s", Bytes::new(one.bytes_per_second));
        html.cell("rate", &rate.map_or_else(unknown, bytes));
        html.cell("pages", &self.pages.to_string());
        html.raw("<td>");
        button(html, if self.is_stopped { "start" } else { "stop" }, &self.name, token);
        html.raw("</td></tr>\n");
    }
}

impl JobRow {
    fn write(&self, html: &mut Html, now: Moment, token: &str) {
        html.raw("<tr>");
        html.cell("job", &self.id.to_string());
        html.cell("printer", &self.printer);
        html.cell("title", &self.name);
        html.cell("user", &self.user);
        let state = if self.why.is_empty() {
            self.state.to_owned()
        } else {
            format!("{}: {}", self.state, self.why)
        };
        html.cell("state", &state);
        html.cell("size", &Bytes::new(self.bytes).to_string());
        let pages = match self.pages {
            None => "–".to_owned(),
            Some(Pages::Counted(pages)) => pages.to_string(),
            Some(Pages::Unknown(_)) => "unknown".to_owned(),
        };
        html.cell("pages", &pages);
        html.cell("age", &now.until_since(self.since));
        html.raw("<td>");
        if !self.is_over {
            let id = self.id.to_string();
            button(html, if self.is_held { "release" } else { "hold" }, &id, token);
            button(html, "cancel", &id, token);
        }
        html.raw("</td></tr>\n");
    }
}

/// Writes a button for an action.
fn button(html: &mut Html, deed: &str, of: &str, token: &str) {
    debug_assert!(DEEDS.iter().any(|(word, ..)| *word == deed));
    html.raw("<form method=\"post\" action=\"/do\">");
    for (name, value) in [("deed", deed), ("of", of), ("token", token)] {
        html.raw("<input type=\"hidden\" name=\"");
        html.raw(name);
        html.raw("\" value=\"");
        html.say(value);
        html.raw("\">");
    }
    html.raw("<button>");
    html.say(deed);
    html.raw("</button></form>");
}
