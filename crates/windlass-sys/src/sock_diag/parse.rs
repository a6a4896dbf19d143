//! Messages of `sock_diag(7)` about sockets. Nothing here trusts a length, even from the kernel.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use libc::c_int;
use windlass_base::{Bytes, CongestionControl};

use crate::netlink::{Attributes, Messages, number};
use crate::tcp_info::{self, TcpInfo};

/// `SOCK_DIAG_BY_FAMILY` in `linux/sock_diag.h`, and `TCPDIAG_GETSOCK` in `linux/inet_diag.h`.
pub(super) const BY_FAMILY: u16 = 20;
pub(super) const OF_TCP: u16 = 18;

/// Bytes of a socket's id (`struct inet_diag_sockid`), and its offset.
pub(super) const ID: usize = 48;
const ID_AT: usize = 4;

/// Attributes of `linux/inet_diag.h`: `INET_DIAG_INFO`, `INET_DIAG_CONG`, `INET_DIAG_SKMEMINFO`
/// and `INET_DIAG_PROTOCOL`.
pub(super) const INFO: u16 = 2;
pub(super) const CONGESTION: u16 = 4;
pub(super) const MEMORY: u16 = 7;
const PROTOCOL: u16 = 10;

/// Bytes before the attributes (`struct inet_diag_msg`).
const ABOUT: usize = 72;

/// Offsets of its fields. Ports and addresses are in network byte order.
const STATE: usize = 1;
const SOURCE_PORT: usize = 4;
const PEER_PORT: usize = 6;
const SOURCE: usize = 8;
const PEER: usize = 24;
const COOKIE: usize = 44;
const RECEIVE_QUEUE: usize = 56;
const SEND_QUEUE: usize = 60;
const USER: usize = 64;
const INODE: usize = 68;

/// Indices of the numbers in [`MEMORY`] (`SK_MEMINFO_…` in `linux/sock_diag.h`).
const RECEIVE_USED: usize = 0;
const RECEIVE_BUFFER: usize = 4;
const SEND_BUFFER: usize = 12;
const SEND_USED: usize = 20;

/// The kernel's id of a socket, which a request about that socket needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Id {
    pub(super) family: u8,
    pub(super) bytes: [u8; ID],
}

impl Default for Id {
    /// Returns the id of no socket.
    fn default() -> Self {
        Self { family: 0, bytes: [0; ID] }
    }
}

/// A TCP socket, as the kernel reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Socket {
    /// A number that no other socket gets until the system restarts.
    pub cookie: u64,
    /// The kernel's id of the socket.
    pub id: Id,
    /// Its state: a number of `net/tcp_states.h`.
    pub state: u8,
    /// Its own address; an IPv4 address of an IPv6 socket is given as IPv4.
    pub local: SocketAddr,
    /// Address of its peer; the port is 0 without a peer.
    pub peer: SocketAddr,
    /// Its inode in `/proc/PID/fd`; `None` once its process has closed it.
    pub inode: Option<u32>,
    /// The user who made it.
    pub user: u32,
    /// Bytes received and not read by the program.
    pub unread: u32,
    /// Bytes written by the program and not acknowledged, sent or not.
    pub queued: u32,
    /// Its `TCP_INFO`.
    pub info: Option<TcpInfo>,
    /// Its congestion control.
    pub congestion: Option<CongestionControl>,
    /// Contents of its buffers.
    pub buffers: Option<Buffers>,
}

/// Memory of a socket, as the kernel counts it: including its own data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Buffers {
    /// Data received and not read.
    pub received: Bytes,
    /// Maximum of [`Self::received`] (`SO_RCVBUF`).
    pub receive: Bytes,
    /// Data written and not acknowledged.
    pub sent: Bytes,
    /// Maximum of [`Self::sent`] (`SO_SNDBUF`).
    pub send: Bytes,
}

