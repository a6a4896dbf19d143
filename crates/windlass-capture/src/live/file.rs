//! Files of a capture: created safely, written in complete records, and rotated if asked for.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use windlass_base::{Bytes, Failure, Timestamp};
use windlass_sys::clock::now;
use windlass_wire::write::Counts;

use super::afterwards::{FileWork, FinishedWork, PendingWork, Worker};
use super::encode::{CaptureOrigin, CompleteRecords, Encoder, FileFormat};
use super::names::Names;
use super::out::{RecordOutput, create, cut, stdout, unwritable, write};
use super::patience::Patience;
use super::rotation::Rotation;

/// Size of a write: small enough to stay in a core's cache until it is copied to the file.
const BLOCK: usize = 256 << 10;

/// Settings of the output file.
#[derive(Clone, Debug)]
pub struct WriteSettings {
    /// Path of the file; `-` is standard output.
    pub path: PathBuf,
    /// Format of the file.
    pub format: FileFormat,
    /// Limits at which the next file begins.
    pub rotation: Rotation,
    /// Work on finished files.
    pub afterwards: FileWork,
    /// Pipe of that path, if already open.
    pub pipe: Option<Arc<File>>,
}

/// Finished capture file.
#[derive(Clone, Debug, serde::Serialize)]
pub struct WrittenFile {
    /// Name of the file.
    pub file: String,
    /// Number of packets.
    pub packets: u64,
    /// Size in bytes before compression.
    pub bytes: Bytes,
    /// Size in bytes after compression; `None` without compression.
    pub packed_bytes: Option<Bytes>,
}

/// Writer of a capture.
#[derive(Debug)]
pub struct Writer {
    /// Names of its files; `None` for standard output and pipes.
    names: Option<Names>,
    /// Name of the current file in messages.
    name: String,
    format: FileFormat,
    rotation: Rotation,
    /// True if there is work on finished files.
    rotates: bool,
    /// Work on each finished file.
    worker: Worker,
    about: CaptureOrigin,
    out: RecordOutput,
    /// Maximum wait for the reader of a pipe.
    patience: Patience,
    encoder: Encoder,
    /// Buffered records, and the number of packets in them.
    waiting: Vec<u8>,
    waiting_packets: u64,
    /// Counts of each interface.
    of: Vec<InterfaceCounts>,
    /// Previously written records: their end may have to make room for the counts.
    before: Vec<u8>,
    /// Counts of the current file.
    packets: u64,
    bytes: u64,
    began: Option<Timestamp>,
    last: Timestamp,
    /// Counts over all files.
    written: u64,
    lost: u64,
    done: VecDeque<WrittenFile>,
    failed: Option<io::Error>,
}

/// Packets of an interface in a file.
#[derive(Clone, Debug, Default)]
struct InterfaceCounts {
    /// Packets in the current file, including buffered ones.
    packets: u64,
    /// Packets that could not be written.
    lost: u64,
    /// Packets that the kernel is known to have dropped, and those of them before the current file.
    drops: u64,
    earlier_drops: u64,
}

/// Results of a writer.
#[derive(Debug)]
pub struct Outcome {
    /// Existing files; the last ones if there are many.
    pub files: Vec<WrittenFile>,
    /// Number of existing files.
    pub there: u32,
    /// Number of earlier files that were removed.
    pub removed: u32,
    /// Number of packets written, including those in removed files.
    pub written: u64,
    /// Packets that could not be written.
    pub lost: u64,
    /// Reason of the failed write, if one failed.
    pub failed: Option<io::Error>,
    /// Remaining and finished work on files, if any.
    pub working: Option<PendingWork>,
}

/// Interval for checks of the work on files.
const LOOK: Duration = Duration::from_millis(10);

/// Maximum number of files that a report names.
const MAX_NAMED: usize = 1_000;

impl Writer {
    /// Starts a capture in an open pipe or in a file; `-` is standard output.
    pub fn begin_in(writing: &WriteSettings, about: CaptureOrigin) -> Result<Self, Failure> {
        let WriteSettings { path, rotation, pipe, .. } = writing;
        if let Some(pipe) = pipe {
            let name = path.display().to_string();
            let pipe = pipe.try_clone().map_err(|error| unwritable(&name, error))?;
            return Self::begin(writing, name, None, RecordOutput::Stream(pipe), about);
        }
        if path.as_os_str() == "-" {
            let name = "standard output".to_owned();
            return Self::begin(writing, name, None, stdout()?, about);
        }
        let names = Names::begin(path, *rotation, now())
            .map_err(|error| unwritable(&path.display().to_string(), error))?;
        let out = open(names.present(), writing)?;
        let name = names.present().display().to_string();
        Self::begin(writing, name, Some(names), out, about)
    }

