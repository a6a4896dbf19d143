//! Devices behind a TUN interface: packets in, packets out.

use std::collections::{BTreeMap, VecDeque};
use std::net::Ipv4Addr;

use windlass_base::{Bytes, Span, Timestamp};
use windlass_lab::outgoing;
use windlass_sim::{
    ConnectionSnapshot, Device, Habits, LprTotals, Payload, Segment, Service, ipp, segment,
};
use windlass_wire::build::{self, Addresses, Carrier, Identification, PacketTooLong};
use windlass_wire::incoming::IncomingSegment;
use windlass_wire::{Host, echo};

/// Maximum number of peers, besides the one with a reserved place. Anybody in the namespace can
/// make up addresses.
const MAX_PEERS: usize = 64;

/// Maximum number of pings that wait for their answer, and of answers in a second. FreeBSD answers
/// 200 (`icmplim`); a flood must not take the line from the measured transfer.
const MAX_PINGS: usize = 16;
const PINGS_A_SECOND: u32 = 1_000;

/// Hop limit of a device's packets, as of most hosts.
const HOP_LIMIT: u8 = 64;

/// A packet under way, with the address of the device's peer.
#[derive(Clone, Debug)]
pub(crate) struct Parcel {
    pub(crate) peer: Ipv4Addr,
    load: ParcelContent,
}

/// Content of a parcel.
#[derive(Clone, Debug)]
enum ParcelContent {
    Segment(Segment),
    /// An IP packet with an ICMP echo, or with its answer.
    Ping(Vec<u8>),
}

impl Parcel {
    /// Returns the parcel of a packet for the device at `own`; `None` for another destination, or
    /// for a packet that a device does not answer.
    pub(crate) fn of(
        packet: &[u8],
        incoming: Option<&IncomingSegment<'_>>,
        own: Ipv4Addr,
    ) -> Option<Self> {
        let (peer, to, load) = match incoming {
            Some(incoming) => {
                let IncomingSegment { segment, .. } = incoming;
                let (Host::V4(peer), Host::V4(to)) =
                    (segment.source.host, segment.destination.host)
                else {
                    return None;
                };
                (peer, to, ParcelContent::Segment(arriving(incoming)?))
            }
            None => {
                let request = echo::request(packet)?;
                (request.source, request.destination, ParcelContent::Ping(packet.to_vec()))
            }
        };
        (to == own && is_host(peer) && peer != own).then_some(Self { peer, load })
    }

    /// Returns the bytes that the parcel takes on an Ethernet line.
    pub(crate) fn line_bytes(&self) -> u32 {
        match &self.load {
            ParcelContent::Segment(segment) => segment.line_bytes(),
            ParcelContent::Ping(packet) => line_bytes(packet.len()),
        }
    }
}

/// Returns the bytes that a packet takes on an Ethernet line, as in the simulation.
pub(crate) fn line_bytes(packet: usize) -> u32 {
    segment::line_bytes(u32::try_from(packet).unwrap_or(u32::MAX))
}

/// Returns whether an address can be a host's. Other addresses get no answer (RFC 1122 section
/// 3.2.1.3).
fn is_host(address: Ipv4Addr) -> bool {
    !(address.is_unspecified()
        || address.is_multicast()
        || address.is_broadcast()
        || address.is_loopback())
}

fn arriving(incoming: &IncomingSegment<'_>) -> Option<Segment> {
    let IncomingSegment { segment, data } = incoming;
    // Only LPR and IPP read print data, and zeros need no copy.
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

/// Totals of a device, over all its peers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    /// Bytes that the device's programs have read.
    pub(crate) read: Bytes,
    /// SYNs that found no free connection slot.
    pub(crate) refused: u64,
    /// Segments that the device lost or found damaged, as its profile says.
    pub(crate) lost: u64,
    /// Totals of the LPR servers.
    pub(crate) received: LprTotals,
    /// Totals of the IPP servers.
    pub(crate) printed: ipp::IppTotals,
    /// Answered pings.
    pub(crate) pings: u64,
    /// Finished raw jobs.
    pub(crate) raw_jobs: u64,
}

