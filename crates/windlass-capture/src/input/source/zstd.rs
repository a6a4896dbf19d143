//! Zstandard, frame by frame (RFC 8878).

use std::io::{self, BufRead, Read};

use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

use super::{StreamError, at_end};

/// Reader that decompresses the frames of a zstd file, one after the other.
pub(in crate::input) struct Reader<R> {
    input: R,
    frame: FrameDecoder,
    state: ZstdState,
}

#[derive(Debug)]
enum ZstdState {
    /// Before a frame, or at the end of the data.
    Between,
    Within,
    /// Error to report after the unpacked data.
    Broken(String),
    End,
}

impl<R: BufRead> Reader<R> {
    pub(in crate::input) fn new(input: R) -> Self {
        Self { input, frame: FrameDecoder::new(), state: ZstdState::Between }
    }

    /// Reads some bytes; returns 0 at the end.
    pub(in crate::input) fn read(&mut self, buffer: &mut [u8]) -> Result<usize, StreamError> {
        loop {
            if self.frame.can_collect() > 0 {
                return Ok(self.frame.read(buffer)?);
            }
            match &self.state {
                ZstdState::Between => self.begin()?,
                ZstdState::Within if self.frame.is_finished() => self.check(),
                ZstdState::Within => {
                    let one = BlockDecodingStrategy::UptoBlocks(1);
                    if let Err(error) = self.frame.decode_blocks(&mut self.input, one) {
                        self.break_off(&error)?;
                    }
                }
                ZstdState::Broken(what) => return Err(StreamError::Packing(what.clone())),
                ZstdState::End => return Ok(0),
            }
        }
    }

    /// Reads the header of the next frame, and skips skippable frames.
    fn begin(&mut self) -> Result<(), StreamError> {
        if at_end(&mut self.input)? {
            self.state = ZstdState::End;
            return Ok(());
        }
        self.state = match self.frame.reset(&mut self.input) {
            Ok(()) => ZstdState::Within,
            Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                length,
                ..
            })) => {
                let length = u64::from(length);
                let skipped = io::copy(&mut (&mut self.input).take(length), &mut io::sink())?;
                if skipped < length { ZstdState::Broken(cut()) } else { ZstdState::Between }
            }
            Err(error) => ZstdState::Broken(self.words(&error)?),
        };
        Ok(())
    }

    /// Compares the checksum of a frame, if it has one.
    fn check(&mut self) {
        let (stated, found) =
            (self.frame.get_checksum_from_data(), self.frame.get_calculated_checksum());
        self.state = if stated.is_some() && stated != found {
            let what = "the zstd stream is damaged: its checksum is not that of its data, so some \
                        of the packets may be wrong";
            ZstdState::Broken(what.to_owned())
        } else {
            ZstdState::Between
        };
    }

    /// Records the damage, and makes the decoder return the bytes that it holds back. The decoder
    /// keeps a window of bytes until its frame is finished. So it gets an empty last block, with
    /// room for a checksum.
    fn break_off(&mut self, error: &FrameDecoderError) -> Result<(), StreamError> {
        let what = self.words(error)?;
        let last_block = [1, 0, 0, 0, 0, 0, 0];
        let _ = self.frame.decode_blocks(&last_block[..], BlockDecodingStrategy::UptoBlocks(1));
        self.state = ZstdState::Broken(what);
        Ok(())
    }

    /// Returns the description of the damage, or the system's error.
    fn words(&mut self, error: &FrameDecoderError) -> Result<String, StreamError> {
        // ruzstd wraps an error of reading too deeply to tell it from damage. So the source is
        // asked again: at its end it returns nothing, and a failing disk fails again.
        if at_end(&mut self.input)? {
            return Ok(cut());
        }
        Ok(format!("the zstd stream is damaged or needs more than is known here: {error}"))
    }
}

fn cut() -> String {
    "the zstd stream breaks off: the file was not packed or copied to its end".to_owned()
}
