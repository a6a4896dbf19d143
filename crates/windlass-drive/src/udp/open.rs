//! Sockets of flows.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

use socket2::{Domain, Protocol, SockRef, Socket, Type};
use windlass_base::Bytes;
use windlass_sys::datagrams::note_arrivals;

use crate::error::Error;
use crate::ip::Ip;
use crate::transfer::Buffers;

/// Requested receive buffer; the system grants what it allows.
const BUFFER: usize = 4 << 20;

/// Longest wait for room in the socket before the sender checks for the end of the test.
const WAIT: Duration = Duration::from_millis(100);

/// Sender and bytes of a datagram that a socket received before it was connected.
pub(crate) type Stray = (SocketAddr, Vec<u8>);

/// Maximum number of such datagrams kept.
const MOST_STRAYS: usize = 64;

/// Opens a socket connected to this address, from a port of the system's choice.
pub(crate) fn open(
    to: SocketAddr,
    buffers: Buffers,
    ip: &Ip,
    stream: u16,
) -> Result<UdpSocket, Error> {
    let failed = |source| Error::Connect { to: to.to_string(), source };
    let socket = Socket::new(Domain::for_address(to), Type::DGRAM, Some(Protocol::UDP));
    let socket = socket.map_err(failed)?;
    ip.set(&socket)?;
    ip.bind.of_stream(stream).apply(&socket, to)?;
    let socket = UdpSocket::from(socket);
    set_up(&socket, buffers)?;
    socket.connect(to).map_err(failed)?;
    Ok(socket)
}

/// Opens a socket for one sender on the address of a listening one. Datagrams that it received
/// before it was connected, of any sender, are returned, too.
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

/// Binds a socket to an address that other sockets of this user may share. The unspecified IPv6
/// address receives IPv4, too.
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
    // The system limits the size to what it allows.
    reference.set_recv_buffer_size(buffers.window.map_or(BUFFER, size)).map_err(&failed)?;
    if let Some(send) = buffers.send {
        reference.set_send_buffer_size(size(send)).map_err(|source| Error::Option {
            option: "SO_SNDBUF",
            value: send.to_string(),
            source,
        })?;
    }
    // Datagrams that arrive before they are read have their time, too.
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
        let socket = open(there.local_addr().unwrap(), Buffers::default(), &ip, 0).unwrap();
        let socket = SockRef::from(&socket);
        assert_eq!((socket.tos_v4().unwrap(), socket.ttl_v4().unwrap()), (0xb8, 7));
    }
}
