//! By which interface packets leave: a question to `rtnetlink(7)`.

use std::fs::File;
use std::io::{self, Read, Write};
use std::net::IpAddr;

use rustix::net::{AddressFamily, SocketType};

use crate::socket::open;

/// Bytes of a message's header, and of what it says of a route (`struct
/// nlmsghdr` and `struct rtmsg`).
const HEADER: usize = 16;
const ABOUT: usize = 12;

/// The name of the interface by which packets to this address leave. It fails where
/// there is no way to it.
pub fn interface_to(address: IpAddr) -> io::Result<String> {
    let mut socket = File::from(open(AddressFamily::NETLINK, SocketType::RAW)?);
    socket.write_all(&question(address))?;
    let mut answer = [0; 4_096];
    let got = socket.read(&mut answer)?;
    let index = outgoing(answer.get(..got).unwrap_or_default())?;
    Ok(rustix::net::netdevice::index_to_name(&socket, index)?)
}

fn question(address: IpAddr) -> Vec<u8> {
    let (family, octets) = match address {
        IpAddr::V4(address) => (libc::AF_INET, address.octets().to_vec()),
        IpAddr::V6(address) => (libc::AF_INET6, address.octets().to_vec()),
    };
    let length = (HEADER + ABOUT + 4 + octets.len()) as u32;
    let mut message = Vec::new();
    message.extend(length.to_ne_bytes());
    message.extend(libc::RTM_GETROUTE.to_ne_bytes());
    message.extend((libc::NLM_F_REQUEST as u16).to_ne_bytes());
    message.extend([0; 8]);
    // The family, and how many bits of the address count.
    message.extend([family.cast_unsigned() as u8, (octets.len() * 8) as u8]);
    message.extend([0; ABOUT - 2]);
    message.extend(((octets.len() + 4) as u16).to_ne_bytes());
    message.extend(libc::RTA_DST.to_ne_bytes());
    message.extend(octets);
    message
}

/// The number of the interface in an answer.
fn outgoing(answer: &[u8]) -> io::Result<u32> {
    let strange = || io::Error::new(io::ErrorKind::InvalidData, "no answer about a route");
    let two = |at: usize| answer.get(at..)?.first_chunk().copied().map(u16::from_ne_bytes);
    let four = |at: usize| answer.get(at..)?.first_chunk().copied().map(u32::from_ne_bytes);
    let kind = two(4).ok_or_else(strange)?;
    if i32::from(kind) == libc::NLMSG_ERROR {
        let refused = four(HEADER).ok_or_else(strange)?.cast_signed();
        return Err(io::Error::from_raw_os_error(refused.wrapping_neg()));
    }
    let mut at = HEADER + ABOUT;
    while let (Some(length), Some(kind)) = (two(at), two(at + 2)) {
        if kind == libc::RTA_OIF {
            return four(at + 4).ok_or_else(strange);
        }
        // The next one is aligned.
        at += usize::from(length).max(4).next_multiple_of(4);
    }
    Err(strange())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_host_is_reached_by_the_loopback() {
        assert_eq!(interface_to([127, 0, 0, 1].into()).unwrap(), "lo");
    }

    #[test]
    fn an_answer_that_is_cut_off_is_an_error() {
        for length in 0..HEADER + ABOUT + 8 {
            outgoing(&vec![0; length]).unwrap_err();
        }
    }
}
