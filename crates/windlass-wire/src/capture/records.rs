//! What files of a header and records have in common: where a loop over records
//! stopped, and what that means.

use windlass_base::figures::Count;

use super::{CaptureInfo, ReadStep};

/// What is behind a record that cannot be.
pub(super) const NO_RECORD: &str = "The file is damaged here, or was joined or cut without regard \
                                    to its records";

/// Where the loop stopped.
pub(super) struct Stop<Wrong> {
    pub(super) consumed: usize,
    pub(super) short: Short<Wrong>,
}

/// Why the loop stopped.
pub(super) enum Short<Wrong> {
    /// Fewer than so many bytes were left.
    Of(usize),
    /// A record's lengths cannot be.
    Wrong(Wrong),
}

impl<Wrong> Stop<Wrong> {
    /// What it means, where a record's header has so many bytes, of which the first
    /// `fixed` are read at once. `what` says what is wrong with a record, of which so
    /// many bytes are there.
    pub(super) fn step(
        &self,
        input: &[u8],
        at_end: bool,
        info: &CaptureInfo,
        (fixed, header): (usize, usize),
        what: impl FnOnce(&str, usize, &Short<Wrong>) -> String,
    ) -> ReadStep {
        let there = input.len() - self.consumed;
        let record = format!("record {}", Count(info.packets + 1));
        match self.short {
            Short::Of(wanted) if !at_end => ReadStep::more(self.consumed, wanted),
            Short::Of(_) if there == 0 => ReadStep::end(self.consumed),
            Short::Of(_) if there < fixed => ReadStep::damage(
                self.consumed,
                format!(
                    "the capture ends within the header of {record}, after {there} of {header} bytes"
                ),
            ),
            Short::Of(_) | Short::Wrong(_) => {
                ReadStep::damage(self.consumed, what(&record, there, &self.short))
            }
        }
    }
}

/// The file header at the start of `input`; `Err` where it is not whole.
pub(super) fn file_header<const N: usize>(
    input: &[u8],
    at_end: bool,
) -> Result<&[u8; N], ReadStep> {
    input.first_chunk().ok_or_else(|| {
        if !at_end {
            return ReadStep::more(0, N);
        }
        let there = input.len();
        let what = format!("the capture ends within its file header, after {there} of {N} bytes");
        ReadStep::damage(0, what)
    })
}
