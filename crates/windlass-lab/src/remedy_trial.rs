//! Trial of a remedy: runs the transfer of a row again with the change.

use windlass_base::laws::{self, Framing};
use windlass_base::verdict::{Remedy, Side, Verdict};
use windlass_base::{Bytes, Cause, Rate, Span};
use windlass_sim::device::{Drain, StallEvery, WindowUpdates};
use windlass_sim::{Habits, SenderSettings};

use super::path::full_segment;
use super::run::{Outcome, run_with};
use super::scenario::Row;
use super::what_if;

/// A remedy's promise, and the transfer of the same row with its change.
#[derive(Debug)]
pub struct RemedyTrial {
    /// The change as `--what-if` takes it, or in words if `--what-if` has no such change.
    pub change: String,
    /// The rate that the remedy promises.
    pub expected: Option<Rate>,
    /// The bound that the remedy promises instead of a rate.
    pub at_most: Option<Rate>,
    /// The highest rate that the scenario allows with the change: that of its line or of its
    /// device's reader. The packets need not show either.
    pub allowed: Option<Rate>,
    /// The transfer with the change.
    pub outcome: Outcome,
}

impl RemedyTrial {
    /// Tries the first remedy of a row's transfer that names a change. Returns `None` if the remedy
    /// promises nothing, or if the scenario has no setting for the change.
    pub fn of(row: &Row, seed: u64, verdict: &Verdict) -> Option<Self> {
        let named = |remedy| Some((remedy, named_change(verdict.cause, remedy)?));
        let (remedy, change) = verdict.remedies.iter().find_map(named)?;
        let (expected, at_most) =
            (remedy.expected_bytes_per_second, remedy.at_most_bytes_per_second);
        expected.or(at_most)?;
        let (mut row, mut sender) = (row.clone(), row.sender_settings(row.bytes));
        make(verdict.cause, remedy, &mut row, &mut sender)?;
        let (payload, headers) = full_segment(&sender, &row.profile.habits);
        let carries = |rate| laws::line_rate(rate, payload, headers, Framing::ETHERNET, None);
        let carried = row.link.rate.map(carries);
        let read = fastest_reading(&row.profile.habits, row.bytes);
        let allowed = [carried, read].into_iter().flatten().reduce(Rate::min);
        let outcome = run_with(&row, sender, seed, None);
        Some(Self { change, expected, at_most, allowed, outcome })
    }

    /// Returns the bound in this scenario: the lower of the promised rate and the allowed rate.
    pub fn bound(&self) -> Option<Rate> {
        let at_most = self.at_most?;
        Some(self.allowed.map_or(at_most, |allowed| allowed.min(at_most)))
    }
}

/// Returns the rate of the data over the shortest time in which a device can read it; `None` for a
/// device that reads at once. The last of the data may stay in the buffer.
fn fastest_reading(device: &Habits, bytes: Bytes) -> Option<Rate> {
    let buffer = device.window.most();
    let read = |chunk| Bytes::new(bytes.get().saturating_sub((buffer + chunk).get()));
    let reading = match device.drain {
        Drain::Rate { rate, chunk } => rate.time_for(read(chunk)),
        Drain::AtOnce | Drain::AfterAck(_) => Span::ZERO,
    };
    let stalled = device.stalls.map_or(Span::ZERO, |stalls| match stalls.every {
        StallEvery::Bytes(every) => {
            // A read may exceed the stall's interval by a buffer at the most.
            let count = read(Bytes::ZERO).get() / (every + buffer).get().max(1);
            (stalls.lasting.typical - stalls.lasting.spread).scaled(count as f64)
        }
        StallEvery::Time(_) => Span::ZERO,
    });
    let least = reading.max(stalled);
    (least > Span::ZERO).then(|| bytes.per(least))
}

/// Returns the change of a remedy; `None` if the remedy names none.
fn named_change(cause: Cause, remedy: &Remedy) -> Option<String> {
    remedy.what_if.clone().or_else(|| match (cause, remedy.side) {
        (Cause::PathQueue, Side::Path) => Some("twice the line".to_owned()),
        (Cause::NoWindowUpdate, Side::Receiver) => Some("window updates".to_owned()),
        _ => None,
    })
}

/// Applies the change of a remedy to a row and its sender; `None` if these have no such setting.
fn make(cause: Cause, remedy: &Remedy, row: &mut Row, sender: &mut SenderSettings) -> Option<()> {
    if let Some(text) = &remedy.what_if {
        return what_if::changes(text).ok()?.make(row, sender);
    }
    match cause {
        Cause::PathQueue => {
            let rate = row.link.rate.as_mut()?;
            *rate = Rate::from_bytes_per_second(rate.bytes_per_second() * 2.0);
        }
        Cause::NoWindowUpdate => {
            row.profile.habits.updates = WindowUpdates::WhenGrown;
            row.profile.habits.least_opening = None;
        }
        _ => return None,
    }
    Some(())
}
