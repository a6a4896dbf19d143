//! ICMP echo over IPv4 (RFC 792, RFC 1122 section 3.2.2.6): the requests of ping, and the replies
//! of a host.

use std::net::Ipv4Addr;

use crate::build::{IPV4, Sum, ipv4_header};
use crate::decode::ip::protocol;
use crate::icmp::{Echo, EchoKind, Family, HEADER};

/// An echo request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EchoRequest<'a> {
    /// Address of the requester.
    pub source: Ipv4Addr,
    /// Address of the host that is to reply.
    pub destination: Ipv4Addr,
    /// Identifier, sequence number and data, which the reply repeats.
    echo: Echo<'a>,
}

/// Reads an echo request from a whole IPv4 packet. Returns `None` for a packet that a host must not
/// answer: another protocol, a fragment, a cut packet, or a wrong checksum.
pub fn request(packet: &[u8]) -> Option<EchoRequest<'_>> {
    let header = usize::from(packet.first()? & 15) * 4;
    let head = packet.get(..header).filter(|head| head.len() >= IPV4)?;
    let word = |at: usize| u16::from_be_bytes([head[at], head[at + 1]]);
    // Bytes behind the packet's own length, such as Ethernet padding, do not belong to it.
    let message = packet.get(header..usize::from(word(2)))?;
    // The lower bits of this word are the fragment offset and the "more fragments" flag.
    let whole = word(6) & 0x3fff == 0;
    let ours =
        head[0] >> 4 == 4 && head[9] == protocol::ICMP && Sum::default().and(head).is_right();
    let echo = Echo::read(message, Family::V4, EchoKind::Request).filter(|_| whole && ours)?;
    let address = |at: usize| Ipv4Addr::new(head[at], head[at + 1], head[at + 2], head[at + 3]);
    Some(EchoRequest { source: address(12), destination: address(16), echo })
}

impl EchoRequest<'_> {
    /// Appends the packet of the reply. It is as long as the request without IP options.
    pub fn answer(&self, out: &mut Vec<u8>, identification: u16, hop_limit: u8) {
        // The data came in a packet of at most 65,535 bytes, with a header at least as long.
        let total = (IPV4 + HEADER + self.echo.data.len()) as u16;
        let (from, to) = (self.destination, self.source);
        ipv4_header(out, total, identification, hop_limit, protocol::ICMP, (from, to));
        self.echo.write(out, Family::V4, EchoKind::Reply);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PING: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
    const HOST: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 2);

    /// Builds a request of Linux's ping: identifier 0x1234, number 1.
    fn asked(data: &[u8]) -> Vec<u8> {
        let mut message = vec![8, 0, 0, 0, 0x12, 0x34, 0, 1];
        message.extend(data);
        let sum = Sum::default().and(&message).checksum();
        message[2..4].copy_from_slice(&sum);
        let mut packet = Vec::new();
        let total = u16::try_from(IPV4 + message.len()).unwrap();
        ipv4_header(&mut packet, total, 7, 64, protocol::ICMP, (PING, HOST));
        packet.extend(message);
        packet
    }

    fn answered(packet: &[u8]) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        request(packet)?.answer(&mut out, 9, 64);
        Some(out)
    }

    #[test]
    fn an_answer_is_the_question_with_its_ends_turned_round() {
        let packet = asked(b"abcdefgh");
        let request = request(&packet).unwrap();
        assert_eq!((request.source, request.destination), (PING, HOST));
        let answer = answered(&packet).unwrap();
        assert_eq!(answer.len(), packet.len());
        assert_eq!(answer[12..20], [192, 0, 2, 2, 192, 0, 2, 1]);
        assert_eq!(answer[20..22], [0, 0], "an echo reply");
        assert_eq!(answer[24..], packet[24..], "identifier, number and data");
        assert_eq!(answer[4..6], [0, 9]);
        // A reply is no request, so two hosts cannot answer each other for ever.
        assert_eq!(super::request(&answer), None);
    }

    #[test]
    fn what_is_no_question_gets_no_answer() {
        let right = asked(b"abcdefgh");
        assert!(request(&right).is_some());
        // The version, the length, a fragment, the time to live, the protocol, a
        // checksum, the type, the code, the data.
        for place in [0, 3, 6, 7, 8, 9, 10, 20, 21, 22, 30] {
            let mut wrong = right.clone();
            wrong[place] ^= 0x21;
            assert_eq!(request(&wrong), None, "byte {place}");
        }
        for length in 0..right.len() {
            assert_eq!(request(&right[..length]), None, "{length} bytes");
        }
        assert_eq!(answered(&asked(b"")).map(|answer| answer.len()), Some(28));
    }

    proptest! {
        #[test]
        fn every_question_is_answered_in_its_own_words(
            data in prop::collection::vec(any::<u8>(), 0..1_600),
            padding in 0..6_usize,
        ) {
            let mut packet = asked(&data);
            let length = packet.len();
            packet.resize(length + padding, 0x55);
            let answer = answered(&packet).unwrap();
            prop_assert_eq!(&answer[24..], &packet[24..length]);
            prop_assert!(Sum::default().and(&answer[..20]).is_right());
            prop_assert!(Sum::default().and(&answer[20..]).is_right());
        }

        #[test]
        fn anything_may_come(
            bytes in prop::collection::vec(any::<u8>(), 0..120),
            first in prop_oneof![Just(0x45), Just(0x4f), any::<u8>()],
        ) {
            let mut bytes = bytes;
            if let Some(byte) = bytes.first_mut() {
                *byte = first;
            }
            if let Some(answer) = answered(&bytes) {
                prop_assert!(answer.len() <= bytes.len());
            }
        }
    }
}
