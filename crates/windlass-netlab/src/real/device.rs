//! Devices behind a TUN interface: packets in, packets out.

use std::collections::{BTreeMap, VecDeque};
use std::net::Ipv4Addr;

use windlass_base::{Bytes, Span, Timestamp};
use windlass_lab::outgoing;
use windlass_sim::{
    ConnectionLook, Device, Habits, Payload, Received, Segment, Service, ipp, segment,
};
use windlass_wire::build::{self, Addresses, Carrier, Identification, TooLong};
use windlass_wire::incoming::Incoming;
use windlass_wire::{Host, echo};

/// Peers that may be known at a time, beside the one whose place is kept.
/// Anybody in the namespace can make up addresses.
const MAX_PEERS: usize = 64;

/// Pings that may wait for their answer, and those that are answered in a
/// second. FreeBSD answers 200 (`icmplim`); a flood is not to take the line from
/// the transfer that it is to measure.
const MAX_PINGS: usize = 16;
const PINGS_A_SECOND: u32 = 1_000;

/// The hop limit of what a device sends, as most hosts have it.
const HOP_LIMIT: u8 = 64;

/// Something on its way, and the address of the host that is not the device.
#[derive(Clone, Debug)]
pub(crate) struct Parcel {
    pub(crate) peer: Ipv4Addr,
    load: Load,
}

/// What is on its way.
#[derive(Clone, Debug)]
enum Load {
    Segment(Segment),
    /// An IP packet with an ICMP echo, or with its answer.
    Ping(Vec<u8>),
}

impl Parcel {
    /// What came in a packet for the device at `own`; nothing where it was for
    /// somebody else, or is nothing that a device answers.
    pub(crate) fn of(
        packet: &[u8],
        incoming: Option<&Incoming<'_>>,
        own: Ipv4Addr,
    ) -> Option<Self> {
        let (peer, to, load) = match incoming {
            Some(incoming) => {
                let Incoming { segment, .. } = incoming;
                let (Host::V4(peer), Host::V4(to)) =
                    (segment.source.host, segment.destination.host)
                else {
                    return None;
                };
                (peer, to, Load::Segment(arriving(incoming)?))
            }
            None => {
                let request = echo::request(packet)?;
                (request.source, request.destination, Load::Ping(packet.to_vec()))
            }
        };
        (to == own && is_host(peer) && peer != own).then_some(Self { peer, load })
    }

    /// The bytes that it takes on an Ethernet line.
    pub(crate) fn line_bytes(&self) -> u32 {
        match &self.load {
            Load::Segment(segment) => segment.line_bytes(),
            Load::Ping(packet) => line_bytes(packet.len()),
        }
    }
}

/// What a packet takes of an Ethernet line, as in the simulation.
pub(crate) fn line_bytes(packet: usize) -> u32 {
    segment::line_bytes(u32::try_from(packet).unwrap_or(u32::MAX))
}

/// Whether an address can be a host's. Others are not answered (RFC 1122 section
/// 3.2.1.3).
fn is_host(address: Ipv4Addr) -> bool {
    !(address.is_unspecified()
        || address.is_multicast()
        || address.is_broadcast()
        || address.is_loopback())
}

fn arriving(incoming: &Incoming<'_>) -> Option<Segment> {
    let Incoming { segment, data } = incoming;
    // Print data is looked at by LPR and IPP only, and zeros need no copy.
    let zeros = data.iter().all(|byte| *byte == 0);
    Some(Segment {
        source: segment.source.port,
        destination: segment.destination.port,
        sequence: segment.sequence?,
        acknowledgment: segment.acknowledgment,
        flags: segment.flags,
        window: segment.window,
        options: segment.options,
        payload: if zeros { Payload::Zeros(segment.payload) } else { Payload::copy_of(data) },
    })
}

/// What a device has done for all its peers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    /// Bytes that its programs have read.
    pub(crate) read: Bytes,
    /// SYNs that found no free connection.
    pub(crate) refused: u64,
    /// Segments that it lost or found damaged, as its profile says.
    pub(crate) lost: u64,
    /// What its LPR servers have received.
    pub(crate) received: Received,
    /// What its IPP servers have received.
    pub(crate) printed: ipp::Received,
    /// Pings that it answered.
    pub(crate) pings: u64,
    /// Jobs by raw data that are over.
    pub(crate) raw_jobs: u64,
}

impl Totals {
    /// With those of one device.
    fn and(self, device: &Device) -> Self {
        let counters = device.counters();
        Self {
            read: self.read + device.read(),
            refused: self.refused + counters.refused,
            lost: self.lost + counters.lost + counters.damaged,
            received: self.received.and(device.received()),
            printed: self.printed.and(device.printed()),
            pings: self.pings,
            raw_jobs: self.raw_jobs + counters.raw_jobs,
        }
    }
}

/// A connection that a peer has to the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerLook {
    /// The peer's address.
    pub peer: Ipv4Addr,
    /// The connection.
    pub connection: ConnectionLook,
}

/// A device as its peers see it. The segments of the simulation have no
/// addresses, so each peer has a device of its own.
#[derive(Debug)]
pub(crate) struct Side {
    own: Ipv4Addr,
    /// The peer whose place is kept, whoever else comes.
    host: Ipv4Addr,
    habits: Habits,
    services: Vec<(u16, Service)>,
    seed: u64,
    peers: BTreeMap<Ipv4Addr, Device>,
    /// Peers so far.
    met: u64,
    pings: Pings,
    /// Of the peers that are forgotten.
    gone: Totals,
    identification: Identification,
}

