//! Headers that drivers put in front of a wireless frame, with details of its reception.
//!
//! Only two details matter here: where the frame begins, and how it ends.

use super::{FrameProperties, frame};
use crate::decode::Stop;
use crate::decode::link::{self, Result};
use crate::decode::view::{View, be32, le16, le32};

/// Splits `view` after `length` bytes, which must be there.
fn split<'a>(
    view: View<'a>,
    length: u32,
    least: u32,
) -> std::result::Result<(&'a [u8], View<'a>), Stop> {
    if length < least || length > view.wire {
        return Err(Stop::WRONG_LINK);
    }
    let header = view.data.get(..length as usize).ok_or(Stop::SHORT)?;
    Ok((header, view.skip(length)))
}

/// Reads a radiotap header (radiotap.org, "Header"): version 0, a length, words with a bit for each
/// field present, then the fields, each at a multiple of its own size.
pub(crate) fn radiotap(view: View<'_>) -> Result<'_> {
    let head: &[u8; 4] = view.need()?;
    if head[0] != 0 {
        return Err(Stop::WRONG_LINK);
    }
    let (header, rest) = split(view, le16(head, 2).into(), 8)?;
    let word = |at: usize| Some(le32(header.get(at..)?.first_chunk::<4>()?, 0));
    let first = word(4).ok_or(Stop::WRONG_LINK)?;
    let (mut at, mut last) = (8, first);
    // Bit 31 says that another word follows.
    while last >> 31 != 0 {
        last = word(at).ok_or(Stop::WRONG_LINK)?;
        at += 4;
    }
    frame(rest, radiotap_flags(header, first, at))
}

/// Reads the Flags field (radiotap.org, "Flags"), which has the second bit. The first bit stands
/// for a time field of 8 bytes. `at` is the offset of the fields.
fn radiotap_flags(header: &[u8], present: u32, at: usize) -> FrameProperties {
    const TIME: u32 = 0x01;
    const FLAGS: u32 = 0x02;
    if present & FLAGS == 0 {
        return FrameProperties::default();
    }
    let at = if present & TIME == 0 { at } else { at.next_multiple_of(8) + 8 };
    let flags = header.get(at).copied().unwrap_or(0);
    FrameProperties {
        checked: flags & 0x10 != 0,
        padded: flags & 0x20 != 0,
        failed: flags & 0x40 != 0,
    }
}

/// Reads the header of Prism's drivers (`LINKTYPE_IEEE802_11_PRISM`): a message code and a length
/// in the byte order of the capturing machine. Drivers also use the newer AVS header under this
/// number (`LINKTYPE_IEEE802_11_AVS`): a cookie with its version and a length, both in network byte
/// order.
pub(crate) fn prism(view: View<'_>) -> Result<'_> {
    const AVS: u32 = 0x8021_1000;
    /// Maximum length. Prism's header has 144 bytes and AVS's 64 or more, so their lengths tell
    /// their byte order.
    const MAX: u32 = 4_096;
    let head: &[u8; 8] = view.need()?;
    let big = be32(head, 4);
    let length = if be32(head, 0) & 0xffff_f000 == AVS || big <= MAX { big } else { le32(head, 4) };
    if length > MAX {
        return Err(Stop::WRONG_LINK);
    }
    let (_, rest) = split(view, length, 16)?;
    frame(rest, FrameProperties::default())
}

/// Reads a Per-Packet Information header (CACE Technologies, "PPI Header format", 2008;
/// `LINKTYPE_PPI`): version, flags, length and link type, then fields, each with a type and a
/// length. The field 802.11-Common tells how a frame ends.
pub(crate) fn ppi(view: View<'_>) -> Result<'_> {
    const COMMON: u16 = 2;
    let head: &[u8; 8] = view.need()?;
    if head[0] != 0 {
        return Err(Stop::WRONG_LINK);
    }
    let (header, rest) = split(view, le16(head, 2).into(), 8)?;
    // Bit 0 says that each field begins at a multiple of four bytes.
    let unit = if head[1] & 1 == 0 { 1 } else { 4 };
    let (mut about, mut fields) = (FrameProperties::default(), &header[8..]);
    while let Some((start, after)) = fields.split_first_chunk::<4>() {
        let length = usize::from(le16(start, 2));
        if le16(start, 0) == COMMON
            && let Some(common) = after.first_chunk::<10>()
        {
            // Behind 8 bytes of time.
            let flags = le16(common, 8);
            about.checked = flags & 0x01 != 0;
            about.failed = flags & 0x0c != 0;
        }
        fields = after.get(length.next_multiple_of(unit)..).unwrap_or_default();
    }
    link::within(le32(head, 4), rest, about)
}
