//! One flow of datagrams: its socket, and the threads that send or receive it.

use std::io;
use std::net::UdpSocket;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use windlass_base::{Rate, Span};
use windlass_sys::clock::since_1970;
use windlass_sys::cpu::{self, CpuTime};
use windlass_sys::datagrams::{Batch, Burst, join_arrivals};
use windlass_sys::socket::{is_pause, overflowed};
use windlass_sys::wait::{Wait, ready, wake_on_time};
use windlass_wire::iperf2::datagrams as iperf;
use windlass_wire::numbered::{Format, Stamp};

use super::arrivals::Arrivals;

/// The time for which before a datagram is due its sender is awake.
const SPIN: Duration = Duration::from_micros(50);

/// The longest that nobody looks whether the flow is to end.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// How far a sender may fall behind and still make up for it. What was missed before that
/// would be a burst, whose loss is none of the path's.
const BEHIND: Duration = Duration::from_millis(20);

/// The time for which to wait where a queue on the way out of this host is full (`ENOBUFS`).
const FULL_QUEUE: Duration = Duration::from_micros(500);

/// How many datagrams are read at a call, and how many as the kernel joins them.
const AT_ONCE: usize = 32;
const JOINED_AT_ONCE: usize = 8;

/// The most that go at a call.
const BURST: usize = 64;

/// What the kernel joins is as long as an IP packet at the most.
const LONGEST_JOINED: usize = 1 << 16;

/// A shorter gap than this is kept by those that are due going together: no thread wakes as often.
/// The kernel may join what comes so fast, whose times then differ by less than that.
const SHORT_GAP: Duration = Duration::from_micros(10);

/// How often iperf 2 says that a flow has ended, and how far apart.
const LAST_ONES: u32 = 10;
const LAST_GAP: Duration = Duration::from_millis(250);

/// The time for which its answer is awaited.
pub(crate) const ANSWERING: Duration = LAST_GAP.saturating_mul(LAST_ONES);

/// The same where nobody answers: all of them are not lost.
const UNANSWERED: u32 = 3;
const UNANSWERED_GAP: Duration = Duration::from_millis(10);

/// The longest time that a program that is to receive may take until it does.
const LISTENING: Duration = Duration::from_secs(2);

/// The time for which it takes at the most until its host says that it does not yet. Who is refused
/// later has been heard.
const REFUSING: Duration = Duration::from_millis(500);

/// How a sender says that its flow has ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Ending {
    /// Elsewhere.
    #[default]
    Silent,
    /// As iperf 2's server does: by its last datagram, which nobody answers.
    Said,
    /// As its client does: the last one is answered with a report.
    Answered {
        /// True if the other end may open its port a moment late.
        opens_late: bool,
    },
}

/// What a flow's thread and its test share.
#[derive(Debug)]
pub(super) struct Shared {
    /// Nobody sends or receives any more.
    pub(super) stop: AtomicBool,
    /// Datagrams and bytes that were sent.
    pub(super) sent: AtomicU64,
    pub(super) sent_bytes: AtomicU64,
    /// How many were sent before they counted.
    pub(super) omitted: AtomicU64,
    /// Those that came.
    arrivals: Mutex<Arrivals>,
}

impl Shared {
    /// Of datagrams that count after so long.
    pub(super) fn new(format: Format, omit: Duration) -> Self {
        let counts_from = (!omit.is_zero()).then(|| since_1970() + omit);
        let arrivals = Arrivals::new(format.wraps_at()).counting_from(counts_from);
        Self {
            stop: AtomicBool::new(false),
            sent: AtomicU64::new(0),
            sent_bytes: AtomicU64::new(0),
            omitted: AtomicU64::new(0),
            arrivals: Mutex::new(arrivals),
        }
    }

