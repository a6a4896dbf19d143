//! `windlass print`: a job to a printer, and its limit.

mod args;
mod teller;

use std::io;
use std::sync::Arc;

pub use args::PrintArgs;
pub(super) use args::{PAYLOADS, host_name, user_name, whole_host_name};
use teller::Teller;
use windlass_base::Failure;
use windlass_drive::Error as Driven;
use windlass_drive::client::resolve;
use windlass_lab::what_if;
use windlass_measure::job::{self, JobOutcome, Plan};
use windlass_output::Output;
use windlass_output::records::print::PrintJobReport;
use windlass_print::{Answer, Error, Job, JobEnd, Protocol};
use windlass_wire::ipp::JobState;
use windlass_wire::lpr::Ack;

use super::send::unconnected;
use super::watched::WatchedRecord;
use super::{login, unwritten};

/// Runs the command.
pub fn run(args: &PrintArgs, output: &mut Output) -> anyhow::Result<()> {
    let job = args.job()?;
    let document = args.document(job.target.protocol)?;
    let listening = args.measuring.live.listen(&args.doing())?;
    let addresses = resolve(&job.target.host, job.target.port)
        .map_err(|error| failed_to_dial(args, &job, &error))?;
    let access = Arc::new(args.login.access(&job.user)?);
    let plan = Plan {
        doing: args.doing(),
        job,
        access: Arc::clone(&access),
        addresses,
        from: args.from(),
        send_buffer: args.send_buffer.clone(),
        congestion: args.congestion.clone(),
        mss: args.mss,
        reserved_port: args.reserved_port,
        reset: args.reset,
        capturing: args.capturing(),
        reported: |connection, drops| what_if::report(connection, |end| end.to_string(), drops),
        interval: args.interval,
    };
    let mut teller = Teller::new(args, output, &listening);
    let JobOutcome { report, error, uncaptured } =
        job::run(&plan, document, &listening.stop, &mut teller)?;
    let running = teller.end().map_err(unwritten)?;
    login::tell(&access);
    let answer = report.as_ref().and_then(|report| report.answer.as_ref());
    let problem = error
        .map(|error| failed(args, &plan.job, &error))
        .or_else(|| answer.and_then(|answer| unfinished(args, answer)))
        .or(uncaptured);
    // A job without sent data has no report.
    if let Some((report, running)) = report.zip(running) {
        let printed = PrintJobReport { report, explained: args.explain };
        output.print(&WatchedRecord::new(printed, running)).map_err(unwritten)?;
    }
    problem.map_or(Ok(()), |failure| Err(failure.into()))
}

/// Returns the failure of a job that arrived but did not complete.
fn unfinished(args: &PrintArgs, answer: &Answer) -> Option<Failure> {
    let Answer::Ipp(ipp) = answer else { return None };
    let doing = format!("cannot finish the job on {}", args.host);
    let Some(JobEnd { state, reasons, is_late, .. }) = &ipp.end else {
        return args
            .wait
            .then(|| Failure::new(doing, "windlass was stopped while it waited for the job"));
    };
    let reasons = match reasons.is_empty() {
        true => String::new(),
        false => format!(" ({})", reasons.join(", ")),
    };
    match state {
        Some(state @ (JobState::Aborted | JobState::Canceled)) => {
            Some(Failure::new(doing, format!("it was {}{reasons}", state.id())))
        }
        Some(state) if *is_late => {
            let wrong = format!("it is still {}{reasons}", state.id());
            Some(Failure::new(doing, wrong).advise("Wait for longer with --wait-limit."))
        }
        _ => None,
    }
}

/// Advice for a path that the server does not have.
const PATHS: &str = "Check the path: CUPS has its queues at /printers/NAME (--queue NAME); most \
                     printers use /ipp/print.";

