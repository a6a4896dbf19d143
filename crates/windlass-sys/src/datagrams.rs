//! Datagrams, many at a call, with the time at which the kernel took each in.

use std::io;
use std::mem::MaybeUninit;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd};
use std::ptr;
use std::time::Duration;

use libc::{c_int, c_uint};

use crate::call::checked;
use crate::clock::since_1970;
use crate::socket::set;

/// Room for a time, an address of each version and what stands before them, in words of eight
/// bytes.
const CONTROL: usize = 20;

/// Has the kernel note when it takes in each packet of a socket (`SO_TIMESTAMPNS`).
///
/// Where nobody else on this host has asked for that, Linux begins some time after the call: it
/// rewrites its own code for it, in the background. Packets that came before have the time at
/// which they were read.
///
/// # Errors
/// Where the kernel refuses.
pub fn note_arrivals(socket: impl AsFd) -> io::Result<()> {
    let on: c_int = 1;
    set(socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, &on)
}

/// Has the kernel say to which of this host's addresses each datagram of a socket came
/// (`IP_PKTINFO`, and `IPV6_RECVPKTINFO` where it is one of IPv6, which takes both).
///
/// # Errors
/// Where the kernel refuses.
pub fn note_destinations(socket: impl AsFd) -> io::Result<()> {
    let on: c_int = 1;
    let six = set(&socket, libc::IPPROTO_IPV6, libc::IPV6_RECVPKTINFO, &on);
    set(&socket, libc::IPPROTO_IP, libc::IP_PKTINFO, &on).or(six)
}

/// Room for several datagrams.
pub struct Batch {
    length: usize,
    bytes: Vec<u8>,
    control: Vec<[u64; CONTROL]>,
    addresses: Vec<libc::sockaddr_storage>,
    /// Of each that came: its length, when, and to which address.
    came: Vec<(usize, Duration, Option<IpAddr>)>,
}

impl std::fmt::Debug for Batch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Batch").field("came", &self.came).finish_non_exhaustive()
    }
}

/// A datagram that came.
#[derive(Clone, Copy, Debug)]
pub struct Arrived<'a> {
    /// Its data; what there was no room for is missing.
    pub bytes: &'a [u8],
    /// When the kernel took it in, since 1970; when it was read, where the kernel does not say.
    pub at: Duration,
    /// Who sent it, where that is an address of IP.
    pub from: Option<SocketAddr>,
    /// The address of this host that it came to, where [`note_destinations`] asked for it.
    pub to: Option<IpAddr>,
}

impl Batch {
    /// Room for so many datagrams of so many bytes.
    pub fn new(datagrams: usize, length: usize) -> Self {
        let datagrams = datagrams.clamp(1, 1_024);
        // SAFETY: all zeros is a valid sockaddr_storage: of no family.
        let nobody: libc::sockaddr_storage = unsafe { MaybeUninit::zeroed().assume_init() };
        Self {
            length,
            bytes: vec![0; datagrams * length],
            control: vec![[0; CONTROL]; datagrams],
            addresses: vec![nobody; datagrams],
            came: Vec::with_capacity(datagrams),
        }
    }

    /// Takes what has come, without waiting; says how many datagrams.
    ///
    /// # Errors
    /// Where the socket has failed; `WouldBlock` where nothing has come.
    pub fn receive(&mut self, socket: impl AsFd) -> io::Result<usize> {
        self.came.clear();
        let count = self.control.len();
        let (bytes, control, addresses) =
            (self.bytes.as_mut_ptr(), self.control.as_mut_ptr(), self.addresses.as_mut_ptr());
        let mut parts: Vec<libc::iovec> = (0..count)
            .map(|place| libc::iovec {
                // SAFETY: there is room for as many datagrams of this length.
                iov_base: unsafe { bytes.add(place * self.length) }.cast(),
                iov_len: self.length,
            })
            .collect();
        let first = parts.as_mut_ptr();
        let mut messages: Vec<libc::mmsghdr> = (0..count)
            .map(|place| {
                // SAFETY: all zeros is a valid mmsghdr: no name, no parts, no control.
                let mut one: libc::mmsghdr = unsafe { MaybeUninit::zeroed().assume_init() };
                // SAFETY: there are as many parts, addresses and rooms for control messages.
                unsafe {
                    one.msg_hdr.msg_iov = first.add(place);
                    one.msg_hdr.msg_name = addresses.add(place).cast();
                    one.msg_hdr.msg_control = control.add(place).cast();
                }
                one.msg_hdr.msg_iovlen = 1;
                one.msg_hdr.msg_namelen = size_of::<libc::sockaddr_storage>() as _;
                one.msg_hdr.msg_controllen = size_of::<[u64; CONTROL]>() as _;
                one
            })
            .collect();
        // SAFETY: each message points to one part, one address and one room for control
        // messages, which are there as long as the call and have the lengths that it states.
        let came = checked(unsafe {
            libc::recvmmsg(
                socket.as_fd().as_raw_fd(),
                messages.as_mut_ptr(),
                count as c_uint,
                libc::MSG_DONTWAIT as _,
                ptr::null_mut(),
            )
        })?
        .unsigned_abs() as usize;
        let read = since_1970();
        for message in messages.iter().take(came) {
            let length = (message.msg_len as usize).min(self.length);
            let (at, to) = told(&message.msg_hdr);
            self.came.push((length, at.unwrap_or(read), to));
        }
        Ok(came)
    }

