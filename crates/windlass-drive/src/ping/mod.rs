//! Round trips, one after the other: TCP handshakes ([`Connect`]), requests and answers over one
//! connection ([`Exchange`]) or UDP ([`Datagrams`]), or ICMP echoes ([`Icmp`]).
//!
//! All probers share the loop of [`run`]. It measures with the system's monotonic clock, and only
//! around the round trip: counting, reporting and printing come after it.

pub mod buckets;
mod connect;
mod datagrams;
mod exchange;
mod icmp;
mod pace;
pub mod report;
mod target;

use std::io;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use serde::{Serialize, Serializer};
use windlass_base::{Histogram, Quantiles, Span};
use windlass_sys::cpu;
use windlass_sys::wait::wake_on_time;

use crate::error::Error;
pub use connect::Connect;
pub use datagrams::Datagrams;
pub use exchange::{Connection, Exchange, SleepingEnds};
pub use icmp::{Icmp, Socket};
use pace::Pace;
pub use target::Target;

/// Kind of round trips.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// TCP handshakes.
    #[default]
    Connect,
    /// Requests and answers over one connection.
    Latency,
    /// Requests and answers over UDP.
    Udp,
    /// ICMP echoes.
    Icmp,
}

/// Number of round trips, the interval between them, and the timeout of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Maximum number of counted requests.
    pub count: Option<u64>,
    /// Duration in which counted requests start.
    pub time: Option<Duration>,
    /// Interval between the starts of two requests. Without it, the next request starts when the
    /// last has ended. A round trip that takes longer delays the next.
    pub interval: Option<Duration>,
    /// Number of warm-up requests, which do not count.
    pub warmup: u64,
    /// Timeout of an answer.
    pub timeout: Duration,
}

/// Outcome of a round trip.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TripOutcome {
    /// An answer.
    Answered,
    /// The host says that nothing listens on the port. This is an answer of the host, and as quick
    /// as any.
    Refused,
    /// No answer in time.
    Silent,
    /// The packet does not arrive.
    Unreachable {
        /// Reason, in the system's words.
        why: String,
        /// Address of the host that reported the error; nothing if it was this system.
        by: Option<IpAddr>,
    },
}

impl TripOutcome {
    /// Returns whether the host has answered.
    pub const fn is_answer(&self) -> bool {
        matches!(self, Self::Answered | Self::Refused)
    }
}

/// A round trip.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trip {
    /// Outcome of the round trip.
    pub outcome: TripOutcome,
    /// Duration of the round trip.
    pub time: Duration,
    /// True if this end retransmitted something.
    pub resent: bool,
    /// True if the answer has other data than the request.
    pub altered: bool,
    /// Processor on which the other end answered, if it says so.
    pub far_cpu: Option<u32>,
}

impl Trip {
    /// Makes a round trip of which nothing else is known.
    const fn new(outcome: TripOutcome, time: Duration) -> Self {
        Self { outcome, time, resent: false, altered: false, far_cpu: None }
    }

    /// Returns whether its answer came after the timeout. The system wakes a waiting thread
    /// slightly later, when an answer may already be there.
    fn is_late(&self, timeout: Duration) -> bool {
        self.outcome.is_answer() && self.time > timeout
    }
}

/// A source of round trips.
pub trait Prober {
    /// Returns the kind of its round trips.
    fn kind(&self) -> Kind;

    /// Makes a round trip; returns nothing if `stop` ended it.
    ///
    /// # Errors
    /// Fails if no further round trip is possible.
    fn trip(&mut self, timeout: Duration, stop: &dyn Fn() -> bool) -> Result<Option<Trip>, Error>;

    /// Adds the figures that only the prober has, after all round trips.
    fn tell(&self, _measured: &mut PingResults) {}
}

/// A round trip, as reported to the caller.
#[derive(Clone, Copy, Debug)]
pub struct TripSeen<'a> {
    /// Its number, from 1; nothing if it does not count.
    pub number: Option<u64>,
    /// Time of its start since the first counted request.
    pub began: Duration,
    /// The round trip.
    pub trip: &'a Trip,
    /// Results so far.
    pub measured: &'a PingResults,
}

