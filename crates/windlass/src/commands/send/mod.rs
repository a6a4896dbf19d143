//! `windlass send`: a transfer to a host, and its limit.

mod args;
mod flent;
mod iperf3_json;
mod search;
mod stream;

use std::fs::File;
use std::io::{self, Read};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

pub use args::SendArgs;
use windlass_base::Failure;
use windlass_drive::client::{self, Test};
use windlass_drive::control::Token;
use windlass_drive::report::{Interval, Outcome};
use windlass_drive::side::ThreadSettings;
use windlass_drive::socket::Options;
use windlass_drive::transfer::Transfer;
use windlass_drive::{Error, Protocol, Source, datagrams as ttcp, iperf, iperf3, plain};
use windlass_output::records::send::{LineFormatter, SendReport, TransferView};
use windlass_output::{Format, Output};

use self::stream::{Event, Line};
use super::unwritten;
use super::watched::WatchedRecord;
use crate::live::StopSignals;

/// The longest file that is taken for a token, in bytes.
const LONGEST_TOKEN: u64 = 4_096;

/// Maximum time until a server is ready for the next test: iperf3 and ttcp servers serve one
/// client at a time.
const RECOVERY: Duration = Duration::from_secs(3);

/// Pause between two attempts to connect.
const PAUSE: Duration = Duration::from_millis(50);

/// Runs the command.
pub fn run(args: &SendArgs, output: &mut Output) -> anyhow::Result<()> {
    let args = &args.reached()?;
    let transfer = args.transfer()?;
    let token = args.token_file.as_deref().map(token).transpose()?;
    let mut source = args.file.as_deref().map(source).transpose()?;
    let listening = args.measuring.live.listen(&format!("cannot send to {}", args.host))?;
    let stopped = || listening.stop.load(Ordering::Relaxed);
    if args.find_rate {
        return search::run(args, &transfer, token.as_ref(), &stopped, output);
    }
    let mut is_first = true;
    loop {
        let ends = ThreadSettings { source: source.take(), ..ThreadSettings::default() };
        let patience = if is_first { Duration::ZERO } else { RECOVERY };
        let ended = once(args, &transfer, token.as_ref(), ends, patience, &listening, output);
        is_first = false;
        // Ctrl-C is how tests without an end do end.
        if args.continuous && stopped() {
            return match ended {
                Err(error) if error.downcast_ref::<Failure>().is_none() => Err(error),
                _ => Ok(()),
            };
        }
        ended?;
        if !args.continuous {
            return Ok(());
        }
    }
}

/// Makes one test.
fn once(
    args: &SendArgs,
    transfer: &Transfer,
    token: Option<&Token>,
    ends: ThreadSettings,
    patience: Duration,
    listening: &StopSignals,
    output: &mut Output,
) -> anyhow::Result<()> {
    let stopped: &dyn Fn() -> bool = &|| listening.stop.load(Ordering::Relaxed);
    let protocol = args.protocol;
    let mut live = LineFormatter::new(transfer, protocol).with(args.format);
    let mut showing = TransferView::new(transfer, protocol);
    let mut intervals = Vec::<Interval>::new();
    let is_text = output.format() == Format::Text && !args.json_iperf3;
    let mut unwritable = None;
    if args.json_stream {
        let (host, port) = (args.host.as_str(), args.port());
        say(output, Event::Begins { host, port, protocol, transfer }).map_err(unwritten)?;
    }
    let running = args.measuring.watching.start(output.wants_intervals())?;
    let title = || format!("windlass send {}", args.host);
    let view = listening.show(output, || showing.view(title(), transfer.interval))?;
    let mut tell = |interval: &Interval| {
        intervals.push(*interval);
        if let Some(view) = &view {
            if let Some(stretch) = showing.stretch(interval) {
                view.push(stretch);
            }
            return;
        }
        if args.json_stream && unwritable.is_none() {
            unwritable = say(output, Event::Interval { interval }).err();
        }
        if let Some(lines) = live.lines(interval).filter(|_| is_text && unwritable.is_none()) {
            // The measurement continues without a reader.
            unwritable =
                output.say(|page| lines.into_iter().for_each(|line| page.line(line))).err();
        }
    };
    let (mut ends, began) = (Some(ends), Instant::now());
    let made = loop {
        let ends = ends.take().unwrap_or_default();
        let mut is_told = false;
        let made = make(args, transfer, token, ends, stopped, &mut |interval| {
            is_told = true;
            tell(interval);
        });
        let waits = began.elapsed() < patience && !stopped() && !is_told;
        if !waits || !is_not_ready(protocol, &made) {
            break made;
        }
        thread::sleep(PAUSE);
    };
    drop(view);
    let spoken = (protocol, transfer.udp);
    let failed = |error| failure_with(spoken, &args.host, args.port(), error);
    let (to, outcome) = made.map_err(failed)?;
    let (broken, interrupted) = (outcome.failure.is_some(), outcome.stopped);
    let report = SendReport::new(&args.host, to, protocol, transfer, &outcome, intervals);
    let report = report.with(args.format);
    let report = WatchedRecord::new(report, running);
    // The file comes first: standard output may be a pipe whose reader stops early.
    let drawn = args.flent.as_deref().map_or(Ok(()), |file| flent::write(&report, file));
    if let Some(error) = unwritable {
        output.keep(&report);
        return Err(unwritten(error));
    }
    if is_text {
        output.raw(live.end()).map_err(unwritten)?;
    }
    // Many reports are a line of JSON each.
    let printed = if args.json_iperf3 {
        output.keep(&report);
        iperf3_json::print(&report, output)
    } else if (args.continuous || args.json_stream) && !is_text {
        output.keep(&report);
        output.print_line(&report).and_then(|()| output.flush())
    } else {
        output.print(&report)
    };
    printed.map_err(unwritten)?;
    drawn?;
    let doing = format!("cannot finish the test to {}", args.host);
    match outcome.failure {
        Some(error) if broken => {
            Err(broke_off(spoken, &args.host, args.port(), error).doing(doing).into())
        }
        // A stopped test reports its results so far, as ping(8) does.
        _ if interrupted && !stopped() => Err(Failure::new(doing, "the server was stopped").into()),
        _ => Ok(()),
    }
}

