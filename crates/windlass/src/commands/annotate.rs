//! `windlass explain --annotate`: a copy of the capture with notes as packet comments.

use std::io::{BufWriter, Write};
use std::path::Path;

use serde::Serialize;
use windlass_base::Failure;
use windlass_capture::{ReadCapture, ReadSettings};
use windlass_output::figures;
use windlass_trace::Note;
use windlass_wire::write::{Counts, PcapngWriter, Section};
use windlass_wire::{ByteOrder, Observer, Packet, Segment};

use crate::files::{WholeFile, check_output};
use crate::reading;

/// An annotated capture that was written.
#[derive(Clone, Debug, Serialize)]
pub(super) struct AnnotatedCapture {
    /// Its path.
    pub(super) file: String,
    /// Its packets.
    pub(super) packets: u64,
    /// Number of comments on them.
    pub(super) comments: u64,
}

/// Notes by the numbers of their packets, in that order.
pub(super) type Notes = std::iter::Peekable<std::vec::IntoIter<(u64, Note)>>;

/// Takes the notes on a packet, and those on packets before it that were passed over.
pub(super) fn notes_on(notes: &mut Notes, packet: u64) -> Vec<String> {
    let mut found = Vec::new();
    while let Some((number, note)) = notes.next_if(|(number, _)| *number <= packet) {
        if number == packet {
            found.push(note.to_string());
        }
    }
    found
}

struct AnnotatingCopy<W: Write> {
    out: W,
    writer: Option<PcapngWriter>,
    buffer: Vec<u8>,
    notes: Notes,
    packets: u64,
    comments: u64,
    failed: Option<std::io::Error>,
}

impl<W: Write> AnnotatingCopy<W> {
    /// Copies the counts of lost packets.
    fn statistics(&mut self, read: &ReadCapture) {
        let info = read.info();
        if let (Some(writer), Some(time)) = (&self.writer, info.latest)
            && (info.drops.is_some() || info.received.is_some())
        {
            self.buffer.clear();
            let counts = Counts { received: info.received, drops: info.drops, ..Counts::default() };
            writer.statistics(&mut self.buffer, 0, time, &counts);
            if let Err(error) = self.out.write_all(&self.buffer) {
                self.failed = Some(error);
            }
        }
    }
}

impl<W: Write> Observer for AnnotatingCopy<W> {
    fn packet(&mut self, packet: &Packet<'_>) {
        if self.failed.is_some() {
            return;
        }
        self.buffer.clear();
        let buffer = &mut self.buffer;
        let writer = self.writer.get_or_insert_with(|| {
            let order = if packet.big_endian { ByteOrder::Big } else { ByteOrder::Little };
            let application = concat!("windlass ", env!("CARGO_PKG_VERSION"));
            let section = Section { application, ..Section::default() };
            PcapngWriter::begin(buffer, order, &section)
        });
        let comments = notes_on(&mut self.notes, packet.number);
        let interface = writer.interface_for(buffer, packet.link, 0);
        let comments: Vec<&str> = comments.iter().map(String::as_str).collect();
        writer.packet(
            buffer,
            interface,
            packet.time,
            packet.original_length,
            packet.data,
            &comments,
        );
        match self.out.write_all(&self.buffer) {
            Ok(()) => {
                self.packets += 1;
                self.comments += comments.len() as u64;
            }
            Err(error) => self.failed = Some(error),
        }
    }

    fn segment(&mut self, _: &Segment) {}
}

/// Writes the capture of `reading` to `path` with `notes` as comments; a text capture is refused.
/// The file takes its name once it is complete: until then the old file stays.
pub(super) fn write(
    reading: &ReadSettings<'_>,
    path: &Path,
    mut notes: Vec<(u64, Note)>,
) -> Result<AnnotatedCapture, Failure> {
    let doing = format!("cannot write {}", path.display());
    notes.sort_by_key(|(number, _)| *number);
    let unwritable = |error: std::io::Error| {
        Failure::new(&doing, error).advise("Check the directory and the permission to write there.")
    };
    let file = WholeFile::create(path).map_err(unwritable)?;
    let mut copy = AnnotatingCopy {
        out: BufWriter::with_capacity(1 << 20, file.writer().map_err(unwritable)?),
        writer: None,
        buffer: Vec::new(),
        notes: notes.into_iter().peekable(),
        packets: 0,
        comments: 0,
        failed: None,
    };
    let read = reading::read(reading, &mut copy)?;
    if read.interrupted {
        return Err(Failure::new(doing, "stopped by Ctrl-C; nothing was written"));
    }
    if copy.packets == 0 && copy.failed.is_none() {
        return Err(Failure::usage(doing, "the capture is text, which has no packets to copy")
            .advise("Annotate the original pcap or pcapng file."));
    }
    if copy.failed.is_none() {
        copy.statistics(&read);
    }
    if copy.failed.is_none()
        && let Err(error) = copy.out.flush()
    {
        copy.failed = Some(error);
    }
    if let Some(error) = copy.failed {
        let after = figures::counted(copy.packets, "packet");
        let wrong = format!("{error}, after {}", after.plain());
        return Err(Failure::new(doing, wrong).advise("Free some space, or write elsewhere."));
    }
    let annotated = AnnotatedCapture {
        file: path.display().to_string(),
        packets: copy.packets,
        comments: copy.comments,
    };
    file.take_name().map_err(unwritable)?;
    Ok(annotated)
}

/// Checks the files before anything is read: the capture must be readable twice, and the output
/// must be a replaceable file.
pub(super) fn check(capture: &Path, output: &Path) -> Result<(), Failure> {
    let regular = std::fs::metadata(capture).is_ok_and(|about| about.is_file());
    let stdin = capture == Path::new("-");
    if stdin || (!regular && capture.exists()) {
        let name = if stdin { "standard input".into() } else { capture.display().to_string() };
        let doing = format!("cannot annotate {name}");
        let wrong = "the capture is read twice, and only a file can be read twice";
        return Err(Failure::usage(doing, wrong).advise("Save it to a file first."));
    }
    check_output(capture, output, "the annotated capture")
}
