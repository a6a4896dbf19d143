//! The time at the beginning of a line, and its meaning.

use windlass_base::{Span, Timestamp};

const SECOND: i64 = 1_000_000_000;
const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// A time as printed, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PrintedTime {
    /// No time.
    Missing,
    /// Time since the Unix epoch.
    Epoch(i64),
    /// Time since the line before.
    Delta(i64),
    /// Hours, minutes and seconds: since midnight, since the first packet, or since the line
    /// before.
    Clock(i64),
}

/// Splits a time off the front of `text`, which must not begin with a blank.
pub(super) fn split(text: &str) -> Option<(PrintedTime, &str)> {
    let (word, rest) = text.split_once(' ')?;
    if let Some(day) = date(word) {
        let (word, rest) = rest.split_once(' ')?;
        return Some((PrintedTime::Epoch(day.checked_add(clock(word)?)?), rest));
    }
    if let Some(nanos) = clock(word) {
        return Some((PrintedTime::Clock(nanos), rest));
    }
    if let Some(seconds) = word.strip_suffix('.') {
        let (micros, rest) = rest.split_once(' ')?;
        let whole = digits(seconds, 1..=9)?.checked_mul(SECOND)?;
        return Some((PrintedTime::Delta(whole + digits(micros, 6..=6)? * 1_000), rest));
    }
    if let Some((seconds, fraction)) = word.split_once('.') {
        let nanos = match fraction.len() {
            6 => digits(fraction, 6..=6)? * 1_000,
            _ => digits(fraction, 9..=9)?,
        };
        return Some((PrintedTime::Epoch(digits(seconds, 1..=10)? * SECOND + nanos), rest));
    }
    Some((PrintedTime::Delta(digits(word, 6..=6)? * 1_000), rest))
}

fn digits(text: &str, length: std::ops::RangeInclusive<usize>) -> Option<i64> {
    let plain = length.contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    if plain { text.parse().ok() } else { None }
}

/// Reads `16:34:10.118897`. A span of days has more hours, and a negative span has a minus sign.
fn clock(word: &str) -> Option<i64> {
    let (sign, word) = match word.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, word),
    };
    let mut parts = word.splitn(3, ':');
    let hours = digits(parts.next()?, 2..=6)?;
    let minutes = digits(parts.next()?, 2..=2)?;
    let (seconds, fraction) = parts.next()?.split_once('.')?;
    let seconds = digits(seconds, 2..=2)?;
    let places = u32::try_from(fraction.len()).ok()?;
    let fraction = digits(fraction, 1..=9)? * 10_i64.pow(9 - places);
    Some(sign * (hours * HOUR + minutes * MINUTE + seconds * SECOND + fraction))
}

/// Returns midnight of `2001-07-24`, or of tcpdump 3's `07/24/2001`, in nanoseconds since the
/// epoch.
fn date(word: &str) -> Option<i64> {
    let (year, month, day) = if word.contains('-') {
        let mut parts = word.splitn(3, '-');
        (parts.next()?, parts.next()?, parts.next()?)
    } else {
        let mut parts = word.splitn(3, '/');
        let (month, day) = (parts.next()?, parts.next()?);
        (parts.next()?, month, day)
    };
    let (year, month, day) = (digits(year, 4..=4)?, digits(month, 2..=2)?, digits(day, 2..=2)?);
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    days(year, month, day).checked_mul(DAY)
}

/// Returns the days from the epoch to a date of the Gregorian calendar. Years begin in March here,
/// so that the leap day comes last (Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms",
/// `days_from_civil`).
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// Meaning of [`PrintedTime::Clock`] in this text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Meaning {
    #[default]
    Unclear,
    SinceMidnight,
    SinceLast,
}

/// Converter of printed times to timestamps.
#[derive(Debug, Default)]
pub(super) struct Clock {
    now: i64,
    /// Sum of the days passed, in nanoseconds.
    midnight: i64,
    meaning: Meaning,
}

impl Clock {
    /// Returns whether `stamp` has no meaning before [`Clock::decide`].
    pub(super) fn needs_more(&self, stamp: PrintedTime) -> bool {
        self.meaning == Meaning::Unclear && matches!(stamp, PrintedTime::Clock(_))
    }

    /// Decides the meaning from the stamps of the first lines: see the module `text`.
    pub(super) fn decide(&mut self, stamps: impl Iterator<Item = PrintedTime>) {
        let mut clocks: Vec<i64> = stamps
            .filter_map(
                |stamp| if let PrintedTime::Clock(nanos) = stamp { Some(nanos) } else { None },
            )
            .collect();
        let moves = |back: bool| {
            let step = move |pair: &[i64]| (pair[1] < pair[0]) == back && pair[0] != pair[1];
            let midnight = |pair: &[i64]| pair[0] - pair[1] > DAY / 2;
            clocks.windows(2).filter(|pair| step(pair) && !midnight(pair)).count()
        };
        let (back, forth) = (moves(true), moves(false));
        let often = back > 0 && back * 7 >= forth;
        let middle = clocks.len() / 2;
        clocks.sort_unstable();
        let close = clocks.get(middle).is_some_and(|nanos| *nanos < MINUTE);
        self.meaning = if often && close { Meaning::SinceLast } else { Meaning::SinceMidnight };
    }

    /// Returns the time of the next line.
    pub(super) fn time(&mut self, stamp: PrintedTime) -> Timestamp {
        self.now = match (stamp, self.meaning) {
            (PrintedTime::Missing, _) => self.now,
            (PrintedTime::Epoch(nanos), _) => nanos,
            (PrintedTime::Delta(nanos), _) | (PrintedTime::Clock(nanos), Meaning::SinceLast) => {
                self.now.saturating_add(nanos)
            }
            (PrintedTime::Clock(nanos), _) => self.of_day(nanos),
        };
        Timestamp::ZERO + Span::from_nanos(self.now)
    }

    fn of_day(&mut self, nanos: i64) -> i64 {
        let today = self.midnight.saturating_add(nanos);
        if today < self.now.saturating_sub(DAY / 2) {
            self.midnight = self.midnight.saturating_add(DAY);
            self.midnight.saturating_add(nanos)
        } else if self.midnight > 0 && today > self.now.saturating_add(DAY / 2) {
            // The packet is out of order, from just before midnight.
            today.saturating_sub(DAY)
        } else {
            today
        }
    }
}
