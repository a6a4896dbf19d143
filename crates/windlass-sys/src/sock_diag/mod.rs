//! The TCP sockets of this network namespace, without their descriptors: `sock_diag(7)`.
//!
//! [`Sockets`] asks for all of them at once, and [`LastWords`] hears what the kernel says of each
//! that goes. Both are open to every user, and both tell of the namespace alone in which they
//! were opened.

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

/// The most that the kernel says at once (`netlink_dump` in `net/netlink/af_netlink.c`).
const AT_ONCE: usize = 32 << 10;

/// What may wait to be read of sockets that went: some ten thousand of them, where that is
/// allowed.
const QUEUE: c_int = 8 << 20;

/// So many connections are asked for at once: the answers have to fit into the queue.
const TOGETHER: usize = 64;

/// What is asked for beside the socket itself, as bits one below the numbers of the attributes:
/// `INET_DIAG_INFO`, `INET_DIAG_CONG` and `INET_DIAG_SKMEMINFO`.
const WITH: u8 = 1 << (parse::INFO - 1) | 1 << (parse::CONGESTION - 1) | 1 << (parse::MEMORY - 1);

/// The states that are of no use here, by their numbers in `net/tcp_states.h`: `TIME_WAIT`, whose
/// socket has gone; `CLOSE`; `LISTEN`; and the two of requests that wait for the end of a handshake.
const WITHOUT: [u32; 5] = [6, 7, 10, 12, 13];

/// The groups of sockets that go, the first and the third, each a bit: `SKNLGRP_INET_TCP_DESTROY`
/// and `SKNLGRP_INET6_TCP_DESTROY`.
const GROUPS: u32 = 0b101;

/// Asks for all TCP connections.
#[derive(Debug)]
pub struct Sockets {
    socket: OwnedFd,
    answer: Vec<u8>,
}

impl Sockets {
    /// Opens what asks.
    ///
    /// # Errors
    /// Where the kernel has no `sock_diag`, or it may not be used.
    pub fn open() -> io::Result<Self> {
        Ok(Self { socket: open()?, answer: vec![0; AT_ONCE] })
    }

    /// Tells of each connection of IPv4 and IPv6 with its `TCP_INFO`, but for those that only wait
    /// for their time to be over. The kernel goes on meanwhile: one that moves in its table may
    /// be told twice, or not at all.
    ///
    /// # Errors
    /// Where the kernel refuses. A kernel without IPv6 has none of these, and that is no error.
    pub fn tcp(&mut self, told: &mut dyn FnMut(Socket)) -> io::Result<()> {
        // The older request takes both families at once (`ss` asks so, too): with few connections
        // most of the time goes to the walk through the kernel's table, and this one walks once.
        rustix::net::send(&self.socket, &request_of_both(), SendFlags::empty())?;
        match self.answers(told) {
            Err(error) if is_unknown(&error) => self.by_family(told),
            done => done,
        }
    }

    /// The same, a family behind the other.
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

