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
use windlass_wire::numbered::{DatagramFormat, Stamp};

use super::arrivals::Arrivals;

/// Time before a datagram is due at which its sender wakes.
const SPIN: Duration = Duration::from_micros(50);

/// Longest time between two checks for the end of the flow.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Largest delay that a sender makes up for. Making up for more would be a burst, whose loss would
/// not be the path's fault.
const BEHIND: Duration = Duration::from_millis(20);

/// Wait after a full queue of this host's interface (`ENOBUFS`).
const FULL_QUEUE: Duration = Duration::from_micros(500);

/// Number of datagrams read at a call, and the number if the kernel joins them.
const AT_ONCE: usize = 32;
const JOINED_AT_ONCE: usize = 8;

/// Maximum number of datagrams sent at a call.
const BURST: usize = 64;

/// Longest joined datagram: at most an IP packet, in bytes.
const LONGEST_JOINED: usize = 1 << 16;

/// Shortest gap that a thread keeps by waking for each datagram. With shorter gaps, datagrams that
/// are due go together. The kernel may join them, and their times then differ by less than the gap.
const SHORT_GAP: Duration = Duration::from_micros(10);

/// Number and interval of the last datagrams of an iperf 2 flow.
const LAST_ONES: u32 = 10;
const LAST_GAP: Duration = Duration::from_millis(250);

/// Longest wait for their answer.
pub(crate) const ANSWERING: Duration = LAST_GAP.saturating_mul(LAST_ONES);

/// Number and interval of the last datagrams without an answer: enough that one arrives.
const UNANSWERED: u32 = 3;
const UNANSWERED_GAP: Duration = Duration::from_millis(10);

/// Longest time until a receiving program opens its port.
const LISTENING: Duration = Duration::from_secs(2);

/// Longest time for a host to report a closed port. A later refusal comes from a port that was open
/// before.
const REFUSING: Duration = Duration::from_millis(500);

/// Way in which a sender signals the end of its flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum EndSignal {
    /// By another channel.
    #[default]
    Silent,
    /// By its last datagrams without an answer, as iperf 2's server does.
    Said,
    /// By its last datagrams, which are answered with a report, as iperf 2's client does.
    Answered {
        /// True if the other end may open its port a moment late.
        opens_late: bool,
    },
}

/// State shared by a flow's thread and its test.
#[derive(Debug)]
pub(super) struct FlowState {
    /// True if nothing may be sent or received any more.
    pub(super) stop: AtomicBool,
    /// Number of datagrams and bytes sent.
    pub(super) sent: AtomicU64,
    pub(super) sent_bytes: AtomicU64,
    /// Number of datagrams sent before they counted.
    pub(super) omitted: AtomicU64,
    /// Datagrams that arrived.
    arrivals: Mutex<Arrivals>,
}

