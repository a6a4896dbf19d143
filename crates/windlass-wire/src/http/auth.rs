//! HTTP authentication (RFC 9110, section 11; RFC 7617): challenges and credentials.

use data_encoding::BASE64;

/// Maximum length of a name and a password together, in bytes.
pub const MAX_CREDENTIALS: usize = 1_024;

/// Maximum number of challenges of a response that are read.
const MAX_CHALLENGES: usize = 16;

/// A challenge: an authentication scheme that the server accepts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Challenge {
    /// Name of the scheme, such as `Basic`.
    pub scheme: String,
    /// Parameters, without quotation marks.
    pub parameters: Vec<(String, String)>,
}

impl Challenge {
    /// Reads the challenges of a `WWW-Authenticate`, of which one line may have several. Invalid
    /// parts are skipped.
    pub fn all(value: &str) -> Vec<Self> {
        let mut all: Vec<Self> = Vec::new();
        for part in parts(value) {
            let part = part.trim();
            let (first, rest) = part.split_once([' ', '\t']).unwrap_or((part, ""));
            // A scheme stands alone or before its first parameter. A parameter has its equals sign
            // right behind its name.
            let parameter = if first.contains('=') || first.is_empty() {
                part
            } else {
                if all.len() == MAX_CHALLENGES {
                    break;
                }
                all.push(Self { scheme: first.to_owned(), parameters: Vec::new() });
                rest.trim()
            };
            if let (Some(last), Some((name, value))) = (all.last_mut(), parameter.split_once('=')) {
                let value = value.trim();
                let bare = value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
                let value = bare.map_or_else(|| value.to_owned(), |bare| bare.replace('\\', ""));
                last.parameters.push((name.trim().to_owned(), value));
            }
        }
        all
    }

    /// Returns whether the challenge has this scheme.
    pub fn is(&self, scheme: &str) -> bool {
        self.scheme.eq_ignore_ascii_case(scheme)
    }

    /// Returns the value of a parameter.
    pub fn parameter(&self, name: &str) -> Option<&str> {
        let found = self.parameters.iter().find(|(own, _)| own.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }
}

/// Splits a value at the commas outside quotation marks.
fn parts(value: &str) -> impl Iterator<Item = &str> {
    let (mut is_quoted, mut is_escaped) = (false, false);
    value.split(move |letter| {
        let was_escaped = std::mem::replace(&mut is_escaped, false);
        match letter {
            '\\' if is_quoted => is_escaped = !was_escaped,
            '"' if !was_escaped => is_quoted = !is_quoted,
            _ => {}
        }
        letter == ',' && !is_quoted
    })
}

/// Encodes a user and a password for `Authorization`.
pub fn basic(user: &str, password: &str) -> String {
    format!("Basic {}", BASE64.encode(format!("{user}:{password}").as_bytes()))
}

/// Decodes the user and the password of an `Authorization`. Returns `None` for another scheme or an
/// invalid value.
pub fn basic_of(value: &str) -> Option<(String, String)> {
    let (scheme, rest) = value.trim().split_once(' ')?;
    let rest = rest.trim();
    if !scheme.eq_ignore_ascii_case("Basic") || rest.len() > MAX_CREDENTIALS * 4 / 3 + 4 {
        return None;
    }
    let text = String::from_utf8(BASE64.decode(rest.as_bytes()).ok()?).ok()?;
    // A password may have colons, a name none (RFC 7617, section 2).
    let (user, password) = text.split_once(':')?;
    Some((user.to_owned(), password.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn said(value: &str) -> Vec<String> {
        let words = |one: &Challenge| {
            let all = one.parameters.iter().map(|(name, value)| format!(" {name}={value}"));
            format!("{}{}", one.scheme, all.collect::<String>())
        };
        Challenge::all(value).iter().map(words).collect()
    }

    #[test]
    fn challenges_are_told_apart() {
        // Answers of cupsd 2.4 over TCP, and over its Unix socket.
        assert_eq!(
            said("Basic realm=\"CUPS\", Local trc=\"y\""),
            ["Basic realm=CUPS", "Local trc=y"]
        );
        assert_eq!(
            said("Basic realm=\"CUPS\", PeerCred, Local trc=\"y\""),
            ["Basic realm=CUPS", "PeerCred", "Local trc=y"]
        );
        assert_eq!(said("Negotiate"), ["Negotiate"]);
        assert_eq!(
            said("Digest realm=\"a, \\\"b\\\"\", nonce=x,qop=\"auth,auth-int\", Basic realm=c"),
            ["Digest realm=a, \"b\" nonce=x qop=auth,auth-int", "Basic realm=c"]
        );
        assert_eq!(said(""), [""; 0]);
        assert_eq!(said("=,,,\"=\","), [""; 0]);
        let local = &Challenge::all("local TRC=y")[0];
        assert!(local.is("Local") && local.parameter("trc") == Some("y"));
    }

    #[test]
    fn names_and_passwords_go_there_and_back() {
        assert_eq!(basic("Aladdin", "open sesame"), "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
        let pair = |user: &str, password: &str| Some((user.to_owned(), password.to_owned()));
        assert_eq!(basic_of(&basic("ann", "a:b:ü")), pair("ann", "a:b:ü"));
        assert_eq!(basic_of("basic  YTpi "), pair("a", "b"));
        for wrong in ["", "Basic", "Basic ", "Basic !!", "Basic YWI=", "Bearer YTpi", "Basic gDph"]
        {
            assert_eq!(basic_of(wrong), None, "{wrong:?}");
        }
        assert_eq!(basic_of(&basic("a", &"b".repeat(9_000))), None);
    }

    proptest! {
        #[test]
        fn any_text_is_challenges(text in "[a-zB \",=\\\\]{0,60}") {
            prop_assert!(Challenge::all(&text).len() <= MAX_CHALLENGES);
            let _ = basic_of(&text);
        }
    }
}