/// Results of a ping.
#[derive(Debug, Default, Serialize)]
pub struct PingResults {
    /// Kind of round trips.
    pub kind: Kind,
    /// Number of warm-up requests, which do not count.
    pub warmup: u64,
    /// Number of counted requests.
    pub sent: u64,
    /// Number of answers, refusals included.
    pub answered: u64,
    /// Number of refusals among the answers.
    pub refused: u64,
    /// Number of requests that the system, or a host on the path, reported as undeliverable.
    pub unreachable: u64,
    /// Number of requests without any answer in time.
    pub silent: u64,
    /// Unreachable and silent requests as a share of all counted requests.
    pub loss: f64,
    /// Handshakes whose SYN was retransmitted; their times include the wait.
    pub resent: Option<u64>,
    /// Echoes with other data than the request.
    pub altered: Option<u64>,
    /// Echoes and UDP answers that came after their timeout, warm-up included.
    pub late: Option<u64>,
    /// Echoes and UDP answers that came again.
    pub repeated: Option<u64>,
    /// Durations of the answered round trips, refusals included.
    #[serde(skip)]
    pub times: Histogram,
    /// Quantiles of these durations; nothing if there were none.
    pub trip_seconds: Option<Quantiles>,
    /// Standard deviation of these durations; nothing if there were fewer than two.
    pub deviation_seconds: Option<Span>,
    /// Time from the first counted request to the last answer.
    pub seconds: Span,
    /// Processors of this end.
    pub client: Placement,
    /// Processors of the server, as it reports them.
    pub server: Option<Placement>,
    /// True if the server slept until a request came; nothing if there is no server, or it does not
    /// say.
    pub server_asleep: Option<bool>,
    /// Kernel's figures of the connection.
    pub connection: Option<Connection>,
    /// Kind of the socket for echoes.
    pub socket: Option<Socket>,
    /// Outcome of the last request without an answer.
    #[serde(skip)]
    pub unanswered: Option<TripOutcome>,
    /// True if the run was stopped before its end.
    pub interrupted: bool,
    /// Error that ended the run early.
    #[serde(serialize_with = "as_words")]
    pub failure: Option<Error>,
}

fn as_words<S: Serializer>(failure: &Option<Error>, to: S) -> Result<S::Ok, S::Error> {
    failure.as_ref().map(ToString::to_string).serialize(to)
}

/// Processors on which an end ran.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Placement {
    /// Their numbers, in the order of first use.
    pub cpus: Vec<u32>,
    /// Number of changes of processor between round trips.
    pub moves: u64,
    /// Processor of the last round trip.
    #[serde(skip)]
    pub last: Option<u32>,
}

impl Placement {
    /// Maximum number of listed processors: a peer may report any.
    const MAX: usize = 1_024;

    fn saw(&mut self, cpu: Option<u32>) {
        if cpu.is_none() || cpu == self.last {
            return;
        }
        self.moves += u64::from(self.last.is_some());
        self.last = cpu;
        let new = cpu.filter(|cpu| self.cpus.len() < Self::MAX && !self.cpus.contains(cpu));
        self.cpus.extend(new);
    }
}

impl PingResults {
    /// Returns empty results.
    fn of(kind: Kind) -> Self {
        let counted = |by| (kind == by).then_some(0);
        let (resent, altered) = (counted(Kind::Connect), counted(Kind::Icmp));
        let late = counted(Kind::Icmp).or(counted(Kind::Udp));
        Self { kind, resent, altered, late, times: Histogram::fine(), ..Self::default() }
    }

    fn count(&mut self, trip: &Trip) {
        self.sent += 1;
        match trip.outcome {
            TripOutcome::Answered => {}
            TripOutcome::Refused => self.refused += 1,
            TripOutcome::Silent => self.silent += 1,
            TripOutcome::Unreachable { .. } => self.unreachable += 1,
        }
        if trip.outcome.is_answer() {
            self.answered += 1;
            self.times.add(Span::from_duration(trip.time));
            let add = |count: &mut u64, one| *count += u64::from(one);
            self.resent.iter_mut().for_each(|count| add(count, trip.resent));
            self.altered.iter_mut().for_each(|count| add(count, trip.altered));
        } else {
            self.unanswered = Some(trip.outcome.clone());
        }
    }

    /// Computes the figures over all round trips.
    fn end(&mut self) {
        let lost = self.silent + self.unreachable;
        self.loss = if self.sent == 0 { 0.0 } else { lost as f64 / self.sent as f64 };
        self.trip_seconds = self.times.quantiles();
        self.deviation_seconds = self.times.deviation();
    }
}

