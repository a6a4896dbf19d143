//! TCP sockets with the options of a test.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::ops::Range;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use socket2::{Domain, Protocol, Socket, Type};
use windlass_base::{Bytes, Rate, whole_part};
use windlass_sys::socket::{set_pace, set_window_clamp};
use windlass_sys::tcp_info::tcp_info;
use windlass_sys::wait::writable;

use crate::error::Error;
use crate::ip::{Bind, Ip};
use crate::transfer::{Buffers, Transfer};

/// Longest time for a connection to be established.
const CONNECTING: Duration = Duration::from_secs(10);

/// Socket options of a test.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Buffers of this end.
    pub buffers: Buffers,
    /// Congestion control.
    pub congestion: Option<String>,
    /// Largest segment.
    pub mss: Option<u16>,
    /// True if small writes are sent at once.
    pub nodelay: bool,
    /// Maximum rate of one stream.
    pub pace: Option<Rate>,
    /// Settings of IP packets, and their source address and interface.
    pub ip: Ip,
}

impl Options {
    /// Returns the options of a transfer, at an end with these buffers.
    pub fn of(transfer: &Transfer, buffers: Buffers) -> Self {
        Self {
            buffers,
            congestion: transfer.congestion.clone(),
            mss: transfer.mss,
            nodelay: transfer.nodelay,
            pace: transfer.pace_of_one(),
            ip: transfer.ip.clone(),
        }
    }

    /// Returns the options of a connection beside the data, on the same path.
    pub fn beside(ip: &Ip) -> Self {
        let bind = Bind { port: None, ..ip.bind.clone() };
        Self { ip: Ip { bind, ..ip.clone() }, ..Self::default() }
    }

    /// Sets the options that must be set before the handshake, which decides on the window scale
    /// and announces the MSS.
    fn set_before(&self, socket: &Socket) -> Result<(), Error> {
        if let Some(window) = self.buffers.window {
            set_window(socket, window)?;
        }
        if let Some(mss) = self.mss {
            socket.set_tcp_mss(mss.into()).map_err(refused("TCP_MAXSEG", mss))?;
        }
        Ok(())
    }

    /// Sets the options that can be set at any time.
    fn set_after(&self, socket: &Socket) -> Result<(), Error> {
        self.ip.set(socket)?;
        if let Some(send) = self.buffers.send {
            let bytes = usize::try_from(send.get()).unwrap_or(usize::MAX);
            socket.set_send_buffer_size(bytes).map_err(refused("SO_SNDBUF", send))?;
        }
        if let Some(name) = &self.congestion {
            socket
                .set_tcp_congestion(name.as_bytes())
                .map_err(refused("the congestion control", name))?;
        }
        if self.nodelay {
            socket.set_tcp_nodelay(true).map_err(refused("TCP_NODELAY", "on"))?;
        }
        if let Some(pace) = self.pace {
            let rate = whole_part(pace.bytes_per_second());
            set_pace(socket, rate).map_err(refused("SO_MAX_PACING_RATE", pace))?;
            // A send buffer would hold seconds of such data, for which the end of a test would wait.
            let most = ahead(pace);
            socket.set_tcp_notsent_lowat(most).map_err(refused("TCP_NOTSENT_LOWAT", most))?;
        }
        Ok(())
    }

    /// Sets the options on an accepted connection that its listener did not have.
    ///
    /// # Errors
    /// Fails if the kernel refuses an option.
    pub fn set_on_accepted(&self, stream: &TcpStream) -> Result<(), Error> {
        self.set_after(&Socket::from(
            stream.try_clone().map_err(Error::io("cannot share a connection"))?,
        ))
    }

    /// Sets all options that are possible on a connection of a shared port. The system chose the
    /// receive buffer before the handshake, so the window changes late.
    pub(crate) fn set_late(&self, stream: &TcpStream) -> Result<(), Error> {
        if let Some(window) = self.buffers.window {
            let socket = stream.try_clone().map_err(Error::io("cannot share a connection"))?;
            set_window(&Socket::from(socket), window)?;
        }
        self.set_on_accepted(stream)
    }
}

