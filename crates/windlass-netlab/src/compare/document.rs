//! What PCAUSA's document says of its two drivers.

use serde::Serialize;
use windlass_base::{Bytes, Rate};
use windlass_capture::live::ReaderKind;

/// The document's figures. Its KB are 1,024 bytes.
#[derive(Clone, Debug, Serialize)]
pub struct Document {
    /// Where they come from.
    pub source: &'static str,
    /// The bytes of its KB.
    pub kb_bytes: Bytes,
    /// Its two drivers.
    pub drivers: [Driver; 2],
    /// What the better one took on average in another run.
    pub average: Average,
    /// What that and its reader took of the host's two processors, at the most.
    pub cpu_share_below: f64,
    /// What it was made to reach: a rate for long.
    pub goal_bytes_per_second: Rate,
    /// And packets.
    pub goal_packets_per_second: f64,
}

/// A driver of the document.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Driver {
    /// Its name.
    pub name: &'static str,
    /// What it is like.
    pub reader: ReaderKind,
    /// TCP's goodput while it captured, as the document has it.
    pub tcp_kb_per_second: u64,
    /// The same in bytes.
    pub tcp_bytes_per_second: Rate,
    /// What it captured, as the document has it. The time before and after the
    /// transfer is in it.
    pub captured_kb_per_second: u64,
    /// The same in bytes.
    pub captured_bytes_per_second: Rate,
    /// Packets that it captured.
    pub packets_per_second: f64,
    /// Packets that it lost.
    pub lost: u64,
}

/// Averages of the document.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Average {
    /// Bytes.
    pub bytes_per_second: Rate,
    /// Packets.
    pub packets_per_second: f64,
    /// Buffers that were handed to the reader.
    pub buffers_per_second: f64,
    /// Bytes in each.
    pub bytes_per_buffer: f64,
    /// Packets in each.
    pub packets_per_buffer: f64,
}

/// The rate of the document's averages, which it asks about smaller packets.
pub(super) const RATE: u32 = 14_218_105;

/// The bytes of the document's KB.
const KB: u64 = 1_024;

impl Default for Document {
    fn default() -> Self {
        let kb = |kb: u64| Rate::from_bytes_per_second((kb * KB) as f64);
        let driver = |name, reader, [tcp, captured]: [u64; 2], packets_per_second, lost| Driver {
            name,
            reader,
            tcp_kb_per_second: tcp,
            tcp_bytes_per_second: kb(tcp),
            captured_kb_per_second: captured,
            captured_bytes_per_second: kb(captured),
            packets_per_second,
            lost,
        };
        Self {
            source: "PCANDIS - PCAMPR Performance Comparisons, PCAUSA, 2007",
            kb_bytes: Bytes::new(KB),
            drivers: [
                driver("PCANDIS", ReaderKind::Single, [14_558, 8_780], 9_110.0, 1_894),
                driver("PCAMPR", ReaderKind::Ring, [23_084, 11_848], 12_288.0, 0),
            ],
            average: Average {
                bytes_per_second: Rate::from_bytes_per_second(RATE.into()),
                packets_per_second: 14_746.0,
                buffers_per_second: 229.0,
                bytes_per_buffer: f64::from(RATE) / 229.0,
                packets_per_buffer: 14_746.0 / 229.0,
            },
            cpu_share_below: 0.15,
            goal_bytes_per_second: Rate::from_bits_per_second(500e6),
            goal_packets_per_second: 40_000.0,
        }
    }
}
