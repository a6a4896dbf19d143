//! The interface by which packets leave, as `rtnetlink(7)` tells.

use std::fs::File;
use std::io;
use std::net::IpAddr;

use rustix::net::netdevice::index_to_name;
use rustix::net::{AddressFamily, SocketType};

use crate::netlink::{HEADER, Message, family, number, short};
use crate::socket::open;

/// Bytes of the header of a route message (`struct rtmsg`).
const ABOUT: usize = 12;

/// Returns the name of the interface by which packets to this address leave.
///
/// # Errors
/// Fails if there is no route to the address.
pub fn interface_to(address: IpAddr) -> io::Result<String> {
    let socket = File::from(open(AddressFamily::NETLINK, SocketType::RAW)?);
    let (family, octets) = family(address);
    let mut about = [0; ABOUT];
    // The family, and the number of significant bits of the address.
    about[..2].copy_from_slice(&[family, (octets.len() * 8) as u8]);
    let question = Message::new(libc::RTM_GETROUTE, 0, &about).with(libc::RTA_DST, &octets);
    let answer = question.send(&socket)?;
    Ok(index_to_name(&socket, outgoing(&answer)?)?)
}

/// Reads the number of the interface in an answer.
fn outgoing(answer: &[u8]) -> io::Result<u32> {
    let mut at = HEADER + ABOUT;
    while short(answer, at + 2)? != libc::RTA_OIF {
        // The next attribute is aligned.
        at += usize::from(short(answer, at)?).max(4).next_multiple_of(4);
    }
    number(answer, at + 4)
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
