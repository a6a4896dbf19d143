//! A packet of a capture.

use windlass_base::Timestamp;

/// A packet that was captured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    /// Time at which the kernel saw it, by the host's clock.
    pub time: Timestamp,
    /// Its length on the wire in bytes, of which `data` may hold fewer.
    pub original_length: u32,
    /// The captured bytes.
    pub data: &'a [u8],
    /// Its direction and its interface.
    pub way: LinkAddress,
    /// True if the kernel has dropped packets that are not counted yet
    /// ([`super::Capture::statistics`]).
    pub after_drops: bool,
}

/// Direction and interface of a packet (`sockaddr_ll`, packet(7)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkAddress {
    /// The interface's number.
    pub interface: u32,
    /// Hardware type of the interface: a number of `linux/if_arp.h`.
    pub hardware: u16,
    /// The protocol, as Ethernet numbers it.
    pub protocol: u16,
    /// Packet type: 0 to this host, 1 broadcast, 2 multicast, 3 to another host, 4 from this host.
    pub kind: u8,
    /// Number of bytes used of the link address.
    pub address_length: u8,
    /// Link address of its sender.
    pub address: [u8; 8],
}

impl LinkAddress {
    pub(super) fn of(address: &[u8; 20]) -> Self {
        let [_, _, high, low, i0, i1, i2, i3, h0, h1, kind, length, rest @ ..] = *address;
        Self {
            interface: u32::from_ne_bytes([i0, i1, i2, i3]),
            hardware: u16::from_ne_bytes([h0, h1]),
            protocol: u16::from_be_bytes([high, low]),
            kind,
            address_length: length,
            address: rest,
        }
    }

    /// Returns whether this host sent the packet.
    pub const fn is_outgoing(self) -> bool {
        self.kind == libc::PACKET_OUTGOING
    }

    /// Returns whether its interface puts an Ethernet header before a packet.
    pub(super) const fn has_ethernet(self) -> bool {
        matches!(self.hardware, libc::ARPHRD_ETHER | libc::ARPHRD_LOOPBACK)
    }
}

/// The VLAN tag (IEEE 802.1Q), which interfaces remove from a packet.
pub(super) mod tag {
    /// Its offset in a packet: behind both addresses.
    pub(in super::super) const PLACE: usize = 12;
    /// Its length in bytes.
    pub(in super::super) const SIZE: usize = 4;
    /// Its protocol number if the kernel does not tell.
    pub(in super::super) const USUAL: u16 = 0x8100;

    /// Puts a tag into a packet that has room for it in front.
    pub(in super::super) fn put(packet: &mut [u8], protocol: u16, control: u16) {
        packet.copy_within(SIZE..SIZE + PLACE, 0);
        packet[PLACE..PLACE + 2].copy_from_slice(&protocol.to_be_bytes());
        packet[PLACE + 2..PLACE + 4].copy_from_slice(&control.to_be_bytes());
    }
}