/// Returns the unsent bytes that a paced sender may have in the kernel: a twentieth of a second.
pub(crate) fn ahead(pace: Rate) -> u32 {
    const LEAST: u64 = 4_096;
    let bytes = whole_part(pace.bytes_per_second() / 20.0).max(LEAST);
    u32::try_from(bytes).unwrap_or(u32::MAX)
}

fn refused(option: &'static str, value: impl std::fmt::Display) -> impl FnOnce(io::Error) -> Error {
    let value = value.to_string();
    move |source| Error::Option { option, value, source }
}

/// Makes `window` the largest advertised window. Linux doubles the requested `SO_RCVBUF`, and uses
/// only a share of it for data: a quarter at first (`TCP_DEFAULT_SCALING_RATIO`). Later the share
/// follows the received segments, and is little more for small ones. The buffer is therefore
/// requested twice as large, and the clamp limits the window.
pub(crate) fn set_window(socket: &Socket, window: Bytes) -> Result<(), Error> {
    let buffer = window.get().saturating_mul(2).min(i32::MAX.unsigned_abs().into());
    socket
        .set_recv_buffer_size(usize::try_from(buffer).unwrap_or(usize::MAX))
        .map_err(refused("SO_RCVBUF", Bytes::new(buffer)))?;
    set_window_clamp(socket, window.get()).map_err(refused("TCP_WINDOW_CLAMP", window))
}

/// Limits the window of a connection again. Linux (6.12 at least) moves the clamp with each segment
/// longer than all before. This function must therefore be called before each read.
pub(crate) fn keep_window(stream: &TcpStream, window: Bytes) {
    // An ended connection needs no clamp.
    let _ = set_window_clamp(stream, window.get());
}

fn new(address: &SocketAddr) -> io::Result<Socket> {
    Socket::new(Domain::for_address(*address), Type::STREAM, Some(Protocol::TCP))
}

/// Connects with these options.
///
/// # Errors
/// Fails if the connection fails, or an option is refused.
pub fn connect(to: SocketAddr, options: &Options) -> Result<TcpStream, Error> {
    let failed = |source| Error::Connect { to: to.to_string(), source };
    let socket = new(&to).map_err(failed)?;
    options.set_before(&socket)?;
    options.set_after(&socket)?;
    options.ip.bind.apply(&socket, to)?;
    socket.connect_timeout(&to.into(), CONNECTING).map_err(failed)?;
    Ok(socket.into())
}

/// Opens a connection for each number with these options, all at once, so that many take one round
/// trip. Returns them in order.
///
/// # Errors
/// Fails if one of the connections fails, or an option is refused.
pub(crate) fn connect_all(
    to: SocketAddr,
    options: &Options,
    numbers: Range<u16>,
) -> Result<Vec<TcpStream>, Error> {
    let failed = |source| Error::Connect { to: to.to_string(), source };
    let begin = |number| {
        let socket = new(&to).map_err(failed)?;
        options.set_before(&socket)?;
        options.set_after(&socket)?;
        options.ip.bind.of_stream(number).apply(&socket, to)?;
        socket.set_nonblocking(true).map_err(failed)?;
        match socket.connect(&to.into()) {
            Err(error) if error.raw_os_error() != Some(libc::EINPROGRESS) => Err(failed(error)),
            _ => Ok(socket),
        }
    };
    let sockets = numbers.map(begin).collect::<Result<Vec<_>, _>>()?;
    let until = Instant::now() + CONNECTING;
    let finish = |socket: Socket| {
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if writable(socket.as_fd(), Some(left)).map_err(failed)? {
                break;
            }
            if left.is_zero() {
                return Err(failed(io::ErrorKind::TimedOut.into()));
            }
        }
        if let Some(error) = socket.take_error().map_err(failed)? {
            return Err(failed(error));
        }
        socket.set_nonblocking(false).map_err(failed)?;
        Ok(socket.into())
    };
    sockets.into_iter().map(finish).collect()
}

