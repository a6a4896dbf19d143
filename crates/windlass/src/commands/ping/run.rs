//! A run, from its arguments to its report.

use std::cell::RefCell;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::Ordering;
use std::time::Duration;

use windlass_base::{Bytes, Failure, Span};
use windlass_drive::Error;
use windlass_drive::ping::report::{PingReport, source};
use windlass_drive::ping::{
    self, Connect, Datagrams, Exchange, Icmp, Kind, PingResults, Plan, Prober, SleepingEnds,
    TripOutcome, TripSeen,
};
use windlass_host::cpu;
use windlass_output::live::LiveView;
use windlass_output::records::ping::{beginning, unreachable};
use windlass_output::{Output, Page};

use super::args::{Pacing, PingArgs};
use super::progress::Progress;
use super::samples::Samples;
use super::view::Trips;
use crate::commands::far_host::resolve;
use crate::commands::send::{token, unconnected};
use crate::commands::unwritten;
use crate::commands::watched::WatchedRecord;

/// The default size of a request.
const REQUEST: u32 = 64;
/// Default data size of an echo, as in other pings.
const ECHO: u32 = 56;
/// The shortest time from one request to the next.
const SHORTEST_INTERVAL: Duration = Duration::from_micros(1);
/// The largest request.
const LARGEST: u32 = 1 << 20;

/// Runs the command.
pub fn run(args: &PingArgs, output: &mut Output) -> anyhow::Result<()> {
    let run = Run::new(args)?;
    // Before this thread is pinned to a processor: a new thread inherits the pinning.
    let running = args.measuring.watching.start(output.wants_intervals())?;
    let doing = run.doing();
    let listening = args.measuring.live.listen(&doing)?;
    let trips = Trips::new(run.plan.interval.map(Span::from_duration));
    let title = || format!("windlass ping {}", args.target);
    let view = listening.show(output, || trips.view(title()))?.map(|live| (live, trips));
    if let Some(number) = args.cpu {
        pin(number)?;
    }
    let stopped = || listening.stop.load(Ordering::Relaxed);
    let mut samples = args.samples.as_deref().map(Samples::create).transpose()?;
    let mut prober = run.prober()?;
    let (report, unwritable) = run.measure(&mut *prober, samples.as_mut(), view, output, &stopped);
    // The file comes first: standard output may be a pipe whose reader stops early.
    let sampled = samples.map_or(Ok(()), Samples::end);
    let report = WatchedRecord::new(report, running);
    if let Some(error) = unwritable {
        output.keep(&report);
        return Err(unwritten(error));
    }
    output.print(&report).map_err(unwritten)?;
    sampled?;
    let measured = &report.record.measured;
    match &measured.failure {
        Some(error) => Err(run.failure(error).into()),
        None if measured.answered > measured.refused => Ok(()),
        None if measured.answered > 0 => Err(refused(run.doing(), run.to.port()).into()),
        None => Err(run.unanswered(measured).into()),
    }
}

/// Makes the error for a run in which every connection was refused.
fn refused(doing: String, port: u16) -> Failure {
    let wrong = format!("each connection was refused: nothing listens on port {port}");
    Failure::new(doing, wrong)
        .advise("The host answers, and the times above are valid. Check the port number.")
}

/// Keeps this thread to one processor.
fn pin(number: usize) -> Result<(), Failure> {
    cpu::pin(number).map_err(|error| {
        let failure = Failure::new(format!("cannot run on processor {number}"), error);
        match cpu::allowed() {
            Ok(allowed) => {
                let allowed: Vec<String> = allowed.iter().map(usize::to_string).collect();
                failure.advise(format!("Choose one of the processors {}.", allowed.join(", ")))
            }
            Err(_) => failure,
        }
    })
}

/// Requested run.
struct Run<'a> {
    args: &'a PingArgs,
    kind: Kind,
    to: SocketAddr,
    plan: Plan,
    sizes: (u32, u32),
}

impl<'a> Run<'a> {
    fn new(args: &'a PingArgs) -> Result<Self, Failure> {
        let target = &args.target;
        let usage = |wrong: &str| Failure::usage(format!("cannot ping {target}"), wrong);
        let kind = match (args.latency, args.icmp, target.port) {
            _ if args.udp => Kind::Udp,
            (true, _, _) => Kind::Latency,
            (_, true, Some(_)) => {
                return Err(usage("ICMP has no ports").advise("Omit the port or --icmp."));
            }
            (_, _, None) => Kind::Icmp,
            (_, _, Some(_)) => Kind::Connect,
        };
        let sizes = sizes(args, kind).map_err(|wrong| usage(&wrong))?;
        let plan = plan(args, kind);
        if is_served(kind)
            && plan.interval.is_some_and(|interval| interval > Exchange::LONGEST_INTERVAL)
        {
            let most = Span::from_duration(Exchange::LONGEST_INTERVAL);
            return Err(usage(&format!("the server waits at most {most} for the next request"))
                .advise("Give a shorter --interval."));
        }
        // As with --rate.
        if plan.interval.is_some_and(|interval| interval < SHORTEST_INTERVAL) {
            let least = Span::from_duration(SHORTEST_INTERVAL);
            return Err(usage(&format!("an interval is at least {least}"))
                .advise("Use --rate flood to send each request when an answer arrives."));
        }
        let mut target = target.clone();
        if is_served(kind) {
            target.port.get_or_insert(windlass_drive::client::PORT);
        }
        Ok(Self { args, kind, to: resolve(&target, args.family.family())?, plan, sizes })
    }

