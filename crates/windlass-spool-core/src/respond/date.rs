//! Dates as IPP has them (RFC 8011, section 5.1.15).

use windlass_wire::ipp::Value;

use crate::job::Moment;

/// A moment as SNMP's `DateAndTime` (RFC 2579), in UTC.
pub(super) fn date(moment: Moment) -> Value {
    let seconds = moment.seconds();
    let (days, of_day) = (seconds / 86_400, seconds % 86_400);
    // Days to a date of the Gregorian calendar: Hinnant's days_from_civil the
    // other way round, in eras of 400 years from 0000-03-01.
    let days = days + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let shifted = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year + era * 400 + u64::from(month <= 2);
    let year = u16::try_from(year).unwrap_or(u16::MAX).to_be_bytes();
    let byte = |number: u64| u8::try_from(number).unwrap_or(u8::MAX);
    let tenths = byte(moment.0 % 1_000 / 100);
    let (hours, minutes) = (byte(of_day / 3_600), byte(of_day % 3_600 / 60));
    Value::DateTime([
        year[0],
        year[1],
        byte(month),
        byte(day),
        hours,
        minutes,
        byte(of_day % 60),
        tenths,
        b'+',
        0,
        0,
    ])
}
