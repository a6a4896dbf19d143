//! The captures, made once and kept.

use std::fs::{self, File};
use std::io::{self, BufReader, Write};
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use flate2::Compression;
use flate2::write::GzEncoder;
use windlass_base::Timestamp;
use windlass_wire::write::{PcapWriter, PcapngWriter, Section};
use windlass_wire::{ByteOrder, LinkType};

use crate::common::grouped;
use crate::conversation::{Bulk, Frame, Random, one_sided, open, open_packets};

/// Bytes that are written at once.
const BLOCK: usize = 4 << 20;

/// Packets of the bulk captures.
const BULK: u64 = 1_122_765;

/// Packets of the one-sided capture.
const ONE_SIDED: u64 = 1_090_000;

/// Connections of the capture of many.
const CONNECTIONS: u64 = 50_000;

/// A capture on disk.
pub(crate) struct Capture {
    pub(crate) path: PathBuf,
    pub(crate) packets: u64,
    pub(crate) bytes: u64,
    what: &'static str,
}

impl Capture {
    pub(crate) fn about(&self) -> String {
        format!(
            "{}, {} packets, {} MB",
            self.what,
            grouped(self.packets as f64),
            grouped(self.bytes as f64 / 1e6)
        )
    }
}

/// The folder they are in.
pub(crate) struct Captures {
    folder: PathBuf,
    quick: bool,
}

/// Format of a file.
enum Format {
    Pcap(PcapWriter),
    Pcapng(PcapngWriter),
}

/// Appends packets to a file, cut at the snap length.
struct Writer<W> {
    file: W,
    format: Format,
    snap: usize,
    block: Vec<u8>,
    packets: u64,
}

impl<W: Write> Writer<W> {
    fn new(file: W, pcapng: bool, snap: usize) -> Self {
        let mut block = Vec::with_capacity(BLOCK + (64 << 10));
        let snap_length = u32::try_from(snap).unwrap_or(0);
        let format = if pcapng {
            let section = Section::default();
            let mut writer = PcapngWriter::begin(&mut block, ByteOrder::Little, &section);
            writer.interface(&mut block, LinkType::ETHERNET, snap_length, "");
            Format::Pcapng(writer)
        } else {
            let writer = PcapWriter { nanoseconds: false, snap_length, ..PcapWriter::default() };
            writer.header(&mut block);
            Format::Pcap(writer)
        };
        Self { file, format, snap, block, packets: 0 }
    }

    fn frame(&mut self, frame: &Frame) -> io::Result<()> {
        let length = frame.bytes.len();
        let data = &frame.bytes[..length.min(self.snap)];
        let time = Timestamp::from_nanos(frame.time);
        let original = u32::try_from(length).unwrap_or(u32::MAX);
        match &self.format {
            Format::Pcap(writer) => writer.record(&mut self.block, time, original, data),
            Format::Pcapng(writer) => {
                writer.packet(&mut self.block, 0, time, original, data, &[]);
            }
        }
        self.packets += 1;
        if self.block.len() >= BLOCK {
            self.file.write_all(&self.block)?;
            self.block.clear();
        }
        Ok(())
    }

    fn finish(mut self) -> io::Result<u64> {
        self.file.write_all(&self.block)?;
        self.file.flush()?;
        Ok(self.packets)
    }
}

impl Captures {
    pub(crate) fn new(folder: PathBuf, quick: bool) -> Self {
        Self { folder, quick }
    }

    fn scaled(&self, number: u64) -> u64 {
        if self.quick { number / 10 } else { number }
    }

    /// The capture of this name, made where it is not there yet.
    pub(crate) fn make(&self, name: &str) -> Result<Capture> {
        let (what, packets, ending) = match name {
            "a" => ("four bulk transfers, 96 bytes of each packet", BULK, "pcap"),
            "b" => ("four bulk transfers, whole packets", BULK, "pcap"),
            "c" => ("one transfer, its data only", ONE_SIDED, "pcap"),
            "c4" => ("one transfer of four times the length, its data only", 4 * ONE_SIDED, "pcap"),
            "d" => ("connections that are all open", CONNECTIONS * open_packets(1), "pcap"),
            "d4" => (
                "connections that are all open, with four downloads each",
                CONNECTIONS * open_packets(4),
                "pcap",
            ),
            "e-pcapng" => ("the first as pcapng", BULK, "pcapng"),
            "e-gzip" => ("the first, packed by gzip", BULK, "pcap.gz"),
            other => bail!("there is no capture {other}"),
        };
        let packets = self.scaled(packets);
        fs::create_dir_all(&self.folder)
            .with_context(|| format!("cannot make {}", self.folder.display()))?;
        let size = if self.quick { "-quick" } else { "" };
        let path = self.folder.join(format!("{name}{size}.{ending}"));
        if !path.is_file() {
            println!("making {}", path.display());
            // A run that is broken off leaves no half of a capture under the
            // name of a whole one.
            let unfinished = self.folder.join("unfinished");
            self.write(name, packets, File::create(&unfinished)?)
                .with_context(|| format!("cannot make {}", path.display()))?;
            fs::rename(&unfinished, &path)?;
        }
        let bytes = fs::metadata(&path)?.len();
        Ok(Capture { path, packets, bytes, what })
    }

    fn write(&self, name: &str, packets: u64, file: File) -> Result<()> {
        let written = match name {
            "a" => bulk(Writer::new(file, false, 96), packets)?,
            "b" => bulk(Writer::new(file, false, usize::MAX), packets)?,
            "e-pcapng" => bulk(Writer::new(file, true, 96), packets)?,
            "c" | "c4" => {
                let mut writer = Writer::new(file, false, 96);
                one_sided(packets, |frame| writer.frame(frame))?;
                writer.finish()?
            }
            "e-gzip" => {
                let plain = self.make("a")?;
                let mut packed = GzEncoder::new(file, Compression::new(6));
                io::copy(
                    &mut BufReader::with_capacity(1 << 20, File::open(plain.path)?),
                    &mut packed,
                )?;
                packed.finish()?;
                packets
            }
            _ => {
                let downloads = if name == "d4" { 4 } else { 1 };
                let mut writer = Writer::new(file, false, 96);
                open(packets / open_packets(downloads), downloads, |frame| writer.frame(frame))?;
                writer.finish()?
            }
        };
        anyhow::ensure!(written == packets, "made {written} packets instead of {packets}");
        Ok(())
    }
}

/// Four transfers at once, each packet from the one whose turn it is.
fn bulk<W: Write>(mut writer: Writer<W>, packets: u64) -> Result<u64> {
    // Two receivers answer every second segment (RFC 5681 section 4.2). Two
    // join segments before they answer, as hosts with receive offload do.
    let mut transfers = [
        Bulk::new(0, 2, 2_000, Random::new(1)),
        Bulk::new(1, 16, 20_000, Random::new(2)),
        Bulk::new(2, 2, 8_000, Random::new(3)),
        Bulk::new(3, 32, 30_000, Random::new(4)),
    ];
    let mut frame = Frame::default();
    while writer.packets < packets {
        let Some(next) = transfers.iter_mut().min_by_key(|transfer| transfer.due()) else { break };
        next.step(&mut frame);
        writer.frame(&frame)?;
    }
    Ok(writer.finish()?)
}