/// Returns a sender's error with advice.
fn failed(args: &PrintArgs, job: &Job, error: &Error) -> Failure {
    if let Error::Dial(source) = error {
        return match source.downcast_ref::<Driven>() {
            Some(driven) => failed_to_dial(args, job, driven),
            None => Failure::new(args.doing(), source),
        };
    }
    let failure = Failure::new(args.doing(), error);
    let advice = match error {
        Error::Lpr { ack: Ack::Later, .. } => {
            "The server's spool may be full. Try again later.".to_owned()
        }
        Error::Lpr { step: "the queue", .. } => format!(
            "Check the name of the queue ({:?}), and that the server accepts jobs from this host. \
             For a server that wants a source port of 721 to 731, use --reserved-port.",
            job.target.queue
        ),
        Error::Ipp { status, .. } => match status.0 {
            0x0406 => PATHS.to_owned(),
            0x0408 | 0x050b => "The server's spool is full, or has its maximum number of jobs. \
                                Try again later."
                .to_owned(),
            0x040a => "Give another --format: the printer lists its formats in \
                       document-format-supported."
                .to_owned(),
            0x040f => "Leave --compression out.".to_owned(),
            0x0501 if args.create_job => "Leave --create-job out.".to_owned(),
            0x0503 => "Give --ipp-version 1.1.".to_owned(),
            0x0506 => "The queue does not accept jobs. An administrator can change that with \
                       cupsaccept."
                .to_owned(),
            0x0507 => "The printer is busy with another job. Try again later.".to_owned(),
            _ => return failure,
        },
        Error::Http { status, text, .. } => match status {
            401 => login::ADVICE.to_owned(),
            404 => PATHS.to_owned(),
            413 => {
                "Free some space on the server, or raise its limits (LimitRequestBody and MaxJobs \
                    of CUPS)."
                    .to_owned()
            }
            426 => "Write ipps:// instead of ipp://.".to_owned(),
            _ if text.is_empty() => return failure,
            _ => format!("The server's page says: {text}"),
        },
        Error::Silent { window_closed: true, .. } => {
            "The printer may be out of paper, offline or stopped. Use --patience to wait longer."
                .to_owned()
        }
        Error::Silent { .. } => {
            format!(
                "Check the path, and that the server speaks {}. Use --patience to wait longer.",
                job.target.protocol
            )
        }
        Error::Gone { .. } | Error::Protocol(_) => {
            format!(
                "Check that the server speaks {} on port {}.",
                job.target.protocol, job.target.port
            )
        }
        Error::Lost { .. } => {
            "Check that the printer is on, and check the network to it.".to_owned()
        }
        Error::Document(_)
        | Error::Asked(_)
        | Error::Io { .. }
        | Error::Stopped
        | Error::Dial(_)
        | Error::Lpr { .. } => {
            return failure;
        }
    };
    failure.advise(advice)
}

/// Returns a connection's error with advice.
fn failed_to_dial(args: &PrintArgs, job: &Job, error: &Driven) -> Failure {
    let port = job.target.port;
    let failure = Failure::new(args.doing(), error);
    let refused = || {
        let others = Protocol::ALL.into_iter().filter(|one| *one != job.target.protocol);
        let others: Vec<String> = others.map(|one| format!("{one} ({})", one.port())).collect();
        format!("No server accepts jobs on port {port} of this host. Try {}.", others.join(" or "))
    };
    if let Some(advice) = unconnected(error, port, refused) {
        return failure.advise(advice);
    }
    match error {
        Driven::Option { option: "the source port", source, .. } => match source.kind() {
            io::ErrorKind::PermissionDenied => failure.advise(
                "Ports below 1024 need CAP_NET_BIND_SERVICE: run windlass as root, or once run: sudo \
                 setcap cap_net_bind_service=ep \"$(command -v windlass)\". Most servers accept any \
                 source port.",
            ),
            _ => failure
                .advise("Ports 721 to 731 are all in use. Each is free again a minute after its job."),
        },
        Driven::Option { option, .. } if option.contains("congestion") => {
            failure.advise("See /proc/sys/net/ipv4/tcp_available_congestion_control.")
        }
        _ => failure,
    }
}
