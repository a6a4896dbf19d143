//! The thresholds of the capture's quality.

use crate::Span;
use crate::thresholds::{Line, Threshold, Value, thresholds};

thresholds! {
    // The capture: packets that came twice, or were made up.

    /// A segment of this many bytes asks for an ACK soon.
    LARGE_SEGMENT: u32 = 500;
    /// No receiver leaves this many full segments without an ACK: it gives one for each second one
    /// (RFC 9293 section 3.8.6.3), and one for 64 KiB where its host joins them.
    UNANSWERED_RUN: u32 = 50;
    /// Gaps are equal where their standard deviation is less than this share of the mean: their
    /// squares are kept no more exactly.
    EQUAL_GAPS: f64 = 0.002;

    // The capture: its clock.

    /// Clocks of uneven steps are those of Windows, of 10 to 15.6 ms.
    UNEVEN_CLOCK: Span = Span::from_millis(9);
    /// No clock of a capture is coarser than that of Windows. Longer steps are those of a dialogue.
    COARSEST_CLOCK: Span = Span::from_micros(16_500);
    /// Packets that were held back on the way come within this many silences, and
    /// `LONGER_THAN_PATHS`, or not at all.
    CATCH_UP_SILENCES: i64 = 2;
}