/// Reports each TCP socket in a part of an answer. Returns whether the answer ends with this part.
/// Messages that are not about a socket, or too short, are passed over.
///
/// # Errors
/// Fails with the kernel's error if it refuses.
pub fn each(piece: &[u8], told: &mut dyn FnMut(Socket)) -> io::Result<bool> {
    for message in Messages(piece) {
        match c_int::from(message.kind) {
            libc::NLMSG_DONE => return refused(message.body).map(|()| true),
            libc::NLMSG_ERROR => refused(message.body)?,
            _ if [BY_FAMILY, OF_TCP].contains(&message.kind) => {
                socket(message.body).into_iter().for_each(&mut *told);
            }
            _ => {}
        }
    }
    Ok(false)
}

/// Reports the sockets in answers to requests about one socket each. Returns how many requests end
/// here, successful or not.
pub(super) fn answered(piece: &[u8], told: &mut dyn FnMut(Socket)) -> usize {
    let mut ended = 0;
    for message in Messages(piece) {
        match c_int::from(message.kind) {
            libc::NLMSG_ERROR | libc::NLMSG_DONE => ended += 1,
            _ if message.kind == BY_FAMILY => {
                ended += 1;
                socket(message.body).into_iter().for_each(&mut *told);
            }
            _ => {}
        }
    }
    ended
}

/// Returns the errno at the start of a message, which is below zero; zero, and a missing number,
/// mean success.
fn refused(body: &[u8]) -> io::Result<()> {
    match number(body, 0).unwrap_or(0).cast_signed() {
        0.. => Ok(()),
        errno => Err(io::Error::from_raw_os_error(errno.wrapping_neg())),
    }
}

/// Reads the socket of a message; `None` if it is of another protocol, or the message is too short.
fn socket(body: &[u8]) -> Option<Socket> {
    let about: &[u8; ABOUT] = body.first_chunk()?;
    let family = about[0];
    let long = |at: usize| number(about, at).unwrap_or(0);
    let port = |at: usize| u16::from_be_bytes([about[at], about[at + 1]]);
    let mut socket = Socket {
        cookie: u64::from(long(COOKIE)) | u64::from(long(COOKIE + 4)) << 32,
        id: Id { family, bytes: *about[ID_AT..].first_chunk()? },
        state: about[STATE],
        local: SocketAddr::new(address(family, &about[SOURCE..])?, port(SOURCE_PORT)),
        peer: SocketAddr::new(address(family, &about[PEER..])?, port(PEER_PORT)),
        inode: Some(long(INODE)).filter(|inode| *inode != 0),
        user: long(USER),
        unread: long(RECEIVE_QUEUE),
        queued: long(SEND_QUEUE),
        info: None,
        congestion: None,
        buffers: None,
    };
    for (attribute, value) in Attributes(&body[ABOUT..]) {
        match attribute {
            PROTOCOL if value.first() != Some(&(libc::IPPROTO_TCP as u8)) => return None,
            INFO => socket.info = Some(tcp_info::parse(value)),
            CONGESTION => socket.congestion = name(value),
            MEMORY => socket.buffers = buffers(value),
            _ => {}
        }
    }
    Some(socket)
}

/// Reads the address of a family from the start of its sixteen bytes.
fn address(family: u8, bytes: &[u8]) -> Option<IpAddr> {
    match c_int::from(family) {
        libc::AF_INET => Some(Ipv4Addr::from(*bytes.first_chunk::<4>()?).into()),
        libc::AF_INET6 => {
            Some(IpAddr::from(Ipv6Addr::from(*bytes.first_chunk::<16>()?)).to_canonical())
        }
        _ => None,
    }
}

/// Reads a name that ends with a zero.
fn name(value: &[u8]) -> Option<CongestionControl> {
    let name = value.split(|byte| *byte == 0).next()?;
    std::str::from_utf8(name).ok()?.parse().ok()
}

fn buffers(value: &[u8]) -> Option<Buffers> {
    let bytes = |at: usize| number(value, at).ok().map(|bytes| Bytes::new(bytes.into()));
    Some(Buffers {
        received: bytes(RECEIVE_USED)?,
        receive: bytes(RECEIVE_BUFFER)?,
        send: bytes(SEND_BUFFER)?,
        sent: bytes(SEND_USED)?,
    })
}
