//! `windlass spool load`: a load of thousands of jobs on a spooler.

mod args;
mod plan;
mod progress;

use std::fs;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

pub use args::{LoadArgs, SubmissionMethod};
use progress::Teller;
use windlass_base::{Failure, Span};
use windlass_drive::Error as Driven;
use windlass_measure::load::{self, Error, LoadOutcome, LoadReport, ProcessReport};
use windlass_output::Output;
use windlass_print::load::ProblemKind;

use crate::commands::send::unconnected;
use crate::commands::unwritten;

/// Runs the command.
pub(super) fn run(args: &LoadArgs, output: &mut Output) -> anyhow::Result<()> {
    let plan = args.measured()?;
    let earlier = args.earlier()?;
    // Printers stopped here must run again, so with them a second Ctrl-C waits until they do.
    let may_end = Arc::new(AtomicBool::new(false));
    let listening = if args.hold {
        args.measuring.live.listen_until(&may_end, &args.doing())?
    } else {
        args.measuring.live.listen(&args.doing())?
    };
    let mut teller = Teller::new(args, output, &listening, may_end);
    let port = plan.load.queues.first().map_or(0, |first| first.port);
    let done = load::run(&plan, &listening.stop, &mut teller);
    drop(teller);
    let done = done.map_err(|error| unloaded(args, port, error))?;
    let wrong = wrong(args, &done);
    let mut report = done.report;
    report.failure = wrong.as_ref().map(ToString::to_string);
    if let Some((file, text)) = &earlier {
        report.compare(file, text).map_err(|wrong| incomparable(file, &wrong))?;
    }
    output.print(&report).map_err(unwritten)?;
    wrong.map_or(Ok(()), |failure| Err(failure.into()))
}

impl LoadArgs {
    /// Returns the file and text of an earlier run's report for `--compare`. It is checked before
    /// the load begins.
    fn earlier(&self) -> Result<Option<(String, String)>, Failure> {
        let Some(path) = &self.compare else { return Ok(None) };
        let file = path.display().to_string();
        let text = fs::read_to_string(path).map_err(|wrong| incomparable(&file, &wrong))?;
        LoadReport::check(&text).map_err(|wrong| incomparable(&file, &wrong))?;
        Ok(Some((file, text)))
    }
}

fn incomparable(file: &str, wrong: &dyn std::fmt::Display) -> Failure {
    Failure::usage(format!("cannot compare with {file}"), wrong)
        .advise("Give the --json output of an earlier run.")
}

/// Returns the failure of a load that did not begin.
fn unloaded(args: &LoadArgs, port: u16, error: Error) -> Failure {
    let failure = Failure::new(args.doing(), &error);
    match error {
        Error::Attendant(failure) => failure,
        Error::Queue(_) => failure,
        Error::Resolve(_) => failure.advise("Check the name, or give an address."),
        Error::Reach(source) => {
            let refused = || {
                format!(
                    "No server accepts jobs on port {port} of this host. Start the spooler, or give \
                     its port as HOST:PORT."
                )
            };
            let driven = source.downcast_ref::<Driven>();
            match driven.and_then(|driven| unconnected(driven, port, refused)) {
                Some(advice) => failure.advise(advice),
                None => failure,
            }
        }
        Error::Folder { within, source } => {
            Failure::new(format!("cannot make a folder in {}", within.display()), source)
        }
        Error::Files(error) => Failure::new("cannot make the job files", error)
            .advise("A payload must be text, zeros, random, pdf, or an existing file or folder."),
        Error::Hold(error) => Failure::new(
            format!("cannot stop the printers of {}", args.target),
            error,
        )
        .advise(
            "Stop them with cupsdisable, or leave --hold out. For jobs by LPR, give the spooler's \
                 IPP address with --control.",
        ),
    }
}

/// Returns the failure of a load, if it failed.
fn wrong(args: &LoadArgs, done: &LoadOutcome) -> Option<Failure> {
    let LoadOutcome { report, unreleased } = done;
    if let Some(wrong) = unreleased {
        let left = report.hold.map_or(0, |hold| hold.left_stopped);
        let doing = format!("cannot start {left} printers again");
        return Some(
            Failure::new(doing, wrong)
                .advise("They are still stopped: start them with cupsenable."),
        );
    }
    let counts = report.counts;
    let doing = format!("cannot queue all jobs on {}", args.target);
    if report.interrupted {
        let wrong = format!(
            "the load was stopped before its end; {} of {} jobs were queued",
            counts.acknowledged, counts.asked
        );
        return Some(Failure::new(doing, wrong));
    }
    if report.absences.lasts {
        return Some(gone(report));
    }
    let worst = report.wrong.troubles.iter().max_by_key(|trouble| trouble.jobs);
    if counts.acknowledged < counts.asked {
        let missing = counts.asked - counts.acknowledged;
        let words = worst.map_or_else(String::new, |worst| format!(": {}", worst.words));
        let mut wrong = format!("{missing} of {} jobs were not queued{words}", counts.asked);
        if let Some(other) = undone(report) {
            wrong = format!("{wrong}; {other}");
        }
        let failure = Failure::new(doing, wrong);
        return Some(match worst.map(|worst| worst.kind) {
            Some(kind) => advised(failure, kind),
            None => failure,
        });
    }
    unprocessed(args, report)
}

