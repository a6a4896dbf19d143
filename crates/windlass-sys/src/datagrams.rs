//! Datagrams, many in a call, with their times of arrival at the kernel.
//!
//! Linux takes several datagrams of one length as one (`UDP_SEGMENT`, Linux 4.18). It also delivers
//! several consecutive datagrams as one (`UDP_GRO`, Linux 5.0). Its layers then run once for all of
//! them.

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

/// Words of eight bytes for the control messages: a time, an address of each version, a length, and
/// their headers.
const CONTROL: usize = 20;

/// Has the kernel note the arrival time of each packet of a socket (`SO_TIMESTAMPNS`).
///
/// If no other socket on this host has asked for times, Linux begins some time after the call: it
/// rewrites its own code in the background. Earlier packets have the time at which they were read.
///
/// # Errors
/// Fails if the kernel refuses.
pub fn note_arrivals(socket: impl AsFd) -> io::Result<()> {
    let on: c_int = 1;
    set(socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, &on)
}

/// Has the kernel tell the local address that each datagram of a socket came to (`IP_PKTINFO`, and
/// `IPV6_RECVPKTINFO` on an IPv6 socket, which takes both).
///
/// # Errors
/// Fails if the kernel refuses.
pub fn note_destinations(socket: impl AsFd) -> io::Result<()> {
    let on: c_int = 1;
    let six = set(&socket, libc::IPPROTO_IPV6, libc::IPV6_RECVPKTINFO, &on);
    set(&socket, libc::IPPROTO_IP, libc::IP_PKTINFO, &on).or(six)
}

/// Lets the kernel deliver consecutive datagrams as one, which [`Batch`] splits again. They have
/// one time of arrival.
///
/// # Errors
/// Fails if the kernel is older than Linux 5.0.
pub fn join_arrivals(socket: impl AsFd) -> io::Result<()> {
    let on: c_int = 1;
    set(socket, libc::IPPROTO_UDP, libc::UDP_GRO, &on)
}

/// Room for several datagrams.
pub struct Batch {
    length: usize,
    bytes: Vec<u8>,
    control: Vec<[u64; CONTROL]>,
    addresses: Vec<libc::sockaddr_storage>,
    /// The messages received, each with one datagram or several.
    came: Vec<ReceivedMessage>,
}

impl std::fmt::Debug for Batch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Batch").field("came", &self.came).finish_non_exhaustive()
    }
}

/// A message from the kernel, which has one datagram or several.
#[derive(Clone, Copy, Debug)]
struct ReceivedMessage {
    length: usize,
    /// The length of each datagram but the last, if there are several.
    each: Option<usize>,
    at: Duration,
    to: Option<IpAddr>,
}

/// A datagram that was received.
#[derive(Clone, Copy, Debug)]
pub struct ReceivedDatagram<'a> {
    /// Its data; bytes beyond the room for them are missing.
    pub bytes: &'a [u8],
    /// Its arrival at the kernel, as time since 1970; the time of reading if the kernel does not
    /// tell.
    pub at: Duration,
    /// Its sender, if that is an IP address.
    pub from: Option<SocketAddr>,
    /// The local address that it came to, if [`note_destinations`] asked for it.
    pub to: Option<IpAddr>,
}

impl Batch {
    /// Makes room for this many datagrams of this length in bytes.
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

    /// Takes the datagrams that have come, without waiting. Returns their number, in which several
    /// may count as one ([`join_arrivals`]).
    ///
    /// # Errors
    /// Fails if the socket has failed; `WouldBlock` if no datagram has come.
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
            let told = told(&message.msg_hdr);
            let (at, to) = (told.at.unwrap_or(read), told.to);
            self.came.push(ReceivedMessage { length, each: told.each, at, to });
        }
        Ok(came)
    }

    /// Returns the datagrams of the last call.
    pub fn arrived(&self) -> impl Iterator<Item = ReceivedDatagram<'_>> {
        self.came.iter().enumerate().flat_map(|(place, came)| {
            let bytes = &self.bytes[place * self.length..][..came.length];
            let from = address(&self.addresses[place]);
            let one = move |bytes| ReceivedDatagram { bytes, at: came.at, from, to: came.to };
            // A message without data is a datagram, too.
            let each = came.each.unwrap_or(came.length).max(1);
            let empty = bytes.is_empty().then_some(bytes).into_iter();
            empty.chain(bytes.chunks(each)).map(one)
        })
    }
}