impl Totals {
    /// Adds the totals of one device.
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

/// Snapshot of a peer's connection to the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerSnapshot {
    /// The peer's address.
    pub peer: Ipv4Addr,
    /// The connection.
    pub connection: ConnectionSnapshot,
}

/// A device as its peers see it. Simulated segments have no addresses, so each peer has a device of
/// its own.
#[derive(Debug)]
pub(crate) struct DeviceHost {
    own: Ipv4Addr,
    /// The peer with a reserved place, whoever else connects.
    host: Ipv4Addr,
    habits: Habits,
    services: Vec<(u16, Service)>,
    seed: u64,
    peers: BTreeMap<Ipv4Addr, Device>,
    /// Number of peers so far.
    met: u64,
    pings: Pings,
    /// Totals of the peers that are forgotten.
    gone: Totals,
    identification: Identification,
}

/// Answers to pings that wait to leave.
#[derive(Debug, Default)]
struct Pings {
    waiting: VecDeque<(Ipv4Addr, Vec<u8>)>,
    /// Start of the current second, at its first answer.
    second: Option<Timestamp>,
    answered: u32,
}

impl Pings {
    /// Returns whether another ping may be answered now.
    fn may(&mut self, now: Timestamp) -> bool {
        let is_over = |since: Timestamp| now.since(since) >= Span::from_millis(1_000);
        if self.second.is_none_or(is_over) {
            (self.second, self.answered) = (Some(now), 0);
        }
        self.answered += 1;
        self.answered <= PINGS_A_SECOND && self.waiting.len() < MAX_PINGS
    }
}

impl DeviceHost {
    /// Returns a device at `own`, for `host` and any other peer.
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

    /// Handles a parcel that arrives.
    pub(crate) fn handle(&mut self, now: Timestamp, parcel: &Parcel) {
        match &parcel.load {
            ParcelContent::Segment(segment) => {
                if let Some(device) = self.device(parcel.peer) {
                    device.handle(now, segment);
                }
            }
            ParcelContent::Ping(packet) => {
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

    /// Returns the device of a peer. A new peer replaces one without a connection; `None` if the
    /// maximum number of peers all have connections.
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

    /// Returns the next parcel that leaves by `now`.
    pub(crate) fn poll(&mut self, now: Timestamp) -> Option<Parcel> {
        if let Some((peer, answer)) = self.pings.waiting.pop_front() {
            return Some(Parcel { peer, load: ParcelContent::Ping(answer) });
        }
        self.peers.iter_mut().find_map(|(peer, device)| {
            let segment = device.poll(now)?;
            Some(Parcel { peer: *peer, load: ParcelContent::Segment(segment) })
        })
    }

    /// Returns the time of the next poll.
    pub(crate) fn next_time(&self) -> Option<Timestamp> {
        if !self.pings.waiting.is_empty() {
            return Some(Timestamp::from_nanos(i64::MIN));
        }
        self.peers.values().filter_map(Device::next_time).min()
    }

    /// Returns the totals so far.
    pub(crate) fn totals(&self) -> Totals {
        self.peers.values().fold(self.gone, Totals::and)
    }

    /// Returns snapshots of the connections at this time.
    pub(crate) fn looks(&self, now: Timestamp) -> Vec<PeerSnapshot> {
        let of = |(peer, device): (&Ipv4Addr, &Device)| {
            let peer = *peer;
            device
                .looks(now)
                .map(move |connection| PeerSnapshot { peer, connection })
                .collect::<Vec<_>>()
        };
        self.peers.iter().flat_map(of).collect()
    }

    /// Builds the packet that carries a parcel to its peer.
    pub(crate) fn packet(
        &mut self,
        out: &mut Vec<u8>,
        parcel: &Parcel,
    ) -> Result<(), PacketTooLong> {
        out.clear();
        let segment = match &parcel.load {
            ParcelContent::Segment(segment) => segment,
            ParcelContent::Ping(packet) => {
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
