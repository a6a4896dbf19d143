//! The files of a capture: made with care, written in whole records, and begun
//! anew where that is asked for.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use windlass_base::{Bytes, Failure, Span, Timestamp};
use windlass_sys::privileges::Identity;
use windlass_wire::write::Counts;

use super::encode::{About, Encoder, FileFormat, Whole};
use super::patience::Patience;

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
    /// The pipe of that path, where it is open already.
    pub pipe: Option<Arc<File>>,
}

/// When a file ends and the next begins.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rotation {
    /// From this size on.
    pub bytes: Option<Bytes>,
    /// After so long.
    pub time: Option<Span>,
    /// After so many packets.
    pub packets: Option<u64>,
    /// How many files are kept: the last ones.
    pub files: Option<u32>,
}

impl Rotation {
    /// Whether there is more than one file.
    pub const fn is_on(&self) -> bool {
        self.bytes.is_some() || self.time.is_some() || self.packets.is_some()
    }
}

/// A file that was written.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Written {
    /// Its name.
    pub file: String,
    /// How many packets are in it.
    pub packets: u64,
    /// Its size.
    pub bytes: Bytes,
}

/// Where the records go.
#[derive(Debug)]
enum Out {
    /// A file on a disk, which can be cut.
    File(File),
    /// A pipe or a device.
    Stream(File),
}

/// Writes a capture.
#[derive(Debug)]
pub struct Writer {
    path: Option<PathBuf>,
    format: FileFormat,
    rotation: Rotation,
    /// Whether it asks for anything.
    rotates: bool,
    about: About,
    out: Out,
    /// How long the reader of a pipe is waited for.
    patience: Patience,
    encoder: Encoder,
    /// Records that wait, and how many of them are packets.
    waiting: Vec<u8>,
    waiting_packets: u64,
    /// The records before those: whose end may have to go for the counts.
    before: Vec<u8>,
    /// Of the present file.
    number: u32,
    packets: u64,
    bytes: u64,
    began: Option<Timestamp>,
    last: Timestamp,
    /// Drops before the present file.
    earlier_drops: u64,
    /// Over all files.
    written: u64,
    lost: u64,
    done: VecDeque<Written>,
    /// The number of the first file that was not removed.
    oldest: u32,
    failed: Option<io::Error>,
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
}

/// The most files that a report names.
const MAX_NAMED: usize = 1_000;

impl Writer {
    /// Begins a capture in a file; `-` is standard output.
    pub fn create(
        path: &Path,
        format: FileFormat,
        rotation: Rotation,
        about: About,
    ) -> Result<Self, Failure> {
        let path = (path.as_os_str() != "-").then(|| path.to_owned());
        let out = match &path {
            Some(path) => open(&numbered(path, 1, rotation), rotation)?,
            None => stdout()?,
        };
        Self::begin(path, out, format, rotation, about)
    }

    /// Begins a capture where it is to go: in a pipe that is open, or in a file.
    pub fn begin_in(writing: &Writing, about: About) -> Result<Self, Failure> {
        let Writing { path, format, rotation, pipe } = writing;
        let Some(pipe) = pipe else {
            return Self::create(path, *format, *rotation, about);
        };
        let name = path.display().to_string();
        let pipe = pipe.try_clone().map_err(|error| unwritable(&name, error))?;
        Self::begin(Some(path.clone()), Out::Stream(pipe), *format, *rotation, about)
    }