    pub(super) fn arrivals(&self) -> MutexGuard<'_, Arrivals> {
        self.arrivals.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn stops(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// How a flow ended.
#[derive(Debug, Default)]
pub(super) struct FlowEnd {
    pub(super) cpu: CpuTime,
    pub(super) ran: Duration,
    /// What its socket had no room for.
    pub(super) overflowed: Option<u64>,
    /// True if it was that at the least.
    pub(super) overflowed_is_least: bool,
    /// What the other end answered to its last datagram.
    pub(super) answer: Option<iperf::Report>,
    /// What went wrong.
    pub(super) error: Option<io::Error>,
}

/// What a sender does.
#[derive(Debug)]
pub(super) struct Sender {
    pub(super) socket: UdpSocket,
    pub(super) format: Format,
    pub(super) length: usize,
    /// How fast it sends; as fast as the socket takes it, without.
    pub(super) pace: Option<Rate>,
    /// How much later than the flows before it the first one goes: they take turns.
    pub(super) turn: Duration,
    /// From when on what it sends counts.
    pub(super) counts_from: Instant,
    pub(super) until: Option<Instant>,
    /// How many datagrams that count it sends at the most.
    pub(super) most: Option<u64>,
    pub(super) ending: Ending,
    pub(super) shared: Arc<Shared>,
}

impl Sender {
    /// Sends until it is over.
    pub(super) fn run(self) -> FlowEnd {
        let (began, before) = (Instant::now(), cpu::of_this_thread());
        wake_on_time();
        let sent = self.send(began);
        let ran = began.elapsed();
        let cpu = cpu::of_this_thread().since(before);
        let ended = sent.and_then(|()| self.end());
        let (answer, error) = match ended {
            Ok(answer) => (answer, None),
            Err(error) => (None, Some(error)),
        };
        FlowEnd { cpu, ran, answer, error, ..FlowEnd::default() }
    }

    /// Says that this was all, and hears the answer.
    fn end(&self) -> io::Result<Option<iperf::Report>> {
        let (times, gap) = match self.ending {
            Ending::Silent => return Ok(None),
            Ending::Said => (UNANSWERED, UNANSWERED_GAP),
            Ending::Answered { .. } => (LAST_ONES, LAST_GAP),
        };
        let mut datagram = self.blank()?;
        let number = self.shared.sent.load(Ordering::Relaxed) + 1;
        for _ in 0..times {
            let stamp = Stamp { number, sent: since_1970(), is_last: true };
            self.format.write(&mut datagram, &stamp);
            match self.socket.send(&datagram) {
                // It has heard one of them.
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => break,
                Err(error) if !is_pause(&error) && !is_full(&error) => return Err(error),
                _ => {}
            }
            if self.ending == Ending::Said {
                std::thread::sleep(gap);
            } else if let Some(report) = self.hear(Instant::now() + gap)? {
                return Ok(Some(report));
            }
        }
        Ok(None)
    }

    /// Hears the answer, where it comes by then.
    fn hear(&self, until: Instant) -> io::Result<Option<iperf::Report>> {
        let mut answer = [0; iperf::LONGEST_ANSWER];
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() || !ready(&[self.socket.as_fd()], Some(left))? {
                return Ok(None);
            }
            match self.socket.recv(&mut answer) {
                Ok(length) => {
                    let report = iperf::Report::read(&answer[..length]);
                    if report.is_some() {
                        return Ok(report);
                    }
                }
                Err(error) if is_pause(&error) => {}
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => return Ok(None),
                Err(error) => return Err(error),
            }
        }
    }

    /// A datagram without its number and time.
    fn blank(&self) -> io::Result<Vec<u8>> {
        let mut datagram = vec![0; self.length];
        // What can be compressed on the way would go faster than it should.
        getrandom::fill(&mut datagram).map_err(io::Error::other)?;
        if matches!(self.format, Format::Iperf { .. }) {
            iperf::write_header(&mut datagram);
        }
        Ok(datagram)
    }

    fn send(&self, began: Instant) -> io::Result<()> {
        let datagram = self.blank()?;
        let gap = self
            .pace
            .map(|pace| pace.time_for(windlass_base::Bytes::new(self.length as u64)).to_duration());
        let mut burst = Burst::new(BURST, &datagram);
        let mut due = began + self.turn;
        let mut wait = Wait::new(SPIN);
        let (mut number, mut tried) = (0, began);
        let mut counts_from = Some(self.counts_from);
        loop {
            let now = Instant::now();
            if counts_from.take_if(|from| now >= *from).is_some() {
                self.shared.omitted.store(number, Ordering::Relaxed);
            }
            let counted = number - self.shared.omitted.load(Ordering::Relaxed);
            let most = self.most.filter(|_| counts_from.is_none());
            let left = most.map_or(u64::MAX, |most| most - counted);
            if self.shared.stops() || left == 0 {
                return Ok(());
            }
            let most = usize::try_from(left).unwrap_or(usize::MAX).min(BURST);
            if self.until.is_some_and(|until| now >= until) {
                return Ok(());
            }
            let mut count = most;
            if let Some(gap) = gap {
                if now < due {
                    let until = self.until.map_or(due, |until| due.min(until));
                    wait.until(Some(until.min(now + POLL_INTERVAL)), &[])?;
                    continue;
                }
                count = count.min(due_by_now(now - due, gap));
                due += gap * u32::try_from(count).unwrap_or(u32::MAX);
                if due + BEHIND < now {
                    due = now;
                }
            }
            for place in 0..count {
                number += 1;
                let stamp = Stamp { number, sent: since_1970(), is_last: false };
                self.format.write(burst.datagram(place), &stamp);
            }
            let Some(sent) = self.hand_over(&mut burst, count, (began, tried))? else {
                // Nobody has heard any of it.
                number = 0;
                self.shared.sent.store(0, Ordering::Relaxed);
                self.shared.sent_bytes.store(0, Ordering::Relaxed);
                (due, tried) = (Instant::now(), Instant::now());
                continue;
            };
            number -= (count - sent) as u64;
            self.shared.sent.store(number, Ordering::Relaxed);
            self.shared.sent_bytes.fetch_add((sent * self.length) as u64, Ordering::Relaxed);
            if sent < count {
                return Ok(());
            }
        }
    }

    /// Gives the socket the first so many datagrams; says how many it took before it was over.
    /// Nothing where the other end was not there yet for those before.
    fn hand_over(
        &self,
        burst: &mut Burst,
        count: usize,
        (began, tried): (Instant, Instant),
    ) -> io::Result<Option<usize>> {
        let mut sent = 0;
        while sent < count {
            match burst.send(&self.socket, sent, count) {
                Ok(more) => {
                    sent += more;
                    continue;
                }
                Err(error) if is_pause(&error) => {}
                Err(error) if is_full(&error) => std::thread::sleep(FULL_QUEUE),
                // A client of iperf 2 opens the port about when it is sent to. The error is of a
                // datagram before.
                Err(error)
                    if error.kind() == io::ErrorKind::ConnectionRefused
                        && self.ending == (Ending::Answered { opens_late: true })
                        && tried.elapsed() < REFUSING
                        && began.elapsed() < LISTENING =>
                {
                    std::thread::sleep(FULL_QUEUE);
                    return Ok(None);
                }
                Err(error) => return Err(error),
            }
            let late = self.until.is_some_and(|until| Instant::now() >= until);
            if late || self.shared.stops() {
                break;
            }
        }
        Ok(Some(sent))
    }
}

/// How many datagrams are due, the first of them since so long: one, where a thread can wake for
/// each.
fn due_by_now(since: Duration, gap: Duration) -> usize {
    if gap >= SHORT_GAP {
        return 1;
    }
    let more = since.as_nanos().checked_div(gap.as_nanos()).unwrap_or(u128::MAX);
    usize::try_from(more).unwrap_or(usize::MAX).saturating_add(1)
}

/// What a receiver does.
#[derive(Debug)]
pub(super) struct Receiver {
    pub(super) socket: UdpSocket,
    pub(super) format: Format,
    pub(super) length: usize,
    /// From when on what comes counts, where not from the begin of its socket.
    pub(super) counts_from: Option<Instant>,
    /// True if they come faster than a thread wakes.
    pub(super) is_fast: bool,
    pub(super) shared: Arc<Shared>,
}

impl Receiver {
    /// Takes what comes until it is told to end.
    pub(super) fn run(self) -> FlowEnd {
        let (began, before) = (Instant::now(), cpu::of_this_thread());
        let joins = self.is_fast && join_arrivals(&self.socket).is_ok();
        let mut omitted = 0;
        let error = self.receive(joins, &mut omitted).err();
        let cpu = cpu::of_this_thread().since(before);
        // The socket is this flow's from its beginning.
        let overflowed =
            overflowed(&self.socket).ok().map(|all| u64::from(all.wrapping_sub(omitted)));
        let overflowed_is_least = joins && overflowed.is_some_and(|count| count > 0);
        FlowEnd { cpu, ran: began.elapsed(), overflowed, overflowed_is_least, answer: None, error }
    }

