//! Options of sockets for ICMP, and the errors that hosts on the path report to them.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::{AsFd, AsRawFd};
use std::ptr;

use libc::c_int;

use crate::call::checked;
use crate::socket::{message, set};

/// `ICMP_FILTER` in `linux/icmp.h`, at the level `SOL_RAW`: a bit for each type that is blocked.
const ICMP_FILTER: c_int = 1;

/// `ICMPV6_FILTER` in `linux/icmpv6.h`: a bit for each type that is blocked.
const ICMPV6_FILTER: c_int = 1;

/// The types of echo replies (RFC 792, RFC 4443).
const ECHO_REPLY: (u32, u32) = (0, 129);

/// Has a raw socket of ICMP receive echo replies alone. Other sockets, and other programs, still
/// get the rest.
///
/// # Errors
/// Fails if the kernel refuses.
pub fn take_echo_replies_only(socket: impl AsFd, is_v6: bool) -> io::Result<()> {
    if is_v6 {
        let mut kept_away = [u32::MAX; 8];
        kept_away[(ECHO_REPLY.1 / 32) as usize] &= !(1 << (ECHO_REPLY.1 % 32));
        set(socket, libc::IPPROTO_ICMPV6, ICMPV6_FILTER, &kept_away)
    } else {
        let kept_away = !(1_u32 << ECHO_REPLY.0);
        set(socket, libc::SOL_RAW, ICMP_FILTER, &kept_away)
    }
}

/// Has the kernel keep the ICMP errors about a socket's packets, for [`next_report`]. Each report
/// makes one call on the socket fail.
///
/// # Errors
/// Fails if the kernel refuses.
pub fn keep_reports(socket: impl AsFd, is_v6: bool) -> io::Result<()> {
    let on: c_int = 1;
    let (level, option) = if is_v6 {
        (libc::IPPROTO_IPV6, libc::IPV6_RECVERR)
    } else {
        (libc::IPPROTO_IP, libc::IP_RECVERR)
    };
    set(socket, level, option, &on)
}

/// An ICMP error about a packet.
#[derive(Debug)]
pub struct IcmpReport {
    /// Length of the quoted packet in bytes, from its ICMP header on.
    pub quoted: usize,
    /// The meaning of the report.
    pub error: io::Error,
    /// Host that sent the report; `None` if it is this system.
    pub by: Option<IpAddr>,
}

/// Returns the next report on a socket's packets, if there is one. `quote` takes the packet that it
/// is about.
///
/// # Errors
/// Fails if the kernel does not tell.
pub fn next_report(socket: impl AsFd, quote: &mut [u8]) -> io::Result<Option<IcmpReport>> {
    // Room for `sock_extended_err`, an address, and any other messages that are switched on.
    let mut control = [0; 64];
    let mut part = libc::iovec { iov_base: quote.as_mut_ptr().cast(), iov_len: quote.len() };
    let mut message = message(&mut part, &mut control);
    let how = libc::MSG_ERRQUEUE | libc::MSG_DONTWAIT;
    // SAFETY: the message points to one part and to the control messages' room,
    // which are there as long as the call and have the lengths that it states.
    let quoted = match checked(unsafe {
        libc::recvmsg(socket.as_fd().as_raw_fd(), &raw mut message, how)
    }) {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(None),
        quoted => quoted?.unsigned_abs(),
    };
    let mut report =
        IcmpReport { quoted, error: io::Error::other("the system does not say what"), by: None };
    // SAFETY: the kernel has filled in the message, and its control messages are
    // still there.
    let mut next = unsafe { libc::CMSG_FIRSTHDR(&raw const message) };
    while !next.is_null() {
        // SAFETY: it is not null, so it points to a header inside the room.
        let header = unsafe { ptr::read_unaligned(next) };
        let wanted = matches!(
            (header.cmsg_level, header.cmsg_type),
            (libc::IPPROTO_IP, libc::IP_RECVERR) | (libc::IPPROTO_IPV6, libc::IPV6_RECVERR)
        );
        // SAFETY: a header says where its data lies, and the kernel wrote as
        // much as its length states.
        let data = unsafe {
            let data = libc::CMSG_DATA(next);
            let header_length = data.offset_from(next.cast::<u8>()).unsigned_abs();
            // 64 bits with glibc, 32 with musl.
            let length = (header.cmsg_len as usize).saturating_sub(header_length);
            std::slice::from_raw_parts(data, length)
        };
        if wanted {
            (report.error, report.by) = read(data);
        }
        // SAFETY: both are there, and it stays within the message's room.
        next = unsafe { libc::CMSG_NXTHDR(&raw const message, next) };
    }
    Ok(Some(report))
}

