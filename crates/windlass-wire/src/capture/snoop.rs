//! Reader of Solaris's snoop (RFC 1761): a file header, then records. Each record has two lengths
//! of the packet, its own length, the packets dropped so far, and a time. All numbers are
//! big-endian.

use windlass_base::Timestamp;
use windlass_base::figures::Count;

use super::info::Losses;
use super::records::{NO_RECORD, RecordLoopEnd, StopReason, file_header};
use super::{CaptureFormat, CaptureInfo, MAX_PACKET_BYTES, ReadStep, foreign};
use crate::bytes::u32_at;
use crate::{LinkType, Observer, Packet};

/// First bytes of the file.
pub(super) const MAGIC: [u8; 8] = *b"snoop\0\0\0";

/// Bytes of the file header: the magic number, a version and a datalink type.
pub(super) const FILE_HEADER: usize = 16;

/// Bytes of a record's header.
const RECORD_HEADER: usize = 24;

/// Maximum bytes behind a packet in its record: padding, or data of Shomiti's Surveyor. A record
/// with more is damaged.
const MAX_PADDING: u32 = 4_096;

/// Reads the records of a snoop file.
#[derive(Debug)]
pub(super) struct Reader {
    link: LinkType,
    /// Packets dropped so far, and the time of that statement.
    drops: u64,
    stated: Option<Timestamp>,
}

/// Lengths of a packet and of its record that contradict each other.
struct ConflictingLengths {
    captured: u32,
    record: u32,
}

impl Reader {
    /// Reads the file header at the start of `input`. Returns `Err` if the header is incomplete or
    /// invalid.
    pub(super) fn open(
        input: &[u8],
        at_end: bool,
        info: &mut CaptureInfo,
    ) -> Result<Self, ReadStep> {
        info.format = Some(CaptureFormat::Snoop);
        let header = file_header::<FILE_HEADER>(input, at_end)?;
        match u32_at::<true>(header, 8) {
            2 => {}
            // Versions 3 to 5 are those of Shomiti's Surveyor.
            3..=5 => return Err(info.not_read(0, &foreign::SURVEYOR)),
            version => {
                let what =
                    format!("the file header states snoop version {version}; 2 is the known one");
                return Err(ReadStep::damage(0, what));
            }
        }
        let number = u32_at::<true>(header, 12);
        let Some(link) = link_type(number) else {
            let name = name(number).map(|name| format!(" ({name})")).unwrap_or_default();
            let what = format!(
                "its packets are of snoop datalink type {number}{name}, which windlass does not read"
            );
            return Err(ReadStep::damage(0, what));
        };
        info.saw_link(link);
        Ok(Self { link, drops: 0, stated: None })
    }

    /// Hands on the packet of every whole record of `input`.
    pub(super) fn read<O: Observer>(
        &mut self,
        input: &[u8],
        at_end: bool,
        observer: &mut O,
        info: &mut CaptureInfo,
    ) -> ReadStep {
        let stop = self.records(input, observer, info);
        let header = (RECORD_HEADER, RECORD_HEADER);
        stop.step(input, at_end, info, header, |record, there, short| match short {
            StopReason::Wrong(lengths) => format!(
                "{record} says it has {} bytes and its packet {}, which cannot be. {NO_RECORD}",
                Count(lengths.record.into()),
                Count(lengths.captured.into())
            ),
            StopReason::Of(wanted) => {
                let wanted = Count(*wanted as u64);
                format!(
                    "{record} says it has {wanted} bytes; the capture ends after {there} of them"
                )
            }
        })
    }

    /// Runs the loop over records.
    fn records<O: Observer>(
        &mut self,
        input: &[u8],
        observer: &mut O,
        info: &mut CaptureInfo,
    ) -> RecordLoopEnd<ConflictingLengths> {
        let before = info.packets;
        let (mut number, mut rest) = (before, input);
        let (mut earliest, mut latest) = (i64::MAX, i64::MIN);
        let short = loop {
            let Some(header) = rest.first_chunk::<RECORD_HEADER>() else {
                break StopReason::Of(RECORD_HEADER);
            };
            let captured = u32_at::<true>(header, 4);
            let length = u32_at::<true>(header, 8);
            let least = RECORD_HEADER as u32 + captured.min(MAX_PACKET_BYTES);
            if captured > MAX_PACKET_BYTES || !(least..=least + MAX_PADDING).contains(&length) {
                break StopReason::Wrong(ConflictingLengths { captured, record: length });
            }
            let Some((record, after)) = rest.split_at_checked(length as usize) else {
                break StopReason::Of(length as usize);
            };
            let nanos = i64::from(u32_at::<true>(header, 16)) * 1_000_000_000
                + i64::from(u32_at::<true>(header, 20)) * 1_000;
            earliest = earliest.min(nanos);
            latest = latest.max(nanos);
            number += 1;
            let time = Timestamp::from_nanos(nanos);
            let drops = u32_at::<true>(header, 12);
            if u64::from(drops) > self.drops {
                self.lost(drops.into(), time, info);
            }
            self.stated = Some(time);
            observer.packet(&Packet {
                number,
                time,
                link: self.link,
                big_endian: true,
                original_length: u32_at::<true>(header, 0),
                data: &record[RECORD_HEADER..RECORD_HEADER + captured as usize],
            });
            rest = after;
        };
        if number > before {
            info.packets = number;
            info.saw_times(Timestamp::from_nanos(earliest), Timestamp::from_nanos(latest));
        }
        RecordLoopEnd { consumed: input.len() - rest.len(), short }
    }

    /// Records drops. A file that never states a drop tells nothing: programs that convert to snoop
    /// write 0 if they do not know the count.
    #[cold]
    fn lost(&mut self, drops: u64, time: Timestamp, info: &mut CaptureInfo) {
        let packets = drops - self.drops;
        info.drops = Some(drops);
        info.saw_losses(Losses { after: self.stated, until: Some(time), packets });
        self.drops = drops;
    }
}

/// Returns the link type of a datalink type (RFC 3827 section 3). Types behind 0x80000000 are
/// Solaris's own; the fifth of them is ipnet.
const fn link_type(number: u32) -> Option<LinkType> {
    Some(match number {
        // IEEE 802.3 and Ethernet.
        0 | 4 => LinkType::ETHERNET,
        8 => LinkType::FDDI,
        0x8000_0005 => LinkType::IPNET,
        _ => return None,
    })
}

/// Returns the names of other datalink types (RFC 3827 section 3).
const fn name(number: u32) -> Option<&'static str> {
    Some(match number {
        1 => "Token Bus",
        2 => "Token Ring",
        3 => "Metro Net",
        5 => "HDLC",
        6 => "Character Synchronous",
        7 => "IBM Channel-to-Channel",
        9 => "Other",
        16 => "Fibre Channel",
        17 => "ATM",
        18 => "ATM Classical IP",
        26 => "IP over Infiniband",
        _ => return None,
    })
}

#[cfg(test)]
#[path = "snoop_tests.rs"]
mod tests;
