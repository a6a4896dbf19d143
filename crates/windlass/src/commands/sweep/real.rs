//! The path to a host with windlass serve or a stock iperf3.

use std::cell::{Cell, RefCell};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;
use windlass_base::{Bytes, CongestionControl, Failure, Measurement, Span, whole_part};
use windlass_drive::client::{self, Test};
use windlass_drive::control::Token;
use windlass_drive::ip::Ip;
use windlass_drive::iperf3;
use windlass_drive::report::{DirectionReport, Interval, Outcome};
use windlass_drive::side::ThreadSettings;
use windlass_drive::socket::Options;
use windlass_drive::transfer::{self, Buffers, End, EndCondition, Transfer};
use windlass_drive::verdict::{DirectionSeen, verdict};
use windlass_drive::{Error, Protocol};
use windlass_output::Output;
use windlass_sweep::report::Path;
use windlass_sweep::{DataInterval, Direction, Limits, Probe, SenderSample, Setting, SteadyRate};

use super::args::Controls;
use super::{ProbeResult, SweepArgs, drive};
use crate::commands::send;
use crate::commands::watched::WatchedRecord;

/// Repeats of each deciding measurement: the fewest among which an outlier shows.
const REPEATS: u16 = 3;
/// Duration of a test that the client ends itself: far longer than any test, so that nobody waits
/// for data in flight.
const NEVER: Span = Span::from_millis(3_600_000);
/// Maximum time that a stock server may take between two tests.
const PATIENCE: Duration = Duration::from_secs(5);
/// File with the congestion controls of this Linux kernel.
const OFFERED: &str = "/proc/sys/net/ipv4/tcp_available_congestion_control";

/// Sweeps the path to a host.
pub(super) fn sweep(args: &SweepArgs, output: &mut Output) -> anyhow::Result<()> {
    let name = args.to.host.as_deref().ok_or_else(|| {
        Failure::usage("cannot sweep", "no path was given")
            .advise("Name a HOST that runs windlass serve, or a scenario with --simulate.")
    })?;
    if args.bytes.is_some() && args.to.protocol == Protocol::Iperf3 {
        let wrong = "a stock iperf3 limits a test by time or by data, not by both";
        return Err(Failure::usage("cannot limit the data of the sweep", wrong)
            .advise("Run windlass serve on the host, or limit the time with --within.")
            .into());
    }
    let host = Host::reach(name, args)?;
    let mut plan = args.plan(false, args.repeat.unwrap_or(REPEATS));
    plan.longest = args.time;
    plan.congestions = congestions(&args.congestion);
    let running = args.measuring.watching.start(output.wants_intervals())?;
    let measure =
        |probe: Probe, limits: Limits, stop: &AtomicBool| host.measure(probe, limits, stop);
    drive(args, plan, host.path(), measure, output, |record| WatchedRecord::new(record, running))
}

/// Returns the congestion controls to try beside the system's default. A sender refuses the ones
/// that it lacks.
fn congestions(asked: &Controls) -> Vec<CongestionControl> {
    let known = || std::fs::read_to_string(OFFERED).unwrap_or_default();
    let offered =
        |text: &str| text.split_whitespace().filter_map(|name| name.parse().ok()).collect();
    match asked {
        Controls::Named(names) => names.clone(),
        Controls::All => offered(&known()),
        Controls::Usual => {
            let all: Vec<CongestionControl> = offered(&known());
            all.into_iter().filter(|one| ["bbr", "cubic"].contains(&one.name())).collect()
        }
        Controls::Own => Vec::new(),
    }
}

/// A host that measures with us.
#[derive(Debug)]
struct Host {
    name: String,
    port: u16,
    to: SocketAddr,
    token: Option<Token>,
    protocol: Protocol,
    /// True once a test was made.
    has_answered: Cell<bool>,
    /// IP options of sent packets.
    ip: Ip,
}

impl Host {
    /// Finds the host.
    fn reach(name: &str, args: &SweepArgs) -> Result<Self, Failure> {
        let token = args.to.token_file.as_deref().map(send::token).transpose()?;
        let (protocol, ip) = (args.to.protocol, args.ip.ip());
        let (name, port) = args.to.family.reach(name, args.to.port)?;
        let (name, port) = (name.as_str(), port.unwrap_or(client::PORT));
        // A connection to iperf3 is a test already.
        let to = match protocol {
            Protocol::Iperf3 => client::resolve(name, port).and_then(|found| {
                found.first().copied().ok_or(Error::Asked("the host has no address".to_owned()))
            }),
            _ => client::reach(name, port, &Options::beside(&ip)),
        };
        let to = to.map_err(|error| failure(protocol, name, port, error))?;
        let has_answered = Cell::new(false);
        Ok(Self { name: name.to_owned(), port, to, token, protocol, has_answered, ip })
    }

