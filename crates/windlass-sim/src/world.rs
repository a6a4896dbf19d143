//! Senders, a path and devices in virtual time.

use windlass_base::{Span, Timestamp};

use crate::device::{Device, Habits, Service};
use crate::event_queue::EventQueue;
use crate::link::{Channel, Fate, LinkCounters, LinkSettings};
use crate::segment::Segment;
use crate::sender::{Method, Sender, SenderSettings, Truth, WritePattern};

/// First port of the senders; stream n has this port plus n.
const FIRST_PORT: u16 = 49_152;

/// A hop of the path: a link each way.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hop {
    /// From the senders towards the devices.
    pub forward: LinkSettings,
    /// From the devices towards the senders.
    pub backward: LinkSettings,
}

impl Hop {
    /// Returns a hop with the same link in both directions.
    pub const fn alike(link: LinkSettings) -> Self {
        Self { forward: link, backward: link }
    }
}

/// One sender and the device that it sends to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stream {
    /// The sender.
    pub sender: SenderSettings,
    /// The device's habits.
    pub device: Habits,
}

/// The parts of a simulation.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// The path from the senders to the devices, which all streams share. An empty path stands for
    /// one hop without any effect.
    pub path: Vec<Hop>,
    /// The streams.
    pub streams: Vec<Stream>,
    /// Seed of all random numbers.
    pub seed: u64,
}

/// Point of the path at which segments are observed: 0 is at the senders, 1 after the first hop.
/// The number of hops is at the devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CapturePoint(pub usize);

/// Direction of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Direction {
    /// From a sender to its device.
    Forward,
    /// From a device to its sender.
    Backward,
}

/// A segment as it passes a [`CapturePoint`].
#[derive(Clone, Copy, Debug)]
pub struct PacketEvent<'a> {
    /// Time at which the segment passes.
    pub time: Timestamp,
    /// Number of the segment's stream.
    pub stream: usize,
    /// Direction of the segment.
    pub direction: Direction,
    /// True if a link has damaged the segment: the host that it reaches drops it.
    pub damaged: bool,
    /// The segment.
    pub segment: &'a Segment,
}

/// Limits of a simulation that does not end before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunLimits {
    /// Latest virtual time.
    pub time: Timestamp,
    /// Most segments sent, by all hosts together.
    pub segments: u64,
}

impl RunLimits {
    /// Limits beyond any real transfer, for a run until every transfer is over. A simulation that
    /// reaches a day or a thousand million segments does not end.
    pub const OVER: Self =
        Self { time: Timestamp::from_nanos(86_400_000_000_000), segments: 1_000_000_000 };
}

/// Reason for which a simulation stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// Every transfer is over, and nothing is under way.
    Over,
    /// Nothing will ever happen again, but a transfer is not over.
    Stuck,
    /// The limit of the time was reached.
    Time,
    /// The limit of the segments was reached.
    Segments,
}

/// A segment on its way.
#[derive(Clone, Debug)]
struct Parcel {
    stream: u32,
    damaged: bool,
    segment: Segment,
}

/// A machine that is due. Links come first, so that hosts see all arrivals of a moment before they
/// act.
#[derive(Clone, Copy, Debug)]
enum Machine {
    Link(usize),
    Sender(usize),
    Device(usize),
}

/// Senders, a path and devices, and the virtual time that they share.
#[derive(Clone, Debug)]
pub struct World {
    now: Timestamp,
    /// The channel of each hop: towards the devices, and back.
    hops: Vec<Channel<Parcel>>,
    streams: Vec<Hosts>,
    queue: EventQueue,
    capture_point: usize,
    segments: u64,
}

#[derive(Clone, Debug)]
struct Hosts {
    sender: Sender,
    device: Device,
    /// Segments that the path dropped or damaged.
    lost: u64,
}

impl World {
    /// Returns a world at its start.
    pub fn new(setting: &Setting, capture_point: CapturePoint) -> Self {
        // Without a hop, hosts would call each other endlessly.
        let nothing = [Hop::alike(LinkSettings::PERFECT)];
        let path = if setting.path.is_empty() { &nothing[..] } else { &setting.path };
        let hops = path.len();
        let channels = path.iter().enumerate().map(|(hop, Hop { forward, backward })| {
            let seeds = [0, 1].map(|side| seed(setting.seed, side, hop));
            Channel::new([*forward, *backward], seeds)
        });
        let streams: Vec<Hosts> = (0..)
            .zip(&setting.streams)
            .map(|(number, stream)| {
                let (port, service) = service(&stream.sender);
                let source = FIRST_PORT.wrapping_add(number);
                let at = usize::from(number);
                Hosts {
                    sender: Sender::new(stream.sender, source, port, seed(setting.seed, 2, at)),
                    device: Device::new(
                        stream.device,
                        &[(port, service)],
                        seed(setting.seed, 3, at),
                    ),
                    lost: 0,
                }
            })
            .collect();
        let mut world = Self {
            now: Timestamp::ZERO,
            hops: channels.collect(),
            queue: EventQueue::new(2 * hops + 2 * streams.len()),
            streams,
            capture_point: capture_point.0.min(hops),
            segments: 0,
        };
        for stream in 0..world.streams.len() {
            let next = world.streams[stream].sender.next_time();
            world.queue.set(world.sender_place(stream), next);
        }
        world
    }

