//! `windlass serve`: the server of tests.

mod blocks;

use std::fs::File;
use std::io::{self, Write};
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use clap::Args;
use windlass_base::values::bytes;
use windlass_base::{Bytes, Failure, Span};
use windlass_drive::Sink;
use windlass_drive::client::PORT;
use windlass_drive::ip::Bind;
use windlass_drive::server::{Event, Server, Settings};
use windlass_drive::transfer::LONGEST_WRITE;
use windlass_drive::{Error, Protocol};
use windlass_measure::serve::{Attendant, ReportingServer, ServeReport, ServerSnapshot};
use windlass_output::Output;
use windlass_output::live::LiveView;
use windlass_output::records::ended::EVERY;
use windlass_output::records::serve::view::{self, ServerTests};

use self::blocks::Blocks;
use super::send::token;
use super::unwritten;
use crate::arguments::JsonArgs;
use crate::commands::watched::WatchingArgs;
use crate::live::{HeldOutput, LiveArgs};

/// The protocols that are served on the first port.
const NO_TOKEN: [Protocol; 2] = [Protocol::Windlass, Protocol::Iperf3];

/// The protocols that are served on the first port with a token.
const TOKEN: [Protocol; 1] = [Protocol::Windlass];

/// The protocols that are served on the plain port.
const PLAIN: [Protocol; 2] = [Protocol::Ttcp, Protocol::Iperf];

/// The protocols that are served on the plain port by UDP.
const DATAGRAMS: [Protocol; 2] = [Protocol::Ttcp, Protocol::Iperf];

/// The arguments of `windlass serve`.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = "\
Examples:
  windlass serve                            serve windlass, iperf3, iperf and ttcp on all addresses
  windlass serve --bind 192.0.2.2           listen on one address
  windlass serve --token-file ~/.windlass   serve only clients with the token
  windlass serve --once                     serve one test, then exit
  windlass serve --live                     show running tests on the terminal
  windlass serve --json >> tests.jsonl      write a line of JSON for each event
  windlass serve --once --output job.prn    save the data that ttcp -t or nc sends to port 5001

Ports:
  Port 5201 serves windlass send and stock iperf3 clients. Port 5001 serves clients that send data
  only: ttcp -t, iperf -c of iperf 2, and nc. The server listens on port 5001 unless --port or
  --token-file is given; --plain-port sets another port. Both ports serve several clients at once,
  over TCP and UDP. A firewall needs to allow no other port. With a token, only windlass send and
  windlass ping are served.

Access:
  Without a token, any client that reaches the port can load the path. A timed test lasts at most a
  week, and at most 64 tests run at once (--tests).")]
pub struct ServeArgs {
    /// Port to listen on
    #[arg(long, short = 'p', value_name = "PORT", default_value_t = PORT)]
    pub port: u16,

    /// Port for ttcp and iperf 2 [default without --port and --token-file: 5001]
    #[arg(long, value_name = "PORT", conflicts_with = "token_file")]
    pub plain_port: Option<u16>,

    /// Address to listen on, interface, or both [default: all addresses]
    #[arg(long, short = 'B', value_name = "ADDRESS[%DEVICE]", value_parser = super::ip_args::bind)]
    pub bind: Option<Bind>,

    /// File with the token that clients must send
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,

    /// Exit after one test
    #[arg(long, short = '1')]
    pub once: bool,

    /// Save the data that ttcp, iperf or nc sends to this file; with `-`, data goes to standard
    /// output and messages to standard error
    #[arg(
        long,
        short = 'o',
        value_name = "FILE",
        requires = "once",
        conflicts_with = "token_file"
    )]
    pub output: Option<PathBuf>,

    /// Write the file in blocks of this size, except the last one, as ttcp -B does
    #[arg(long, value_name = "SIZE", value_parser = bytes, requires = "output")]
    pub blocks: Option<Bytes>,

    /// Read each received byte in memory, as ttcp -T does
    #[arg(long)]
    pub touch: bool,

    /// Maximum number of tests at a time
    #[arg(long, value_name = "N", default_value_t = 64)]
    #[arg(value_parser = clap::value_parser!(u16).range(1..))]
    pub tests: u16,

    /// The live view.
    #[command(flatten)]
    pub live: LiveArgs,

    /// Watching this machine meanwhile.
    #[command(flatten)]
    pub watching: WatchingArgs,

    /// Text or JSON.
    #[command(flatten)]
    pub json: JsonArgs,
}

