//! Short patterns for many queues: `dummy{0..279}`.

/// Maximum number of queues. CUPS servers with some 6,000 are known.
pub const MAX_QUEUES: usize = 100_000;

/// Maximum number of letters of a name.
const MAX_LETTERS: usize = 1_024;

/// Error of a pattern.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    /// The braces do not match.
    #[error("the braces do not match")]
    Brace,
    /// The braces are empty.
    #[error("the braces are empty: write a range such as {{0..279}}, or names such as {{a,b}}")]
    Empty,
    /// A range that ends before it begins.
    #[error("the range ends before it begins: write {1}..{0}")]
    Backwards(u64, u64),
    /// There are too many names, or one is too long.
    #[error("more than {MAX_QUEUES} queues, or a name of more than {MAX_LETTERS} letters")]
    TooMany,
    /// A name occurs twice.
    #[error("the queue {0} is named twice")]
    Twice(String),
}

/// Returns the names of a list: names and patterns separated by commas, or a single range.
///
/// ```
/// use windlass_print::load::names;
///
/// assert_eq!(names("dummy{8..10},x")?, ["dummy8", "dummy9", "dummy10", "x"]);
/// assert_eq!(names("1..3")?, ["1", "2", "3"]);
/// # Ok::<(), windlass_print::load::PatternError>(())
/// ```
///
/// # Errors
/// Fails if the list is invalid.
pub fn names(list: &str) -> Result<Vec<String>, PatternError> {
    let mut all = Vec::new();
    for part in parts(list)? {
        let found = match range(part) {
            Some(range) => range?,
            None => expand(part)?,
        };
        if all.len() + found.len() > MAX_QUEUES {
            return Err(PatternError::TooMany);
        }
        all.extend(found);
    }
    if all.iter().any(String::is_empty) {
        return Err(PatternError::Empty);
    }
    let mut sorted: Vec<&String> = all.iter().collect();
    sorted.sort_unstable();
    match sorted.windows(2).find(|two| two[0] == two[1]) {
        Some(two) => Err(PatternError::Twice(two[0].clone())),
        None => Ok(all),
    }
}

/// Returns all texts of a pattern, in the order of its braces from the left.
///
/// # Errors
/// Fails if the pattern is invalid.
pub fn expand(pattern: &str) -> Result<Vec<String>, PatternError> {
    let mut all = vec![String::new()];
    let mut rest = pattern;
    while let Some(at) = rest.find(['{', '}']) {
        let (before, from) = rest.split_at(at);
        let inner = from.strip_prefix('{').ok_or(PatternError::Brace)?;
        let end = inner.find(['{', '}']).ok_or(PatternError::Brace)?;
        let (choice, after) = inner.split_at(end);
        rest = after.strip_prefix('}').ok_or(PatternError::Brace)?;
        let choices = match range(choice) {
            Some(range) => range?,
            None if choice.is_empty() => return Err(PatternError::Empty),
            None => choice.split(',').map(ToOwned::to_owned).collect(),
        };
        if all.len().saturating_mul(choices.len()) > MAX_QUEUES {
            return Err(PatternError::TooMany);
        }
        let joined = all
            .iter()
            .flat_map(|head| choices.iter().map(move |choice| format!("{head}{before}{choice}")));
        all = joined.collect();
        // Consecutive braces could make texts ever longer.
        if all.first().is_some_and(|text| text.len() > MAX_LETTERS) {
            return Err(PatternError::TooMany);
        }
    }
    all.iter_mut().for_each(|text| text.push_str(rest));
    if all.iter().any(|text| text.len() > MAX_LETTERS) {
        return Err(PatternError::TooMany);
    }
    Ok(all)
}

/// Splits a list at the commas outside braces.
fn parts(list: &str) -> Result<Vec<&str>, PatternError> {
    let (mut parts, mut from, mut inside) = (Vec::new(), 0, false);
    for (at, letter) in list.char_indices() {
        match letter {
            '{' if inside => return Err(PatternError::Brace),
            '{' => inside = true,
            '}' => inside = false,
            ',' if !inside => {
                parts.push(&list[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&list[from..]);
    Ok(parts)
}

/// Returns the numbers of a range such as `0..279`; nothing for another text.
fn range(text: &str) -> Option<Result<Vec<String>, PatternError>> {
    let (first, last) = text.split_once("..")?;
    let is_number = |text: &str| {
        (1..=9).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
    };
    if !is_number(first) || !is_number(last) {
        return None;
    }
    let (from, to): (u64, u64) = (first.parse().ok()?, last.parse().ok()?);
    if to < from {
        return Some(Err(PatternError::Backwards(from, to)));
    }
    if to - from >= MAX_QUEUES as u64 {
        return Some(Err(PatternError::TooMany));
    }
    // With a leading zero, all numbers have the same width.
    let width = if first.len() > 1 && first.starts_with('0') { first.len() } else { 1 };
    Some(Ok((from..=to).map(|number| format!("{number:0width$}")).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn braces_stand_for_names() {
        let of = |text: &str| names(text).unwrap().join(" ");
        assert_eq!(of("dummy"), "dummy");
        assert_eq!(of("1..3"), "1 2 3");
        assert_eq!(of("a,b{1,2}"), "a b1 b2");
        assert_eq!(of("q{08..11}"), "q08 q09 q10 q11");
        assert_eq!(of("{a,b}{0..1}x"), "a0x a1x b0x b1x");
        assert_eq!(of("1..2,lp"), "1 2 lp");
        assert_eq!(of("a..b"), "a..b");
        assert_eq!(names("dummy{0..279}").unwrap().len(), 280);
        let uri = expand("ipp://[::1]:631/printers/d{7..8}").unwrap();
        assert_eq!(uri, ["ipp://[::1]:631/printers/d7", "ipp://[::1]:631/printers/d8"]);
    }

    #[test]
    fn what_stands_for_nothing_is_told() {
        let wrong = |text: &str| names(text).unwrap_err();
        for text in ["a{1..2", "a}1", "a{b{1..2}}", "}{"] {
            assert_eq!(wrong(text), PatternError::Brace, "{text}");
        }
        for text in ["", "a,,b", "a{}", "{a,}"] {
            assert_eq!(wrong(text), PatternError::Empty, "{text}");
        }
        assert_eq!(wrong("9..3"), PatternError::Backwards(9, 3));
        assert_eq!(
            PatternError::Backwards(9, 3).to_string().split(": ").last(),
            Some("write 3..9")
        );
        assert_eq!(wrong("a,b,a"), PatternError::Twice("a".into()));
        assert_eq!(wrong("1..999999999"), PatternError::TooMany);
        assert_eq!(wrong("{1..9999}{1..9999}"), PatternError::TooMany);
        assert_eq!(wrong(&"x".repeat(2_000)), PatternError::TooMany);
    }

    proptest! {
        #[test]
        fn any_text_is_names_or_an_error(text in "[a-c0-9{}.,]{0,40}") {
            if let Ok(names) = names(&text) {
                prop_assert!(!names.is_empty() && names.len() <= MAX_QUEUES);
            }
        }
    }
}