/// Reads `sock_extended_err` of `linux/errqueue.h` and the address behind it.
fn read(data: &[u8]) -> (io::Error, Option<IpAddr>) {
    let known = size_of::<libc::sock_extended_err>();
    let Some((number, _)) = data.split_first_chunk::<4>() else {
        return (io::Error::other("the system does not say what"), None);
    };
    let error = io::Error::from_raw_os_error(i32::from_ne_bytes(*number));
    let address = data.get(known..).and_then(|address| {
        let (family, rest) = address.split_first_chunk::<2>()?;
        match c_int::from(u16::from_ne_bytes(*family)) {
            // sockaddr_in: the port, then the address.
            libc::AF_INET => Some(Ipv4Addr::from(*rest.get(2..)?.first_chunk::<4>()?).into()),
            // sockaddr_in6: the port and the flow before it.
            libc::AF_INET6 => Some(Ipv6Addr::from(*rest.get(6..)?.first_chunk::<16>()?).into()),
            _ => None,
        }
    });
    (error, address)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::UdpSocket;
    use std::time::{Duration, Instant};

    #[test]
    fn a_closed_port_is_reported() {
        for (address, is_v6) in [("127.0.0.1", false), ("::1", true)] {
            let Ok(socket) = UdpSocket::bind((address, 0)) else {
                eprintln!("skipped: a_closed_port_is_reported: no {address} here");
                continue;
            };
            // The port is closed, as its socket was just dropped.
            let closed = UdpSocket::bind((address, 0)).unwrap().local_addr().unwrap();
            keep_reports(&socket, is_v6).unwrap();
            let mut quote = [0; 64];
            assert!(next_report(&socket, &mut quote).unwrap().is_none());
            socket.send_to(b"abc", closed).unwrap();
            let began = Instant::now();
            let report = loop {
                if let Some(report) = next_report(&socket, &mut quote).unwrap() {
                    break report;
                }
                assert!(began.elapsed() < Duration::from_secs(10), "no report");
            };
            assert_eq!(report.error.kind(), io::ErrorKind::ConnectionRefused);
            assert_eq!(report.by, Some(address.parse().unwrap()));
            assert_eq!(&quote[..report.quoted], b"abc");
            assert!(next_report(&socket, &mut quote).unwrap().is_none());
        }
    }

    #[test]
    fn what_is_cut_short_is_no_address() {
        let mut data = [0; 36];
        data[..4].copy_from_slice(&libc::EHOSTUNREACH.to_ne_bytes());
        data[16..18].copy_from_slice(&(libc::AF_INET as u16).to_ne_bytes());
        data[20..24].copy_from_slice(&[192, 0, 2, 1]);
        let (error, by) = read(&data);
        assert_eq!(error.raw_os_error(), Some(libc::EHOSTUNREACH));
        assert_eq!(by, Some(Ipv4Addr::new(192, 0, 2, 1).into()));
        for length in 0..24 {
            assert_eq!(read(&data[..length]).1, None, "{length}");
        }
        data[16..18].copy_from_slice(&(libc::AF_INET6 as u16).to_ne_bytes());
        assert_eq!(read(&data).1, None, "the address of IPv6 does not fit");
    }

    #[test]
    fn another_socket_takes_no_filter() {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        assert!(take_echo_replies_only(&socket, false).is_err());
    }
}
