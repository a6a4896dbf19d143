//! TCP segments that a host receives as one packet, as generic receive offload (GRO) does.

use super::{IPV4, IPV6, PROTOCOL, Sum, TCP, checksum};
use crate::Flags;
use crate::bytes::{u16_at, u32_at};

/// Longest headers that are coalesced, in bytes: IPv6, and TCP with the most options.
const MAX_HEAD: usize = IPV6 + 60;
/// Largest value of IP's length fields (RFC 791 section 3.1).
const MAX_PACKET: usize = 0xFFFF;

/// Consecutive packets of one connection, coalesced into one.
///
/// Only packets that a host can split again are coalesced: whole segments of one size, of which the
/// last may be shorter. Their headers differ only in sequence number, identification, length and
/// checksum.
#[derive(Clone, Debug)]
pub struct CoalescedPackets {
    /// Headers of the first packet, and their length.
    head: [u8; MAX_HEAD],
    length: usize,
    /// Offset of the TCP header.
    tcp: usize,
    /// Bytes of data of each packet except the last.
    segment: usize,
    /// Bytes of data of all packets.
    data: usize,
    packets: u16,
    /// True if no packet can follow: the last packet was shorter, or had the PSH flag.
    is_complete: bool,
}

impl CoalescedPackets {
    /// Begins with an IP packet. Returns `None` if no packet can follow this one: it has no data, a
    /// flag other than ACK, IP options, or headers between IP and TCP, or it is a fragment.
    pub fn begin(packet: &[u8]) -> Option<Self> {
        let (tcp, whole) = match packet.first()? {
            0x45 => {
                let head = packet.first_chunk::<IPV4>()?;
                // A fragment has an offset or the "more fragments" flag.
                let is_fragment = u16_at::<true>(head, 6) & 0x3FFF != 0;
                let is_tcp = head[9] == PROTOCOL && !is_fragment;
                (is_tcp.then_some(IPV4)?, usize::from(u16_at::<true>(head, 2)))
            }
            first if first >> 4 == 6 => {
                let head = packet.first_chunk::<IPV6>()?;
                (
                    (head[6] == PROTOCOL).then_some(IPV6)?,
                    IPV6 + usize::from(u16_at::<true>(head, 4)),
                )
            }
            _ => return None,
        };
        let options = usize::from(packet.get(tcp + 12)? >> 4) * 4;
        let length = tcp + options;
        let flags = Flags(*packet.get(tcp + 13)?);
        let can_go_on = options >= TCP && whole == packet.len() && flags == Flags::ACK;
        let segment = packet.len().checked_sub(length).filter(|data| can_go_on && *data > 0)?;
        let mut head = [0; MAX_HEAD];
        head[..length].copy_from_slice(&packet[..length]);
        Some(Self { head, length, tcp, segment, data: segment, packets: 1, is_complete: false })
    }

    /// Adds a packet if it continues the coalesced ones. Returns whether it was added.
    pub fn add(&mut self, packet: &[u8]) -> bool {
        let Some((head, data)) = packet.split_at_checked(self.length) else { return false };
        let fits = (1..=self.segment).contains(&data.len())
            && self.length + self.data + data.len() <= MAX_PACKET
            && !self.is_complete;
        if !fits || !self.is_followed_by(head, packet.len()) {
            return false;
        }
        let pushed = head[self.tcp + 13] & Flags::PSH.0;
        self.head[self.tcp + 13] |= pushed;
        self.data += data.len();
        self.packets += 1;
        self.is_complete = pushed != 0 || data.len() < self.segment;
        true
    }

    /// Returns whether these headers, of a packet of `whole` bytes, continue the coalesced packets.
    fn is_followed_by(&self, head: &[u8], whole: usize) -> bool {
        let (ip, tcp) = head.split_at(self.tcp);
        let (first_ip, first_tcp) = self.head[..self.length].split_at(self.tcp);
        let is_next_ip = if self.is_ipv4() {
            let number = u16_at::<true>(first_ip, 4);
            usize::from(u16_at::<true>(ip, 2)) == whole
                && [number, number.wrapping_add(self.packets)].contains(&u16_at::<true>(ip, 4))
                && ip[..2] == first_ip[..2]
                && ip[6..10] == first_ip[6..10]
                && ip[12..] == first_ip[12..]
        } else {
            IPV6 + usize::from(u16_at::<true>(ip, 4)) == whole
                && ip[..4] == first_ip[..4]
                && ip[6..] == first_ip[6..]
        };
        let sequence = u32_at::<true>(first_tcp, 4).wrapping_add(self.data as u32);
        is_next_ip
            && tcp[..4] == first_tcp[..4]
            && u32_at::<true>(tcp, 4) == sequence
            && tcp[8..13] == first_tcp[8..13]
            && tcp[13] & !Flags::PSH.0 == Flags::ACK.0
            && tcp[14..16] == first_tcp[14..16]
            && tcp[18..] == first_tcp[18..]
    }

    /// Returns the headers of the coalesced packet, with its own lengths. The TCP checksum field
    /// holds the sum of the pseudo-header, as checksum offload expects it.
    pub fn head(&mut self) -> &[u8] {
        let whole = (self.length + self.data) as u16;
        let segment = whole - self.tcp as u16;
        let addresses = if self.is_ipv4() {
            self.head[2..4].copy_from_slice(&whole.to_be_bytes());
            checksum::write_ipv4(&mut self.head[..IPV4]);
            12..IPV4
        } else {
            self.head[4..6].copy_from_slice(&segment.to_be_bytes());
            8..IPV6
        };
        let before = Sum::default().and(&self.head[addresses]).and_length(PROTOCOL, segment);
        self.head[self.tcp + 16..self.tcp + 18].copy_from_slice(&before.folded().to_be_bytes());
        &self.head[..self.length]
    }

    /// Returns the length of each packet's headers in bytes. The data follows them.
    pub const fn head_length(&self) -> usize {
        self.length
    }

    /// Returns whether the packets are IPv4; otherwise they are IPv6.
    pub const fn is_ipv4(&self) -> bool {
        self.tcp == IPV4
    }

    /// Returns the offset of the TCP header in bytes.
    pub const fn tcp_at(&self) -> usize {
        self.tcp
    }

    /// Returns the bytes of data of each packet except the last.
    pub const fn segment(&self) -> usize {
        self.segment
    }
}

#[cfg(test)]
#[path = "joined_tests.rs"]
mod tests;
