//! The messages of `rtnetlink(7)` that are needed: those about interfaces.

use std::fs::File;
use std::io::{self, Read, Write};

use libc::c_int;

/// Bytes of a message's header, and of what it says of an interface
/// (`struct nlmsghdr` and `struct ifinfomsg`).
const HEADER: usize = 16;
const ABOUT: usize = 16;

/// Bytes before the value of an attribute: its length and its number.
const ATTRIBUTE: usize = 4;

/// A message about an interface.
#[derive(Debug)]
pub(super) struct Message(Vec<u8>);

impl Message {
    /// Makes an interface, which must not be there.
    pub(super) fn make() -> Self {
        Self::new(libc::RTM_NEWLINK, libc::NLM_F_CREATE | libc::NLM_F_EXCL, 0)
    }

    /// Changes what the attributes say of an interface, and nothing else.
    pub(super) fn change(index: c_int) -> Self {
        Self::new(libc::RTM_NEWLINK, 0, index)
    }

    /// Takes an interface away.
    pub(super) fn remove(index: c_int) -> Self {
        Self::new(libc::RTM_DELLINK, 0, index)
    }

    fn new(kind: u16, flags: c_int, index: c_int) -> Self {
        let flags = (flags | libc::NLM_F_REQUEST | libc::NLM_F_ACK).cast_unsigned() as u16;
        let mut message = vec![0; HEADER];
        message[4..6].copy_from_slice(&kind.to_ne_bytes());
        message[6..8].copy_from_slice(&flags.to_ne_bytes());
        Self(message).about(index)
    }

    /// Appends what is said of an interface: of all that only its number. At
    /// the beginning of an attribute it is another interface than the
    /// message's.
    pub(super) fn about(mut self, index: c_int) -> Self {
        let at = self.0.len();
        self.0.resize(at + ABOUT, 0);
        self.0[at + 4..at + 8].copy_from_slice(&index.to_ne_bytes());
        self
    }

    /// Appends an attribute.
    pub(super) fn with(self, attribute: u16, value: &[u8]) -> Self {
        self.nested(attribute, |mut message| {
            message.0.extend(value);
            message
        })
    }

    /// Appends an attribute that is a name.
    pub(super) fn named(self, attribute: u16, name: &str) -> Self {
        self.nested(attribute, |mut message| {
            message.0.extend(name.bytes().chain([0]));
            message
        })
    }

    /// Appends an attribute of which the value is made of others.
    pub(super) fn nested(mut self, attribute: u16, value: impl FnOnce(Self) -> Self) -> Self {
        let at = self.0.len();
        self.0.resize(at + ATTRIBUTE, 0);
        let mut whole = value(self);
        // Names are the longest values, and an interface's has 15 bytes.
        let length = (whole.0.len() - at) as u16;
        whole.0[at..at + 2].copy_from_slice(&length.to_ne_bytes());
        whole.0[at + 2..at + 4].copy_from_slice(&attribute.to_ne_bytes());
        // The next one is aligned.
        whole.0.resize(whole.0.len().next_multiple_of(4), 0);
        whole
    }

    /// Sends it by a netlink socket of the interface's namespace, and reads
    /// what the kernel says to it.
    pub(super) fn send(mut self, mut socket: &File) -> io::Result<()> {
        let length = self.0.len() as u32;
        self.0[..4].copy_from_slice(&length.to_ne_bytes());
        socket.write_all(&self.0)?;
        // The answer is a header, an errno below zero or zero, and the request
        // or its header.
        let mut answer = [0; 1_024];
        let got = socket.read(&mut answer)?;
        let number = |at: usize| [answer[at], answer[at + 1], answer[at + 2], answer[at + 3]];
        let kind = u16::from_ne_bytes([answer[4], answer[5]]);
        if got < HEADER + 4 || c_int::from(kind) != libc::NLMSG_ERROR {
            let what = "no answer to a netlink request";
            return Err(io::Error::new(io::ErrorKind::InvalidData, what));
        }
        match c_int::from_ne_bytes(number(HEADER)) {
            0 => Ok(()),
            refused => Err(io::Error::from_raw_os_error(refused.wrapping_neg())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_aligned_and_say_their_lengths() {
        let message = Message::change(7)
            .named(3, "ab")
            .nested(18, |info| info.named(1, "vlan").nested(2, |data| data.with(1, &[9, 0])));
        let (header, rest) = message.0.split_at(HEADER + ABOUT);
        assert_eq!(header[HEADER + 4..HEADER + 8], 7_i32.to_ne_bytes());
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
