//! Sends Ethernet frames at a given rate, and counts them to the last one.
//!
//! A [`Generator`] sends on one interface, bypassing its queue. The caller gives the bytes of a
//! [`Frame`], and the offset of its number. [`run`] sends a [`Load`] of frames.
//!
//! ```no_run
//! use std::num::NonZeroU64;
//! use std::sync::atomic::AtomicBool;
//! use std::time::Duration;
//! use windlass_sys::generator::{Frame, Generator, Load, LoadEnd, run};
//!
//! let mut generator = Generator::open("veth0", None)?;
//! let frame = Frame { bytes: &[0xff; 60], number_at: Some(42) };
//! let rate = NonZeroU64::new(100_000);
//! let load = Load { frame, rate, until: LoadEnd::Time(Duration::from_secs(1)) };
//! let sent = run(&mut generator, &load, &AtomicBool::new(false));
//! println!("{} packets, {:.0} a second", sent.packets, sent.packets_per_second());
//! # Ok::<(), windlass_sys::capture::Refusal>(())
//! ```

mod load;

use std::io;
use std::mem::zeroed;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use libc::{c_uint, iovec, mmsghdr};
pub use load::{Load, LoadEnd, LoadTotals, run};
use rustix::net::SocketType;

use crate::capture::{Interface, OpenStep, Refusal, bind_to, packet_socket};
use crate::namespace::Namespace;
use crate::socket::set;

/// Number of frames that one system call sends.
const BATCH: usize = 64;

/// Bytes of a number in a frame: the number, and its complement.
pub const NUMBER: usize = 16;

/// A frame that is sent repeatedly.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    /// All its bytes, from the Ethernet header on.
    pub bytes: &'a [u8],
    /// Offset of each frame's number: [`NUMBER`] bytes, in network byte order. The complement
    /// behind the number makes the sum of both the same in every frame. So Internet checksums stay
    /// correct if they are correct with zeros here, and the offset from the headers is even.
    pub number_at: Option<usize>,
}

/// Returns the number of a frame at this offset; `None` if the number's complement is not behind
/// it.
pub fn number(frame: &[u8], at: usize) -> Option<u64> {
    let (number, rest) = frame.get(at..)?.split_first_chunk::<8>()?;
    let number = u64::from_be_bytes(*number);
    let complement = u64::from_be_bytes(*rest.first_chunk()?);
    (number == !complement).then_some(number)
}

/// Sends frames on an interface.
#[derive(Debug)]
pub struct Generator {
    socket: OwnedFd,
    sent: u64,
}

impl AsFd for Generator {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Generator {
    /// Opens a generator on an interface of a namespace; `None` is the thread's own. The call takes
    /// `CAP_NET_RAW` there.
    ///
    /// # Errors
    /// Fails if there is no such interface, or the system refuses a step.
    pub fn open(interface: &str, namespace: Option<&Namespace>) -> Result<Self, Refusal> {
        let socket = packet_socket(namespace, SocketType::RAW)?;
        let interface =
            Interface::find(&socket, interface).map_err(Refusal::at(OpenStep::Interface))?;
        let nothing = 0;
        bind_to(&socket, &interface, nothing).map_err(Refusal::at(OpenStep::Set))?;
        // The interface's queue could drop a frame after taking it.
        set(&socket, libc::SOL_PACKET, libc::PACKET_QDISC_BYPASS, &1_i32)
            .map_err(Refusal::at(OpenStep::Set))?;
        Ok(Self { socket, sent: 0 })
    }

    /// Returns the number of frames that the kernel has taken: the number that the next one gets.
    pub const fn sent(&self) -> u64 {
        self.sent
    }

    /// Sends this many frames, without waiting. Returns how many the kernel took: fewer if the
    /// interface has no room for more. An interface whose other end is down has no room either.
    ///
    /// A frame that was not taken leaves no gap in the numbers.
    ///
    /// # Errors
    /// Fails if the kernel takes no frame for another reason: the interface is down (`ENETDOWN`) or
    /// gone (`ENXIO`), or the frame is too long for it.
    pub fn send(&mut self, frame: Frame<'_>, count: u64) -> io::Result<u64> {
        let (head, tail) = frame.parts()?;
        let mut numbers = [[0; NUMBER]; BATCH];
        let mut taken = 0;
        while taken < count {
            let batch = usize::try_from(count - taken).unwrap_or(BATCH).min(BATCH);
            for (place, number) in numbers.iter_mut().zip(self.sent..) {
                place[..8].copy_from_slice(&number.to_be_bytes());
                place[8..].copy_from_slice(&(!number).to_be_bytes());
            }
            let sent = match tail {
                Some(tail) => {
                    let parts = |at: usize| [part(head), part(&numbers[at]), part(tail)];
                    send(self.as_fd(), &std::array::from_fn(parts), batch)
                }
                None => send(self.as_fd(), &[[part(head)]; BATCH], batch),
            };
            match sent {
                Ok(sent) => {
                    self.sent += sent;
                    taken += sent;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if no_room(&error) || taken > 0 => break,
                Err(error) => return Err(error),
            }
        }
        Ok(taken)
    }
}

impl<'a> Frame<'a> {
    /// Returns the bytes before the number, and those behind it. Without a number all bytes are
    /// before it.
    fn parts(self) -> io::Result<(&'a [u8], Option<&'a [u8]>)> {
        let Some(at) = self.number_at else { return Ok((self.bytes, None)) };
        let beyond = || {
            let what = "the number's place is not within the frame";
            io::Error::new(io::ErrorKind::InvalidInput, what)
        };
        let (head, rest) = self.bytes.split_at_checked(at).ok_or_else(beyond)?;
        Ok((head, Some(rest.get(NUMBER..).ok_or_else(beyond)?)))
    }
}

/// Returns whether a later call may succeed: the buffer of the socket or of the interface is full.
fn no_room(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::WouldBlock || error.raw_os_error() == Some(libc::ENOBUFS)
}

/// A piece of a frame, as the kernel reads it.
fn part(bytes: &[u8]) -> iovec {
    iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() }
}

/// Sends the first `batch` frames. Returns how many the kernel took. The parts must still be
/// borrowed.
fn send<const PARTS: usize>(
    socket: BorrowedFd<'_>,
    frames: &[[iovec; PARTS]; BATCH],
    batch: usize,
) -> io::Result<u64> {
    // SAFETY: all zeros is a valid mmsghdr: no name, no parts, no control.
    let mut messages: [mmsghdr; BATCH] = unsafe { zeroed() };
    for (message, parts) in messages.iter_mut().zip(frames) {
        // The kernel only reads them.
        message.msg_hdr.msg_iov = parts.as_ptr().cast_mut();
        message.msg_hdr.msg_iovlen = PARTS as _;
    }
    let batch = batch.min(BATCH) as c_uint;
    // SAFETY: there are at least so many messages, and their parts point to
    // slices that the caller has borrowed until this returns.
    let sent = unsafe {
        libc::sendmmsg(socket.as_raw_fd(), messages.as_mut_ptr(), batch, libc::MSG_DONTWAIT as _)
    };
    // An error after some frames were taken comes again with the next call.
    u64::try_from(sent).map_err(|_| io::Error::last_os_error())
}

#[cfg(test)]
#[path = "generator_tests.rs"]
mod tests;
