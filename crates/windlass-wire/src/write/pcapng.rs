//! Writer of pcapng (draft-ietf-opsawg-pcapng, version 1.0).

use windlass_base::Timestamp;

use crate::{ByteOrder, LinkType};

/// Fields of a section header on the origin of the capture. Empty texts are left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Section<'a> {
    /// Hardware of the capturing machine (`shb_hardware`).
    pub hardware: &'a str,
    /// Operating system of the capturing machine (`shb_os`).
    pub system: &'a str,
    /// Program that wrote the file (`shb_userappl`).
    pub application: &'a str,
    /// Notes on the whole section (`opt_comment`).
    pub comments: &'a [&'a str],
}

/// Description of an interface. Empty texts are left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interface<'a> {
    /// Link type of its packets.
    pub link: LinkType,
    /// Snap length in bytes; 0 states no limit.
    pub snap_length: u32,
    /// Name (`if_name`).
    pub name: &'a str,
    /// Filter of the capture, as an expression (`if_filter`).
    pub filter: &'a str,
    /// Operating system (`if_os`).
    pub system: &'a str,
    /// Hardware (`if_hardware`).
    pub hardware: &'a str,
}

/// Counts of an interface since the capture began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts<'a> {
    /// Packets received (`isb_ifrecv`).
    pub received: Option<u64>,
    /// Packets dropped for lack of space (`isb_ifdrop`).
    pub drops: Option<u64>,
    /// Packets delivered to the program (`isb_usrdeliv`).
    pub delivered: Option<u64>,
    /// Comment (`opt_comment`); empty for none.
    pub comment: &'a str,
}

/// Writer of one section of pcapng with times in nanoseconds.
///
/// The writer remembers the interfaces written, so that a packet can select one by link type.
#[derive(Clone, Debug)]
pub struct PcapngWriter {
    order: ByteOrder,
    interfaces: Vec<LinkType>,
}

impl PcapngWriter {
    /// Begins a section: appends its header. Packets of [`LinkType::NULL`]
    /// keep their meaning only in the byte order of the file they come from.
    pub fn begin(out: &mut Vec<u8>, order: ByteOrder, section: &Section<'_>) -> Self {
        let writer = Self { order, interfaces: Vec::new() };
        writer.block(out, 0x0a0d_0d0a, |out| {
            out.extend(order.u32(0x1a2b_3c4d));
            out.extend(order.u16(1));
            out.extend(order.u16(0));
            // All ones mean that the section's length is unknown.
            out.extend([0xff; 8]);
            let texts = section.comments.iter().map(|comment| (option::COMMENT, *comment));
            let texts = texts.chain([
                (option::HARDWARE, section.hardware),
                (option::SYSTEM, section.system),
                (option::APPLICATION, section.application),
            ]);
            let options = texts.filter(|(_, text)| !text.is_empty());
            writer.options(out, options.map(|(code, text)| (code, text.as_bytes())));
        });
        writer
    }

    /// Appends an interface and returns its number. `snap_length` 0 states no limit; an empty
    /// `name` is left out.
    pub fn interface(
        &mut self,
        out: &mut Vec<u8>,
        link: LinkType,
        snap_length: u32,
        name: &str,
    ) -> u32 {
        let (filter, system, hardware) = ("", "", "");
        self.describe(out, &Interface { link, snap_length, name, filter, system, hardware })
    }

    /// Appends an interface with its full description, and returns its number.
    pub fn describe(&mut self, out: &mut Vec<u8>, interface: &Interface<'_>) -> u32 {
        // Type of the filter: 0 is libpcap's syntax.
        let filter = [b"\0", interface.filter.as_bytes()].concat();
        self.block(out, 1, |out| {
            out.extend(self.order.u16(interface.link.0));
            out.extend([0; 2]);
            out.extend(self.order.u32(interface.snap_length));
            let name = (option::INTERFACE_NAME, interface.name.as_bytes());
            let nanoseconds = (option::INTERFACE_RESOLUTION, &[9][..]);
            let filter = (option::INTERFACE_FILTER, &filter[..]);
            let system = (option::INTERFACE_SYSTEM, interface.system.as_bytes());
            let hardware = (option::INTERFACE_HARDWARE, interface.hardware.as_bytes());
            let all = [name, nanoseconds, filter, system, hardware];
            let there = |option: &(u16, &[u8])| !matches!(option.1, [] | [0]);
            self.options(out, all.into_iter().filter(there));
        });
        self.interfaces.push(interface.link);
        (self.interfaces.len() - 1) as u32
    }

