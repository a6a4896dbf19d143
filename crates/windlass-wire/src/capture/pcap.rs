//! Reader of pcap (draft-ietf-opsawg-pcap, and libpcap's `sf-pcap.c`).
//!
//! The loop over records is the hottest of the whole program. It has no allocation, no branch on
//! the byte order and one bounds check per record.

use windlass_base::Timestamp;
use windlass_base::figures::Count;

use super::records::{NO_RECORD, RecordLoopEnd, StopReason, file_header};
use super::{CaptureFormat, CaptureInfo, ForeignFormat, MAX_PACKET_BYTES, ReadStep, foreign};
use crate::bytes::{u16_at, u32_at};
use crate::{ByteOrder, LinkType, Observer, Packet};

/// Bytes of the file header.
pub(super) const FILE_HEADER: usize = 24;

/// Bytes of a record's header.
const RECORD_HEADER: usize = 16;

/// Bytes of a record's header in the modified format: interface, protocol
/// and packet type follow the usual fields.
const MODIFIED_RECORD_HEADER: usize = 24;

/// Maximum bytes by which the record headers of a variant are longer.
const MAX_VARIANT: usize = 8;

/// Layout of the file as its magic number announces it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    order: ByteOrder,
    nanoseconds: bool,
    modified: bool,
}

impl Layout {
    /// Returns the layout that these first four bytes announce.
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

/// Order of a record's two lengths. Versions before 2.3 put the original length first, and writers
/// of 2.3 disagreed (libpcap, `sf-pcap.c`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LengthOrder {
    CapturedFirst,
    OriginalFirst,
    /// Unknown order: the smaller number is the captured length.
    Unsure,
}

/// Reads the records of a pcap file.
#[derive(Debug)]
pub(super) struct Reader {
    layout: Layout,
    lengths: LengthOrder,
    link: LinkType,
    record_header: usize,
    /// Time of the first packet in seconds, until the second packet was checked.
    first: Option<u32>,
}