impl ServeArgs {
    /// Returns the address to listen on.
    fn address(&self) -> IpAddr {
        let address = self.bind.as_ref().and_then(|bind| bind.address);
        address.unwrap_or(IpAddr::V6(Ipv6Addr::UNSPECIFIED))
    }
}

/// Runs the command.
pub fn run(args: &ServeArgs, output: &mut Output) -> anyhow::Result<()> {
    let mut stderr = output.on_stderr();
    let to_stdout = args.output.as_ref().is_some_and(|path| path.as_os_str() == "-");
    if to_stdout && args.live.live {
        let wrong = "--live and the received data would both go to standard output";
        let failure = Failure::usage("cannot serve", wrong);
        return Err(failure.advise("Name a file with --output, or omit --live.").into());
    }
    let output = if to_stdout { &mut stderr } else { output };
    let listening = args.live.listen("cannot serve")?;
    let kept = args.output.as_deref().map(|path| kept(path, args.blocks)).transpose()?;
    let token = args.token_file.as_deref().map(token).transpose()?;
    // Data of several clients at once would be mixed.
    let most_tests = if kept.is_some() { 1 } else { usize::from(args.tests) };
    let device = args.bind.as_ref().and_then(|bind| bind.device.clone());
    let (output_to, touch) = (kept, args.touch);
    let settings =
        Settings { token, most_tests, output: output_to, touch, device, ..Settings::default() };
    let keep = args.json.json;
    // An error of --watch is reported before anything is served.
    drop(args.watching.start(keep)?);
    let mut serving = bind(args, settings, keep)?;
    let plain = also_plain(args, &mut serving.server)?;
    let address = serving.server.address();
    let address = address.map_err(|error| Failure::new("cannot serve", error))?;
    let protocols = if args.token_file.is_some() { &TOKEN[..] } else { &NO_TOKEN };
    let first = Event::Listens { protocols, udp: false, address };
    // If another program has that UDP port, all other services continue.
    let flows = match serving.server.also_flows(address) {
        Ok(address) => Event::Listens { protocols, udp: true, address },
        Err(error) => Event::DoesNotListen { protocols, udp: true, why: error.to_string() },
    };
    // While a view has the terminal, lines are held back.
    let held = listening.hold()?;
    let (format, width, color) = output.to_render();
    let later = |held: &HeldOutput| Ok(Output::new(Box::new(held.writer()?), format, width, color));
    let mut later = held.as_ref().map(later).transpose().map_err(unwritten)?;
    let live = listening.show(output, || view::view(address))?;
    let to = later.as_mut().unwrap_or(output);
    for event in [first].into_iter().chain(plain).chain([flows]) {
        to.print_line(&ServeReport::new(event)).map_err(unwritten)?;
    }
    to.flush().map_err(unwritten)?;
    let mut teller = Teller {
        output: to,
        is_kept: args.output.is_some(),
        unwritable: None,
        lost: None,
        view: live.map(|live| (live, ServerTests::default())),
    };
    let served = serving.run(&listening.stop, &mut teller);
    let Teller { unwritable, lost, view, .. } = teller;
    drop(view);
    let released = held.map_or(Ok(()), |held| held.release(io::stdout().lock()));
    if let Some(error) = unwritable.or(released.err()) {
        return Err(unwritten(error));
    }
    if let (Some(wrong), Some(path)) = (lost, &args.output) {
        let doing = format!("cannot save the received data to {}", path.display());
        return Err(Failure::new(doing, wrong).into());
    }
    served.map_err(|error| Failure::new("cannot continue to serve", error).into())
}

/// Reporter of the served tests, in lines and in a view.
struct Teller<'a> {
    output: &'a mut Output,
    /// True if received data is saved.
    is_kept: bool,
    /// The first line that could not be written.
    unwritable: Option<io::Error>,
    /// Reason why received data could not be saved.
    lost: Option<String>,
    view: Option<(LiveView, ServerTests)>,
}

