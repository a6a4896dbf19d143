//! Bodies: the data among the bytes of a connection.

use super::BodyLength;

/// Largest chunk that is accepted, in bytes. CUPS counts chunks in 32 bits, too.
pub const MAX_CHUNK: u64 = i32::MAX as u64;

/// Maximum bytes of a line between chunks, with extensions, which are unused in practice, and of
/// all trailers.
const MAX_LINE: usize = 256;
const MAX_TRAILERS: usize = 8 << 10;

/// End of a chunk.
pub const CHUNK_END: &[u8] = b"\r\n";

/// The last chunk, which ends the body.
pub const LAST_CHUNK: &[u8] = b"0\r\n\r\n";

/// Returns the head of a chunk of `length` bytes. A length of 0 is that of the last chunk.
pub fn chunk_head(length: usize) -> Vec<u8> {
    format!("{length:x}\r\n").into_bytes()
}

/// Errors of parsing an HTTP body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BodyError {
    /// A chunk without a size.
    #[error("a chunk of HTTP does not begin with its size")]
    Size,
    /// A chunk that is too large.
    #[error("a chunk of HTTP says to have more than {MAX_CHUNK} bytes")]
    TooLarge,
    /// A line about a chunk that does not end, or the trailers.
    #[error("a line between chunks of HTTP does not end")]
    TooLong,
    /// A chunk that goes on beyond its size.
    #[error("a chunk of HTTP does not end where it says")]
    End,
    /// The connection ended within it.
    #[error("the connection ended within the body")]
    CutOff,
}

/// Position of the parser in a body.
#[derive(Clone, Debug, PartialEq, Eq)]
enum BodyState {
    /// Data, of which `left` bytes are outstanding. The end of a chunk follows if `chunked`.
    Data {
        left: u64,
        chunked: bool,
    },
    /// Data up to the end of the connection.
    Rest,
    /// The line before a chunk, as far as it was read.
    Head(Vec<u8>),
    /// The end of a chunk, of which this many bytes were read.
    ChunkEnd(usize),
    /// Trailers, with the bytes of all and of the current line.
    Trailers {
        all: usize,
        line: usize,
    },
    Done,
}

/// Parser of a body.
#[derive(Clone, Debug)]
pub struct Body {
    state: BodyState,
    failed: Option<BodyError>,
}

/// Data of a body, from one call to the parser.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BodyPiece<'a> {
    /// Data; it may be empty.
    pub data: &'a [u8],
    /// Number of bytes consumed, for data and framing. While the body is incomplete, the caller
    /// passes the remaining bytes again.
    pub used: usize,
}

impl Body {
    /// Creates the parser of a body of this length.
    pub const fn new(length: BodyLength) -> Self {
        let state = match length {
            BodyLength::Of(0) => BodyState::Done,
            BodyLength::Of(left) => BodyState::Data { left, chunked: false },
            BodyLength::Chunked => BodyState::Head(Vec::new()),
            BodyLength::UntilClose => BodyState::Rest,
        };
        Self { state, failed: None }
    }

    /// Returns whether the body is complete.
    pub fn is_done(&self) -> bool {
        self.state == BodyState::Done
    }

    /// Parses bytes up to the end of a piece of data. Call it until it consumes no bytes.
    ///
    /// # Errors
    /// Fails if the bytes are no valid body. Later calls fail in the same way.
    pub fn take<'a>(&mut self, bytes: &'a [u8]) -> Result<BodyPiece<'a>, BodyError> {
        if let Some(failed) = self.failed {
            return Err(failed);
        }
        let mut used = 0;
        while let Some(byte) = bytes.get(used) {
            match &mut self.state {
                BodyState::Done => break,
                BodyState::Rest => {
                    return Ok(BodyPiece { data: &bytes[used..], used: bytes.len() });
                }
                BodyState::Data { left, chunked } => {
                    let room = usize::try_from(*left).unwrap_or(usize::MAX);
                    let data = &bytes[used..bytes.len().min(used.saturating_add(room))];
                    *left -= data.len() as u64;
                    if *left == 0 {
                        self.state =
                            if *chunked { BodyState::ChunkEnd(0) } else { BodyState::Done };
                    }
                    return Ok(BodyPiece { data, used: used + data.len() });
                }
                _ => {
                    used += 1;
                    if let Err(error) = self.between(*byte) {
                        self.failed = Some(error);
                        return Err(error);
                    }
                }
            }
        }
        Ok(BodyPiece { data: &[], used })
    }

    /// Skips up to `most` bytes of data and returns their number; 0 if framing comes first. It is
    /// for callers that know only the number of bytes.
    pub fn skip(&mut self, most: u64) -> u64 {
        match &mut self.state {
            BodyState::Rest => most,
            BodyState::Data { left, chunked } if self.failed.is_none() => {
                let skipped = most.min(*left);
                *left -= skipped;
                if *left == 0 {
                    self.state = if *chunked { BodyState::ChunkEnd(0) } else { BodyState::Done };
                }
                skipped
            }
            _ => 0,
        }
    }

    /// Parses a byte of the framing.
    fn between(&mut self, byte: u8) -> Result<(), BodyError> {
        match &mut self.state {
            BodyState::Head(line) => {
                if byte != b'\n' {
                    line.push(byte);
                    return if line.len() > MAX_LINE { Err(BodyError::TooLong) } else { Ok(()) };
                }
                self.state = match size(line)? {
                    0 => BodyState::Trailers { all: 0, line: 0 },
                    left => BodyState::Data { left, chunked: true },
                };
            }
            BodyState::ChunkEnd(seen) => {
                if CHUNK_END.get(*seen) != Some(&byte) {
                    return Err(BodyError::End);
                }
                *seen += 1;
                if *seen == CHUNK_END.len() {
                    self.state = BodyState::Head(Vec::new());
                }
            }
            BodyState::Trailers { all, line } => {
                *all += 1;
                match byte {
                    b'\n' if *line == 0 => self.state = BodyState::Done,
                    b'\n' => *line = 0,
                    b'\r' => {}
                    _ => *line += 1,
                }
                if let BodyState::Trailers { all, .. } = self.state
                    && all > MAX_TRAILERS
                {
                    return Err(BodyError::TooLong);
                }
            }
            BodyState::Data { .. } | BodyState::Rest | BodyState::Done => {}
        }
        Ok(())
    }

    /// Records that the connection has ended.
    ///
    /// # Errors
    /// Fails if the body is incomplete.
    pub fn closed(&mut self) -> Result<(), BodyError> {
        match self.state {
            BodyState::Done => Ok(()),
            BodyState::Rest => {
                self.state = BodyState::Done;
                Ok(())
            }
            _ => Err(BodyError::CutOff),
        }
    }
}

/// Reads the size at the beginning of a line.
fn size(line: &[u8]) -> Result<u64, BodyError> {
    let end = line.iter().position(|byte| !byte.is_ascii_hexdigit()).unwrap_or(line.len());
    let (digits, rest) = line.split_at(end);
    // An extension, or nothing.
    if digits.is_empty() || !matches!(rest.trim_ascii().first(), None | Some(b';')) {
        return Err(BodyError::Size);
    }
    let text = std::str::from_utf8(digits).map_err(|_| BodyError::Size)?;
    let size = u64::from_str_radix(text, 16).map_err(|_| BodyError::TooLarge)?;
    if size > MAX_CHUNK { Err(BodyError::TooLarge) } else { Ok(size) }
}
