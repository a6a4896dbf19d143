//! Tests over UDP: datagrams of one size, to an end that counts them.
//!
//! ttcp's datagrams (`-u`) carry no numbers. Short datagrams before and after the data mark its
//! beginning and end, and neither end learns of losses.

use std::io::{self, Read};
use std::net::{SocketAddr, UdpSocket};
use std::sync::PoisonError;
use std::thread;
use std::time::{Duration, Instant};

use windlass_base::{Bytes, Span};
use windlass_sys::cpu;
use windlass_sys::socket::is_pause;

use crate::error::Error;
use crate::meter::{ThreadTime, interval, processor_time};
use crate::report::{Cpu, Datagrams, DirectionReport, Interval, Latency, Outcome, SideReport};
use crate::stream::Source;
use crate::transfer::{Direction, End, EndCondition, Role, Transfer};

/// Largest payload of a UDP datagram over IPv4 (RFC 768, RFC 791), in bytes.
pub const LONGEST: u32 = 65_507;

/// Longest datagram that marks the beginning or the end of ttcp's data (`UDPMINLEN`), in bytes.
pub(crate) const MARK: usize = 4;

/// Shortest datagram length whose last datagrams can be kept longer than a mark.
const SHORTEST: usize = 2 * (MARK + 1);

/// Number of end marks: one may be lost.
const END_MARKS: usize = 4;

/// Time between two end marks.
const MARK_GAP: Duration = Duration::from_millis(10);

/// Longest wait for room in the socket before the sender checks for the end of the test.
const WAIT: Duration = Duration::from_millis(100);

/// Wait after a full queue of this host's interface (`ENOBUFS`).
const FULL_QUEUE: Duration = Duration::from_micros(500);

/// Longest sleep of a paced sender, and so the longest delay of a stop.
const LONGEST_SLEEP: Duration = Duration::from_millis(20);

/// Checks that datagrams of ttcp can carry a transfer.
///
/// # Errors
/// Names the setting that they cannot carry.
pub fn check(transfer: &Transfer) -> Result<(), Error> {
    let refuse = |why: &str| Err(Error::Asked(why.to_owned()));
    if transfer.direction != Direction::Forward || transfer.streams != 1 {
        return refuse("ttcp sends datagrams to the server only, over one stream");
    }
    if transfer.length > LONGEST || (transfer.length as usize) < SHORTEST {
        let why = format!("a datagram has {SHORTEST} to {LONGEST} B: shorter ones mark the end");
        return Err(Error::Asked(why));
    }
    if transfer.omit > Span::ZERO {
        return refuse("a ttcp receiver counts all datagrams, so --omit is not possible");
    }
    let of_tcp = transfer.mss.is_some()
        || transfer.congestion.is_some()
        || transfer.nodelay
        || transfer.client.window.is_some();
    if of_tcp {
        return refuse("UDP has no window, no segments and no congestion control");
    }
    Ok(())
}

/// Sends a test over a newly opened socket, as ttcp does. `tell` is called with the intervals;
/// `stop` ends the test.
///
/// # Errors
/// Fails if the test does not begin. A later failure is reported with the measurements, in
/// [`Outcome::failure`].
pub fn run(
    (socket, to): (UdpSocket, SocketAddr),
    transfer: &Transfer,
    source: Option<Source>,
    stop: &dyn Fn() -> bool,
    tell: &mut dyn FnMut(&Interval),
) -> Result<Outcome, Error> {
    transfer.check()?;
    check(transfer)?;
    let mut data = Data::of(source.unwrap_or(Source::Random), transfer);
    let (before, process) = (cpu::of_this_thread(), cpu::of_this_process());
    let mut test = TtcpSender::new(&socket, transfer);
    let failed = match test.send(&mut data, stop, tell) {
        Ok(()) => test.end().err(),
        Err(error) => Some(error),
    };
    test.close_interval(tell);
    let ran = test.began.elapsed();
    let stopped = failed.is_none() && test.stopped;
    let near = SideReport {
        end: End::Client,
        directions: vec![DirectionReport {
            cpu: processor_time([ThreadTime {
                cpu: cpu::of_this_thread().since(before),
                ran,
                waited: None,
            }]),
            error: failed.as_ref().map(ToString::to_string),
            ..test.report()
        }],
        processors: Some(cpu::allowed().map_or(1, |cpus| cpus.len())),
        process_cpu_seconds: Span::from_duration(cpu::of_this_process().since(process).total()),
    };
    // A host without a listener on the port says so by ICMP, at the next datagram.
    let failure = failed.map(|source| match source.kind() {
        io::ErrorKind::ConnectionRefused => Error::Connect { to: to.to_string(), source },
        _ => Error::Stream(source.to_string()),
    });
    Ok(Outcome { near, far: None, latency: Latency::default(), failure, stopped })
}

