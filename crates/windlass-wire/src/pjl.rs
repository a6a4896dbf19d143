//! What printers say of themselves in the Printer Job Language: answers to
//! `@PJL INFO STATUS` and what `@PJL USTATUS` has them tell (HP's PJL Technical
//! Reference Manual, chapters 8 and 9).
//!
//! An answer is a line that names it, lines of `NAME=VALUE`, and a form feed.

use serde::Serialize;

/// What leaves the language of the job and enters PJL (Universal Exit Language).
pub const UEL: &[u8] = b"\x1b%-12345X";

/// The most bytes of an answer, and the most answers that are kept.
const MAX_ANSWER: usize = 4_096;
const MAX_ANSWERS: usize = 1_000;

/// What a printer says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Status {
    /// A number: 10xxx is information, 30xxx and 35xxx an operator is needed,
    /// 4xxxx something is wrong.
    pub code: Option<u32>,
    /// What its display shows.
    pub display: Option<String>,
    /// Whether it takes jobs.
    pub online: Option<bool>,
    /// Whether it told so by itself, and was not asked.
    pub by_itself: bool,
}

/// Finds answers in what comes back.
#[derive(Clone, Debug, Default)]
pub struct Reader {
    held: Vec<u8>,
    /// The answer that is held is too long: it is passed over.
    is_too_long: bool,
    answers: Vec<Status>,
}

impl Reader {
    /// Takes bytes in order.
    pub fn take(&mut self, bytes: &[u8]) {
        for byte in bytes {
            if *byte == 0x0c {
                let answer = Status::read(&self.held).filter(|_| !self.is_too_long);
                if let Some(answer) = answer.filter(|_| self.answers.len() < MAX_ANSWERS) {
                    self.answers.push(answer);
                }
                self.held.clear();
                self.is_too_long = false;
            } else if self.held.len() < MAX_ANSWER {
                self.held.push(*byte);
            } else {
                self.is_too_long = true;
            }
        }
    }

    /// What was told so far.
    pub fn answers(&self) -> &[Status] {
        &self.answers
    }
}

impl Status {
    /// Of an answer without its form feed; nothing where it is about something
    /// else.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let text = String::from_utf8_lossy(bytes);
        // Something else may stand before it, as the end of another answer.
        let (_, text) = text.split_once("@PJL ")?;
        let mut lines = text.lines();
        let head = lines.next()?.trim().to_ascii_uppercase();
        let by_itself = match head.as_str() {
            "INFO STATUS" => false,
            "USTATUS DEVICE" | "USTATUS TIMED" => true,
            _ => return None,
        };
        let mut status = Self { by_itself, ..Self::default() };
        for line in lines {
            let Some((name, value)) = line.split_once('=') else { continue };
            let value = value.trim();
            match name.trim().to_ascii_uppercase().as_str() {
                "CODE" => status.code = value.parse().ok(),
                "DISPLAY" => {
                    let printable = |one: char| if one.is_control() { ' ' } else { one };
                    let bare = value.trim_matches('"');
                    status.display = Some(bare.chars().map(printable).collect());
                }
                "ONLINE" => status.online = Some(value.eq_ignore_ascii_case("true")),
                _ => {}
            }
        }
        Some(status)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// As the manual has it.
    const READY: &[u8] =
        b"@PJL INFO STATUS\r\nCODE=10001\r\nDISPLAY=\"Ready\"\r\nONLINE=TRUE\r\n\x0c";

    #[test]
    fn answers_are_found_in_pieces_of_any_size() {
        let all = [
            READY,
            b"@PJL ECHO hello\r\n\x0c",
            b"@PJL USTATUS DEVICE\r\nCODE=40021\r\nDISPLAY=\"CLOSE DOOR\"\r\nONLINE=FALSE\r\n\x0c",
        ]
        .concat();
        for size in 1..all.len() {
            let mut reader = Reader::default();
            all.chunks(size).for_each(|piece| reader.take(piece));
            let [ready, door] = reader.answers() else { panic!("{:?}", reader.answers()) };
            assert_eq!(
                (ready.code, ready.online, ready.by_itself),
                (Some(10_001), Some(true), false)
            );
            assert_eq!(ready.display.as_deref(), Some("Ready"));
            assert_eq!((door.code, door.online, door.by_itself), (Some(40_021), Some(false), true));
        }
    }

    #[test]
    fn what_does_not_end_is_passed_over() {
        let mut reader = Reader::default();
        reader.take(&[b'x'; 100_000]);
        reader.take(b"\x0c");
        reader.take(READY);
        assert_eq!(reader.answers().len(), 1);
        assert!(reader.held.capacity() <= 2 * MAX_ANSWER);
        (0..5_000).for_each(|_| reader.take(READY));
        assert_eq!(reader.answers().len(), MAX_ANSWERS);
    }

    proptest! {
        #[test]
        fn any_bytes_are_taken(bytes in prop::collection::vec(any::<u8>(), 0..500)) {
            let mut reader = Reader::default();
            reader.take(&bytes);
            let _ = Status::read(&bytes);
            let displays = reader.answers().iter().filter_map(|one| one.display.as_ref());
            prop_assert!(displays.into_iter().all(|text| !text.contains(char::is_control)));
        }
    }
}
