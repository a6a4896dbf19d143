//! Archives of captures, of which any part may lie. The first byte chooses what stands in
//! front: nothing, or a sound member of a tar.
#![no_main]

use std::fs::File;
use std::io::Write;
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::sync::{Arc, LazyLock, Mutex};

use libfuzzer_sys::fuzz_target;
use windlass_base::Failure;
use windlass_capture::{Archive, CaptureReceiver, ReadCapture, ReadSettings, read_each};
use windlass_wire::capture::CaptureFormat;
use windlass_wire::{ConnectionFilter, Observer, Packet, Segment};

/// A file without a name, which each run writes anew.
static FILE: LazyLock<Mutex<File>> = LazyLock::new(|| Mutex::new(tempfile::tempfile().unwrap()));

/// Counts packets, and holds their numbers together.
#[derive(Default)]
struct Count(u64);

impl Observer for Count {
    fn packet(&mut self, packet: &Packet<'_>) {
        self.0 += 1;
        // One capture never goes on in the next.
        assert_eq!(packet.number, self.0);
    }

    fn segment(&mut self, _: &Segment) {}
}

/// Takes each capture, and counts them.
#[derive(Default)]
struct CaptureCollector {
    count: Count,
    captures: u64,
}

impl CaptureReceiver for CaptureCollector {
    type Observer = Count;

    fn archive(&mut self, _: &Archive) -> Result<(), Failure> {
        Ok(())
    }

    fn observer(&mut self) -> &mut Count {
        &mut self.count
    }

    fn forget(&mut self) {
        self.count = Count::default();
    }

    fn read(&mut self, read: ReadCapture) -> Result<(), Failure> {
        let Count(packets) = std::mem::take(&mut self.count);
        // A text has segments alone.
        let is_text = read.info().format == Some(CaptureFormat::Text);
        assert!(is_text || packets == read.info().packets);
        self.captures += 1;
        Ok(())
    }
}

/// The header of a tar's member `a` of 24 bytes, and an empty pcap.
fn sound_member() -> Vec<u8> {
    let mut header = [0_u8; 512];
    header[0] = b'a';
    header[100..107].copy_from_slice(b"0000644");
    header[124..135].copy_from_slice(b"00000000030");
    header[148..156].fill(b' ');
    header[156] = b'0';
    header[257..265].copy_from_slice(b"ustar\x0000");
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    header[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
    let mut member = header.to_vec();
    member.extend(b"\xd4\xc3\xb2\xa1\x02\0\x04\0\0\0\0\0\0\0\0\0\0\0\x04\0\x01\0\0\0");
    member.resize(1_024, 0);
    member
}

fuzz_target!(|data: &[u8]| {
    let Some((choice, rest)) = data.split_first() else { return };
    let bytes = if choice % 2 == 0 { rest.to_vec() } else { [&sound_member()[..], rest].concat() };
    let mut file = FILE.lock().unwrap();
    file.set_len(0).unwrap();
    std::io::Seek::rewind(&mut *file).unwrap();
    file.write_all(&bytes).unwrap();
    let path = PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
    let filter = ConnectionFilter::default();
    let range = windlass_wire::PacketRange::default();
    let reading = ReadSettings { file: &path, filter, range, follow: false, doing: "read" };
    let mut take = CaptureCollector::default();
    if let Ok(Some(archive)) = read_each(&reading, &Arc::default(), |_, _| {}, &mut take) {
        assert_eq!(archive.captures, take.captures);
        assert!(archive.captures <= archive.members);
        assert!(!archive.damage.is_some_and(|damage| damage.what.contains("cannot go on")));
    }
});
