//! `windlass capture`: packets from an interface, with every loss counted.

mod args;
pub mod compare;
mod listing;
mod live;
mod report;
pub mod tcpdump;
mod text;

use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

pub use args::{CaptureCommand, CompareArgs};
use windlass_base::{Bytes, Failure, Rate, Span};
use windlass_capture::live::{
    CaptureResult, Count, EndReason, FileFormat, FinishedWork, KernelDrops, Outcome, Plan, Session,
};
use windlass_host::RunContext;
use windlass_lab::what_if;
use windlass_output::{Output, Progress, figures};

use self::report::{CaptureReport, Connections, Interval, OpenedCapture, per, seconds};
use super::watched::WatchedRecord;
use super::{moving, unwritten};

/// Runs the command.
pub fn run(args: &CaptureCommand, output: &mut Output) -> anyhow::Result<()> {
    if args.comparison.compare {
        return compare::run(&args.comparison, args.time, output);
    }
    if args.list_interfaces {
        return listing::run(args, output);
    }
    let plan = args.plan()?;
    let again = Arc::new(AtomicBool::new(false));
    let listening = args.measuring.live.listen_until(&again, &plan.doing())?;
    // Packets or a capture have standard output to themselves.
    let to_stdout =
        args.prints_packets() || args.write.as_ref().is_some_and(|path| path.as_os_str() == "-");
    let mut stderr = output.on_stderr();
    let output = if to_stdout { &mut stderr } else { output };
    let mut session = Session::open(&plan)?;
    if args.prints_packets() {
        let own = io::stdout().as_fd().try_clone_to_owned().map_err(unwritten)?;
        session = session.printing(File::from(own));
    }
    if !args.measuring.live.live {
        announce(&session, &plan);
    }
    let opened = OpenedCapture::of(&session, &plan);
    let running = args.measuring.watching.start(output.wants_intervals())?;
    let view = || {
        let title = format!("windlass capture {}", plan.interfaces.join(", "));
        moving::view(title, args.told_interval())
    };
    let shown = listening.show(output, view)?;
    let mut teller = live::Teller::new(args, output, shown);
    let mut done = session.run(&listening.stop, &again, |count, look| teller.tick(count, look))?;
    let (intervals, system_share, untold) = teller.finish(&done.count);
    let worked = done.outcome.as_mut().and_then(finish_files);
    let meanwhile = running.end();
    if let Some(error) = untold {
        return Err(unwritten(error));
    }
    let format = plan.writing.map(|writing| writing.format);
    let facts = Facts { opened, format, intervals, system_share, meanwhile, worked };
    conclude(facts, done, output)
}

/// Facts of a capture apart from its packets.
struct Facts {
    opened: OpenedCapture,
    format: Option<FileFormat>,
    intervals: Vec<Interval>,
    system_share: f64,
    meanwhile: RunContext,
    worked: Option<FinishedWork>,
}

/// Update interval of the line on the files.
const CHANGE: Duration = Duration::from_millis(500);

/// Waits for the work on finished files.
fn finish_files(outcome: &mut Outcome) -> Option<FinishedWork> {
    let mut progress = Progress::new(CHANGE, CHANGE);
    outcome.wait(|left| {
        let files = figures::counted(left as u64, "file").plain();
        progress.tell(|| format!("finishing {files}; Ctrl-C leaves the rest as it is"));
    })
}

/// Prints a line on the start of the capture.
fn announce(session: &Session, plan: &Plan) {
    let mut stderr = io::stderr();
    if !stderr.is_terminal() {
        return;
    }
    let into = match &plan.writing {
        Some(writing) if writing.path.as_os_str() == "-" => " to standard output".to_owned(),
        Some(writing) => format!(" into {}", writing.path.display()),
        None => String::new(),
    };
    let filter = session.filter.as_ref().map(|filter| format!(" only {filter}"));
    let buffer = figures::size(session.buffer).plain();
    // If standard error is closed, the message has no reader.
    let _ = writeln!(
        stderr,
        "Capturing{} on {}{into}, with a buffer of {buffer}. Ctrl-C ends it.",
        filter.unwrap_or_default(),
        plan.interfaces.join(", ")
    );
}