    /// Tells of some connections that are known, without a walk through all. One that has ended
    /// is not told.
    ///
    /// # Errors
    /// Where the kernel refuses.
    pub fn these(&mut self, known: &[Socket], told: &mut dyn FnMut(Socket)) -> io::Result<()> {
        for some in known.chunks(TOGETHER) {
            let requests: Vec<u8> = some.iter().flat_map(request_of).collect();
            rustix::net::send(&self.socket, &requests, SendFlags::empty())?;
            // Each is answered, or refused where it is not there any more.
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

    /// Reads to the end of an answer.
    fn answers(&mut self, told: &mut dyn FnMut(Socket)) -> io::Result<()> {
        loop {
            let length = receive(&self.socket, &mut self.answer)?;
            if length == 0 || each(&self.answer[..length], told)? {
                return Ok(());
            }
        }
    }
}

/// Reads what comes next, and says how long it is.
fn receive(socket: &OwnedFd, into: &mut [u8]) -> io::Result<usize> {
    loop {
        match rustix::net::recv(socket, &mut *into, RecvFlags::empty()) {
            Err(Errno::INTR) => {}
            received => return Ok(received?.0.min(into.len())),
        }
    }
}

/// The states that are wanted, each a bit.
fn states() -> [u8; 4] {
    let states = WITHOUT.iter().fold(u32::MAX, |states, state| states & !(1 << state));
    states.to_ne_bytes()
}

/// A request about a family, with the id of a socket (`struct inet_diag_req_v2`).
fn request(family: u8, flags: c_int, id: &[u8; parse::ID]) -> Message {
    let about = [family, libc::IPPROTO_TCP as u8, WITH, 0];
    let message = Message::new(parse::BY_FAMILY, flags, &about);
    message.then(&states()).then(id)
}

/// The request for all connections (`struct inet_diag_req`, with `TCPDIAG_GETSOCK`).
fn request_of_both() -> Vec<u8> {
    let about = [libc::AF_INET as u8, 0, 0, WITH];
    let message = Message::new(parse::OF_TCP, libc::NLM_F_DUMP, &about);
    message.then(&[0; parse::ID]).then(&states()).then(&[0; 4]).finish()
}

/// The request for one connection.
fn request_of(socket: &Socket) -> Vec<u8> {
    let Id { family, bytes } = &socket.id;
    request(*family, 0, bytes).unacknowledged().finish()
}

/// Whether a kernel does not know a family.
fn is_unknown(error: &io::Error) -> bool {
    let known = [libc::ENOENT, libc::EINVAL, libc::EAFNOSUPPORT, libc::EPROTONOSUPPORT];
    error.raw_os_error().is_some_and(|number| known.contains(&number))
}

/// Hears of each TCP socket that goes what the kernel knew of it at last.
#[derive(Debug)]
pub struct LastWords {
    socket: OwnedFd,
    message: Vec<u8>,
    /// The kernel's count of what it had no room for, when it was last looked at.
    dropped: u32,
}

/// What [`LastWords::read`] found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Heard {
    /// Messages that were read.
    pub messages: u64,
    /// Sockets that went and of which nothing was heard, as there was no room for more messages.
    pub lost: u64,
}

impl LastWords {
    /// Begins to listen.
    ///
    /// # Errors
    /// Where the kernel has no such group (Linux 4.4), or it may not be heard.
    pub fn open() -> io::Result<Self> {
        let socket = open()?;
        // Without the right to do so it gets what `net.core.rmem_max` allows.
        if set(&socket, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, &QUEUE).is_err() {
            set(&socket, libc::SOL_SOCKET, libc::SO_RCVBUF, &QUEUE)?;
        }
        rustix::net::bind(&socket, &SocketAddrNetlink::new(0, GROUPS))?;
        let dropped = overflowed(&socket).unwrap_or(0);
        Ok(Self { socket, message: vec![0; AT_ONCE], dropped })
    }

    /// Tells of each socket that has gone since the last time, without waiting. Where messages
    /// came faster than they were read, those that were lost are counted: the kernel says so
    /// (`ENOBUFS`), and counts them.
    ///
    /// # Errors
    /// Where the socket cannot be read.
    pub fn read(&mut self, told: &mut dyn FnMut(Socket)) -> io::Result<Heard> {
        let mut heard = Heard::default();
        let mut is_overrun = false;
        loop {
            match rustix::net::recv(&self.socket, self.message.as_mut_slice(), RecvFlags::DONTWAIT)
            {
                Ok((length, _)) => {
                    heard.messages += 1;
                    let message = &self.message[..length.min(self.message.len())];
                    // There is no end that could be refused.
                    let _ = each(message, told);
                }
                Err(Errno::NOBUFS) => is_overrun = true,
                Err(Errno::INTR) => {}
                Err(Errno::WOULDBLOCK) => break,
                Err(error) => return Err(error.into()),
            }
        }
        // Before Linux 4.12 it does not count them: one at the least there was.
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

impl AsFd for LastWords {
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
