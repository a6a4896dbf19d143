//! Lines of a raster page, packed as PWG 5102.4, section 4.4, and URF have it: how often
//! a line stands there, then its pixels by runs.

/// What the packed bytes break.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Broken;

/// Walks through the lines of a page.
#[derive(Debug)]
pub(super) struct PackedLines {
    /// Bytes of a pixel.
    pixel: u32,
    /// Bytes of a line.
    line: u64,
    /// Lines that are still to come.
    left: u64,
    at: At,
}

#[derive(Debug)]
enum At {
    /// How often the next line stands there.
    Repeat,
    /// The next run of a line that has so many bytes left and stands there so often.
    Run { left: u64, times: u64 },
    /// Pixels, of which so many bytes are still to come; then the line goes on.
    Pixels { coming: u64, left: u64, times: u64 },
}

impl PackedLines {
    /// So many lines of so many bytes, with pixels of so many bytes.
    pub(super) const fn new(lines: u64, line: u64, pixel: u32) -> Self {
        Self { pixel, line, left: lines, at: At::Repeat }
    }

    /// Whether all lines have passed.
    pub(super) const fn is_done(&self) -> bool {
        self.left == 0
    }

    /// Takes bytes of these lines, and says how many.
    pub(super) fn take(&mut self, bytes: &[u8]) -> Result<usize, Broken> {
        let mut used = 0;
        while let Some(byte) = bytes.get(used).filter(|_| !self.is_done()) {
            let (left, times) = match self.at {
                At::Repeat => {
                    used += 1;
                    (self.line, u64::from(*byte) + 1)
                }
                At::Run { left, times } => {
                    used += 1;
                    // 128 fills the rest of the line.
                    let (pixels, are_alike) = match byte {
                        128 => (0, true),
                        0..=127 => (u64::from(*byte) + 1, true),
                        129..=255 => (257 - u64::from(*byte), false),
                    };
                    if pixels == 0 {
                        (0, times)
                    } else {
                        let pixel = u64::from(self.pixel);
                        let left = left.checked_sub(pixels * pixel).ok_or(Broken)?;
                        let coming = if are_alike { pixel } else { pixels * pixel };
                        self.at = At::Pixels { coming, left, times };
                        continue;
                    }
                }
                At::Pixels { coming, left, times } => {
                    let there = (bytes.len() - used) as u64;
                    let now = coming.min(there);
                    // It is no more than there is.
                    used += usize::try_from(now).unwrap_or(usize::MAX);
                    if now < coming {
                        self.at = At::Pixels { coming: coming - now, left, times };
                        continue;
                    }
                    (left, times)
                }
            };
            self.at = if left > 0 {
                At::Run { left, times }
            } else {
                self.left = self.left.saturating_sub(times);
                At::Repeat
            };
        }
        Ok(used)
    }
}
