//! Senders, a path and devices in virtual time.

use windlass_base::{Span, Timestamp};

use crate::device::{Device, Habits, Service};
use crate::event_queue::EventQueue;
use crate::link::{Channel, Fate, LinkCounters, LinkSettings};
use crate::segment::Segment;
use crate::sender::{Method, Sender, SenderSettings, Truth, Writes};

/// The first port of the senders; stream n has this and n.
const FIRST_PORT: u16 = 49_152;

/// A stretch of the path: a link each way.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hop {
    /// From the senders towards the devices.
    pub forward: LinkSettings,
    /// From the devices towards the senders.
    pub backward: LinkSettings,
}

impl Hop {
    /// A hop that is alike in both directions.
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

/// What a simulation consists of.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// The path, from the senders to the devices, which all streams share. An
    /// empty one is a hop that does nothing.
    pub path: Vec<Hop>,
    /// The streams.
    pub streams: Vec<Stream>,
    /// Decides all that is left to chance.
    pub seed: u64,
}

/// Where segments are seen: 0 is at the senders, 1 after the first hop, and so
/// on to the number of hops, which is at the devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CapturePoint(pub usize);

/// Which way a segment goes.
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
    /// When.
    pub time: Timestamp,
    /// The number of its stream.
    pub stream: usize,
    /// Which way it goes.
    pub direction: Direction,
    /// Whether a link has damaged it: the host that it reaches drops it.
    pub damaged: bool,
    /// The segment.
    pub segment: &'a Segment,
}

/// Where a simulation is to stop, if it is not over before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Until {
    /// Not beyond this time.
    pub time: Timestamp,
    /// Not beyond so many segments sent, by all hosts.
    pub segments: u64,
}

impl Until {
    /// Until every transfer is over. A day and a thousand million segments are
    /// more than any; a simulation that comes so far does not end.
    pub const OVER: Self =
        Self { time: Timestamp::from_nanos(86_400_000_000_000), segments: 1_000_000_000 };
}

/// Why a simulation stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// Every transfer is over, and nothing is under way.
    Over,
    /// Nothing will ever happen again, but a transfer is not over.
    Stuck,
    /// The time was up.
    Time,
    /// So many segments were sent.
    Segments,
}

/// A segment on its way.
#[derive(Clone, Debug)]
struct Parcel {
    stream: u32,
    damaged: bool,
    segment: Segment,
}

/// Who is due. Links come first, so that what arrives at a moment is there
/// before hosts act on it.
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
    /// That of each hop: towards the devices, and back.
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
    /// A world at its beginning.
    pub fn new(setting: &Setting, capture_point: CapturePoint) -> Self {
        // Without a hop hosts would call each other without end.
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

    /// Runs until every transfer is over, or `until`. `observer` is told of each segment
    /// that passes the capture point; times never go back.
    pub fn run(&mut self, until: Until, observer: &mut impl FnMut(PacketEvent<'_>)) -> Stopped {
        while let Some((time, machine)) = self.queue.first() {
            if time > until.time {
                return Stopped::Time;
            }
            if self.segments >= until.segments {
                return Stopped::Segments;
            }
            self.now = self.now.max(time);
            match self.machine(machine) {
                Machine::Link(place) => self.move_on(place, observer),
                Machine::Sender(stream) => self.sender_acts(stream, observer),
                Machine::Device(stream) => self.device_acts(stream, observer),
            }
            if self.is_over() {
                return Stopped::Over;
            }
        }
        if self.streams.iter().all(|hosts| hosts.sender.is_over()) {
            Stopped::Over
        } else {
            Stopped::Stuck
        }
    }

    /// Whether every transfer is over, and nothing is under way.
    fn is_over(&self) -> bool {
        self.streams.iter().all(|hosts| hosts.sender.is_over() && hosts.device.connections() == 0)
            && self.hops.iter().all(|hop| hop.under_way() == 0)
    }

    /// The places in the queue: links of each hop, then senders, then devices.
    fn machine(&self, place: usize) -> Machine {
        match place.checked_sub(2 * self.hops.len()) {
            None => Machine::Link(place),
            Some(host) if host < self.streams.len() => Machine::Sender(host),
            Some(host) => Machine::Device(host - self.streams.len()),
        }
    }

    /// The last node of the path, where the devices are.
    fn last_node(&self) -> usize {
        self.hops.len()
    }

    fn sender_place(&self, stream: usize) -> usize {
        2 * self.hops.len() + stream
    }

    fn device_place(&self, stream: usize) -> usize {
        2 * self.hops.len() + self.streams.len() + stream
    }

    /// Takes what a link delivers to the next one, or to the host at its end.
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

    /// A segment comes to a node of the path: node 0 is at the senders.
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

    /// A segment enters the link that leads on from a node.
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

    /// Says when a link is due; the other one as well, where they share a medium.
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

    /// A host sends a segment.
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

    /// The virtual time.
    pub const fn now(&self) -> Timestamp {
        self.now
    }

    /// Segments that hosts have sent.
    pub const fn segments(&self) -> u64 {
        self.segments
    }

    /// The sender of a stream.
    pub fn sender(&self, stream: usize) -> Option<&Sender> {
        self.streams.get(stream).map(|hosts| &hosts.sender)
    }

    /// The device of a stream.
    pub fn device(&self, stream: usize) -> Option<&Device> {
        self.streams.get(stream).map(|hosts| &hosts.device)
    }

    /// A hop's links: towards the devices, and back.
    pub fn hop(&self, hop: usize) -> Option<(&LinkCounters, &LinkCounters)> {
        let hop = self.hops.get(hop)?;
        Some((hop.counters(0), hop.counters(1)))
    }

    /// The segments of a stream that never reached their host, or that their
    /// host lost.
    pub fn lost(&self, stream: usize) -> u64 {
        self.streams.get(stream).map_or(0, |hosts| {
            let device = hosts.device.counters();
            hosts.lost + device.lost + device.damaged
        })
    }

    /// The time from a sender's SYN to its end, or so far.
    pub fn lasted(&self, stream: usize) -> Span {
        self.sender(stream).map_or(Span::ZERO, |sender| {
            let end = sender.ending().map_or(self.now, |(end, _)| end);
            end.since(sender.settings().start)
        })
    }

    /// What held a sender back. Where nothing was lost, timers that ran out were
    /// false, and their time goes to what held the sender before.
    pub fn truth(&self, stream: usize) -> Truth {
        let truth = self.sender(stream).map(|sender| sender.truth(self.now)).unwrap_or_default();
        if self.lost(stream) == 0 { truth.without_false_timeouts() } else { truth }
    }
}

/// What a sender's method and writes want at the other end, and its port.
const fn service(sender: &SenderSettings) -> (u16, Service) {
    match (sender.method, sender.writes) {
        (Method::Lpr { .. }, _) => (515, Service::Lpr),
        (Method::Raw, Writes::Requests { bytes, answer }) => {
            let with = if answer.get() > 0xFFFF { 0xFFFF } else { answer.get() as u16 };
            (9_100, Service::Answer { every: bytes, with })
        }
        (Method::Raw, _) => (9_100, Service::Raw),
    }
}

/// The seed of one machine, by its kind and number.
const fn seed(seed: u64, kind: u64, number: usize) -> u64 {
    // Odd factors, so that no two machines share one.
    seed.wrapping_mul(0x9E37_79B9_7F4A_7C15)
        ^ kind.wrapping_mul(0xC2B2_AE3D_27D4_EB4F)
        ^ (number as u64).wrapping_mul(0x1656_67B1_9E37_79F9)
}

#[cfg(test)]
#[path = "world_tests.rs"]
mod tests;
