//! A run, from what was asked for to its report.

use std::cell::RefCell;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::Ordering;
use std::time::Duration;

use windlass_base::{Bytes, Failure, Span};
use windlass_drive::Error;
use windlass_drive::ping::report::{PingReport, source};
use windlass_drive::ping::{
    self, Asleep, Connect, Datagrams, Exchange, Icmp, Kind, Measured, Outcome, Plan, Prober,
    TripSeen,
};
use windlass_host::cpu;
use windlass_output::live::Live;
use windlass_output::records::ping::{beginning, unreachable};
use windlass_output::{Output, Page};

use super::args::{Pacing, PingArgs};
use super::progress::Progress;
use super::samples::Samples;
use super::view::Trips;
use crate::commands::far_host::resolve;
use crate::commands::send::{token, unconnected};
use crate::commands::unwritten;
use crate::commands::watched::Watched;

/// The default size of a request.
const REQUEST: u32 = 64;
/// The default data of an echo, as other pings have it.
const ECHO: u32 = 56;
/// The shortest time from one request to the next.
const SHORTEST_INTERVAL: Duration = Duration::from_micros(1);
/// The largest request.
const LARGEST: u32 = 1 << 20;

/// Runs the command.
pub fn run(args: &PingArgs, output: &mut Output) -> anyhow::Result<()> {
    let run = Run::new(args)?;
    // Before this thread keeps to one processor: a thread begins where the one is
    // that starts it.
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
    // The file first: standard output may be a pipe that nobody reads to its end.
    let sampled = samples.map_or(Ok(()), Samples::end);
    let report = Watched::new(report, running);
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

/// Every connection was refused.
fn refused(doing: String, port: u16) -> Failure {
    let wrong = format!("each connection was refused: nothing listens on port {port}");
    Failure::new(doing, wrong).advise("A refusal is an answer of the host: its times stand above.")
}

/// Keeps this thread to one processor.
fn pin(number: usize) -> Result<(), Failure> {
    cpu::pin(number).map_err(|error| {
        let failure = Failure::new(format!("cannot keep to processor {number}"), error);
        match cpu::allowed() {
            Ok(allowed) => {
                let allowed: Vec<String> = allowed.iter().map(usize::to_string).collect();
                failure.advise(format!("It may be one of {}.", allowed.join(", ")))
            }
            Err(_) => failure,
        }
    })
}

/// What was asked for.
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
                return Err(usage("ICMP has no ports").advise("Leave the port or --icmp out."));
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
            return Err(usage(&format!("a server waits for the next request for {most} at most"))
                .advise("Give a shorter --interval."));
        }
        // As with --rate.
        if plan.interval.is_some_and(|interval| interval < SHORTEST_INTERVAL) {
            let least = Span::from_duration(SHORTEST_INTERVAL);
            return Err(usage(&format!("an interval is {least} at least"))
                .advise("With --rate flood the next request goes when an answer has come."));
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

    /// Opens what it takes.
    fn prober(&self) -> Result<Box<dyn Prober>, Failure> {
        let failed = |error| self.failure(&error);
        let (request, response) = self.sizes;
        let (asleep, ip) = (self.args.asleep, self.args.ip.ip());
        Ok(match self.kind {
            Kind::Connect => Box::new(Connect::new(self.to, asleep).with(ip)),
            Kind::Latency => {
                let token = self.args.token_file.as_deref().map(token).transpose()?;
                let ends = Asleep { near: asleep, far: asleep };
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
        view: Option<(Live, Trips)>,
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
        // Who reads no lines needs no more of them.
        let stop = || stop() || progress.borrow().is_unheard();
        let measured = ping::run(prober, &self.plan, &mut saw, &stop);
        let mut progress = progress.into_inner();
        progress.end();
        (self.report(measured), progress.unwritten.take())
    }

    /// The address, with the port where there is one.
    fn address(&self) -> String {
        match self.kind {
            Kind::Icmp => self.to.ip().to_string(),
            Kind::Connect | Kind::Latency | Kind::Udp => self.to.to_string(),
        }
    }

    fn report(&self, measured: Measured) -> PingReport {
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

    /// The error of a run in which nothing answered.
    fn unanswered(&self, measured: &Measured) -> Failure {
        if measured.sent == 0 {
            return Failure::new(self.doing(), "it was stopped before the first answer");
        }
        match &measured.unanswered {
            Some(Outcome::Unreachable { why, by }) => {
                Failure::new(self.doing(), unreachable(why, *by)).advise(format!(
                    "Check the address, and that there is a route to it: ip route get {}",
                    self.to.ip()
                ))
            }
            _ => {
                let failure = Failure::new(self.doing(), "nothing answered");
                match self.kind {
                    Kind::Connect => failure.advise(format!(
                        "The host may be down, or something on the way drops what goes to port \
                         {}. Ask without the port to see whether the host answers at all.",
                        self.to.port()
                    )),
                    Kind::Latency | Kind::Udp => failure.advise(format!(
                        "Something on the way drops what goes to port {} by UDP, or what comes \
                         from it. Ask by TCP: windlass ping HOST --latency",
                        self.to.port()
                    )),
                    Kind::Icmp => failure.advise(
                        "The host may be down, or something on the way drops ICMP. Ask one of its \
                         TCP ports: windlass ping HOST:PORT",
                    ),
                }
            }
        }
    }

    /// An error of the drive, for people.
    fn failure(&self, error: &Error) -> Failure {
        let port = self.to.port();
        let refused = || format!("Start windlass serve there; port {port} was tried.");
        let unconnected = unconnected(error, port, refused).filter(|_| self.kind != Kind::Icmp);
        if let Some(advice) = unconnected {
            return Failure::new(self.doing(), error).advise(advice);
        }
        let advice = match error {
            Error::NoIcmp { .. } => "Let all users ask for echoes: sysctl -w \
                 net.ipv4.ping_group_range=\"0 2147483647\". Or give windlass the right: setcap \
                 cap_net_raw+ep $(command -v windlass). Or ask a TCP port: windlass ping HOST:PORT"
                .to_owned(),
            Error::Connect { .. } => {
                "Check the address; one that begins with fe80 needs its interface: fe80::1%eth0"
                    .to_owned()
            }
            Error::TokenNeeded => "Give the server's token with --token-file.".to_owned(),
            Error::Silent { .. } | Error::Gone { .. } if is_served(self.kind) => format!(
                "Check the path, and that it is windlass serve that listens on port {port}."
            ),
            Error::Protocol(_) => {
                format!("Check that it is windlass serve that listens on port {port}.")
            }
            _ => return Failure::new(self.doing(), error),
        };
        Failure::new(self.doing(), error).advise(advice)
    }
}

/// Whether it is windlass serve that answers.
fn is_served(kind: Kind) -> bool {
    matches!(kind, Kind::Latency | Kind::Udp)
}

/// The sizes of a request and of its answer.
fn sizes(args: &PingArgs, kind: Kind) -> Result<(u32, u32), String> {
    let size = |name: &str, size: Option<Bytes>, default: u32, most: u32| match size {
        None => Ok(default),
        Some(size) => u32::try_from(size.get())
            .ok()
            .filter(|size| *size <= most)
            .ok_or_else(|| format!("{name} is {} at most", Bytes::new(most.into()))),
    };
    match kind {
        Kind::Connect if args.size.is_some() => {
            Err("a handshake carries no data, so there is no --size; --latency has one".to_owned())
        }
        Kind::Connect => Ok((0, 0)),
        Kind::Icmp => Ok((size("an echo's data", args.size, ECHO, Icmp::LARGEST)?, 0)),
        Kind::Latency | Kind::Udp => {
            let most = if kind == Kind::Udp { Datagrams::LARGEST } else { LARGEST };
            let request = size("a request", args.size, REQUEST, most)?;
            let response = size("an answer", args.response, request, most)?;
            if kind == Kind::Udp && request.min(response) < Datagrams::SMALLEST {
                let least = Bytes::new(Datagrams::SMALLEST.into());
                return Err(format!("a datagram has a number: it is {least} at least"));
            }
            Ok((request, response))
        }
    }
}

/// How many, how often and how long.
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
