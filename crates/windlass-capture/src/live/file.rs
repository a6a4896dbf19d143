//! The files of a capture: made with care, written in whole records, and begun
//! anew where that is asked for.

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

use super::afterwards::{Afterwards, Worked, Worker, Working};
use super::encode::{About, Encoder, FileFormat, Whole};
use super::names::Names;
use super::out::{Out, create, cut, stdout, unwritable, write};
use super::patience::Patience;
use super::rotation::Rotation;

/// How many bytes are written at a time: what is in the cache of a core still
/// when it is copied to the file.
const BLOCK: usize = 256 << 10;

/// Where to write.
#[derive(Clone, Debug)]
pub struct Writing {
    /// The file; `-` is standard output.
    pub path: PathBuf,
    /// Its format.
    pub format: FileFormat,
    /// When the next file begins.
    pub rotation: Rotation,
    /// What is done with a file that is whole.
    pub afterwards: Afterwards,
    /// The pipe of that path, where it is open already.
    pub pipe: Option<Arc<File>>,
}

/// A file that was written.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Written {
    /// Its name.
    pub file: String,
    /// How many packets are in it.
    pub packets: u64,
    /// Its size, before it was compressed.
    pub bytes: Bytes,
    /// Its size since then; nothing where it was not compressed.
    pub packed_bytes: Option<Bytes>,
}

/// Writes a capture.
#[derive(Debug)]
pub struct Writer {
    /// What its files are called; nothing for standard output and pipes.
    names: Option<Names>,
    /// What the present file is called to people.
    name: String,
    format: FileFormat,
    rotation: Rotation,
    /// Whether it asks for anything.
    rotates: bool,
    /// What is done with each file that is whole.
    worker: Worker,
    about: About,
    out: Out,
    /// How long the reader of a pipe is waited for.
    patience: Patience,
    encoder: Encoder,
    /// Records that wait, and how many of them are packets.
    waiting: Vec<u8>,
    waiting_packets: u64,
    /// Of each interface.
    of: Vec<OfInterface>,
    /// The records before those: whose end may have to go for the counts.
    before: Vec<u8>,
    /// Of the present file.
    packets: u64,
    bytes: u64,
    began: Option<Timestamp>,
    last: Timestamp,
    /// Over all files.
    written: u64,
    lost: u64,
    done: VecDeque<Written>,
    failed: Option<io::Error>,
}

/// What a file has of an interface.
#[derive(Clone, Debug, Default)]
struct OfInterface {
    /// Packets in the present file, those that wait included.
    packets: u64,
    /// Packets that could not be written.
    lost: u64,
    /// Packets that the kernel is known to have dropped, and those of them before the
    /// present file.
    drops: u64,
    earlier_drops: u64,
}

/// What a writer did.
#[derive(Debug)]
pub struct Outcome {
    /// The files that are there, the last ones where they are many.
    pub files: Vec<Written>,
    /// How many there are.
    pub there: u32,
    /// Earlier ones that were removed.
    pub removed: u32,
    /// Packets in files, the removed ones included.
    pub written: u64,
    /// Packets that could not be written.
    pub lost: u64,
    /// Why.
    pub failed: Option<io::Error>,
    /// What is still to be done with files, and was done, where anything was to be.
    pub working: Option<Working>,
}

/// How often is looked whether all is done with the files.
const LOOK: Duration = Duration::from_millis(10);

/// The most files that a report names.
const MAX_NAMED: usize = 1_000;

