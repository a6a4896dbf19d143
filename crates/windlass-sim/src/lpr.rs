//! The server's side of LPR (RFC 1179): bytes in, bytes out.
//!
//! The server has no connection: its caller transports the bytes. Its memory is bounded whatever
//! the input, since a line has at most 1,024 bytes.

use serde::Serialize;
use windlass_base::Bytes;

use crate::segment::Payload;

/// Maximum bytes of a command or subcommand line. RFC 1179 sets no bound; names of hosts and files
/// stay far below.
const LINE: usize = 1_024;

/// Maximum digits of a size. Senders that do not know the size announce 999999999999, which has
/// twelve.
const SIZE_DIGITS: usize = 18;

/// Purpose of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// The control file, with the options of the job.
    Control,
    /// The data file, with the document.
    Data,
}

/// State of the conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
enum LprState {
    /// A command line is coming in.
    Command(Vec<u8>),
    /// "Receive a printer job" was accepted; a subcommand line is coming in.
    Subcommand(Vec<u8>),
    /// A file is coming in; `left` bytes are missing.
    File { kind: FileKind, left: u64 },
    /// The zero byte that ends a file is missing.
    FileEnd(FileKind),
    /// A file of unknown size lasts to the end of the connection.
    ToTheEnd(FileKind),
    /// The server answers, and closes.
    Closed,
}

/// Totals of what an LPR server has received.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LprTotals {
    /// Control files.
    pub control_files: u64,
    /// Data files.
    pub data_files: u64,
    /// Bytes of data files, those that were cut off included.
    pub data_bytes: Bytes,
}

impl LprTotals {
    /// Returns the sum of two totals.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            control_files: self.control_files + other.control_files,
            data_files: self.data_files + other.data_files,
            data_bytes: self.data_bytes + other.data_bytes,
        }
    }
}

/// The server's side of one LPR connection.
#[derive(Clone, Debug)]
pub struct LprServer {
    state: LprState,
    received: LprTotals,
}

/// A server that waits for a command.
impl Default for LprServer {
    fn default() -> Self {
        Self { state: LprState::Command(Vec::new()), received: LprTotals::default() }
    }
}

impl LprServer {
    /// Returns the totals received so far.
    pub const fn received(&self) -> LprTotals {
        self.received
    }

    /// Returns whether the server wants to close the connection.
    pub const fn is_closed(&self) -> bool {
        matches!(self.state, LprState::Closed)
    }

    /// Takes bytes in order and appends the answers.
    pub fn feed(&mut self, input: &Payload, answers: &mut Vec<u8>) {
        match input {
            Payload::Zeros(length) => {
                let mut left = u64::from(*length);
                while left > 0 {
                    let skipped = self.skip(left);
                    left -= skipped;
                    if skipped == 0 {
                        self.byte(0, answers);
                        left -= 1;
                    }
                }
            }
            Payload::Bytes(shared) => {
                let mut rest = shared.as_slice();
                while let Some((first, after)) = rest.split_first() {
                    let skipped = usize::try_from(self.skip(rest.len() as u64)).unwrap_or(0);
                    if skipped == 0 {
                        self.byte(*first, answers);
                        rest = after;
                    } else {
                        rest = rest.get(skipped..).unwrap_or_default();
                    }
                }
            }
        }
    }

    /// Ends the conversation: the peer has closed. A file of unknown size is complete now, and gets
    /// its answer. A second end has no effect.
    pub fn end(&mut self, answers: &mut Vec<u8>) {
        if let LprState::ToTheEnd(kind) = self.state {
            self.complete(kind, answers);
        }
        self.state = LprState::Closed;
    }

    /// Takes up to `length` bytes whose values do not matter.
    fn skip(&mut self, length: u64) -> u64 {
        let (kind, taken) = match &mut self.state {
            LprState::File { kind, left } => {
                let taken = length.min(*left);
                *left -= taken;
                (*kind, taken)
            }
            LprState::ToTheEnd(kind) => (*kind, length),
            LprState::Closed => return length,
            LprState::Command(_) | LprState::Subcommand(_) | LprState::FileEnd(_) => return 0,
        };
        if kind == FileKind::Data {
            self.received.data_bytes += Bytes::new(taken);
        }
        if let LprState::File { kind, left: 0 } = self.state {
            self.state = LprState::FileEnd(kind);
        }
        taken
    }

    /// Takes a byte that matters.
    fn byte(&mut self, byte: u8, answers: &mut Vec<u8>) {
        match &mut self.state {
            LprState::Command(line) | LprState::Subcommand(line) if byte != b'\n' => {
                line.push(byte);
                if line.len() > LINE {
                    self.refuse(answers);
                }
            }
            LprState::Command(line) => {
                let line = std::mem::take(line);
                self.command(&line, answers);
            }
            LprState::Subcommand(line) => {
                let line = std::mem::take(line);
                self.subcommand(&line, answers);
            }
            LprState::FileEnd(kind) => {
                let kind = *kind;
                if byte == 0 {
                    self.complete(kind, answers);
                } else {
                    self.refuse(answers);
                }
            }
            LprState::File { .. } | LprState::ToTheEnd(_) | LprState::Closed => {}
        }
    }

