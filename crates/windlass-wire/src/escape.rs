//! What URIs may not hold, and how they hold it (RFC 3986, section 2.1).

/// What stands for itself everywhere (section 2.3).
const UNRESERVED: &[u8] = b"-._~";

/// A path with what may not be in it escaped (section 3.3). A percent sign is of an
/// escape already, or the user's own mistake.
pub fn path(path: &str) -> String {
    escaped(path, b"/-._~!$&'()*+,;=:@%?")
}

/// A name as one segment of a path: nothing of it reads as anything else.
pub fn segment(name: &str) -> String {
    escaped(name, UNRESERVED)
}

/// A text with all bytes escaped but letters, digits and these.
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

/// The text that was escaped. What is no escape stays as it is.
pub fn undone(text: &str) -> String {
    let (mut out, mut rest) = (Vec::with_capacity(text.len()), text.as_bytes());
    while let Some((&first, after)) = rest.split_first() {
        // A sign would be read as part of a number.
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
