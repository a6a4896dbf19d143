//! `windlass serve`: the end of a test that is asked.

mod text;

use std::fs::File;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use clap::Args;
use windlass_base::Failure;
use windlass_drive::Sink;
use windlass_drive::client::PORT;
use windlass_drive::server::{Event, Server, Settings};
use windlass_drive::{Error, Protocol};
use windlass_measure::serve::{ServeReport, Serving};

use super::send::token;
use super::unwritten;
use crate::arguments::JsonArgs;
use crate::commands::watched::WatchingArgs;
use crate::interrupt;
use crate::print::Output;

/// Who is served on the first port.
const NO_TOKEN: [Protocol; 2] = [Protocol::Windlass, Protocol::Iperf3];

/// The same where clients must know a token.
const TOKEN: [Protocol; 1] = [Protocol::Windlass];

/// Who is served on the other port.
const PLAIN: [Protocol; 2] = [Protocol::Ttcp, Protocol::Iperf];

/// The arguments of `windlass serve`.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = "\
Examples:
  windlass serve                            for windlass, iperf3, iperf and ttcp, on all addresses
  windlass serve --bind 192.0.2.2           on one address
  windlass serve --token-file ~/.windlass   only for those who know the token
  windlass serve --once                     one test, then the end
  windlass serve --json >> tests.jsonl      a line of JSON for each event
  windlass serve --once --output job.prn    what ttcp -t or nc sends to port 5001, in a file

Who is served:
  windlass send and stock clients of iperf3, on one port: their first bytes tell them apart. On
  another port (5001) whoever sends data and nothing else: ttcp -t, iperf -c of iperf 2, nc. It is
  listened on where --port is not given, or with --plain-port. All are served at once; iperf3's UDP
  is refused. With a token, only windlass send is.

Who may use it:
  Whoever reaches the port may load the path, unless there is a token. A test of a time is a
  week at the longest, and 64 run at a time; --tests says otherwise. With --window or --mss a
  client's data goes to a port of its own: a firewall has to let it pass.")]
pub struct ServeArgs {
    /// The port to listen on
    #[arg(long, short = 'p', value_name = "PORT", default_value_t = PORT)]
    pub port: u16,

    /// The port for ttcp and iperf 2 [default: 5001, without --port and --token-file]
    #[arg(long, value_name = "PORT", conflicts_with = "token_file")]
    pub plain_port: Option<u16>,

    /// The address to listen on; without it, all addresses
    #[arg(long, short = 'B', value_name = "ADDRESS")]
    pub bind: Option<IpAddr>,

    /// A file with the token that clients must know
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,

    /// End after one test
    #[arg(long, short = '1')]
    pub once: bool,

    /// Keep what ttcp, iperf or nc sends in this file, as ttcp -r does; `-` is standard output,
    /// and what happens is told on standard error then
    #[arg(
        long,
        short = 'o',
        value_name = "FILE",
        requires = "once",
        conflicts_with = "token_file"
    )]
    pub output: Option<PathBuf>,

    /// The most tests at a time
    #[arg(long, value_name = "N", default_value_t = 64)]
    #[arg(value_parser = clap::value_parser!(u16).range(1..))]
    pub tests: u16,

    /// What this machine does meanwhile.
    #[command(flatten)]
    pub watching: WatchingArgs,

    /// Text or JSON.
    #[command(flatten)]
    pub json: JsonArgs,
}

/// Runs the command.
pub fn run(args: &ServeArgs, output: &mut Output) -> anyhow::Result<()> {
    let mut stderr = output.on_stderr();
    let to_stdout = args.output.as_ref().is_some_and(|path| path.as_os_str() == "-");
    let output = if to_stdout { &mut stderr } else { output };
    let kept = args.output.as_deref().map(kept).transpose()?;
    let token = args.token_file.as_deref().map(token).transpose()?;
    let stop = interrupt::listen("cannot serve")?;
    // What several send at once would mix.
    let most_tests = if kept.is_some() { 1 } else { usize::from(args.tests) };
    let settings = Settings { token, most_tests, output: kept, ..Settings::default() };
    let keep = args.json.json;
    // What is wrong with it is said before anything is served.
    drop(args.watching.start(keep)?);
    let mut serving = bind(args, settings, keep)?;
    let plain = also_plain(args, &mut serving.server)?;
    let address = serving.server.address();
    let address = address.map_err(|error| Failure::new("cannot serve", error))?;
    let protocols = if args.token_file.is_some() { &TOKEN[..] } else { &NO_TOKEN };
    for event in [Some(Event::Listens { protocols, address }), plain].into_iter().flatten() {
        output.print_line(&ServeReport::new(event)).map_err(unwritten)?;
    }
    output.flush().map_err(unwritten)?;
    let (mut unwritable, mut lost) = (None, None);
    let served = serving.run(&stop, &mut |report| {
        lost = lost.take().or_else(|| report.failure().filter(|_| args.output.is_some()));
        unwritable = output.print_line(&report).and_then(|()| output.flush()).err();
        if unwritable.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    if let Some(error) = unwritable {
        return Err(unwritten(error));
    }
    if let (Some(wrong), Some(path)) = (lost, &args.output) {
        let doing = format!("cannot keep what was sent in {}", path.display());
        return Err(Failure::new(doing, wrong).into());
    }
    served.map_err(|error| Failure::new("cannot go on serving", error).into())
}

/// Opens what received data is kept in.
fn kept(path: &Path) -> Result<Sink, Failure> {
    if path.as_os_str() == "-" {
        return Ok(Sink::new(std::io::stdout()));
    }
    let file = File::create(path).map_err(|error| {
        Failure::new(format!("cannot keep what is sent in {}", path.display()), error)
            .advise("Give a path that can be written, or leave --output out.")
    })?;
    Ok(Sink::new(file))
}

/// Listens for those who send data and nothing else, where that is wanted; says
/// where, or why not.
fn also_plain(args: &ServeArgs, server: &mut Server) -> Result<Option<Event>, Failure> {
    let on = |port| SocketAddr::new(args.bind.unwrap_or(IpAddr::V6(Ipv6Addr::UNSPECIFIED)), port);
    if let Some(port) = args.plain_port {
        let address = server.also_plain(on(port)).map_err(|error| {
            Failure::new("cannot serve ttcp and iperf", error).advise("Give another --plain-port.")
        })?;
        return Ok(Some(Event::Listens { protocols: &PLAIN, address }));
    }
    if args.port != PORT || args.token_file.is_some() {
        return Ok(None);
    }
    // Nobody asked for it: where the port is taken, the others are served.
    Ok(Some(match server.also_plain(on(Protocol::Ttcp.port())) {
        Ok(address) => Event::Listens { protocols: &PLAIN, address },
        Err(error) => Event::DoesNotListen { protocols: &PLAIN, why: error.to_string() },
    }))
}

/// Listens.
fn bind(args: &ServeArgs, settings: Settings, keep: bool) -> Result<Serving, Failure> {
    let all = IpAddr::V6(Ipv6Addr::UNSPECIFIED);
    let on = SocketAddr::new(args.bind.unwrap_or(all), args.port);
    let failed = |error: Error| {
        let failure = Failure::new("cannot serve", &error);
        match error {
            Error::Listen { source, .. } if source.kind() == std::io::ErrorKind::AddrInUse => {
                failure.advise("Give another --port, or end the server that has this one.")
            }
            _ => failure.advise("Give another --bind address or --port."),
        }
    };
    let watching = args.watching.clone();
    let watch = Box::new(move || watching.start(keep));
    Serving::bind(on, settings, args.once, watch).map_err(failed)
}
