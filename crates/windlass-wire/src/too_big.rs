//! ICMP messages of routers that dropped a TCP segment because it was too big for the next link
//! (RFC 1191; for IPv6, RFC 4443 section 3.2).

use windlass_base::Timestamp;

use crate::decode::ip::{IpHeader, carrier, carrier_v6, protocol};
use crate::decode::link::{self, IpPacket};
use crate::decode::view::{View, be16, be32};
use crate::{Endpoint, Host, Packet};

/// Bytes of the message's own header, behind which it quotes the packet.
const HEADER: u32 = 8;

/// A message that a TCP segment was too big: "fragmentation needed" (IPv4) or "packet too big"
/// (IPv6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketTooBig {
    /// Number of the packet with the message, from 1.
    pub number: u64,
    /// Capture time.
    pub time: Timestamp,
    /// Router that sent the message.
    pub router: Host,
    /// Sender of the segment.
    pub source: Endpoint,
    /// Receiver of the segment.
    pub destination: Endpoint,
    /// MTU of the next link, in bytes with the IP header. 0 if the router is older than RFC 1191
    /// and omits it.
    pub mtu: u32,
}

/// Reads such a message. Returns `None` for any other packet, and if it does not quote the ports of
/// a TCP segment.
pub fn read(packet: &Packet<'_>) -> Option<PacketTooBig> {
    let whole = View::new(packet.data, packet.original_length);
    let (router, mtu, quoted) = match link::carried(packet.link, whole).ok()? {
        IpPacket::V4(view) => v4(view)?,
        IpPacket::V6(view) => v6(view)?,
    };
    let (quoted, tcp) = match quoted.head::<1>()?[0] >> 4 {
        4 => quoted_v4(quoted)?,
        6 => quoted_v6(quoted)?,
        _ => return None,
    };
    let ports: &[u8; 4] = tcp.head()?;
    let end = |host, at| Endpoint { host, port: be16(ports, at) };
    let (source, destination) = (end(quoted.source, 0), end(quoted.destination, 2));
    Some(PacketTooBig {
        number: packet.number,
        time: packet.time,
        router,
        source,
        destination,
        mtu,
    })
}

/// Reads "destination unreachable: fragmentation needed and DF set" (type 3, code 4).
fn v4(view: View<'_>) -> Option<(Host, u32, View<'_>)> {
    let head: &[u8; 20] = view.head()?;
    let is_whole = be16(head, 6) & 0x3fff == 0;
    let message = view.skip(u32::from(head[0] & 0x0f) * 4);
    let icmp: &[u8; 8] = message.head()?;
    let is_it = head[0] >> 4 == 4 && is_whole && head[9] == protocol::ICMP && icmp[..2] == [3, 4];
    is_it.then(|| (carrier(head).source, u32::from(be16(icmp, 6)), message.skip(HEADER)))
}

/// Reads "packet too big" (type 2).
fn v6(view: View<'_>) -> Option<(Host, u32, View<'_>)> {
    let head: &[u8; 40] = view.head()?;
    let message = view.skip(40);
    let icmp: &[u8; 8] = message.head()?;
    let is_it = head[0] >> 4 == 6 && head[6] == protocol::ICMP_V6 && icmp[0] == 2;
    is_it.then(|| (carrier_v6(head).source, be32(icmp, 4), message.skip(HEADER)))
}

fn quoted_v4(quoted: View<'_>) -> Option<(IpHeader, View<'_>)> {
    let head: &[u8; 20] = quoted.head()?;
    let tcp = quoted.skip(u32::from(head[0] & 0x0f) * 4);
    (head[9] == protocol::TCP).then(|| (carrier(head), tcp))
}

fn quoted_v6(quoted: View<'_>) -> Option<(IpHeader, View<'_>)> {
    let head: &[u8; 40] = quoted.head()?;
    (head[6] == protocol::TCP).then(|| (carrier_v6(head), quoted.skip(40)))
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;
    use crate::LinkType;

    /// Returns the quoted start of a segment from port 40001 of 192.0.2.1 to port 9000 of
    /// 198.51.100.2.
    fn quoted_v4() -> Vec<u8> {
        let mut bytes = vec![0x45, 0, 5, 220, 0, 1, 0x40, 0, 64, protocol::TCP, 0, 0];
        bytes.extend([192, 0, 2, 1, 198, 51, 100, 2]);
        bytes.extend([0x9c, 0x41, 0x23, 0x28, 0, 0, 0, 1]);
        bytes
    }

    fn from_router_v4(icmp: [u8; 8], quoted: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0x45, 0, 0, 56, 0, 1, 0, 0, 64, protocol::ICMP, 0, 0];
        bytes.extend([192, 0, 2, 254, 192, 0, 2, 1]);
        bytes.extend(icmp);
        bytes.extend(quoted);
        bytes
    }

    fn packet(data: &[u8]) -> Packet<'_> {
        let length = u32::try_from(data.len()).unwrap();
        Packet {
            number: 9,
            time: Timestamp::from_nanos(5),
            link: LinkType::RAW,
            original_length: length,
            big_endian: false,
            data,
        }
    }

    #[test]
    fn a_router_tells_what_its_link_takes() {
        let bytes = from_router_v4([3, 4, 0, 0, 0, 0, 0x05, 0x8c], &quoted_v4());
        let message = read(&packet(&bytes)).unwrap();
        assert_eq!((message.number, message.mtu), (9, 1_420));
        assert_eq!(message.router, Host::V4(Ipv4Addr::new(192, 0, 2, 254)));
        assert_eq!(message.source.to_string(), "192.0.2.1:40001");
        assert_eq!(message.destination.to_string(), "198.51.100.2:9000");
    }

    #[test]
    fn of_ipv6_it_is_another_type() {
        let mut quoted = vec![0x60, 0, 0, 0, 5, 180, protocol::TCP, 64];
        quoted.extend([0; 15]);
        quoted.push(1);
        quoted.extend([0; 15]);
        quoted.push(2);
        quoted.extend([0x9c, 0x41, 0x23, 0x28]);
        let mut bytes = vec![0x60, 0, 0, 0, 0, 52, protocol::ICMP_V6, 64];
        bytes.extend([0xfe; 32]);
        bytes.extend([2, 0, 0, 0, 0, 0, 0x05, 0x00]);
        bytes.extend(quoted);
        let message = read(&packet(&bytes)).unwrap();
        assert_eq!((message.source.to_string(), message.mtu), ("[::1]:40001".to_owned(), 1_280));
    }

    #[test]
    fn other_messages_are_none_and_a_cut_one_is_none() {
        let whole = from_router_v4([3, 4, 0, 0, 0, 0, 0x05, 0x8c], &quoted_v4());
        for length in 0..20 + 8 + 24 {
            assert_eq!(read(&packet(&whole[..length])), None, "{length}");
        }
        assert!(read(&packet(&whole[..20 + 8 + 24])).is_some());
        let unreachable = from_router_v4([3, 3, 0, 0, 0, 0, 0, 0], &quoted_v4());
        assert_eq!(read(&packet(&unreachable)), None);
        let mut of_udp = quoted_v4();
        of_udp[9] = 17;
        assert_eq!(read(&packet(&from_router_v4([3, 4, 0, 0, 0, 0, 5, 0], &of_udp))), None);
    }
}
