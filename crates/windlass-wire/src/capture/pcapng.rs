//! Reader of pcapng (draft-ietf-opsawg-pcapng): sections of blocks, each section with its own byte
//! order and interfaces.

use windlass_base::Timestamp;
use windlass_base::figures::Count;

use super::info::Losses;
use super::interface::{Interface, options};
use super::{CaptureInfo, MAX_PACKET_BYTES, ReadStep};
use crate::bytes::{u16_at, u32_at, u64_at};
use crate::{ByteOrder, Observer, Packet};

/// Block types (draft-ietf-opsawg-pcapng, section 11.1).
mod block {
    pub(super) const SECTION: u32 = 0x0a0d_0d0a;
    pub(super) const INTERFACE: u32 = 1;
    /// The obsolete Packet Block.
    pub(super) const PACKET: u32 = 2;
    pub(super) const SIMPLE_PACKET: u32 = 3;
    pub(super) const STATISTICS: u32 = 5;
    pub(super) const ENHANCED_PACKET: u32 = 6;
    /// Records that are no packets but that Wireshark numbers as frames: journal entries, custom
    /// blocks and Sysdig's events.
    pub(super) const OTHER_FRAMES: [u32; 6] = [9, 0xbad, 0x4000_0bad, 0x204, 0x216, 0x221];
}

/// Codes of the options that are read.
mod option {
    pub(super) const PACKET_DROP_COUNT: u16 = 4;
    pub(super) const STATISTICS_RECEIVED: u16 = 4;
    pub(super) const STATISTICS_INTERFACE_DROPS: u16 = 5;
    pub(super) const STATISTICS_SYSTEM_DROPS: u16 = 7;
}

/// Largest block whose content is read, in bytes: Wireshark's own limit. Other blocks are skipped,
/// so their size does not matter.
const MAX_BLOCK_BYTES: u32 = 16 << 20;

/// Maximum interfaces of a section. A file with more is damaged or hostile.
const MAX_INTERFACES: usize = 65_536;

/// Bytes of a block besides its body: type and length before it, and the length again behind it.
const BLOCK_OVERHEAD: u32 = 12;

/// Reads the blocks of a pcapng file.
#[derive(Debug, Default)]
pub(super) struct Reader {
    order: ByteOrder,
    in_section: bool,
    interfaces: Vec<Interface>,
    /// The block that is being skipped.
    skip: Option<SkippedBlock>,
    /// Time of the last packet with a timestamp.
    last_time: Timestamp,
    /// Drops by interface statistics, which count from the start of the capture.
    counted_drops: Option<u64>,
    /// Drops stated packet by packet, used if there are no statistics.
    noted_drops: Option<u64>,
}

/// A block whose content is skipped.
#[derive(Debug)]
struct SkippedBlock {
    /// Bytes left before its closing length.
    left: u64,
    /// Length that the block stated.
    total: u32,
    /// True if Wireshark gives the block a frame number.
    frame: bool,
}

/// Reason for which the loop over blocks stopped.
enum BlockLoopEnd {
    /// Fewer than this many bytes were left.
    Short(usize),
    /// A section begins, perhaps in the other byte order.
    Section,
    Damage(String),
}

/// Description of an unusable block.
type BlockError = String;

/// Counts that the loop keeps in registers and stores when it stops.
struct Tally {
    number: u64,
    earliest: i64,
    latest: i64,
}

impl Tally {
    fn note(&self, info: &mut CaptureInfo) {
        info.packets = self.number;
        if self.earliest <= self.latest {
            let (earliest, latest) =
                (Timestamp::from_nanos(self.earliest), Timestamp::from_nanos(self.latest));
            info.saw_times(earliest, latest);
        }
    }
}

