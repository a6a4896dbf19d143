//! `windlass spool load`: jobs on a spooler by the thousand.

mod args;
mod plan;
mod progress;

use std::fs;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

pub use args::{LoadArgs, Spoken};
use progress::Teller;
use windlass_base::{Failure, Span};
use windlass_drive::Error as Driven;
use windlass_measure::load::{self, Error, LoadOutcome, LoadReport, ProcessReport};
use windlass_output::Output;
use windlass_print::load::Kind;

use crate::commands::send::unconnected;
use crate::commands::unwritten;

/// Runs the command.
pub(super) fn run(args: &LoadArgs, output: &mut Output) -> anyhow::Result<()> {
    let plan = args.measured()?;
    let earlier = args.earlier()?;
    // Printers that are stopped here are to run again, so with them a second Ctrl-C
    // waits until they do.
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
    /// The report of an earlier run, where one is to be compared with: its file, and what
    /// is in it. It is looked at before anything is loaded.
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
        .advise("Give what an earlier run printed with --json.")
}

/// Why nothing was loaded, for people.
fn unloaded(args: &LoadArgs, port: u16, error: Error) -> Failure {
    let failure = Failure::new(args.doing(), &error);
    match error {
        Error::Attendant(failure) => failure,
        Error::Queue(_) => failure,
        Error::Resolve(_) => failure.advise("Check the name, or give an address."),
        Error::Reach(source) => {
            let refused = || {
                format!(
                    "Nothing takes jobs on port {port} there. Start the spooler, or give its port \
                     as HOST:PORT."
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
            .advise("A payload is text, zeros, random, pdf, or a file or a folder that is there."),
        Error::Hold(error) => {
            Failure::new(format!("cannot stop the printers of {}", args.target), error).advise(
                "Stop them by cupsdisable, or leave --hold out. Where jobs go by LPR, --control \
                 says where the spooler speaks IPP.",
            )
        }
    }
}

/// What went wrong, for people.
fn wrong(args: &LoadArgs, done: &LoadOutcome) -> Option<Failure> {
    let LoadOutcome { report, unreleased } = done;
    if let Some(wrong) = unreleased {
        let left = report.hold.map_or(0, |hold| hold.left_stopped);
        let doing = format!("cannot start {left} printers again");
        return Some(
            Failure::new(doing, wrong).advise("They are stopped still: start them by cupsenable."),
        );
    }
    let counts = report.counts;
    let doing = format!("cannot queue all jobs on {}", args.target);
    if report.interrupted {
        let wrong = format!(
            "it was stopped before its end; {} of {} were queued",
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
        let mut wrong = format!("{missing} of {} were not{words}", counts.asked);
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

/// The server is away.
fn gone(report: &LoadReport) -> Failure {
    let since = report.absences.times.last().map_or(Span::ZERO, |last| last.from_seconds);
    let counts = report.counts;
    let mut wrong = format!(
        "it took no connections from {since} on, and did not come back within {}; {} of {} jobs \
         were acknowledged by then",
        report.asked.patience_seconds, counts.acknowledged, counts.asked
    );
    if let Some(outcomes) = &report.outcomes {
        let became = &outcomes.outcomes;
        wrong.push_str(&format!(
            ", of which {} were completed; what became of {} is not known",
            became.completed, became.unknown
        ));
    }
    Failure::new(format!("cannot go on with {}", report.target.given), wrong)
        .advise("Look why the server ended, and start it. --patience waits for longer.")
}

/// What became of acknowledged jobs that were not done; nothing where all were.
fn undone(report: &LoadReport) -> Option<String> {
    let became = &report.outcomes.as_ref()?.outcomes;
    let counts = [
        (became.aborted, "aborted"),
        (became.canceled, "canceled"),
        (became.missing, "not found after the server was away"),
        (became.lost_sight(), "not known to the server any more"),
    ];
    let parts: Vec<String> = counts
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what}"))
        .collect();
    (!parts.is_empty())
        .then(|| format!("of {} acknowledged, {}", became.acknowledged(), parts.join(", ")))
}

/// Jobs that were queued, and not done.
fn unprocessed(args: &LoadArgs, report: &LoadReport) -> Option<Failure> {
    if let Some(process) = report.process.as_ref().filter(|process| !process.complete) {
        return Some(unfinished(args, report, process));
    }
    let wrong = undone(report)?;
    let became = &report.outcomes.as_ref()?.outcomes;
    let message = became.reasons.iter().find_map(|reason| reason.message.as_deref());
    let words = message.map_or_else(String::new, |message| format!(": {message}"));
    let failure = Failure::new(
        format!("cannot have all jobs printed by {}", args.target),
        format!("{wrong}{words}"),
    );
    Some(failure.advise(if became.missing > 0 {
        "The server acknowledges jobs before they are safe on its disk, and loses them where it \
         ends by force. cupsd writes what it knows of jobs some seconds later \
         (DirtyCleanInterval); windlass spool serve --durability cache or fsync does not lose them."
    } else if became.aborted > 0 {
        "Look at the printers' devices and filters, and into the spooler's log."
    } else if became.canceled > 0 {
        "Somebody canceled them, or the spooler did by its own rules: its log has who."
    } else {
        "The spooler keeps no history of jobs, or forgets them soon: PreserveJobHistory Yes and a \
         higher MaxJobs of CUPS let it tell. MaxEvents, where events tell of jobs."
    }))
}

/// Jobs that wait still.
fn unfinished(args: &LoadArgs, report: &LoadReport, process: &ProcessReport) -> Failure {
    let doing = format!("cannot wait for the jobs on {}", args.target);
    let Some(left) = process.left else {
        let wrong = format!("the server did not answer for {}", args.patience);
        return Failure::new(doing, wrong).advise("--patience waits for longer.");
    };
    let mut wrong = format!(
        "{left} of {} jobs wait still, and none was processed for {}",
        report.counts.asked, args.patience
    );
    let advice = match process.stopped_printers {
        Some(stopped) if stopped > 0 => {
            let are = if stopped == 1 { "is" } else { "are" };
            let queues = report.target.queues;
            wrong.push_str(&format!("; {stopped} of {queues} printers {are} stopped"));
            "cupsenable starts printers. --hold starts those that it stopped itself."
        }
        _ => "Look what the printers wait for. --patience waits for longer.",
    };
    if let Some(other) = undone(report) {
        wrong = format!("{wrong}; {other}");
    }
    Failure::new(doing, wrong).advise(advice)
}

/// What to do about jobs that were not queued.
fn advised(failure: Failure, kind: Kind) -> Failure {
    let advice = match kind {
        Kind::SpoolFull => {
            "Its spool is full, or a job larger than it takes. --retry-full 60s tries jobs again \
             until there is room."
        }
        Kind::TooManyJobs => {
            "It has as many jobs as it may: raise MaxJobs of CUPS (0 is no limit), or wait with \
             --retry-full 60s."
        }
        Kind::NotAccepting => "The queue takes no jobs: cupsaccept lets it.",
        Kind::NotFound => "Check the names of the queues: CUPS has them at /printers/NAME.",
        Kind::NotAllowed => "Let the spooler take jobs from this host and user.",
        Kind::Busy => "It does another job. --retry-full 60s tries again until it is ready.",
        Kind::Refused => "Its own words tell why.",
        Kind::NoConnection => "Check that the spooler runs, and how many connections it takes.",
        Kind::Closed | Kind::Protocol => "Look into the spooler's log, and check the protocol.",
        Kind::Silent => "--patience waits for longer.",
        Kind::Stopped | Kind::Here => return failure,
    };
    failure.advise(advice)
}
