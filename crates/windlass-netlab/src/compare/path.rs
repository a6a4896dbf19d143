//! Two private networks that are joined, and nothing but the load between them.

use std::net::{Ipv4Addr, SocketAddrV4};

use windlass_sys::namespace::{Namespace, Refused};
use windlass_wire::build::{Addresses, Carrier, Data, Frame, TooLong, datagram};

/// The interface of each end.
const SENDER: &str = "sender";
pub(super) const RECEIVER: &str = "receiver";

/// Addresses of documentation (RFC 5737), as nothing leaves the networks.
const FROM: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
const TO: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 2);

/// The headers of a UDP datagram in IPv4 in Ethernet.
const HEADERS: u32 = 14 + 20 + 8;

/// Where a frame has its number: behind the headers.
pub(super) const NUMBER_AT: usize = HEADERS as usize;

/// Two ends.
pub(super) struct Path {
    pub(super) sender: Namespace,
    pub(super) receiver: Namespace,
}

impl Path {
    /// Two ends that speak TCP with each other.
    pub(super) fn for_tcp() -> Result<Self, Refused> {
        let path = Self::bare()?;
        path.sender.add_address(SENDER, FROM.into(), 24)?;
        path.receiver.add_address(RECEIVER, TO.into(), 24)?;
        Ok(path)
    }

    /// Two ends that have no addresses. They have nothing to say, so all that
    /// passes is what the generator sends.
    pub(super) fn bare() -> Result<Self, Refused> {
        let sender = Namespace::new()?;
        let receiver = sender.beside()?;
        sender.add_veth(SENDER, &receiver, RECEIVER)?;
        for (end, interface) in [(&sender, SENDER), (&receiver, RECEIVER)] {
            // IPv6 asks its neighbours on its own. A kernel without it asks
            // nothing.
            let _ = end.set(c"/proc/sys/net/ipv6/conf/all/disable_ipv6", "1");
            end.set_offloads(interface, false)?;
            end.bring_up(interface)?;
        }
        Ok(Self { sender, receiver })
    }

    /// The receiver's address, at a port that the kernel chooses.
    pub(super) const fn to() -> SocketAddrV4 {
        SocketAddrV4::new(TO, 0)
    }

    /// Opens the generator.
    pub(super) fn generator(
        &self,
    ) -> Result<windlass_sys::generator::Generator, windlass_sys::capture::Refused> {
        windlass_sys::generator::Generator::open(SENDER, Some(&self.sender))
    }
}

/// A frame of so many bytes, from the header of Ethernet on. It is for another
/// host, so the receiver's kernel gives it to the capture and to nobody else.
pub(super) fn frame(bytes: u32) -> Result<Vec<u8>, TooLong> {
    let mut frame = Vec::with_capacity(bytes as usize);
    let ends = Frame { source: [2, 0, 0, 0, 0, 1], destination: [2, 0, 0, 0, 0, 2] };
    let carrier = Carrier {
        frame: Some(ends),
        addresses: Addresses::V4 { source: FROM, destination: TO },
        identification: 1,
        hop_limit: 64,
    };
    // Port 9 is for what is thrown away (RFC 863).
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
