//! Lexer of PDF (ISO 32000-1, section 7.2), which works byte by byte.

/// Longest word that is kept, in bytes. The relevant words are shorter.
const KEPT: usize = 32;

/// A token of PDF.
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
    /// A text, a number with a fraction, or a word that is too long.
    Other,
}

/// Lexer, which turns bytes into tokens.
#[derive(Clone, Debug, Default)]
pub(super) struct Lexer {
    at: LexerState,
    held: Vec<u8>,
    is_too_long: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum LexerState {
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
    /// Behind `<` or `>`, which may be the first of two.
    Less,
    Greater,
}

impl Lexer {
    /// Processes a byte, which may end a token and be a token itself.
    pub(super) fn take(&mut self, byte: u8, told: &mut impl FnMut(Token<'_>)) {
        match self.at {
            LexerState::Space => self.begin(byte, told),
            LexerState::Name | LexerState::Word if is_regular(byte) => {
                if self.held.len() < KEPT {
                    self.held.push(byte);
                } else {
                    self.is_too_long = true;
                }
            }
            LexerState::Name | LexerState::Word => {
                self.end(told);
                self.begin(byte, told);
            }
            LexerState::Comment => {
                if matches!(byte, b'\r' | b'\n') {
                    self.at = LexerState::Space;
                }
            }
            LexerState::Text { depth, is_escaped } => {
                let next = match byte {
                    _ if is_escaped => depth,
                    b'(' => depth.saturating_add(1),
                    b')' => depth - 1,
                    _ => depth,
                };
                if next == 0 {
                    self.at = LexerState::Space;
                    told(Token::Other);
                } else {
                    let is_escaped = byte == b'\\' && !is_escaped;
                    self.at = LexerState::Text { depth: next, is_escaped };
                }
            }
            LexerState::Less if byte == b'<' => {
                self.at = LexerState::Space;
                told(Token::OpenDictionary);
            }
            LexerState::Less | LexerState::Hexadecimal => {
                self.at = LexerState::Hexadecimal;
                if byte == b'>' {
                    self.at = LexerState::Space;
                    told(Token::Other);
                }
            }
            LexerState::Greater => {
                self.at = LexerState::Space;
                if byte == b'>' {
                    told(Token::CloseDictionary);
                } else {
                    self.begin(byte, told);
                }
            }
        }
    }

    /// Ends the open token.
    pub(super) fn end(&mut self, told: &mut impl FnMut(Token<'_>)) {
        let at = std::mem::take(&mut self.at);
        let is_too_long = std::mem::take(&mut self.is_too_long);
        match at {
            LexerState::Name | LexerState::Word if is_too_long => told(Token::Other),
            LexerState::Name => {
                unescape(&mut self.held);
                told(Token::Name(&self.held));
            }
            LexerState::Word => told(word(&self.held)),
            _ => {}
        }
        self.held.clear();
    }

    fn begin(&mut self, byte: u8, told: &mut impl FnMut(Token<'_>)) {
        self.at = match byte {
            b'/' => LexerState::Name,
            b'%' => LexerState::Comment,
            b'(' => LexerState::Text { depth: 1, is_escaped: false },
            b'<' => LexerState::Less,
            b'>' => LexerState::Greater,
            b'[' => {
                told(Token::OpenArray);
                LexerState::Space
            }
            b']' => {
                told(Token::CloseArray);
                LexerState::Space
            }
            byte if is_regular(byte) => {
                self.held.push(byte);
                LexerState::Word
            }
            _ => LexerState::Space,
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

/// Decodes the bytes of a name that are written as `#` and two digits.
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