    /// Takes what comes; `omitted` becomes what the socket had no room for before that counted.
    fn receive(&self, joins: bool, omitted: &mut u32) -> io::Result<()> {
        let peer = self.socket.peer_addr()?;
        let mut counts_from = self.counts_from;
        let mut batch = match joins {
            true => Batch::new(JOINED_AT_ONCE, LONGEST_JOINED),
            false => Batch::new(AT_ONCE, self.length.max(self.format.shortest())),
        };
        loop {
            // What has come by the time that it is told to end still counts.
            let stops = self.shared.stops();
            if counts_from.take_if(|from| Instant::now() >= *from).is_some() {
                *omitted = overflowed(&self.socket).unwrap_or(0);
            }
            if !stops && !ready(&[self.socket.as_fd()], Some(POLL_INTERVAL))? {
                continue;
            }
            match batch.receive(&self.socket) {
                Ok(_) => {
                    let mut arrivals = self.shared.arrivals();
                    for one in batch
                        .arrived()
                        .filter(|one| one.from.is_none_or(|from| is_same(from, peer)))
                    {
                        if let Some(stamp) = self.format.read(one.bytes) {
                            arrivals.take(&stamp, one.at, one.bytes.len());
                        }
                    }
                }
                Err(error) if is_pause(&error) => {
                    if stops {
                        return Ok(());
                    }
                }
                // A host that has closed its socket says so (ICMP). What comes, comes.
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {}
                Err(error) => return Err(error),
            }
        }
    }
}

/// Returns whether a queue on the way out is full.
fn is_full(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::ENOBUFS)
}

/// Returns whether two addresses are one, whatever the scope and the flow label are.
fn is_same(one: std::net::SocketAddr, other: std::net::SocketAddr) -> bool {
    one.ip() == other.ip() && one.port() == other.port()
}

/// Returns whether datagrams at this distance come faster than a thread wakes; they do without one.
pub(super) fn is_fast(gap: Option<Span>) -> bool {
    gap.is_none_or(|gap| gap.to_duration() < SHORT_GAP)
}

/// The gap between the datagrams of a flow at a pace.
pub(super) fn gap(length: u32, pace: Rate) -> Span {
    pace.time_for(windlass_base::Bytes::new(length.into()))
}
