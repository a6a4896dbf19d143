//! Bulk data from one namespace to another: a load to measure against, as for a capture.
//!
//! The sender writes as ttcp does. Nothing observes the transfer while it runs: there are no
//! samples, and the ends exchange no messages.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddrV4, TcpStream};
use std::thread::{self, ScopedJoinHandle};
use std::time::{Duration, Instant};

use windlass_base::{Bytes, Rate, Span};
use windlass_sys::cpu::{self, CpuTime};
use windlass_sys::namespace::Namespace;
use windlass_sys::tcp::Socket;

use crate::error::Error;
use crate::plain::TTCP_LENGTH;

/// Longest time without progress before the transfer fails.
const IDLE: Duration = Duration::from_secs(10);

/// Largest read: iperf3's `DEFAULT_TCP_BLKSIZE`, so that the reader is not the bottleneck.
const READ: usize = 128 << 10;

/// The data to send.
#[derive(Clone, Copy, Debug)]
pub struct Bulk<'a> {
    /// The number of writes.
    pub writes: u64,
    /// The bytes of each; not zero.
    pub length: u32,
    /// The sender's congestion control, as the kernel names it.
    pub congestion: &'a str,
}

/// 128 MiB: 16,384 writes of ttcp's length, by CUBIC.
impl Default for Bulk<'_> {
    fn default() -> Self {
        Self { writes: 16_384, length: TTCP_LENGTH, congestion: "cubic" }
    }
}

/// Outcome of a bulk transfer.
#[derive(Clone, Copy, Debug)]
pub struct BulkOutcome {
    /// The bytes that the receiver read.
    pub bytes: Bytes,
    /// Time from the first write until the receiver had read everything.
    pub elapsed: Duration,
    /// Processor time of the sending thread. On a veth pair, the kernel does most of a packet's
    /// work in this thread, up to the other end's socket.
    pub sender: CpuTime,
    /// Processor time of the receiving thread.
    pub receiver: CpuTime,
}

impl BulkOutcome {
    /// Returns the goodput.
    pub fn rate(&self) -> Rate {
        self.bytes.per(Span::from_seconds(self.elapsed.as_secs_f64()))
    }
}

/// Sends data from one namespace to an address of another; with port 0, the kernel chooses the
/// port. Each end has its own thread.
///
/// # Errors
/// Fails if a socket cannot be opened, the ends do not connect, or nothing moves for ten seconds.
pub fn transfer(
    bulk: &Bulk<'_>,
    from: &Namespace,
    (to, address): (&Namespace, SocketAddrV4),
) -> Result<BulkOutcome, Error> {
    if bulk.length == 0 {
        return Err(Error::Asked("a write of no bytes sends nothing".to_owned()));
    }
    let (sender, receiver) = connected(bulk, from, (to, address))?;
    let (began, bulk) = (Instant::now(), *bulk);
    let (sent, received) = thread::scope(|scope| {
        let receiving = scope.spawn(|| timed(|| receive(&receiver)));
        let sending = scope.spawn(|| timed(|| send(&sender, bulk)));
        let sent = joined(sending);
        if sent.is_err() {
            // Otherwise the other end would wait for more.
            let _ = sender.shutdown(Shutdown::Both);
        }
        (sent, joined(receiving))
    });
    let ((), sender) = sent?;
    let ((bytes, ended), receiver) = received?;
    Ok(BulkOutcome { bytes: Bytes::new(bytes), elapsed: ended - began, sender, receiver })
}

/// Opens both ends of a connection.
fn connected(
    bulk: &Bulk<'_>,
    from: &Namespace,
    (to, address): (&Namespace, SocketAddrV4),
) -> Result<(TcpStream, TcpStream), Error> {
    let open = |namespace| {
        Socket::open_in(namespace).map_err(|refused| Error::Io {
            doing: "cannot open a socket in the network namespace",
            source: refused.error,
        })
    };
    let refused = |source| Error::Listen { on: address.to_string(), source };
    let listener = open(to)?.listen(address).map_err(refused)?;
    let port = listener.local_addr().map_err(refused)?.port();
    let there = SocketAddrV4::new(*address.ip(), port);
    let sender = open(from)?;
    sender.set_congestion(bulk.congestion).map_err(|source| Error::Option {
        option: "the congestion control",
        value: bulk.congestion.to_owned(),
        source,
    })?;
    sender.connect(there).map_err(|source| Error::Connect { to: there.to_string(), source })?;
    let (receiver, _) = listener.accept().map_err(Error::io("cannot accept the connection"))?;
    let sender = sender.into_stream();
    let limit = Error::io("cannot limit the wait for the other end");
    sender.set_write_timeout(Some(IDLE)).map_err(&limit)?;
    receiver.set_read_timeout(Some(IDLE)).map_err(&limit)?;
    Ok((sender, receiver))
}