    /// Returns the number of the first interface with this link type. Appends one if there is none
    /// yet.
    pub fn interface_for(&mut self, out: &mut Vec<u8>, link: LinkType, snap_length: u32) -> u32 {
        match self.interfaces.iter().position(|known| *known == link) {
            Some(number) => number as u32,
            None => self.interface(out, link, snap_length, ""),
        }
    }

    /// Appends a packet that had `original_length` bytes on the wire, with a comment option for
    /// each of `comments`. The format cannot hold times before 1970: they become 0. A comment
    /// longer than an option can hold is cut.
    #[inline]
    pub fn packet(
        &self,
        out: &mut Vec<u8>,
        interface: u32,
        time: Timestamp,
        original_length: u32,
        data: &[u8],
        comments: &[&str],
    ) {
        if comments.is_empty() {
            return self.bare_packet(out, interface, time, original_length, data);
        }
        self.block(out, 6, |out| {
            out.extend(self.order.u32(interface));
            self.time(out, time);
            out.extend(self.order.u32(data.len() as u32));
            out.extend(self.order.u32(original_length));
            out.extend_from_slice(data);
            pad(out, data.len());
            let comments = comments.iter().map(|text| (option::COMMENT, text.as_bytes()));
            self.options(out, comments);
        });
    }

    /// Appends a packet without options, of which a capture has millions.
    #[inline]
    fn bare_packet(
        &self,
        out: &mut Vec<u8>,
        interface: u32,
        time: Timestamp,
        original_length: u32,
        data: &[u8],
    ) {
        const HEAD: usize = 28;
        let padding = data.len().wrapping_neg() % 4;
        let total = (HEAD + data.len() + padding + 4) as u32;
        let nanos = u64::try_from(time.as_nanos()).unwrap_or(0);
        let (high, low) = ((nanos >> 32) as u32, nanos as u32);
        let numbers = [6, total, interface, high, low, data.len() as u32, original_length];
        // One branch on the byte order serves all numbers.
        let numbers = match self.order {
            ByteOrder::Little => numbers.map(u32::to_le_bytes),
            ByteOrder::Big => numbers.map(u32::to_be_bytes),
        };
        out.reserve(HEAD + data.len() + 8);
        out.extend_from_slice(numbers.as_flattened());
        out.extend_from_slice(data);
        // Padding, the repeated length, and zeros up to eight bytes, which are removed again: a
        // copy of a fixed length is fast.
        let mut tail = [0; 8];
        tail[padding..padding + 4].copy_from_slice(&numbers[1]);
        let end = out.len() + padding + 4;
        out.extend_from_slice(&tail);
        out.truncate(end);
    }

    /// Appends the counts of an interface as they stood at `time`.
    pub fn statistics(
        &self,
        out: &mut Vec<u8>,
        interface: u32,
        time: Timestamp,
        counts: &Counts<'_>,
    ) {
        self.block(out, 5, |out| {
            out.extend(self.order.u32(interface));
            self.time(out, time);
            let comment = (option::COMMENT, counts.comment.as_bytes());
            let numbers = [
                (option::RECEIVED, counts.received),
                (option::DROPS, counts.drops),
                (option::DELIVERED, counts.delivered),
            ];
            let number = |(code, count): (u16, Option<u64>)| Some((code, self.order.u64(count?)));
            let numbers: Vec<_> = numbers.into_iter().filter_map(number).collect();
            let numbers = numbers.iter().map(|(code, value)| (*code, &value[..]));
            let comment = std::iter::once(comment).filter(|(_, text)| !text.is_empty());
            self.options(out, comment.chain(numbers));
        });
    }

    /// Appends a block: type, length, body, and the length again.
    fn block(&self, out: &mut Vec<u8>, kind: u32, body: impl FnOnce(&mut Vec<u8>)) {
        let start = out.len();
        out.extend(self.order.u32(kind));
        out.extend([0; 4]);
        body(out);
        let total = self.order.u32((out.len() - start + 4) as u32);
        out.extend(total);
        out[start + 4..start + 8].copy_from_slice(&total);
    }

    /// Appends a timestamp in nanoseconds, the upper half first in either byte order.
    fn time(&self, out: &mut Vec<u8>, time: Timestamp) {
        let nanos = u64::try_from(time.as_nanos()).unwrap_or(0);
        out.extend(self.order.u32((nanos >> 32) as u32));
        out.extend(self.order.u32(nanos as u32));
    }

