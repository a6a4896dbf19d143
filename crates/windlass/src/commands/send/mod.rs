//! `windlass send`: a transfer to a host, and what holds it back.

mod args;
mod live;
mod report;

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::atomic::Ordering;

use windlass_drive::client::{self, Test};
use windlass_drive::control::Token;
use windlass_drive::report::Interval;
use windlass_drive::side::Ends;
use windlass_drive::{Error, Source};

use super::unwritten;
use crate::failure::Failure;
use crate::interrupt;
use crate::print::{Format, Output};
pub use args::SendArgs;
use live::Live;
pub use report::Report;

/// The longest file that is taken for a token, in bytes.
const LONGEST_TOKEN: u64 = 4_096;

/// Runs the command.
///
/// # Errors
/// Where the test cannot be made or does not end as it should, or where the
/// report cannot be written.
pub fn run(args: &SendArgs, output: &mut Output) -> anyhow::Result<()> {
    let transfer = args.transfer()?;
    let token = args.token_file.as_deref().map(token).transpose()?;
    let source = args.file.as_deref().map(source).transpose()?;
    let failed = |error: Error| failure(&args.host, args.port, error);
    let stop = interrupt::listen()
        .map_err(|error| Failure::new(format!("cannot send to {}", args.host), error))?;
    let to = client::reach(&args.host, args.port).map_err(failed)?;
    let test = Test { to, token: token.as_ref(), transfer: &transfer, latency: !args.no_latency };
    let (mut live, mut intervals) = (Live::new(&transfer), Vec::<Interval>::new());
    let is_text = output.format() == Format::Text;
    let mut unwritable = None;
    let mut tell = |interval: &Interval| {
        intervals.push(*interval);
        if let Some(line) = live.line(interval).filter(|_| is_text && unwritable.is_none()) {
            // What is measured goes on where nobody reads it.
            let written = output.print_line(&line).and_then(|()| output.flush());
            unwritable = written.err();
        }
    };
    let stopped = || stop.load(Ordering::Relaxed);
    let ends = Ends { source, sink: None };
    let outcome = client::run(&test, ends, &stopped, &mut tell).map_err(failed)?;
    let (broken, interrupted) = (outcome.failure.is_some(), outcome.stopped);
    let report = Report::new(&args.host, to.to_string(), transfer, &outcome, intervals);
    if let Some(error) = unwritable {
        return Err(unwritten(error));
    }
    output.print(&report).map_err(unwritten)?;
    let doing = format!("cannot finish the test to {}", args.host);
    match outcome.failure {
        Some(error) if broken => Err(failure(&args.host, args.port, error).doing(doing).into()),
        _ if interrupted => Err(Failure::new(doing, "it was stopped before its end").into()),
        _ => Ok(()),
    }
}

/// Reads a token.
pub(super) fn token(path: &Path) -> Result<Token, Failure> {
    let doing = format!("cannot read the token in {}", path.display());
    let advice = "Write the token into a file of your own: one line of text.";
    let mut text = String::new();
    let file = File::open(path);
    file.and_then(|file| file.take(LONGEST_TOKEN).read_to_string(&mut text))
        .map_err(|error| Failure::new(&doing, error).advise(advice))?;
    Token::new(&text).ok_or_else(|| Failure::new(doing, "it is empty").advise(advice))
}

fn source(path: &Path) -> Result<Source, Failure> {
    if path.as_os_str() == "-" {
        return Ok(Source::reader(io::stdin()));
    }
    let open = File::open(path).and_then(|file| match file.metadata()?.is_dir() {
        true => Err(io::ErrorKind::IsADirectory.into()),
        false => Ok(file),
    });
    let file = open.map_err(|error| {
        Failure::new(format!("cannot read {}", path.display()), error)
            .advise("Give a file, or - for standard input.")
    })?;
    Ok(Source::reader(file))
}

/// An error of a test, for people.
pub(super) fn failure(host: &str, port: u16, error: Error) -> Failure {
    let doing = format!("cannot send to {host}");
    let advice = match &error {
        Error::Resolve { .. } => "Check the name, or give an address.".to_owned(),
        Error::Connect { source, .. } if source.kind() == io::ErrorKind::ConnectionRefused => {
            format!("Start windlass serve there, or give its --port; {port} was tried.")
        }
        Error::Connect { .. } => {
            format!("Check that the host is reachable and that nothing blocks port {port}.")
        }
        Error::TokenNeeded => "Give the server's token with --token-file.".to_owned(),
        Error::Option { option, .. } if option.contains("congestion") => {
            "See /proc/sys/net/ipv4/tcp_available_congestion_control on that end.".to_owned()
        }
        Error::Protocol(_) | Error::Gone { .. } | Error::Silent { .. } => {
            format!("Check that it is windlass serve that listens on port {port}.")
        }
        _ => return Failure::new(doing, error),
    };
    Failure::new(doing, error).advise(advice)
}
