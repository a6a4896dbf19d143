//! The ring: blocks of memory that the kernel fills and this program empties.

use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use super::batching::BatchingDelay;
use super::block::{self, Packets};
use super::link::Link;
use super::open::{OpenStep, Refusal, Socket};
use super::{Batch, CaptureEvent, Interface, Packages, Statistics};
use crate::memory::Memory;
use crate::wait::ready;

/// Bytes of a frame. Blocks hold packets of any length; the kernel only needs a number that divides
/// their size.
const FRAME: u32 = 2_048;

/// Maximum wait for the last packets of a ring: anything on its way has come by then.
const DRAINING: Duration = Duration::from_secs(1);

/// The ring of a socket.
#[derive(Debug)]
pub(super) struct Ring {
    memory: Memory,
    block_bytes: usize,
    blocks: usize,
    /// Index of the next block.
    at: usize,
    /// Maximum wait of a packet in a block that is not full.
    within: Duration,
    /// Packets in the blocks that were returned.
    given: u64,
    delay: BatchingDelay,
    /// Time at which the filter was closed.
    stopped: Option<Instant>,
    link: Link,
    /// The socket, which comes last so that the memory is unmapped first.
    pub(super) socket: Socket,
}

impl Ring {
    /// Makes the ring of a socket.
    pub(super) fn new(
        socket: Socket,
        bytes: u64,
        block: u32,
        within: Duration,
    ) -> Result<Self, Refusal> {
        let failed = Refusal::at(OpenStep::Buffer);
        let refused = || failed(io::Error::from_raw_os_error(libc::EINVAL));
        let block_bytes = usize::try_from(block).map_err(|_| refused())?;
        let blocks = u32::try_from(bytes / u64::from(block.max(1))).map_err(|_| refused())?;
        // With a single block the kernel would have none while this program reads.
        let blocks = blocks.max(2);
        if !block.is_power_of_two() || block < FRAME {
            return Err(refused());
        }
        let whole = block_bytes.checked_mul(blocks as usize).ok_or_else(refused)?;
        let request = libc::tpacket_req3 {
            tp_block_size: block,
            tp_block_nr: blocks,
            tp_frame_size: FRAME,
            tp_frame_nr: (block / FRAME).checked_mul(blocks).ok_or_else(refused)?,
            tp_retire_blk_tov: u32::try_from(within.as_millis()).unwrap_or(u32::MAX).max(1),
            tp_sizeof_priv: 0,
            tp_feature_req_word: 0,
        };
        socket.set(libc::PACKET_RX_RING, &request).map_err(&failed)?;
        let (access, file) = (libc::PROT_READ | libc::PROT_WRITE, socket.as_fd().as_raw_fd());
        let memory = Memory::map(whole, access, libc::MAP_SHARED, file).map_err(&failed)?;
        let delay = BatchingDelay::new(blocks, block_bytes, within);
        let (blocks, at, given) = (blocks as usize, 0, 0);
        let (link, stopped) = (Link::default(), None);
        Ok(Self { memory, block_bytes, blocks, at, within, given, delay, stopped, link, socket })
    }

    pub(super) const fn bytes(&self) -> u64 {
        self.memory.length as u64
    }

    pub(super) fn stop(&mut self) -> io::Result<()> {
        if self.stopped.is_none() {
            self.socket.refuse_all()?;
            self.stopped = Some(Instant::now());
        }
        Ok(())
    }

    pub(super) fn next(
        &mut self,
        wait: Duration,
        interface: &Interface,
    ) -> io::Result<CaptureEvent<'_>> {
        if self.is_ours() {
            return Ok(self.block());
        }
        if let Some(stopped) = self.stopped {
            return Ok(if self.comes_more(stopped)? {
                self.block()
            } else {
                CaptureEvent::Nothing
            });
        }
        if !matches!(self.link, Link::Failed(_)) {
            let delay = self.delay.next().min(wait);
            if !delay.is_zero() {
                std::thread::sleep(delay);
                if self.is_ours() {
                    return Ok(self.block());
                }
            }
            ready(&[self.socket.as_fd()], Some(wait - delay))?;
            if self.is_ours() {
                return Ok(self.block());
            }
            if let Some(error) = self.socket.take_error()? {
                self.link.hear(error)?;
            }
        }
        if let Link::Failed(when) = self.link
            && self.comes_more(when)?
        {
            return Ok(self.block());
        }
        Ok(self.link.say(&self.socket, interface))
    }

    /// Waits for packets that came before the filter was closed. The kernel closes the last block
    /// after its time, and its counts tell whether that was everything. Returns whether there is a
    /// block.
    fn comes_more(&mut self, after: Instant) -> io::Result<bool> {
        loop {
            if self.is_ours() {
                return Ok(true);
            }
            let Statistics { received, dropped, .. } = self.socket.statistics()?;
            let waited = after.elapsed();
            let complete = self.given >= received.saturating_sub(dropped);
            if (complete && waited > self.within) || waited > self.within + DRAINING {
                // A block may have come between the look and the counts.
                return Ok(self.is_ours());
            }
            ready(&[self.socket.as_fd()], Some(Duration::from_millis(1)))?;
        }
    }

    /// Returns the status of the next block.
    fn status(&self) -> &AtomicU32 {
        // SAFETY: the number is within the mapping and aligned, as blocks are to
        // pages; it lives as long as this value, and the kernel changes it as a
        // whole.
        unsafe {
            let at = self.memory.start.add(self.at * self.block_bytes + block::STATUS);
            AtomicU32::from_ptr(at.as_ptr().cast())
        }
    }

    fn is_ours(&self) -> bool {
        self.status().load(Ordering::Acquire) & libc::TP_STATUS_USER != 0
    }

    /// Returns the next block, which this program owns.
    fn block(&mut self) -> CaptureEvent<'_> {
        // SAFETY: the block is within the mapping. Until its status changes the
        // kernel leaves it alone, and nobody here has another reference to it.
        let (bytes, status) = unsafe {
            let start = self.memory.start.add(self.at * self.block_bytes);
            let bytes = std::slice::from_raw_parts_mut(start.as_ptr(), self.block_bytes);
            (bytes, start.add(block::STATUS).cast())
        };
        let packets = Packets::of(bytes);
        self.given += u64::from(packets.left());
        self.delay.took();
        let block = Block { packets, status, at: &mut self.at, blocks: self.blocks };
        CaptureEvent::Batch(Batch(Packages::Block(block)))
    }
}

/// A block that this program owns until the value is dropped.
#[derive(Debug)]
pub(super) struct Block<'a> {
    packets: Packets<'a>,
    status: NonNull<u32>,
    at: &'a mut usize,
    blocks: usize,
}

impl<'a> Block<'a> {
    pub(super) const fn packets(&mut self) -> &mut Packets<'a> {
        &mut self.packets
    }
}

impl Drop for Block<'_> {
    /// Returns the block to the kernel.
    fn drop(&mut self) {
        self.packets = Packets::of(&mut []);
        // SAFETY: the number is within the mapping, which lives longer than the
        // borrow of the ring, and no reference to the block is left.
        let status = unsafe { AtomicU32::from_ptr(self.status.as_ptr()) };
        status.store(libc::TP_STATUS_KERNEL, Ordering::Release);
        *self.at = (*self.at + 1) % self.blocks;
    }
}
