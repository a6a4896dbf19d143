//! Capturing packets by `AF_PACKET` sockets (packet(7)).
//!
//! A [`Capture`] is opened for one interface, or for all. It returns packets in batches. With
//! [`Source::Ring`] a batch is a block of memory that the kernel shares, with all its packets. With
//! [`Source::Single`] it is one packet per system call, as in classic readers. Each packet that
//! passes the filter is either returned or counted as dropped, to the last one:
//!
//! ```no_run
//! use std::time::Duration;
//! use windlass_sys::capture::{Capture, CaptureEvent, Settings};
//!
//! let mut capture = Capture::open("eth0", &Settings::default())?;
//! let mut taken = 0;
//! for _ in 0..100 {
//!     if let CaptureEvent::Batch(mut batch) = capture.next(Duration::from_millis(100))? {
//!         while let Some(packet) = batch.next() {
//!             taken += 1;
//!             println!("{} bytes at {:?}", packet.original_length, packet.time);
//!         }
//!     }
//! }
//! // No packet comes in from here on; those that wait are still to be had.
//! capture.stop()?;
//! while let CaptureEvent::Batch(mut batch) = capture.next(Duration::from_secs(1))? {
//!     while batch.next().is_some() {
//!         taken += 1;
//!     }
//! }
//! let counts = capture.statistics()?;
//! assert_eq!(taken, counts.received - counts.dropped);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! `examples/capture.rs` is a whole program.

mod batching;
mod block;
mod interface;
mod link;
mod open;
mod packet;
mod ring;
mod sent;
mod single;
mod statistics;

use std::io;
use std::num::NonZeroU16;
use std::time::Duration;

pub use block::Packets;
pub(crate) use interface::framing_of;
pub use interface::{Framing, Interface};
pub use open::{OpenStep, Refusal};
pub(crate) use open::{bind_to, packet_socket};
pub use packet::{LinkAddress, Packet};
pub use sent::{SentPacket, SentPackets};
pub use statistics::Statistics;

use crate::namespace::Namespace;
use open::Socket;
use ring::Ring;
use single::PacketReader;

/// Default maximum of bytes kept of a packet: the limit of libpcap and Wireshark
/// (`MAXIMUM_SNAPLEN`).
pub const WHOLE: u32 = 262_144;

/// An instruction of a filter: `struct sock_filter` in `linux/filter.h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Instruction {
    /// Code of the operation.
    pub code: u16,
    /// Number of instructions to skip if the test succeeds.
    pub if_true: u8,
    /// Number of instructions to skip if the test fails.
    pub if_false: u8,
    /// Operand.
    pub value: u32,
}

impl Instruction {
    /// Ends the filter, and keeps this many bytes of a packet; 0 drops it.
    pub const fn keep(bytes: u32) -> Self {
        Self { code: (libc::BPF_RET | libc::BPF_K) as u16, if_true: 0, if_false: 0, value: bytes }
    }
}

/// The way that packets come from the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// A ring of blocks in memory that the kernel shares (`TPACKET_V3`). A block is returned when
    /// it is full, or `within` after its first packet.
    Ring {
        /// The ring's bytes.
        bytes: u64,
        /// The bytes of a block: a power of two, from a page up.
        block: u32,
        /// Maximum wait of a packet in a block that is not full. The kernel counts in milliseconds.
        within: Duration,
    },
    /// One packet for each system call.
    Single {
        /// The socket's buffer in bytes; `None` is the system's default.
        buffer: Option<u64>,
    },
}

impl Source {
    /// Makes a ring of this many bytes, with blocks for this snap length.
    ///
    /// A block is closed after its time, however few packets are in it. So a ring without a reader
    /// lasts as long as its bytes do, or at low rates as long as all its blocks together. Blocks
    /// are small for that reason, and blocks that must be large for whole packets may wait longer.
    /// With 64 MiB for headers and 256 MiB for whole packets, a ring lasts 41 s at least.
    pub const fn ring(bytes: u64, snap_length: u32) -> Self {
        Self::with_block(bytes, usual_block(bytes, snap_length))
    }

    /// Makes a ring of this many bytes with blocks of this size, a power of two.
    pub const fn with_block(bytes: u64, block: u32) -> Self {
        let millis = if block <= BLOCK_HEADERS { 10 } else { 40 };
        Self::Ring { bytes, block, within: Duration::from_millis(millis) }
    }
}

