//! Messages of `netlink(7)`: requests about interfaces, addresses, routes and sockets, and answers
//! in several parts.

use std::fs::File;
use std::io::{self, Read, Write};
use std::net::IpAddr;

use libc::c_int;

/// Bytes of a message's header (`struct nlmsghdr`).
pub(crate) const HEADER: usize = 16;

/// Bytes before the value of an attribute: its length and its number.
const ATTRIBUTE: usize = 4;

/// A request.
#[derive(Debug)]
pub(crate) struct Message(Vec<u8>);

impl Message {
    /// Starts a request of this kind; `about` is the structure of that kind.
    pub(crate) fn new(kind: u16, flags: c_int, about: &[u8]) -> Self {
        let flags = (flags | libc::NLM_F_REQUEST | libc::NLM_F_ACK).cast_unsigned() as u16;
        let mut message = vec![0; HEADER];
        message[4..6].copy_from_slice(&kind.to_ne_bytes());
        message[6..8].copy_from_slice(&flags.to_ne_bytes());
        Self(message).then(about)
    }

    /// Asks for no acknowledgment: the kernel then answers or refuses, and no more.
    pub(crate) fn unacknowledged(mut self) -> Self {
        let flags = u16::from_ne_bytes([self.0[6], self.0[7]]);
        let without = flags & !(libc::NLM_F_ACK.cast_unsigned() as u16);
        self.0[6..8].copy_from_slice(&without.to_ne_bytes());
        self
    }

    /// Appends bytes as they are.
    pub(crate) fn then(mut self, bytes: &[u8]) -> Self {
        self.0.extend(bytes);
        self
    }

    /// Appends an attribute.
    pub(crate) fn with(self, attribute: u16, value: &[u8]) -> Self {
        self.nested(attribute, |message| message.then(value))
    }

    /// Appends an attribute that is a name.
    pub(crate) fn named(self, attribute: u16, name: &str) -> Self {
        self.nested(attribute, |message| message.then(name.as_bytes()).then(&[0]))
    }

    /// Appends an attribute whose value is made of other attributes.
    pub(crate) fn nested(mut self, attribute: u16, value: impl FnOnce(Self) -> Self) -> Self {
        let at = self.0.len();
        self.0.resize(at + ATTRIBUTE, 0);
        let mut whole = value(self);
        // Names are the longest values, and an interface's has at most 15 bytes.
        let length = (whole.0.len() - at) as u16;
        whole.0[at..at + 2].copy_from_slice(&length.to_ne_bytes());
        whole.0[at + 2..at + 4].copy_from_slice(&attribute.to_ne_bytes());
        // The next one is aligned.
        whole.0.resize(whole.0.len().next_multiple_of(4), 0);
        whole
    }

    /// Returns the bytes of the message.
    pub(crate) fn finish(mut self) -> Vec<u8> {
        let length = self.0.len() as u32;
        self.0[..4].copy_from_slice(&length.to_ne_bytes());
        self.0
    }

    /// Sends the message by a netlink socket, and returns the kernel's answer.
    pub(crate) fn send(self, mut socket: &File) -> io::Result<Vec<u8>> {
        socket.write_all(&self.finish())?;
        let mut answer = vec![0; 4_096];
        let got = socket.read(&mut answer)?;
        answer.truncate(got);
        if c_int::from(short(&answer, 4)?) == libc::NLMSG_ERROR {
            // An errno below zero, or zero for success.
            let errno = number(&answer, HEADER)?.cast_signed();
            if errno != 0 {
                return Err(io::Error::from_raw_os_error(errno.wrapping_neg()));
            }
        }
        Ok(answer)
    }
}

/// A message from the kernel.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ParsedMessage<'a> {
    /// Its type.
    pub(crate) kind: u16,
    /// The bytes behind its header.
    pub(crate) body: &'a [u8],
}

/// The messages of one read. A message that is cut short, or shorter than its own header, is the
/// end: the next one cannot be found.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Messages<'a>(pub(crate) &'a [u8]);

impl<'a> Iterator for Messages<'a> {
    type Item = ParsedMessage<'a>;

    fn next(&mut self) -> Option<ParsedMessage<'a>> {
        let length = number(self.0, 0).ok()? as usize;
        let kind = short(self.0, 4).ok()?;
        let body = self.0.get(HEADER..length)?;
        self.0 = self.0.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some(ParsedMessage { kind, body })
    }
}

/// The attributes at the end of a message, each with its number and its value, up to the first one
/// that is cut short.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Attributes<'a>(pub(crate) &'a [u8]);

impl<'a> Iterator for Attributes<'a> {
    type Item = (u16, &'a [u8]);

    fn next(&mut self) -> Option<(u16, &'a [u8])> {
        let length = usize::from(short(self.0, 0).ok()?);
        let attribute = short(self.0, 2).ok()?;
        let value = self.0.get(ATTRIBUTE..length)?;
        self.0 = self.0.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((attribute, value))
    }
}

/// Reads the number of two bytes at an offset of an answer.
pub(crate) fn short(answer: &[u8], at: usize) -> io::Result<u16> {
    part(answer, at).map(u16::from_ne_bytes)
}

/// Reads the number of four bytes at an offset of an answer.
pub(crate) fn number(answer: &[u8], at: usize) -> io::Result<u32> {
    part(answer, at).map(u32::from_ne_bytes)
}

fn part<const N: usize>(answer: &[u8], at: usize) -> io::Result<[u8; N]> {
    let part = answer.get(at..).and_then(|rest| rest.first_chunk().copied());
    let what = "no answer to a netlink request";
    part.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, what))
}

/// Returns the family of an address, and its bytes.
pub(crate) fn family(address: IpAddr) -> (u8, Vec<u8>) {
    match address {
        IpAddr::V4(address) => (libc::AF_INET as u8, address.octets().to_vec()),
        IpAddr::V6(address) => (libc::AF_INET6 as u8, address.octets().to_vec()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_aligned_and_say_their_lengths() {
        let message = Message::new(libc::RTM_NEWLINK, 0, &[7; 4])
            .named(3, "ab")
            .nested(18, |info| info.named(1, "vlan").nested(2, |data| data.with(1, &[9, 0])));
        let (header, rest) = message.0.split_at(HEADER + 4);
        assert_eq!(header[HEADER..], [7; 4]);
        let expected: &[&[u8]] = &[
            // A name of two letters and its end.
            &[7, 0, 3, 0, b'a', b'b', 0, 0],
            // Its length counts the padding between those within.
            &[28, 0, 18, 0],
            &[9, 0, 1, 0, b'v', b'l', b'a', b'n', 0, 0, 0, 0],
            &[12, 0, 2, 0],
            &[6, 0, 1, 0, 9, 0, 0, 0],
        ];
        if cfg!(target_endian = "little") {
            assert_eq!(rest, expected.concat());
        }
    }
}