/// Opens a socket to a server, and sends the begin mark.
///
/// # Errors
/// Fails if there is no route, an option is refused, or the server is this host and nothing listens
/// on the port. Another host's refusal shows only later.
pub fn open(to: SocketAddr, transfer: &Transfer) -> Result<UdpSocket, Error> {
    let failed = |source| Error::Connect { to: to.to_string(), source };
    let kind = socket2::Type::DGRAM;
    let socket = socket2::Socket::new(socket2::Domain::for_address(to), kind, None);
    let socket = socket.map_err(failed)?;
    transfer.ip.set(&socket)?;
    transfer.ip.bind.apply(&socket, to)?;
    let socket = UdpSocket::from(socket);
    if let Some(send) = transfer.client.send {
        let bytes = usize::try_from(send.get()).unwrap_or(usize::MAX);
        let set = socket2::SockRef::from(&socket).set_send_buffer_size(bytes);
        let value = send.to_string();
        set.map_err(|source| Error::Option { option: "SO_SNDBUF", value, source })?;
    }
    socket.set_write_timeout(Some(WAIT)).map_err(failed)?;
    socket.connect(to).map_err(failed)?;
    mark(&socket).map_err(failed)?;
    match socket.take_error().map_err(failed)? {
        Some(source) => Err(failed(source)),
        None => Ok(socket),
    }
}

/// Sends a begin or end mark.
fn mark(socket: &UdpSocket) -> io::Result<()> {
    match socket.send(&[b' '; MARK]) {
        Err(error) if is_pause(&error) || is_full(&error) => Ok(()),
        done => done.map(drop),
    }
}

/// Payload of the datagrams.
struct Data {
    source: Source,
    length: usize,
    /// Bytes that were read but not sent, or the pattern.
    held: Vec<u8>,
    sent: usize,
}

impl Data {
    fn of(source: Source, transfer: &Transfer) -> Self {
        let length = transfer.length as usize;
        let held = match source {
            Source::Reader(_) => Vec::new(),
            // ttcp's own pattern: the printable letters.
            _ => (b' '..=b'~').cycle().take(length).collect(),
        };
        Self { source, length, held, sent: 0 }
    }

    /// Returns the payload of the next datagram, with `left` bytes still to send; empty at the end.
    fn next(&mut self, left: u64) -> io::Result<&[u8]> {
        let Source::Reader(reader) = &mut self.source else {
            return Ok(&self.held[..one_of(left, self.length)]);
        };
        self.held.drain(..std::mem::take(&mut self.sent));
        let reader = reader.get_mut().unwrap_or_else(PoisonError::into_inner);
        // Reads far enough ahead to see whether the last datagram would be a mark.
        let mut filled = self.held.len();
        self.held.resize(self.length + MARK + 1, 0);
        while filled < self.held.len() {
            match reader.read(&mut self.held[filled..]) {
                Ok(0) => break,
                Ok(bytes) => filled += bytes,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.held.truncate(filled);
        self.sent = one_of(filled as u64, self.length);
        Ok(&self.held[..self.sent])
    }
}

/// Returns how many of the `left` bytes go into the next datagram: a full one, or less if the last
/// one would otherwise be a mark.
fn one_of(left: u64, length: usize) -> usize {
    let left = usize::try_from(left).unwrap_or(usize::MAX);
    match left.saturating_sub(length) {
        1..=MARK => length - MARK,
        _ => left.min(length),
    }
}

/// ttcp test that this end sends.
struct TtcpSender<'a> {
    socket: &'a UdpSocket,
    transfer: &'a Transfer,
    began: Instant,
    bytes: u64,
    datagrams: u64,
    /// Time of the last datagram.
    last: Instant,
    stopped: bool,
    /// Time when the current interval began, and the bytes sent until then.
    interval: (Instant, u64),
}

impl<'a> TtcpSender<'a> {
    fn new(socket: &'a UdpSocket, transfer: &'a Transfer) -> Self {
        let now = Instant::now();
        Self {
            socket,
            transfer,
            began: now,
            bytes: 0,
            datagrams: 0,
            last: now,
            stopped: false,
            interval: (now, 0),
        }
    }

    fn send(
        &mut self,
        data: &mut Data,
        stop: &dyn Fn() -> bool,
        tell: &mut dyn FnMut(&Interval),
    ) -> io::Result<()> {
        self.began = Instant::now();
        self.interval.0 = self.began;
        loop {
            let Some(left) = self.left() else { return Ok(()) };
            let datagram = data.next(left)?;
            if datagram.is_empty() {
                return Ok(());
            }
            loop {
                self.tell_interval(tell);
                if stop() {
                    self.stopped = true;
                    return Ok(());
                }
                if self.left().is_none() {
                    return Ok(());
                }
                if self.waits_for_its_turn() {
                    continue;
                }
                match self.socket.send(datagram) {
                    Ok(bytes) => {
                        self.bytes += bytes as u64;
                        self.datagrams += 1;
                        self.last = Instant::now();
                        break;
                    }
                    Err(error) if is_pause(&error) => {}
                    Err(error) if is_full(&error) => thread::sleep(FULL_QUEUE),
                    Err(error) => return Err(error),
                }
            }
        }
    }

