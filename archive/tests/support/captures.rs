//! Captures by the hundred, of those of the repository: changed, cut, empty, none at all, and some
//! twice.

use std::fs;
use std::io::Read as _;
use std::path::Path;

use flate2::read::GzDecoder;

use super::repository;

/// The smaller ones, so that hundreds of them are read in seconds.
const OF: [&str; 8] = [
    "receiver-window-ack-latency-16k.snd",
    "loss-ack-loss.rcv",
    "nagle-delayed-ack.snd",
    "application-sender-idle.snd",
    "zero-window-not-reading.rcv",
    "loss-timeout-25pc.snd",
    "receiver-window-below-mss-linux.snd",
    "capture-loss-idle",
];

/// The header of a pcap file, which is left as it is.
const HEADER: usize = 24;

/// Numbers that look like chance and are always the same (Knuth's MMIX).
struct Chance(u64);

impl Chance {
    fn next(&mut self, below: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % below
    }
}

/// The bytes of a capture of the corpus.
pub fn unpacked(name: &str) -> Vec<u8> {
    let path = repository("tests/corpus").join(format!("{name}.pcap.gz"));
    let mut bytes = Vec::new();
    GzDecoder::new(fs::File::open(path).unwrap()).read_to_end(&mut bytes).unwrap();
    bytes
}

/// Counts of the captures that were made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CaptureCounts {
    /// Files.
    pub files: u64,
    /// Of these, files with the content of one before.
    pub copies: u64,
    /// Of these, files that are no captures.
    pub none: u64,
}

/// Makes so many captures in folders below one.
pub fn make(folder: &Path, count: usize) -> CaptureCounts {
    let whole: Vec<Vec<u8>> = OF.iter().map(|name| unpacked(name)).collect();
    let mut chance = Chance(7);
    let mut made = CaptureCounts::default();
    for number in 0..count {
        let site = folder.join(["ams", "fra", "lon"][number % 3]).join("2026-11-23");
        fs::create_dir_all(&site).unwrap();
        let path = site.join(format!("{number:05}.pcap"));
        let mut bytes = whole[number % whole.len()].clone();
        match number % 23 {
            20 => {
                bytes = format!("this is no capture, number {number}\n").into_bytes();
                made.none += 1;
            }
            21 => {
                bytes.clear();
                made.none += 1;
            }
            22 => {
                // The file before the two that are none.
                let twin = folder.join(["ams", "fra", "lon"][(number - 3) % 3]);
                let twin = twin.join("2026-11-23").join(format!("{:05}.pcap", number - 3));
                bytes = fs::read(twin).unwrap();
                made.copies += 1;
            }
            _ => {
                // Some bytes of chance, so that hardly two are equal.
                for _ in 0..1 + number % 4 {
                    let at = HEADER + chance.next(bytes.len() - HEADER);
                    bytes[at] = bytes[at].wrapping_add(1 + u8::try_from(chance.next(255)).unwrap());
                }
                if number % 5 == 0 {
                    let keep = HEADER + chance.next(bytes.len() - HEADER);
                    bytes.truncate(keep);
                }
            }
        }
        fs::write(&path, bytes).unwrap();
        made.files += 1;
    }
    made
}

/// A pcap file as if it had been captured so many days earlier.
pub fn earlier(mut bytes: Vec<u8>, days: u32) -> Vec<u8> {
    let mut at = HEADER;
    let number =
        |bytes: &[u8], at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    while at < bytes.len() {
        let seconds = number(&bytes, at) - days * 86_400;
        bytes[at..at + 4].copy_from_slice(&seconds.to_le_bytes());
        at += 16 + usize::try_from(number(&bytes, at + 8)).unwrap();
    }
    bytes
}
