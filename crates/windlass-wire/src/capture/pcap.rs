//! pcap, as draft-ietf-opsawg-pcap and libpcap's `sf-pcap.c` have it.
//!
//! The loop over records is the hottest of the whole program: it holds no
//! allocation, no branch on the byte order and one bounds check per record.

use windlass_base::Timestamp;
use windlass_base::figures::Count;

use super::records::{NO_RECORD, Short, Stop, file_header};
use super::{CaptureInfo, Foreign, Format, MAX_PACKET_BYTES, ReadStep, foreign};
use crate::bytes::{u16_at, u32_at};
use crate::{ByteOrder, LinkType, Observer, Packet};

/// Bytes of the file header.
pub(super) const FILE_HEADER: usize = 24;

/// Bytes of a record's header.
const RECORD_HEADER: usize = 16;

/// Bytes of a record's header in the modified format: interface, protocol
/// and packet type follow the usual fields.
const MODIFIED_RECORD_HEADER: usize = 24;

/// The most bytes by which a variant's record headers are longer.
const MAX_VARIANT: usize = 8;

/// What the magic number says of the rest.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    order: ByteOrder,
    nanoseconds: bool,
    modified: bool,
}

impl Layout {
    /// The layout that these first four bytes announce.
    pub(super) const fn by_magic(magic: [u8; 4]) -> Option<Self> {
        let (order, nanoseconds, modified) = match magic {
            [0xa1, 0xb2, 0xc3, 0xd4] => (ByteOrder::Big, false, false),
            [0xd4, 0xc3, 0xb2, 0xa1] => (ByteOrder::Little, false, false),
            [0xa1, 0xb2, 0x3c, 0x4d] => (ByteOrder::Big, true, false),
            [0x4d, 0x3c, 0xb2, 0xa1] => (ByteOrder::Little, true, false),
            [0xa1, 0xb2, 0xcd, 0x34] => (ByteOrder::Big, false, true),
            [0x34, 0xcd, 0xb2, 0xa1] => (ByteOrder::Little, false, true),
            _ => return None,
        };
        Some(Self { order, nanoseconds, modified })
    }
}

/// Which of a record's two lengths comes first. Versions before 2.3 put the
/// original length first, and writers of 2.3 disagreed (libpcap,
/// `sf-pcap.c`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lengths {
    CapturedFirst,
    OriginalFirst,
    /// The smaller is the captured length.
    Unsure,
}

/// Reads the records of a pcap file.
#[derive(Debug)]
pub(super) struct Reader {
    layout: Layout,
    lengths: Lengths,
    link: LinkType,
    record_header: usize,
    /// When the first packet was captured, in seconds, until the second was looked
    /// at.
    first: Option<u32>,
}

impl Reader {
    /// Reads the file header at the start of `input`; `Err` where it is not
    /// whole yet or not sound.
    pub(super) fn open(
        input: &[u8],
        at_end: bool,
        info: &mut CaptureInfo,
    ) -> Result<Self, ReadStep> {
        let layout = input.first_chunk::<4>().and_then(|magic| Layout::by_magic(*magic));
        let Some(layout) = layout else {
            return Err(ReadStep::more(0, FILE_HEADER));
        };
        let Layout { order, nanoseconds, modified } = layout;
        info.format = Some(Format::Pcap { order, nanoseconds, modified });
        let header = file_header::<FILE_HEADER>(input, at_end)?;
        match order {
            ByteOrder::Little => Self::with_header::<false>(layout, header, info),
            ByteOrder::Big => Self::with_header::<true>(layout, header, info),
        }
    }

