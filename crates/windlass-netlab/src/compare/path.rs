//! Two joined private networks with the load as their only traffic.

use std::net::{Ipv4Addr, SocketAddrV4};

use windlass_sys::namespace::{Namespace, Refusal};
use windlass_wire::build::{Addresses, Carrier, Data, Frame, PacketTooLong, datagram};

/// Interfaces of the two ends.
const SENDER: &str = "sender";
pub(super) const RECEIVER: &str = "receiver";

/// Addresses for documentation (RFC 5737), since nothing leaves the networks.
const FROM: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
const TO: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 2);

/// Bytes of the headers of a UDP datagram in IPv4 in Ethernet.
const HEADERS: u32 = 14 + 20 + 8;

/// Offset of a frame's number: after the headers.
pub(super) const NUMBER_AT: usize = HEADERS as usize;

/// The two ends.
pub(super) struct Path {
    pub(super) sender: Namespace,
    pub(super) receiver: Namespace,
}

impl Path {
    /// Returns two ends with addresses, for TCP.
    pub(super) fn for_tcp() -> Result<Self, Refusal> {
        let path = Self::bare()?;
        path.sender.add_address(SENDER, FROM.into(), 24)?;
        path.receiver.add_address(RECEIVER, TO.into(), 24)?;
        Ok(path)
    }

    /// Returns two ends without addresses. They send nothing by themselves, so only the generator's
    /// frames pass.
    pub(super) fn bare() -> Result<Self, Refusal> {
        let sender = Namespace::new()?;
        let receiver = sender.beside()?;
        sender.add_veth(SENDER, &receiver, RECEIVER)?;
        for (end, interface) in [(&sender, SENDER), (&receiver, RECEIVER)] {
            // IPv6 would send neighbour solicitations. A kernel without IPv6 sends none.
            let _ = end.set(c"/proc/sys/net/ipv6/conf/all/disable_ipv6", "1");
            end.set_offloads(interface, false)?;
            end.bring_up(interface)?;
        }
        Ok(Self { sender, receiver })
    }

    /// Returns the receiver's address, with a port that the kernel chooses.
    pub(super) const fn to() -> SocketAddrV4 {
        SocketAddrV4::new(TO, 0)
    }

    /// Opens the generator.
    pub(super) fn generator(
        &self,
    ) -> Result<windlass_sys::generator::Generator, windlass_sys::capture::Refusal> {
        windlass_sys::generator::Generator::open(SENDER, Some(&self.sender))
    }
}

/// Returns a frame of `bytes` bytes, from the Ethernet header on. Its destination is another host,
/// so the receiver's kernel passes it to the capture only.
pub(super) fn frame(bytes: u32) -> Result<Vec<u8>, PacketTooLong> {
    let mut frame = Vec::with_capacity(bytes as usize);
    let ends = Frame { source: [2, 0, 0, 0, 0, 1], destination: [2, 0, 0, 0, 0, 2] };
    let carrier = Carrier {
        frame: Some(ends),
        addresses: Addresses::V4 { source: FROM, destination: TO },
        identification: 1,
        hop_limit: 64,
    };
    // Port 9 discards its data (RFC 863).
    let data = Data::Zeros(bytes.saturating_sub(HEADERS));
    datagram(&mut frame, &carrier, (9, 9), data)?;
    Ok(frame)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_as_long_as_it_was_asked_for() {
        for bytes in [60, 150, 1_514] {
            assert_eq!(frame(bytes).unwrap().len(), bytes as usize);
        }
    }
}