/// Block size for packets that are cut to their headers: 25 of the longest fit in one.
const BLOCK_HEADERS: u32 = 16 << 10;

/// Block size for whole packets: four of 64 KiB but for their headers, as TCP hands them to a card
/// that segments them.
const BLOCK_WHOLE: u32 = 256 << 10;

/// Largest usual packet: 64 KiB, and the link header.
const LARGEST: u32 = 65_536 + 14;

/// Maximum bytes that the kernel puts before a packet, and before the first of a block.
const HEADS: u32 = 256;

/// Returns the bytes of a block. Several packets fit in it, even the largest. A small ring has
/// eight blocks if that allows it.
const fn usual_block(bytes: u64, snap_length: u32) -> u32 {
    let longest = if snap_length < LARGEST { snap_length } else { LARGEST };
    let one = (longest + HEADS).next_power_of_two();
    let several = one.saturating_mul(4);
    let usual = match several {
        0..=BLOCK_HEADERS => BLOCK_HEADERS,
        BLOCK_WHOLE.. => BLOCK_WHOLE,
        between => between,
    };
    let eighth = bytes / 8;
    let least = if one < 4_096 { 4_096 } else { one };
    let mut block = usual;
    while block > least && block as u64 > eighth {
        block /= 2;
    }
    block
}

/// The packets to capture by their direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Direction {
    /// Packets to this host and from it.
    #[default]
    Both,
    /// Packets that arrive.
    In,
    /// Packets that this host sends. The filter must see to this: the kernel can only leave out
    /// packets sent.
    Out,
}

/// Settings of a capture.
#[derive(Clone, Debug)]
pub struct Settings<'a> {
    /// The way that packets come.
    pub source: Source,
    /// Maximum bytes kept of a packet. A filter must keep as many.
    pub snap_length: u32,
    /// The packets to capture by their direction.
    pub direction: Direction,
    /// Takes packets for other hosts, too, if the interface sees them.
    pub promiscuous: bool,
    /// The packets to capture: a classic BPF program. Without one, all are.
    pub filter: Option<&'a [Instruction]>,
    /// The network namespace; `None` is the thread's own.
    pub namespace: Option<&'a Namespace>,
    /// Number of captures over which the kernel spreads the packets ([`Capture::open_many`]). Both
    /// directions of a connection come to the same capture.
    pub spread: NonZeroU16,
}

/// Bytes of the default ring: 64 MiB.
const USUAL_RING: u64 = 64 << 20;

/// Captures all packets whole, with a ring of 64 MiB.
impl Default for Settings<'_> {
    fn default() -> Self {
        Self {
            source: Source::ring(USUAL_RING, WHOLE),
            snap_length: WHOLE,
            direction: Direction::default(),
            promiscuous: false,
            filter: None,
            namespace: None,
            spread: NonZeroU16::MIN,
        }
    }
}

/// An open capture.
#[derive(Debug)]
pub struct Capture {
    reader: Reader,
    interface: Interface,
}

#[derive(Debug)]
enum Reader {
    Ring(Ring),
    Single(PacketReader),
}

/// Result of waiting for packets.
#[derive(Debug)]
pub enum CaptureEvent<'a> {
    /// Packets.
    Batch(Batch<'a>),
    /// No packets within the given time; a signal ends the wait early. After [`Capture::stop`] this
    /// means that all packets have been returned.
    Nothing,
    /// The interface went down, and all earlier packets have been returned. The capture continues
    /// when the interface is up again.
    Down,
    /// The interface is gone, and all earlier packets have been returned. This may follow
    /// [`CaptureEvent::Down`], and is then returned always.
    Gone,
}

/// Packets that came together: a block of the ring, or one packet.
#[derive(Debug)]
pub struct Batch<'a>(Packages<'a>);

#[derive(Debug)]
enum Packages<'a> {
    Block(ring::Block<'a>),
    One(Option<Packet<'a>>),
}

impl Batch<'_> {
    /// Returns the next packet of the batch.
    #[expect(clippy::should_implement_trait, reason = "an iterator cannot lend")]
    #[inline]
    pub fn next(&mut self) -> Option<Packet<'_>> {
        match &mut self.0 {
            Packages::Block(block) => block.packets().next(),
            Packages::One(packet) => packet.take(),
        }
    }
}