    fn with_header<const BIG: bool>(
        layout: Layout,
        header: &[u8; FILE_HEADER],
        info: &mut CaptureInfo,
    ) -> Result<Self, ReadStep> {
        let lengths = match (u16_at::<BIG>(header, 4), u16_at::<BIG>(header, 6)) {
            (2, ..3) | (543, _) => Lengths::OriginalFirst,
            (2, 3) => Lengths::Unsure,
            (2, _) => Lengths::CapturedFirst,
            (major, minor) => {
                let what = format!(
                    "the file header states pcap version {major}.{minor}; 2.4 is the known one"
                );
                return Err(ReadStep::damage(0, what));
            }
        };
        // The upper half holds the length of the frame check sequence, and in
        // old files of NetBSD a class.
        let link = LinkType((u32_at::<BIG>(header, 20) & 0xffff) as u16);
        info.saw_snap_length(u32_at::<BIG>(header, 16));
        info.saw_link(link);
        let record_header = if layout.modified { MODIFIED_RECORD_HEADER } else { RECORD_HEADER };
        Ok(Self { layout, lengths, link, record_header, first: None })
    }

    /// Hands on every whole record of `input`.
    pub(super) fn read<O: Observer>(
        &mut self,
        input: &[u8],
        at_end: bool,
        observer: &mut O,
        info: &mut CaptureInfo,
    ) -> ReadStep {
        let mut rest = input;
        if info.packets == 0
            && let Some(first) = self.first_record(input)
        {
            self.first = Some(self.number(input, 0));
            self.rest(&input[..first], at_end, observer, info);
            rest = &input[first..];
        }
        if let Some(seconds) = self.first.filter(|_| info.packets == 1) {
            if rest.len() < RECORD_HEADER + MAX_VARIANT && !at_end {
                return ReadStep::more(input.len() - rest.len(), RECORD_HEADER + MAX_VARIANT);
            }
            self.first = None;
            if let Some(foreign) = self.variant(rest, seconds) {
                return info.not_read(input.len() - rest.len(), &foreign);
            }
        }
        let mut step = self.rest(rest, at_end, observer, info);
        step.progress.consumed += input.len() - rest.len();
        step
    }

    /// The length of the first record of `input`, where it is whole.
    fn first_record(&self, input: &[u8]) -> Option<usize> {
        input.get(..self.record_header)?;
        let (one, other) = (self.number(input, 8), self.number(input, 12));
        let captured = match self.lengths {
            Lengths::CapturedFirst => one,
            Lengths::OriginalFirst => other,
            Lengths::Unsure => one.min(other),
        };
        let end = self.record_header + captured as usize;
        (captured <= MAX_PACKET_BYTES && end <= input.len()).then_some(end)
    }

    /// The number of a record's header at `at`, which must be inside `bytes`.
    fn number(&self, bytes: &[u8], at: usize) -> u32 {
        self.layout.order.u32_at(bytes, at)
    }

    /// Patched libpcaps wrote longer record headers under the same magic number. It
    /// shows in the second record: it makes no sense where it should begin, and does
    /// so a few bytes later. `rest` begins behind the first, of this time.
    fn variant(&self, rest: &[u8], first: u32) -> Option<Foreign> {
        /// How far apart the two packets may be.
        const DAY: u32 = 86_400;
        /// 1990: a capture whose clock was not set tells nothing by its times.
        const SET: u32 = 631_152_000;
        let record = |skip: usize| {
            let header = rest.get(skip..skip + RECORD_HEADER)?;
            let lengths = (self.number(header, 8), self.number(header, 12));
            let in_time = self.number(header, 0).abs_diff(first) <= DAY;
            (in_time && lengths.0 <= MAX_PACKET_BYTES).then_some(lengths)
        };
        // Some writers state more bytes captured than there were, so of a record in
        // its place that is no proof.
        if first < SET || rest.len() < RECORD_HEADER || record(0).is_some() {
            return None;
        }
        let variants: &[(usize, Foreign)] = if self.layout.modified {
            &[(4, foreign::SUSE)]
        } else {
            &[(4, foreign::NOKIA), (MAX_VARIANT, foreign::RED_HAT)]
        };
        let found = variants.iter().find(|(more, _)| {
            let lengths = record(*more);
            lengths.is_some_and(|(captured, original)| {
                captured > 0 && captured <= original && original <= MAX_PACKET_BYTES
            })
        });
        found.map(|(_, foreign)| *foreign)
    }