impl Reader {
    /// Hands on every whole packet of `input`.
    pub(super) fn read<O: Observer>(
        &mut self,
        input: &[u8],
        at_end: bool,
        observer: &mut O,
        info: &mut CaptureInfo,
    ) -> ReadStep {
        let mut rest = input;
        loop {
            let stop = if !self.in_section {
                self.section(&mut rest)
            } else if self.order == ByteOrder::Big {
                self.blocks::<O, true>(&mut rest, observer, info)
            } else {
                self.blocks::<O, false>(&mut rest, observer, info)
            };
            let consumed = input.len() - rest.len();
            match stop {
                BlockLoopEnd::Section => {}
                BlockLoopEnd::Damage(what) => return ReadStep::damage(consumed, what),
                BlockLoopEnd::Short(wanted) if !at_end => return ReadStep::more(consumed, wanted),
                BlockLoopEnd::Short(_)
                    if rest.is_empty() && self.skip.is_none() && self.in_section =>
                {
                    return ReadStep::end(consumed);
                }
                BlockLoopEnd::Short(_) => return ReadStep::damage(consumed, self.cut(rest)),
            }
        }
    }

    /// Describes the part that the end of the input cut.
    fn cut(&self, rest: &[u8]) -> String {
        if self.skip.is_some() {
            return "the capture ends within a block".to_owned();
        }
        let there = rest.len();
        if there < 8 {
            return format!("the capture ends within the header of a block, {there} bytes into it");
        }
        let (kind, total) = (self.order.u32_at(rest, 0), self.order.u32_at(rest, 4));
        let name = name(kind);
        if self.in_section && kind != block::SECTION {
            let total = Count(total.into());
            format!("{name} says it has {total} bytes; the capture ends after {there} of them")
        } else {
            format!("the capture ends within {name}, {there} bytes into it")
        }
    }

    /// Reads a Section Header Block, which states the byte order of the section.
    fn section(&mut self, rest: &mut &[u8]) -> BlockLoopEnd {
        let Some(start) = rest.first_chunk::<12>() else {
            return BlockLoopEnd::Short(12);
        };
        self.order = match start[8..] {
            [0x1a, 0x2b, 0x3c, 0x4d] => ByteOrder::Big,
            [0x4d, 0x3c, 0x2b, 0x1a] => ByteOrder::Little,
            _ => {
                return BlockLoopEnd::Damage(
                    "a Section Header Block states neither byte order of pcapng".to_owned(),
                );
            }
        };
        let block = match self.order {
            ByteOrder::Big => whole_block::<true>(rest, 28),
            ByteOrder::Little => whole_block::<false>(rest, 28),
        };
        let (block, after) = match block {
            Ok(found) => found,
            Err(stop) => return stop,
        };
        let (major, minor) = (self.order.u16_at(block, 12), self.order.u16_at(block, 14));
        if major != 1 {
            return BlockLoopEnd::Damage(format!(
                "a section states pcapng version {major}.{minor}; 1.0 is the known one"
            ));
        }
        self.in_section = true;
        self.interfaces.clear();
        *rest = after;
        BlockLoopEnd::Section
    }

    /// Runs the loop over the blocks of a section.
    fn blocks<O: Observer, const BIG: bool>(
        &mut self,
        rest: &mut &[u8],
        observer: &mut O,
        info: &mut CaptureInfo,
    ) -> BlockLoopEnd {
        let mut tally = Tally { number: info.packets, earliest: i64::MAX, latest: i64::MIN };
        let stop = loop {
            if self.skip.is_some()
                && let Err(stop) = self.skip_on::<BIG>(rest, &mut tally)
            {
                break stop;
            }
            let Some(head) = rest.first_chunk::<8>() else {
                break BlockLoopEnd::Short(8);
            };
            let kind = u32_at::<BIG>(head, 0);
            let least = match kind {
                block::ENHANCED_PACKET | block::PACKET => 32,
                block::SIMPLE_PACKET => 16,
                block::INTERFACE => 20,
                block::STATISTICS => 24,
                block::SECTION => {
                    self.in_section = false;
                    break BlockLoopEnd::Section;
                }
                _ => {
                    let total = u32_at::<BIG>(head, 4);
                    if total < BLOCK_OVERHEAD {
                        break BlockLoopEnd::Damage(too_short(kind, total));
                    }
                    // Some writers do not count the padding in the length.
                    let left = u64::from(total).next_multiple_of(4) - u64::from(BLOCK_OVERHEAD);
                    let frame = block::OTHER_FRAMES.contains(&kind);
                    self.skip = Some(SkippedBlock { left, total, frame });
                    *rest = &rest[8..];
                    continue;
                }
            };
            let (block, after) = match whole_block::<BIG>(rest, least) {
                Ok(found) => found,
                Err(stop) => break stop,
            };
            let done = match kind {
                block::ENHANCED_PACKET => {
                    self.enhanced_packet::<O, BIG>(block, &mut tally, observer, info)
                }
                block::PACKET => self.old_packet::<O, BIG>(block, &mut tally, observer, info),
                block::SIMPLE_PACKET => {
                    self.simple_packet::<O, BIG>(block, &mut tally, observer, info)
                }
                block::INTERFACE => self.interface::<BIG>(block, info),
                _ => {
                    self.statistics::<BIG>(block, info);
                    Ok(())
                }
            };
            if let Err(what) = done {
                break BlockLoopEnd::Damage(what);
            }
            *rest = after;
        };
        tally.note(info);
        stop
    }