    fn begin(
        writing: &WriteSettings,
        name: String,
        names: Option<Names>,
        out: RecordOutput,
        about: CaptureOrigin,
    ) -> Result<Self, Failure> {
        let (format, rotation) = (writing.format, writing.rotation);
        let links = about.interfaces.iter().map(|one| one.link);
        if format == FileFormat::Pcap && links.clone().zip(links.skip(1)).any(|(a, b)| a != b) {
            let wrong = "these interfaces have different link types";
            return Err(Failure::usage(format!("cannot write {name}"), wrong)
                .advise("Leave out --format pcap: pcapng describes each interface."));
        }
        let of = vec![InterfaceCounts::default(); about.interfaces.len().max(1)];
        let mut waiting = Vec::with_capacity(BLOCK + (BLOCK >> 1));
        let encoder = Encoder::begin(format, &about, &mut waiting);
        let mut writer = Self {
            names,
            name,
            format,
            rotation,
            rotates: rotation.is_on(),
            worker: Worker::new(writing.afterwards.clone()),
            about,
            out,
            patience: Patience::default(),
            encoder,
            waiting,
            waiting_packets: 0,
            of,
            before: Vec::new(),
            packets: 0,
            bytes: 0,
            began: None,
            last: Timestamp::ZERO,
            written: 0,
            lost: 0,
            done: VecDeque::new(),
            failed: None,
        };
        // Write the header now, so that a full disk is reported before a packet is lost.
        writer.flush();
        match writer.failed.take() {
            Some(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                Err(unwritable(&writer.name, error))
            }
            failed => {
                writer.failed = failed;
                Ok(writer)
            }
        }
    }

    /// Sets the maximum wait for the reader of a pipe.
    #[must_use]
    pub(crate) fn with(mut self, patience: &Patience) -> Self {
        self.patience = patience.clone();
        self
    }

    /// Returns whether writing has failed.
    pub const fn has_failed(&self) -> bool {
        self.failed.is_some()
    }

    /// Returns whether the reader has closed the pipe.
    pub fn has_no_reader(&self) -> bool {
        self.failed.as_ref().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
    }

    /// Writes a packet of the only interface. `drops` is the number of drops known so far.
    #[inline]
    pub fn packet(
        &mut self,
        time: Timestamp,
        original_length: u32,
        data: &[u8],
        note: Option<&str>,
        drops: u64,
    ) {
        self.of[0].drops = drops;
        self.packet_of(0, time, original_length, data, note);
    }

    /// Writes a packet of the interface with this number.
    #[inline]
    pub(crate) fn packet_of(
        &mut self,
        interface: usize,
        time: Timestamp,
        original_length: u32,
        data: &[u8],
        note: Option<&str>,
    ) {
        if self.rotates && self.failed.is_none() && self.is_full(time) {
            self.rotate(time);
        }
        let of = &mut self.of[interface];
        if self.failed.is_some() {
            self.lost += 1;
            of.lost += 1;
            return;
        }
        of.packets += 1;
        self.began.get_or_insert(time);
        self.last = time;
        let number = interface as u32;
        self.encoder.packet(&mut self.waiting, number, time, original_length, data, note);
        self.waiting_packets += 1;
        if self.waiting.len() >= BLOCK {
            self.flush();
        }
    }

    /// Records in the file that packets of the only interface were dropped by this time.
    pub fn drops(&mut self, time: Timestamp, drops: u64, comment: &str) {
        self.drops_of(0, time, drops, comment);
    }

    /// Writes the statistics of the interface with this number.
    pub(crate) fn drops_of(
        &mut self,
        interface: usize,
        time: Timestamp,
        drops: u64,
        comment: &str,
    ) {
        self.of[interface].drops = drops;
        if self.failed.is_none() {
            self.statistics(interface, time, comment);
        }
    }

    fn statistics(&mut self, interface: usize, time: Timestamp, comment: &str) {
        let InterfaceCounts { packets, lost, drops, earlier_drops } = self.of[interface];
        let drops = drops.saturating_sub(earlier_drops) + lost;
        let counts = Counts {
            received: Some(packets + drops),
            drops: Some(drops),
            delivered: Some(packets),
            comment,
        };
        self.encoder.counts(&mut self.waiting, interface as u32, time, &counts);
    }

    /// Writes the statistics of all interfaces.
    fn all_statistics(&mut self, comments: &[String]) {
        for interface in 0..self.of.len() {
            let comment = comments.get(interface).map_or("", String::as_str);
            self.statistics(interface, self.last, comment);
        }
    }

