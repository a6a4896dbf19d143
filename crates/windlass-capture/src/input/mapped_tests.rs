//! Captures in memory, also while they change: their packets equal those of a read file.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use tempfile::TempDir;
use windlass_base::Timestamp;
use windlass_wire::write::PcapWriter;
use windlass_wire::{Capture, CaptureInfo};

use super::super::source::Tail;
use super::super::{Input, InputError};
use super::*;

/// Returns a pcap file several windows long, whose packets contain no zeros.
fn capture() -> Vec<u8> {
    let mut file = Vec::new();
    let writer = PcapWriter::default();
    writer.header(&mut file);
    for number in 0..15_000_u32 {
        let length = if number % 3 == 0 { 1_514 } else { 900 + number % 1_000 };
        let data = vec![number as u8 | 1; length as usize];
        writer.record(&mut file, Timestamp::from_nanos(number.into()), length, &data);
    }
    assert!(file.len() > 2 * MIN as usize);
    file
}

fn saved(bytes: &[u8]) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.pcap");
    std::fs::write(&path, bytes).unwrap();
    (folder, path)
}

/// Observer that counts packets, and changes the file at one of them.
struct ObserverWithAction<F> {
    packets: u64,
    bytes: u64,
    sum: u64,
    /// Number of packets that contain a zero.
    zeros: u64,
    at: u64,
    act: F,
}

impl<F: FnMut()> Observer for ObserverWithAction<F> {
    fn packet(&mut self, packet: &Packet<'_>) {
        self.packets += 1;
        if self.packets == self.at {
            (self.act)();
        }
        self.bytes += packet.data.len() as u64;
        self.sum += packet.data.iter().map(|byte| u64::from(*byte)).sum::<u64>();
        self.zeros += u64::from(packet.data.is_empty() || packet.data.contains(&0));
    }

    fn segment(&mut self, _: &Segment) {}
}

type Outcome = Result<CaptureInfo, InputError>;

/// Runs an input, with an action at one packet.
fn run<F: FnMut()>(input: Input, at: u64, act: F) -> (ObserverWithAction<F>, Outcome) {
    let mut seen = ObserverWithAction { packets: 0, bytes: 0, sum: 0, zeros: 0, at, act };
    let mut capture = Capture::new();
    let outcome = input.run(&mut capture, &mut seen, &mut |_, _| {});
    (seen, outcome.map(|_| capture.info().clone()))
}

fn open(path: &Path) -> Input {
    let input = Input::open(path, Arc::default()).unwrap();
    assert!(input.mapped.is_some());
    input
}

/// Returns an input that reads these bytes, without a mapping.
fn read(bytes: Vec<u8>) -> Input {
    let (taken, stop) = (Arc::new(AtomicU64::new(0)), Arc::default());
    let bytes = Box::new(io::Cursor::new(bytes));
    let tail = Tail::new(bytes, Arc::clone(&taken), Arc::clone(&stop));
    Input::stream("test".to_owned(), tail, taken, stop)
}

#[test]
fn mapped_and_read_give_the_same() {
    let whole = capture();
    let mut cut = whole.clone();
    cut.truncate(whole.len() - 1);
    let mut lying = whole.clone();
    // Give a record in the second window an impossible length.
    let mut place = 24;
    while place < WINDOW + WINDOW / 2 {
        place += 16 + u32::from_le_bytes(whole[place + 8..place + 12].try_into().unwrap()) as usize;
    }
    lying[place + 8..place + 12].fill(0x7f);
    for (what, bytes) in [("whole", whole), ("cut", cut), ("lying", lying)] {
        let (_folder, path) = saved(&bytes);
        let (mapped, one) = run(open(&path), 0, || {});
        let (read, other) = run(read(bytes), 0, || {});
        let (one, other) = (one.unwrap(), other.unwrap());
        assert_eq!(one.damage, other.damage, "{what}");
        assert_eq!(one.packets, other.packets, "{what}");
        assert_eq!((mapped.packets, mapped.sum), (read.packets, read.sum), "{what}");
        assert_eq!(mapped.zeros, 0, "{what}");
    }
}

#[test]
fn a_file_that_shrinks_is_an_error_with_a_name() {
    let whole = capture();
    let is = whole.len() as u64 / 2 + 77;
    let (_folder, path) = saved(&whole);
    let file = File::options().write(true).open(&path).unwrap();
    let (seen, outcome) = run(open(&path), 20, || file.set_len(is).unwrap());
    let text = outcome.err().unwrap().failure("read").to_string();
    let (was, is_now) =
        (windlass_base::Bytes::new(whole.len() as u64), windlass_base::Bytes::new(is));
    let said = format!("a.pcap: it shrank from {was} to {is_now} while it was read");
    assert!(text.contains(&said), "{text}");
    // The packet across the new end may show, but none of those behind it.
    assert!(seen.bytes < is && seen.zeros <= 1, "{} packets of zeros", seen.zeros);
    assert!(seen.packets >= 20);
}