    /// Those that came at the last call.
    pub fn arrived(&self) -> impl Iterator<Item = Arrived<'_>> {
        self.came.iter().enumerate().map(|(place, (length, at, to))| Arrived {
            bytes: &self.bytes[place * self.length..][..*length],
            at: *at,
            from: address(&self.addresses[place]),
            to: *to,
        })
    }
}

/// When the kernel took in a message, and for which address, where it says so.
fn told(message: &libc::msghdr) -> (Option<Duration>, Option<IpAddr>) {
    let (mut at, mut to) = (None, None);
    // SAFETY: the kernel has filled in the message, and its control messages are still there.
    let mut next = unsafe { libc::CMSG_FIRSTHDR(message) };
    while !next.is_null() {
        // SAFETY: it is not null, so it points to a header inside the room.
        let header = unsafe { ptr::read_unaligned(next) };
        // SAFETY: what is behind such a header has the kernel's type for it, which it wrote.
        let data = unsafe { libc::CMSG_DATA(next) };
        match (header.cmsg_level, header.cmsg_type) {
            (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) => {
                // SAFETY: it is a timespec.
                let time: libc::timespec = unsafe { ptr::read_unaligned(data.cast()) };
                let parts = u64::try_from(time.tv_sec).ok().zip(u32::try_from(time.tv_nsec).ok());
                at = parts.map(|(seconds, nanos)| Duration::new(seconds, nanos));
            }
            (libc::IPPROTO_IP, libc::IP_PKTINFO) => {
                // SAFETY: it is an in_pktinfo.
                let info: libc::in_pktinfo = unsafe { ptr::read_unaligned(data.cast()) };
                to = Some(Ipv4Addr::from(u32::from_be(info.ipi_addr.s_addr)).into());
            }
            (libc::IPPROTO_IPV6, libc::IPV6_PKTINFO) => {
                // SAFETY: it is an in6_pktinfo.
                let info: libc::in6_pktinfo = unsafe { ptr::read_unaligned(data.cast()) };
                to = to.or(Some(Ipv6Addr::from(info.ipi6_addr.s6_addr).into()));
            }
            _ => {}
        }
        // SAFETY: both are there, and it stays within the message's room.
        next = unsafe { libc::CMSG_NXTHDR(message, next) };
    }
    (at, to)
}

fn address(storage: &libc::sockaddr_storage) -> Option<SocketAddr> {
    match c_int::from(storage.ss_family) {
        libc::AF_INET => {
            // SAFETY: of this family the address is a sockaddr_in, for which there is room.
            let address: libc::sockaddr_in = unsafe { ptr::read(ptr::from_ref(storage).cast()) };
            let ip = Ipv4Addr::from(u32::from_be(address.sin_addr.s_addr));
            Some(SocketAddr::new(IpAddr::V4(ip), u16::from_be(address.sin_port)))
        }
        libc::AF_INET6 => {
            // SAFETY: of this family the address is a sockaddr_in6, for which there is room.
            let address: libc::sockaddr_in6 = unsafe { ptr::read(ptr::from_ref(storage).cast()) };
            let ip = Ipv6Addr::from(address.sin6_addr.s6_addr);
            Some(SocketAddr::V6(std::net::SocketAddrV6::new(
                ip,
                u16::from_be(address.sin6_port),
                address.sin6_flowinfo,
                address.sin6_scope_id,
            )))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::UdpSocket;

    #[test]
    fn datagrams_come_with_their_time_and_sender() {
        for host in ["127.0.0.1", "::1"] {
            let Ok(receiver) = UdpSocket::bind((host, 0)) else {
                eprintln!("skipped: datagrams_come_with_their_time_and_sender: no {host} here");
                continue;
            };
            let sender = UdpSocket::bind((host, 0)).unwrap();
            let mut batch = Batch::new(4, 100);
            let nothing = batch.receive(&receiver).unwrap_err();
            assert_eq!(nothing.kind(), io::ErrorKind::WouldBlock);
            note_arrivals(&receiver).unwrap();
            note_destinations(&receiver).unwrap();
            // Until the kernel has begun to note times, a datagram has that of its reading.
            let since = std::time::Instant::now();
            loop {
                sender.send_to(&[9], receiver.local_addr().unwrap()).unwrap();
                let sent = since_1970();
                assert_eq!(batch.receive(&receiver).unwrap(), 1);
                if batch.arrived().all(|one| one.at <= sent) {
                    break;
                }
                assert!(since.elapsed() < Duration::from_secs(30), "it notes no time");
            }
            let before = since_1970();
            for length in [1, 100, 200, 0, 7] {
                sender.send_to(&vec![9; length], receiver.local_addr().unwrap()).unwrap();
            }
            let after = since_1970();
            assert_eq!(batch.receive(&receiver).unwrap(), 4);
            let lengths: Vec<usize> = batch.arrived().map(|one| one.bytes.len()).collect();
            assert_eq!(lengths, [1, 100, 100, 0]);
            for one in batch.arrived() {
                assert_eq!(one.from, Some(sender.local_addr().unwrap()));
                assert_eq!(one.to, Some(receiver.local_addr().unwrap().ip()));
                // The kernel's time is that of the arrival, and not of the call.
                assert!((before..=after).contains(&one.at), "{before:?} {one:?} {after:?}");
            }
            assert_eq!(batch.receive(&receiver).unwrap(), 1);
            assert_eq!(batch.arrived().next().unwrap().bytes, [9; 7]);
        }
    }
}
