//! gzip, member by member (RFC 1952).
//!
//! flate2's own reader drops the bytes that it decompressed in the call that meets damage. This
//! reader returns all of them before it reports the damage.

use std::io::{self, BufRead, Read};

use flate2::{Crc, Decompress, FlushDecompress, Status};

use super::{StreamError, at_end};

/// Reader that decompresses the members of a gzip file, one after the other.
pub(in crate::input) struct Reader<R> {
    input: R,
    inflate: Decompress,
    crc: Crc,
    state: GzipState,
    /// Number of members that were decompressed completely.
    members: u64,
}

#[derive(Debug)]
enum GzipState {
    Header,
    Body,
    Trailer,
    /// Error to report after the unpacked data.
    Broken(String),
    End,
}

impl<R: BufRead> Reader<R> {
    pub(super) fn new(input: R) -> Self {
        let inflate = Decompress::new(false);
        Self { input, inflate, crc: Crc::new(), state: GzipState::Header, members: 0 }
    }

    /// Reads some bytes; returns 0 at the end.
    pub(super) fn read(&mut self, buffer: &mut [u8]) -> Result<usize, StreamError> {
        loop {
            let next = match &self.state {
                GzipState::Header => self.header(),
                GzipState::Body => match self.body(buffer)? {
                    0 => continue,
                    count => return Ok(count),
                },
                GzipState::Trailer => self.trailer(),
                GzipState::Broken(what) => return Err(StreamError::Packing(what.clone())),
                GzipState::End => return Ok(0),
            };
            self.state = match next {
                Ok(state) => state,
                Err(StreamError::Io(error)) if error.kind() == io::ErrorKind::UnexpectedEof => {
                    GzipState::Broken(cut())
                }
                Err(StreamError::Packing(what)) => GzipState::Broken(what),
                Err(error) => return Err(error),
            };
        }
    }

    /// Reads a member's header (section 2.3): ten fixed bytes, and the fields that their flags
    /// announce.
    fn header(&mut self) -> Result<GzipState, StreamError> {
        const HAS_CHECKSUM: u8 = 2;
        const HAS_EXTRA: u8 = 4;
        const HAS_NAME: u8 = 8;
        const HAS_COMMENT: u8 = 16;
        if self.members > 0 && at_end(&mut self.input)? {
            return Ok(GzipState::End);
        }
        let mut fixed = [0; 10];
        self.input.read_exact(&mut fixed[..2])?;
        if fixed[..2] != [0x1f, 0x8b] {
            let members = self.members;
            let what = format!("what follows gzip member {members} is no gzip");
            return Err(StreamError::Packing(what));
        }
        self.input.read_exact(&mut fixed[2..])?;
        let (method, flags) = (fixed[2], fixed[3]);
        if method != 8 {
            let what = format!("the gzip stream uses method {method}; 8 is the only known one");
            return Err(StreamError::Packing(what));
        }
        if flags & HAS_EXTRA != 0 {
            let mut length = [0; 2];
            self.input.read_exact(&mut length)?;
            self.skip(u16::from_le_bytes(length).into())?;
        }
        for flag in [HAS_NAME, HAS_COMMENT] {
            if flags & flag != 0 {
                self.skip_text()?;
            }
        }
        if flags & HAS_CHECKSUM != 0 {
            self.skip(2)?;
        }
        self.inflate.reset(false);
        self.crc.reset();
        Ok(GzipState::Body)
    }

    /// Decompresses some bytes, and returns them even if damage follows.
    fn body(&mut self, buffer: &mut [u8]) -> Result<usize, StreamError> {
        let packed = self.input.fill_buf()?;
        if packed.is_empty() {
            self.state = GzipState::Broken(cut());
            return Ok(0);
        }
        let (taken, given) = (self.inflate.total_in(), self.inflate.total_out());
        let status = self.inflate.decompress(packed, buffer, FlushDecompress::None);
        let taken = (self.inflate.total_in() - taken) as usize;
        let given = (self.inflate.total_out() - given) as usize;
        self.input.consume(taken);
        self.crc.update(&buffer[..given]);
        match status {
            Ok(Status::StreamEnd) => self.state = GzipState::Trailer,
            Ok(Status::Ok | Status::BufError) if taken > 0 || given > 0 => {}
            _ => {
                let what = format!(
                    "the gzip stream is damaged (its deflate codes are not valid) {} bytes into \
                     its unpacked data",
                    self.inflate.total_out()
                );
                self.state = GzipState::Broken(what);
            }
        }
        Ok(given)
    }

    /// Reads and checks the trailer of a member: its checksum and its size.
    fn trailer(&mut self) -> Result<GzipState, StreamError> {
        let mut trailer = [0; 8];
        self.input.read_exact(&mut trailer)?;
        let [a, b, c, d, e, f, g, h] = trailer;
        let (sum, size) = (u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h]));
        if sum != self.crc.sum() || size != self.crc.amount() {
            let what = "the gzip stream is damaged: its checksum is not that of its data, so some \
                        of the packets may be wrong";
            return Err(StreamError::Packing(what.to_owned()));
        }
        self.members += 1;
        Ok(GzipState::Header)
    }

    fn skip(&mut self, bytes: u64) -> io::Result<()> {
        let skipped = io::copy(&mut (&mut self.input).take(bytes), &mut io::sink())?;
        if skipped < bytes { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(()) }
    }

    /// Skips a text and its terminating zero byte.
    fn skip_text(&mut self) -> io::Result<()> {
        loop {
            let there = self.input.fill_buf()?;
            if there.is_empty() {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let zero = there.iter().position(|byte| *byte == 0);
            let count = zero.map_or(there.len(), |place| place + 1);
            self.input.consume(count);
            if zero.is_some() {
                return Ok(());
            }
        }
    }
}

fn cut() -> String {
    "the gzip stream breaks off: the file was not packed or copied to its end".to_owned()
}
