//! A capture that grows while the device runs.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use windlass_base::{Failure, Span, Timestamp};
use windlass_wire::write::{PcapngWriter, Section};
use windlass_wire::{ByteOrder, LinkType};

use super::report::CaptureSummary;
use crate::ends::INTERFACE;

/// Maximum time that a packet waits to be written: a reader of the file then finds all of a
/// transfer that has just ended.
const WAITING: Span = Span::from_millis(100);

/// A capture of IP packets.
///
/// The file has its name from the beginning. It can be read while it grows, and its packets survive
/// a crash of windlass.
pub(super) struct Capture {
    path: PathBuf,
    out: BufWriter<File>,
    writer: PcapngWriter,
    interface: u32,
    buffer: Vec<u8>,
    packets: u64,
    /// Time at which the waiting packets are written.
    due: Option<Timestamp>,
    /// Error that ended the writing.
    failed: Option<io::Error>,
}

impl Capture {
    /// Begins a capture.
    ///
    /// # Errors
    /// Fails if the path is no file, or cannot be written.
    pub(super) fn create(path: &Path) -> Result<Self, Failure> {
        let doing = || format!("cannot write {}", path.display());
        if path == Path::new("-") {
            return Err(Failure::usage(doing(), "the command writes to standard output")
                .advise("Name a file for the capture."));
        }
        // A pipe without a reader would block the device.
        if std::fs::metadata(path).is_ok_and(|about| !about.is_file()) {
            return Err(Failure::usage(doing(), "it exists and is not a regular file")
                .advise("Give the capture another name."));
        }
        let unwritable = |error: io::Error| {
            Failure::new(doing(), error).advise("Check the directory and its permissions.")
        };
        let file = File::create(path).map_err(unwritable)?;
        let mut buffer = Vec::new();
        let application = concat!("windlass ", env!("CARGO_PKG_VERSION"));
        let section = Section { application, system: "Linux", ..Section::default() };
        let mut writer = PcapngWriter::begin(&mut buffer, ByteOrder::Little, &section);
        let interface = writer.interface(&mut buffer, LinkType::RAW, 0, INTERFACE);
        let mut out = BufWriter::with_capacity(1 << 20, file);
        // A full disk is reported before the command begins.
        out.write_all(&buffer).and_then(|()| out.flush()).map_err(unwritable)?;
        let path = path.to_owned();
        Ok(Self { path, out, writer, interface, buffer, packets: 0, due: None, failed: None })
    }

    /// Writes a packet that passes: `now` by the emulator's clock, `time` by the host's.
    pub(super) fn packet(&mut self, now: Timestamp, time: Timestamp, packet: &[u8]) {
        if self.failed.is_some() {
            return;
        }
        self.buffer.clear();
        // No IP packet has more than 65,535 bytes.
        let length = u32::try_from(packet.len()).unwrap_or(u32::MAX);
        self.writer.packet(&mut self.buffer, self.interface, time, length, packet, &[]);
        match self.out.write_all(&self.buffer) {
            Ok(()) => {
                self.packets += 1;
                self.due.get_or_insert(now + WAITING);
            }
            Err(error) => self.failed = Some(error),
        }
    }

    /// Returns the time of the next call of [`Self::write`].
    pub(super) const fn due(&self) -> Option<Timestamp> {
        self.due
    }

    /// Writes the waiting packets.
    pub(super) fn write(&mut self) {
        self.due = None;
        if self.failed.is_none() {
            self.failed = self.out.flush().err();
        }
    }

    /// Ends the capture.
    ///
    /// # Errors
    /// Fails if the capture could not be written completely.
    pub(super) fn finish(mut self) -> Result<CaptureSummary, Failure> {
        self.write();
        let file = self.path.display().to_string();
        let Some(error) = self.failed else {
            return Ok(CaptureSummary { file, packets: self.packets });
        };
        // The waiting packets cannot be written either; another attempt would be useless.
        drop(self.out.into_parts());
        let wrong = format!("{error}, after {} packets at most", self.packets);
        Err(Failure::new(format!("cannot write {file}"), wrong)
            .advise("Free some space, or write to another disk. The packets before can be read."))
    }
}
