//! A capture that grows while the device runs.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use windlass_base::{Failure, Span, Timestamp};
use windlass_wire::write::{PcapngWriter, Section};
use windlass_wire::{ByteOrder, LinkType};

use super::report::Written;
use crate::ends::INTERFACE;

/// How long a packet may wait to be written: who looks into the file then finds
/// all of a transfer that has just ended.
const WAITING: Span = Span::from_millis(100);

/// A capture of IP packets.
///
/// It has its name from the beginning, so that it can be read while it grows, and
/// what was captured is not lost with windlass.
pub(super) struct Capture {
    path: PathBuf,
    out: BufWriter<File>,
    writer: PcapngWriter,
    interface: u32,
    buffer: Vec<u8>,
    packets: u64,
    /// When what waits is to be written.
    due: Option<Timestamp>,
    /// Why nothing more can be written.
    failed: Option<io::Error>,
}

impl Capture {
    /// Begins a capture.
    ///
    /// # Errors
    /// Where the path is no file, or cannot be written.
    pub(super) fn create(path: &Path) -> Result<Self, Failure> {
        let doing = || format!("cannot write {}", path.display());
        if path == Path::new("-") {
            return Err(Failure::usage(doing(), "standard output belongs to the command")
                .advise("Name a file for the capture."));
        }
        // A pipe that nobody reads would stop the device.
        if std::fs::metadata(path).is_ok_and(|about| !about.is_file()) {
            return Err(Failure::usage(doing(), "it is there and is no file")
                .advise("Give the capture another name."));
        }
        let unwritable = |error: io::Error| {
            Failure::new(doing(), error).advise("Check the directory and the right to write there.")
        };
        let file = File::create(path).map_err(unwritable)?;
        let mut buffer = Vec::new();
        let application = concat!("windlass ", env!("CARGO_PKG_VERSION"));
        let section = Section { application, system: "Linux", ..Section::default() };
        let mut writer = PcapngWriter::begin(&mut buffer, ByteOrder::Little, &section);
        let interface = writer.interface(&mut buffer, LinkType::RAW, 0, INTERFACE);
        let mut out = BufWriter::with_capacity(1 << 20, file);
        // A full disk is told before the command begins.
        out.write_all(&buffer).and_then(|()| out.flush()).map_err(unwritable)?;
        let path = path.to_owned();
        Ok(Self { path, out, writer, interface, buffer, packets: 0, due: None, failed: None })
    }

    /// A packet passes: `now` by the emulator's clock, `time` by the host's.
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

    /// When to call [`Self::write`].
    pub(super) const fn due(&self) -> Option<Timestamp> {
        self.due
    }

    /// Writes what waits.
    pub(super) fn write(&mut self) {
        self.due = None;
        if self.failed.is_none() {
            self.failed = self.out.flush().err();
        }
    }

    /// Everything has passed.
    ///
    /// # Errors
    /// Where it could not be written to its end.
    pub(super) fn finish(mut self) -> Result<Written, Failure> {
        self.write();
        let file = self.path.display().to_string();
        let Some(error) = self.failed else {
            return Ok(Written { file, packets: self.packets });
        };
        // What waits cannot be written either, and is not to be tried again.
        drop(self.out.into_parts());
        let wrong = format!("{error}, after {} packets at most", self.packets);
        Err(Failure::new(format!("cannot write {file}"), wrong)
            .advise("Free some space, or write elsewhere. What was written before can be read."))
    }
}
