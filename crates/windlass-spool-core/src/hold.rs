//! Holding jobs: the words of `job-hold-until` (RFC 8011, section 5.2.2).

use jiff::civil::{Time, Weekday};
use jiff::tz::{Offset, TimeZone};
use jiff::{SignedDuration, Timestamp, Zoned};
use serde::{Deserialize, Serialize};

use crate::moment::Moment;

/// Words that are understood, besides a time of day. CUPS knows the same words.
pub const HOLD_WORDS: [&str; 8] = [
    "no-hold",
    "indefinite",
    "day-time",
    "evening",
    "night",
    "weekend",
    "second-shift",
    "third-shift",
];

/// Hold on a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hold {
    /// Word that the client gave.
    pub word: Box<str>,
    /// Time of the release; `None` if somebody has to release the job.
    pub until: Option<Moment>,
}

impl Hold {
    /// Returns a hold until somebody releases the job.
    pub fn indefinite() -> Self {
        Self { word: "indefinite".into(), until: None }
    }

    /// Returns whether the hold has expired.
    pub fn is_over(&self, now: Moment) -> bool {
        self.until.is_some_and(|until| until <= now)
    }
}

/// Meaning of a word of `job-hold-until`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HoldUntil {
    /// The job may print at once.
    NoHold,
    /// The job is held.
    Held(Hold),
}

impl HoldUntil {
    /// Returns the hold for a ticket.
    pub fn held(self) -> Option<Box<Hold>> {
        match self {
            Self::NoHold => None,
            Self::Held(hold) => Some(Box::new(hold)),
        }
    }

    /// Reads a word, or a time of day such as `23:59` or `23:59:30`; returns `None` for anything
    /// else.
    ///
    /// A time of day is in UTC: `lp -H` documents UTC, and sends what was typed. The words stand
    /// for local hours, the same as in CUPS. The day lasts from 6 to 18. The second shift begins at
    /// 16, the third at 0, the weekend on Friday at 18. A job that arrives within such a period may
    /// print at once.
    pub fn new(word: &str, now: Moment, zone: &TimeZone) -> Option<Self> {
        let until = match word {
            "no-hold" => return Some(Self::NoHold),
            "indefinite" => return Some(Self::Held(Hold::indefinite())),
            "day-time" | "evening" | "night" | "weekend" | "second-shift" | "third-shift" => {
                spoken(word, &zoned(now, zone)?)?
            }
            time => next_in_utc(time_of_day(time)?, now)?,
        };
        Some(until.map_or(Self::NoHold, |until| {
            Self::Held(Hold { word: word.into(), until: Some(until) })
        }))
    }
}

/// Converts a moment to local time.
fn zoned(moment: Moment, zone: &TimeZone) -> Option<Zoned> {
    let at = Timestamp::from_millisecond(i64::try_from(moment.0).ok()?).ok()?;
    Some(at.to_zoned(zone.clone()))
}

fn moment(at: Timestamp) -> Option<Moment> {
    u64::try_from(at.as_millisecond()).ok().map(Moment)
}

/// Returns when the period of a word begins; `Some(None)` if it has begun.
#[allow(clippy::option_option, reason = "no time at all is not the same as no wait")]
fn spoken(word: &str, now: &Zoned) -> Option<Option<Moment>> {
    let hour = now.hour();
    let (is_now, opens, ahead) = match word {
        "day-time" => ((6..18).contains(&hour), 6, i64::from(hour >= 18)),
        "evening" | "night" => (!(6..18).contains(&hour), 18, 0),
        "second-shift" => (hour >= 16, 16, 0),
        "third-shift" => (hour < 8, 0, 1),
        _ => {
            let day = now.weekday();
            let is_friday_night = day == Weekday::Friday && hour >= 18;
            let is_now = matches!(day, Weekday::Saturday | Weekday::Sunday) || is_friday_night;
            (is_now, 18, i64::from(day.until(Weekday::Friday)))
        }
    };
    if is_now {
        return Some(None);
    }
    let day = now.date().checked_add(SignedDuration::from_hours(24 * ahead)).ok()?;
    let at = day.at(opens, 0, 0, 0).to_zoned(now.time_zone().clone()).ok()?;
    moment(at.timestamp()).map(Some)
}

/// Parses a time of day: hours and minutes, and optional seconds.
fn time_of_day(text: &str) -> Option<Time> {
    let mut parts = text.split(':').map(|part| {
        let is_number =
            (1..=2).contains(&part.len()) && part.bytes().all(|one| one.is_ascii_digit());
        is_number.then(|| part.parse::<i8>().ok()).flatten()
    });
    let (hour, minute) = (parts.next()??, parts.next()??);
    let second = match parts.next() {
        Some(second) => second?,
        None => 0,
    };
    if parts.next().is_some() {
        return None;
    }
    Time::new(hour, minute, second, 0).ok()
}

