//! A block of the ring: many packets in one piece of memory.
//!
//! The layout is the kernel's (`TPACKET_V3` in `linux/if_packet.h`): the header of the block, then
//! each packet behind a header of its own, which gives the offset of the next one. Nothing here
//! trusts it: a header that points outside the block ends the packets.

use windlass_base::Timestamp;

use super::packet::{LinkAddress, Packet, tag};

/// Offsets of the fields in a block's header.
mod head {
    pub(super) const STATUS: usize = 8;
    pub(super) const PACKETS: usize = 12;
    pub(super) const FIRST: usize = 16;
    pub(super) const LENGTH: usize = 20;
    pub(super) const SIZE: usize = 48;
}

/// Offsets of the fields in a packet's header, and in the `sockaddr_ll` behind it.
mod field {
    pub(super) const NEXT: usize = 0;
    pub(super) const SECONDS: usize = 4;
    pub(super) const NANOS: usize = 8;
    pub(super) const CAPTURED: usize = 12;
    pub(super) const LENGTH: usize = 16;
    pub(super) const STATUS: usize = 20;
    pub(super) const DATA: usize = 24;
    pub(super) const VLAN: usize = 32;
    pub(super) const VLAN_PROTOCOL: usize = 36;
    pub(super) const ADDRESS: usize = 48;
    pub(super) const SIZE: usize = 68;
}

/// Offset of a block's status.
pub(super) const STATUS: usize = head::STATUS;

/// The packets of a block, in the order in which they came.
///
/// ```
/// use windlass_sys::capture::Packets;
///
/// // A block that claims a packet beyond its end has none.
/// let mut block = [0xff; 64];
/// assert!(Packets::of(&mut block).next().is_none());
/// ```
#[derive(Debug)]
pub struct Packets<'a> {
    block: &'a mut [u8],
    next: usize,
    left: u32,
}

impl<'a> Packets<'a> {
    /// Makes the packets of a block, all of whose bytes are given.
    pub fn of(block: &'a mut [u8]) -> Self {
        if block.len() < head::SIZE {
            return Self { block, next: 0, left: 0 };
        }
        let (left, next) = (number(block, head::PACKETS), number(block, head::FIRST) as usize);
        // Bytes beyond the length are of an earlier round.
        let length = (number(block, head::LENGTH) as usize).min(block.len());
        Self { block: &mut block[..length], next, left }
    }

    /// Returns how many packets are still to come, by the block's header.
    pub const fn left(&self) -> u32 {
        self.left
    }

    /// Returns the next packet. A VLAN tag that the interface removed is back in its place.
    ///
    /// The packet is borrowed, so this is no [`Iterator`].
    #[expect(clippy::should_implement_trait, reason = "an iterator cannot lend")]
    #[inline]
    pub fn next(&mut self) -> Option<Packet<'_>> {
        let at = self.step()?;
        let room = self.block.get_mut(at..)?;
        // One check of the length: each field is then read without another.
        let head: &[u8; field::SIZE] = room.first_chunk()?;
        let status = number(head, field::STATUS);
        let (seconds, nanos) = (number(head, field::SECONDS), number(head, field::NANOS));
        let start = usize::from(short(head, field::DATA));
        let captured = number(head, field::CAPTURED) as usize;
        let mut original_length = number(head, field::LENGTH);
        let way = LinkAddress::of(head[field::ADDRESS..].first_chunk()?);
        let end = start.saturating_add(captured);
        if end > room.len() {
            return None;
        }
        let mut from = start;
        if status & libc::TP_STATUS_VLAN_VALID != 0 {
            let known = status & libc::TP_STATUS_VLAN_TPID_VALID != 0;
            let protocol = if known { short(room, field::VLAN_PROTOCOL) } else { tag::USUAL };
            // The tag is the lower half of four bytes.
            let control = number(room, field::VLAN) as u16;
            if way.has_ethernet() && captured >= tag::PLACE && start >= field::SIZE + tag::SIZE {
                from = start - tag::SIZE;
                tag::put(&mut room[from..end], protocol, control);
                original_length = original_length.saturating_add(tag::SIZE as u32);
            }
        }
        Some(Packet {
            time: Timestamp::from_nanos(i64::from(seconds) * 1_000_000_000 + i64::from(nanos)),
            original_length,
            data: &room[from..end],
            way,
            after_drops: status & libc::TP_STATUS_LOSING != 0,
        })
    }

    /// Advances by a packet, and returns the offset at which it began.
    fn step(&mut self) -> Option<usize> {
        self.left = self.left.checked_sub(1)?;
        let at = self.next;
        let Some(room) = self.block.get(at..).filter(|room| room.len() >= field::SIZE) else {
            self.left = 0;
            return None;
        };
        let step = number(room, field::NEXT) as usize;
        // The last packet of a block gives no next one; a step of zero would be the same packet
        // again.
        if step == 0 {
            self.left = 0;
        }
        self.next = at.saturating_add(step);
        Some(at)
    }
}

#[inline(always)]
fn number(bytes: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

#[inline(always)]
fn short(bytes: &[u8], at: usize) -> u16 {
    u16::from_ne_bytes([bytes[at], bytes[at + 1]])
}

#[cfg(test)]
#[path = "block_tests.rs"]
mod tests;
