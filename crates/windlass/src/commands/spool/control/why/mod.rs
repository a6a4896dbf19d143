//! Causes of slow printing: the parts of the jobs' time, and their limits.

mod job;
mod text;

use std::cmp::Reverse;

use serde::Serialize;
use windlass_base::verdict::Confidence;
use windlass_base::{Failure, Schema, Span};
use windlass_wire::ipp::{Group, GroupTag, JobState, Operation, PrinterState};

use self::job::{JobTime, WANTED};
use super::jobs::{list, text as line};
use super::server::Server;
use super::{OVER, WAITING, WhyArgs, failed};

/// Maximum number of counted jobs ahead of a job.
const MAX_BEFORE: usize = 10_000;

/// Attributes to request of a printer.
const OF_PRINTER: [&str; 3] = ["printer-state", "printer-state-message", "queued-job-count"];

/// Time of a printer's jobs, by its parts.
#[derive(Debug, Serialize)]
pub(in super::super) struct WhyReport {
    schema: Schema,
    server: String,
    printer: String,
    /// The printer in its own words; empty without a message.
    printer_message: String,
    /// idle, processing or stopped; null if the server does not report it.
    printer_state: Option<&'static str>,
    /// Jobs of the printer that are not over.
    waiting: u64,
    /// The job that was asked about; null for a printer.
    job: Option<u32>,
    /// Jobs of the printer ahead of this one; null if it is not waiting.
    before: Option<u64>,
    /// The job, or the last finished jobs of the printer, the latest first.
    jobs: Vec<JobTime>,
    /// Sums of the parts, the longest first.
    parts: Vec<PartTime>,
    /// Limits of their transfers, the costliest first.
    limits: Vec<LimitTime>,
}

/// A part of jobs' time.
#[derive(Debug, Serialize)]
struct PartTime {
    part: Part,
    seconds: Span,
    /// Share of the time at the devices.
    share: f64,
}

/// Part of a job's time at its device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Part {
    /// Until the device took the connection.
    Connecting,
    /// Until the device's TCP had all of the data.
    Sending,
    /// Until the device confirmed the job, or closed.
    Answering,
    /// The rest: earlier attempts, exchanges before the data, and jobs without details.
    Other,
}

/// A limit of jobs' data.
#[derive(Debug, Serialize)]
struct LimitTime {
    limit: String,
    jobs: u64,
    /// Sending time of these jobs.
    seconds: Span,
    /// Share of the sending time of all jobs with a known limit.
    share: f64,
    /// Lowest confidence of these jobs.
    confidence: Confidence,
    /// Sentence of the job with the longest sending time.
    sentence: String,
    remedy: String,
}

/// Asks a server for the times of its jobs.
pub(super) fn ask(args: &WhyArgs) -> Result<WhyReport, Failure> {
    let server = &Server::new(&args.server)?;
    let doing = || format!("cannot explain the time of {}", args.what);
    match args.what.parse::<u32>() {
        Ok(id) => of_job(server, id).map_err(|error| failed(doing(), &error)),
        Err(_) => {
            of_printer(server, &args.what, args.last).map_err(|error| failed(doing(), &error))
        }
    }
}

fn of_job(server: &Server, id: u32) -> Result<WhyReport, windlass_print::Error> {
    let group = server.asking(|asker| {
        let mut request =
            asker.request_of_job(Operation::GET_JOB_ATTRIBUTES, &server.job(&id.to_string()));
        request.want(&WANTED);
        let answer = asker.ask(&request)?;
        Ok(answer.groups.into_iter().find(|group| group.tag == GroupTag::JOB))
    })?;
    let group = group.unwrap_or_else(|| Group { tag: GroupTag::JOB, attributes: Vec::new() });
    let printer = line(&group, "job-printer-uri").unwrap_or_default();
    let printer = printer.rsplit('/').next().unwrap_or_default().to_owned();
    let job = JobTime::of(&group);
    let waits = matches!(job.state, Some(state) if state == JobState::Pending.id());
    let mut report = WhyReport::new(server, &printer)?;
    report.job = Some(id);
    if waits {
        let wanted = ["job-id", "job-priority", "job-state"];
        let (others, _) = list(server, &server.printer(&printer), WAITING, MAX_BEFORE, &wanted)?;
        let before = others.iter().filter(|other| goes_before(other, &group, id));
        report.before = Some(before.count() as u64);
    }
    report.take(vec![job]);
    Ok(report)
}

