//! Outputs of captured packets: a file, the analyser, the screen.

use std::io::{self, Write};

use windlass_base::{Span, Timestamp};
use windlass_sys::capture::{Framing, Packet as Captured};
use windlass_sys::clock::now;
use windlass_trace::{Analysis, Snapshot};
use windlass_wire::text::print;
use windlass_wire::{Decoder, LinkType, Observer, Packet, Segments};

use super::file::Writer;

/// Size of Linux's own header for packets without their link header (`LINKTYPE_LINUX_SLL2`).
const COOKED: usize = 20;

/// Maximum delay of a packet from the kernel: twice the timeout of a ring block, plus the sleep of
/// its reader.
const WAITING: Span = Span::from_millis(120);

/// Receiver of captured packets.
pub(crate) struct Sink {
    interfaces: Vec<InterfaceState>,
    pub writer: Option<Writer>,
    pub analysis: Option<Segments<Analysis<()>>>,
    pub lines: Option<Lines>,
    /// Number of wanted packets, if limited.
    pub most: Option<u64>,
    /// True if all wanted files are full.
    pub has_all_files: bool,
    pub tally: Tally,
    /// Buffer for a packet with Linux's own header in place of the removed one.
    cooked: Vec<u8>,
    /// Times at which the kernel reported drops.
    pub dropping: Vec<KernelDrops>,
    pub gaps: Vec<Gap>,
}

/// State of an interface.
struct InterfaceState {
    framing: Framing,
    name: String,
    /// Comment for its next packet.
    note: Option<String>,
    /// Time at which the interface went down, if it is down.
    down: Option<Timestamp>,
    /// Number of packets that the kernel is known to have dropped.
    drops: u64,
    /// Time of the last check for drops.
    checked: Timestamp,
}

/// Counts of the packets taken.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    /// Number of wanted packets.
    pub taken: u64,
    /// Bytes of these packets on the wire.
    pub bytes: u64,
    /// Number of packets after the last wanted one.
    pub after: u64,
    /// Number of batches.
    pub batches: u64,
}

/// Time during which an interface was down.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Gap {
    /// Name of the interface.
    pub interface: String,
    /// Time at which the interface went down.
    #[serde(rename = "start_time")]
    pub from: Timestamp,
    /// Time at which it was up again; `None` if it was still down at the end.
    #[serde(rename = "end_time")]
    pub to: Option<Timestamp>,
}

/// Packets that the kernel dropped between two times.
#[derive(Clone, Copy, Debug, serde::Serialize)]
pub struct KernelDrops {
    /// Earliest time of the drops.
    #[serde(rename = "start_time")]
    pub after: Timestamp,
    /// Latest time of the drops.
    #[serde(rename = "end_time")]
    pub until: Timestamp,
    /// Number of packets.
    pub packets: u64,
}

impl KernelDrops {
    /// Returns the maximum number of drops between two times.
    pub fn between(all: &[Self], from: Timestamp, to: Timestamp) -> u64 {
        let meanwhile = |one: &&Self| one.until >= from && one.after <= to;
        all.iter().filter(meanwhile).map(|one| one.packets).sum()
    }
}

/// Maximum number of gaps, and of drops, that are kept one by one.
const MAX_TOLD: usize = 1_000;

/// Text output of packets.
pub(crate) struct Lines {
    decoder: Decoder,
    out: Box<dyn Write + Send>,
    text: String,
    pub failed: Option<io::Error>,
}

impl Lines {
    pub(crate) fn new(out: Box<dyn Write + Send>) -> Self {
        Self { decoder: Decoder::new(), out, text: String::new(), failed: None }
    }

    fn packet(&mut self, packet: &Packet<'_>) {
        self.text.clear();
        let mut decoded = Some(self.decoder.decode(packet));
        while let Some(one) = decoded {
            print(&mut self.text, packet, &one);
            self.text.push('\n');
            decoded = self.decoder.more(packet);
        }
        if self.failed.is_none() {
            self.failed = self.out.write_all(self.text.as_bytes()).err();
        }
    }

    pub(crate) fn flush(&mut self) {
        if self.failed.is_none() {
            self.failed = self.out.flush().err();
        }
    }
}

/// Returns the link type of an interface.
pub const fn link_type(framing: Framing) -> LinkType {
    match framing {
        Framing::Ethernet => LinkType::ETHERNET,
        Framing::Ip => LinkType::RAW,
        Framing::Cooked => LinkType::LINUX_SLL2,
    }
}

/// Default of `--snap-length`: whole packets.
pub const WHOLE: u32 = windlass_sys::capture::WHOLE;

/// Bytes of a packet that contain all headers, including those of tunnels: the snap length if
/// packets are only looked at.
pub const HEADERS: u32 = 256;

/// Returns the maximum size of a packet in a file. Readers rely on this value and cut longer
/// packets.
pub(crate) fn kept_bytes(framing: Framing, snap_length: u32) -> u32 {
    let head = if framing == Framing::Cooked { COOKED as u32 } else { 0 };
    snap_length.saturating_add(head).min(WHOLE)
}

impl Sink {
    /// Creates a sink for interfaces, given the framing and the name of each.
    pub(crate) fn new(interfaces: impl IntoIterator<Item = (Framing, String)>) -> Self {
        let side = |(framing, name)| InterfaceState {
            framing,
            name,
            note: None,
            down: None,
            drops: 0,
            checked: now(),
        };
        Self {
            interfaces: interfaces.into_iter().map(side).collect(),
            writer: None,
            analysis: None,
            lines: None,
            most: None,
            has_all_files: false,
            tally: Tally::default(),
            cooked: Vec::new(),
            dropping: Vec::new(),
            gaps: Vec::new(),
        }
    }

