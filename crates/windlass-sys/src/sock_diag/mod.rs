//! The TCP sockets of this network namespace, without their descriptors: `sock_diag(7)`.
//!
//! [`Sockets`] asks for all sockets at once, and [`ClosedSockets`] reads the kernel's report on
//! each socket that is closed. Both are open to every user. Both see only the namespace in which
//! they were opened.

mod parse;

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use libc::c_int;
pub use parse::{Buffers, Id, Socket, each};
use rustix::io::Errno;
use rustix::net::netlink::{self, SocketAddrNetlink};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};

use crate::netlink::Message;
use crate::socket::{overflowed, set};

/// Maximum bytes of one answer of the kernel (`netlink_dump` in `net/netlink/af_netlink.c`).
const AT_ONCE: usize = 32 << 10;

/// Receive buffer for reports of closed sockets: room for some ten thousand, if that is allowed.
const QUEUE: c_int = 8 << 20;

/// Number of connections that are asked for at once: the answers must fit into the queue.
const TOGETHER: usize = 64;

/// Attributes to ask for, as bits one below their numbers: `INET_DIAG_INFO`, `INET_DIAG_CONG` and
/// `INET_DIAG_SKMEMINFO`.
const WITH: u8 = 1 << (parse::INFO - 1) | 1 << (parse::CONGESTION - 1) | 1 << (parse::MEMORY - 1);

/// States that are left out, by their numbers in `net/tcp_states.h`: `TIME_WAIT`, whose socket is
/// gone; `CLOSE`; `LISTEN`; and the two of requests that wait for the end of a handshake.
const WITHOUT: [u32; 5] = [6, 7, 10, 12, 13];

/// Groups of closed sockets, the first and the third, each a bit: `SKNLGRP_INET_TCP_DESTROY` and
/// `SKNLGRP_INET6_TCP_DESTROY`.
const GROUPS: u32 = 0b101;

/// Asks for all TCP connections.
#[derive(Debug)]
pub struct Sockets {
    socket: OwnedFd,
    answer: Vec<u8>,
}

impl Sockets {
    /// Opens a netlink socket for the requests.
    ///
    /// # Errors
    /// Fails if the kernel has no `sock_diag`, or this user may not use it.
    pub fn open() -> io::Result<Self> {
        Ok(Self { socket: open()?, answer: vec![0; AT_ONCE] })
    }

    /// Reports each connection of IPv4 and IPv6 with its `TCP_INFO`, except those in `TIME_WAIT`.
    /// The kernel's table changes meanwhile: a connection may be reported twice, or not at all.
    ///
    /// # Errors
    /// Fails if the kernel refuses. A kernel without IPv6 has none of its connections, and that is
    /// no error.
    pub fn tcp(&mut self, told: &mut dyn FnMut(Socket)) -> io::Result<()> {
        // The older request covers both families at once (`ss` uses it, too). With few connections
        // most of the time goes to the walk through the kernel's table, and this request walks
        // once.
        rustix::net::send(&self.socket, &request_of_both(), SendFlags::empty())?;
        match self.answers(told) {
            Err(error) if is_unknown(&error) => self.by_family(told),
            done => done,
        }
    }

    /// Reports the connections of one family after the other.
    fn by_family(&mut self, told: &mut dyn FnMut(Socket)) -> io::Result<()> {
        for family in [libc::AF_INET as u8, libc::AF_INET6 as u8] {
            let dump = request(family, libc::NLM_F_DUMP, &[0; parse::ID]).finish();
            rustix::net::send(&self.socket, &dump, SendFlags::empty())?;
            match self.answers(told) {
                Err(error) if is_unknown(&error) && family == libc::AF_INET6 as u8 => {}
                done => done?,
            }
        }
        Ok(())
    }

