//! Common parts of formats with a file header and records: the place where the loop over records
//! stopped, and its meaning.

use windlass_base::figures::Count;

use super::{CaptureInfo, ReadStep};

/// Explanation of an impossible record.
pub(super) const NO_RECORD: &str = "The file is damaged here, or was joined or cut without regard \
                                    to its records";

/// End of the loop over records.
pub(super) struct RecordLoopEnd<Wrong> {
    pub(super) consumed: usize,
    pub(super) short: StopReason<Wrong>,
}

/// Reason for which the loop stopped.
pub(super) enum StopReason<Wrong> {
    /// Fewer than this many bytes were left.
    Of(usize),
    /// The lengths of a record are impossible.
    Wrong(Wrong),
}

impl<Wrong> RecordLoopEnd<Wrong> {
    /// Interprets the end of the loop. A record header has `header` bytes, of which the first
    /// `fixed` are read at once. `what` describes the damage of a record from its name and the
    /// number of its bytes that are there.
    pub(super) fn step(
        &self,
        input: &[u8],
        at_end: bool,
        info: &CaptureInfo,
        (fixed, header): (usize, usize),
        what: impl FnOnce(&str, usize, &StopReason<Wrong>) -> String,
    ) -> ReadStep {
        let there = input.len() - self.consumed;
        let record = format!("record {}", Count(info.packets + 1));
        match self.short {
            StopReason::Of(wanted) if !at_end => ReadStep::more(self.consumed, wanted),
            StopReason::Of(_) if there == 0 => ReadStep::end(self.consumed),
            StopReason::Of(_) if there < fixed => ReadStep::damage(
                self.consumed,
                format!(
                    "the capture ends within the header of {record}, after {there} of {header} bytes"
                ),
            ),
            StopReason::Of(_) | StopReason::Wrong(_) => {
                ReadStep::damage(self.consumed, what(&record, there, &self.short))
            }
        }
    }
}

/// Returns the file header at the start of `input`, or `Err` if it is incomplete.
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
