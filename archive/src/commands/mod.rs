//! Commands: their arguments and their output.

pub mod add;
pub mod compact;
pub mod files;
pub mod retain;

use std::io::{self, Write as _};
use std::time::Duration;

use serde::Serialize;

/// Prints a record as JSON on one line, or as the text that goes with it.
fn print(record: &impl Serialize, json: bool, text: impl FnOnce() -> String) -> anyhow::Result<()> {
    let text = if json { serde_json::to_string(record)? + "\n" } else { text() };
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()?;
    Ok(())
}

/// Parses an age: `90d`, `12w`, `36h`, `2y`.
///
/// # Errors
/// Returns the expected format if the text is not an age.
fn age(text: &str) -> Result<Duration, String> {
    let allowed = || "an age is written as 36h, 90d, 12w or 2y".to_owned();
    let at = text.find(|letter: char| !letter.is_ascii_digit()).ok_or_else(allowed)?;
    let (number, unit) = text.split_at(at);
    let number: u64 = number.parse().map_err(|_| allowed())?;
    let hours = match unit {
        "h" => 1,
        "d" => 24,
        "w" => 7 * 24,
        "y" => 365 * 24,
        _ => return Err(allowed()),
    };
    // Nothing that is captured is older than a thousand years.
    let hours = number.checked_mul(hours).filter(|hours| *hours <= 1_000 * 365 * 24);
    hours.map(Duration::from_hours).ok_or_else(|| "an age is at most 1000y".to_owned())
}

/// Formats a count with its noun.
fn counted(count: u64, noun: &str) -> String {
    windlass_base::figures::ItemCount(count, noun).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_read_and_others_are_refused() {
        assert_eq!(age("90d"), Ok(Duration::from_hours(90 * 24)));
        assert_eq!(age("0h"), Ok(Duration::ZERO));
        for wrong in ["", "90", "d", "-1d", "1.5d", "1m", "9999999999y", "99999999999999999999d"] {
            assert!(age(wrong).is_err(), "{wrong}");
        }
    }
}
