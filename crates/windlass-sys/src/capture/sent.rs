//! The packets that an interface sends, each with the time at which the kernel sent it.
//!
//! The emulator of a path must know when a packet entered it, however late the packet is read:
//! packets from a TUN interface have no time.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

use libc::c_int;
use rustix::net::SocketType;
use windlass_base::Timestamp;

use super::open::{OpenStep, Refusal, Socket, packet_socket};
use super::{Instruction, Interface, bind_to};
use crate::memory::Memory;
use crate::namespace::Namespace;

/// Maximum bytes of the ring, and minimum bytes of a block.
const RING: u32 = 32 << 20;
const BLOCK: u32 = 64 << 10;

/// Maximum number of packets that wait in the ring.
const MOST: u32 = 8_192;

/// Maximum bytes that the kernel puts before a packet: its header, the link address, and room for a
/// link header (`TPACKET2_HDRLEN`).
const HEAD: u32 = 128;

/// The packets that one interface sends, in a ring of frames that the kernel fills (`TPACKET_V2`).
/// Each packet can be read as soon as it is sent.
#[derive(Debug)]
pub struct SentPackets {
    memory: Memory,
    frame: usize,
    frames: usize,
    /// Index of the next frame.
    at: usize,
    /// The socket, which comes last so that the memory is unmapped first.
    socket: Socket,
}

/// A packet that was sent. Dropping it returns its frame to the kernel.
#[derive(Debug)]
pub struct SentPacket<'a> {
    /// Time at which it was sent, by the host's clock.
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
    /// Opens an interface of a namespace, whose packets have at most `mtu` bytes behind the link
    /// header. Up to 8,192 packets wait, or as many as 32 MiB hold.
    ///
    /// # Errors
    /// Fails if there is no such interface, or the namespace allows no capture.
    pub fn of(namespace: &Namespace, interface: &str, mtu: u16) -> Result<Self, Refusal> {
        let interface = Interface::look(interface, Some(namespace))?;
        let mut socket = Socket::new(packet_socket(Some(namespace), SocketType::RAW)?);
        let version = libc::tpacket_versions::TPACKET_V2 as c_int;
        socket.set(libc::PACKET_VERSION, &version).map_err(Refusal::at(OpenStep::Set))?;
        socket.filter(&only_sent()).map_err(Refusal::at(OpenStep::Filter))?;
        let frame = (u32::from(mtu) + HEAD).next_power_of_two();
        let frames = (RING / frame).min(MOST);
        let block = frame.max(BLOCK);
        let request = libc::tpacket_req {
            tp_block_size: block,
            tp_block_nr: frames / (block / frame),
            tp_frame_size: frame,
            tp_frame_nr: frames,
        };
        let failed = Refusal::at(OpenStep::Buffer);
        socket.set(libc::PACKET_RX_RING, &request).map_err(&failed)?;
        let (frame, frames) = (frame as usize, frames as usize);
        let (access, file) = (libc::PROT_READ | libc::PROT_WRITE, socket.as_fd().as_raw_fd());
        let memory =
            Memory::map(frame * frames, access, libc::MAP_SHARED, file).map_err(&failed)?;
        bind_to(&socket, &interface, libc::ETH_P_ALL as u16)
            .map_err(Refusal::at(OpenStep::Bind))?;
        // Earlier counts do not matter.
        socket.statistics().map_err(Refusal::at(OpenStep::Set))?;
        Ok(Self { memory, frame, frames, at: 0, socket })
    }

    /// Returns the next packet; `None` if none was sent.
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
        // The packet begins at its link header, which a TUN interface lacks.
        let link = usize::from(head.tp_net.saturating_sub(head.tp_mac));
        let kept = (head.tp_snaplen as usize).saturating_sub(link).min(self.frame - from);
        // SAFETY: the frame is within the mapping, and what is taken of it within the frame.
        let data = unsafe { std::slice::from_raw_parts(start.add(from).as_ptr(), kept) };
        let seconds = i64::from(head.tp_sec).saturating_mul(1_000_000_000);
        let time = Timestamp::from_nanos(seconds.saturating_add(head.tp_nsec.into()));
        Some(SentPacket { time, data, status, at: &mut self.at, frames: self.frames })
    }

    /// Returns the number of packets dropped because the ring was full.
    ///
    /// # Errors
    /// Fails if the kernel does not tell.
    pub fn dropped(&mut self) -> io::Result<u64> {
        self.socket.statistics().map(|counts| counts.dropped)
    }

    const fn start(&self) -> NonNull<u8> {
        // SAFETY: the frame's number is less than that of all.
        unsafe { self.memory.start.add(self.at * self.frame) }
    }
}

/// The descriptor is readable once a packet was sent.
impl AsFd for SentPackets {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Makes a filter that keeps packets sent, whole, and nothing else.
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
