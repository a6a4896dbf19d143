//! Lines of a raster page in the run-length coding of PWG 5102.4, section 4.4, and URF: the repeat
//! count of a line, then its pixels in runs.

/// Error of invalid packed bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PackedLinesError;

/// Parser of the packed lines of a page.
#[derive(Debug)]
pub(super) struct PackedLines {
    /// Bytes of a pixel.
    pixel: u32,
    /// Bytes of a line.
    line: u64,
    /// Lines outstanding.
    left: u64,
    at: LineState,
}

#[derive(Debug)]
enum LineState {
    /// Before the repeat count of the next line.
    Repeat,
    /// Before the next run of a line that has `left` bytes outstanding and is repeated `times`
    /// times.
    Run { left: u64, times: u64 },
    /// In pixels of which `coming` bytes are outstanding; then the line continues.
    Pixels { coming: u64, left: u64, times: u64 },
}

impl PackedLines {
    /// Creates the parser of `lines` lines of `line` bytes, with pixels of `pixel` bytes.
    pub(super) const fn new(lines: u64, line: u64, pixel: u32) -> Self {
        Self { pixel, line, left: lines, at: LineState::Repeat }
    }

    /// Returns whether all lines were read.
    pub(super) const fn is_done(&self) -> bool {
        self.left == 0
    }

    /// Processes bytes of these lines. Returns their number.
    pub(super) fn take(&mut self, bytes: &[u8]) -> Result<usize, PackedLinesError> {
        let mut used = 0;
        while let Some(byte) = bytes.get(used).filter(|_| !self.is_done()) {
            let (left, times) = match self.at {
                LineState::Repeat => {
                    used += 1;
                    (self.line, u64::from(*byte) + 1)
                }
                LineState::Run { left, times } => {
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
                        let left = left.checked_sub(pixels * pixel).ok_or(PackedLinesError)?;
                        let coming = if are_alike { pixel } else { pixels * pixel };
                        self.at = LineState::Pixels { coming, left, times };
                        continue;
                    }
                }
                LineState::Pixels { coming, left, times } => {
                    let there = (bytes.len() - used) as u64;
                    let now = coming.min(there);
                    // `now` never exceeds the bytes that are there.
                    used += usize::try_from(now).unwrap_or(usize::MAX);
                    if now < coming {
                        self.at = LineState::Pixels { coming: coming - now, left, times };
                        continue;
                    }
                    (left, times)
                }
            };
            self.at = if left > 0 {
                LineState::Run { left, times }
            } else {
                self.left = self.left.saturating_sub(times);
                LineState::Repeat
            };
        }
        Ok(used)
    }
}
