//! Encoding of packets as the bytes of a capture file.

use windlass_base::Timestamp;
use windlass_wire::write::{Counts, Interface, PcapWriter, PcapngWriter, Section};
use windlass_wire::{ByteOrder, LinkType};

/// Format of a capture file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FileFormat {
    /// pcapng, which also records losses and the capturing machine
    #[default]
    Pcapng,
    /// pcap with timestamps in nanoseconds, for programs without pcapng
    Pcap,
}

/// Origin of a capture, as recorded in the file.
#[derive(Clone, Debug)]
pub struct CaptureOrigin {
    /// Interfaces, in the order of their numbers. A pcap file allows only one link type.
    pub interfaces: Vec<DescribedInterface>,
    /// Filter in tcpdump's syntax; empty without a filter.
    pub filter: String,
    /// Processor; empty if unknown.
    pub hardware: String,
    /// Operating system and its version.
    pub system: String,
}

/// Interface in a capture file.
#[derive(Clone, Debug)]
pub struct DescribedInterface {
    /// Name of the interface.
    pub name: String,
    /// Link type of the interface.
    pub link: LinkType,
    /// Maximum number of bytes kept of a packet.
    pub snap_length: u32,
}

/// Encoder for the records of one file.
#[derive(Debug)]
pub(crate) enum Encoder {
    Pcapng(PcapngWriter),
    Pcap(PcapWriter),
}

impl Encoder {
    /// Starts a file: appends its header to `out`.
    pub(crate) fn begin(format: FileFormat, about: &CaptureOrigin, out: &mut Vec<u8>) -> Self {
        if format == FileFormat::Pcap {
            let first = about.interfaces.first();
            let longest = about.interfaces.iter().map(|one| one.snap_length).max();
            let writer = PcapWriter {
                link: first.map_or(LinkType::ETHERNET, |one| one.link),
                snap_length: longest.unwrap_or_default(),
                ..PcapWriter::default()
            };
            writer.header(out);
            return Self::Pcap(writer);
        }
        let section = Section {
            hardware: &about.hardware,
            system: &about.system,
            application: concat!("windlass ", env!("CARGO_PKG_VERSION")),
            ..Section::default()
        };
        let mut writer = PcapngWriter::begin(out, ByteOrder::Little, &section);
        for interface in &about.interfaces {
            writer.describe(
                out,
                &Interface {
                    link: interface.link,
                    snap_length: interface.snap_length,
                    name: &interface.name,
                    filter: &about.filter,
                    system: &about.system,
                    hardware: "",
                },
            );
        }
        Self::Pcapng(writer)
    }

    /// Appends a packet, with a comment if the format allows one.
    #[inline]
    pub(crate) fn packet(
        &self,
        out: &mut Vec<u8>,
        interface: u32,
        time: Timestamp,
        original_length: u32,
        data: &[u8],
        note: Option<&str>,
    ) {
        match self {
            Self::Pcapng(writer) => {
                writer.packet(out, interface, time, original_length, data, note.as_slice());
            }
            Self::Pcap(writer) => writer.record(out, time, original_length, data),
        }
    }

    /// Appends the counts so far, if the format allows them.
    pub(crate) fn counts(
        &self,
        out: &mut Vec<u8>,
        interface: u32,
        time: Timestamp,
        counts: &Counts<'_>,
    ) {
        if let Self::Pcapng(writer) = self {
            writer.statistics(out, interface, time, counts);
        }
    }
}

/// Size and number of packets of the complete records at the start of a buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CompleteRecords {
    pub bytes: usize,
    pub packets: u64,
}

impl CompleteRecords {
    /// Counts the complete records within the first `limit` bytes, as written by an [`Encoder`].
    /// Calls `packet` with the interface of each packet.
    pub(crate) fn within(
        format: FileFormat,
        records: &[u8],
        limit: usize,
        mut packet: impl FnMut(u32),
    ) -> Self {
        let number = |at: usize| {
            let bytes = records.get(at..)?.first_chunk::<4>()?;
            Some(u32::from_le_bytes(*bytes))
        };
        let length = |at: usize| usize::try_from(number(at)?).ok();
        let mut whole = Self::default();
        loop {
            let at = whole.bytes;
            let (length, interface) = match format {
                FileFormat::Pcapng => {
                    let is_packet = number(at) == Some(6);
                    (length(at + 4), if is_packet { number(at + 8) } else { None })
                }
                FileFormat::Pcap => (length(at + 8).map(|captured| captured + 16), Some(0)),
            };
            let Some(end) = length.filter(|length| *length > 0).and_then(|l| at.checked_add(l))
            else {
                return whole;
            };
            if end > limit.min(records.len()) {
                return whole;
            }
            interface.into_iter().for_each(&mut packet);
            whole = Self { bytes: end, packets: whole.packets + u64::from(interface.is_some()) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_counted_up_to_where_a_write_ended() {
        let about = CaptureOrigin {
            interfaces: vec![DescribedInterface {
                name: "lo".into(),
                link: LinkType::ETHERNET,
                snap_length: 96,
            }],
            filter: String::new(),
            hardware: String::new(),
            system: String::new(),
        };
        for (format, head) in [(FileFormat::Pcapng, 32), (FileFormat::Pcap, 16)] {
            let mut records = Vec::new();
            let encoder = Encoder::begin(format, &about, &mut Vec::new());
            for length in [60, 1_000, 3] {
                let data = vec![7; length];
                encoder.packet(&mut records, 3, Timestamp::ZERO, 2_000, &data, None);
            }
            let of = |records: &[u8], limit| {
                CompleteRecords::within(format, records, limit, |_| ()).packets
            };
            let packets = |limit| of(&records, limit);
            assert_eq!([packets(0), packets(head + 59), packets(head + 60)], [0, 0, 1]);
            assert_eq!([packets(records.len() - 1), packets(usize::MAX)], [2, 3]);
            let all = CompleteRecords { bytes: records.len(), packets: 3 };
            let mut interfaces = Vec::new();
            let found =
                CompleteRecords::within(format, &records, usize::MAX, |one| interfaces.push(one));
            let number = if format == FileFormat::Pcapng { 3 } else { 0 };
            assert_eq!((found, interfaces), (all, vec![number; 3]));
            let counts = Counts { drops: Some(4), ..Counts::default() };
            encoder.counts(&mut records, 0, Timestamp::ZERO, &counts);
            assert_eq!(of(&records, usize::MAX), 3, "counts are no packet");
        }
        assert_eq!(
            CompleteRecords::within(FileFormat::Pcapng, &[0; 64], 64, |_| ()),
            CompleteRecords::default()
        );
    }
}