    /// Appends options and their end mark. Appends nothing if there are no options.
    fn options<'a>(&self, out: &mut Vec<u8>, options: impl Iterator<Item = (u16, &'a [u8])>) {
        let before = out.len();
        for (code, value) in options {
            let value = cut_text(value);
            out.extend(self.order.u16(code));
            out.extend(self.order.u16(value.len() as u16));
            out.extend_from_slice(value);
            pad(out, value.len());
        }
        if out.len() > before {
            out.extend([0; 4]);
        }
    }
}

/// Option codes.
mod option {
    pub(super) const COMMENT: u16 = 1;
    pub(super) const HARDWARE: u16 = 2;
    pub(super) const SYSTEM: u16 = 3;
    pub(super) const APPLICATION: u16 = 4;
    pub(super) const INTERFACE_NAME: u16 = 2;
    pub(super) const INTERFACE_RESOLUTION: u16 = 9;
    pub(super) const INTERFACE_FILTER: u16 = 11;
    pub(super) const INTERFACE_SYSTEM: u16 = 12;
    pub(super) const INTERFACE_HARDWARE: u16 = 15;
    pub(super) const RECEIVED: u16 = 4;
    pub(super) const DROPS: u16 = 5;
    pub(super) const DELIVERED: u16 = 8;
}

/// Pads to a multiple of 4.
fn pad(out: &mut Vec<u8>, length: usize) {
    out.extend(&[0; 3][..length.wrapping_neg() % 4]);
}

/// Returns the part of a value that an option can hold, cut at the end of a character.
fn cut_text(value: &[u8]) -> &[u8] {
    let most = usize::from(u16::MAX);
    if value.len() <= most {
        return value;
    }
    let continues = |byte: &u8| byte & 0xc0 == 0x80;
    let mut end = most;
    while end > 0 && value.get(end).is_some_and(continues) {
        end -= 1;
    }
    &value[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comment_is_an_option_behind_the_padded_data() {
        let mut out = Vec::new();
        let mut writer = PcapngWriter::begin(&mut out, ByteOrder::Big, &Section::default());
        let interface = writer.interface(&mut out, LinkType::ETHERNET, 96, "");
        out.clear();
        let time = Timestamp::from_nanos((3 << 32) + 5);
        writer.packet(&mut out, interface, time, 60, b"abcde", &["why", "four"]);
        let expected = [
            &[0, 0, 0, 6, 0, 0, 0, 60, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 5][..],
            &[0, 0, 0, 5, 0, 0, 0, 60],
            b"abcde\0\0\0",
            b"\0\x01\0\x03why\0\0\x01\0\x04four\0\0\0\0",
            &[0, 0, 0, 60],
        ]
        .concat();
        assert_eq!(out, expected);
    }

    #[test]
    fn a_packet_without_a_comment_is_as_one_with() {
        for order in [ByteOrder::Big, ByteOrder::Little] {
            let mut out = Vec::new();
            let mut writer = PcapngWriter::begin(&mut out, order, &Section::default());
            let interface = writer.interface(&mut out, LinkType::ETHERNET, 96, "");
            for length in 0..9 {
                let time = Timestamp::from_nanos((7 << 32) + 9);
                let (mut bare, mut noted) = (Vec::new(), Vec::new());
                let data = &b"abcdefghi"[..length];
                writer.packet(&mut bare, interface, time, 1_514, data, &[]);
                writer.packet(&mut noted, interface, time, 1_514, data, &["note"]);
                // A comment of four bytes takes twelve with its head and the end mark.
                let end = bare.len() - 4;
                assert_eq!(bare[8..end], noted[8..end]);
                assert_eq!(noted.len(), bare.len() + 12);
                assert_eq!(bare[4..8], bare[end..]);
                let length = u32::try_from(bare.len()).unwrap();
                assert_eq!(bare[end..], order.u32(length));
            }
        }
    }

    #[test]
    fn a_section_says_where_it_comes_from() {
        let mut out = Vec::new();
        let section = Section { application: "windlass", ..Section::default() };
        PcapngWriter::begin(&mut out, ByteOrder::Little, &section);
        let text = b"\x04\0\x08\0windlass\0\0\0\0";
        assert_eq!(&out[24..], &[&text[..], &[44, 0, 0, 0]].concat());
    }

    #[test]
    fn a_comment_that_is_too_long_is_cut_between_characters() {
        let text = "\u{20ac}".repeat(30_000);
        let cut = std::str::from_utf8(cut_text(text.as_bytes())).unwrap();
        assert_eq!(cut.len(), 65_535);
        let text = format!("a{text}");
        let cut = std::str::from_utf8(cut_text(text.as_bytes())).unwrap();
        assert_eq!(cut.len(), 1 + 3 * 21_844);
    }
}