/// Returns the failure of a load whose server is unreachable.
fn gone(report: &LoadReport) -> Failure {
    let since = report.absences.times.last().map_or(Span::ZERO, |last| last.from_seconds);
    let counts = report.counts;
    let mut wrong = format!(
        "the server accepted no connections from {since} on, and did not come back within {}; {} \
         of {} jobs were acknowledged by then",
        report.asked.patience_seconds, counts.acknowledged, counts.asked
    );
    if let Some(outcomes) = &report.outcomes {
        let became = &outcomes.outcomes;
        wrong.push_str(&format!(
            ", of which {} were completed; the outcome of {} is unknown",
            became.completed, became.unknown
        ));
    }
    Failure::new(format!("cannot continue with {}", report.target.given), wrong)
        .advise("Find out why the server ended, and start it. Use --patience to wait longer.")
}

/// Returns the counts of acknowledged jobs that were not completed, if there are any.
fn undone(report: &LoadReport) -> Option<String> {
    let became = &report.outcomes.as_ref()?.outcomes;
    let counts = [
        (became.aborted, "aborted"),
        (became.canceled, "canceled"),
        (became.missing, "not found after the server was away"),
        (became.lost_sight(), "no longer known to the server"),
    ];
    let parts: Vec<String> = counts
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    (!parts.is_empty())
        .then(|| format!("of {} acknowledged, {}", became.acknowledged(), parts.join(", ")))
}

/// Returns the failure of a load whose jobs were queued, but not completed.
fn unprocessed(args: &LoadArgs, report: &LoadReport) -> Option<Failure> {
    if let Some(process) = report.process.as_ref().filter(|process| !process.complete) {
        return Some(unfinished(args, report, process));
    }
    let wrong = undone(report)?;
    let became = &report.outcomes.as_ref()?.outcomes;
    let message = became.reasons.iter().find_map(|reason| reason.message.as_deref());
    let words = message.map_or_else(String::new, |message| format!(": {message}"));
    let failure = Failure::new(
        format!("not all jobs were printed by {}", args.target),
        format!("{wrong}{words}"),
    );
    Some(failure.advise(if became.missing > 0 {
        "The server acknowledges jobs before they are on its disk, and loses them when it is killed. \
         cupsd writes its job files some seconds later (DirtyCleanInterval). windlass spool serve \
         keeps them, with --durability cache or fsync."
    } else if became.aborted > 0 {
        "Check the printers' devices and filters, and the spooler's log."
    } else if became.canceled > 0 {
        "A user or a rule of the spooler canceled them: check the spooler's log."
    } else {
        "The spooler keeps no history of jobs, or a short one. In cupsd.conf, set PreserveJobHistory \
         Yes and raise MaxJobs. If windlass follows jobs by events, raise MaxEvents."
    }))
}

/// Returns the failure of a load whose jobs still wait.
fn unfinished(args: &LoadArgs, report: &LoadReport, process: &ProcessReport) -> Failure {
    let doing = format!("cannot wait for the jobs on {}", args.target);
    let Some(left) = process.left else {
        let wrong = format!("the server did not answer for {}", args.patience);
        return Failure::new(doing, wrong).advise("Use --patience to wait longer.");
    };
    let mut wrong = format!(
        "{left} of {} jobs still wait, and none was processed for {}",
        report.counts.asked, args.patience
    );
    let advice = match process.stopped_printers {
        Some(stopped) if stopped > 0 => {
            let are = if stopped == 1 { "is" } else { "are" };
            let queues = report.target.queues;
            wrong.push_str(&format!("; {stopped} of {queues} printers {are} stopped"));
            "Start the printers with cupsenable. --hold starts only printers that it stopped itself."
        }
        _ => "Check the printers' devices. Use --patience to wait longer.",
    };
    if let Some(other) = undone(report) {
        wrong = format!("{wrong}; {other}");
    }
    Failure::new(doing, wrong).advise(advice)
}

/// Returns the failure with advice about jobs that were not queued.
fn advised(failure: Failure, kind: ProblemKind) -> Failure {
    let advice = match kind {
        ProblemKind::SpoolFull => {
            "The server's spool is full, or a job exceeds its size limit. Use --retry-full 60s to \
             retry until there is room."
        }
        ProblemKind::TooManyJobs => {
            "The server has its maximum number of jobs. Raise MaxJobs of CUPS (0 means no limit), or \
             retry with --retry-full 60s."
        }
        ProblemKind::NotAccepting => "The queue rejects jobs: change that with cupsaccept.",
        ProblemKind::NotFound => "Check the names of the queues: CUPS has them at /printers/NAME.",
        ProblemKind::NotAllowed => "Allow this host and user to print, in the spooler's settings.",
        ProblemKind::Busy => {
            "The printer is busy with another job. Use --retry-full 60s to retry until it is idle."
        }
        ProblemKind::Refused => "See the reason in the server's words above.",
        ProblemKind::NoConnection => {
            "Check that the spooler runs, and check its limit of connections."
        }
        ProblemKind::Closed | ProblemKind::Protocol => "Check the protocol, and the spooler's log.",
        ProblemKind::Silent => "Use --patience to wait longer.",
        ProblemKind::Stopped | ProblemKind::Here => return failure,
    };
    failure.advise(advice)
}