/// Returns true if a job of the same printer is ahead of another: it prints already, has a higher
/// priority, or is older.
fn goes_before(other: &Group, job: &Group, id: u32) -> bool {
    let state = other.number("job-state").and_then(JobState::new);
    let priority = |group: &Group| group.number("job-priority").unwrap_or(50);
    let other_id = other.number("job-id").and_then(|other| u32::try_from(other).ok());
    let Some(other_id) = other_id.filter(|other| *other != id) else { return false };
    match state {
        Some(JobState::Processing | JobState::ProcessingStopped) => true,
        Some(JobState::Pending) => (-priority(other), other_id) < (-priority(job), id),
        _ => false,
    }
}

fn of_printer(
    server: &Server,
    printer: &str,
    last: u32,
) -> Result<WhyReport, windlass_print::Error> {
    let mut report = WhyReport::new(server, printer)?;
    let (groups, _) = list(server, &server.printer(printer), OVER, last as usize, &WANTED)?;
    report.take(groups.iter().map(JobTime::of).collect());
    Ok(report)
}

impl WhyReport {
    /// Requests the state of a printer.
    fn new(server: &Server, printer: &str) -> Result<Self, windlass_print::Error> {
        let group = server.asking(|asker| {
            let uri = server.printer(printer);
            let mut request = asker.request(Operation::GET_PRINTER_ATTRIBUTES, &uri);
            request.want(&OF_PRINTER);
            let answer = asker.ask(&request)?;
            Ok(answer.groups.into_iter().find(|group| group.tag == GroupTag::PRINTER))
        })?;
        let number = |name: &str| group.as_ref().and_then(|group| group.number(name));
        let state = number("printer-state").and_then(PrinterState::new);
        let waiting = number("queued-job-count").and_then(|jobs| u64::try_from(jobs).ok());
        let message = group.as_ref().and_then(|group| line(group, "printer-state-message"));
        Ok(Self {
            schema: Schema { name: "windlass.spool-why", version: 1 },
            server: server.authority(),
            printer: printer.to_owned(),
            printer_message: message.unwrap_or_default(),
            printer_state: state.map(PrinterState::id),
            waiting: waiting.unwrap_or(0),
            job: None,
            before: None,
            jobs: Vec::new(),
            parts: Vec::new(),
            limits: Vec::new(),
        })
    }

    /// Adds jobs, and computes the sums.
    fn take(&mut self, jobs: Vec<JobTime>) {
        self.parts = parts(&jobs);
        self.limits = limits(&jobs);
        self.jobs = jobs;
    }
}

/// Sums the parts of jobs.
fn parts(jobs: &[JobTime]) -> Vec<PartTime> {
    let sum = |of: fn(&JobTime) -> Option<Span>| jobs.iter().filter_map(of).sum::<Span>();
    let all = sum(|job| job.turn_seconds);
    let known = [
        (Part::Connecting, sum(|job| job.connecting_seconds)),
        (Part::Sending, sum(|job| job.sending_seconds)),
        (Part::Answering, sum(|job| job.answering_seconds)),
    ];
    let told: Span = known.iter().map(|(_, time)| *time).sum();
    // A job time known only to the second may be shorter than its parts.
    let whole = all.max(told);
    let other = (Part::Other, (whole - told).or_zero());
    let mut parts: Vec<PartTime> = known
        .into_iter()
        .chain([other])
        .filter(|(_, seconds)| *seconds > Span::ZERO)
        .map(|(part, seconds)| PartTime { part, seconds, share: seconds.share_of(whole) })
        .collect();
    parts.sort_by_key(|part| Reverse(part.seconds));
    parts
}

/// Sums the limits of jobs.
fn limits(jobs: &[JobTime]) -> Vec<LimitTime> {
    let mut limits: Vec<(LimitTime, Span)> = Vec::new();
    for job in jobs {
        let Some(limit) = &job.limit else { continue };
        let seconds = job.sending_seconds.unwrap_or(Span::ZERO);
        let (sentence, remedy) = (limit.sentence.clone(), limit.remedy.clone());
        match limits.iter_mut().find(|(one, _)| one.limit == limit.limit) {
            Some((one, longest)) => {
                one.jobs += 1;
                one.seconds += seconds;
                one.confidence = one.confidence.min(limit.confidence);
                if seconds > *longest {
                    (*longest, one.sentence, one.remedy) = (seconds, sentence, remedy);
                }
            }
            None => limits.push((
                LimitTime {
                    limit: limit.limit.clone(),
                    jobs: 1,
                    seconds,
                    share: 0.0,
                    confidence: limit.confidence,
                    sentence,
                    remedy,
                },
                seconds,
            )),
        }
    }
    let all: Span = limits.iter().map(|(one, _)| one.seconds).sum();
    let mut limits: Vec<LimitTime> = limits.into_iter().map(|(one, _)| one).collect();
    for one in &mut limits {
        one.share = one.seconds.share_of(all);
    }
    limits.sort_by_key(|limit| Reverse(limit.seconds));
    limits
}