/// Listens, with the options that connections must have from their first packet on. The unspecified
/// IPv6 address accepts IPv4, too; without IPv6 on the system, IPv4 alone.
///
/// # Errors
/// Fails if the port is taken or not allowed, or an option is refused.
pub fn listen(on: SocketAddr, options: &Options) -> Result<TcpListener, Error> {
    let no_family = |error: &Error| match error {
        Error::Listen { source, .. } => source.raw_os_error() == Some(libc::EAFNOSUPPORT),
        _ => false,
    };
    match listen_on(on, options) {
        Err(error) if on.ip() == Ipv6Addr::UNSPECIFIED && no_family(&error) => {
            listen_on((Ipv4Addr::UNSPECIFIED, on.port()).into(), options)
        }
        done => done,
    }
}

fn listen_on(on: SocketAddr, options: &Options) -> Result<TcpListener, Error> {
    let failed = |source| Error::Listen { on: on.to_string(), source };
    let socket = new(&on).map_err(failed)?;
    if on.is_ipv6() {
        socket.set_only_v6(false).map_err(failed)?;
    }
    socket.set_reuse_address(true).map_err(failed)?;
    options.set_before(&socket)?;
    options.ip.bind.to_device(&socket)?;
    socket.bind(&on.into()).map_err(failed)?;
    socket.listen(1_024).map_err(failed)?;
    Ok(socket.into())
}

/// Returns the duration of `count` round trips by the kernel's RTT; zero if the kernel has none.
pub(crate) fn round_trips(stream: &TcpStream, count: u32) -> Duration {
    let rtt = tcp_info(stream).ok().and_then(|info| info.rtt);
    rtt.unwrap_or_default().saturating_mul(count)
}

/// Returns the buffers that the kernel granted: receive buffer and send buffer.
pub(crate) fn granted(stream: &TcpStream) -> (Bytes, Bytes) {
    let socket = socket2::SockRef::from(stream);
    let bytes = |size: io::Result<usize>| Bytes::new(size.unwrap_or(0) as u64);
    (bytes(socket.recv_buffer_size()), bytes(socket.send_buffer_size()))
}

/// Result of raising a send buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RaisedBuffer {
    /// Buffer before, as the kernel counts it: data and its overhead.
    pub before: Bytes,
    /// Buffer after; unchanged if a larger one was not possible.
    pub granted: Bytes,
    /// True if the buffer is as large as requested.
    pub is_enough: bool,
}

/// Makes the send buffer of a connection larger, never smaller. The kernel no longer sizes a buffer
/// that was set, and `net.core.wmem_max` may limit it below the kernel's own size. Another socket
/// therefore tries it first.
///
/// # Errors
/// Fails if the kernel refuses the option.
pub fn raise_send_buffer(stream: &TcpStream, to: Bytes) -> Result<RaisedBuffer, Error> {
    let size = usize::try_from(to.get()).unwrap_or(usize::MAX);
    let not_taken = || refused("SO_SNDBUF", to);
    // The kernel grants twice the requested size.
    let enough = Bytes::new(to.get().saturating_mul(2));
    let (_, before) = granted(stream);
    let tried = || {
        let other = new(&stream.local_addr()?)?;
        other.set_send_buffer_size(size)?;
        other.send_buffer_size()
    };
    let tried = Bytes::new(tried().map_err(not_taken())? as u64);
    if before >= enough || tried <= before {
        return Ok(RaisedBuffer { before, granted: before, is_enough: before >= enough });
    }
    socket2::SockRef::from(stream).set_send_buffer_size(size).map_err(not_taken())?;
    let (_, granted) = granted(stream);
    Ok(RaisedBuffer { before, granted, is_enough: granted >= enough })
}

/// Makes closing a connection a reset, so that the kernel discards its unsent data.
///
/// # Errors
/// Fails if the kernel refuses the option.
pub fn reset_on_close(stream: &TcpStream) -> Result<(), Error> {
    let linger = socket2::SockRef::from(stream).set_linger(Some(Duration::ZERO));
    linger.map_err(refused("SO_LINGER", "0 s"))
}

