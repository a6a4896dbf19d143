//! A day, in the forms that names of files and folders use.

use jiff::civil;

/// A day of the Gregorian calendar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Date(civil::Date);

impl Date {
    /// Parses a day: `2026-11-23`, `2026_11_23`, `2026.11.23` or `20261123`. Returns `None` if the
    /// text is no day.
    pub fn named(text: &str) -> Option<Self> {
        let bytes = text.as_bytes();
        let digits: Vec<u8> = match bytes {
            [_, _, _, _, one, _, _, two, _, _] if one == two && b"-_.".contains(one) => {
                [&bytes[..4], &bytes[5..7], &bytes[8..]].concat()
            }
            [_, _, _, _, _, _, _, _] => bytes.to_vec(),
            _ => return None,
        };
        let number = |of: &[u8]| {
            of.iter().try_fold(0_i16, |number, digit| {
                digit.is_ascii_digit().then(|| number * 10 + i16::from(digit - b'0'))
            })
        };
        let small = |of: &[u8]| number(of).and_then(|number| i8::try_from(number).ok());
        let (year, month, day) =
            (number(&digits[..4])?, small(&digits[4..6])?, small(&digits[6..])?);
        civil::Date::new(year, month, day).ok().map(Self)
    }

    /// Returns the days since 1970-01-01.
    pub fn days(self) -> i32 {
        let epoch = civil::Date::constant(1970, 1, 1);
        self.0.since((jiff::Unit::Day, epoch)).map_or(0, |span| span.get_days())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_is_read_in_any_of_its_forms() {
        for text in ["2026-11-23", "2026_11_23", "2026.11.23", "20261123"] {
            assert_eq!(Date::named(text).map(Date::days), Some(20_780), "{text}");
        }
        assert_eq!(Date::named("1970-01-01").map(Date::days), Some(0));
        assert_eq!(Date::named("1969-12-31").map(Date::days), Some(-1));
        let wrong =
            ["", "2026-11-31", "2026-1-23", "2026-11.23", "20261301", "2026/11/23", "+0261123"];
        for text in wrong.into_iter().chain(["２０２６", "2026-11-2x", "today"]) {
            assert_eq!(Date::named(text), None, "{text}");
        }
    }
}