impl Attendant for Teller<'_> {
    fn hears(&mut self, report: ServeReport) -> ControlFlow<()> {
        self.lost = self.lost.take().or_else(|| report.failure().filter(|_| self.is_kept));
        if let Some((_, serves)) = &mut self.view {
            serves.hears(&report.event);
        }
        self.unwritable = self.output.print_line(&report).and_then(|()| self.output.flush()).err();
        if self.unwritable.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn every(&self) -> Option<Span> {
        self.view.is_some().then_some(EVERY)
    }

    fn sees(&mut self, look: ServerSnapshot) {
        if let Some((live, serves)) = &mut self.view {
            live.push(serves.stretch(&look));
        }
    }
}

/// Opens the file for received data.
fn kept(path: &Path, blocks: Option<Bytes>) -> Result<Sink, Failure> {
    let most = Bytes::new(u64::from(LONGEST_WRITE));
    if let Some(size) = blocks.filter(|size| *size == Bytes::ZERO || *size > most) {
        let wrong = format!("a block is 1 B to {most}, not {size}");
        return Err(Failure::usage("cannot serve", wrong));
    }
    let sink = |to: Box<dyn Write + Send>| match blocks {
        Some(size) => Sink::new(Blocks::new(to, size)),
        None => Sink::new(to),
    };
    if path.as_os_str() == "-" {
        return Ok(sink(Box::new(io::stdout())));
    }
    let file = File::create(path).map_err(|error| {
        Failure::new(format!("cannot save the received data to {}", path.display()), error)
            .advise("Give a path that you can write, or omit --output.")
    })?;
    Ok(sink(Box::new(file)))
}

/// So often the system is asked for a port that is free for both.
const MAX_TRIES: u32 = 16;

/// Listens on one port for connections and for datagrams.
fn on_both(
    on: SocketAddr,
    server: &mut Server,
) -> (Result<SocketAddr, Error>, Result<SocketAddr, Error>) {
    let listened = server.also_plain(on);
    let both = listened.as_ref().map_or(on, |address| SocketAddr::new(on.ip(), address.port()));
    (listened, server.also_datagrams(both))
}

/// Listens for clients that send only data, if wanted; returns the addresses, or the reasons of
/// failure.
fn also_plain(args: &ServeArgs, server: &mut Server) -> Result<Vec<Event>, Failure> {
    let is_usual = args.port == PORT && args.token_file.is_none();
    let Some(port) = args.plain_port.or_else(|| is_usual.then_some(Protocol::Ttcp.port())) else {
        return Ok(Vec::new());
    };
    let on = SocketAddr::new(args.address(), port);
    let mut tries = 0..MAX_TRIES;
    let (listened, datagrams) = loop {
        let both = on_both(on, server);
        // If the system chooses the port, another program may have its UDP counterpart.
        let may_differ = port == 0 && both.0.is_ok() && both.1.is_err();
        if !may_differ || tries.next().is_none() {
            break both;
        }
    };
    let ports = [(&PLAIN[..], false, listened), (&DATAGRAMS, true, datagrams)];
    ports
        .into_iter()
        .map(|(protocols, udp, listened)| match listened {
            Ok(address) => Ok(Event::Listens { protocols, udp, address }),
            // The port is a default: if another program has it, the other services continue.
            Err(error) if args.plain_port.is_none() => {
                Ok(Event::DoesNotListen { protocols, udp, why: error.to_string() })
            }
            Err(error) => {
                let failure = Failure::new("cannot serve ttcp and iperf", error);
                Err(failure.advise("Give another --plain-port."))
            }
        })
        .collect()
}

/// Listens.
fn bind(args: &ServeArgs, settings: Settings, keep: bool) -> Result<ReportingServer, Failure> {
    let on = SocketAddr::new(args.address(), args.port);
    let failed = |error: Error| {
        let failure = Failure::new("cannot serve", &error);
        match error {
            Error::Listen { source, .. } if source.kind() == io::ErrorKind::AddrInUse => {
                failure.advise("Give another --port, or stop the server that uses this port.")
            }
            _ => failure.advise("Give another --bind address or --port."),
        }
    };
    let watching = args.watching.clone();
    let watch = Box::new(move || watching.start(keep));
    ReportingServer::bind(on, settings, args.once, watch).map_err(failed)
}