/// The answers to pings that have to leave.
#[derive(Debug, Default)]
struct Pings {
    waiting: VecDeque<(Ipv4Addr, Vec<u8>)>,
    /// The second that is being counted, from its first answer.
    second: Option<Timestamp>,
    answered: u32,
}

impl Pings {
    /// Whether one more may be answered now.
    fn may(&mut self, now: Timestamp) -> bool {
        let is_over = |since: Timestamp| now.since(since) >= Span::from_millis(1_000);
        if self.second.is_none_or(is_over) {
            (self.second, self.answered) = (Some(now), 0);
        }
        self.answered += 1;
        self.answered <= PINGS_A_SECOND && self.waiting.len() < MAX_PINGS
    }
}

impl Side {
    /// A device at `own`, for `host` and whoever else comes.
    pub(crate) fn new(
        (own, host): (Ipv4Addr, Ipv4Addr),
        habits: Habits,
        services: Vec<(u16, Service)>,
        seed: u64,
    ) -> Self {
        Self {
            own,
            host,
            habits,
            services,
            seed,
            peers: BTreeMap::new(),
            met: 0,
            pings: Pings::default(),
            gone: Totals::default(),
            identification: Identification::from(0x8000),
        }
    }

    pub(crate) const fn address(&self) -> Ipv4Addr {
        self.own
    }

    /// A parcel arrives.
    pub(crate) fn handle(&mut self, now: Timestamp, parcel: &Parcel) {
        match &parcel.load {
            Load::Segment(segment) => {
                if let Some(device) = self.device(parcel.peer) {
                    device.handle(now, segment);
                }
            }
            Load::Ping(packet) => {
                if let Some(request) = echo::request(packet)
                    && self.pings.may(now)
                {
                    let mut answer = Vec::with_capacity(packet.len());
                    request.answer(&mut answer, self.identification.next(), HOP_LIMIT);
                    self.pings.waiting.push_back((parcel.peer, answer));
                    self.gone.pings += 1;
                }
            }
        }
    }

    /// The device of a peer. A new one takes the place of one that has no
    /// connection; where all have some, and are not few, there is none for it.
    fn device(&mut self, peer: Ipv4Addr) -> Option<&mut Device> {
        if !self.peers.contains_key(&peer) {
            let strangers = self.peers.len() - usize::from(self.peers.contains_key(&self.host));
            if peer != self.host && strangers >= MAX_PEERS {
                let idle = |(other, device): (&Ipv4Addr, &Device)| {
                    let idle = device.connections() == 0 && device.next_time().is_none();
                    (idle && *other != self.host).then_some(*other)
                };
                let idle = self.peers.iter().find_map(idle)?;
                if let Some(device) = self.peers.remove(&idle) {
                    self.gone = self.gone.and(&device);
                }
            }
            let seed = self.seed.wrapping_add(self.met);
            self.met += 1;
            self.peers.insert(peer, Device::new(self.habits, &self.services, seed));
        }
        self.peers.get_mut(&peer)
    }

    /// The next parcel that leaves by `now`.
    pub(crate) fn poll(&mut self, now: Timestamp) -> Option<Parcel> {
        if let Some((peer, answer)) = self.pings.waiting.pop_front() {
            return Some(Parcel { peer, load: Load::Ping(answer) });
        }
        self.peers.iter_mut().find_map(|(peer, device)| {
            let segment = device.poll(now)?;
            Some(Parcel { peer: *peer, load: Load::Segment(segment) })
        })
    }

    /// When to poll next.
    pub(crate) fn next_time(&self) -> Option<Timestamp> {
        if !self.pings.waiting.is_empty() {
            return Some(Timestamp::from_nanos(i64::MIN));
        }
        self.peers.values().filter_map(Device::next_time).min()
    }

    /// What was done so far.
    pub(crate) fn totals(&self) -> Totals {
        self.peers.values().fold(self.gone, Totals::and)
    }

    /// The connections that it holds, as they are at this time.
    pub(crate) fn looks(&self, now: Timestamp) -> Vec<PeerLook> {
        let of = |(peer, device): (&Ipv4Addr, &Device)| {
            let peer = *peer;
            device
                .looks(now)
                .map(move |connection| PeerLook { peer, connection })
                .collect::<Vec<_>>()
        };
        self.peers.iter().flat_map(of).collect()
    }

    /// The packet that carries a parcel to its peer.
    pub(crate) fn packet(&mut self, out: &mut Vec<u8>, parcel: &Parcel) -> Result<(), TooLong> {
        out.clear();
        let segment = match &parcel.load {
            Load::Segment(segment) => segment,
            Load::Ping(packet) => {
                out.extend_from_slice(packet);
                return Ok(());
            }
        };
        let carrier = Carrier {
            frame: None,
            addresses: Addresses::V4 { source: self.own, destination: parcel.peer },
            identification: self.identification.next(),
            hop_limit: HOP_LIMIT,
        };
        build::packet(out, &carrier, &outgoing(segment), usize::MAX).map(drop)
    }
}

#[cfg(test)]
#[path = "device_tests.rs"]
mod tests;