/// Returns the next moment of that time of day in UTC; `Some(None)` if it is now.
#[allow(clippy::option_option, reason = "no time at all is not the same as no wait")]
fn next_in_utc(time: Time, now: Moment) -> Option<Option<Moment>> {
    let clock = zoned(now, &TimeZone::fixed(Offset::UTC))?;
    let today = clock.date().to_datetime(time).to_zoned(TimeZone::fixed(Offset::UTC)).ok()?;
    let today = moment(today.timestamp())?;
    Some(match today.seconds().cmp(&now.seconds()) {
        std::cmp::Ordering::Equal => None,
        std::cmp::Ordering::Greater => Some(today),
        std::cmp::Ordering::Less => Some(Moment(today.0 + DAY)),
    })
}

/// Milliseconds in a day. UTC has no daylight saving time.
const DAY: u64 = 24 * 3_600 * 1_000;

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    /// Converts a local time, one hour ahead of UTC, to a moment.
    fn at(text: &str) -> Moment {
        let there: jiff::civil::DateTime = text.parse().unwrap();
        moment(there.to_zoned(place()).unwrap().timestamp()).unwrap()
    }

    fn place() -> TimeZone {
        TimeZone::fixed(Offset::constant(1))
    }

    /// Returns the local time until which a job of that moment is held.
    fn held(word: &str, now: &str) -> String {
        match HoldUntil::new(word, at(now), &place()) {
            None => "not understood".to_owned(),
            Some(HoldUntil::NoHold) => "no".to_owned(),
            Some(HoldUntil::Held(Hold { until: None, .. })) => "for ever".to_owned(),
            Some(HoldUntil::Held(Hold { until: Some(until), word: kept })) => {
                assert_eq!(&*kept, word);
                zoned(until, &place()).unwrap().strftime("%a %d %H:%M:%S").to_string()
            }
        }
    }

    #[test]
    fn words_are_the_hours_of_the_place() {
        // 2026-11-26 is a Thursday.
        let table = [
            ("no-hold", "2026-11-26T12:00", "no"),
            ("indefinite", "2026-11-26T12:00", "for ever"),
            ("day-time", "2026-11-26T05:59", "Thu 26 06:00:00"),
            ("day-time", "2026-11-26T06:00", "no"),
            ("day-time", "2026-11-26T17:59", "no"),
            ("day-time", "2026-11-26T18:00", "Fri 27 06:00:00"),
            ("evening", "2026-11-26T12:30", "Thu 26 18:00:00"),
            ("night", "2026-11-26T12:30", "Thu 26 18:00:00"),
            ("night", "2026-11-26T05:00", "no"),
            ("second-shift", "2026-11-26T15:59:59", "Thu 26 16:00:00"),
            ("second-shift", "2026-11-26T16:00", "no"),
            ("third-shift", "2026-11-26T09:00", "Fri 27 00:00:00"),
            ("third-shift", "2026-11-26T07:59", "no"),
            ("weekend", "2026-11-26T09:00", "Fri 27 18:00:00"),
            ("weekend", "2026-11-27T17:00", "Fri 27 18:00:00"),
            ("weekend", "2026-11-27T18:00", "no"),
            ("weekend", "2026-11-29T23:59", "no"),
            ("weekend", "2026-11-30T00:00", "Fri 04 18:00:00"),
        ];
        for (word, now, wanted) in table {
            assert_eq!(held(word, now), wanted, "{word} at {now}");
        }
    }

    #[test]
    fn a_time_of_the_day_is_the_next_one_in_utc() {
        let table = [
            ("23:59", "2026-11-26T12:00", "Fri 27 00:59:00"),
            ("11:00", "2026-11-26T12:00", "no"),
            ("10:59", "2026-11-26T12:00", "Fri 27 11:59:00"),
            ("11:00:01", "2026-11-26T12:00", "Thu 26 12:00:01"),
            ("9:05", "2026-11-26T09:00", "Thu 26 10:05:00"),
            ("00:00", "2026-11-26T12:00", "Fri 27 01:00:00"),
        ];
        for (word, now, wanted) in table {
            assert_eq!(held(word, now), wanted, "{word} at {now}");
        }
    }

    #[test]
    fn what_is_no_time_is_not_understood() {
        let words = [
            "",
            "soon",
            "24:00",
            "23:60",
            "12",
            "12:",
            ":30",
            "-1:00",
            "+1:00",
            "1:2:3:4",
            "012:00",
            "12:00 ",
            "auth-info-required",
            "No-Hold",
        ];
        for word in words {
            assert_eq!(held(word, "2026-11-26T12:00"), "not understood", "{word:?}");
        }
    }
}