    /// Hands on what follows the first record.
    fn rest<O: Observer>(
        &self,
        input: &[u8],
        at_end: bool,
        observer: &mut O,
        info: &mut CaptureInfo,
    ) -> ReadStep {
        let stop = match self.layout.order {
            ByteOrder::Little => self.in_order::<O, false>(input, observer, info),
            ByteOrder::Big => self.in_order::<O, true>(input, observer, info),
        };
        self.step(input, at_end, &stop, info)
    }

    /// Chooses the loop, so that it has no branch on what is the same for all records.
    fn in_order<O: Observer, const BIG: bool>(
        &self,
        input: &[u8],
        observer: &mut O,
        info: &mut CaptureInfo,
    ) -> Stop<u32> {
        match (self.layout.nanoseconds, self.lengths) {
            (false, Lengths::CapturedFirst) => {
                self.records::<O, BIG, 1_000, false>(input, observer, info)
            }
            (true, Lengths::CapturedFirst) => {
                self.records::<O, BIG, 1, false>(input, observer, info)
            }
            (false, _) => self.records::<O, BIG, 1_000, true>(input, observer, info),
            (true, _) => self.records::<O, BIG, 1, true>(input, observer, info),
        }
    }

    /// The loop. `UNIT` is the length of the fraction's unit in nanoseconds;
    /// `OLD` says that the lengths may come in another order.
    fn records<O: Observer, const BIG: bool, const UNIT: i64, const OLD: bool>(
        &self,
        input: &[u8],
        observer: &mut O,
        info: &mut CaptureInfo,
    ) -> Stop<u32> {
        let before = info.packets;
        let (mut number, mut rest) = (before, input);
        let (mut earliest, mut latest) = (i64::MAX, i64::MIN);
        let short = loop {
            let Some(header) = rest.first_chunk::<RECORD_HEADER>() else {
                break Short::Of(self.record_header);
            };
            let mut captured = u32_at::<BIG>(header, 8);
            let mut original = u32_at::<BIG>(header, 12);
            if OLD && (self.lengths == Lengths::OriginalFirst || captured > original) {
                (captured, original) = (original, captured);
            }
            if captured > MAX_PACKET_BYTES {
                break Short::Wrong(captured);
            }
            let end = self.record_header + captured as usize;
            let Some((record, after)) = rest.split_at_checked(end) else {
                break Short::Of(end);
            };
            // 32-bit seconds and fractions cannot leave the range of i64.
            let nanos = i64::from(u32_at::<BIG>(header, 0)) * 1_000_000_000
                + i64::from(u32_at::<BIG>(header, 4)) * UNIT;
            earliest = earliest.min(nanos);
            latest = latest.max(nanos);
            number += 1;
            observer.packet(&Packet {
                number,
                time: Timestamp::from_nanos(nanos),
                link: self.link,
                big_endian: BIG,
                original_length: original,
                data: &record[self.record_header..],
            });
            rest = after;
        };
        if number > before {
            info.packets = number;
            info.saw_times(Timestamp::from_nanos(earliest), Timestamp::from_nanos(latest));
        }
        Stop { consumed: input.len() - rest.len(), short }
    }

    /// What the end of the loop means.
    fn step(&self, input: &[u8], at_end: bool, stop: &Stop<u32>, info: &CaptureInfo) -> ReadStep {
        let header = self.record_header;
        stop.step(input, at_end, info, (RECORD_HEADER, header), |record, there, short| match short {
            Short::Wrong(captured) => format!(
                "{record} says it holds {} bytes; the most a packet can have is {}. {NO_RECORD}",
                Count((*captured).into()),
                Count(MAX_PACKET_BYTES.into())
            ),
            Short::Of(wanted) => format!(
                "{record} says it holds {} bytes; the capture ends after {} of them",
                Count((wanted - header) as u64),
                Count(there.saturating_sub(header) as u64)
            ),
        })
    }
}