/// Runs the work of one end, and returns its result with the processor time that it took.
fn timed<T>(work: impl FnOnce() -> Result<T, Error>) -> Result<(T, CpuTime), Error> {
    let before = cpu::of_this_thread();
    let done = work()?;
    Ok((done, cpu::of_this_thread().since(before)))
}

fn send(mut stream: &TcpStream, bulk: Bulk<'_>) -> Result<(), Error> {
    let buffer = vec![0; bulk.length as usize];
    for _ in 0..bulk.writes {
        stream.write_all(&buffer).map_err(Error::io("cannot send"))?;
    }
    stream.shutdown(Shutdown::Write).map_err(Error::io("cannot end the connection"))
}

/// Reads to the end of the stream; returns the number of bytes, and the time of the end.
fn receive(mut stream: &TcpStream) -> Result<(u64, Instant), Error> {
    let mut buffer = vec![0; READ];
    let mut bytes = 0;
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => return Ok((bytes, Instant::now())),
            Ok(read) => bytes += read as u64,
            // A socket with a timeout is interrupted when its process is stopped and continued
            // (signal(7)).
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(Error::io("cannot receive")(error)),
        }
    }
}

fn joined<T>(thread: ScopedJoinHandle<'_, Result<T, Error>>) -> Result<T, Error> {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::num::NonZeroU16;
    use windlass_sys::capture::{Capture, CaptureEvent, Settings};

    const TO: SocketAddrV4 = SocketAddrV4::new(std::net::Ipv4Addr::new(192, 0, 2, 2), 0);

    /// Two namespaces that are joined, of which the second is 192.0.2.2.
    fn path(test: &str) -> Option<(Namespace, Namespace)> {
        let made = Namespace::new().and_then(|from| {
            let to = from.beside()?;
            from.add_veth("from", &to, "to")?;
            from.add_address("from", [192, 0, 2, 1].into(), 24)?;
            to.add_address("to", [192, 0, 2, 2].into(), 24)?;
            from.bring_up("from")?;
            to.bring_up("to")?;
            Ok((from, to))
        });
        made.inspect_err(|refused| eprintln!("skipped: {test}: {refused}")).ok()
    }

    #[test]
    fn all_that_is_sent_arrives() {
        let Some((from, to)) = path("all_that_is_sent_arrives") else { return };
        let bulk = Bulk { writes: 200, ..Bulk::default() };
        let carried = transfer(&bulk, &from, (&to, TO)).unwrap();
        assert_eq!(carried.bytes, Bytes::new(200 * 8_192));
        assert!(carried.elapsed > Duration::ZERO);
        let seconds = carried.elapsed.as_secs_f64();
        let rate = carried.bytes.get() as f64 / seconds;
        assert!((carried.rate().bytes_per_second() / rate - 1.0).abs() < 0.01);
    }

    #[test]
    fn what_cannot_be_sent_is_told() {
        let Some((from, to)) = path("what_cannot_be_sent_is_told") else { return };
        let unknown = Bulk { congestion: "no-such-control", ..Bulk::default() };
        let refused = transfer(&unknown, &from, (&to, TO)).unwrap_err();
        assert!(refused.to_string().contains("no-such-control"), "{refused}");
        let empty = Bulk { length: 0, ..Bulk::default() };
        assert!(transfer(&empty, &from, (&to, TO)).is_err());
        let nobody = SocketAddrV4::new([192, 0, 2, 3].into(), 0);
        assert!(matches!(
            transfer(&Bulk::default(), &from, (&to, nobody)).unwrap_err(),
            Error::Listen { .. }
        ));
    }

    /// The longest packet of a transfer as a capture at its receiver sees it.
    fn longest(from: &Namespace, to: &Namespace) -> u32 {
        let settings =
            Settings { namespace: Some(to), spread: NonZeroU16::MIN, ..Settings::default() };
        let mut capture = Capture::open("to", &settings).unwrap();
        transfer(&Bulk { writes: 100, ..Bulk::default() }, from, (to, TO)).unwrap();
        capture.stop().unwrap();
        let mut longest = 0;
        while let CaptureEvent::Batch(mut batch) = capture.next(Duration::ZERO).unwrap() {
            while let Some(packet) = batch.next() {
                longest = longest.max(packet.original_length);
            }
        }
        longest
    }

    #[test]
    fn without_offloads_packets_are_as_large_as_the_mtu() {
        let test = "without_offloads_packets_are_as_large_as_the_mtu";
        let Some((from, to)) = path(test) else { return };
        assert!(longest(&from, &to) > 1_514, "veth takes many segments at once");
        for on in [false, true] {
            from.set_offloads("from", on).unwrap();
            to.set_offloads("to", on).unwrap();
            assert_eq!(longest(&from, &to) > 1_514, on);
        }
    }
}
