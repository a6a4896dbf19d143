//! `windlass explain --annotate`: the capture again, with the notes as packet
//! comments.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use serde::Serialize;
use windlass_trace::Note;
use windlass_wire::write::{PcapngWriter, Section};
use windlass_wire::{ByteOrder, Packet, Segment};

use crate::failure::Failure;
use crate::survey::{self, Observer, Reading};

/// An annotated capture that was written.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Annotated {
    /// Its path.
    pub(super) file: String,
    /// Its packets.
    pub(super) packets: u64,
    /// The comments on them.
    pub(super) comments: u64,
}

struct Copy<W: Write> {
    out: W,
    writer: Option<PcapngWriter>,
    buffer: Vec<u8>,
    notes: std::iter::Peekable<std::vec::IntoIter<(u64, Note)>>,
    packets: u64,
    comments: u64,
    failed: Option<std::io::Error>,
}

impl<W: Write> Observer for Copy<W> {
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
        let mut comments: Vec<String> = Vec::new();
        while let Some((number, note)) = self.notes.peek()
            && *number <= packet.number
        {
            if *number == packet.number {
                comments.push(note.to_string());
            }
            self.notes.next();
        }
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

/// Writes the capture of `reading` to `path` with `notes` as comments.
///
/// # Errors
/// Where the capture is text, or the file cannot be written.
pub(super) fn write(
    reading: &Reading<'_>,
    path: &Path,
    mut notes: Vec<(u64, Note)>,
) -> Result<Annotated, Failure> {
    let doing = format!("cannot write {}", path.display());
    if is_same_file(reading.file, path) {
        return Err(Failure::usage(doing, "it is the capture that is being read")
            .advise("Give the annotated capture another name."));
    }
    notes.sort_by_key(|(number, _)| *number);
    let file = File::create(path).map_err(|error| {
        Failure::new(&doing, error).advise("Check the directory and the right to write there.")
    })?;
    let mut copy = Copy {
        out: BufWriter::with_capacity(1 << 20, file),
        writer: None,
        buffer: Vec::new(),
        notes: notes.into_iter().peekable(),
        packets: 0,
        comments: 0,
        failed: None,
    };
    survey::read(reading, &mut copy)?;
    if copy.failed.is_none()
        && let Err(error) = copy.out.flush()
    {
        copy.failed = Some(error);
    }
    if let Some(error) = copy.failed {
        let wrong = format!("{error}, after {} packets", copy.packets);
        return Err(Failure::new(doing, wrong).advise("Free some space, or write elsewhere."));
    }
    if copy.packets == 0 {
        return Err(Failure::usage(doing, "the capture is text, which holds no packets")
            .advise("Annotate the pcap or pcapng file that the text was printed from."));
    }
    Ok(Annotated {
        file: path.display().to_string(),
        packets: copy.packets,
        comments: copy.comments,
    })
}

fn is_same_file(one: &Path, other: &Path) -> bool {
    match (one.canonicalize(), other.canonicalize()) {
        (Ok(one), Ok(other)) => one == other,
        _ => false,
    }
}