    fn path(&self) -> Path {
        let Self { name, port, to, protocol, .. } = self;
        let mut identity = json!({ "host": name, "port": port, "protocol": protocol.id() });
        if self.ip != Ip::default() {
            identity["ip"] = json!(self.ip);
        }
        Path {
            kind: "host",
            name: name.clone(),
            title: format!("Between here and {name}"),
            shows: None,
            source: None,
            address: Some(to.to_string()),
            hops: Vec::new(),
            ideal: [None; 2],
            alike: false,
            chance: true,
            seed: None,
            identity,
        }
    }

    /// Makes one measurement.
    fn measure(
        &self,
        probe: Probe,
        limits: Limits,
        stop: &AtomicBool,
    ) -> Result<Option<ProbeResult>, Failure> {
        let setting = probe.setting;
        let stock = self.protocol == Protocol::Iperf3;
        let transfer = Transfer { ip: self.ip.clone(), ..transfer(&setting, limits, stock) };
        let began = Instant::now();
        let seen = RefCell::new(TestObservations::within(limits));
        let told_to = || stop.load(Ordering::Relaxed);
        let mut tell = |interval: &Interval| seen.borrow_mut().add(interval);
        let outcome = if stock {
            // A stock server reports nothing about an aborted test.
            self.with_iperf3(&transfer, &told_to, &mut tell)
        } else {
            let token = self.token.as_ref();
            let test = Test { to: self.to, token, transfer: &transfer, latency: true };
            let enough = || told_to() || seen.borrow().is_enough(limits);
            client::run(&test, ThreadSettings::default(), &enough, &mut tell)
        };
        let outcome = match outcome {
            // Tests with the default succeed, so the sender refused this congestion control.
            Err(Error::Refused(_) | Error::Option { .. }) if setting.congestion.is_some() => {
                return Ok(Some(ProbeResult::Refused));
            }
            outcome => {
                outcome.map_err(|error| failure(self.protocol, &self.name, self.port, error))?
            }
        };
        if told_to() {
            return Ok(None);
        }
        if let Some(error) = outcome.failure {
            let doing = format!("cannot sweep the path to {}", self.name);
            let failure = send::broke_off((self.protocol, false), &self.name, self.port, error);
            return Err(failure.doing(doing));
        }
        let spent = Span::from_duration(began.elapsed());
        let mut seen = seen.into_inner();
        seen.add_whole(setting.direction, &outcome);
        let measured = measurement(setting.direction, &outcome, &seen, spent);
        measured.map(|measured| Some(ProbeResult::Measured(Box::new(measured)))).ok_or_else(|| {
            let wrong = "a measurement ended before any data arrived";
            Failure::new(format!("cannot sweep the path to {}", self.name), wrong)
                .advise("Give the measurements more data or time with --bytes, --time or --within.")
        })
    }

    /// Runs a test with a stock server.
    fn with_iperf3(
        &self,
        transfer: &Transfer,
        stop: &dyn Fn() -> bool,
        tell: &mut dyn FnMut(&Interval),
    ) -> Result<Outcome, Error> {
        // A server that never answered is not awaited.
        let patience = if self.has_answered.get() { PATIENCE } else { Duration::ZERO };
        let outcome = iperf3::client::run_after_another(self.to, transfer, patience, stop, tell)?;
        self.has_answered.set(true);
        Ok(outcome)
    }
}

/// Returns the transfer of a setting.
fn transfer(setting: &Setting, limits: Limits, stock: bool) -> Transfer {
    let buffers = Buffers { window: setting.window, send: None };
    Transfer {
        direction: match setting.direction {
            Direction::Up => transfer::Direction::Forward,
            Direction::Down => transfer::Direction::Reverse,
        },
        streams: setting.streams,
        until: match limits.bytes {
            Some(most) => EndCondition::Bytes(most),
            None if stock => EndCondition::Time(limits.longest),
            None => EndCondition::Time(NEVER),
        },
        interval: limits.interval,
        length: transfer::UNCOPIED_LENGTH,
        client: buffers,
        server: buffers,
        congestion: setting.congestion.map(|name| name.to_string()),
        ..Transfer::default()
    }
}

/// Reports of both ends during a test.
#[derive(Debug)]
struct TestObservations {
    steady: SteadyRate,
    /// Progress of the test, from the start of the transfer.
    until: Span,
    /// Receive window of a stream: bytes times seconds, and seconds. The mean counts, since the
    /// maximum may have lasted a moment only.
    offered: (f64, f64),
}

impl TestObservations {
    fn within(limits: Limits) -> Self {
        Self { steady: SteadyRate::within(limits), until: Span::ZERO, offered: (0.0, 0.0) }
    }

