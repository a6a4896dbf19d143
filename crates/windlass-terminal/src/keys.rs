//! Keys, in the bytes that a terminal sends for them.

use crate::scene::Key;

/// Maximum length of a sequence in bytes; a longer one is no key.
const LONGEST: usize = 16;

const ESCAPE: u8 = 0x1b;
const CTRL_L: u8 = 0x0c;

/// Bytes on their way to keys. A sequence may come in several pieces.
#[derive(Debug, Default)]
pub(crate) struct Keys {
    waiting: Vec<u8>,
}

impl Keys {
    /// Returns the keys that these bytes complete. Bytes that are no key are passed over.
    pub(crate) fn take(&mut self, bytes: &[u8]) -> Vec<Key> {
        bytes.iter().filter_map(|byte| self.byte(*byte)).collect()
    }

    /// Ends a sequence after a pause: the escape was a key of its own.
    pub(crate) fn pause(&mut self) {
        self.waiting.clear();
    }

    fn byte(&mut self, byte: u8) -> Option<Key> {
        if byte == ESCAPE {
            self.waiting = vec![ESCAPE];
            return None;
        }
        if self.waiting.is_empty() {
            return match byte {
                CTRL_L => Some(Key::Redraw),
                b' '..=b'~' => Some(Key::Letter(char::from(byte))),
                _ => None,
            };
        }
        self.waiting.push(byte);
        // `ESC [` has parameters up to a letter or a tilde, `ESC O` one letter.
        let goes_on = match self.waiting.as_slice() {
            [_, b'[' | b'O'] => true,
            [_, b'[', .., last] => !(0x40..=0x7e).contains(last),
            _ => false,
        };
        if goes_on && self.waiting.len() < LONGEST {
            return None;
        }
        match std::mem::take(&mut self.waiting).as_slice() {
            [_, b'[' | b'O', b'A'] => Some(Key::Up),
            [_, b'[' | b'O', b'B'] => Some(Key::Down),
            [_, b'[' | b'O', b'H'] | [_, b'[', b'1' | b'7', b'~'] => Some(Key::Home),
            [_, b'[' | b'O', b'F'] | [_, b'[', b'4' | b'8', b'~'] => Some(Key::End),
            [_, b'[', b'5', b'~'] => Some(Key::PageUp),
            [_, b'[', b'6', b'~'] => Some(Key::PageDown),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(bytes: &[u8]) -> Vec<Key> {
        Keys::default().take(bytes)
    }

    #[test]
    fn letters_and_sequences_are_keys() {
        let letters = [Key::Letter('q'), Key::Letter(' ')];
        assert_eq!(keys(b"q "), letters);
        assert_eq!(keys(b"\x1b[A\x1bOB"), [Key::Up, Key::Down]);
        assert_eq!(keys(b"\x1b[5~\x1b[6~"), [Key::PageUp, Key::PageDown]);
        assert_eq!(keys(b"\x1b[H\x1b[4~\x0c"), [Key::Home, Key::End, Key::Redraw]);
    }

    #[test]
    fn a_sequence_may_come_in_pieces() {
        let mut keys = Keys::default();
        assert_eq!(keys.take(b"\x1b"), []);
        assert_eq!(keys.take(b"["), []);
        assert_eq!(keys.take(b"Bj"), [Key::Down, Key::Letter('j')]);
        // Escape alone, and a letter later.
        assert_eq!(keys.take(b"\x1b"), []);
        keys.pause();
        assert_eq!(keys.take(b"q"), [Key::Letter('q')]);
    }

    #[test]
    fn what_is_no_key_is_passed_over() {
        assert_eq!(keys(b"\x1b[1;5C\x1b[?1;2c\xc3\xa9\x00\x7fq"), [Key::Letter('q')]);
        assert_eq!(keys(b"\x1bxq"), [Key::Letter('q')]);
        let endless = [b"\x1b[".as_slice(), &[b'1'; 100_000]].concat();
        let mut hostile = Keys::default();
        // Bytes behind the longest sequence are digits again.
        assert!(hostile.take(&endless).iter().all(|key| *key == Key::Letter('1')));
        assert!(hostile.waiting.len() < LONGEST);
    }
}
