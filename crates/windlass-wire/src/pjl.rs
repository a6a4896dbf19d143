//! Status of printers in the Printer Job Language: answers to `@PJL INFO STATUS`, and unsolicited
//! status after `@PJL USTATUS` (HP's PJL Technical Reference Manual, chapters 8 and 9).
//!
//! An answer is a line that names it, lines of `NAME=VALUE`, and a form feed.

use serde::Serialize;

/// Escape that leaves the language of the job and enters PJL (Universal Exit Language).
pub const UEL: &[u8] = b"\x1b%-12345X";

/// Maximum bytes of an answer, and maximum answers that are kept.
const MAX_ANSWER: usize = 4_096;
const MAX_ANSWERS: usize = 1_000;

/// Status of a printer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Status {
    /// Status code: 10xxx is information, 30xxx and 35xxx call an operator, 4xxxx is an error.
    pub code: Option<u32>,
    /// Text on its display.
    pub display: Option<String>,
    /// True if the printer accepts jobs.
    pub online: Option<bool>,
    /// True for an unsolicited status.
    pub by_itself: bool,
}

/// Reader of answers in a printer's output.
#[derive(Clone, Debug, Default)]
pub struct Reader {
    held: Vec<u8>,
    /// True if the held answer is too long: it is then skipped.
    is_too_long: bool,
    answers: Vec<Status>,
    latest: Option<Status>,
}

impl Reader {
    /// Processes the next bytes.
    pub fn take(&mut self, bytes: &[u8]) {
        for byte in bytes {
            if *byte == 0x0c {
                let answer = Status::read(&self.held).filter(|_| !self.is_too_long);
                if answer.is_some() {
                    self.latest.clone_from(&answer);
                }
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

    /// Returns the answers so far.
    pub fn answers(&self) -> &[Status] {
        &self.answers
    }

    /// Returns the status that was told last, however many were told before.
    pub const fn latest(&self) -> Option<&Status> {
        self.latest.as_ref()
    }
}

/// Returns the keyword of `printer-state-reasons` (RFC 8011, section 5.4.12, and IANA's registry)
/// for a status code (HP's PJL Technical Reference Manual, appendix D); nothing for a code that
/// tells of no hindrance.
const fn reason(code: u32) -> Option<&'static str> {
    Some(match code {
        10_002 | 40_079 => "offline",
        10_006 | 40_038 => "toner-low",
        // 11xyy: a source of paper is empty, and another has paper of that size.
        11_000..=11_999 => "media-low",
        // 15xxy: output bin xx; 1 is full.
        15_000..=15_999 if code % 10 == 1 => "output-area-full",
        40_021 => "cover-open",
        40_600 => "toner-empty",
        // 41xyy: paper is to be loaded into a source, and no other has it.
        41_000..=41_999 => "media-empty",
        // 42xyy and 44xyy: a jam, with its place.
        30_119 | 40_022 | 42_000..=42_999 | 44_000..=44_999 => "media-jam",
        // An operator is needed, a paper handling device fails, or the hardware does.
        40_000..=40_999 | 43_000..=43_999 | 50_000..=50_999 => "other",
        _ => return None,
    })
}

impl Status {
    /// Returns what hinders the printer, as a keyword of `printer-state-reasons`.
    pub fn reason(&self) -> Option<&'static str> {
        self.code.and_then(reason)
    }

    /// Reads an answer without its form feed. Returns `None` if the answer is about something else.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let text = String::from_utf8_lossy(bytes);
        // Other bytes may come before it, such as the end of another answer.
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

    /// An answer from the manual.
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
        // The latest answer is known nevertheless.
        reader.take(b"@PJL USTATUS DEVICE\r\nCODE=41201\r\n\x0c");
        assert_eq!(reader.latest().and_then(|one| one.code), Some(41_201));
    }

    #[test]
    fn codes_have_the_keywords_of_ipp() {
        for (code, expected) in [
            (10_001, None),
            (10_002, Some("offline")),
            (10_006, Some("toner-low")),
            (10_023, None),
            (11_304, Some("media-low")),
            (12_201, None),
            (15_031, Some("output-area-full")),
            (15_032, None),
            (20_001, None),
            (30_016, None),
            (35_075, None),
            (40_021, Some("cover-open")),
            (40_022, Some("media-jam")),
            (40_038, Some("toner-low")),
            (40_079, Some("offline")),
            (40_089, Some("other")),
            (41_201, Some("media-empty")),
            (42_203, Some("media-jam")),
            (43_111, Some("other")),
            (44_112, Some("media-jam")),
            (50_001, Some("other")),
            (55_001, None),
            (u32::MAX, None),
        ] {
            let status = Status { code: Some(code), ..Status::default() };
            assert_eq!(status.reason(), expected, "{code}");
        }
        assert_eq!(Status::default().reason(), None);
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
