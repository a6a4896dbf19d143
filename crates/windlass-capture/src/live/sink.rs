//! Where captured packets go: into a file, to the analyser, onto the screen.

use std::io::{self, Write};

use windlass_base::{Span, Timestamp};
use windlass_sys::capture::{Framing, Packet as Captured};
use windlass_sys::clock::now;
use windlass_trace::{Analysis, Look};
use windlass_wire::text::print;
use windlass_wire::{Decoder, LinkType, Observer, Packet, Segments};

use super::file::Writer;

/// The bytes of Linux's own header for packets whose link header has been taken
/// off (`LINKTYPE_LINUX_SLL2`).
const COOKED: usize = 20;

/// How long a packet may be on its way from the kernel: what a block of the ring
/// waits at most, what its reader sleeps, and as long as the block again.
const WAITING: Span = Span::from_millis(120);

/// Takes packets.
pub(crate) struct Sink {
    interfaces: Vec<Side>,
    pub writer: Option<Writer>,
    pub analysis: Option<Segments<Analysis<()>>>,
    pub lines: Option<Lines>,
    /// The most packets that are wanted.
    pub most: Option<u64>,
    /// All files that are wanted are full.
    pub has_all_files: bool,
    pub tally: Tally,
    /// The header of a packet that has lost its own, and the packet.
    cooked: Vec<u8>,
    /// When they were told of.
    pub dropping: Vec<Dropping>,
    pub gaps: Vec<Gap>,
}

/// An interface, as the sink knows it.
struct Side {
    framing: Framing,
    name: String,
    /// What is to be said of its next packet.
    note: Option<String>,
    /// It has been down since then.
    down: Option<Timestamp>,
    /// The packets that the kernel is known to have dropped.
    drops: u64,
    /// When that was last asked for.
    checked: Timestamp,
}

/// What was taken.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    /// Packets that were wanted.
    pub taken: u64,
    /// Their bytes on the wire.
    pub bytes: u64,
    /// Packets that came after the last that was wanted.
    pub after: u64,
    /// Batches.
    pub batches: u64,
}

/// A time without packets.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Gap {
    /// Of this interface.
    pub interface: String,
    /// When it began.
    #[serde(rename = "start_time")]
    pub from: Timestamp,
    /// When it ended; nothing where it had not.
    #[serde(rename = "end_time")]
    pub to: Option<Timestamp>,
}

/// Packets that the kernel dropped in a stretch of time.
#[derive(Clone, Copy, Debug, serde::Serialize)]
pub struct Dropping {
    /// Not before this.
    #[serde(rename = "start_time")]
    pub after: Timestamp,
    /// Not after this.
    #[serde(rename = "end_time")]
    pub until: Timestamp,
    /// How many.
    pub packets: u64,
}

impl Dropping {
    /// How many were dropped at most while something lasted, from one time to
    /// another.
    pub fn between(all: &[Self], from: Timestamp, to: Timestamp) -> u64 {
        let meanwhile = |one: &&Self| one.until >= from && one.after <= to;
        all.iter().filter(meanwhile).map(|one| one.packets).sum()
    }
}

/// The most gaps and droppings that are told one by one.
const MAX_TOLD: usize = 1_000;

/// Packets as text.
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

/// What the packets of an interface begin with, as files say it.
pub const fn link_type(framing: Framing) -> LinkType {
    match framing {
        Framing::Ethernet => LinkType::ETHERNET,
        Framing::Ip => LinkType::RAW,
        Framing::Cooked => LinkType::LINUX_SLL2,
    }
}

/// The default of `--snap-length`: whole packets.
pub const WHOLE: u32 = windlass_sys::capture::WHOLE;

/// The bytes of a packet in which all headers are, with tunnels around them: what is kept where
/// packets are only looked at.
pub const HEADERS: u32 = 256;

/// The most bytes of a packet in a file: readers believe it, and cut what is
/// longer.
pub(crate) fn kept_bytes(framing: Framing, snap_length: u32) -> u32 {
    let head = if framing == Framing::Cooked { COOKED as u32 } else { 0 };
    snap_length.saturating_add(head).min(WHOLE)
}

impl Sink {
    /// One for these interfaces, by how their packets begin and their names.
    pub(crate) fn new(interfaces: impl IntoIterator<Item = (Framing, String)>) -> Self {
        let side = |(framing, name)| Side {
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

    /// Whether all that was wanted has come.
    pub(crate) fn is_full(&self) -> bool {
        self.has_all_files || self.most.is_some_and(|most| self.tally.taken >= most)
    }

    /// Whether there is nobody left to take packets.
    pub(crate) fn has_failed(&self) -> bool {
        self.writer.as_ref().is_some_and(Writer::has_failed)
            || self.lines.as_ref().is_some_and(|lines| lines.failed.is_some())
    }

    /// Whether that is because nobody reads any more.
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
        // Another thread may still have packets of before.
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

    /// A batch is over.
    pub(crate) fn batch(&mut self) {
        self.tally.batches += 1;
    }

    /// An interface went down.
    pub(crate) fn down(&mut self, interface: usize, time: Timestamp) {
        let side = &mut self.interfaces[interface];
        if side.down.is_none() {
            side.down = Some(time);
            self.flush();
        }
    }

    /// It is up again.
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

    /// The kernel has dropped so many packets of an interface by now.
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
            self.dropping.push(Dropping { after, until: time, packets: since });
        } else if let Some(last) = self.dropping.last_mut() {
            (last.until, last.packets) = (time, last.packets + since);
        }
        if let Some(writer) = &mut self.writer {
            // From both a reader knows when it was.
            writer.drops_of(interface, after, before, "");
            let comment = format!("The kernel dropped {since} packets before this.");
            writer.drops_of(interface, time, drops, &comment);
        }
    }

    /// Hands on what waits.
    pub(crate) fn flush(&mut self) {
        if let Some(writer) = &mut self.writer {
            writer.flush();
        }
        if let Some(lines) = &mut self.lines {
            lines.flush();
        }
    }

    /// What moves, where that is explained.
    pub(crate) fn look(&mut self, most: usize) -> Option<Look> {
        let analysis = self.analysis.as_mut()?;
        // What came later may be in a block that is not full.
        Some(analysis.observer.analyzer.look(most, now() - WAITING))
    }

    /// All has come. What is to be said at the end of a file, of each interface.
    pub(crate) fn end(&mut self) -> Vec<String> {
        self.flush();
        let gaps = &mut self.gaps;
        let end = |side: &mut Side| match side.down.take() {
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