impl FlowState {
    /// Returns the state of a flow whose datagrams count after `omit`.
    pub(super) fn new(format: DatagramFormat, omit: Duration) -> Self {
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

/// Result of a flow's thread.
#[derive(Debug, Default)]
pub(super) struct FlowEnd {
    pub(super) cpu: CpuTime,
    pub(super) ran: Duration,
    /// Number of datagrams that the full socket dropped.
    pub(super) overflowed: Option<u64>,
    /// True if that number is a lower bound.
    pub(super) overflowed_is_least: bool,
    /// Other end's answer to the last datagram.
    pub(super) answer: Option<iperf::Report>,
    /// Error of the flow.
    pub(super) error: Option<io::Error>,
}

/// Settings and state of a sending thread.
#[derive(Debug)]
pub(super) struct Sender {
    pub(super) socket: UdpSocket,
    pub(super) format: DatagramFormat,
    pub(super) length: usize,
    /// Pace; without one, as fast as the socket accepts datagrams.
    pub(super) pace: Option<Rate>,
    /// Offset of the first datagram against the other flows: they take turns.
    pub(super) turn: Duration,
    /// Time from which datagrams count.
    pub(super) counts_from: Instant,
    pub(super) until: Option<Instant>,
    /// Maximum number of counted datagrams.
    pub(super) most: Option<u64>,
    pub(super) ending: EndSignal,
    pub(super) shared: Arc<FlowState>,
}

impl Sender {
    /// Sends until the flow is over.
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

    /// Signals the end of the flow, and waits for the answer.
    fn end(&self) -> io::Result<Option<iperf::Report>> {
        let (times, gap) = match self.ending {
            EndSignal::Silent => return Ok(None),
            EndSignal::Said => (UNANSWERED, UNANSWERED_GAP),
            EndSignal::Answered { .. } => (LAST_ONES, LAST_GAP),
        };
        let mut datagram = self.blank()?;
        let number = self.shared.sent.load(Ordering::Relaxed) + 1;
        for _ in 0..times {
            let stamp = Stamp { number, sent: since_1970(), is_last: true };
            self.format.write(&mut datagram, &stamp);
            match self.socket.send(&datagram) {
                // The other end has received one of the last datagrams.
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => break,
                Err(error) if !is_pause(&error) && !is_full(&error) => return Err(error),
                _ => {}
            }
            if self.ending == EndSignal::Said {
                std::thread::sleep(gap);
            } else if let Some(report) = self.hear(Instant::now() + gap)? {
                return Ok(Some(report));
            }
        }
        Ok(None)
    }

    /// Returns the answer, if it comes by `until`.
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

    /// Returns a datagram without its number and time.
    fn blank(&self) -> io::Result<Vec<u8>> {
        let mut datagram = vec![0; self.length];
        // Compressible data could go faster over the path than it should.
        getrandom::fill(&mut datagram).map_err(io::Error::other)?;
        if matches!(self.format, DatagramFormat::Iperf { .. }) {
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
                // The other end has received none of it.
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

    /// Sends the first `count` datagrams; returns how many the socket accepted before the flow was
    /// over. Returns nothing if the other end's port was not open yet.
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
                // A client of iperf 2 opens the port at about the time of the first datagram. The
                // error is about an earlier datagram.
                Err(error)
                    if error.kind() == io::ErrorKind::ConnectionRefused
                        && self.ending == (EndSignal::Answered { opens_late: true })
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

/// Returns the number of datagrams that are due, with the first due for `since`: one, if a thread
/// can wake for each.
fn due_by_now(since: Duration, gap: Duration) -> usize {
    if gap >= SHORT_GAP {
        return 1;
    }
    let more = since.as_nanos().checked_div(gap.as_nanos()).unwrap_or(u128::MAX);
    usize::try_from(more).unwrap_or(usize::MAX).saturating_add(1)
}

/// Settings and state of a receiving thread.
#[derive(Debug)]
pub(super) struct Receiver {
    pub(super) socket: UdpSocket,
    pub(super) format: DatagramFormat,
    pub(super) length: usize,
    /// Time from which datagrams count, unless they count from the socket's beginning.
    pub(super) counts_from: Option<Instant>,
    /// True if datagrams come faster than a thread can wake.
    pub(super) is_fast: bool,
    pub(super) shared: Arc<FlowState>,
}

impl Receiver {
    /// Receives until it is told to end.
    pub(super) fn run(self) -> FlowEnd {
        let (began, before) = (Instant::now(), cpu::of_this_thread());
        let joins = self.is_fast && join_arrivals(&self.socket).is_ok();
        let mut omitted = 0;
        let error = self.receive(joins, &mut omitted).err();
        let cpu = cpu::of_this_thread().since(before);
        // The socket has belonged to this flow from its beginning.
        let overflowed =
            overflowed(&self.socket).ok().map(|all| u64::from(all.wrapping_sub(omitted)));
        let overflowed_is_least = joins && overflowed.is_some_and(|count| count > 0);
        FlowEnd { cpu, ran: began.elapsed(), overflowed, overflowed_is_least, answer: None, error }
    }

    /// Receives datagrams; sets `omitted` to the number that the full socket dropped before the
    /// counted time.
    fn receive(&self, joins: bool, omitted: &mut u32) -> io::Result<()> {
        let peer = self.socket.peer_addr()?;
        let mut counts_from = self.counts_from;
        let mut batch = match joins {
            true => Batch::new(JOINED_AT_ONCE, LONGEST_JOINED),
            false => Batch::new(AT_ONCE, self.length.max(self.format.shortest())),
        };
        loop {
            // Datagrams that arrived before the request to end still count.
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
                // A host that has closed its socket says so (ICMP). Datagrams may still come.
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {}
                Err(error) => return Err(error),
            }
        }
    }
}

/// Returns whether the queue of this host's interface is full.
fn is_full(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::ENOBUFS)
}

/// Returns whether two addresses are equal, apart from scope and flow label.
fn is_same(one: std::net::SocketAddr, other: std::net::SocketAddr) -> bool {
    one.ip() == other.ip() && one.port() == other.port()
}

/// Returns whether datagrams with this gap, or without one, come faster than a thread can wake.
pub(super) fn is_fast(gap: Option<Span>) -> bool {
    gap.is_none_or(|gap| gap.to_duration() < SHORT_GAP)
}

/// Returns the gap between the datagrams of a flow at a pace.
pub(super) fn gap(length: u32, pace: Rate) -> Span {
    pace.time_for(windlass_base::Bytes::new(length.into()))
}