    /// Returns the number of bytes that are left to send; nothing if the test is over.
    fn left(&self) -> Option<u64> {
        match self.transfer.until {
            EndCondition::Time(time) => {
                (self.began.elapsed() < time.to_duration()).then_some(u64::MAX)
            }
            EndCondition::Bytes(bytes) => {
                bytes.get().checked_sub(self.bytes).filter(|left| *left > 0)
            }
            EndCondition::SourceEnds => Some(u64::MAX),
        }
    }

    /// Sleeps for a while if the pace allows the next datagram only later; returns whether it
    /// slept.
    fn waits_for_its_turn(&self) -> bool {
        let Some(pace) = self.transfer.pace else { return false };
        let due = self.began + pace.time_for(Bytes::new(self.bytes)).to_duration();
        let early = due.saturating_duration_since(Instant::now());
        if early.is_zero() {
            return false;
        }
        thread::sleep(early.min(LONGEST_SLEEP));
        true
    }

    /// Sends the end marks.
    fn end(&self) -> io::Result<()> {
        for _ in 0..END_MARKS {
            match mark(self.socket) {
                // A receiver that has one end mark may have gone.
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => return Ok(()),
                done => done?,
            }
            thread::sleep(MARK_GAP);
        }
        Ok(())
    }

    fn tell_interval(&mut self, tell: &mut dyn FnMut(&Interval)) {
        if self.interval.0.elapsed() >= self.transfer.interval.to_duration() {
            self.close_interval(tell);
        }
    }

    /// Reports what was sent since the last interval, unless the interval is too short.
    fn close_interval(&mut self, tell: &mut dyn FnMut(&Interval)) {
        let ((from, bytes), now) = (self.interval, Instant::now());
        let every = self.transfer.interval.to_duration();
        let Some((from, to)) = interval(self.began, (from, now), every) else { return };
        let bytes = Bytes::new(self.bytes - bytes);
        self.interval = (now, self.bytes);
        tell(&Interval {
            end: End::Client,
            role: Role::Sender,
            from_seconds: from,
            to_seconds: to,
            omitted: false,
            bytes,
            bytes_per_second: bytes.per(to - from),
            sender: None,
            datagrams: None,
        });
    }

    fn report(&self) -> DirectionReport {
        let (bytes, seconds) =
            (Bytes::new(self.bytes), Span::from_duration(self.last - self.began));
        direction(Role::Sender, bytes, seconds, self.datagrams)
    }
}

/// Returns whether the queue of this host's interface is full.
fn is_full(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::ENOBUFS)
}

/// Returns the report of a direction from the counts of one end.
pub(crate) fn direction(role: Role, bytes: Bytes, seconds: Span, count: u64) -> DirectionReport {
    DirectionReport {
        role,
        seconds,
        bytes,
        bytes_per_second: bytes.per(seconds),
        total_bytes: bytes,
        cpu: Cpu::default(),
        streams: Vec::new(),
        retransmissions: None,
        datagrams: Some(Datagrams { count, ..Datagrams::default() }),
        delivery: None,
        machine: None,
        program_share: None,
        error: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_datagram_of_data_is_as_short_as_a_mark() {
        for length in [SHORTEST, 100, 1_400] {
            for left in length as u64..3 * length as u64 {
                let (mut rest, mut all) = (left, 0);
                while rest > 0 {
                    let one = one_of(rest, length);
                    assert!(one > MARK && one <= length, "{one} of {rest}, {length} at a time");
                    (rest, all) = (rest - one as u64, all + one as u64);
                }
                assert_eq!(all, left);
            }
        }
    }

    #[test]
    fn a_file_goes_whole() {
        let bytes: Vec<u8> = (0..=255).cycle().take(1_403).collect();
        let transfer = Transfer { length: 100, ..Transfer::default() };
        let mut data = Data::of(Source::reader(io::Cursor::new(bytes.clone())), &transfer);
        let (mut sent, mut sizes) = (Vec::new(), Vec::new());
        loop {
            let datagram = data.next(u64::MAX).unwrap();
            if datagram.is_empty() {
                break;
            }
            assert!(datagram.len() > MARK, "{}", datagram.len());
            sizes.push(datagram.len());
            sent.extend_from_slice(datagram);
        }
        assert_eq!(sent, bytes);
        // Of the last three bytes a datagram of their own would be a mark.
        assert_eq!((sizes.len(), &sizes[12..]), (15, &[100, 96, 7][..]));
    }
}