    fn add(&mut self, interval: &Interval) {
        let (from, to) = (interval.from_seconds, interval.to_seconds);
        if interval.end == End::Client {
            self.until = to;
            self.steady.add(DataInterval { from, to, bytes: interval.bytes });
        }
        let Some(sender) = interval.sender else { return };
        let retransmissions = sender.retransmissions;
        self.steady.hear(SenderSample { to, rtt: sender.rtt_seconds, retransmissions });
        if let Some(window) = sender.peer_window_bytes {
            let time = (to - from).or_zero().as_seconds();
            self.offered.0 += window.get() as f64 * time;
            self.offered.1 += time;
        }
    }

    /// Adds a test that ended before its first interval did.
    fn add_whole(&mut self, way: Direction, outcome: &Outcome) {
        let [sender, receiver] = outcome.way(from_end(way));
        if let Some(whole) = receiver.or(sender) {
            let (from, to) = (Span::ZERO, whole.seconds);
            self.steady.add_whole(DataInterval { from, to, bytes: whole.bytes });
        }
    }

    /// Returns whether the rate is certain, or the test has lasted its maximum time.
    fn is_enough(&self, limits: Limits) -> bool {
        self.until >= limits.longest || self.steady.is_certain()
    }

    fn window(&self) -> Option<Bytes> {
        let (sum, seconds) = self.offered;
        let mean = Bytes::new(whole_part((sum / seconds).round()));
        (seconds > 0.0 && mean > Bytes::ZERO).then_some(mean)
    }
}

fn failure(protocol: Protocol, name: &str, port: u16, error: Error) -> Failure {
    let failure = send::failure_with((protocol, false), name, port, error);
    failure.doing(format!("cannot sweep the path to {name}"))
}

/// Returns the end that sends.
fn from_end(way: Direction) -> End {
    if way == Direction::Up { End::Client } else { End::Server }
}

/// Returns the measurement of both ends; `None` if no data was transferred.
fn measurement(
    way: Direction,
    outcome: &Outcome,
    seen: &TestObservations,
    spent: Span,
) -> Option<Measurement> {
    let [sender, receiver] = outcome.way(from_end(way));
    // A stock server does not report its sockets.
    let kernel = sender.and_then(DirectionReport::kernel).unwrap_or_default();
    let latency = outcome.latency;
    let cause = sender.filter(|sender| !sender.streams.is_empty()).map(|sender| {
        verdict(&DirectionSeen { receiver, latency, ..DirectionSeen::by_sender(sender) }).cause
    });
    // After retransmissions the kernel's minimum RTT may come from TCP timestamps, which count
    // milliseconds.
    let own = kernel.min_rtt_seconds.filter(|_| kernel.retransmissions == 0);
    let idle = latency.idle_seconds.map(|idle| idle.min);
    let counted = seen.steady.counted()?;
    let trips = seen.steady.round_trips(counted.from);
    let cpu = |side: &DirectionReport| side.cpu.user_seconds + side.cpu.system_seconds;
    let congestion = sender.and_then(|sender| sender.streams.first());
    let retransmissions = sender.and_then(|sender| sender.retransmissions);
    Some(Measurement {
        bytes: counted.bytes,
        time: counted.to - counted.from,
        left_out: counted.from,
        spent,
        half_width_ppm: counted.half_width_ppm(),
        least_rtt: own.into_iter().chain(idle).min().or(kernel.min_rtt_seconds),
        mean_rtt: trips.map(|(mean, _)| mean),
        max_rtt: trips.map(|(_, most)| most),
        // Of several streams each has its own.
        fastest: sender.filter(|sender| sender.streams.len() == 1).and_then(|_| {
            let most = whole_part(kernel.max_delivery_bytes_per_second.bytes_per_second());
            (most > 0).then(|| Bytes::new(most))
        }),
        small_rtt: latency.loaded_seconds.map(|loaded| loaded.p50),
        small_rtt_p99: latency.loaded_seconds.and_then(|loaded| loaded.p99),
        // The kernel also counts data sent after the counted time.
        transmitted: kernel.sent_bytes.max(kernel.retransmitted_bytes),
        retransmitted: kernel.retransmitted_bytes,
        retransmissions: retransmissions.unwrap_or(kernel.retransmissions),
        steady_retransmissions: seen.steady.retransmissions(counted.from),
        offered: seen.window(),
        cpu: sender.zip(receiver).map(|(sender, receiver)| cpu(sender) + cpu(receiver)),
        all_bytes: receiver.or(sender).map_or(Bytes::ZERO, |side| side.total_bytes),
        cause,
        congestion: congestion.and_then(|stream| stream.congestion.parse().ok()),
    })
}
