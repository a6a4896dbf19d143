//! The simulated twin of a transfer in real time: the same device and link, and
//! a sender that is set as Linux is.

use windlass_base::{Bytes, Span, whole_part};
use windlass_lab::{Outcome, Row, run_with};
use windlass_sim::SenderSettings;

/// How long a transfer is to take.
pub(super) const LASTING: Span = Span::from_millis(6_000);

/// The windows' worth of data that it has at least: few say little of a rhythm.
const CYCLES: u64 = 30;

/// What of a row's sender Linux can be told, on a Linux of today.
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

/// The send buffer that a row asks for.
pub(super) fn asked_buffer(row: &Row) -> Option<Bytes> {
    row.sender_settings(row.bytes).send_buffer
}

/// What comes of a row in virtual time, with a send buffer of so much.
pub(super) fn run(row: &Row, seed: u64, held: Option<Bytes>) -> Outcome {
    run_with(row, settings(row, row.bytes, held), seed, None)
}

/// How much to send so that a row takes some seconds.
pub fn size(row: &Row, seed: u64) -> Bytes {
    let buffer = asked_buffer(row);
    let window = row.profile.habits.window.most();
    let cycle = buffer.map_or(window, |buffer| buffer.min(window));
    // Of a transfer as long as the row's, so that stalls have their share.
    let rate = run(row, seed, buffer).rate.bytes_per_second();
    let lasting = whole_part(rate * LASTING.as_seconds());
    // Whole kilobytes are easier to read.
    Bytes::new((lasting.max(cycle.get() * CYCLES)).next_multiple_of(1_000))
}
