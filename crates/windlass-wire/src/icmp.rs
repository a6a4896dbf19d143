//! ICMP echo messages without their IP headers (RFC 792; RFC 4443 section 4), as an ICMP socket
//! sends and receives them.

use crate::build::Sum;

/// Bytes of an echo's header: type, code, checksum, identifier, sequence number.
pub const HEADER: usize = 8;

/// Version of ICMP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// ICMP of IPv4.
    V4,
    /// ICMP of IPv6.
    V6,
}

/// Echo request or echo reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EchoKind {
    /// A request, to which the receiver replies.
    Request,
    /// A reply, with the identifier, number and data of the request.
    Reply,
}

/// An echo message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Echo<'a> {
    /// Identifier of the program: one system receives the replies for several programs.
    pub identifier: u16,
    /// Sequence number of the request.
    pub sequence: u16,
    /// Data, which the reply repeats.
    pub data: &'a [u8],
}

const fn number(family: Family, kind: EchoKind) -> u8 {
    match (family, kind) {
        (Family::V4, EchoKind::Request) => 8,
        (Family::V4, EchoKind::Reply) => 0,
        (Family::V6, EchoKind::Request) => 128,
        (Family::V6, EchoKind::Reply) => 129,
    }
}

impl<'a> Echo<'a> {
    /// Appends the message. A message of IPv6 has no checksum yet: it covers the addresses, so the
    /// kernel fills it in.
    pub fn write(&self, out: &mut Vec<u8>, family: Family, kind: EchoKind) {
        let start = out.len();
        out.extend([number(family, kind), 0, 0, 0]);
        out.extend(self.identifier.to_be_bytes());
        out.extend(self.sequence.to_be_bytes());
        out.extend(self.data);
        if family == Family::V4 {
            let checksum = Sum::default().and(&out[start..]).checksum();
            out[start + 2..start + 4].copy_from_slice(&checksum);
        }
    }

    /// Reads a message. Returns `None` if it is not of this kind, or its checksum is wrong. For
    /// IPv6, the kernel verifies the checksum.
    pub fn read(message: &'a [u8], family: Family, kind: EchoKind) -> Option<Self> {
        let echo = Self::read_quoted(message, family, kind)?;
        let is_right = family == Family::V6 || Sum::default().and(message).is_right();
        is_right.then_some(echo)
    }

    /// Reads a message that an ICMP error quotes. It may be cut behind its header, so its checksum
    /// is not verified.
    pub fn read_quoted(message: &'a [u8], family: Family, kind: EchoKind) -> Option<Self> {
        let (head, data) = message.split_first_chunk::<HEADER>()?;
        let [first, code, _, _, identifier @ .., high, low] = *head;
        (first == number(family, kind) && code == 0).then_some(Self {
            identifier: u16::from_be_bytes(identifier),
            sequence: u16::from_be_bytes([high, low]),
            data,
        })
    }
}

/// Returns the payload of an IPv4 packet, which raw sockets give with its header. `None` if it is
/// no IPv4 packet with a whole header.
pub fn payload(packet: &[u8]) -> Option<&[u8]> {
    let first = packet.first()?;
    let header = usize::from(first & 15) * 4;
    (first >> 4 == 4 && header >= 20).then(|| packet.get(header..)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const BOTH: [Family; 2] = [Family::V4, Family::V6];

    #[test]
    fn a_request_is_as_ping_sends_it() {
        let echo = Echo { identifier: 0x1234, sequence: 1, data: b"abcdefgh" };
        let mut message = Vec::new();
        echo.write(&mut message, Family::V4, EchoKind::Request);
        assert_eq!(message[..8], [8, 0, 0x54, 0x35, 0x12, 0x34, 0, 1], "the sum by hand");
        assert_eq!(Echo::read(&message, Family::V4, EchoKind::Request), Some(echo));
        // A host that pings itself sees its own requests, which are no replies.
        assert_eq!(Echo::read(&message, Family::V4, EchoKind::Reply), None);
        assert_eq!(Echo::read(&message, Family::V6, EchoKind::Request), None);
        message.clear();
        echo.write(&mut message, Family::V6, EchoKind::Reply);
        assert_eq!(message[..8], [129, 0, 0, 0, 0x12, 0x34, 0, 1]);
        assert_eq!(Echo::read(&message, Family::V6, EchoKind::Reply), Some(echo));
    }

    #[test]
    fn what_is_damaged_is_not_read() {
        let mut right = Vec::new();
        Echo { identifier: 7, sequence: 9, data: b"abcd" }.write(
            &mut right,
            Family::V4,
            EchoKind::Reply,
        );
        for place in 0..right.len() {
            let mut wrong = right.clone();
            wrong[place] ^= 0x10;
            assert_eq!(Echo::read(&wrong, Family::V4, EchoKind::Reply), None, "byte {place}");
        }
        // Routers quote the header and eight bytes of a packet at least.
        let quoted = Echo::read_quoted(&right[..8], Family::V4, EchoKind::Reply).unwrap();
        assert_eq!((quoted.identifier, quoted.sequence, quoted.data), (7, 9, &[][..]));
        assert_eq!(Echo::read_quoted(&right[..7], Family::V4, EchoKind::Reply), None);
    }

    #[test]
    fn the_header_below_is_passed_over() {
        let mut packet = vec![0; 28];
        packet[0] = 0x46;
        packet[24..].copy_from_slice(b"abcd");
        assert_eq!(payload(&packet), Some(&b"abcd"[..]));
        for (first, length) in [(0x46, 23), (0x44, 28), (0x66, 28), (0x4f, 28), (0x45, 0)] {
            packet[0] = first;
            assert_eq!(payload(&packet[..length]), None, "{first:x}, {length} bytes");
        }
    }

    proptest! {
        #[test]
        fn what_was_written_is_read(
            identifier: u16, sequence: u16, data in prop::collection::vec(any::<u8>(), 0..1_500),
        ) {
            for family in BOTH {
                for kind in [EchoKind::Request, EchoKind::Reply] {
                    let echo = Echo { identifier, sequence, data: &data };
                    let mut message = vec![1, 2, 3];
                    echo.write(&mut message, family, kind);
                    prop_assert_eq!(Echo::read(&message[3..], family, kind), Some(echo));
                }
            }
        }

        #[test]
        fn anything_may_come(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            for family in BOTH {
                let carried = payload(&bytes).unwrap_or(&bytes);
                let _ = Echo::read_quoted(carried, family, EchoKind::Request);
                if let Some(echo) = Echo::read(carried, family, EchoKind::Reply) {
                    prop_assert_eq!(echo.data.len() + HEADER, carried.len());
                }
            }
        }
    }
}