    /// Reports some known connections, without a walk through all. A connection that has ended is
    /// not reported.
    ///
    /// # Errors
    /// Fails if the kernel refuses.
    pub fn these(&mut self, known: &[Socket], told: &mut dyn FnMut(Socket)) -> io::Result<()> {
        for some in known.chunks(TOGETHER) {
            let requests: Vec<u8> = some.iter().flat_map(request_of).collect();
            rustix::net::send(&self.socket, &requests, SendFlags::empty())?;
            // Each request is answered, or refused if the connection has ended.
            let mut left = some.len();
            while left > 0 {
                let length = receive(&self.socket, &mut self.answer)?;
                let ended = parse::answered(&self.answer[..length], told);
                left = left.saturating_sub(ended);
                if length == 0 {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Reads an answer to its end.
    fn answers(&mut self, told: &mut dyn FnMut(Socket)) -> io::Result<()> {
        loop {
            let length = receive(&self.socket, &mut self.answer)?;
            if length == 0 || each(&self.answer[..length], told)? {
                return Ok(());
            }
        }
    }
}

/// Reads the next message, and returns its length.
fn receive(socket: &OwnedFd, into: &mut [u8]) -> io::Result<usize> {
    loop {
        match rustix::net::recv(socket, &mut *into, RecvFlags::empty()) {
            Err(Errno::INTR) => {}
            received => return Ok(received?.0.min(into.len())),
        }
    }
}

/// Returns the states to report, each a bit.
fn states() -> [u8; 4] {
    let states = WITHOUT.iter().fold(u32::MAX, |states, state| states & !(1 << state));
    states.to_ne_bytes()
}

/// Makes a request about a family, with the id of a socket (`struct inet_diag_req_v2`).
fn request(family: u8, flags: c_int, id: &[u8; parse::ID]) -> Message {
    let about = [family, libc::IPPROTO_TCP as u8, WITH, 0];
    let message = Message::new(parse::BY_FAMILY, flags, &about);
    message.then(&states()).then(id)
}

/// Makes the request for all connections (`struct inet_diag_req`, with `TCPDIAG_GETSOCK`).
fn request_of_both() -> Vec<u8> {
    let about = [libc::AF_INET as u8, 0, 0, WITH];
    let message = Message::new(parse::OF_TCP, libc::NLM_F_DUMP, &about);
    message.then(&[0; parse::ID]).then(&states()).then(&[0; 4]).finish()
}

/// Makes the request for one connection.
fn request_of(socket: &Socket) -> Vec<u8> {
    let Id { family, bytes } = &socket.id;
    request(*family, 0, bytes).unacknowledged().finish()
}

/// Returns whether a kernel lacks a family.
fn is_unknown(error: &io::Error) -> bool {
    let known = [libc::ENOENT, libc::EINVAL, libc::EAFNOSUPPORT, libc::EPROTONOSUPPORT];
    error.raw_os_error().is_some_and(|number| known.contains(&number))
}

/// Reads the kernel's last report on each TCP socket that is closed.
#[derive(Debug)]
pub struct ClosedSockets {
    socket: OwnedFd,
    message: Vec<u8>,
    /// The kernel's count of dropped reports at the last look.
    dropped: u32,
}

/// Result of [`ClosedSockets::read`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClosedSocketCounts {
    /// Messages that were read.
    pub messages: u64,
    /// Closed sockets without a report, as there was no room for more messages.
    pub lost: u64,
}

impl ClosedSockets {
    /// Begins to listen.
    ///
    /// # Errors
    /// Fails if the kernel lacks the group (before Linux 4.4), or this user may not listen.
    pub fn open() -> io::Result<Self> {
        let socket = open()?;
        // Without the privilege the socket gets what `net.core.rmem_max` allows.
        if set(&socket, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, &QUEUE).is_err() {
            set(&socket, libc::SOL_SOCKET, libc::SO_RCVBUF, &QUEUE)?;
        }
        rustix::net::bind(&socket, &SocketAddrNetlink::new(0, GROUPS))?;
        let dropped = overflowed(&socket).unwrap_or(0);
        Ok(Self { socket, message: vec![0; AT_ONCE], dropped })
    }

    /// Reports each socket that was closed since the last call, without waiting. Messages that came
    /// faster than they were read are counted as lost: the kernel tells so (`ENOBUFS`), and counts
    /// them.
    ///
    /// # Errors
    /// Fails if the socket cannot be read.
    pub fn read(&mut self, told: &mut dyn FnMut(Socket)) -> io::Result<ClosedSocketCounts> {
        let mut heard = ClosedSocketCounts::default();
        let mut is_overrun = false;
        loop {
            match rustix::net::recv(&self.socket, self.message.as_mut_slice(), RecvFlags::DONTWAIT)
            {
                Ok((length, _)) => {
                    heard.messages += 1;
                    let message = &self.message[..length.min(self.message.len())];
                    // These messages have no end that the kernel could refuse.
                    let _ = each(message, told);
                }
                Err(Errno::NOBUFS) => is_overrun = true,
                Err(Errno::INTR) => {}
                Err(Errno::WOULDBLOCK) => break,
                Err(error) => return Err(error.into()),
            }
        }
        // Kernels before Linux 4.12 do not count them: there was at least one.
        heard.lost = match overflowed(&self.socket) {
            Ok(dropped) => {
                let lost = dropped.wrapping_sub(self.dropped);
                self.dropped = dropped;
                lost.into()
            }
            Err(_) => is_overrun.into(),
        };
        Ok(heard)
    }
}

impl AsFd for ClosedSockets {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

fn open() -> io::Result<OwnedFd> {
    Ok(rustix::net::socket_with(
        AddressFamily::NETLINK,
        SocketType::RAW,
        SocketFlags::CLOEXEC,
        Some(netlink::SOCK_DIAG),
    )?)
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
