//! Round trips, one after the other: handshakes of TCP ([`Connect`]), requests
//! and answers over one connection ([`Exchange`]) or by UDP ([`Datagrams`]), or
//! echoes of ICMP ([`Icmp`]).
//!
//! [`run`] is the loop that all share. It takes the times with the
//! monotonic clock of the system, around the trip alone: what is counted, told
//! or printed comes after it.

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
pub use exchange::{Asleep, Connection, Exchange};
pub use icmp::{Icmp, Socket};
use pace::Pace;
pub use target::Target;

/// What is timed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Handshakes of TCP.
    #[default]
    Connect,
    /// Requests and answers over one connection.
    Latency,
    /// Requests and answers by UDP.
    Udp,
    /// Echoes of ICMP.
    Icmp,
}

/// The number of trips, how far apart, and how long each may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// How many count, at most.
    pub count: Option<u64>,
    /// The time for which those that count are begun.
    pub time: Option<Duration>,
    /// From the beginning of one to that of the next; without it the next begins
    /// when one is over. A trip that takes longer puts off the next.
    pub interval: Option<Duration>,
    /// How many do not count, at first.
    pub warmup: u64,
    /// The time for which an answer is waited for.
    pub timeout: Duration,
}

/// What came of a trip.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// An answer.
    Answered,
    /// The host says that nobody listens on the port. That is an answer of the
    /// host, and as quick as any.
    Refused,
    /// Nothing in time.
    Silent,
    /// The packet does not get there.
    Unreachable {
        /// Why, as the system puts it.
        why: String,
        /// Who says so; nothing where this system does.
        by: Option<IpAddr>,
    },
}

impl Outcome {
    /// Returns whether the host has answered.
    pub const fn is_answer(&self) -> bool {
        matches!(self, Self::Answered | Self::Refused)
    }
}

/// A round trip.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trip {
    /// The outcome.
    pub outcome: Outcome,
    /// The time for which it took.
    pub time: Duration,
    /// True if this end sent something again for it.
    pub resent: bool,
    /// True if the answer brought other data than was sent.
    pub altered: bool,
    /// The processor on which the other end answered, where it says so.
    pub far_cpu: Option<u32>,
}

impl Trip {
    /// One of which nothing else is known.
    const fn new(outcome: Outcome, time: Duration) -> Self {
        Self { outcome, time, resent: false, altered: false, far_cpu: None }
    }

    /// Returns whether its answer came to one who waits no longer than this. The system wakes who
    /// waits for a moment later than that, and an answer may be there by then.
    fn is_late(&self, timeout: Duration) -> bool {
        self.outcome.is_answer() && self.time > timeout
    }
}

/// What makes round trips.
pub trait Prober {
    /// What it times.
    fn kind(&self) -> Kind;

    /// Makes one. Nothing where `stop` ended it.
    ///
    /// # Errors
    /// Fails where no more can be made.
    fn trip(&mut self, timeout: Duration, stop: &dyn Fn() -> bool) -> Result<Option<Trip>, Error>;

    /// Adds what it alone knows, once all trips are made.
    fn tell(&self, _measured: &mut Measured) {}
}

/// A trip, as it is told of.
#[derive(Clone, Copy, Debug)]
pub struct TripSeen<'a> {
    /// Its number, from 1; nothing where it does not count.
    pub number: Option<u64>,
    /// The time when it began, from the beginning of the first that counts.
    pub began: Duration,
    /// The trip.
    pub trip: &'a Trip,
    /// All that was measured so far.
    pub measured: &'a Measured,
}

/// What was measured.
#[derive(Debug, Default, Serialize)]
pub struct Measured {
    /// What was timed.
    pub kind: Kind,
    /// Requests that do not count.
    pub warmup: u64,
    /// Requests that count.
    pub sent: u64,
    /// How many were answered: with what was asked for, or with a refusal.
    pub answered: u64,
    /// How many of the answers were refusals.
    pub refused: u64,
    /// Requests of which the system, or a host on the way, said that they do not
    /// get there.
    pub unreachable: u64,
    /// Requests without a word in time.
    pub silent: u64,
    /// Both as a share of those sent.
    pub loss: f64,
    /// Handshakes for which the SYN was sent again; their times hold the wait.
    pub resent: Option<u64>,
    /// Echoes with other data than was sent.
    pub altered: Option<u64>,
    /// Echoes, and answers by UDP, that came when they were no longer waited for, warm-up
    /// included.
    pub late: Option<u64>,
    /// Those that came again.
    pub repeated: Option<u64>,
    /// The time for which answers took, refusals included.
    #[serde(skip)]
    pub times: Histogram,
    /// The same; nothing where there were none.
    pub trip_seconds: Option<Quantiles>,
    /// Their standard deviation; nothing of fewer than two.
    pub deviation_seconds: Option<Span>,
    /// From the first request that counts to the last answer.
    pub seconds: Span,
    /// Where this end ran.
    pub client: Placement,
    /// Where the server ran, as it says itself.
    pub server: Option<Placement>,
    /// True if the server slept until a request came; nothing where there is none, or it does
    /// not say.
    pub server_asleep: Option<bool>,
    /// What the kernel says of the connection.
    pub connection: Option<Connection>,
    /// By which socket echoes were asked for.
    pub socket: Option<Socket>,
    /// What came of the last request without an answer.
    #[serde(skip)]
    pub unanswered: Option<Outcome>,
    /// True if it was stopped before its end.
    pub interrupted: bool,
    /// The reason why it could not go on, where it could not.
    #[serde(serialize_with = "as_words")]
    pub failure: Option<Error>,
}

