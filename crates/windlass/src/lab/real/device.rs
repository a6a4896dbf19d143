//! Devices behind a TUN interface: packets in, packets out.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use windlass_base::Timestamp;
use windlass_sim::{Device, Habits, Payload, Segment, Service};
use windlass_wire::Host;
use windlass_wire::build::{self, Addresses, Carrier, Identification, TooLong};
use windlass_wire::incoming::Incoming;

use crate::lab::keep::outgoing;

/// Peers that may be known at a time. Anybody in the namespace can make up
/// addresses.
const MOST_PEERS: usize = 64;

/// A segment on its way, and the address of the host that is not the device.
#[derive(Clone, Debug)]
pub(super) struct Parcel {
    pub(super) peer: Ipv4Addr,
    pub(super) segment: Segment,
}

impl Parcel {
    /// What came in a packet for the device at `own`; nothing where it was for
    /// somebody else.
    pub(super) fn of(incoming: &Incoming<'_>, own: Ipv4Addr) -> Option<Self> {
        let Incoming { segment, data } = incoming;
        let (Host::V4(peer), Host::V4(to)) = (segment.source.host, segment.destination.host) else {
            return None;
        };
        // Print data is looked at by LPR only, and zeros need no copy.
        let zeros = data.iter().all(|byte| *byte == 0);
        let payload = if zeros { Payload::Zeros(segment.payload) } else { Payload::copy_of(data) };
        (to == own).then_some(Self {
            peer,
            segment: Segment {
                source: segment.source.port,
                destination: segment.destination.port,
                sequence: segment.sequence?,
                acknowledgment: segment.acknowledgment,
                flags: segment.flags,
                window: segment.window,
                options: segment.options,
                payload,
            },
        })
    }
}

/// A device as its peers see it. The segments of the simulation have no
/// addresses, so each peer has a device of its own.
#[derive(Debug)]
pub(super) struct Side {
    own: Ipv4Addr,
    habits: Habits,
    services: Vec<(u16, Service)>,
    seed: u64,
    peers: BTreeMap<Ipv4Addr, Device>,
    identification: Identification,
}

impl Side {
    pub(super) fn new(
        own: Ipv4Addr,
        habits: Habits,
        services: Vec<(u16, Service)>,
        seed: u64,
    ) -> Self {
        let identification = Identification::from(0x8000);
        Self { own, habits, services, seed, peers: BTreeMap::new(), identification }
    }

    pub(super) const fn address(&self) -> Ipv4Addr {
        self.own
    }

    /// A segment arrives.
    pub(super) fn handle(&mut self, now: Timestamp, parcel: &Parcel) {
        if !self.peers.contains_key(&parcel.peer) {
            if self.peers.len() >= MOST_PEERS {
                return;
            }
            let seed = self.seed.wrapping_add(self.peers.len() as u64);
            let device = Device::new(self.habits, &self.services, seed);
            self.peers.insert(parcel.peer, device);
        }
        if let Some(device) = self.peers.get_mut(&parcel.peer) {
            device.handle(now, &parcel.segment);
        }
    }

    /// The next segment that leaves by `now`.
    pub(super) fn poll(&mut self, now: Timestamp) -> Option<Parcel> {
        self.peers.iter_mut().find_map(|(peer, device)| {
            device.poll(now).map(|segment| Parcel { peer: *peer, segment })
        })
    }

    /// When to poll next.
    pub(super) fn next_time(&self) -> Option<Timestamp> {
        self.peers.values().filter_map(Device::next_time).min()
    }

    /// The packet that carries a segment to its peer.
    pub(super) fn packet(&mut self, out: &mut Vec<u8>, parcel: &Parcel) -> Result<(), TooLong> {
        let carrier = Carrier {
            frame: None,
            addresses: Addresses::V4 { source: self.own, destination: parcel.peer },
            identification: self.identification.next(),
            hop_limit: 64,
        };
        out.clear();
        build::packet(out, &carrier, &outgoing(&parcel.segment), usize::MAX).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use windlass_base::Span;
    use windlass_wire::incoming;

    use super::*;
    use crate::lab::run::{DEVICE, SENDER};

    /// Hands a packet to a device, and lets it do all that it wants to for a
    /// second.
    fn meets(side: &mut Side, now: Timestamp, packet: &[u8]) {
        let incoming = incoming::segment(packet, now).ok();
        if let Some(parcel) = incoming.and_then(|incoming| Parcel::of(&incoming, DEVICE)) {
            side.handle(now, &parcel);
        }
        let (later, mut out) = (now + Span::from_millis(1_000), Vec::new());
        for _ in 0..1_000 {
            let Some(parcel) = side.poll(later) else { return };
            side.packet(&mut out, &parcel).unwrap();
            let answer = incoming::segment(&out, later).unwrap();
            assert_eq!(answer.segment.source.host, Host::V4(DEVICE));
        }
        panic!("it never stops");
    }

    fn side() -> Side {
        let services = vec![(9_100, Service::Raw), (515, Service::Lpr)];
        Side::new(DEVICE, Habits::HEALTHY, services, 1)
    }

    proptest! {
        #[test]
        fn nothing_that_the_kernel_can_send_ends_it(
            packets in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..120), 1..8),
            first in prop_oneof![Just(0x45_u8), Just(0x60), any::<u8>()],
        ) {
            let mut side = side();
            for (second, mut packet) in (0..).zip(packets) {
                if let Some(byte) = packet.first_mut() {
                    *byte = first;
                }
                meets(&mut side, Timestamp::from_nanos(second * 2_000_000_000), &packet);
            }
        }

        #[test]
        fn nor_does_any_segment(
            segments in prop::collection::vec(
                (any::<u32>(), any::<u32>(), any::<u8>(), any::<u16>(), 0..1_400_u32, 0..100_u8),
                1..12,
            ),
            port in prop_oneof![Just(9_100_u16), Just(515), any::<u16>()],
        ) {
            let mut side = side();
            for (second, (sequence, acknowledgment, flags, window, length, host)) in
                (0..).zip(segments)
            {
                let mut packet = Vec::new();
                let carrier = Carrier {
                    frame: None,
                    addresses: Addresses::V4 {
                        source: Ipv4Addr::new(192, 0, 2, host),
                        destination: if host == 0 { SENDER } else { DEVICE },
                    },
                    identification: 0,
                    hop_limit: 64,
                };
                let segment = Segment {
                    source: 49_152,
                    destination: port,
                    sequence,
                    acknowledgment,
                    flags: windlass_wire::Flags(flags),
                    window,
                    options: windlass_wire::Options::default(),
                    payload: Payload::Zeros(length),
                };
                build::packet(&mut packet, &carrier, &outgoing(&segment), usize::MAX).unwrap();
                meets(&mut side, Timestamp::from_nanos(second * 2_000_000_000), &packet);
                // Cut off, it is as if it had never come.
                packet.truncate(packet.len() / 2);
                meets(&mut side, Timestamp::from_nanos(second * 2_000_000_000), &packet);
            }
        }
    }
}