/// Prints a line of JSON at once.
fn say(output: &mut Output, event: Event<'_>) -> io::Result<()> {
    output.print_line(&Line::of(event)).and_then(|()| output.flush())
}

/// Returns whether the server may only need a moment.
///
/// `ttcp -r` exits after its test. Until then the kernel accepts connections for it, and resets
/// them during the handshake or later.
fn is_not_ready(protocol: Protocol, made: &Result<(SocketAddr, Outcome), Error>) -> bool {
    match made {
        Err(Error::Connect { source, .. }) => matches!(
            source.kind(),
            io::ErrorKind::ConnectionRefused | io::ErrorKind::ConnectionReset
        ),
        Err(Error::Iperf3(failure)) => *failure == iperf3::Failure::Busy,
        Ok((_, Outcome { failure: Some(Error::Stream(_)), .. })) => protocol == Protocol::Ttcp,
        _ => false,
    }
}

/// Runs a test in the requested protocol; returns the address of the server, too.
fn make(
    args: &SendArgs,
    transfer: &Transfer,
    token: Option<&Token>,
    ends: ThreadSettings,
    stopped: &dyn Fn() -> bool,
    tell: &mut dyn FnMut(&Interval),
) -> Result<(SocketAddr, Outcome), Error> {
    let (protocol, host, port) = (args.protocol, args.host.as_str(), args.port());
    let made = match protocol {
        Protocol::Windlass => {
            let to = client::reach(host, port, &Options::beside(&transfer.ip))?;
            let test = Test { to, token, transfer, latency: !args.no_latency && !args.find_rate };
            (to, client::run(&test, ends, stopped, tell)?)
        }
        Protocol::Iperf3 => {
            let dialled = client::dial(host, port, &Options::beside(&transfer.ip))?;
            (dialled.1, iperf3::client::run(dialled, transfer, ends, stopped, tell)?)
        }
        Protocol::Ttcp if transfer.udp => {
            let addresses = client::resolve(host, port)?;
            let opened = client::first(&addresses, |to| ttcp::open(to, transfer))?;
            (opened.1, ttcp::run(opened, transfer, ends.source, stopped, tell)?)
        }
        Protocol::Iperf if transfer.udp => {
            let addresses = client::resolve(host, port)?;
            let opened = client::first(&addresses, |to| iperf::open(to, transfer))?;
            (opened.1, iperf::run(opened, transfer, stopped, tell)?)
        }
        Protocol::Iperf | Protocol::Ttcp => {
            let options = Options::of(transfer, transfer.client);
            let dialled = client::dial(host, port, &options)?;
            (dialled.1, plain::run(dialled, protocol, transfer, ends, stopped, tell)?)
        }
    };
    Ok(made)
}

