//! `windlass spool load`: jobs on a spooler by the thousand.

mod args;
mod plan;
mod progress;
mod text;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

pub use args::{LoadArgs, Spoken};
use progress::Teller;
use signal_hook::consts::SIGHUP;
use signal_hook::flag;
use windlass_base::Failure;
use windlass_drive::Error as Driven;
use windlass_measure::load::{self, Done, Error};
use windlass_print::load::Kind;

use crate::commands::send::unconnected;
use crate::commands::unwritten;
use crate::interrupt;
use crate::print::{Format, Output};

/// Runs the command.
pub(super) fn run(args: &LoadArgs, output: &mut Output) -> anyhow::Result<()> {
    let plan = args.measured()?;
    // Printers that are stopped here are to run again, so with them a second Ctrl-C
    // waits until they do.
    let may_end = Arc::new(AtomicBool::new(false));
    let stop = if args.hold {
        let stop = interrupt::listen_until(&may_end, args.doing())?;
        // Nor may the end of a terminal leave them stopped.
        flag::register(SIGHUP, Arc::clone(&stop))
            .map_err(|error| Failure::new(args.doing(), error))?;
        stop
    } else {
        interrupt::listen(args.doing())?
    };
    let mut teller = Teller::new(args, output.format() == Format::Json, may_end);
    let port = plan.load.queues.first().map_or(0, |first| first.port);
    let done = load::run(&plan, &stop, &mut teller).map_err(|error| unloaded(args, port, error))?;
    let wrong = wrong(args, &done);
    let mut report = done.report;
    report.failure = wrong.as_ref().map(ToString::to_string);
    output.print(&report).map_err(unwritten)?;
    wrong.map_or(Ok(()), |failure| Err(failure.into()))
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
fn wrong(args: &LoadArgs, done: &Done) -> Option<Failure> {
    let Done { report, unreleased } = done;
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
    let worst = report.wrong.troubles.iter().max_by_key(|trouble| trouble.jobs);
    if counts.acknowledged < counts.asked {
        let missing = counts.asked - counts.acknowledged;
        let words = worst.map_or_else(String::new, |worst| format!(": {}", worst.words));
        let failure = Failure::new(doing, format!("{missing} of {} were not{words}", counts.asked));
        return Some(match worst.map(|worst| worst.kind) {
            Some(kind) => advised(failure, kind),
            None => failure,
        });
    }
    let left = report.process.as_ref().filter(|process| !process.complete)?;
    let mut wrong = format!(
        "{} of {} jobs wait still, and none was processed for {}",
        left.left, counts.asked, args.patience
    );
    let advice = match left.stopped_printers {
        Some(stopped) if stopped > 0 => {
            let are = if stopped == 1 { "is" } else { "are" };
            let queues = report.target.queues;
            wrong.push_str(&format!("; {stopped} of {queues} printers {are} stopped"));
            "cupsenable starts printers. --hold starts those that it stopped itself."
        }
        _ => "Look what the printers wait for. --patience waits for longer.",
    };
    let doing = format!("cannot wait for the jobs on {}", args.target);
    Some(Failure::new(doing, wrong).advise(advice))
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
