//! The path to a host, where windlass serve runs.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::json;
use windlass_base::{Bytes, Failure, Measurement, Span, whole_part};
use windlass_drive::client::{self, Test};
use windlass_drive::control::Token;
use windlass_drive::report::{DirectionReport, Interval, Outcome};
use windlass_drive::side::Ends;
use windlass_drive::sweep::{Direction, Probe};
use windlass_drive::transfer::{self, Buffers, End, Transfer, Until};
use windlass_drive::verdict::{DirectionSeen, verdict};
use windlass_drive::{Error, Protocol};

use super::record::Path;
use super::{SweepArgs, drive};
use crate::commands::send;
use crate::commands::watched::Watched;
use crate::print::{Format, Output};

/// How long one measurement takes where the user does not say: a hundred round
/// trips of 20 ms.
const TIME: Span = Span::from_millis(2_000);
/// How often a point is measured: as often as it takes for one that is off to be
/// seen.
const REPEATS: u16 = 3;

/// Sweeps the path to a host.
pub(super) fn sweep(name: &str, args: &SweepArgs, output: &mut Output) -> anyhow::Result<()> {
    let host = Host::reach(name, args)?;
    let plan = args.plan(false, args.repeat.unwrap_or(REPEATS));
    let running = args.watching.start(output.format() == Format::Json)?;
    let measure = |probe: Probe, stop: &AtomicBool| host.measure(probe, stop);
    drive(args, plan, host.path(), measure, output, |record| Watched::new(record, running))
}

/// A host that measures with us.
#[derive(Debug)]
struct Host {
    name: String,
    port: u16,
    to: SocketAddr,
    token: Option<Token>,
    time: Span,
}

impl Host {
    /// Finds the host.
    fn reach(name: &str, args: &SweepArgs) -> Result<Self, Failure> {
        let token = args.token_file.as_deref().map(send::token).transpose()?;
        let port = args.port;
        let to = client::reach(name, port).map_err(|error| failure(name, port, error))?;
        let time = args.time.unwrap_or(TIME);
        Ok(Self { name: name.to_owned(), port, to, token, time })
    }

    fn path(&self) -> Path {
        let Self { name, port, to, time, .. } = self;
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
            seconds: *time,
            seed: None,
            identity: json!({ "host": name, "port": port, "seconds": time }),
        }
    }

    /// Makes one measurement; `None` where it was told to stop.
    fn measure(&self, probe: Probe, stop: &AtomicBool) -> Result<Option<Measurement>, Failure> {
        let setting = probe.setting;
        let buffers = Buffers { window: Some(setting.window), send: None };
        let transfer = Transfer {
            direction: match setting.direction {
                Direction::Up => transfer::Direction::Forward,
                Direction::Down => transfer::Direction::Reverse,
            },
            streams: setting.streams,
            until: Until::Time(self.time),
            length: transfer::UNCOPIED_LENGTH,
            client: buffers,
            server: buffers,
            ..Transfer::default()
        };
        let token = self.token.as_ref();
        let test = Test { to: self.to, token, transfer: &transfer, latency: true };
        let failed = |error| failure(&self.name, self.port, error);
        let stopped = || stop.load(Ordering::Relaxed);
        let mut offer = Offer::default();
        let mut tell = |interval: &Interval| offer.add(interval);
        let outcome = client::run(&test, Ends::default(), &stopped, &mut tell).map_err(failed)?;
        if outcome.stopped {
            return Ok(None);
        }
        let measured = measurement(setting.direction, &outcome, offer.mean());
        match (outcome.failure, measured) {
            (Some(error), _) => {
                let doing = format!("cannot sweep the path to {}", self.name);
                let failure =
                    send::broke_off((Protocol::Windlass, false), &self.name, self.port, error);
                Err(failure.doing(doing))
            }
            (None, Some(measurement)) => Ok(Some(measurement)),
            (None, None) => {
                let wrong = "the server did not say what it measured";
                Err(Failure::new(format!("cannot sweep the path to {}", self.name), wrong))
            }
        }
    }
}

/// The window that a stream is offered, on average. The most that was seen may
/// have stood for a moment only.
#[derive(Debug, Default)]
struct Offer {
    /// Bytes times seconds.
    sum: f64,
    seconds: f64,
}

impl Offer {
    fn add(&mut self, interval: &Interval) {
        let window = interval.sender.and_then(|sender| sender.peer_window_bytes);
        let time = (interval.to_seconds - interval.from_seconds).or_zero().as_seconds();
        if let Some(window) = window {
            self.sum += window.get() as f64 * time;
            self.seconds += time;
        }
    }

    fn mean(&self) -> Option<Bytes> {
        (self.seconds > 0.0).then(|| Bytes::new(whole_part((self.sum / self.seconds).round())))
    }
}

fn failure(name: &str, port: u16, error: Error) -> Failure {
    send::failure(name, port, error).doing(format!("cannot sweep the path to {name}"))
}

/// What both ends measured; nothing where the sender did not say.
fn measurement(way: Direction, outcome: &Outcome, offered: Option<Bytes>) -> Option<Measurement> {
    let from = if way == Direction::Up { End::Client } else { End::Server };
    let [sender, receiver] = outcome.way(from);
    let sender = sender?;
    let kernel = sender.kernel()?;
    let latency = outcome.latency;
    let seen = DirectionSeen { sender, receiver, latency, pace: None, shared: None };
    let verdict = verdict(&seen);
    // Where segments leave twice, the kernel's least round trip may come from
    // timestamps, which count milliseconds.
    let own = kernel.min_rtt_seconds.filter(|_| kernel.retransmissions == 0);
    let idle = outcome.latency.idle_seconds.map(|idle| idle.min);
    // What arrived, or where the receiver did not say, what it acknowledged.
    let arrived = receiver.unwrap_or(sender);
    let cpu = |side: &DirectionReport| side.cpu.user_seconds + side.cpu.system_seconds;
    Some(Measurement {
        bytes: arrived.bytes,
        time: arrived.seconds,
        least_rtt: own.into_iter().chain(idle).min(),
        mean_rtt: kernel.mean_rtt_seconds,
        // The kernel counts what is sent after the time, too.
        transmitted: kernel.sent_bytes.max(kernel.retransmitted_bytes),
        retransmitted: kernel.retransmitted_bytes,
        retransmissions: kernel.retransmissions,
        offered: offered.filter(|window| *window > Bytes::ZERO),
        cpu: receiver.map(|receiver| cpu(sender) + cpu(receiver)),
        cause: Some(verdict.cause),
    })
}