impl Writer {
    /// Begins a capture where it is to go: in a pipe that is open, or in a file; `-` is standard
    /// output.
    pub fn begin_in(writing: &Writing, about: About) -> Result<Self, Failure> {
        let Writing { path, rotation, pipe, .. } = writing;
        if let Some(pipe) = pipe {
            let name = path.display().to_string();
            let pipe = pipe.try_clone().map_err(|error| unwritable(&name, error))?;
            return Self::begin(writing, name, None, Out::Stream(pipe), about);
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
        writing: &Writing,
        name: String,
        names: Option<Names>,
        out: Out,
        about: About,
    ) -> Result<Self, Failure> {
        let (format, rotation) = (writing.format, writing.rotation);
        let links = about.interfaces.iter().map(|one| one.link);
        if format == FileFormat::Pcap && links.clone().zip(links.skip(1)).any(|(a, b)| a != b) {
            let wrong = "packets of these interfaces begin in different ways";
            return Err(Failure::usage(format!("cannot write {name}"), wrong)
                .advise("Leave out --format pcap: pcapng has a description of each interface."));
        }
        let of = vec![OfInterface::default(); about.interfaces.len().max(1)];
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
        // A full disk is told before a packet is lost to it.
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

    /// The reader of a pipe is waited for as long as this says.
    #[must_use]
    pub(crate) fn with(mut self, patience: &Patience) -> Self {
        self.patience = patience.clone();
        self
    }

    /// Whether nothing more can be written.
    pub const fn has_failed(&self) -> bool {
        self.failed.is_some()
    }

    /// Whether that is because nobody reads it any more.
    pub fn has_no_reader(&self) -> bool {
        self.failed.as_ref().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
    }

    /// Writes a packet of the only interface. `drops` are those that are known of by
    /// now.
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

    /// Writes a packet of an interface, by its number.
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

    /// Notes in the file that packets of the only interface were dropped by now.
    pub fn drops(&mut self, time: Timestamp, drops: u64, comment: &str) {
        self.drops_of(0, time, drops, comment);
    }

    /// The same of an interface, by its number.
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
        let OfInterface { packets, lost, drops, earlier_drops } = self.of[interface];
        let drops = drops.saturating_sub(earlier_drops) + lost;
        let counts = Counts {
            received: Some(packets + drops),
            drops: Some(drops),
            delivered: Some(packets),
            comment,
        };
        self.encoder.counts(&mut self.waiting, interface as u32, time, &counts);
    }

    /// The counts of all interfaces.
    fn all_statistics(&mut self, comments: &[String]) {
        for interface in 0..self.of.len() {
            let comment = comments.get(interface).map_or("", String::as_str);
            self.statistics(interface, self.last, comment);
        }
    }

    /// Whether the present file has all that it may have, before a packet of this
    /// time.
    fn is_full(&self, time: Timestamp) -> bool {
        let Rotation { bytes, time: span, packets, .. } = self.rotation;
        let there = self.packets + self.waiting_packets;
        let full = |bytes: Bytes| self.bytes + self.waiting.len() as u64 >= bytes.get();
        there > 0
            && (bytes.is_some_and(full)
                || packets.is_some_and(|packets| there >= packets)
                || span.zip(self.began).is_some_and(|(span, began)| time.since(began) >= span))
    }

    /// Whether a packet of this time would begin one file more than there may be.
    #[inline]
    pub(crate) fn is_over(&self, time: Timestamp) -> bool {
        let begun = self.names.as_ref().map_or(1, Names::begun);
        self.rotation.most.is_some_and(|most| begun >= most) && self.is_full(time)
    }

    /// Ends the present file and begins the next. Where that fails, the present
    /// one is still to be ended.
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
                let wrong = format!("cannot begin {}: {error}", next.path.display());
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
        // One of that name is what the present file has overwritten.
        self.done.retain(|file| file.file != self.name);
        while self.done.len() > (earlier as usize).min(MAX_NAMED) {
            self.done.pop_front();
        }
    }

    /// Keeps in mind what the present file has.
    fn note_file(&mut self) {
        let (file, bytes) = (self.name.clone(), Bytes::new(self.bytes));
        self.done.push_back(Written { file, packets: self.packets, bytes, packed_bytes: None });
    }

    /// Writes the last of a file.
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

