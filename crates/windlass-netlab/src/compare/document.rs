//! Figures of PCAUSA's document on its two drivers.

use serde::Serialize;
use windlass_base::{Bytes, Rate};
use windlass_capture::live::ReaderKind;

/// The document's figures. Its KB are 1,024 bytes.
#[derive(Clone, Debug, Serialize)]
pub struct Document {
    /// Title of the document.
    pub source: &'static str,
    /// The bytes of its KB.
    pub kb_bytes: Bytes,
    /// The two drivers of the document.
    pub drivers: [Driver; 2],
    /// Averages of the better driver in another run.
    pub average: Average,
    /// Upper bound of the share of the host's two processors for that driver and its reader.
    pub cpu_share_below: f64,
    /// Design goal: a sustained byte rate.
    pub goal_bytes_per_second: Rate,
    /// Design goal: a packet rate.
    pub goal_packets_per_second: f64,
}

/// A driver of the document.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Driver {
    /// Name of the driver.
    pub name: &'static str,
    /// Corresponding kind of reader.
    pub reader: ReaderKind,
    /// TCP's goodput during the capture, as in the document.
    pub tcp_kb_per_second: u64,
    /// TCP's goodput in bytes.
    pub tcp_bytes_per_second: Rate,
    /// Captured rate, as in the document. The time before and after the transfer is included.
    pub captured_kb_per_second: u64,
    /// Captured rate in bytes.
    pub captured_bytes_per_second: Rate,
    /// Captured packets.
    pub packets_per_second: f64,
    /// Lost packets.
    pub lost: u64,
}

/// Averages of the document.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Average {
    /// Bytes.
    pub bytes_per_second: Rate,
    /// Packets.
    pub packets_per_second: f64,
    /// Buffers passed to the reader.
    pub buffers_per_second: f64,
    /// Bytes in each.
    pub bytes_per_buffer: f64,
    /// Packets in each.
    pub packets_per_buffer: f64,
}

/// Byte rate of the document's averages, for its question about smaller packets.
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
