//! The simulated twin of a transfer in real time: the same device and link, and a sender with
//! Linux's settings.

use windlass_base::{Bytes, Span, whole_part};
use windlass_lab::{Outcome, Row, run_with};
use windlass_sim::SenderSettings;

/// Planned time of a transfer.
pub(super) const LASTING: Span = Span::from_millis(6_000);

/// Minimum data of a transfer in windows: fewer show little of its rhythm.
const CYCLES: u64 = 30;

/// Returns the settings of a row's sender that Linux supports, over those of today's Linux.
pub(super) fn settings(row: &Row, bytes: Bytes, held: Option<Bytes>) -> SenderSettings {
    let asked = row.sender_settings(bytes);
    SenderSettings {
        method: asked.method,
        mss: asked.mss,
        nagle: asked.nagle,
        sack: asked.sack,
        timestamps: asked.timestamps,
        send_buffer: held,
        ..SenderSettings::new(bytes)
    }
}

/// Returns the send buffer that a row asks for.
pub(super) fn asked_buffer(row: &Row) -> Option<Bytes> {
    row.sender_settings(row.bytes).send_buffer
}

/// Runs a row in virtual time, with a send buffer of `held` bytes.
pub(super) fn run(row: &Row, seed: u64, held: Option<Bytes>) -> Outcome {
    run_with(row, settings(row, row.bytes, held), seed, None)
}

/// Returns the amount of data for which a row takes some seconds.
pub fn size(row: &Row, seed: u64) -> Bytes {
    let buffer = asked_buffer(row);
    let window = row.profile.habits.window.most();
    let cycle = buffer.map_or(window, |buffer| buffer.min(window));
    // The rate of a transfer as long as the row's, so that it includes stalls.
    let rate = run(row, seed, buffer).rate.bytes_per_second();
    let lasting = whole_part(rate * LASTING.as_seconds());
    // Whole kilobytes are easier to read.
    Bytes::new((lasting.max(cycle.get() * CYCLES)).next_multiple_of(1_000))
}
