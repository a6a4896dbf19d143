//! TCP options in the layout of Linux: no-operation options fill whole words, and "SACK permitted"
//! replaces the two before the timestamps.

use crate::Options;

/// Maximum bytes of options in a header.
const MAX: usize = 40;

/// Encoded options.
#[derive(Clone, Copy, Debug)]
pub(super) struct EncodedOptions {
    bytes: [u8; MAX],
    length: usize,
}

impl EncodedOptions {
    pub(super) fn as_slice(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    fn room(&self) -> usize {
        MAX - self.length
    }

    fn push(&mut self, bytes: &[u8]) {
        self.bytes[self.length..self.length + bytes.len()].copy_from_slice(bytes);
        self.length += bytes.len();
    }
}

/// Encodes options for a header. Options other than SACK blocks take 24 bytes at most.
pub(super) fn written(options: &Options) -> EncodedOptions {
    let mut out = EncodedOptions { bytes: [0; MAX], length: 0 };
    if let Some(mss) = options.mss {
        let [high, low] = mss.to_be_bytes();
        out.push(&[2, 4, high, low]);
    }
    match (options.sack_permitted, options.timestamps) {
        (true, None) => out.push(&[1, 1, 4, 2]),
        (permitted, Some((value, echo))) => {
            out.push(if permitted { &[4, 2, 8, 10] } else { &[1, 1, 8, 10] });
            out.push(&value.to_be_bytes());
            out.push(&echo.to_be_bytes());
        }
        (false, None) => {}
    }
    if let Some(shift) = options.window_scale {
        out.push(&[1, 3, 3, shift]);
    }
    if options.multipath {
        // MP_CAPABLE of a SYN: version 1, HMAC-SHA256 (RFC 8684 section 3.1).
        out.push(&[30, 4, 1, 1]);
    }
    let blocks = options.sack.as_slice();
    let fitting = blocks.len().min(out.room().saturating_sub(4) / 8);
    if fitting > 0 {
        out.push(&[1, 1, 5, (2 + 8 * fitting) as u8]);
        for block in &blocks[..fitting] {
            out.push(&block.left.to_be_bytes());
            out.push(&block.right.to_be_bytes());
        }
    }
    out
}