    /// Continues to skip a block.
    fn skip_on<const BIG: bool>(
        &mut self,
        rest: &mut &[u8],
        tally: &mut Tally,
    ) -> Result<(), BlockLoopEnd> {
        let Some(skip) = &mut self.skip else {
            return Ok(());
        };
        let step = usize::try_from(skip.left).map_or(rest.len(), |left| left.min(rest.len()));
        *rest = &rest[step..];
        skip.left -= step as u64;
        if skip.left > 0 {
            return Err(BlockLoopEnd::Short(1));
        }
        let Some((closing, after)) = rest.split_first_chunk::<4>() else {
            return Err(BlockLoopEnd::Short(4));
        };
        let closing = u32_at::<BIG>(closing, 0);
        if closing != skip.total {
            return Err(BlockLoopEnd::Damage(lengths_differ(skip.total, closing)));
        }
        tally.number += u64::from(skip.frame);
        *rest = after;
        self.skip = None;
        Ok(())
    }

    /// Reads an Enhanced Packet Block (section 4.3 of the draft).
    #[inline(always)]
    fn enhanced_packet<O: Observer, const BIG: bool>(
        &mut self,
        block: &[u8],
        tally: &mut Tally,
        observer: &mut O,
        info: &mut CaptureInfo,
    ) -> Result<(), BlockError> {
        let end = self.packet::<O, BIG>(block, u32_at::<BIG>(block, 8), tally, observer)?;
        let body_end = block.len() - 4;
        let padded = end.next_multiple_of(4);
        if padded < body_end {
            self.packet_options::<BIG>(&block[padded..body_end], info);
        }
        Ok(())
    }

    /// Reads the obsolete Packet Block (appendix A of the draft).
    fn old_packet<O: Observer, const BIG: bool>(
        &mut self,
        block: &[u8],
        tally: &mut Tally,
        observer: &mut O,
        info: &mut CaptureInfo,
    ) -> Result<(), BlockError> {
        let drops = u16_at::<BIG>(block, 10);
        self.packet::<O, BIG>(block, u16_at::<BIG>(block, 8).into(), tally, observer)?;
        // All ones mean that the count is unknown.
        if drops != u16::MAX {
            self.note_drops(drops.into(), info);
        }
        Ok(())
    }

    /// Reads the part that both packet blocks share. Returns the offset of the end of the data.
    #[inline(always)]
    fn packet<O: Observer, const BIG: bool>(
        &mut self,
        block: &[u8],
        interface: u32,
        tally: &mut Tally,
        observer: &mut O,
    ) -> Result<usize, BlockError> {
        const DATA: usize = 28;
        let captured = u32_at::<BIG>(block, 20);
        let body = &block[..block.len() - 4];
        let end = DATA + captured as usize;
        let Some(interface) = self.interfaces.get(interface as usize) else {
            return Err(self.no_interface(interface, tally.number));
        };
        let Some(data) = body.get(DATA..end).filter(|_| captured <= MAX_PACKET_BYTES) else {
            return Err(too_long(captured, body.len() - DATA, tally.number));
        };
        let units = u64::from(u32_at::<BIG>(block, 12)) << 32 | u64::from(u32_at::<BIG>(block, 16));
        let time = interface.clock.time(units);
        self.last_time = time;
        tally.earliest = tally.earliest.min(time.as_nanos());
        tally.latest = tally.latest.max(time.as_nanos());
        tally.number += 1;
        observer.packet(&Packet {
            number: tally.number,
            time,
            link: interface.link,
            big_endian: BIG,
            original_length: u32_at::<BIG>(block, 24),
            data,
        });
        Ok(end)
    }

