//! Numbers in the text of printer languages.

/// Reads the number at the start of a text, behind spaces. Returns `None` if there is none, or if
/// it has more than nine digits.
pub(super) fn first(text: &[u8]) -> Option<u32> {
    let text = text.trim_ascii_start();
    let digits = text.iter().take_while(|one| one.is_ascii_digit()).count();
    if digits == 0 || digits > 9 {
        return None;
    }
    std::str::from_utf8(&text[..digits]).ok()?.parse().ok()
}
