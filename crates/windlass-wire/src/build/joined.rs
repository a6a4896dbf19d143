//! Segments of TCP that a host takes as one packet, as generic receive offload makes them.

use super::{IPV4, IPV6, PROTOCOL, Sum, TCP, checksum};
use crate::Flags;
use crate::bytes::{u16_at, u32_at};

/// The longest headers that are joined: IPv6's, and TCP's with all options it can have.
const MAX_HEAD: usize = IPV6 + 60;
/// What the length fields of IP can say (RFC 791 section 3.1).
const MAX_PACKET: usize = 0xFFFF;

/// Packets of one connection that follow each other, as one.
///
/// Only what a host could take apart again is joined: whole segments of one size of which the
/// last may be shorter, with the same headers but for what counts them.
#[derive(Clone, Debug)]
pub struct Joined {
    /// The headers of the first, and so long they are.
    head: [u8; MAX_HEAD],
    length: usize,
    /// Where TCP's begins.
    tcp: usize,
    /// The data of each packet but the last.
    segment: usize,
    /// The data of all.
    data: usize,
    packets: u16,
    /// Nothing more follows: the last was shorter, or pushed.
    is_complete: bool,
}

impl Joined {
    /// Begins with an IP packet; nothing where none can follow it: without data, with any flag
    /// but ACK, in fragments, with options of IP or headers between IP and TCP.
    pub fn begin(packet: &[u8]) -> Option<Self> {
        let (tcp, whole) = match packet.first()? {
            0x45 => {
                let head = packet.first_chunk::<IPV4>()?;
                // A fragment says where it belongs, or that more follow.
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

    /// Adds the next packet, where it is one that follows; tells whether it is.
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

    /// Whether these headers, of a packet of so many bytes, are those of the next.
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

    /// The headers of the whole: the lengths are its own, and the place of TCP's checksum has
    /// the sum of what stands before the header, as whoever computes the rest expects it.
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

    /// The bytes of the headers of each packet: data follows them.
    pub const fn head_length(&self) -> usize {
        self.length
    }

    /// Whether it is IPv4, and not IPv6.
    pub const fn is_ipv4(&self) -> bool {
        self.tcp == IPV4
    }

    /// Where TCP's header begins.
    pub const fn tcp_at(&self) -> usize {
        self.tcp
    }

    /// The bytes of data of each packet but the last.
    pub const fn segment(&self) -> usize {
        self.segment
    }
}

#[cfg(test)]
#[path = "joined_tests.rs"]
mod tests;