impl Capture {
    /// Opens a capture on an interface; `any` is all of them.
    ///
    /// The call takes `CAP_NET_RAW` in the namespace; the capture needs no privilege afterwards.
    ///
    /// # Errors
    /// Fails if there is no such interface, or the system refuses a step.
    pub fn open(interface: &str, settings: &Settings<'_>) -> Result<Self, Refusal> {
        let one = Settings { spread: NonZeroU16::MIN, ..settings.clone() };
        let mut opened = Self::open_many(interface, &one)?;
        opened.pop().ok_or_else(|| Refusal::at(OpenStep::Open)(io::ErrorKind::NotFound))
    }

    /// Opens as many captures as the settings spread packets over (`PACKET_FANOUT`). Each takes its
    /// share, for a thread of its own.
    ///
    /// # Errors
    /// Fails as [`Capture::open`] does.
    pub fn open_many(interface: &str, settings: &Settings<'_>) -> Result<Vec<Self>, Refusal> {
        let (sockets, interface) = open::open(interface, settings)?;
        let reader = |socket: Socket| match settings.source {
            Source::Ring { bytes, block, within } => {
                Ring::new(socket, bytes, block, within).map(Reader::Ring)
            }
            Source::Single { .. } => {
                Ok(Reader::Single(PacketReader::new(socket, settings.snap_length)))
            }
        };
        let readers: Vec<Reader> = sockets.into_iter().map(reader).collect::<Result<_, _>>()?;
        open::begin(readers.iter().map(Reader::socket), &interface, settings)?;
        let capture = |reader| Self { reader, interface: interface.clone() };
        Ok(readers.into_iter().map(capture).collect())
    }

    /// Returns the size of the buffer in bytes: of the ring, or of the socket as the kernel granted
    /// it.
    pub fn buffer_bytes(&self) -> u64 {
        match &self.reader {
            Reader::Ring(ring) => ring.bytes(),
            Reader::Single(single) => single.buffer_bytes(),
        }
    }

    /// Returns the next packets, after waiting for at most this long.
    ///
    /// While packets come, an emptied ring is left alone for up to 40 ms, so that each wake-up
    /// finds several blocks.
    ///
    /// # Errors
    /// Fails if the kernel fails for another reason than the interface.
    pub fn next(&mut self, wait: Duration) -> io::Result<CaptureEvent<'_>> {
        match &mut self.reader {
            Reader::Ring(ring) => ring.next(wait, &self.interface),
            Reader::Single(single) => single.next(wait, &self.interface),
        }
    }

    /// Lets no more packets in. Earlier packets can still be read by [`Capture::next`], which tells
    /// when none are left.
    ///
    /// # Errors
    /// Fails if the kernel does not take the filter that drops all packets.
    pub fn stop(&mut self) -> io::Result<()> {
        match &mut self.reader {
            Reader::Ring(ring) => ring.stop(),
            Reader::Single(single) => single.stop(),
        }
    }

    /// Returns the counts since the capture was opened. After the last packet of a stopped capture,
    /// `received` less `dropped` is the number of packets returned.
    ///
    /// # Errors
    /// Fails if the kernel does not tell.
    pub fn statistics(&mut self) -> io::Result<Statistics> {
        self.reader.socket_mut().statistics()
    }

    /// Stops, discards waiting packets, and returns the last counts.
    ///
    /// # Errors
    /// Fails as [`Capture::stop`] and [`Capture::statistics`] do.
    pub fn close(mut self) -> io::Result<Statistics> {
        self.stop()?;
        self.statistics()
    }

    /// Returns whether its interface is up.
    ///
    /// # Errors
    /// Fails if the interface is gone.
    pub fn is_up(&self) -> io::Result<bool> {
        self.interface.is_up(self.reader.socket())
    }
}

impl Reader {
    const fn socket(&self) -> &Socket {
        match self {
            Self::Ring(ring) => &ring.socket,
            Self::Single(single) => &single.socket,
        }
    }

    const fn socket_mut(&mut self) -> &mut Socket {
        match self {
            Self::Ring(ring) => &mut ring.socket,
            Self::Single(single) => &mut single.socket,
        }
    }
}

#[cfg(test)]
#[path = "capture_tests.rs"]
mod tests;
