//! Figures as short as those of vmstat, so that columns keep their widths.

use windlass_base::figures::fixed;
use windlass_host::columns::Unit;

use crate::{Text, figures};

/// Returns bytes in at most five columns: `823M`, `98.7M`, `0`. The letters are powers of 1,024.
pub fn bytes(bytes: f64) -> String {
    scaled(bytes, 1_024.0, &["", "K", "M", "G", "T", "P", "E"])
}

/// Returns a count in at most five columns: `12345`, `123k`.
pub fn count(count: f64) -> String {
    if count < 99_999.5 {
        fixed(count.max(0.0), 0)
    } else {
        scaled(count, 1_000.0, &["", "k", "M", "G", "T", "P", "E"])
    }
}

fn scaled(mut value: f64, thousand: f64, units: &[&str]) -> String {
    let mut unit = 0;
    while value >= 999.5 && unit + 1 < units.len() {
        value /= thousand;
        unit += 1;
    }
    let places = usize::from(unit > 0 && value < 99.95);
    format!("{}{}", fixed(value, places), units[unit])
}

/// Returns a share in three columns, in hundredths: `43`.
pub(super) fn hundredths(share: f64) -> String {
    fixed((share * 100.0).clamp(0.0, 99_999.0), 0)
}

/// Returns a small number: `0.3`, `12.5`, `1234`.
pub(super) fn few(value: f64) -> String {
    let places = usize::from(value < 99.95);
    if value < 99_999.5 { fixed(value, places) } else { count(value) }
}

/// Returns a time in milliseconds: `0.21`, `12.5`, `1234`.
pub fn millis(seconds: f64) -> String {
    let ms = seconds * 1e3;
    if ms < 9.995 { fixed(ms, 2) } else { few(ms) }
}

/// Returns a figure with its unit, for the summary.
pub(super) fn with_unit(value: f64, unit: Unit) -> Text {
    match unit {
        Unit::Count | Unit::PerSecond => Text::from(few(value)),
        Unit::Bytes => Text::from(bytes(value)),
        Unit::BytesPerSecond => Text::from(format!("{}/s", bytes(value))),
        Unit::Seconds => Text::whole(&format!("{} ms", millis(value))),
        Unit::Share => figures::percent(value),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn figures_are_short() {
        let read = [0.0, 512.0, 999.0, 1_000.0, 1_536.0, 101_376.0, 1_023_000.0, 25e9];
        let read: Vec<String> = read.iter().map(|value| bytes(*value)).collect();
        assert_eq!(read, ["0", "512", "999", "1.0K", "1.5K", "99.0K", "999K", "23.3G"]);
        assert_eq!([0.4, 99_999.0, 123_456.0].map(count), ["0", "99999", "123k"]);
        assert_eq!([0.0, 0.434, 1.0].map(hundredths), ["0", "43", "100"]);
        assert_eq!([0.26, 12.53, 1_234.4].map(few), ["0.3", "12.5", "1234"]);
        assert_eq!([0.000_21, 0.012_5, 1.234].map(millis), ["0.21", "12.5", "1234"]);
    }

    proptest! {
        #[test]
        fn no_figure_is_wider_than_its_column(value in 0.0..1e19_f64) {
            prop_assert!(bytes(value).len() <= 5, "{}", bytes(value));
            prop_assert!(count(value).len() <= 5, "{}", count(value));
            prop_assert!(few(value).len() <= 5, "{}", few(value));
        }
    }
}