/// Within one page there is no fault: only the size reveals the change.
#[test]
fn a_file_that_shrinks_by_a_byte_is_an_error() {
    let whole = capture();
    let (_folder, path) = saved(&whole);
    let file = File::options().write(true).open(&path).unwrap();
    let is = whole.len() as u64 - 1;
    let (_, outcome) = run(open(&path), 20, || file.set_len(is).unwrap());
    assert!(matches!(outcome, Err(InputError::Shrank { .. })), "{outcome:?}");
}

/// Observer that cuts the file at one packet, reads the packet, and restores the size before
/// anybody else checks it.
struct CuttingObserver<'a> {
    file: &'a File,
    size: u64,
    packets: u64,
}

impl Observer for CuttingObserver<'_> {
    fn packet(&mut self, packet: &Packet<'_>) {
        self.packets += 1;
        if self.packets == 20 {
            self.file.set_len(100).unwrap();
            assert_eq!(packet.data.last(), Some(&0));
            self.file.set_len(self.size).unwrap();
        }
    }

    fn segment(&mut self, _: &Segment) {}
}

#[test]
fn a_file_that_is_cut_and_written_again_is_an_error() {
    let (_folder, path) = saved(&capture());
    let file = File::options().write(true).open(&path).unwrap();
    let mut cut = CuttingObserver { file: &file, size: file.metadata().unwrap().len(), packets: 0 };
    let outcome = open(&path).run(&mut Capture::new(), &mut cut, &mut |_, _| {});
    let text = outcome.err().unwrap().failure("read").to_string();
    assert!(text.contains("cut and written again"), "{text}");
    assert_eq!(cut.packets, 20);
}

#[test]
fn a_file_that_grows_is_read_on() {
    let whole = capture();
    // The end of the mapping is within a record.
    let (first, second) = whole.split_at(MIN as usize + 1_001);
    let (_folder, path) = saved(first);
    let mut file = File::options().append(true).open(&path).unwrap();
    let (seen, outcome) = run(open(&path), 20, || file.write_all(second).unwrap());
    assert_eq!(outcome.unwrap().damage, None);
    assert_eq!((seen.packets, seen.zeros), (15_000, 0));
}

#[test]
fn the_stop_is_looked_at_after_each_window() {
    let (_folder, path) = saved(&capture());
    let input = open(&path);
    let stop = Arc::clone(&input.stop);
    let (seen, outcome) = run(input, 20, || stop.store(true, Ordering::Relaxed));
    assert_eq!(outcome.unwrap().damage, None);
    assert!(seen.bytes < WINDOW as u64 && seen.packets > 1_000, "{}", seen.packets);
}

#[test]
fn progress_is_told_by_window() {
    let whole = capture();
    let (_folder, path) = saved(&whole);
    let mut told = Vec::new();
    let mut seen = ObserverWithAction { packets: 0, bytes: 0, sum: 0, zeros: 0, at: 0, act: || {} };
    let input = open(&path);
    let mut on_progress = |bytes, total| told.push((bytes, total));
    input.run(&mut Capture::new(), &mut seen, &mut on_progress).unwrap();
    let size = whole.len() as u64;
    assert_eq!(told[0], (WINDOW as u64, Some(size)));
    assert_eq!(told.last(), Some(&(size, Some(size))));
}

#[test]
fn what_is_small_packed_text_or_growing_is_read() {
    let is_mapped = |bytes: &[u8]| {
        let (_folder, path) = saved(bytes);
        Input::open(&path, Arc::default()).unwrap().mapped.is_some()
    };
    let mut whole = capture();
    assert!(is_mapped(&whole));
    let (_folder, path) = saved(&whole);
    let followed = Input::open(&path, Arc::default()).unwrap().follow(Some(Duration::ZERO));
    assert!(followed.mapped.is_none());
    assert!(!is_mapped(&whole[..MIN as usize - 1]));
    for magic in [*b"1234", [0x1f, 0x8b, 8, 0], [0x28, 0xb5, 0x2f, 0xfd]] {
        whole[..4].copy_from_slice(&magic);
        assert!(!is_mapped(&whole));
    }
}
