//! The packets that an interface sends, each with the time at which the kernel sent it.
//!
//! Who emulates a path must know when a packet entered it, however late it is looked at: what
//! a TUN interface gives has no time.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

use libc::c_int;
use rustix::net::SocketType;
use windlass_base::Timestamp;

use super::open::{OpenStep, Refused, Socket, packet_socket};
use super::{Instruction, Interface, bind_to};
use crate::memory::Memory;
use crate::namespace::Namespace;

/// The bytes of the ring at most, and of a block of it at least.
const RING: u32 = 32 << 20;
const BLOCK: u32 = 64 << 10;

/// The most packets that wait in the ring.
const MOST: u32 = 8_192;

/// What the kernel puts before a packet at most: its head, the link's address, and room for
/// the header of a link (`TPACKET2_HDRLEN`).
const HEAD: u32 = 128;

/// The packets that one interface sends, in a ring of frames that the kernel fills
/// (`TPACKET_V2`): each is to be had as soon as it is sent.
#[derive(Debug)]
pub struct SentPackets {
    memory: Memory,
    frame: usize,
    frames: usize,
    /// The frame that comes next.
    at: usize,
    /// Last, so that the memory goes first.
    socket: Socket,
}

/// A packet that was sent. The kernel has its place again when the value goes.
#[derive(Debug)]
pub struct SentPacket<'a> {
    /// When, by the host's clock.
    pub time: Timestamp,
    /// The packet from its network header on.
    pub data: &'a [u8],
    status: &'a AtomicU32,
    at: &'a mut usize,
    frames: usize,
}

impl Drop for SentPacket<'_> {
    fn drop(&mut self) {
        self.data = &[];
        self.status.store(libc::TP_STATUS_KERNEL, Ordering::Release);
        *self.at = (*self.at + 1) % self.frames;
    }
}

impl SentPackets {
    /// Begins with an interface of a namespace, whose packets have at most so many bytes
    /// behind the header of the link. 8,192 of them wait, or as many as 32 MiB hold.
    ///
    /// # Errors
    /// Where there is no such interface, and where the namespace lets nobody listen.
    pub fn of(namespace: &Namespace, interface: &str, mtu: u16) -> Result<Self, Refused> {
        let interface = Interface::look(interface, Some(namespace))?;
        let mut socket = Socket::new(packet_socket(Some(namespace), SocketType::RAW)?);
        let version = libc::tpacket_versions::TPACKET_V2 as c_int;
        socket.set(libc::PACKET_VERSION, &version).map_err(Refused::at(OpenStep::Set))?;
        socket.filter(&only_sent()).map_err(Refused::at(OpenStep::Filter))?;
        let frame = (u32::from(mtu) + HEAD).next_power_of_two();
        let frames = (RING / frame).min(MOST);
        let block = frame.max(BLOCK);
        let request = libc::tpacket_req {
            tp_block_size: block,
            tp_block_nr: frames / (block / frame),
            tp_frame_size: frame,
            tp_frame_nr: frames,
        };
        let failed = Refused::at(OpenStep::Buffer);
        socket.set(libc::PACKET_RX_RING, &request).map_err(&failed)?;
        let (frame, frames) = (frame as usize, frames as usize);
        let (access, file) = (libc::PROT_READ | libc::PROT_WRITE, socket.as_fd().as_raw_fd());
        let memory =
            Memory::map(frame * frames, access, libc::MAP_SHARED, file).map_err(&failed)?;
        bind_to(&socket, &interface, libc::ETH_P_ALL as u16)
            .map_err(Refused::at(OpenStep::Bind))?;
        // What was counted before is of no interest.
        socket.statistics().map_err(Refused::at(OpenStep::Set))?;
        Ok(Self { memory, frame, frames, at: 0, socket })
    }

    /// The next packet; nothing where none was sent.
    #[inline]
    #[expect(clippy::should_implement_trait, reason = "a packet borrows the ring")]
    pub fn next(&mut self) -> Option<SentPacket<'_>> {
        let start = self.start();
        // SAFETY: the number is within the mapping and aligned, as frames are powers of two;
        // it lives as long as this value, and the kernel changes it as a whole.
        let status = unsafe { AtomicU32::from_ptr(start.as_ptr().cast()) };
        if status.load(Ordering::Acquire) & libc::TP_STATUS_USER == 0 {
            return None;
        }
        // SAFETY: the head is within the mapping. Until the status changes the kernel leaves
        // the frame alone, and nobody here has another reference to it.
        let head = unsafe { start.cast::<libc::tpacket2_hdr>().read() };
        let from = usize::from(head.tp_net).min(self.frame);
        // The packet begins at its link's header, of which a TUN interface has none.
        let link = usize::from(head.tp_net.saturating_sub(head.tp_mac));
        let kept = (head.tp_snaplen as usize).saturating_sub(link).min(self.frame - from);
        // SAFETY: the frame is within the mapping, and what is taken of it within the frame.
        let data = unsafe { std::slice::from_raw_parts(start.add(from).as_ptr(), kept) };
        let seconds = i64::from(head.tp_sec).saturating_mul(1_000_000_000);
        let time = Timestamp::from_nanos(seconds.saturating_add(head.tp_nsec.into()));
        Some(SentPacket { time, data, status, at: &mut self.at, frames: self.frames })
    }

    /// The packets that found the ring full.
    ///
    /// # Errors
    /// Where the socket does not say.
    pub fn dropped(&mut self) -> io::Result<u64> {
        self.socket.statistics().map(|counts| counts.dropped)
    }

    const fn start(&self) -> NonNull<u8> {
        // SAFETY: the frame's number is less than that of all.
        unsafe { self.memory.start.add(self.at * self.frame) }
    }
}

/// It can be read from when a packet was sent.
impl AsFd for SentPackets {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// A filter that keeps what leaves, whole, and nothing else.
fn only_sent() -> [Instruction; 4] {
    let code = |code: u32| code as u16;
    let kind = (libc::SKF_AD_OFF + libc::SKF_AD_PKTTYPE).cast_unsigned();
    [
        Instruction {
            code: code(libc::BPF_LD | libc::BPF_B | libc::BPF_ABS),
            if_true: 0,
            if_false: 0,
            value: kind,
        },
        Instruction {
            code: code(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K),
            if_true: 0,
            if_false: 1,
            value: libc::PACKET_OUTGOING.into(),
        },
        Instruction::keep(super::WHOLE),
        Instruction::keep(0),
    ]
}