    fn begin(
        path: Option<PathBuf>,
        out: Out,
        format: FileFormat,
        rotation: Rotation,
        about: About,
    ) -> Result<Self, Failure> {
        let mut waiting = Vec::with_capacity(BLOCK + (BLOCK >> 1));
        let encoder = Encoder::begin(format, &about, &mut waiting);
        let mut writer = Self {
            path,
            format,
            rotation,
            rotates: rotation.is_on(),
            about,
            out,
            patience: Patience::default(),
            encoder,
            waiting,
            waiting_packets: 0,
            before: Vec::new(),
            number: 1,
            packets: 0,
            bytes: 0,
            began: None,
            last: Timestamp::ZERO,
            earlier_drops: 0,
            written: 0,
            lost: 0,
            done: VecDeque::new(),
            oldest: 1,
            failed: None,
        };
        // A full disk is told before a packet is lost to it.
        writer.flush();
        match writer.failed.take() {
            Some(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                Err(unwritable(&writer.name(), error))
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

    /// What the present file is called.
    pub fn name(&self) -> String {
        match &self.path {
            Some(path) => numbered(path, self.number, self.rotation).display().to_string(),
            None => "standard output".to_owned(),
        }
    }

    /// Whether nothing more can be written.
    pub const fn has_failed(&self) -> bool {
        self.failed.is_some()
    }

    /// Whether that is because nobody reads it any more.
    pub fn has_no_reader(&self) -> bool {
        self.failed.as_ref().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
    }

    /// Writes a packet. `drops` are those that are known of by now.
    #[inline]
    pub fn packet(
        &mut self,
        time: Timestamp,
        original_length: u32,
        data: &[u8],
        note: Option<&str>,
        drops: u64,
    ) {
        if self.rotates && self.failed.is_none() && self.is_full(time) {
            self.rotate(drops);
        }
        if self.failed.is_some() {
            self.lost += 1;
            return;
        }
        self.began.get_or_insert(time);
        self.last = time;
        self.encoder.packet(&mut self.waiting, time, original_length, data, note);
        self.waiting_packets += 1;
        if self.waiting.len() >= BLOCK {
            self.flush();
        }
    }

    /// Notes in the file that packets were dropped by now.
    pub fn drops(&mut self, time: Timestamp, drops: u64, comment: &str) {
        if self.failed.is_none() {
            self.statistics(time, drops, comment);
        }
    }

    fn statistics(&mut self, time: Timestamp, drops: u64, comment: &str) {
        let drops = drops.saturating_sub(self.earlier_drops);
        let packets = self.packets + self.waiting_packets;
        let counts = Counts {
            received: Some(packets + drops),
            drops: Some(drops),
            delivered: Some(packets),
            comment,
        };
        self.encoder.counts(&mut self.waiting, time, &counts);
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

    /// Ends the present file and begins the next. Where that fails, the present
    /// one is still to be ended.
    fn rotate(&mut self, drops: u64) {
        self.flush();
        self.drops(self.last, drops, "");
        self.flush();
        let Some(path) = self.path.clone().filter(|_| self.failed.is_none()) else { return };
        let next = self.number + 1;
        let name = numbered(&path, next, self.rotation);
        let mut head = Vec::new();
        let encoder = Encoder::begin(self.format, &self.about, &mut head);
        match begin(&name, &head) {
            Ok(out) => self.out = out,
            Err(error) => {
                let wrong = format!("cannot begin {}: {error}", name.display());
                self.failed = Some(io::Error::new(error.kind(), wrong));
                return;
            }
        }
        self.note_file();
        (self.number, self.packets, self.bytes, self.began) = (next, 0, head.len() as u64, None);
        (self.encoder, self.earlier_drops) = (encoder, drops);
        self.before.clear();
        // The one that has just begun is one of those that are kept.
        let kept = self.rotation.files.map_or(u32::MAX, |files| files.max(1));
        while self.there() > kept {
            // Where somebody has taken it away already, that is as well.
            let _ = std::fs::remove_file(numbered(&path, self.oldest, self.rotation));
            self.oldest += 1;
        }
        let earlier = (next - self.oldest) as usize;
        while self.done.len() > earlier.min(MAX_NAMED) {
            self.done.pop_front();
        }
    }

    /// How many files there are.
    const fn there(&self) -> u32 {
        self.number - self.oldest + 1
    }

    /// Keeps in mind what the present file has.
    fn note_file(&mut self) {
        let (file, bytes) = (self.name(), Bytes::new(self.bytes));
        self.done.push_back(Written { file, packets: self.packets, bytes });
    }

    /// Writes the last of a file.
    fn end_file(&mut self, drops: u64, comment: &str) {
        self.flush();
        self.statistics(self.last, drops, comment);
        if self.failed.is_none() {
            self.flush();
        }
        if self.failed.is_some() {
            self.make_room(drops, comment);
        }
        self.note_file();
    }

    /// Puts the counts at the end of a file on a full disk: in the place of its
    /// last packets, where it has to be.
    fn make_room(&mut self, drops: u64, comment: &str) {
        if !matches!(self.out, Out::File(_)) || self.format == FileFormat::Pcap {
            return;
        }
        loop {
            self.waiting.clear();
            self.waiting_packets = 0;
            self.statistics(self.last, drops + self.lost, comment);
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
            let packets = Whole::within(self.format, &self.before, usize::MAX).packets;
            if packets == 0 {
                return;
            }
            let shorter = self.before.len().saturating_sub(1);
            let whole = Whole::within(self.format, &self.before, shorter);
            let gone = self.before.len() - whole.bytes;
            let lost = packets - whole.packets;
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
            Some(_) => Whole::within(self.format, &self.waiting, done),
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

    /// Ends the capture.
    pub fn finish(mut self, drops: u64, comment: &str) -> Outcome {
        self.end_file(drops, comment);
        Outcome {
            there: self.there(),
            removed: self.oldest - 1,
            files: self.done.into(),
            written: self.written,
            lost: self.lost,
            failed: self.failed,
        }
    }
}

/// Writes all of it; says how much went.
fn write(file: &mut File, bytes: &[u8]) -> (usize, io::Result<()>) {
    let mut done = 0;
    while done < bytes.len() {
        match file.write(&bytes[done..]) {
            Ok(0) => return (done, Err(io::ErrorKind::WriteZero.into())),
            Ok(more) => done += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return (done, Err(error)),
        }
    }
    (done, Ok(()))
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

/// Cuts a file, and goes on from there.
fn cut(file: &mut File, bytes: u64) -> io::Result<()> {
    file.set_len(bytes)?;
    file.seek(SeekFrom::Start(bytes)).map(drop)
}

/// The name of a file of several: `trace.pcapng` is `trace-00001.pcapng` first.
fn numbered(path: &Path, number: u32, rotation: Rotation) -> PathBuf {
    if !rotation.is_on() {
        return path.to_owned();
    }
    let mut name = path.file_stem().unwrap_or_default().to_owned();
    name.push(format!("-{number:05}"));
    if let Some(extension) = path.extension() {
        name.push(".");
        name.push(extension);
    }
    path.with_file_name(name)
}

/// Standard output, past the buffer that the library keeps for it.
fn stdout() -> Result<Out, Failure> {
    let doing = || "cannot write the capture to standard output".to_owned();
    if io::IsTerminal::is_terminal(&io::stdout()) {
        return Err(Failure::usage(doing(), "it is a terminal")
            .advise("Name a file, or pipe it on: windlass capture eth0 -w - | wireshark -k -i -"));
    }
    let own = io::stdout();
    let copy = std::os::fd::AsFd::as_fd(&own).try_clone_to_owned();
    let file = File::from(copy.map_err(|error| Failure::new(doing(), error))?);
    let is_file = file.metadata().is_ok_and(|about| about.is_file());
    // What is behind `>>` must stay.
    Ok(if is_file && is_at_start(&file) { Out::File(file) } else { Out::Stream(file) })
}

fn is_at_start(mut file: &File) -> bool {
    file.stream_position().is_ok_and(|at| at == 0)
}

fn open(path: &Path, rotation: Rotation) -> Result<Out, Failure> {
    let name = path.display().to_string();
    let out = create(path).map_err(|error| unwritable(&name, error))?;
    if rotation.is_on() && matches!(out, Out::Stream(_)) {
        return Err(Failure::usage(format!("cannot write {name}"), "it is no file on a disk")
            .advise("Leave out --rotate-size, --rotate-time and --rotate-packets."));
    }
    Ok(out)
}

/// Makes a file that only its owner can read, or opens what is there already.
///
/// A capture holds what others said. So it is not put into a file of somebody
/// else, and not where a link of somebody else leads: who may write to `/tmp`
/// could have put it there.
fn create(path: &Path) -> io::Result<Out> {
    // Anybody may write to other folders there, as to /dev/shm.
    let is_device = path.parent() == Some(Path::new("/dev"))
        || ["/dev/fd", "/proc"].iter().any(|folder| path.starts_with(folder));
    let mut options = OpenOptions::new();
    options.write(true).mode(0o600);
    if let Ok(about) = std::fs::metadata(path)
        && !about.is_file()
    {
        if about.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        // A named pipe waits for its reader here.
        let kind = about.file_type();
        let stream = kind.is_fifo() || kind.is_char_device() || kind.is_socket();
        if !stream {
            return Err(io::Error::other("it is neither a file nor a pipe"));
        }
        let stream = options.open(path)?;
        let about = stream.metadata()?;
        if about.is_file() {
            return Err(io::Error::other("it has been replaced by a file"));
        }
        if about.file_type().is_fifo() && !is_device && about.uid() != Identity::own().user {
            return Err(io::Error::other("it belongs to another user"));
        }
        return Ok(Out::Stream(stream));
    }
    let no_links = if is_device { 0 } else { windlass_sys::privileges::NO_LINKS };
    let file = options.create(true).custom_flags(no_links).open(path).map_err(|error| {
        let is_link = std::fs::symlink_metadata(path).is_ok_and(|about| about.is_symlink());
        if is_link { io::Error::other("it is a symbolic link") } else { error }
    })?;
    let about = file.metadata()?;
    if about.uid() != Identity::own().user {
        return Err(io::Error::other("it belongs to another user"));
    }
    file.set_len(0)?;
    Ok(Out::File(file))
}

fn unwritable(name: &str, error: io::Error) -> Failure {
    let advice = match error.kind() {
        io::ErrorKind::NotFound => "Make the directory first.",
        io::ErrorKind::StorageFull => "Free some space, or write elsewhere.",
        _ => "Name another file, or check the right to write there.",
    };
    Failure::new(format!("cannot write {name}"), error).advise(advice)
}

#[cfg(test)]
#[path = "file_tests.rs"]
mod tests;