/// Control data of a message.
#[derive(Clone, Copy, Debug, Default)]
struct ControlData {
    at: Option<Duration>,
    to: Option<IpAddr>,
    each: Option<usize>,
}

/// Reads a message's control data: the time of arrival, the local address, and the length of each
/// datagram. Each is `None` if the kernel does not tell.
fn told(message: &libc::msghdr) -> ControlData {
    let ControlData { mut at, mut to, mut each } = ControlData::default();
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
            (libc::IPPROTO_UDP, libc::UDP_GRO) => {
                // SAFETY: it is an int.
                let length: c_int = unsafe { ptr::read_unaligned(data.cast()) };
                each = usize::try_from(length).ok().filter(|length| *length > 0);
            }
            _ => {}
        }
        // SAFETY: both are there, and it stays within the message's room.
        next = unsafe { libc::CMSG_NXTHDR(message, next) };
    }
    ControlData { at, to, each }
}

/// Maximum number of datagrams that older kernels take as one (`UDP_MAX_SEGMENTS`).
const MOST_AT_ONCE: usize = 64;

/// Maximum bytes of a joined message: the payload of UDP over IPv4 (RFC 768, RFC 791).
const LONGEST: usize = 65_507;

/// Datagrams of one length that are sent in a call: as one if the kernel and the interface allow
/// it, else one by one.
pub struct Burst {
    length: usize,
    bytes: Vec<u8>,
    as_one: bool,
}

impl std::fmt::Debug for Burst {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { length, as_one, .. } = self;
        f.debug_struct("Burst")
            .field("length", length)
            .field("as_one", as_one)
            .finish_non_exhaustive()
    }
}

impl Burst {
    /// Makes up to this many datagrams, each with this data.
    pub fn new(datagrams: usize, data: &[u8]) -> Self {
        let datagrams = datagrams.clamp(1, MOST_AT_ONCE);
        let as_one = !data.is_empty();
        Self { length: data.len(), bytes: data.repeat(datagrams), as_one }
    }

    /// Returns the datagram at this index.
    pub fn datagram(&mut self, place: usize) -> &mut [u8] {
        let from = place * self.length;
        &mut self.bytes[from..from + self.length]
    }

    /// Sends the datagrams of a range of indices by a connected socket. Returns how many the kernel
    /// took.
    ///
    /// # Errors
    /// Fails if the kernel took none.
    pub fn send(&mut self, socket: impl AsFd, from: usize, to: usize) -> io::Result<usize> {
        let most = LONGEST / self.length.max(1);
        if self.as_one && to - from > 1 && most > 1 {
            let to = to.min(from + most);
            match self.send_as_one(&socket, from, to) {
                // The interface cannot split them, or they do not fit it without fragments.
                Err(error)
                    if matches!(
                        error.raw_os_error(),
                        Some(libc::EINVAL | libc::EIO | libc::EMSGSIZE | libc::EOPNOTSUPP)
                    ) =>
                {
                    self.as_one = false;
                }
                sent => return sent.map(|()| to - from),
            }
        }
        self.send_each(socket, from, to)
    }

