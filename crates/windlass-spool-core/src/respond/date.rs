//! Dates as IPP has them (RFC 8011, section 5.1.15).

use jiff::Timestamp;
use jiff::tz::Offset;
use windlass_wire::ipp::Value;

use crate::moment::Moment;

/// A moment as SNMP's `DateAndTime` (RFC 2579), in UTC.
pub(super) fn date(moment: Moment) -> Value {
    let at = i64::try_from(moment.0).ok().and_then(|at| Timestamp::from_millisecond(at).ok());
    let at = Offset::UTC.to_datetime(at.unwrap_or(Timestamp::MAX));
    let [high, low] = at.year().to_be_bytes();
    let [month, day, hours, minutes, seconds, tenths] =
        [at.month(), at.day(), at.hour(), at.minute(), at.second(), (at.millisecond() / 100) as i8]
            .map(i8::unsigned_abs);
    Value::DateTime([high, low, month, day, hours, minutes, seconds, tenths, b'+', 0, 0])
}