/// Returns the name of a connection's congestion control.
pub(crate) fn congestion(stream: &TcpStream) -> String {
    let name = socket2::SockRef::from(stream).tcp_congestion().unwrap_or_default();
    let name: Vec<u8> = name.into_iter().take_while(|byte| *byte != 0).collect();
    String::from_utf8_lossy(&name).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};

    #[test]
    fn a_window_is_what_was_asked_for() {
        let window = Bytes::new(20_000);
        // The loopback's own MSS is larger than this window.
        let buffers = Buffers { window: Some(window), send: None };
        let options = Options { buffers, mss: Some(1_000), ..Options::default() };
        let listener = listen("127.0.0.1:0".parse().unwrap(), &options).unwrap();
        let mut near = connect(listener.local_addr().unwrap(), &Options::default()).unwrap();
        let (mut far, _) = listener.accept().unwrap();
        let reading = std::thread::spawn(move || {
            let (mut all, mut some) = (0, [0; 10_000]);
            loop {
                keep_window(&far, window);
                match far.read(&mut some).unwrap() {
                    0 => return all,
                    bytes => all += bytes,
                }
            }
        });
        let (mut windows, mut sent) = (Vec::new(), 0);
        for _ in 0..3_000 {
            near.write_all(&[0; 10_000]).unwrap();
            sent += 10_000;
            windows.extend(tcp_info(&near).unwrap().peer_window);
        }
        drop(near);
        assert_eq!(reading.join().unwrap(), sent);
        // The first reads may be a few segments late with the clamp.
        windows.sort_unstable();
        let Some(median) = windows.get(windows.len() / 2) else { return };
        assert!((15_000..=20_000).contains(median), "{median}");
    }

    #[test]
    fn a_send_buffer_is_raised_and_never_lowered() {
        let listener = listen("127.0.0.1:0".parse().unwrap(), &Options::default()).unwrap();
        let small = Buffers { window: None, send: Some(Bytes::new(8_192)) };
        let options = Options { buffers: small, ..Options::default() };
        let stream = connect(listener.local_addr().unwrap(), &options).unwrap();
        let bytes = Bytes::new;
        let raised = raise_send_buffer(&stream, bytes(20_000)).unwrap();
        let expected =
            RaisedBuffer { before: bytes(16_384), granted: bytes(40_000), is_enough: true };
        assert_eq!(raised, expected);
        // The present size, and a smaller one, change nothing.
        for size in [20_000, 10_000] {
            let raised = raise_send_buffer(&stream, bytes(size)).unwrap();
            let same = bytes(40_000);
            assert_eq!(raised, RaisedBuffer { before: same, granted: same, is_enough: true });
        }
        // A size above net.core.wmem_max is granted up to that limit.
        let raised = raise_send_buffer(&stream, bytes(i32::MAX as u64)).unwrap();
        assert!(raised.granted > raised.before && !raised.is_enough, "{raised:?}");
        let again = raise_send_buffer(&stream, bytes(i32::MAX as u64)).unwrap();
        assert_eq!((again.granted, again.is_enough), (raised.granted, false));
    }

    #[test]
    fn an_unspecified_address_takes_both_families() {
        let Ok(listener) = listen((Ipv6Addr::UNSPECIFIED, 0).into(), &Options::default()) else {
            return eprintln!("skipped: an_unspecified_address_takes_both_families: no IPv6 here");
        };
        let port = listener.local_addr().unwrap().port();
        connect(([127, 0, 0, 1], port).into(), &Options::default()).unwrap();
    }

    #[test]
    fn what_the_kernel_refuses_is_named() {
        let options =
            Options { congestion: Some("no_such_control".to_owned()), ..Options::default() };
        let listener = listen("127.0.0.1:0".parse().unwrap(), &Options::default()).unwrap();
        let error = connect(listener.local_addr().unwrap(), &options).unwrap_err();
        assert!(error.to_string().contains("no_such_control"), "{error}");
    }
}
