//! The sockets of flows.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

use socket2::{Domain, Protocol, SockRef, Socket, Type};
use windlass_base::Bytes;
use windlass_sys::datagrams::note_arrivals;

use crate::error::Error;
use crate::ip::Ip;
use crate::transfer::Buffers;

/// What is asked for as receive buffer; the system grants what it allows.
const BUFFER: usize = 4 << 20;

/// The time for which a datagram may wait for room before it is looked whether the test is over.
const WAIT: Duration = Duration::from_millis(100);

/// What came to a socket before it knew whom it is for: who sent it, and what.
pub(crate) type Stray = (SocketAddr, Vec<u8>);

/// How many of those are kept.
const MOST_STRAYS: usize = 64;

/// A socket that talks to this address, from a port of the system's choice.
pub(crate) fn open(to: SocketAddr, buffers: Buffers, ip: &Ip) -> Result<UdpSocket, Error> {
    let failed = |source| Error::Connect { to: to.to_string(), source };
    let socket = Socket::new(Domain::for_address(to), Type::DGRAM, Some(Protocol::UDP));
    let socket = socket.map_err(failed)?;
    ip.set(&socket)?;
    ip.bind.apply(&socket, to, None)?;
    let socket = UdpSocket::from(socket);
    set_up(&socket, buffers)?;
    socket.connect(to).map_err(failed)?;
    Ok(socket)
}

/// A socket on an address on which another one listens, for what comes from this one alone.
/// What came to it before it knew whom it is for, of others and of this one, is given back.
pub(crate) fn accepted(
    on: SocketAddr,
    from: SocketAddr,
    buffers: Buffers,
) -> Result<(UdpSocket, Vec<Stray>), Error> {
    let failed = Error::io("cannot open a socket for a flow");
    let socket = bind(on).map_err(&failed)?;
    set_up(&socket, buffers)?;
    socket.connect(from).map_err(&failed)?;
    socket.set_nonblocking(true).map_err(&failed)?;
    let (mut strays, mut buffer) = (Vec::new(), vec![0; 1 << 16]);
    while strays.len() < MOST_STRAYS {
        let Ok((length, sender)) = socket.recv_from(&mut buffer) else { break };
        strays.push((sender, buffer[..length].to_vec()));
    }
    socket.set_nonblocking(false).map_err(&failed)?;
    Ok((socket, strays))
}

/// A socket on this address, on which others of this user may be, too. An address of IPv6 that
/// is not one of a host takes IPv4, too.
pub(crate) fn bind(on: SocketAddr) -> io::Result<UdpSocket> {
    let socket = Socket::new(Domain::for_address(on), Type::DGRAM, Some(Protocol::UDP))?;
    if on.is_ipv6() {
        socket.set_only_v6(false)?;
    }
    socket.set_reuse_port(true)?;
    socket.bind(&on.into())?;
    Ok(socket.into())
}

fn set_up(socket: &UdpSocket, buffers: Buffers) -> Result<(), Error> {
    let failed = Error::io("cannot set up a socket");
    let reference = SockRef::from(socket);
    let size = |bytes: Bytes| usize::try_from(bytes.get()).unwrap_or(usize::MAX);
    // What the system does not grant it cuts.
    reference.set_recv_buffer_size(buffers.window.map_or(BUFFER, size)).map_err(&failed)?;
    if let Some(send) = buffers.send {
        reference.set_send_buffer_size(size(send)).map_err(|source| Error::Option {
            option: "SO_SNDBUF",
            value: send.to_string(),
            source,
        })?;
    }
    // What comes before it is read has its time, too.
    note_arrivals(socket).map_err(&failed)?;
    socket.set_write_timeout(Some(WAIT)).map_err(&failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sockets_of_flows_have_what_is_asked_of_ip() {
        let ip = Ip { tos: Some(0xb8), ttl: Some(7), ..Ip::default() };
        let there = UdpSocket::bind("127.0.0.1:0").unwrap();
        let socket = open(there.local_addr().unwrap(), Buffers::default(), &ip).unwrap();
        let socket = SockRef::from(&socket);
        assert_eq!((socket.tos_v4().unwrap(), socket.ttl_v4().unwrap()), (0xb8, 7));
    }
}
