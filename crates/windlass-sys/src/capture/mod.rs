//! Capturing packets by `AF_PACKET` sockets (packet(7)).
//!
//! A [`Capture`] is opened for one interface, or for all. It gives packets in
//! batches: with [`Source::Ring`] all that have come into a block of memory that
//! the kernel shares, with [`Source::Single`] one for each system call, as the
//! classic readers do. Each packet that the filter lets through is either given
//! or counted as dropped, to the last one:
//!
//! ```no_run
//! use std::time::Duration;
//! use windlass_sys::capture::{Capture, Next, Settings};
//!
//! let mut capture = Capture::open("eth0", &Settings::default())?;
//! let mut taken = 0;
//! for _ in 0..100 {
//!     if let Next::Batch(mut batch) = capture.next(Duration::from_millis(100))? {
//!         while let Some(packet) = batch.next() {
//!             taken += 1;
//!             println!("{} bytes at {:?}", packet.original_length, packet.time);
//!         }
//!     }
//! }
//! // No packet comes in from here on; those that wait are still to be had.
//! capture.stop()?;
//! while let Next::Batch(mut batch) = capture.next(Duration::from_secs(1))? {
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
pub use open::{OpenStep, Refused};
pub(crate) use open::{bind_to, packet_socket};
pub use packet::{LinkAddress, Packet};
pub use sent::{SentPacket, SentPackets};
pub use statistics::Statistics;

use crate::namespace::Namespace;
use open::Socket;
use ring::Ring;
use single::Single;

/// The most bytes of a packet that are kept, where nothing else is said: the
/// limit of libpcap and Wireshark (`MAXIMUM_SNAPLEN`).
pub const WHOLE: u32 = 262_144;

/// An instruction of a filter: `struct sock_filter` in `linux/filter.h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Instruction {
    /// What to do.
    pub code: u16,
    /// How many instructions to leave out if it is so.
    pub if_true: u8,
    /// The same if it is not.
    pub if_false: u8,
    /// A number to do it with.
    pub value: u32,
}

impl Instruction {
    /// Ends the filter: keeps so many bytes of a packet; with 0 it is not taken.
    pub const fn keep(bytes: u32) -> Self {
        Self { code: (libc::BPF_RET | libc::BPF_K) as u16, if_true: 0, if_false: 0, value: bytes }
    }
}

/// How packets come from the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// A ring of blocks in memory that the kernel shares (`TPACKET_V3`): a block
    /// is given when it is full, or `within` after its first packet.
    Ring {
        /// The ring's bytes.
        bytes: u64,
        /// The bytes of a block: a power of two, from a page up.
        block: u32,
        /// How long a packet may wait in a block that is not full. The kernel
        /// counts in milliseconds.
        within: Duration,
    },
    /// One packet for each system call.
    Single {
        /// The socket's buffer in bytes; `None` is what the system usually gives.
        buffer: Option<u64>,
    },
}

impl Source {
    /// A ring of so many bytes for packets of which so many are kept.
    ///
    /// A block is given when its time is over however little is in it. So a ring
    /// whose reader is kept away lasts as long as its bytes, or as its blocks
    /// times their time where packets are few: the blocks are small, and those
    /// that have to be large for whole packets may wait longer. With 64 MiB for
    /// headers and 256 MiB for whole packets that is 41 s at the least.
    pub const fn ring(bytes: u64, snap_length: u32) -> Self {
        Self::with_block(bytes, usual_block(bytes, snap_length))
    }

    /// A ring of so many bytes with blocks of this size, a power of two.
    pub const fn with_block(bytes: u64, block: u32) -> Self {
        let millis = if block <= BLOCK_HEADERS { 10 } else { 40 };
        Self::Ring { bytes, block, within: Duration::from_millis(millis) }
    }
}

/// The blocks of packets that are cut to their headers: 25 of the longest have
/// room in one.
const BLOCK_HEADERS: u32 = 16 << 10;

/// The blocks of whole packets: four of 64 KiB but for their heads, as TCP hands
/// them to a card that cuts them up.
const BLOCK_WHOLE: u32 = 256 << 10;

/// The largest packet that is usual: of 64 KiB, with the header of its link.
const LARGEST: u32 = 65_536 + 14;

/// What the kernel puts before a packet at most, and before the first of a block.
const HEADS: u32 = 256;

/// The bytes of a block: several packets have room in it, the largest too, and in
/// a small ring there are eight of them where that allows it.
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

/// Which packets are taken by their direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Direction {
    /// Those to this host and those from it.
    #[default]
    Both,
    /// Those that arrive.
    In,
    /// Those that this host sends. The filter has to see to it: the kernel can
    /// only leave these out.
    Out,
}

