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
use windlass_sys::datagrams::Batch;
use windlass_sys::socket::{is_pause, overflowed};
use windlass_sys::wait::{Wait, ready, wake_on_time};
use windlass_wire::numbered::{Format, Stamp};

use super::arrivals::Arrivals;

/// How long before a datagram is due its sender is awake.
const SPIN: Duration = Duration::from_micros(50);

/// The longest that nobody looks whether the flow is to end.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// How far a sender may fall behind and still make up for it. What was missed before that
/// would be a burst, whose loss is none of the path's.
const BEHIND: Duration = Duration::from_millis(20);

/// How long to wait where a queue on the way out of this host is full (`ENOBUFS`).
const FULL_QUEUE: Duration = Duration::from_micros(500);

/// How many datagrams are read at a call.
const AT_ONCE: usize = 32;

/// How often it is looked at the clock without a pace.
const UNPACED: u64 = 16;

/// What a flow's thread and its test share.
#[derive(Debug)]
pub(super) struct Shared {
    /// Nobody sends or receives any more.
    pub(super) stop: AtomicBool,
    /// Datagrams and bytes that were sent.
    pub(super) sent: AtomicU64,
    pub(super) sent_bytes: AtomicU64,
    /// Those that came.
    arrivals: Mutex<Arrivals>,
}

impl Shared {
    pub(super) fn new(format: Format) -> Self {
        Self {
            stop: AtomicBool::new(false),
            sent: AtomicU64::new(0),
            sent_bytes: AtomicU64::new(0),
            arrivals: Mutex::new(Arrivals::new(format.wraps_at())),
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
pub(super) struct Ended {
    pub(super) cpu: CpuTime,
    pub(super) ran: Duration,
    /// What its socket had no room for.
    pub(super) overflowed: Option<u64>,
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
    pub(super) until: Option<Instant>,
    /// How many datagrams it sends at the most.
    pub(super) most: Option<u64>,
    pub(super) shared: Arc<Shared>,
}

impl Sender {
    /// Sends until it is over.
    pub(super) fn run(self) -> Ended {
        let (began, before) = (Instant::now(), cpu::of_this_thread());
        wake_on_time();
        let error = self.send(began).err();
        let cpu = cpu::of_this_thread().since(before);
        Ended { cpu, ran: began.elapsed(), overflowed: None, error }
    }

    fn send(&self, began: Instant) -> io::Result<()> {
        let mut datagram = vec![0; self.length];
        // What can be compressed on the way would go faster than it should.
        getrandom::fill(&mut datagram).map_err(io::Error::other)?;
        let gap = self
            .pace
            .map(|pace| pace.time_for(windlass_base::Bytes::new(self.length as u64)).to_duration());
        let mut due = began + self.turn;
        let mut wait = Wait::new(SPIN);
        let mut number = 0;
        loop {
            if self.shared.stops() || self.most.is_some_and(|most| number >= most) {
                return Ok(());
            }
            let now = match gap {
                None if number % UNPACED != 0 => None,
                _ => Some(Instant::now()),
            };
            if now.zip(self.until).is_some_and(|(now, until)| now >= until) {
                return Ok(());
            }
            if let Some((now, gap)) = now.zip(gap) {
                if now < due {
                    let until = self.until.map_or(due, |until| due.min(until));
                    wait.until(Some(until.min(now + POLL_INTERVAL)), &[])?;
                    continue;
                }
                due += gap;
                if due + BEHIND < now {
                    due = now;
                }
            }
            number += 1;
            let stamp = Stamp { number, sent: since_1970() };
            self.format.write(&mut datagram, &stamp);
            if !self.hand_over(&datagram)? {
                return Ok(());
            }
            self.shared.sent.store(number, Ordering::Relaxed);
            self.shared.sent_bytes.fetch_add(datagram.len() as u64, Ordering::Relaxed);
        }
    }

    /// Gives the socket a datagram; says no where it is over before there is room.
    fn hand_over(&self, datagram: &[u8]) -> io::Result<bool> {
        loop {
            match self.socket.send(datagram) {
                Ok(_) => return Ok(true),
                Err(error) if is_pause(&error) => {}
                Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => {
                    std::thread::sleep(FULL_QUEUE);
                }
                Err(error) => return Err(error),
            }
            let late = self.until.is_some_and(|until| Instant::now() >= until);
            if late || self.shared.stops() {
                return Ok(false);
            }
        }
    }
}

/// What a receiver does.
#[derive(Debug)]
pub(super) struct Receiver {
    pub(super) socket: UdpSocket,
    pub(super) format: Format,
    pub(super) length: usize,
    pub(super) shared: Arc<Shared>,
}

impl Receiver {
    /// Takes what comes until it is told to end.
    pub(super) fn run(self) -> Ended {
        let (began, before) = (Instant::now(), cpu::of_this_thread());
        let error = self.receive().err();
        let cpu = cpu::of_this_thread().since(before);
        // The socket is this flow's from its beginning.
        let overflowed = overflowed(&self.socket).ok().map(u64::from);
        Ended { cpu, ran: began.elapsed(), overflowed, error }
    }

    fn receive(&self) -> io::Result<()> {
        let peer = self.socket.peer_addr()?;
        let mut batch = Batch::new(AT_ONCE, self.length.max(self.format.shortest()));
        loop {
            // What has come by the time that it is told to end still counts.
            let stops = self.shared.stops();
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

/// Whether two addresses are one, whatever the scope and the flow label are.
fn is_same(one: std::net::SocketAddr, other: std::net::SocketAddr) -> bool {
    one.ip() == other.ip() && one.port() == other.port()
}

/// The gap between the datagrams of a flow at a pace.
pub(super) fn gap(length: u32, pace: Rate) -> Span {
    pace.time_for(windlass_base::Bytes::new(length.into()))
}