    /// Returns whether the current file is full before a packet of this time.
    fn is_full(&self, time: Timestamp) -> bool {
        let Rotation { bytes, time: span, packets, .. } = self.rotation;
        let there = self.packets + self.waiting_packets;
        let full = |bytes: Bytes| self.bytes + self.waiting.len() as u64 >= bytes.get();
        there > 0
            && (bytes.is_some_and(full)
                || packets.is_some_and(|packets| there >= packets)
                || span.zip(self.began).is_some_and(|(span, began)| time.since(began) >= span))
    }

    /// Returns whether a packet of this time would start a file beyond the maximum.
    #[inline]
    pub(crate) fn is_over(&self, time: Timestamp) -> bool {
        let begun = self.names.as_ref().map_or(1, Names::begun);
        self.rotation.most.is_some_and(|most| begun >= most) && self.is_full(time)
    }

    /// Ends the current file and starts the next. If that fails, the current file still has to be
    /// ended.
    fn rotate(&mut self, time: Timestamp) {
        self.flush();
        if self.failed.is_none() {
            self.all_statistics(&[]);
        }
        self.flush();
        if self.failed.is_some() {
            return;
        }
        let Some(names) = &mut self.names else { return };
        let worker = &self.worker;
        let mut head = Vec::new();
        let encoder = Encoder::begin(self.format, &self.about, &mut head);
        let next = names.next(time, |path| worker.is_busy(path));
        let begun = next.and_then(|next| match begin(&next.path, &head) {
            Ok(out) => Ok((next, out)),
            Err(error) => {
                let wrong = format!("cannot start {}: {error}", next.path.display());
                Err(io::Error::new(error.kind(), wrong))
            }
        });
        let (next, out) = match begun {
            Ok(begun) => begun,
            Err(error) => {
                self.failed = Some(error);
                return;
            }
        };
        self.out = out;
        let ended = names.present().to_owned();
        let gone = names.advance(next);
        let (earlier, present) = (names.there() - 1, names.present().display().to_string());
        self.note_file();
        self.worker.finish(&ended);
        self.name = present;
        (self.packets, self.bytes, self.began) = (0, head.len() as u64, None);
        self.encoder = encoder;
        for of in &mut self.of {
            (of.packets, of.earlier_drops) = (0, of.drops);
        }
        self.before.clear();
        gone.into_iter().for_each(|file| self.worker.remove(file));
        // The current file may have overwritten an earlier one of this name.
        self.done.retain(|file| file.file != self.name);
        while self.done.len() > (earlier as usize).min(MAX_NAMED) {
            self.done.pop_front();
        }
    }

    /// Adds the current file to the list of finished files.
    fn note_file(&mut self) {
        let (file, bytes) = (self.name.clone(), Bytes::new(self.bytes));
        self.done.push_back(WrittenFile { file, packets: self.packets, bytes, packed_bytes: None });
    }

    /// Writes the end of a file: the buffered records and the counts.
    fn end_file(&mut self, comments: &[String]) {
        self.flush();
        if self.failed.is_none() {
            self.all_statistics(comments);
            self.flush();
        }
        if self.failed.is_some() {
            self.make_room(comments);
        }
        self.note_file();
    }

    /// Writes the counts at the end of a file on a full disk. They replace its last packets if
    /// necessary.
    fn make_room(&mut self, comments: &[String]) {
        if !matches!(self.out, RecordOutput::File(_)) || self.format == FileFormat::Pcap {
            return;
        }
        loop {
            self.waiting.clear();
            self.waiting_packets = 0;
            self.all_statistics(comments);
            let counts = std::mem::take(&mut self.waiting);
            let RecordOutput::File(file) = &mut self.out else { return };
            if file.write_all(&counts).is_ok() {
                self.bytes += counts.len() as u64;
                return;
            }
            // Remove the counts that were partly written.
            if cut(file, self.bytes).is_err() {
                return;
            }
            let packets =
                CompleteRecords::within(self.format, &self.before, usize::MAX, |_| ()).packets;
            if packets == 0 {
                return;
            }
            let shorter = self.before.len().saturating_sub(1);
            let whole = CompleteRecords::within(self.format, &self.before, shorter, |_| ());
            let gone = self.before.len() - whole.bytes;
            let lost = packets - whole.packets;
            let of = &mut self.of;
            CompleteRecords::within(self.format, &self.before[whole.bytes..], gone, |one| {
                lose(of, one);
            });
            self.before.truncate(whole.bytes);
            self.bytes -= gone as u64;
            self.packets -= lost;
            self.written -= lost;
            self.lost += lost;
            if cut(file, self.bytes).is_err() {
                return;
            }
        }
    }

