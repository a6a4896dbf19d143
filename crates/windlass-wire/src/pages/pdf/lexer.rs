//! The words of PDF (ISO 32000-1, section 7.2), byte by byte.

/// The longest word that is kept whole. Those that count are shorter.
const KEPT: usize = 32;

/// A word of PDF.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token<'a> {
    /// A whole number.
    Number(i64),
    /// A name, without its slash.
    Name(&'a [u8]),
    /// `obj`, `R`, `true` and the like.
    Word(&'a [u8]),
    OpenDictionary,
    CloseDictionary,
    OpenArray,
    CloseArray,
    /// A text, a number with a fraction, a word that is too long.
    Other,
}

/// Makes words of bytes.
#[derive(Clone, Debug, Default)]
pub(super) struct Lexer {
    at: At,
    held: Vec<u8>,
    is_too_long: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum At {
    #[default]
    Space,
    Name,
    Word,
    Comment,
    Text {
        depth: u32,
        is_escaped: bool,
    },
    Hexadecimal,
    /// Behind `<` or `>`, which may be one of two.
    Less,
    Greater,
}

impl Lexer {
    /// Takes a byte. It may end a word and be one itself.
    pub(super) fn take(&mut self, byte: u8, told: &mut impl FnMut(Token<'_>)) {
        match self.at {
            At::Space => self.begin(byte, told),
            At::Name | At::Word if is_regular(byte) => {
                if self.held.len() < KEPT {
                    self.held.push(byte);
                } else {
                    self.is_too_long = true;
                }
            }
            At::Name | At::Word => {
                self.end(told);
                self.begin(byte, told);
            }
            At::Comment => {
                if matches!(byte, b'\r' | b'\n') {
                    self.at = At::Space;
                }
            }
            At::Text { depth, is_escaped } => {
                let next = match byte {
                    _ if is_escaped => depth,
                    b'(' => depth.saturating_add(1),
                    b')' => depth - 1,
                    _ => depth,
                };
                if next == 0 {
                    self.at = At::Space;
                    told(Token::Other);
                } else {
                    let is_escaped = byte == b'\\' && !is_escaped;
                    self.at = At::Text { depth: next, is_escaped };
                }
            }
            At::Less if byte == b'<' => {
                self.at = At::Space;
                told(Token::OpenDictionary);
            }
            At::Less | At::Hexadecimal => {
                self.at = At::Hexadecimal;
                if byte == b'>' {
                    self.at = At::Space;
                    told(Token::Other);
                }
            }
            At::Greater => {
                self.at = At::Space;
                if byte == b'>' {
                    told(Token::CloseDictionary);
                } else {
                    self.begin(byte, told);
                }
            }
        }
    }

    /// Ends the word that is not ended yet.
    pub(super) fn end(&mut self, told: &mut impl FnMut(Token<'_>)) {
        let at = std::mem::take(&mut self.at);
        let is_too_long = std::mem::take(&mut self.is_too_long);
        match at {
            At::Name | At::Word if is_too_long => told(Token::Other),
            At::Name => {
                unescape(&mut self.held);
                told(Token::Name(&self.held));
            }
            At::Word => told(word(&self.held)),
            _ => {}
        }
        self.held.clear();
    }

    fn begin(&mut self, byte: u8, told: &mut impl FnMut(Token<'_>)) {
        self.at = match byte {
            b'/' => At::Name,
            b'%' => At::Comment,
            b'(' => At::Text { depth: 1, is_escaped: false },
            b'<' => At::Less,
            b'>' => At::Greater,
            b'[' => {
                told(Token::OpenArray);
                At::Space
            }
            b']' => {
                told(Token::CloseArray);
                At::Space
            }
            byte if is_regular(byte) => {
                self.held.push(byte);
                At::Word
            }
            _ => At::Space,
        };
    }
}

fn is_regular(byte: u8) -> bool {
    !matches!(
        byte,
        0 | b'\t'
            | b'\n'
            | 0x0c
            | b'\r'
            | b' '
            | b'('
            | b')'
            | b'<'
            | b'>'
            | b'['
            | b']'
            | b'{'
            | b'}'
            | b'/'
            | b'%'
    )
}

fn word(text: &[u8]) -> Token<'_> {
    if !text[0].is_ascii_digit() && !matches!(text[0], b'+' | b'-' | b'.') {
        return Token::Word(text);
    }
    let number = std::str::from_utf8(text).ok().and_then(|text| text.parse().ok());
    number.map_or(Token::Other, Token::Number)
}

/// Any byte of a name may be written as `#` and two digits.
fn unescape(name: &mut Vec<u8>) {
    if !name.contains(&b'#') {
        return;
    }
    let mut plain = Vec::with_capacity(name.len());
    let mut rest = name.as_slice();
    while let Some((first, after)) = rest.split_first() {
        let digits = after.get(..2).and_then(|two| std::str::from_utf8(two).ok());
        let byte = digits.and_then(|two| u8::from_str_radix(two, 16).ok());
        match byte.filter(|_| *first == b'#') {
            Some(byte) => {
                plain.push(byte);
                rest = &after[2..];
            }
            None => {
                plain.push(*first);
                rest = after;
            }
        }
    }
    *name = plain;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(text: &[u8]) -> Vec<String> {
        let (mut lexer, mut all) = (Lexer::default(), Vec::new());
        let mut told = |token: Token<'_>| {
            all.push(match token {
                Token::Name(name) => format!("/{}", String::from_utf8_lossy(name)),
                Token::Word(word) => String::from_utf8_lossy(word).into_owned(),
                Token::Number(number) => number.to_string(),
                Token::OpenDictionary => "<<".to_owned(),
                Token::CloseDictionary => ">>".to_owned(),
                Token::OpenArray => "[".to_owned(),
                Token::CloseArray => "]".to_owned(),
                Token::Other => "?".to_owned(),
            });
        };
        text.iter().for_each(|byte| lexer.take(*byte, &mut told));
        lexer.end(&mut told);
        all
    }

    #[test]
    fn words_end_where_the_next_begins() {
        let text = b"1 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>%>>\nendobj";
        let words = [
            "1", "0", "obj", "<<", "/Type", "/Pages", "/Kids", "[", "3", "0", "R", "]", "/Count",
            "1", ">>", "endobj",
        ];
        assert_eq!(tokens(text), words);
    }

    #[test]
    fn texts_hide_what_is_in_them() {
        assert_eq!(
            tokens(b"(a(b)\\)<<)<41 >/P#61ges -3 4.5 <</X<6>>>"),
            ["?", "?", "/Pages", "-3", "?", "<<", "/X", "?", ">>"]
        );
        assert_eq!(tokens(&[b'/'; 3]), ["/", "/", "/"]);
        assert_eq!(tokens(&[b'x'; 100]), ["?"]);
    }
}