/// What to capture, and how.
#[derive(Clone, Debug)]
pub struct Settings<'a> {
    /// How packets come.
    pub source: Source,
    /// The most bytes that are kept of a packet. A filter has to keep as many.
    pub snap_length: u32,
    /// Which packets by their direction.
    pub direction: Direction,
    /// Takes packets for other hosts, too, where the interface sees them.
    pub promiscuous: bool,
    /// Which packets are taken: a classic BPF program. Without one, all are.
    pub filter: Option<&'a [Instruction]>,
    /// The network namespace; `None` is the thread's own.
    pub namespace: Option<&'a Namespace>,
    /// Over how many captures the kernel spreads the packets
    /// ([`Capture::open_many`]). Both directions of a connection come to the
    /// same one.
    pub spread: NonZeroU16,
}

/// The usual ring's bytes: 64 MiB.
const USUAL_RING: u64 = 64 << 20;

/// Everything that passes, whole, by a ring of 64 MiB.
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

/// A capture that runs.
#[derive(Debug)]
pub struct Capture {
    reader: Reader,
    interface: Interface,
}

#[derive(Debug)]
enum Reader {
    Ring(Ring),
    Single(Single),
}

/// What comes next.
#[derive(Debug)]
pub enum Next<'a> {
    /// Packets.
    Batch(Batch<'a>),
    /// None within the time that was given; a signal ends the wait early. After
    /// [`Capture::stop`] it says that all have been given.
    Nothing,
    /// The interface went down; what waited has been given. The capture goes on
    /// when it is up again.
    Down,
    /// The interface is not there any more; what waited has been given. It may
    /// be said after [`Next::Down`], and from then on always.
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
    /// The next packet of these.
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
    /// It takes `CAP_NET_RAW` in the namespace, and nothing of it afterwards.
    ///
    /// # Errors
    /// Where there is no such interface, and where the system refuses a step.
    pub fn open(interface: &str, settings: &Settings<'_>) -> Result<Self, Refused> {
        let one = Settings { spread: NonZeroU16::MIN, ..settings.clone() };
        let mut opened = Self::open_many(interface, &one)?;
        opened.pop().ok_or_else(|| Refused::at(OpenStep::Open)(io::ErrorKind::NotFound))
    }

    /// Opens as many captures as the settings spread packets over
    /// (`PACKET_FANOUT`). Each takes its share, for a thread of its own.
    ///
    /// # Errors
    /// As for one.
    pub fn open_many(interface: &str, settings: &Settings<'_>) -> Result<Vec<Self>, Refused> {
        let (sockets, interface) = open::open(interface, settings)?;
        let reader = |socket: Socket| match settings.source {
            Source::Ring { bytes, block, within } => {
                Ring::new(socket, bytes, block, within).map(Reader::Ring)
            }
            Source::Single { .. } => Ok(Reader::Single(Single::new(socket, settings.snap_length))),
        };
        let readers: Vec<Reader> = sockets.into_iter().map(reader).collect::<Result<_, _>>()?;
        open::begin(readers.iter().map(Reader::socket), &interface, settings)?;
        let capture = |reader| Self { reader, interface: interface.clone() };
        Ok(readers.into_iter().map(capture).collect())
    }

    /// The bytes that may wait: of the ring, or of the socket's buffer as the
    /// kernel granted it.
    pub fn buffer_bytes(&self) -> u64 {
        match &self.reader {
            Reader::Ring(ring) => ring.bytes(),
            Reader::Single(single) => single.buffer_bytes(),
        }
    }

    /// The next packets, for which it waits this long.
    ///
    /// While packets come a ring is left alone for some time when all are taken,
    /// for 40 ms at most, so that some blocks are taken at a wake.
    ///
    /// # Errors
    /// Where the kernel fails for another reason than the interface.
    pub fn next(&mut self, wait: Duration) -> io::Result<Next<'_>> {
        match &mut self.reader {
            Reader::Ring(ring) => ring.next(wait, &self.interface),
            Reader::Single(single) => single.next(wait, &self.interface),
        }
    }

    /// Lets no more packets in. Those that came before are still to be had from
    /// [`Capture::next`], which says when there are none left.
    ///
    /// # Errors
    /// Where the kernel does not take the filter that refuses all.
    pub fn stop(&mut self) -> io::Result<()> {
        match &mut self.reader {
            Reader::Ring(ring) => ring.stop(),
            Reader::Single(single) => single.stop(),
        }
    }

    /// What was counted since the capture was opened. After the last packet of
    /// a stopped capture `received` less `dropped` is what was given.
    ///
    /// # Errors
    /// Where the kernel does not tell.
    pub fn statistics(&mut self) -> io::Result<Statistics> {
        self.reader.socket_mut().statistics()
    }

    /// Stops, throws away what waits, and gives the last counts.
    ///
    /// # Errors
    /// As for [`Capture::stop`] and [`Capture::statistics`].
    pub fn close(mut self) -> io::Result<Statistics> {
        self.stop()?;
        self.statistics()
    }

    /// Whether its interface is up.
    ///
    /// # Errors
    /// Where it is not there any more.
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