/// Makes round trips as planned, and calls `saw` with each. The run ends by the plan, when `stop`
/// returns true, or on an error of the prober.
pub fn run(
    prober: &mut dyn Prober,
    plan: &Plan,
    saw: &mut dyn FnMut(&TripSeen<'_>),
    stop: &dyn Fn() -> bool,
) -> PingResults {
    wake_on_time();
    let mut measured = PingResults::of(prober.kind());
    let done = go(prober, plan, saw, stop, &mut measured);
    measured.interrupted = stop();
    measured.failure = done.err();
    measured.end();
    prober.tell(&mut measured);
    measured
}

fn go(
    prober: &mut dyn Prober,
    plan: &Plan,
    saw: &mut dyn FnMut(&TripSeen<'_>),
    stop: &dyn Fn() -> bool,
    measured: &mut PingResults,
) -> Result<(), Error> {
    let mut pace = Pace::new(plan.interval);
    let mut began = None;
    while plan.count.is_none_or(|count| measured.sent < count) {
        let is_warmup = measured.warmup < plan.warmup;
        let end = began.zip(plan.time).map(|(began, time): (Instant, Duration)| began + time);
        if !pace.wait(end, stop).map_err(Error::io("cannot wait"))? {
            break;
        }
        if !is_warmup && began.is_none() {
            began = Some(Instant::now());
        }
        let at = began.map_or(Duration::ZERO, |first| first.elapsed());
        let trip = match prober.trip(plan.timeout, stop) {
            Ok(Some(trip)) if trip.is_late(plan.timeout) => {
                measured.late.iter_mut().for_each(|count| *count += 1);
                Trip { outcome: TripOutcome::Silent, ..trip }
            }
            Ok(Some(trip)) => trip,
            Ok(None) => break,
            Err(error) => {
                // Its request was sent nevertheless.
                let unanswered = matches!(error, Error::Silent { .. } | Error::Gone { .. });
                if unanswered && !is_warmup {
                    measured.sent += 1;
                    measured.silent += 1;
                }
                return Err(error);
            }
        };
        measured.client.saw(u32::try_from(cpu::current()).ok());
        if trip.far_cpu.is_some() {
            measured.server.get_or_insert_default().saw(trip.far_cpu);
        }
        if is_warmup {
            measured.warmup += 1;
        } else {
            measured.count(&trip);
            measured.seconds = began.map_or(Span::ZERO, |at| Span::from_duration(at.elapsed()));
        }
        let number = (!is_warmup).then_some(measured.sent);
        saw(&TripSeen { number, began: at, trip: &trip, measured });
    }
    Ok(())
}

/// Returns the median cost of reading the clock twice, which is part of each measured time.
pub fn clock_cost() -> Span {
    let mut costs: Vec<Duration> = (0..1_001).map(|_| Instant::now().elapsed()).collect();
    costs.sort_unstable();
    Span::from_duration(costs[costs.len() / 2])
}

/// Returns whether an error means that one packet is undeliverable, but says nothing of the next
/// (ip(7), connect(2)). Examples are an unreachable network or host, a firewall rule, and an
/// interface that is down.
fn is_of_the_path(error: &io::Error) -> bool {
    use io::ErrorKind;
    // ENETDOWN to EHOSTUNREACH, and EPERM and EACCES of a filter or a route.
    matches!(
        error.kind(),
        ErrorKind::NetworkDown
            | ErrorKind::NetworkUnreachable
            | ErrorKind::HostUnreachable
            | ErrorKind::PermissionDenied
            | ErrorKind::ConnectionReset
            | ErrorKind::ConnectionAborted
    ) || matches!(
        error.raw_os_error(),
        // Linux reports parameter problems and failed reassembly (`icmp_err_convert` in
        // net/ipv4/icmp.c and net/ipv6/icmp.c) as the first. An unknown protocol, an unknown host
        // and an isolated one follow.
        Some(libc::EPROTO | libc::ENOPROTOOPT | libc::EHOSTDOWN | libc::ENONET)
    )
}

/// Returns the system's text of an error, without its number.
fn in_words(error: &io::Error) -> String {
    let words = error.to_string();
    words.split(" (os error").next().unwrap_or(&words).to_owned()
}

#[cfg(test)]
#[path = "ping_tests.rs"]
mod tests;
