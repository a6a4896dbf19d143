//! Token that both ends know and neither sends.
//!
//! The server sends a number that it never uses again. The client answers with the HMAC-SHA-256
//! (RFC 2104) of this number under the token. An eavesdropper learns neither the token nor an
//! answer that is valid for another test. The later data is not encrypted: it is measured data.

use std::fmt;

use hmac::{Hmac, KeyInit, Mac};
use serde::{Deserialize, Serialize};
use sha2::Sha256;

use super::preamble::{hex, unhex};

/// A secret that the users of a server share.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(Vec<u8>);

/// Hides the secret, because this text may end up in messages.
impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

/// The challenge of a server that requires a token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Nonce(String);

impl Nonce {
    /// Makes a nonce from random bytes.
    pub fn new(random: [u8; 16]) -> Self {
        Self(hex(&random))
    }
}

impl Token {
    /// Reads a token from text; surrounding white space does not count.
    pub fn new(text: &str) -> Option<Self> {
        let text = text.trim();
        (!text.is_empty()).then(|| Self(text.as_bytes().to_vec()))
    }

    fn mac(&self, nonce: &Nonce) -> Option<Hmac<Sha256>> {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).ok()?;
        mac.update(nonce.0.as_bytes());
        Some(mac)
    }

    /// Returns the answer to `nonce`.
    pub fn proof(&self, nonce: &Nonce) -> String {
        hex(&self.mac(nonce).map(|mac| mac.finalize().into_bytes()).unwrap_or_default())
    }

    /// Returns whether `proof` answers `nonce`. The comparison takes the same time for each wrong
    /// proof.
    pub fn accepts(&self, nonce: &Nonce, proof: &str) -> bool {
        let (Some(mac), Some(proof)) = (self.mac(nonce), unhex::<32>(proof)) else {
            return false;
        };
        mac.verify_slice(&proof).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_who_knows_the_token_answers() {
        let nonce = Nonce::new([9; 16]);
        let token = Token::new(" sesame\n").unwrap();
        let proof = token.proof(&nonce);
        assert!(Token::new("sesame").unwrap().accepts(&nonce, &proof));
        assert!(!Token::new("Sesame").unwrap().accepts(&nonce, &proof));
        assert!(!token.accepts(&Nonce::new([8; 16]), &proof), "an answer is good once");
        assert!(!token.accepts(&nonce, "") && !token.accepts(&nonce, "zz"));
        assert_eq!(Token::new(" \n"), None);
        assert_eq!(format!("{token:?}"), "Token(…)");
    }

    #[test]
    fn the_answer_is_hmac_sha_256() {
        // RFC 4231, test case 2, with its data as the nonce.
        let nonce = Nonce("what do ya want for nothing?".to_owned());
        assert_eq!(
            Token::new("Jefe").unwrap().proof(&nonce),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        );
    }
}