    /// Writes the buffered records.
    pub fn flush(&mut self) {
        if self.failed.is_some() || self.waiting.is_empty() {
            return;
        }
        let (done, wrote) = match &mut self.out {
            RecordOutput::File(file) => write(file, &self.waiting),
            RecordOutput::Stream(stream) => self.patience.write(stream, &self.waiting),
        };
        self.failed = wrote.err();
        let all = CompleteRecords { bytes: self.waiting.len(), packets: self.waiting_packets };
        let whole = match self.failed {
            None => all,
            Some(_) => {
                let whole = CompleteRecords::within(self.format, &self.waiting, done, |_| ());
                let (gone, of) = (&self.waiting[whole.bytes..], &mut self.of);
                CompleteRecords::within(self.format, gone, usize::MAX, |one| lose(of, one));
                whole
            }
        };
        self.lost += all.packets - whole.packets;
        self.written += whole.packets;
        self.packets += whole.packets;
        self.bytes += whole.bytes as u64;
        if self.failed.is_some()
            && let RecordOutput::File(file) = &mut self.out
        {
            // An incomplete record at the end would be damage.
            let _ = cut(file, self.bytes);
        }
        self.waiting.truncate(whole.bytes);
        if self.failed.is_none() || !self.waiting.is_empty() {
            std::mem::swap(&mut self.before, &mut self.waiting);
        }
        self.waiting.clear();
        self.waiting_packets = 0;
    }

    /// Ends the capture of the only interface. Work on the last file continues afterwards.
    pub fn finish(mut self, drops: u64, comment: &str) -> Outcome {
        self.of[0].drops = drops;
        self.finish_all(&[comment.to_owned()])
    }

    /// Finishes the file with a comment for each interface.
    pub(crate) fn finish_all(mut self, comments: &[String]) -> Outcome {
        self.end_file(comments);
        if let Some(names) = &self.names {
            self.worker.finish(names.present());
        }
        Outcome {
            there: self.names.as_ref().map_or(1, Names::there),
            removed: self.names.as_ref().map_or(0, Names::removed),
            files: self.done.into(),
            written: self.written,
            lost: self.lost,
            failed: self.failed,
            working: self.worker.end(),
        }
    }
}

/// Moves a packet of this interface from the written ones to the lost ones.
fn lose(of: &mut [InterfaceCounts], interface: u32) {
    if let Some(of) = of.get_mut(interface as usize) {
        of.packets = of.packets.saturating_sub(1);
        of.lost += 1;
    }
}

impl Outcome {
    /// Waits for the remaining work on files. Calls `tell` now and then with the number of files
    /// left.
    pub fn wait(&mut self, mut tell: impl FnMut(usize)) -> Option<FinishedWork> {
        let working = self.working.take()?;
        while !working.is_over() {
            tell(working.left());
            thread::sleep(LOOK);
        }
        let worked = working.wait();
        for file in &mut self.files {
            if let Some((name, bytes)) = worked.packed(Path::new(&file.file)) {
                (file.file, file.packed_bytes) = (name.display().to_string(), Some(bytes));
            }
        }
        Some(worked)
    }
}

/// Creates the next of several files, with its header: without the header it would be damaged.
fn begin(name: &Path, head: &[u8]) -> io::Result<RecordOutput> {
    let mut out = create(name)?;
    let (RecordOutput::File(file) | RecordOutput::Stream(file)) = &mut out;
    if let Err(error) = file.write_all(head) {
        if matches!(out, RecordOutput::File(_)) {
            let _ = std::fs::remove_file(name);
        }
        return Err(error);
    }
    Ok(out)
}

fn open(path: &Path, writing: &WriteSettings) -> Result<RecordOutput, Failure> {
    let name = path.display().to_string();
    let out = create(path).map_err(|error| unwritable(&name, error))?;
    if matches!(out, RecordOutput::File(_)) {
        return Ok(out);
    }
    let refused = || Failure::usage(format!("cannot write {name}"), "it is no file on a disk");
    if writing.rotation.is_on() {
        return Err(
            refused().advise("Leave out --rotate-size, --rotate-time and --rotate-packets.")
        );
    }
    if writing.afterwards.is_on() {
        return Err(refused().advise("Leave out --compress and --post-rotate."));
    }
    Ok(out)
}

#[cfg(test)]
#[path = "file_tests.rs"]
mod tests;