fn as_words<S: Serializer>(failure: &Option<Error>, to: S) -> Result<S::Ok, S::Error> {
    failure.as_ref().map(ToString::to_string).serialize(to)
}

/// The processors on which an end ran.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Placement {
    /// Their numbers, in the order in which they were met.
    pub cpus: Vec<u32>,
    /// How often it was another one than at the trip before.
    pub moves: u64,
    /// The one at the last trip.
    #[serde(skip)]
    pub last: Option<u32>,
}

impl Placement {
    /// The most processors that are listed: a peer may say anything.
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

impl Measured {
    /// Nothing yet.
    fn of(kind: Kind) -> Self {
        let counted = |by| (kind == by).then_some(0);
        let (resent, altered) = (counted(Kind::Connect), counted(Kind::Icmp));
        let late = counted(Kind::Icmp).or(counted(Kind::Udp));
        Self { kind, resent, altered, late, times: Histogram::fine(), ..Self::default() }
    }

    fn count(&mut self, trip: &Trip) {
        self.sent += 1;
        match trip.outcome {
            Outcome::Answered => {}
            Outcome::Refused => self.refused += 1,
            Outcome::Silent => self.silent += 1,
            Outcome::Unreachable { .. } => self.unreachable += 1,
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

    /// What all trips come to.
    fn end(&mut self) {
        let lost = self.silent + self.unreachable;
        self.loss = if self.sent == 0 { 0.0 } else { lost as f64 / self.sent as f64 };
        self.trip_seconds = self.times.quantiles();
        self.deviation_seconds = self.times.deviation();
    }
}

/// Makes round trips as planned, and tells `saw` of each. It ends by the plan,
/// where `stop` says so, or where no more can be made.
pub fn run(
    prober: &mut dyn Prober,
    plan: &Plan,
    saw: &mut dyn FnMut(&TripSeen<'_>),
    stop: &dyn Fn() -> bool,
) -> Measured {
    wake_on_time();
    let mut measured = Measured::of(prober.kind());
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
    measured: &mut Measured,
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
                Trip { outcome: Outcome::Silent, ..trip }
            }
            Ok(Some(trip)) => trip,
            Ok(None) => break,
            Err(error) => {
                // Its request was sent all the same.
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

/// What reading the clock twice takes, in the median of some: so much of each
/// time is the clock's own.
pub fn clock_cost() -> Span {
    let mut costs: Vec<Duration> = (0..1_001).map(|_| Instant::now().elapsed()).collect();
    costs.sort_unstable();
    Span::from_duration(costs[costs.len() / 2])
}

/// The numbers of errors that say of one packet that it does not get there, and
/// nothing of the next (ip(7), connect(2)): the network or the host cannot be
/// reached, a rule forbids it, the address is down.
fn is_of_the_path(error: &io::Error) -> bool {
    use io::ErrorKind;
    // ENETDOWN to EHOSTUNREACH, and EPERM and EACCES by a filter or a route.
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
        // Parameter problems and reassembly that failed (`icmp_err_convert` in
        // net/ipv4/icmp.c and net/ipv6/icmp.c) come as the first; then an unknown
        // protocol, an unknown host and an isolated one.
        Some(libc::EPROTO | libc::ENOPROTOOPT | libc::EHOSTDOWN | libc::ENONET)
    )
}

/// What the system calls an error, without its number.
fn in_words(error: &io::Error) -> String {
    let words = error.to_string();
    words.split(" (os error").next().unwrap_or(&words).to_owned()
}

#[cfg(test)]
#[path = "ping_tests.rs"]
mod tests;
