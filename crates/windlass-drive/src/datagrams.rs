//! Tests over UDP: datagrams of one size, to an end that counts them.
//!
//! ttcp's (`-u`) carry no numbers: short ones before and behind the data say where it
//! begins and ends, and neither end learns what was lost.

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
use crate::transfer::{Direction, End, Role, Transfer, Until};

/// The most that a datagram of IPv4 carries (RFC 768, RFC 791).
pub const LONGEST: u32 = 65_507;

/// A datagram of no more bytes marks where ttcp's data begins and ends (`UDPMINLEN`).
pub(crate) const MARK: usize = 4;

/// The shortest datagram whose last ones can be made no marks.
const SHORTEST: usize = 2 * (MARK + 1);

/// How many end it: one may be lost.
const END_MARKS: usize = 4;

/// How far apart they are.
const MARK_GAP: Duration = Duration::from_millis(10);

/// The time for which a datagram may wait for room before it is looked whether the test is over.
const WAIT: Duration = Duration::from_millis(100);

/// The time for which to wait where a queue on the way out of this host is full (`ENOBUFS`).
const FULL_QUEUE: Duration = Duration::from_micros(500);

/// The longest sleep of a sender that keeps a pace: what a stop may wait for.
const LONGEST_SLEEP: Duration = Duration::from_millis(20);

/// Refuses what cannot be done by datagrams.
///
/// # Errors
/// What it is, in words.
pub fn check(transfer: &Transfer) -> Result<(), Error> {
    let refuse = |why: &str| Err(Error::Asked(why.to_owned()));
    if transfer.direction != Direction::Forward || transfer.streams != 1 {
        return refuse("ttcp's datagrams go to the server, in one stream");
    }
    if transfer.length > LONGEST || (transfer.length as usize) < SHORTEST {
        let why = format!("a datagram is {SHORTEST} to {LONGEST} B: the shortest are marks");
        return Err(Error::Asked(why));
    }
    if transfer.omit > Span::ZERO {
        return refuse("the begin of datagrams counts: their receiver knows of no other");
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

/// Sends a test over a socket that was just opened, as ttcp does. `tell` hears of the
/// intervals; `stop` ends it.
///
/// # Errors
/// Fails where it does not begin. What goes wrong later is told with what was measured, in
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
    let mut test = Sending::new(&socket, transfer);
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
    // A host that takes none at that port says so (ICMP), to the next datagram.
    let failure = failed.map(|source| match source.kind() {
        io::ErrorKind::ConnectionRefused => Error::Connect { to: to.to_string(), source },
        _ => Error::Stream(source.to_string()),
    });
    Ok(Outcome { near, far: None, latency: Latency::default(), failure, stopped })
}

/// A socket to a server, which is told that data will come.
///
/// # Errors
/// Fails where there is no way to it, or an option is refused; and where it is this host, and takes
/// none at that port. Another one is heard of later.
pub fn open(to: SocketAddr, transfer: &Transfer) -> Result<UdpSocket, Error> {
    let failed = |source| Error::Connect { to: to.to_string(), source };
    let kind = socket2::Type::DGRAM;
    let socket = socket2::Socket::new(socket2::Domain::for_address(to), kind, None);
    let socket = socket.map_err(failed)?;
    transfer.ip.set(&socket)?;
    transfer.ip.bind.apply(&socket, to, None)?;
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

/// Says that data begins, or has ended.
fn mark(socket: &UdpSocket) -> io::Result<()> {
    match socket.send(&[b' '; MARK]) {
        Err(error) if is_pause(&error) || is_full(&error) => Ok(()),
        done => done.map(drop),
    }
}

/// What the datagrams carry.
struct Data {
    source: Source,
    length: usize,
    /// What was read and not sent, or the pattern.
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

    /// The next datagram, where so much is left to send; empty at the end.
    fn next(&mut self, left: u64) -> io::Result<&[u8]> {
        let Source::Reader(reader) = &mut self.source else {
            return Ok(&self.held[..one_of(left, self.length)]);
        };
        self.held.drain(..std::mem::take(&mut self.sent));
        let reader = reader.get_mut().unwrap_or_else(PoisonError::into_inner);
        // So much ahead that it shows whether a mark would be left.
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

/// How much of what is left goes in the next datagram: as much as it takes, or so much less that
/// the last one is longer than a mark.
fn one_of(left: u64, length: usize) -> usize {
    let left = usize::try_from(left).unwrap_or(usize::MAX);
    match left.saturating_sub(length) {
        1..=MARK => length - MARK,
        _ => left.min(length),
    }
}

/// A test that is being sent.
struct Sending<'a> {
    socket: &'a UdpSocket,
    transfer: &'a Transfer,
    began: Instant,
    bytes: u64,
    datagrams: u64,
    /// The time when the last datagram went.
    last: Instant,
    stopped: bool,
    /// The time when the interval began, and what had gone until then.
    interval: (Instant, u64),
}

impl<'a> Sending<'a> {
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

    /// How much is left to send; nothing where the test is over.
    fn left(&self) -> Option<u64> {
        match self.transfer.until {
            Until::Time(time) => (self.began.elapsed() < time.to_duration()).then_some(u64::MAX),
            Until::Bytes(bytes) => bytes.get().checked_sub(self.bytes).filter(|left| *left > 0),
            Until::SourceEnds => Some(u64::MAX),
        }
    }

    /// Sleeps for a while where the pace has the next datagram later.
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

    /// Says that this was all.
    fn end(&self) -> io::Result<()> {
        for _ in 0..END_MARKS {
            match mark(self.socket) {
                // Who has heard one of them may have gone.
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

    /// Tells of what went since the last interval, but of a crumb of one.
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

/// Returns whether a queue on the way out is full.
fn is_full(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::ENOBUFS)
}

/// What one end counted.
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