    /// Puts the counts at the end of a file on a full disk: in the place of its
    /// last packets, where it has to be.
    fn make_room(&mut self, comments: &[String]) {
        if !matches!(self.out, Out::File(_)) || self.format == FileFormat::Pcap {
            return;
        }
        loop {
            self.waiting.clear();
            self.waiting_packets = 0;
            self.all_statistics(comments);
            let counts = std::mem::take(&mut self.waiting);
            let Out::File(file) = &mut self.out else { return };
            if file.write_all(&counts).is_ok() {
                self.bytes += counts.len() as u64;
                return;
            }
            // Some of them may be there.
            if cut(file, self.bytes).is_err() {
                return;
            }
            let packets = Whole::within(self.format, &self.before, usize::MAX, |_| ()).packets;
            if packets == 0 {
                return;
            }
            let shorter = self.before.len().saturating_sub(1);
            let whole = Whole::within(self.format, &self.before, shorter, |_| ());
            let gone = self.before.len() - whole.bytes;
            let lost = packets - whole.packets;
            let of = &mut self.of;
            Whole::within(self.format, &self.before[whole.bytes..], gone, |one| lose(of, one));
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

    /// Writes what waits.
    pub fn flush(&mut self) {
        if self.failed.is_some() || self.waiting.is_empty() {
            return;
        }
        let (done, wrote) = match &mut self.out {
            Out::File(file) => write(file, &self.waiting),
            Out::Stream(stream) => self.patience.write(stream, &self.waiting),
        };
        self.failed = wrote.err();
        let all = Whole { bytes: self.waiting.len(), packets: self.waiting_packets };
        let whole = match self.failed {
            None => all,
            Some(_) => {
                let whole = Whole::within(self.format, &self.waiting, done, |_| ());
                let (gone, of) = (&self.waiting[whole.bytes..], &mut self.of);
                Whole::within(self.format, gone, usize::MAX, |one| lose(of, one));
                whole
            }
        };
        self.lost += all.packets - whole.packets;
        self.written += whole.packets;
        self.packets += whole.packets;
        self.bytes += whole.bytes as u64;
        if self.failed.is_some()
            && let Out::File(file) = &mut self.out
        {
            // Half a record at the end would be damage.
            let _ = cut(file, self.bytes);
        }
        self.waiting.truncate(whole.bytes);
        if self.failed.is_none() || !self.waiting.is_empty() {
            std::mem::swap(&mut self.before, &mut self.waiting);
        }
        self.waiting.clear();
        self.waiting_packets = 0;
    }

    /// Ends the capture of the only interface. What is to be done with the last file
    /// is still done then.
    pub fn finish(mut self, drops: u64, comment: &str) -> Outcome {
        self.of[0].drops = drops;
        self.finish_all(&[comment.to_owned()])
    }

    /// The same, with a comment for each interface.
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

/// A packet of this interface is not in the file after all.
fn lose(of: &mut [OfInterface], interface: u32) {
    if let Some(of) = of.get_mut(interface as usize) {
        of.packets = of.packets.saturating_sub(1);
        of.lost += 1;
    }
}

impl Outcome {
    /// Waits for what is still to be done with the files. `tell` hears now and then
    /// how many wait.
    pub fn wait(&mut self, mut tell: impl FnMut(usize)) -> Option<Worked> {
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

/// Makes the next of several files. Without its head it would be damaged.
fn begin(name: &Path, head: &[u8]) -> io::Result<Out> {
    let mut out = create(name)?;
    let (Out::File(file) | Out::Stream(file)) = &mut out;
    if let Err(error) = file.write_all(head) {
        if matches!(out, Out::File(_)) {
            let _ = std::fs::remove_file(name);
        }
        return Err(error);
    }
    Ok(out)
}

fn open(path: &Path, writing: &Writing) -> Result<Out, Failure> {
    let name = path.display().to_string();
    let out = create(path).map_err(|error| unwritable(&name, error))?;
    if matches!(out, Out::File(_)) {
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
