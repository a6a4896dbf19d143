//! `windlass serve`: the end of a test that is asked.

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
use windlass_measure::serve::{Attendant, ServeLook, ServeReport, Serving};
use windlass_output::Output;
use windlass_output::live::Live;
use windlass_output::records::ended::EVERY;
use windlass_output::records::serve::view::{self, Serves};

use self::blocks::Blocks;
use super::send::token;
use super::unwritten;
use crate::arguments::JsonArgs;
use crate::commands::watched::WatchingArgs;
use crate::live::{Held, LiveArgs};

/// Who is served on the first port.
const NO_TOKEN: [Protocol; 2] = [Protocol::Windlass, Protocol::Iperf3];

/// The same where clients must know a token.
const TOKEN: [Protocol; 1] = [Protocol::Windlass];

/// Who is served on the other port.
const PLAIN: [Protocol; 2] = [Protocol::Ttcp, Protocol::Iperf];

/// Who is served there by UDP.
const DATAGRAMS: [Protocol; 2] = [Protocol::Ttcp, Protocol::Iperf];

/// The arguments of `windlass serve`.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = "\
Examples:
  windlass serve                            for windlass, iperf3, iperf and ttcp, on all addresses
  windlass serve --bind 192.0.2.2           on one address
  windlass serve --token-file ~/.windlass   only for those who know the token
  windlass serve --once                     one test, then the end
  windlass serve --live                     the tests that run, on the terminal
  windlass serve --json >> tests.jsonl      a line of JSON for each event
  windlass serve --once --output job.prn    what ttcp -t or nc sends to port 5001, in a file

Who is served:
  windlass send and stock clients of iperf3, on one port: their first bytes tell them apart. On
  another port (5001) whoever sends data and nothing else: ttcp -t, iperf -c of iperf 2, nc. It is
  listened on where --port is not given, or with --plain-port. All are served at once, and by UDP
  on the port of the same number, too: iperf3 -u, iperf -u, ttcp -u. With a token, only windlass
  send is.

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

    /// The address to listen on, the interface, or both; without it, all addresses
    #[arg(long, short = 'B', value_name = "ADDRESS[%DEVICE]", value_parser = super::ip_args::bind)]
    pub bind: Option<Bind>,

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

    /// Write that file in blocks of this size, and what is left at the end, as ttcp -B does
    #[arg(long, value_name = "SIZE", value_parser = bytes, requires = "output")]
    pub blocks: Option<Bytes>,

    /// Look at each byte that comes, as ttcp -T does and a program that uses the data
    #[arg(long)]
    pub touch: bool,

    /// The most tests at a time
    #[arg(long, value_name = "N", default_value_t = 64)]
    #[arg(value_parser = clap::value_parser!(u16).range(1..))]
    pub tests: u16,

    /// What is shown meanwhile.
    #[command(flatten)]
    pub live: LiveArgs,

    /// What this machine does meanwhile.
    #[command(flatten)]
    pub watching: WatchingArgs,

    /// Text or JSON.
    #[command(flatten)]
    pub json: JsonArgs,
}

impl ServeArgs {
    /// The address to listen on.
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
        let wrong = "both --live and what is received would go to standard output";
        let failure = Failure::usage("cannot serve", wrong);
        return Err(failure.advise("Name a file with --output, or leave --live out.").into());
    }
    let output = if to_stdout { &mut stderr } else { output };
    let listening = args.live.listen("cannot serve")?;
    let kept = args.output.as_deref().map(|path| kept(path, args.blocks)).transpose()?;
    let token = args.token_file.as_deref().map(token).transpose()?;
    // What several send at once would mix.
    let most_tests = if kept.is_some() { 1 } else { usize::from(args.tests) };
    let device = args.bind.as_ref().and_then(|bind| bind.device.clone());
    let (output_to, touch) = (kept, args.touch);
    let settings =
        Settings { token, most_tests, output: output_to, touch, device, ..Settings::default() };
    let keep = args.json.json;
    // What is wrong with it is said before anything is served.
    drop(args.watching.start(keep)?);
    let mut serving = bind(args, settings, keep)?;
    let plain = also_plain(args, &mut serving.server)?;
    let address = serving.server.address();
    let address = address.map_err(|error| Failure::new("cannot serve", error))?;
    let protocols = if args.token_file.is_some() { &TOKEN[..] } else { &NO_TOKEN };
    let first = Event::Listens { protocols, udp: false, address };
    // Where another program has that port of UDP, all others are served.
    let flows = match serving.server.also_flows(address) {
        Ok(address) => Event::Listens { protocols, udp: true, address },
        Err(error) => Event::DoesNotListen { protocols, udp: true, why: error.to_string() },
    };
    // While a view has the terminal, what is told goes where it waits.
    let held = listening.hold()?;
    let (format, width, color) = output.to_render();
    let later = |held: &Held| Ok(Output::new(Box::new(held.writer()?), format, width, color));
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
        view: live.map(|live| (live, Serves::default())),
    };
    let served = serving.run(&listening.stop, &mut teller);
    let Teller { unwritable, lost, view, .. } = teller;
    drop(view);
    let released = held.map_or(Ok(()), |held| held.release(io::stdout().lock()));
    if let Some(error) = unwritable.or(released.err()) {
        return Err(unwritten(error));
    }
    if let (Some(wrong), Some(path)) = (lost, &args.output) {
        let doing = format!("cannot keep what was sent in {}", path.display());
        return Err(Failure::new(doing, wrong).into());
    }
    served.map_err(|error| Failure::new("cannot go on serving", error).into())
}

/// Tells of what is served, in lines and in a view.
struct Teller<'a> {
    output: &'a mut Output,
    /// Whether what is sent is kept.
    is_kept: bool,
    /// The first line that could not be written.
    unwritable: Option<io::Error>,
    /// Why what was sent could not be kept.
    lost: Option<String>,
    view: Option<(Live, Serves)>,
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

    fn sees(&mut self, look: ServeLook) {
        if let Some((live, serves)) = &mut self.view {
            live.push(serves.stretch(&look));
        }
    }
}

/// Opens what received data is kept in.
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
        Failure::new(format!("cannot keep what is sent in {}", path.display()), error)
            .advise("Give a path that can be written, or leave --output out.")
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

/// Listens for those who send data and nothing else, where that is wanted; says where, or why
/// not.
fn also_plain(args: &ServeArgs, server: &mut Server) -> Result<Vec<Event>, Failure> {
    let is_usual = args.port == PORT && args.token_file.is_none();
    let Some(port) = args.plain_port.or_else(|| is_usual.then_some(Protocol::Ttcp.port())) else {
        return Ok(Vec::new());
    };
    let on = SocketAddr::new(args.address(), port);
    let mut tries = 0..MAX_TRIES;
    let (listened, datagrams) = loop {
        let both = on_both(on, server);
        // Where the system chooses the port, somebody may have it for datagrams.
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
            // Nobody asked for it: where the port is taken, the others are served.
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
fn bind(args: &ServeArgs, settings: Settings, keep: bool) -> Result<Serving, Failure> {
    let on = SocketAddr::new(args.address(), args.port);
    let failed = |error: Error| {
        let failure = Failure::new("cannot serve", &error);
        match error {
            Error::Listen { source, .. } if source.kind() == io::ErrorKind::AddrInUse => {
                failure.advise("Give another --port, or end the server that has this one.")
            }
            _ => failure.advise("Give another --bind address or --port."),
        }
    };
    let watching = args.watching.clone();
    let watch = Box::new(move || watching.start(keep));
    Serving::bind(on, settings, args.once, watch).map_err(failed)
}