    /// Runs until every transfer is over, or `until`. Calls `observer` for each segment that passes
    /// the capture point, in the order of time.
    pub fn run(
        &mut self,
        until: RunLimits,
        observer: &mut impl FnMut(PacketEvent<'_>),
    ) -> StopReason {
        while let Some((time, machine)) = self.queue.first() {
            if time > until.time {
                return StopReason::Time;
            }
            if self.segments >= until.segments {
                return StopReason::Segments;
            }
            self.now = self.now.max(time);
            match self.machine(machine) {
                Machine::Link(place) => self.move_on(place, observer),
                Machine::Sender(stream) => self.sender_acts(stream, observer),
                Machine::Device(stream) => self.device_acts(stream, observer),
            }
            if self.is_over() {
                return StopReason::Over;
            }
        }
        if self.streams.iter().all(|hosts| hosts.sender.is_over()) {
            StopReason::Over
        } else {
            StopReason::Stuck
        }
    }

    /// Returns whether every transfer is over and nothing is under way.
    fn is_over(&self) -> bool {
        self.streams.iter().all(|hosts| hosts.sender.is_over() && hosts.device.connections() == 0)
            && self.hops.iter().all(|hop| hop.under_way() == 0)
    }

    /// Returns the machine at an index of the queue: the links of each hop, then senders, then
    /// devices.
    fn machine(&self, place: usize) -> Machine {
        match place.checked_sub(2 * self.hops.len()) {
            None => Machine::Link(place),
            Some(host) if host < self.streams.len() => Machine::Sender(host),
            Some(host) => Machine::Device(host - self.streams.len()),
        }
    }

    /// Returns the last node of the path, where the devices are.
    fn last_node(&self) -> usize {
        self.hops.len()
    }

    fn sender_place(&self, stream: usize) -> usize {
        2 * self.hops.len() + stream
    }

    fn device_place(&self, stream: usize) -> usize {
        2 * self.hops.len() + self.streams.len() + stream
    }

    /// Moves the deliveries of a link to the next link, or to the host at its end.
    fn move_on(&mut self, place: usize, observer: &mut impl FnMut(PacketEvent<'_>)) {
        let hop = place / 2;
        let (node, direction) = match place.is_multiple_of(2) {
            true => (hop + 1, Direction::Forward),
            false => (hop, Direction::Backward),
        };
        while let Some(delivery) = self.hops[hop].poll(place % 2, self.now) {
            let mut parcel = delivery.item;
            parcel.damaged |= delivery.corrupted;
            self.arrive(node, direction, parcel, observer);
        }
        self.set_link(place);
    }

    /// Handles the arrival of a segment at a node of the path. Node 0 is at the senders.
    fn arrive(
        &mut self,
        node: usize,
        direction: Direction,
        parcel: Parcel,
        observer: &mut impl FnMut(PacketEvent<'_>),
    ) {
        let stream = parcel.stream as usize;
        self.passes(node, direction, &parcel, observer);
        let at_the_end = match direction {
            Direction::Forward => node == self.last_node(),
            Direction::Backward => node == 0,
        };
        if !at_the_end {
            return self.enter(node, direction, parcel);
        }
        if parcel.damaged {
            self.streams[stream].lost += 1;
            return;
        }
        match direction {
            Direction::Forward => {
                self.streams[stream].device.handle(self.now, &parcel.segment);
                self.device_acts(stream, observer);
            }
            Direction::Backward => {
                self.streams[stream].sender.handle(self.now, &parcel.segment);
                self.sender_acts(stream, observer);
            }
        }
    }

    /// Puts a segment into the link that leads on from a node.
    fn enter(&mut self, node: usize, direction: Direction, parcel: Parcel) {
        let stream = parcel.stream as usize;
        let bytes = parcel.segment.line_bytes();
        let place = match direction {
            Direction::Forward => 2 * node,
            Direction::Backward => 2 * node - 1,
        };
        if self.hops[place / 2].handle(place % 2, self.now, parcel, bytes) != Fate::Taken {
            self.streams[stream].lost += 1;
        }
        self.set_link(place);
    }

    /// Updates the due time of a link, and that of the opposite link if they share a medium.
    fn set_link(&mut self, place: usize) {
        let hop = &self.hops[place / 2];
        self.queue.set(place, hop.next_time(place % 2));
        if hop.is_shared() {
            self.queue.set(place ^ 1, hop.next_time(1 - place % 2));
        }
    }

    fn sender_acts(&mut self, stream: usize, observer: &mut impl FnMut(PacketEvent<'_>)) {
        while let Some(segment) = self.streams[stream].sender.poll(self.now) {
            self.leaves(0, Direction::Forward, stream, segment, observer);
        }
        let next = self.streams[stream].sender.next_time();
        self.queue.set(self.sender_place(stream), next);
    }

    fn device_acts(&mut self, stream: usize, observer: &mut impl FnMut(PacketEvent<'_>)) {
        while let Some(segment) = self.streams[stream].device.poll(self.now) {
            self.leaves(self.last_node(), Direction::Backward, stream, segment, observer);
        }
        let next = self.streams[stream].device.next_time();
        self.queue.set(self.device_place(stream), next);
    }

    /// Handles a segment that a host sends.
    fn leaves(
        &mut self,
        node: usize,
        direction: Direction,
        stream: usize,
        segment: Segment,
        observer: &mut impl FnMut(PacketEvent<'_>),
    ) {
        self.segments += 1;
        let stream = u32::try_from(stream).unwrap_or(u32::MAX);
        let parcel = Parcel { stream, damaged: false, segment };
        self.passes(node, direction, &parcel, observer);
        self.enter(node, direction, parcel);
    }

    fn passes(
        &self,
        node: usize,
        direction: Direction,
        parcel: &Parcel,
        observer: &mut impl FnMut(PacketEvent<'_>),
    ) {
        let Parcel { stream, damaged, ref segment } = *parcel;
        let (time, stream) = (self.now, stream as usize);
        if node == self.capture_point {
            observer(PacketEvent { time, stream, direction, damaged, segment });
        }
    }

    /// Returns the virtual time.
    pub const fn now(&self) -> Timestamp {
        self.now
    }

    /// Returns the number of segments that hosts have sent.
    pub const fn segments(&self) -> u64 {
        self.segments
    }

    /// Returns the sender of a stream.
    pub fn sender(&self, stream: usize) -> Option<&Sender> {
        self.streams.get(stream).map(|hosts| &hosts.sender)
    }

    /// Returns the device of a stream.
    pub fn device(&self, stream: usize) -> Option<&Device> {
        self.streams.get(stream).map(|hosts| &hosts.device)
    }

    /// Returns the counters of a hop's links: towards the devices, and back.
    pub fn hop(&self, hop: usize) -> Option<(&LinkCounters, &LinkCounters)> {
        let hop = self.hops.get(hop)?;
        Some((hop.counters(0), hop.counters(1)))
    }

    /// Returns the number of a stream's segments that never reached their host, or that their host
    /// lost.
    pub fn lost(&self, stream: usize) -> u64 {
        self.streams.get(stream).map_or(0, |hosts| {
            let device = hosts.device.counters();
            hosts.lost + device.lost + device.damaged
        })
    }

    /// Returns the time from a sender's SYN to its end, or until now.
    pub fn lasted(&self, stream: usize) -> Span {
        self.sender(stream).map_or(Span::ZERO, |sender| {
            let end = sender.ending().map_or(self.now, |(end, _)| end);
            end.since(sender.settings().start)
        })
    }

    /// Returns the truth about the causes that held a sender back. Without any loss, timeouts were
    /// spurious: their time goes to the cause before.
    pub fn truth(&self, stream: usize) -> Truth {
        let truth = self.sender(stream).map(|sender| sender.truth(self.now)).unwrap_or_default();
        if self.lost(stream) == 0 { truth.without_false_timeouts() } else { truth }
    }
}

/// Returns the port and the service that a sender's method and writes need at the other end.
const fn service(sender: &SenderSettings) -> (u16, Service) {
    match (sender.method, sender.writes) {
        (Method::Lpr { .. }, _) => (515, Service::Lpr),
        (Method::Raw, WritePattern::Requests { bytes, answer }) => {
            let with = if answer.get() > 0xFFFF { 0xFFFF } else { answer.get() as u16 };
            (9_100, Service::Answer { every: bytes, with })
        }
        (Method::Raw, _) => (9_100, Service::Raw),
    }
}

/// Returns the seed of one machine, from its kind and number.
const fn seed(seed: u64, kind: u64, number: usize) -> u64 {
    // Factors are odd, so that no two machines share a seed.
    seed.wrapping_mul(0x9E37_79B9_7F4A_7C15)
        ^ kind.wrapping_mul(0xC2B2_AE3D_27D4_EB4F)
        ^ (number as u64).wrapping_mul(0x1656_67B1_9E37_79F9)
}

#[cfg(test)]
#[path = "world_tests.rs"]
mod tests;
