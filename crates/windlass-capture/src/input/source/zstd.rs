//! Zstandard, frame by frame (RFC 8878).

use std::io::{self, BufRead, Read};

use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

use super::{Broken, at_end};

/// Unpacks the frames of a zstd file, one behind the other.
pub(in crate::input) struct Reader<R> {
    input: R,
    frame: FrameDecoder,
    state: ZstdState,
}

#[derive(Debug)]
enum ZstdState {
    /// A frame begins, or the end is here.
    Between,
    Within,
    /// What to say when all that could be unpacked was taken.
    Broken(String),
    End,
}

impl<R: BufRead> Reader<R> {
    pub(in crate::input) fn new(input: R) -> Self {
        Self { input, frame: FrameDecoder::new(), state: ZstdState::Between }
    }

    /// Reads some bytes; 0 at the end.
    pub(in crate::input) fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Broken> {
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
                ZstdState::Broken(what) => return Err(Broken::Packing(what.clone())),
                ZstdState::End => return Ok(0),
            }
        }
    }

    /// Reads the header of the next frame; skips one that is to be skipped.
    fn begin(&mut self) -> Result<(), Broken> {
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

    /// Compares the checksum of a frame that has one.
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

    /// Notes the damage and makes the decoder give what it holds back: it
    /// keeps a window's worth until its frame is finished, so it is given an
    /// empty last block, with room for a checksum.
    fn break_off(&mut self, error: &FrameDecoderError) -> Result<(), Broken> {
        let what = self.words(error)?;
        let last_block = [1, 0, 0, 0, 0, 0, 0];
        let _ = self.frame.decode_blocks(&last_block[..], BlockDecodingStrategy::UptoBlocks(1));
        self.state = ZstdState::Broken(what);
        Ok(())
    }

    /// Says what is wrong; hands on what the system said.
    fn words(&mut self, error: &FrameDecoderError) -> Result<String, Broken> {
        // ruzstd wraps what reading said too deeply to tell it from damage, so
        // the source is asked again: at an end it gives nothing, and a failing
        // disk fails again.
        if at_end(&mut self.input)? {
            return Ok(cut());
        }
        Ok(format!("the zstd stream is damaged or needs more than is known here: {error}"))
    }
}

fn cut() -> String {
    "the zstd stream breaks off: the file was not packed or copied to its end".to_owned()
}