    fn doing(&self) -> String {
        format!("cannot ping {}", self.args.target)
    }

    /// Opens the sockets for this kind of request.
    fn prober(&self) -> Result<Box<dyn Prober>, Failure> {
        let failed = |error| self.failure(&error);
        let (request, response) = self.sizes;
        let (asleep, ip) = (self.args.asleep, self.args.ip.ip());
        Ok(match self.kind {
            Kind::Connect => Box::new(Connect::new(self.to, asleep).with(ip)),
            Kind::Latency => {
                let token = self.args.token_file.as_deref().map(token).transpose()?;
                let ends = SleepingEnds { near: asleep, far: asleep };
                let sizes = (request, response);
                let open = Exchange::open(self.to, token.as_ref(), sizes, ends, &ip);
                Box::new(open.map_err(failed)?)
            }
            Kind::Udp => {
                let token = self.args.token_file.as_deref().map(token).transpose()?;
                let open =
                    Datagrams::open(self.to, token.as_ref(), (request, response), asleep, &ip);
                Box::new(open.map_err(failed)?)
            }
            Kind::Icmp => Box::new(Icmp::open(self.to, request, asleep, &ip).map_err(failed)?),
        })
    }

    /// Measures; gives the first line that could not be written, too.
    fn measure(
        &self,
        prober: &mut dyn Prober,
        mut samples: Option<&mut Samples>,
        view: Option<(LiveView, Trips)>,
        output: &mut Output,
        stop: &dyn Fn() -> bool,
    ) -> (PingReport, Option<io::Error>) {
        let interval = self.plan.interval.map(Span::from_duration);
        let (host, address) = (self.args.target.to_string(), self.address());
        let beginning = |page: &mut Page| beginning(page, &host, &address, interval);
        let progress = RefCell::new(Progress::new(output, interval, view, beginning));
        let mut saw = |seen: &TripSeen<'_>| {
            progress.borrow_mut().saw(seen);
            if let Some(samples) = &mut samples {
                samples.saw(seen);
            }
        };
        // After failed output nobody reads further lines.
        let stop = || stop() || progress.borrow().is_unheard();
        let measured = ping::run(prober, &self.plan, &mut saw, &stop);
        let mut progress = progress.into_inner();
        progress.end();
        (self.report(measured), progress.unwritten.take())
    }

    /// Returns the address, with the port if there is one.
    fn address(&self) -> String {
        match self.kind {
            Kind::Icmp => self.to.ip().to_string(),
            Kind::Connect | Kind::Latency | Kind::Udp => self.to.to_string(),
        }
    }

    fn report(&self, measured: PingResults) -> PingReport {
        let is = |kind| self.kind == kind;
        let (request, response) = self.sizes;
        let bytes = |size: u32| Bytes::new(size.into());
        PingReport {
            schema: PingReport::SCHEMA,
            host: self.args.target.to_string(),
            address: self.to.ip().to_string(),
            port: (!is(Kind::Icmp)).then(|| self.to.port()),
            request_bytes: (!is(Kind::Connect)).then(|| bytes(request)),
            response_bytes: is_served(self.kind).then(|| bytes(response)),
            interval_seconds: self.plan.interval.map(Span::from_duration),
            timeout_seconds: Span::from_duration(self.plan.timeout),
            histogram: self.args.histogram.as_ref().map(|wanted| wanted.count(&measured.times)),
            source: source(self.kind),
            clock_seconds: ping::clock_cost(),
            ip: self.args.ip.ip(),
            asleep: self.args.asleep,
            pinned_cpu: self.args.cpu,
            measured,
        }
    }

    /// Makes the error for a run without answers.
    fn unanswered(&self, measured: &PingResults) -> Failure {
        if measured.sent == 0 {
            return Failure::new(self.doing(), "interrupted before the first answer");
        }
        match &measured.unanswered {
            Some(TripOutcome::Unreachable { why, by }) => {
                Failure::new(self.doing(), unreachable(why, *by)).advise(format!(
                    "Check the address, and that there is a route to it: ip route get {}",
                    self.to.ip()
                ))
            }
            _ => {
                let failure = Failure::new(self.doing(), "nothing answered");
                match self.kind {
                    Kind::Connect => failure.advise(format!(
                        "The host may be down, or a firewall drops packets to port {}. Ping the \
                         host without a port to see whether it answers.",
                        self.to.port()
                    )),
                    Kind::Latency | Kind::Udp => failure.advise(format!(
                        "A firewall may drop UDP packets to or from port {}. Use TCP: windlass \
                         ping HOST --latency",
                        self.to.port()
                    )),
                    Kind::Icmp => failure.advise(
                        "The host may be down, or a firewall drops ICMP. Ping one of its TCP \
                         ports: windlass ping HOST:PORT",
                    ),
                }
            }
        }
    }

    /// Converts an error of the measurement for the user.
    fn failure(&self, error: &Error) -> Failure {
        let port = self.to.port();
        let refused = || format!("Start windlass serve on the host (tried: port {port}).");
        let unconnected = unconnected(error, port, refused).filter(|_| self.kind != Kind::Icmp);
        if let Some(advice) = unconnected {
            return Failure::new(self.doing(), error).advise(advice);
        }
        let advice = match error {
            Error::NoIcmp { .. } => "Allow ICMP echoes for all users: sysctl -w \
                 net.ipv4.ping_group_range=\"0 2147483647\". Or give windlass the right: setcap \
                 cap_net_raw+ep $(command -v windlass). Or ping a TCP port: windlass ping HOST:PORT"
                .to_owned(),
            Error::Connect { .. } => {
                "Check the address. An fe80 address needs its interface: fe80::1%eth0".to_owned()
            }
            Error::TokenNeeded => "Give the server's token with --token-file.".to_owned(),
            Error::Silent { .. } | Error::Gone { .. } if is_served(self.kind) => format!(
                "Check the path, and check that windlass serve is the program on port {port}."
            ),
            Error::Protocol(_) => {
                format!("Check that windlass serve is the program on port {port}.")
            }
            _ => return Failure::new(self.doing(), error),
        };
        Failure::new(self.doing(), error).advise(advice)
    }
}