    fn send_as_one(&mut self, socket: impl AsFd, from: usize, to: usize) -> io::Result<()> {
        /// Words for a length and its header.
        const ROOM: usize = 3;
        let Ok(length) = u16::try_from(self.length) else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        let bytes = &mut self.bytes[from * self.length..to * self.length];
        let mut part = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: bytes.len() };
        let mut control = [0_u64; ROOM];
        // SAFETY: all zeros is a valid msghdr: no name, no parts, no control.
        let mut message: libc::msghdr = unsafe { MaybeUninit::zeroed().assume_init() };
        message.msg_iov = &raw mut part;
        message.msg_iovlen = 1;
        message.msg_control = control.as_mut_ptr().cast();
        // SAFETY: it computes a length.
        message.msg_controllen = unsafe { libc::CMSG_SPACE(size_of::<u16>() as c_uint) } as _;
        // SAFETY: the message has room for one header, which is aligned as its words are.
        unsafe {
            let header = libc::CMSG_FIRSTHDR(&raw const message);
            (*header).cmsg_level = libc::IPPROTO_UDP;
            (*header).cmsg_type = libc::UDP_SEGMENT;
            (*header).cmsg_len = libc::CMSG_LEN(size_of::<u16>() as c_uint) as _;
            ptr::write_unaligned(libc::CMSG_DATA(header).cast(), length);
        }
        // SAFETY: the message points to one part and to control data, which are there as long as
        // the call.
        let sent = unsafe { libc::sendmsg(socket.as_fd().as_raw_fd(), &raw const message, 0) };
        if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    fn send_each(&mut self, socket: impl AsFd, from: usize, to: usize) -> io::Result<usize> {
        let length = self.length;
        let mut parts: Vec<libc::iovec> = self.bytes[from * length..to * length]
            .chunks_mut(length.max(1))
            .map(|one| libc::iovec { iov_base: one.as_mut_ptr().cast(), iov_len: one.len() })
            .collect();
        let mut messages: Vec<libc::mmsghdr> = parts
            .iter_mut()
            .map(|part| {
                // SAFETY: all zeros is a valid mmsghdr: no name, no parts, no control.
                let mut one: libc::mmsghdr = unsafe { MaybeUninit::zeroed().assume_init() };
                one.msg_hdr.msg_iov = &raw mut *part;
                one.msg_hdr.msg_iovlen = 1;
                one
            })
            .collect();
        // SAFETY: each message points to one part, which is there as long as the call.
        let sent = checked(unsafe {
            libc::sendmmsg(
                socket.as_fd().as_raw_fd(),
                messages.as_mut_ptr(),
                messages.len() as c_uint,
                0,
            )
        })?;
        Ok(sent.unsigned_abs() as usize)
    }
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

    /// Both ways of sending and both ways of receiving give the same datagrams.
    #[test]
    fn datagrams_go_and_come_many_at_once() {
        for (as_one, joined, length) in [
            (true, true, 1_000),
            (true, false, 1_000),
            (false, true, 1_000),
            (false, false, 1),
            (true, true, 30_000),
            (true, true, 40_000),
        ] {
            let receiver = UdpSocket::bind(("127.0.0.1", 0)).unwrap();
            let sender = UdpSocket::bind(("127.0.0.1", 0)).unwrap();
            sender.connect(receiver.local_addr().unwrap()).unwrap();
            if joined && let Err(error) = join_arrivals(&receiver) {
                eprintln!("skipped: datagrams_go_and_come_many_at_once: {error}");
                continue;
            }
            let mut burst = Burst::new(8, &vec![7; length]);
            burst.as_one &= as_one;
            for place in 0..8 {
                burst.datagram(place)[0] = u8::try_from(place).unwrap();
            }
            let (mut batch, mut came) = (Batch::new(4, 1 << 16), Vec::new());
            let mut sent = 2;
            while sent < 8 {
                // Datagrams of the largest size fill a small buffer soon.
                let more = burst.send(&sender, sent, sent + 3).unwrap();
                assert!(more > 0);
                sent += more;
                while batch.receive(&receiver).is_ok() {
                    for one in batch.arrived() {
                        assert_eq!(one.bytes.len(), length);
                        assert_eq!(one.from, Some(sender.local_addr().unwrap()));
                        came.push(one.bytes[0]);
                    }
                }
            }
            assert_eq!(came, [2, 3, 4, 5, 6, 7], "{as_one} {joined} {length}");
        }
    }

    #[test]
    fn what_cannot_be_one_goes_each_for_itself() {
        let receiver = UdpSocket::bind(("127.0.0.1", 0)).unwrap();
        let sender = UdpSocket::bind(("127.0.0.1", 0)).unwrap();
        sender.connect(receiver.local_addr().unwrap()).unwrap();
        let mut burst = Burst::new(4, &[]);
        assert!(!burst.as_one);
        assert_eq!(burst.send(&sender, 0, 0).unwrap(), 0);
        // More than the kernel takes as one.
        let mut burst = Burst::new(1_000, &[5; 100]);
        assert_eq!(burst.send(&sender, 0, MOST_AT_ONCE).unwrap(), MOST_AT_ONCE);
        let mut batch = Batch::new(100, 200);
        assert_eq!(batch.receive(&receiver).unwrap(), MOST_AT_ONCE);
    }

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
            // Until the kernel notes times, a datagram has that of its reading.
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