    /// Reads a Simple Packet Block (section 4.4 of the draft), which has no time and belongs to the
    /// first interface.
    fn simple_packet<O: Observer, const BIG: bool>(
        &mut self,
        block: &[u8],
        tally: &mut Tally,
        observer: &mut O,
        info: &mut CaptureInfo,
    ) -> Result<(), BlockError> {
        let Some(interface) = self.interfaces.first() else {
            return Err(self.no_interface(0, tally.number));
        };
        let original = u32_at::<BIG>(block, 8);
        let kept = if interface.snap_length == 0 { u32::MAX } else { interface.snap_length };
        let body = &block[12..block.len() - 4];
        let captured = original.min(kept);
        if captured > MAX_PACKET_BYTES {
            return Err(too_long(captured, body.len(), tally.number));
        }
        tally.number += 1;
        info.untimed += 1;
        observer.packet(&Packet {
            number: tally.number,
            time: self.last_time,
            link: interface.link,
            big_endian: BIG,
            original_length: original,
            data: &body[..body.len().min(captured as usize)],
        });
        Ok(())
    }

    /// Reads an Interface Description Block (section 4.2 of the draft).
    fn interface<const BIG: bool>(
        &mut self,
        block: &[u8],
        info: &mut CaptureInfo,
    ) -> Result<(), BlockError> {
        if self.interfaces.len() == MAX_INTERFACES {
            let most = Count(MAX_INTERFACES as u64);
            return Err(format!("a section has more than {most} interfaces"));
        }
        let interface = Interface::read::<BIG>(&block[8..block.len() - 4]);
        info.saw_link(interface.link);
        info.saw_snap_length(interface.snap_length);
        self.interfaces.push(interface);
        Ok(())
    }

    /// Reads an Interface Statistics Block (section 4.6 of the draft). Its counts run from the
    /// start of the capture, so the last block of an interface holds.
    fn statistics<const BIG: bool>(&mut self, block: &[u8], info: &mut CaptureInfo) {
        let index = u32_at::<BIG>(block, 8) as usize;
        let Some(interface) = self.interfaces.get_mut(index) else {
            return;
        };
        let (mut received, mut drops) = (None, [None; 2]);
        for (code, value) in options::<BIG>(&block[20..block.len() - 4]) {
            if value.len() != 8 {
                continue;
            }
            let count = u64_at::<BIG>(value, 0);
            match code {
                option::STATISTICS_RECEIVED => received = Some(count),
                option::STATISTICS_INTERFACE_DROPS => drops[0] = Some(count),
                option::STATISTICS_SYSTEM_DROPS => drops[1] = Some(count),
                _ => {}
            }
        }
        if let Some(count) = received {
            let before = info.received.unwrap_or(0).saturating_sub(interface.received);
            info.received = Some(before.saturating_add(count));
            interface.received = count;
        }
        if drops != [None; 2] {
            // A block that states only one count leaves the other unchanged.
            let [before, now] = [
                interface.drops,
                [0, 1].map(|kind: usize| drops[kind].unwrap_or(interface.drops[kind])),
            ]
            .map(|[interface, system]| interface.saturating_add(system));
            let others = self.counted_drops.unwrap_or(0).saturating_sub(before);
            self.counted_drops = Some(others.saturating_add(now));
            info.drops = self.counted_drops;
            let units =
                u64::from(u32_at::<BIG>(block, 12)) << 32 | u64::from(u32_at::<BIG>(block, 16));
            // Some writers omit the time.
            let until = (units > 0).then(|| interface.clock.time(units));
            if now > before {
                let after = interface.stated;
                info.saw_losses(Losses { after, until, packets: now - before });
            }
            for (kind, count) in drops.into_iter().enumerate() {
                interface.drops[kind] = count.unwrap_or(interface.drops[kind]);
            }
            interface.stated = until.or(interface.stated);
        }
    }