/// Prints the counts, and returns the first failure.
fn conclude(facts: Facts, done: CaptureResult, output: &mut Output) -> anyhow::Result<()> {
    // A closed pipe is no error: `| head` has read enough.
    let has_left = done.ended_by == EndReason::ReaderGone;
    let unprinted = done.unprinted.filter(|_| !has_left).map(unwritten);
    let Count { tally, kernel, cpu, .. } = done.count;
    let (written, lost) = match &done.outcome {
        Some(outcome) => (outcome.written, outcome.lost),
        None => (tally.taken, 0),
    };
    let span = done.lasted.as_seconds().max(1e-9);
    let accounted = written + kernel.dropped + lost + tally.after;
    let explained = done.analysis.map(|analysis| {
        let (analysis, passed_over, not_tcp_kinds) = analysis.finish();
        let (connections, totals) = analysis.analyzer.finish();
        let connections: Vec<_> = connections
            .iter()
            .map(|connection| {
                let (from, to) = connection.lived();
                let drops = KernelDrops::between(&done.dropping, from, to);
                what_if::report(connection, |end| end.to_string(), Some(drops))
            })
            .collect();
        Connections {
            left_out: totals.connections_with_data.saturating_sub(connections.len() as u64),
            totals,
            passed_over,
            not_tcp_kinds,
            connections,
        }
    });
    let failed = done.outcome.as_ref().and_then(|outcome| {
        let error = outcome.failed.as_ref().filter(|_| !has_left)?;
        let name = outcome.files.last().map_or("the file", |file| file.file.as_str());
        Some(
            Failure::new(
                format!("cannot go on writing {name}"),
                format!(
                    "{error}; {} packets are in the file, and {} were lost",
                    figures::count(written),
                    figures::count(lost)
                ),
            )
            .advise(match error.kind() {
                io::ErrorKind::TimedOut => "The last packet in the pipe may be cut short.",
                _ => "Free some space or write elsewhere. The file is whole up to its last packet.",
            }),
        )
    });
    let unfinished = facts.worked.as_ref().and_then(unfinished);
    let mut opened = facts.opened;
    opened.take_counts(&done.each, &done.gone);
    let names: Vec<&str> = opened.gone().collect();
    let gone = (!names.is_empty()).then(|| {
        Failure::new(
            format!("cannot go on capturing on {}", names.join(", ")),
            "the interface no longer exists",
        )
    });
    let (files, files_there, files_removed) = done
        .outcome
        .map(|outcome| (outcome.files, outcome.there, outcome.removed))
        .unwrap_or_default();
    let record = CaptureReport {
        schema: CaptureReport::SCHEMA,
        opened,
        ended_by: done.ended_by,
        seconds: done.lasted,
        received: kernel.received,
        written,
        kernel_drops: kernel.dropped,
        write_losses: lost,
        after_count: tally.after,
        unaccounted: kernel.received.cast_signed() - accounted.cast_signed(),
        ring_freezes: kernel.freezes,
        bytes: Bytes::new(tally.bytes),
        bytes_per_second: Rate::from_bytes_per_second(tally.bytes as f64 / span),
        packets_per_second: (tally.taken + tally.after) as f64 / span,
        buffers: tally.batches,
        packets_per_buffer: per(tally.taken + tally.after, tally.batches),
        cpu_seconds: seconds(cpu),
        cpu_share: seconds(cpu) / span,
        system_cpu_share: facts.system_share,
        format: facts.format,
        files,
        files_there,
        files_removed,
        afterwards: facts.worked,
        drops: done.dropping,
        gaps: done.gaps,
        intervals: facts.intervals,
        explained,
    };
    let record = WatchedRecord { record, meanwhile: facts.meanwhile };
    output.print(&record).map_err(unwritten)?;
    if let Some(error) = unprinted {
        return Err(error);
    }
    failed.or(gone).or(unfinished).map_or(Ok(()), |failure| Err(failure.into()))
}

/// Returns the failure of unfinished files.
fn unfinished(worked: &FinishedWork) -> Option<Failure> {
    let (doing, wrong) = match (worked.failures.first(), worked.left_out) {
        (Some(failed), _) => (format!("cannot finish {}", failed.file), failed.wrong.clone()),
        (None, 0) => return None,
        (None, left) => {
            let wrong = format!("{} came faster than they could be finished", figures::count(left));
            ("cannot finish all files".to_owned(), wrong)
        }
    };
    let failure = Failure::new(doing, wrong);
    Some(failure.advise("The capture is complete: finish the files by hand."))
}

/// Minimum length of the last interval.
pub(super) const SHORTEST: Span = Span::from_millis(100);