    /// Returns whether the wanted packets have arrived.
    pub(crate) fn is_full(&self) -> bool {
        self.has_all_files || self.most.is_some_and(|most| self.tally.taken >= most)
    }

    /// Returns whether no output takes packets any more.
    pub(crate) fn has_failed(&self) -> bool {
        self.writer.as_ref().is_some_and(Writer::has_failed)
            || self.lines.as_ref().is_some_and(|lines| lines.failed.is_some())
    }

    /// Returns whether the reader has closed the pipe.
    pub(crate) fn has_no_reader(&self) -> bool {
        let lines = self.lines.as_ref().and_then(|lines| lines.failed.as_ref());
        self.writer.as_ref().is_some_and(Writer::has_no_reader)
            || lines.is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
    }

    /// Takes a packet of an interface.
    pub(crate) fn packet(&mut self, interface: usize, captured: &Captured<'_>) {
        self.has_all_files |=
            self.writer.as_ref().is_some_and(|writer| writer.is_over(captured.time));
        if self.is_full() {
            self.tally.after += 1;
            return;
        }
        self.tally.taken += 1;
        self.tally.bytes += u64::from(captured.original_length);
        // Another thread may still deliver packets from before the interface went down.
        if self.interfaces[interface].down.is_some_and(|from| captured.time > from) {
            self.up(interface, captured.time);
        }
        let side = &mut self.interfaces[interface];
        let (mut data, mut original_length) = (captured.data, captured.original_length);
        if side.framing == Framing::Cooked {
            cook(&mut self.cooked, captured);
            data = &self.cooked;
            original_length = original_length.saturating_add(COOKED as u32);
        }
        if let Some(writer) = &mut self.writer {
            let note = side.note.take();
            writer.packet_of(interface, captured.time, original_length, data, note.as_deref());
        }
        if self.analysis.is_none() && self.lines.is_none() {
            return;
        }
        let packet = Packet {
            number: self.tally.taken,
            time: captured.time,
            link: link_type(side.framing),
            big_endian: cfg!(target_endian = "big"),
            original_length,
            data,
        };
        if let Some(analysis) = &mut self.analysis {
            analysis.packet(&packet);
        }
        if let Some(lines) = &mut self.lines {
            lines.packet(&packet);
        }
    }

    /// Counts a batch at its end.
    pub(crate) fn batch(&mut self) {
        self.tally.batches += 1;
    }

    /// Records that an interface went down.
    pub(crate) fn down(&mut self, interface: usize, time: Timestamp) {
        let side = &mut self.interfaces[interface];
        if side.down.is_none() {
            side.down = Some(time);
            self.flush();
        }
    }

    /// Records that an interface is up again.
    pub(crate) fn up(&mut self, interface: usize, time: Timestamp) {
        let side = &mut self.interfaces[interface];
        if let Some(from) = side.down.take() {
            if self.gaps.len() < MAX_TOLD {
                self.gaps.push(Gap { interface: side.name.clone(), from, to: Some(time) });
            }
            let lasted = time.since(from);
            side.note = Some(format!("The interface was down for {lasted} before this packet."));
        }
    }

    /// Records the number of packets of an interface that the kernel has dropped so far.
    pub(crate) fn drops(&mut self, interface: usize, time: Timestamp, drops: u64) {
        let side = &mut self.interfaces[interface];
        let (after, before) = (side.checked, side.drops);
        side.checked = time;
        let since = drops.saturating_sub(before);
        if since == 0 {
            return;
        }
        side.drops = drops;
        if self.dropping.len() < MAX_TOLD {
            self.dropping.push(KernelDrops { after, until: time, packets: since });
        } else if let Some(last) = self.dropping.last_mut() {
            (last.until, last.packets) = (time, last.packets + since);
        }
        if let Some(writer) = &mut self.writer {
            // With both counts a reader knows the time of the drops.
            writer.drops_of(interface, after, before, "");
            let comment = format!("The kernel dropped {since} packets before this.");
            writer.drops_of(interface, time, drops, &comment);
        }
    }

    /// Flushes the outputs.
    pub(crate) fn flush(&mut self) {
        if let Some(writer) = &mut self.writer {
            writer.flush();
        }
        if let Some(lines) = &mut self.lines {
            lines.flush();
        }
    }

    /// Returns the active transfers, with --explain.
    pub(crate) fn look(&mut self, most: usize) -> Option<Snapshot> {
        let analysis = self.analysis.as_mut()?;
        // Later packets may still be in a block that is not full.
        Some(analysis.observer.analyzer.look(most, now() - WAITING))
    }

    /// Ends the sink; returns the closing comment of each interface for the file.
    pub(crate) fn end(&mut self) -> Vec<String> {
        self.flush();
        let gaps = &mut self.gaps;
        let end = |side: &mut InterfaceState| match side.down.take() {
            Some(from) => {
                gaps.push(Gap { interface: side.name.clone(), from, to: None });
                "The interface was down at the end.".to_owned()
            }
            None => String::new(),
        };
        self.interfaces.iter_mut().map(end).collect()
    }
}

/// Puts Linux's header before a packet.
fn cook(cooked: &mut Vec<u8>, captured: &Captured<'_>) {
    let way = &captured.way;
    cooked.clear();
    cooked.extend(way.protocol.to_be_bytes());
    cooked.extend([0; 2]);
    cooked.extend(way.interface.to_be_bytes());
    cooked.extend(way.hardware.to_be_bytes());
    cooked.extend([way.kind, way.address_length]);
    cooked.extend(way.address);
    cooked.extend_from_slice(captured.data);
}