impl Reader {
    /// Reads the file header at the start of `input`. Returns `Err` if the header is incomplete or
    /// invalid.
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
        info.format = Some(CaptureFormat::Pcap { order, nanoseconds, modified });
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
            (2, ..3) | (543, _) => LengthOrder::OriginalFirst,
            (2, 3) => LengthOrder::Unsure,
            (2, _) => LengthOrder::CapturedFirst,
            (major, minor) => {
                let what = format!(
                    "the file header states pcap version {major}.{minor}; 2.4 is the known one"
                );
                return Err(ReadStep::damage(0, what));
            }
        };
        // The upper half holds the length of the frame check sequence; in old NetBSD files, a
        // class.
        let link = LinkType((u32_at::<BIG>(header, 20) & 0xffff) as u16);
        info.saw_snap_length(u32_at::<BIG>(header, 16));
        info.saw_link(link);
        let record_header = if layout.modified { MODIFIED_RECORD_HEADER } else { RECORD_HEADER };
        Ok(Self { layout, lengths, link, record_header, first: None })
    }

    /// Hands on the packet of every whole record of `input`.
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

    /// Returns the length of the first record of `input`, if the record is whole.
    fn first_record(&self, input: &[u8]) -> Option<usize> {
        input.get(..self.record_header)?;
        let (one, other) = (self.number(input, 8), self.number(input, 12));
        let captured = match self.lengths {
            LengthOrder::CapturedFirst => one,
            LengthOrder::OriginalFirst => other,
            LengthOrder::Unsure => one.min(other),
        };
        let end = self.record_header + captured as usize;
        (captured <= MAX_PACKET_BYTES && end <= input.len()).then_some(end)
    }

    /// Reads the number of a record header at `at`, which must be inside `bytes`.
    fn number(&self, bytes: &[u8], at: usize) -> u32 {
        self.layout.order.u32_at(bytes, at)
    }

    /// Recognises the files of patched libpcaps, which have longer record headers under the same
    /// magic number. The second record shows it: its header is invalid at the expected place and
    /// valid a few bytes later. `rest` begins behind the first record, whose time is `first`.
    fn variant(&self, rest: &[u8], first: u32) -> Option<ForeignFormat> {
        /// Maximum time between the two packets, in seconds.
        const DAY: u32 = 86_400;
        /// The year 1990, in seconds. Earlier times mean that the clock was not set.
        const SET: u32 = 631_152_000;
        let record = |skip: usize| {
            let header = rest.get(skip..skip + RECORD_HEADER)?;
            let lengths = (self.number(header, 8), self.number(header, 12));
            let in_time = self.number(header, 0).abs_diff(first) <= DAY;
            (in_time && lengths.0 <= MAX_PACKET_BYTES).then_some(lengths)
        };
        // Some writers state more captured bytes than the packet had, so this proves nothing about
        // a record in its place.
        if first < SET || rest.len() < RECORD_HEADER || record(0).is_some() {
            return None;
        }
        let variants: &[(usize, ForeignFormat)] = if self.layout.modified {
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

    /// Hands on the records behind the first.
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

    /// Selects the loop, so that the loop has no branch on properties that all records share.
    fn in_order<O: Observer, const BIG: bool>(
        &self,
        input: &[u8],
        observer: &mut O,
        info: &mut CaptureInfo,
    ) -> RecordLoopEnd<u32> {
        match (self.layout.nanoseconds, self.lengths) {
            (false, LengthOrder::CapturedFirst) => {
                self.records::<O, BIG, 1_000, false>(input, observer, info)
            }
            (true, LengthOrder::CapturedFirst) => {
                self.records::<O, BIG, 1, false>(input, observer, info)
            }
            (false, _) => self.records::<O, BIG, 1_000, true>(input, observer, info),
            (true, _) => self.records::<O, BIG, 1, true>(input, observer, info),
        }
    }

    /// Runs the loop over records. `UNIT` is the unit of a timestamp's fraction in nanoseconds.
    /// `OLD` says that the lengths may come in another order.
    fn records<O: Observer, const BIG: bool, const UNIT: i64, const OLD: bool>(
        &self,
        input: &[u8],
        observer: &mut O,
        info: &mut CaptureInfo,
    ) -> RecordLoopEnd<u32> {
        let before = info.packets;
        let (mut number, mut rest) = (before, input);
        let (mut earliest, mut latest) = (i64::MAX, i64::MIN);
        let short = loop {
            let Some(header) = rest.first_chunk::<RECORD_HEADER>() else {
                break StopReason::Of(self.record_header);
            };
            let mut captured = u32_at::<BIG>(header, 8);
            let mut original = u32_at::<BIG>(header, 12);
            if OLD && (self.lengths == LengthOrder::OriginalFirst || captured > original) {
                (captured, original) = (original, captured);
            }
            if captured > MAX_PACKET_BYTES {
                break StopReason::Wrong(captured);
            }
            let end = self.record_header + captured as usize;
            let Some((record, after)) = rest.split_at_checked(end) else {
                break StopReason::Of(end);
            };
            // Seconds and fractions of 32 bits cannot exceed the range of i64.
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
        RecordLoopEnd { consumed: input.len() - rest.len(), short }
    }

    /// Interprets the end of the loop.
    fn step(
        &self,
        input: &[u8],
        at_end: bool,
        stop: &RecordLoopEnd<u32>,
        info: &CaptureInfo,
    ) -> ReadStep {
        let header = self.record_header;
        stop.step(input, at_end, info, (RECORD_HEADER, header), |record, there, short| match short {
            StopReason::Wrong(captured) => format!(
                "{record} says it holds {} bytes; the most a packet can have is {}. {NO_RECORD}",
                Count((*captured).into()),
                Count(MAX_PACKET_BYTES.into())
            ),
            StopReason::Of(wanted) => format!(
                "{record} says it holds {} bytes; the capture ends after {} of them",
                Count((wanted - header) as u64),
                Count(there.saturating_sub(header) as u64)
            ),
        })
    }
}
