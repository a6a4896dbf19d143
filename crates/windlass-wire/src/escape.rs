//! Percent-encoding of URIs (RFC 3986, section 2.1).

/// Signs that are never encoded (section 2.3).
const UNRESERVED: &[u8] = b"-._~";

/// Percent-encodes a path (section 3.3). A percent sign stays: it belongs to an existing escape, or
/// is the user's own mistake.
pub fn path(path: &str) -> String {
    escaped(path, b"/-._~!$&'()*+,;=:@%?")
}

/// Percent-encodes a name as one segment of a path.
pub fn segment(name: &str) -> String {
    escaped(name, UNRESERVED)
}

/// Percent-encodes all bytes of a text except letters, digits and `fine`.
fn escaped(text: &str, fine: &[u8]) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || fine.contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

/// Decodes a percent-encoded text. Invalid escapes stay as they are.
pub fn undone(text: &str) -> String {
    let (mut out, mut rest) = (Vec::with_capacity(text.len()), text.as_bytes());
    while let Some((&first, after)) = rest.split_first() {
        // A sign would be parsed as part of a number.
        let digits = after.get(..2).filter(|two| two.iter().all(u8::is_ascii_hexdigit));
        let digits = digits.and_then(|two| std::str::from_utf8(two).ok());
        match digits.and_then(|two| u8::from_str_radix(two, 16).ok()) {
            Some(byte) if first == b'%' => {
                out.push(byte);
                rest = &after[2..];
            }
            _ => {
                out.push(first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_back_as_they_were() {
        for name in ["a", "a b", "a/b?c#d", "100%", "%41", "ü", "%+5"] {
            assert_eq!(undone(&segment(name)), name);
        }
        assert_eq!(segment("a/ü"), "a%2F%C3%BC");
        assert_eq!(path("/a/ü"), "/a/%C3%BC");
    }

    #[test]
    fn what_is_no_escape_stays() {
        for text in ["%", "%4", "%zz", "%+5", "% 5"] {
            assert_eq!(undone(text), text);
        }
    }
}
