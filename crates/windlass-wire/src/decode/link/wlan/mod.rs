//! Frames of wireless networks (IEEE 802.11-2020 section 9.2 and 9.3), from
//! their first byte to the IP packet.
//!
//! Only data frames carry packets. Data frames of a protected network are encrypted: they are
//! counted, but not read.

mod headers;

use crate::decode::link::{self, Result};
use crate::decode::view::{View, be16};
use crate::decode::{Damage, Stop};
use crate::other::{NonTcpPacket, Wlan};

pub(crate) use headers::{ppi, prism, radiotap};

const fn without_ip(what: Wlan) -> Stop {
    Stop::NotTcp(NonTcpPacket::Wlan(what))
}

/// Properties of a frame by the header in front of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct FrameProperties {
    /// True if the frame ends with its check sequence of four bytes.
    pub(crate) checked: bool,
    /// True if the receiver found the check sequence wrong.
    pub(crate) failed: bool,
    /// True if the frame's own header is padded to a multiple of four bytes.
    pub(crate) padded: bool,
}

/// Several packets in one frame (an A-MSDU), as two offsets from the end of the frame's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Msdus {
    /// Bytes from the first packet's header on.
    left: usize,
    /// Bytes behind the last packet: the check sequence.
    after: usize,
}

/// The bytes of a check sequence.
const CHECK: u32 = 4;

/// Bits of the second byte of Frame Control (section 9.2.4.1).
mod flag {
    pub(super) const TO_DS: u8 = 0x01;
    pub(super) const FROM_DS: u8 = 0x02;
    pub(super) const PROTECTED: u8 = 0x40;
    /// An HT Control field follows, in a `QoS` frame (section 9.2.4.1.10).
    pub(super) const HT_CONTROL: u8 = 0x80;
}

/// Bits of a data frame's subtype, as they stand in the first byte of Frame
/// Control (table 9-1).
mod subtype {
    pub(super) const NO_DATA: u8 = 0x40;
    pub(super) const QOS: u8 = 0x80;
}

/// Finds the IP packet in a frame.
pub(crate) fn frame(view: View<'_>, about: FrameProperties) -> Result<'_> {
    let whole = if about.checked { view.without_last(CHECK) } else { view };
    let after = view.data.len() - whole.data.len();
    let control: &[u8; 2] = whole.need()?;
    let (kind, flags) = (control[0], control[1]);
    if about.failed {
        return Err(Stop::Damaged(Damage::Check));
    }
    // The version is 0, except in sub-1-GHz networks, whose headers differ.
    match kind & 0x0f {
        0x00 => return Err(without_ip(Wlan::Management)),
        0x04 => return Err(without_ip(Wlan::Control)),
        0x08 => {}
        _ => return Err(Stop::NotTcp(NonTcpPacket::Unknown)),
    }
    if kind & subtype::NO_DATA != 0 {
        return Err(without_ip(Wlan::NoData));
    }
    let head: &[u8; 24] = whole.need()?;
    // The low four bits of Sequence Control count the fragments of a frame. The first fragment has
    // the headers, and IP tells the whole length.
    if head[22] & 0x0f != 0 {
        return Err(without_ip(Wlan::Part));
    }
    let mut length = 24;
    if flags & flag::TO_DS != 0 && flags & flag::FROM_DS != 0 {
        length += 6;
    }
    let mut several = false;
    if kind & subtype::QOS != 0 {
        let qos: &[u8; 2] = whole.skip(length).need()?;
        // A-MSDU Present (section 9.2.4.5.9).
        several = qos[0] & 0x80 != 0;
        length += 2;
        if flags & flag::HT_CONTROL != 0 {
            length += 4;
        }
    }
    if about.padded {
        length = length.next_multiple_of(4);
    }
    let body = whole.skip(length);
    if flags & flag::PROTECTED != 0 {
        return decrypted(body);
    }
    if several {
        return Err(Stop::Several(Msdus { left: body.data.len() + after, after }));
    }
    link::in_llc(body)
}

/// Finds the IP packet in a protected frame that the driver has decrypted without clearing the
/// Protected bit. The data begins at once, or behind the initialization vector of 8 bytes (CCMP,
/// GCMP and TKIP, section 12.5). Encrypted data cannot match by chance: six bytes would have to
/// agree.
fn decrypted(body: View<'_>) -> Result<'_> {
    const SNAP: [u8; 6] = [0xaa, 0xaa, 0x03, 0, 0, 0];
    for vector in [0, 8] {
        let plain = body.skip(vector);
        if plain.data.starts_with(&SNAP) {
            return link::in_llc(plain);
        }
    }
    Err(without_ip(Wlan::Encrypted))
}

/// Bytes of a packet's header in an A-MSDU: two addresses and a length (section 9.3.2.2).
const SUBFRAME: usize = 14;

impl Msdus {
    /// Returns the next packet of the frame, whose bytes end with those of `data`. `None` if no
    /// packet is left.
    pub(crate) fn next<'a>(&mut self, data: &'a [u8]) -> Option<Result<'a>> {
        let end = data.len().checked_sub(self.after)?;
        let rest = data.get(data.len().checked_sub(self.left)?..end)?;
        let Some(head) = rest.first_chunk::<SUBFRAME>() else {
            // The padding behind the last packet may be missing, or the snap length cuts here.
            self.left = 0;
            return (rest.len() > 3).then_some(Err(Stop::SHORT));
        };
        let length = be16(head, 12);
        let room = rest.len() - SUBFRAME;
        let there = usize::from(length).min(room);
        let msdu = View { wire: length.into(), ..View::new(&rest[SUBFRAME..SUBFRAME + there], 0) };
        // Each but the last is padded to a multiple of four bytes.
        let used = (SUBFRAME + usize::from(length)).next_multiple_of(4);
        self.left = if length == 0 { 0 } else { self.left.saturating_sub(used) };
        (length > 0).then(|| link::in_llc(msdu))
    }
}

#[cfg(test)]
#[path = "wlan_tests.rs"]
mod tests;