/// Reads a token.
pub(super) fn token(path: &Path) -> Result<Token, Failure> {
    let doing = format!("cannot read the token in {}", path.display());
    let advice = "Write the token into a file that you can read, as one line of text.";
    let mut text = String::new();
    let file = File::open(path);
    file.and_then(|file| file.take(LONGEST_TOKEN).read_to_string(&mut text))
        .map_err(|error| Failure::new(&doing, error).advise(advice))?;
    Token::new(&text).ok_or_else(|| Failure::new(doing, "the file is empty").advise(advice))
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
            .advise("Name a file that you can read, or - for standard input.")
    })?;
    Ok(Source::reader(file))
}

/// Returns the failure of a test that ran, in this protocol, over UDP or TCP: the server is known.
pub(super) fn broke_off(spoken: (Protocol, bool), host: &str, port: u16, error: Error) -> Failure {
    match error {
        Error::Gone { .. } | Error::Silent { .. } => {
            Failure::new(format!("cannot send to {host}"), error)
                .advise("Check the path, and check that the server still runs.")
        }
        error => failure_with(spoken, host, port, error),
    }
}

/// Returns advice for a failed connection; `refused` is the advice for a port without a listener.
pub(super) fn unconnected(
    error: &Error,
    port: u16,
    refused: impl FnOnce() -> String,
) -> Option<String> {
    match error {
        Error::Resolve { .. } => Some("Check the name, or give an IP address.".to_owned()),
        Error::Connect { source, .. } if source.kind() == io::ErrorKind::ConnectionRefused => {
            Some(refused())
        }
        _ if is_reset(error) => Some(format!(
            "Check which program listens on port {port}: it accepts connections and resets them."
        )),
        Error::Connect { .. } => {
            Some(format!("Check that the host is reachable and no firewall blocks port {port}."))
        }
        _ => None,
    }
}

/// Returns whether the peer reset the connection during the handshake: the host exists.
fn is_reset(error: &Error) -> bool {
    matches!(error, Error::Connect { source, .. } if source.kind() == io::ErrorKind::ConnectionReset)
}

pub(super) fn failure_with(
    (protocol, udp): (Protocol, bool),
    host: &str,
    port: u16,
    error: Error,
) -> Failure {
    let server = protocol.server(udp);
    let doing = format!("cannot send to {host}");
    let refused = || format!("Start {server} on the host, or give its --port (tried: {port}).");
    let what_listens = || format!("Check that {server} is the program on port {port}.");
    if let Some(advice) = unconnected(&error, port, refused).filter(|_| !is_reset(&error)) {
        return Failure::new(doing, error).advise(advice);
    }
    let advice = match &error {
        _ if is_reset(&error) => what_listens(),
        Error::TokenNeeded => "Give the server's token with --token-file.".to_owned(),
        Error::Refused(wrong) if wrong.contains("token") => {
            "Use the same token in the --token-file of both ends.".to_owned()
        }
        Error::Option { option, source, .. }
            if option.contains("congestion")
                && source.kind() == io::ErrorKind::PermissionDenied =>
        {
            "Users may choose those of net.ipv4.tcp_allowed_congestion_control: add it there with \
             sysctl, or run windlass as root."
                .to_owned()
        }
        Error::Option { option, .. } if option.contains("congestion") => {
            "Choose one of /proc/sys/net/ipv4/tcp_available_congestion_control on that end."
                .to_owned()
        }
        Error::Iperf3(iperf3::Failure::Server { code: iperf3::Code::CONGESTION, .. }) => {
            "Choose one of /proc/sys/net/ipv4/tcp_available_congestion_control on the server."
                .to_owned()
        }
        Error::Iperf3(iperf3::Failure::Busy | iperf3::Failure::Server { .. }) => {
            return Failure::new(doing, error);
        }
        Error::Protocol(_) | Error::Gone { .. } | Error::Silent { .. } | Error::Iperf3(_) => {
            what_listens()
        }
        _ => return Failure::new(doing, error),
    };
    Failure::new(doing, error).advise(advice)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the advice for a handshake that fails with this error.
    fn advice(kind: io::ErrorKind) -> String {
        let error = Error::Connect { to: "192.0.2.2:5201".to_owned(), source: kind.into() };
        let failure = failure_with((Protocol::Windlass, false), "192.0.2.2", 5201, error);
        failure.advice().unwrap_or_default().to_owned()
    }

    #[test]
    fn who_resets_a_connection_is_there_and_is_another_server() {
        let reset = advice(io::ErrorKind::ConnectionReset);
        assert!(reset.contains("windlass serve is the program on port 5201"), "{reset}");
        let refused = advice(io::ErrorKind::ConnectionRefused);
        assert!(refused.contains("Start windlass serve on the host"), "{refused}");
        let lost = advice(io::ErrorKind::TimedOut);
        assert!(lost.contains("Check that the host is reachable"), "{lost}");
    }
}
