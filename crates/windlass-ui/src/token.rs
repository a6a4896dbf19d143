//! Secret in the address of the server.

use std::fmt::Write;
use std::io;

/// Number of random bytes: 160 bits.
const LENGTH: usize = 20;

/// Random secret, as hexadecimal digits. Anyone with the token may do everything that the pages
/// offer.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl Token {
    /// Creates a new token.
    ///
    /// # Errors
    /// Returns an error if the system has no random numbers.
    pub fn by_chance() -> io::Result<Self> {
        let mut bytes = [0; LENGTH];
        getrandom::fill(&mut bytes).map_err(io::Error::other)?;
        let mut text = String::with_capacity(2 * LENGTH);
        for byte in bytes {
            // Writing to a string always succeeds.
            let _ = write!(text, "{byte:02x}");
        }
        Ok(Self(text))
    }

    /// Returns the digits of the token.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns whether a text is the token, in constant time.
    pub fn is(&self, text: &str) -> bool {
        let pairs = self.0.bytes().zip(text.bytes());
        let differs = pairs.fold(0, |differs, (one, other)| differs | (one ^ other));
        text.len() == self.0.len() && std::hint::black_box(differs) == 0
    }
}

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_itself_and_nothing_else() {
        let token = Token::by_chance().unwrap();
        assert_eq!(token.as_str().len(), 40);
        assert_ne!(token, Token::by_chance().unwrap());
        assert!(token.is(token.as_str()));
        let mut other = token.as_str().to_owned();
        other.pop();
        assert!(!token.is(&other), "the beginning is not enough");
        other.push('g');
        assert!(!token.is(&other) && !token.is("") && !token.is(&format!("{}0", token.as_str())));
        assert_eq!(format!("{token:?}"), "Token(…)");
    }
}