    /// Reads the options of an Enhanced Packet Block, which few blocks have.
    #[cold]
    fn packet_options<const BIG: bool>(&mut self, bytes: &[u8], info: &mut CaptureInfo) {
        for (code, value) in options::<BIG>(bytes) {
            if code == option::PACKET_DROP_COUNT && value.len() == 8 {
                self.note_drops(u64_at::<BIG>(value, 0), info);
            }
        }
    }

    /// Adds the drops that a packet's block states.
    fn note_drops(&mut self, drops: u64, info: &mut CaptureInfo) {
        self.noted_drops = Some(self.noted_drops.unwrap_or(0).saturating_add(drops));
        info.drops = self.counted_drops.or(self.noted_drops);
    }

    #[cold]
    fn no_interface(&self, index: u32, before: u64) -> BlockError {
        format!(
            "packet {} is of interface {index}, but its section describes {}",
            Count(before + 1),
            self.interfaces.len()
        )
    }
}

/// Splits a block of at least `least` bytes off the front of `rest`. Returns the block with its
/// head and tail, and the bytes behind it.
#[inline(always)]
fn whole_block<const BIG: bool>(rest: &[u8], least: u32) -> Result<(&[u8], &[u8]), BlockLoopEnd> {
    let Some(head) = rest.first_chunk::<8>() else {
        return Err(BlockLoopEnd::Short(8));
    };
    let total = u32_at::<BIG>(head, 4);
    if total < least || total > MAX_BLOCK_BYTES {
        return Err(BlockLoopEnd::Damage(wrong_size(u32_at::<BIG>(head, 0), total)));
    }
    // Some writers do not count the padding in the length.
    let padded = (total as usize).next_multiple_of(4);
    let Some((block, after)) = rest.split_at_checked(padded) else {
        return Err(BlockLoopEnd::Short(padded));
    };
    let closing = u32_at::<BIG>(block, padded - 4);
    if closing != total {
        return Err(BlockLoopEnd::Damage(lengths_differ(total, closing)));
    }
    Ok((block, after))
}

#[cold]
fn wrong_size(kind: u32, total: u32) -> String {
    if total > MAX_BLOCK_BYTES {
        let (total, most) = (Count(total.into()), Count(MAX_BLOCK_BYTES.into()));
        format!("{} says it has {total} bytes; the most it can have is {most}", name(kind))
    } else {
        too_short(kind, total)
    }
}

#[cold]
fn too_short(kind: u32, total: u32) -> String {
    format!("{} says it has {total} bytes, fewer than it needs", name(kind))
}

#[cold]
fn lengths_differ(total: u32, closing: u32) -> String {
    format!(
        "a block says it has {} bytes at its start and {} at its end",
        Count(total.into()),
        Count(closing.into())
    )
}

#[cold]
fn too_long(captured: u32, room: usize, before: u64) -> BlockError {
    let (number, captured_text) = (Count(before + 1), Count(captured.into()));
    if captured > MAX_PACKET_BYTES {
        let most = Count(MAX_PACKET_BYTES.into());
        format!(
            "packet {number} says it holds {captured_text} bytes; the most a packet can have is {most}"
        )
    } else {
        format!(
            "packet {number} says it holds {captured_text} bytes; its block has room for {room}"
        )
    }
}

/// Returns a block's name, for people.
fn name(kind: u32) -> String {
    match kind {
        block::SECTION => "a Section Header Block".to_owned(),
        block::INTERFACE => "an Interface Description Block".to_owned(),
        block::PACKET => "a Packet Block".to_owned(),
        block::SIMPLE_PACKET => "a Simple Packet Block".to_owned(),
        block::STATISTICS => "an Interface Statistics Block".to_owned(),
        block::ENHANCED_PACKET => "an Enhanced Packet Block".to_owned(),
        _ => format!("a block of type {kind:#x}"),
    }
}
