//! Digits of numbers, for types and figures alike.

/// Returns digits with thousands separated.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3 + 2);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Formats a number with three significant figures, or with four if it is below 1,000 and begins
/// with 1, so that neighbours can be told apart.
pub(crate) fn significant(value: f64) -> String {
    trimmed(
        value,
        match value.abs() {
            v if v < 1.0 => 3,
            v if v < 10.0 => 2,
            v if v < 200.0 => 1,
            _ => 0,
        },
    )
}

/// Formats a number with at most this many decimal places, without zeros at its end.
pub(crate) fn trimmed(value: f64, places: usize) -> String {
    let text = format!("{value:.places$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}
