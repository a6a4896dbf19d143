//! The one message of `rtnetlink(7)` that is needed.

use std::fs::File;
use std::io::{self, Read, Write};

use libc::c_int;

/// Bytes of a message's header, of what it says of an interface, and of one
/// attribute with a number.
const HEADER: usize = 16;
const ABOUT: usize = 16;
const NUMBER: u16 = 8;
const WHOLE: usize = HEADER + ABOUT + NUMBER as usize;

/// Sets a number of an interface, by a netlink socket of its namespace.
pub(super) fn set(mut socket: &File, index: c_int, attribute: u16, value: u16) -> io::Result<()> {
    let message = message(index, attribute, value);
    socket.write_all(&message)?;
    // The answer is a header, an errno below zero or zero, and the request's
    // own header.
    let mut answer = [0; 256];
    let got = socket.read(&mut answer)?;
    let number = |at: usize| [answer[at], answer[at + 1], answer[at + 2], answer[at + 3]];
    let kind = u16::from_ne_bytes([answer[4], answer[5]]);
    if got < HEADER + 4 || c_int::from(kind) != libc::NLMSG_ERROR {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "no answer to a netlink request"));
    }
    match c_int::from_ne_bytes(number(HEADER)) {
        0 => Ok(()),
        refused => Err(io::Error::from_raw_os_error(refused.wrapping_neg())),
    }
}

fn message(index: c_int, attribute: u16, value: u16) -> [u8; WHOLE] {
    let flags = (libc::NLM_F_REQUEST | libc::NLM_F_ACK) as u16;
    let mut message = [0; WHOLE];
    let mut put = |at: usize, bytes: &[u8]| message[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, &(WHOLE as u32).to_ne_bytes());
    put(4, &libc::RTM_NEWLINK.to_ne_bytes());
    put(6, &flags.to_ne_bytes());
    // Of the interface only its number is said: nothing else changes.
    put(HEADER + 4, &index.to_ne_bytes());
    put(HEADER + ABOUT, &NUMBER.to_ne_bytes());
    put(HEADER + ABOUT + 2, &attribute.to_ne_bytes());
    put(HEADER + ABOUT + 4, &u32::from(value).to_ne_bytes());
    message
}
