//! Reads and writes of many bytes with one deadline.
//!
//! A socket's own timeout applies to each call. An end that gives or takes one byte just before
//! each timeout could hold a loop of calls for as long as it likes. These functions therefore set
//! the timeout to the remaining time before each call. A signal interrupts them; they then end if
//! `stop` returns true.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use windlass_sys::socket::is_pause;

/// Outcome of filling a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FillOutcome {
    /// All bytes were read.
    Whole,
    /// The connection ended after this many bytes.
    Closed(usize),
    /// The deadline passed first.
    Late,
}

/// Returns the remaining time as a socket timeout; nothing once the deadline has passed.
pub(crate) fn left(until: Instant) -> Option<Duration> {
    let left = until.saturating_duration_since(Instant::now());
    // The system's shortest timeout is a microsecond, and zero means forever.
    (!left.is_zero()).then(|| left.max(Duration::from_micros(1)))
}

/// Fills `bytes` by `until`.
pub(crate) fn fill(
    mut stream: &TcpStream,
    bytes: &mut [u8],
    until: Instant,
    stop: &dyn Fn() -> bool,
) -> io::Result<FillOutcome> {
    let mut filled = 0;
    while filled < bytes.len() {
        let Some(left) = left(until) else { return Ok(FillOutcome::Late) };
        stream.set_read_timeout(Some(left))?;
        match stream.read(&mut bytes[filled..]) {
            Ok(0) => return Ok(FillOutcome::Closed(filled)),
            Ok(more) => filled += more,
            Err(error) if is_pause(&error) && stop() => return Ok(FillOutcome::Late),
            Err(error) if is_pause(&error) => {}
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => {
                return Ok(FillOutcome::Closed(filled));
            }
            Err(error) => return Err(error),
        }
    }
    Ok(FillOutcome::Whole)
}

/// Writes all of `bytes` by `until`; returns false if the deadline passes first.
pub(crate) fn write(
    mut stream: &TcpStream,
    bytes: &[u8],
    until: Instant,
    stop: &dyn Fn() -> bool,
) -> io::Result<bool> {
    let mut written = 0;
    while written < bytes.len() {
        let Some(left) = left(until) else { return Ok(false) };
        stream.set_write_timeout(Some(left))?;
        match stream.write(&bytes[written..]) {
            Ok(more) => written += more,
            Err(error) if is_pause(&error) && stop() => return Ok(false),
            Err(error) if is_pause(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use socket2::{Domain, Socket, Type};
    use std::net::{Ipv4Addr, SocketAddr};
    use std::thread;

    const NEVER: &dyn Fn() -> bool = &|| false;

    /// More than what is between two ends of [`pair`] holds.
    const MUCH: usize = 1 << 20;

    /// Two ends with small buffers: what one end writes, the other has to read.
    fn pair() -> (TcpStream, TcpStream) {
        let small = || {
            let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
            socket.set_recv_buffer_size(4_096).unwrap();
            socket.set_send_buffer_size(4_096).unwrap();
            socket
        };
        let listener = small();
        listener.bind(&SocketAddr::from((Ipv4Addr::LOCALHOST, 0)).into()).unwrap();
        listener.listen(1).unwrap();
        let near = small();
        near.connect(&listener.local_addr().unwrap()).unwrap();
        (near.into(), listener.accept().unwrap().0.into())
    }

    fn soon() -> Instant {
        Instant::now() + Duration::from_millis(100)
    }

    #[test]
    fn who_gives_a_byte_at_a_time_is_read_up_to_the_moment() {
        let (near, mut far) = pair();
        let drip = thread::spawn(move || {
            far.set_write_timeout(Some(Duration::from_secs(60))).unwrap();
            // All but the last byte, unless the reader goes before.
            let mut sent = 0;
            while sent < MUCH - 1 && far.write_all(b".").is_ok() {
                sent += 1;
                thread::sleep(Duration::from_millis(1));
            }
            sent
        });
        let until = soon();
        assert_eq!(fill(&near, &mut vec![0; MUCH], until, NEVER).unwrap(), FillOutcome::Late);
        assert!(Instant::now() >= until);
        drop(near);
        assert!(drip.join().unwrap() < MUCH - 1, "it was read for as long as it dripped");
    }

    #[test]
    fn who_takes_a_byte_at_a_time_is_written_to_up_to_the_moment() {
        let (near, mut far) = pair();
        let drip = thread::spawn(move || {
            far.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
            let (mut took, mut some) = (0, [0; 16]);
            while let Ok(more @ 1..) = far.read(&mut some) {
                took += more;
                thread::sleep(Duration::from_millis(1));
            }
            took
        });
        let until = soon();
        assert!(!write(&near, &vec![0; MUCH], until, NEVER).unwrap());
        assert!(Instant::now() >= until);
        drop(near);
        assert!(drip.join().unwrap() < MUCH, "it was written to for as long as it took");
    }

    #[test]
    fn what_comes_in_pieces_is_whole_or_closed() {
        let (near, mut far) = pair();
        let until = Instant::now() + Duration::from_secs(60);
        let sending = thread::spawn(move || {
            for piece in [&b"one "[..], b"two", b"thr"] {
                far.write_all(piece).unwrap();
            }
        });
        let mut bytes = [0; 7];
        assert_eq!(fill(&near, &mut bytes, until, NEVER).unwrap(), FillOutcome::Whole);
        assert_eq!(&bytes, b"one two");
        assert_eq!(fill(&near, &mut bytes, until, NEVER).unwrap(), FillOutcome::Closed(3));
        sending.join().unwrap();
    }
}