/// Returns whether `windlass serve` answers this kind of request.
fn is_served(kind: Kind) -> bool {
    matches!(kind, Kind::Latency | Kind::Udp)
}

/// Returns the sizes of a request and of its answer.
fn sizes(args: &PingArgs, kind: Kind) -> Result<(u32, u32), String> {
    let size = |name: &str, size: Option<Bytes>, default: u32, most: u32| match size {
        None => Ok(default),
        Some(size) => u32::try_from(size.get())
            .ok()
            .filter(|size| *size <= most)
            .ok_or_else(|| format!("{name} has at most {}", Bytes::new(most.into()))),
    };
    match kind {
        Kind::Connect if args.size.is_some() => {
            Err("a TCP handshake carries no data; use --size with --latency or --udp".to_owned())
        }
        Kind::Connect => Ok((0, 0)),
        Kind::Icmp => Ok((size("an echo's data", args.size, ECHO, Icmp::LARGEST)?, 0)),
        Kind::Latency | Kind::Udp => {
            let most = if kind == Kind::Udp { Datagrams::LARGEST } else { LARGEST };
            let request = size("a request", args.size, REQUEST, most)?;
            let response = size("an answer", args.response, request, most)?;
            if kind == Kind::Udp && request.min(response) < Datagrams::SMALLEST {
                let least = Bytes::new(Datagrams::SMALLEST.into());
                return Err(format!("a datagram carries a number, and has at least {least}"));
            }
            Ok((request, response))
        }
    }
}

/// Returns the count, the interval and the timeout of the requests.
fn plan(args: &PingArgs, kind: Kind) -> Plan {
    let is_latency = is_served(kind);
    let interval = match (args.interval, args.rate) {
        (Some(interval), _) | (_, Some(Pacing::Every(interval))) => Some(interval),
        (_, Some(Pacing::Flood)) => None,
        _ => (!is_latency).then_some(Span::from_millis(1_000)),
    };
    let (count, time) = match (args.count, args.time) {
        (None, None) if is_latency => (None, Some(Span::from_millis(5_000))),
        (None, None) => (Some(4), None),
        given => given,
    };
    let timeout = Span::from_millis(if kind == Kind::Latency { 10_000 } else { 2_000 });
    Plan {
        count,
        time: time.map(Span::to_duration),
        interval: interval.map(Span::to_duration),
        warmup: args.warmup.unwrap_or(if is_latency { 10 } else { 1 }),
        timeout: args.timeout.unwrap_or(timeout).to_duration(),
    }
}
