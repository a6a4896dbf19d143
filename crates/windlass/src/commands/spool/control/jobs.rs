//! The jobs of a spool.

use serde::Serialize;
use windlass_base::{Bytes, Failure, Schema, Span};
use windlass_output::{Page, Record, Table, Text, figures};
use windlass_wire::ipp::{Group, GroupTag, JobState, Operation, Value};

use super::server::Server;
use super::{JobsArgs, OVER, WAITING, failed};

/// Number of jobs in one request.
const PAGE: u32 = 1_000;

/// Attributes to request of each job.
const WANTED: [&str; 12] = [
    "job-id",
    "job-name",
    "job-originating-user-name",
    "job-printer-uri",
    "job-state",
    "job-state-reasons",
    "job-state-message",
    "job-k-octets",
    "job-priority",
    "time-at-creation",
    "time-at-completed",
    "job-printer-up-time",
];

/// The jobs of a spool.
#[derive(Debug, Serialize)]
pub(super) struct JobsReport {
    schema: Schema,
    server: String,
    /// Null for all printers.
    printer: Option<String>,
    which: &'static str,
    jobs: Vec<Job>,
    /// True if there are more.
    more: bool,
}

#[derive(Debug, Serialize)]
struct Job {
    id: u32,
    printer: String,
    user: String,
    name: String,
    /// A keyword of RFC 8011; null if the server does not report it.
    state: Option<&'static str>,
    reasons: Vec<String>,
    message: String,
    /// To the next KiB.
    bytes: Option<Bytes>,
    priority: Option<i32>,
    /// Time since its creation.
    age_seconds: Option<Span>,
    /// Time since its end.
    over_seconds: Option<Span>,
}

/// Returns a text of a group, in one line.
pub(super) fn text(group: &Group, name: &str) -> Option<String> {
    let text = group.text(name)?;
    Some(text.chars().map(|one| if one.is_control() { ' ' } else { one }).collect())
}

/// Returns the texts of an attribute.
pub(super) fn texts(group: &Group, name: &str) -> Vec<String> {
    let values = group.attribute(name).map_or(&[][..], |attribute| &attribute.values);
    values.iter().filter_map(Value::text).map(std::borrow::Cow::into_owned).collect()
}

impl Job {
    fn of(group: &Group) -> Option<Self> {
        let up = group.number("job-printer-up-time");
        let since = |name: &str| {
            let seconds = i64::from(up?) - i64::from(group.number(name)?);
            Some(Span::from_millis(seconds.max(0).saturating_mul(1_000)))
        };
        let printer = text(group, "job-printer-uri").unwrap_or_default();
        let kilo = group.number("job-k-octets").and_then(|kilo| u64::try_from(kilo).ok());
        Some(Self {
            id: u32::try_from(group.number("job-id")?).ok()?,
            printer: printer.rsplit('/').next().unwrap_or_default().to_owned(),
            user: text(group, "job-originating-user-name").unwrap_or_default(),
            name: text(group, "job-name").unwrap_or_default(),
            state: group.number("job-state").and_then(JobState::new).map(JobState::id),
            reasons: texts(group, "job-state-reasons"),
            message: text(group, "job-state-message").unwrap_or_default(),
            bytes: kilo.map(|kilo| Bytes::new(kilo.saturating_mul(1_024))),
            priority: group.number("job-priority"),
            age_seconds: since("time-at-creation"),
            over_seconds: since("time-at-completed"),
        })
    }
}

/// Asks for jobs, page by page: a spool may have very many.
pub(super) fn ask(args: &JobsArgs) -> Result<JobsReport, Failure> {
    let server = &Server::new(&args.server)?;
    let uri = args.printer.as_ref().map_or_else(|| server.uri(), |name| server.printer(name));
    let doing = || format!("cannot list the jobs of {}", server.authority());
    let most = args.limit as usize;
    let (groups, more) =
        list(server, &uri, args.which, most, &WANTED).map_err(|error| failed(doing(), &error))?;
    Ok(JobsReport {
        schema: Schema { name: "windlass.spool-jobs", version: 1 },
        server: server.authority(),
        printer: args.printer.clone(),
        which: args.which,
        jobs: groups.iter().filter_map(Job::of).collect(),
        more,
    })
}

/// Returns up to `most` jobs, and true if there are more.
pub(super) fn list(
    server: &Server,
    uri: &str,
    which: &str,
    most: usize,
    wanted: &[&str],
) -> Result<(Vec<Group>, bool), windlass_print::Error> {
    server.asking(|asker| {
        let mut jobs: Vec<Group> = Vec::new();
        let mut first = 1;
        loop {
            let mut request = asker.request(Operation::GET_JOBS, uri);
            request.add("which-jobs", Value::keyword(which));
            // One job more than the limit shows whether there are more. Ended jobs come latest
            // first, so a request cannot start at a job number.
            let left = u32::try_from(most + 1 - jobs.len()).unwrap_or(u32::MAX);
            let limit = if which == OVER { left } else { left.min(PAGE) };
            request.add("limit", Value::Integer(i32::try_from(limit).unwrap_or(i32::MAX)));
            if which != OVER {
                request.add("first-job-id", Value::Integer(first));
            }
            request.want(wanted);
            let answer = asker.ask(&request)?;
            let page: Vec<Group> =
                answer.groups.into_iter().filter(|group| group.tag == GroupTag::JOB).collect();
            let got = page.len();
            let last = page.iter().filter_map(|group| group.number("job-id")).max();
            jobs.extend(page);
            let is_over = got < limit as usize || which == OVER || jobs.len() > most;
            match last {
                // A server that does not know first-job-id would begin anew for ever.
                Some(last) if !is_over && last >= first => first = last.saturating_add(1),
                _ => break,
            }
        }
        let more = jobs.len() > most;
        jobs.truncate(most);
        Ok((jobs, more))
    })
}

impl Record for JobsReport {
    fn text(&self, page: &mut Page) {
        if self.jobs.is_empty() {
            page.line(match self.which {
                WAITING => "no unfinished jobs",
                OVER => "no finished jobs",
                _ => "no jobs",
            });
            return;
        }
        let mut table = Table::headed("job: | printer | user | size: | age: | state | name");
        for job in &self.jobs {
            let state = match job.state.unwrap_or("unknown") {
                // The state "pending-held" also stands for a job whose document is on its way.
                "pending-held" if job.reasons.iter().any(|reason| reason == "job-incoming") => {
                    "incoming".to_owned()
                }
                state => state.to_owned(),
            };
            let state =
                if job.message.is_empty() { state } else { format!("{state}: {}", job.message) };
            table.push([
                Text::from(job.id.to_string().as_str()),
                job.printer.as_str().into(),
                job.user.as_str().into(),
                job.bytes.map_or_else(|| "".into(), Text::from),
                job.age_seconds.map_or_else(|| "".into(), Text::from),
                state.as_str().into(),
                job.name.as_str().into(),
            ]);
        }
        page.table(&table);
        if self.more {
            let told = figures::count(self.jobs.len() as u64);
            page.line(format!("there are more than these {told} jobs: list more with --limit"));
        }
    }
}