    /// Executes a command (RFC 1179 section 5): 1 prints waiting jobs, 2 receives a job, 3 and 4
    /// query the queue, 5 removes jobs.
    fn command(&mut self, line: &[u8], answers: &mut Vec<u8>) {
        match line {
            [2, queue @ ..] if !queue.is_empty() => {
                answers.push(0);
                self.state = LprState::Subcommand(Vec::new());
            }
            [3 | 4, ..] => {
                answers.extend_from_slice(b"no entries\n");
                self.state = LprState::Closed;
            }
            [1 | 5, ..] => {
                answers.push(0);
                self.state = LprState::Closed;
            }
            _ => self.refuse(answers),
        }
    }

    /// Executes a subcommand (RFC 1179 section 6): 1 aborts, 2 sends a control file, 3 a data file,
    /// both with a size and a name. A size of 0 means a file to the end of the connection. Real
    /// servers read it so, and the RFC does not forbid it.
    fn subcommand(&mut self, line: &[u8], answers: &mut Vec<u8>) {
        let (kind, operands) = match line {
            [1] => {
                answers.push(0);
                self.state = LprState::Subcommand(Vec::new());
                return;
            }
            [2, operands @ ..] => (FileKind::Control, operands),
            [3, operands @ ..] => (FileKind::Data, operands),
            _ => return self.refuse(answers),
        };
        let digits = operands.iter().take_while(|byte| byte.is_ascii_digit()).count();
        if !(1..=SIZE_DIGITS).contains(&digits) || operands.get(digits) != Some(&b' ') {
            return self.refuse(answers);
        }
        let size = operands.iter().take(digits);
        let size = size.fold(0_u64, |size, digit| size * 10 + u64::from(digit - b'0'));
        answers.push(0);
        self.state = match size {
            0 => LprState::ToTheEnd(kind),
            left => LprState::File { kind, left },
        };
    }

    fn complete(&mut self, kind: FileKind, answers: &mut Vec<u8>) {
        match kind {
            FileKind::Control => self.received.control_files += 1,
            FileKind::Data => self.received.data_files += 1,
        }
        answers.push(0);
        self.state = LprState::Subcommand(Vec::new());
    }

    /// Refuses, and closes. Any byte but zero is a refusal (RFC 1179 section 5.2).
    fn refuse(&mut self, answers: &mut Vec<u8>) {
        answers.push(1);
        self.state = LprState::Closed;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn feed(server: &mut LprServer, bytes: &[u8]) -> Vec<u8> {
        let mut answers = Vec::new();
        server.feed(&Payload::copy_of(bytes), &mut answers);
        answers
    }

    #[test]
    fn a_job_is_taken_in_either_order_of_its_files() {
        let mut server = LprServer::default();
        assert_eq!(feed(&mut server, b"\x02raw\n"), [0]);
        assert_eq!(feed(&mut server, b"\x033000 dfA001linux\n"), [0]);
        let mut answers = Vec::new();
        server.feed(&Payload::Zeros(2_999), &mut answers);
        assert!(answers.is_empty());
        server.feed(&Payload::Zeros(2), &mut answers);
        assert_eq!(answers, [0], "the last byte and the zero that ends the file");
        assert_eq!(feed(&mut server, b"\x026 cfA001linux\n"), [0]);
        assert_eq!(feed(&mut server, b"Hlinux\0"), [0]);
        let received = LprTotals { control_files: 1, data_files: 1, data_bytes: Bytes::new(3_000) };
        assert_eq!(server.received(), received);
    }

    #[test]
    fn a_conversation_in_one_segment_is_the_same() {
        let mut server = LprServer::default();
        assert_eq!(feed(&mut server, b"\x02lp\n\x023 cfA1h\nHh\n\0\x032 dfA1h\nab\0"), [0; 5]);
        assert_eq!(server.received().data_bytes, Bytes::new(2));
    }

    #[test]
    fn a_file_of_size_0_lasts_to_the_end() {
        let mut server = LprServer::default();
        feed(&mut server, b"\x02lp\n\x030 dfA1h\nabcdef\0\0");
        assert_eq!(server.received().data_files, 0);
        let mut answers = Vec::new();
        server.end(&mut answers);
        assert_eq!(answers, [0]);
        assert_eq!(
            (server.received().data_files, server.received().data_bytes),
            (1, Bytes::new(8))
        );
    }

    #[test]
    fn nonsense_is_refused_and_the_rest_ignored() {
        for bytes in [
            &b"\x09lp\n"[..],
            b"GET / HTTP/1.1\n",
            b"\x02\n",
            b"\x02lp\n\x03 dfA\n",
            b"\x02lp\n\x03123456789012345678901 dfA\n",
            b"\x02lp\n\x031 dfA\nxy",
        ] {
            let mut server = LprServer::default();
            let answers = feed(&mut server, bytes);
            assert_eq!(answers.last(), Some(&1), "{bytes:?}");
            assert!(server.is_closed());
            assert!(feed(&mut server, b"\x02lp\n").is_empty());
        }
        let mut server = LprServer::default();
        let mut answers = Vec::new();
        server.feed(&Payload::Zeros(u32::MAX), &mut answers);
        assert_eq!(answers, [1], "an endless line");
    }

    #[test]
    fn queries_are_answered_and_end_the_conversation() {
        let mut server = LprServer::default();
        assert_eq!(feed(&mut server, b"\x04lp\n"), b"no entries\n");
        assert!(server.is_closed());
    }
}
