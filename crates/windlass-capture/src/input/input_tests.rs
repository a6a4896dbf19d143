//! Captures from files and pipes, packed, damaged and growing.

use std::io::Write;
use std::path::PathBuf;
use std::sync::mpsc::{Sender, channel};

use flate2::Compression;
use flate2::write::GzEncoder;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use windlass_base::Timestamp;
use windlass_wire::write::PcapWriter;
use windlass_wire::{CaptureInfo, Packet, Segment};

use super::*;

/// Observer that counts packets and their bytes.
#[derive(Debug, Default, PartialEq, Eq)]
struct Count {
    packets: u64,
    bytes: u64,
    sum: u64,
}

impl Observer for Count {
    fn packet(&mut self, packet: &Packet<'_>) {
        self.packets += 1;
        self.bytes += packet.data.len() as u64;
        self.sum += packet.data.iter().map(|byte| u64::from(*byte)).sum::<u64>();
    }

    fn segment(&mut self, _: &Segment) {}
}

/// Returns a pcap file with this number of packets, of many sizes and contents.
fn capture_of(packets: u32) -> Vec<u8> {
    let mut file = Vec::new();
    let writer = PcapWriter::default();
    writer.header(&mut file);
    for number in 0..packets {
        let length = number.wrapping_mul(2_654_435_761) >> 21;
        let noise = |place: u32| (place.wrapping_mul(number | 1).wrapping_mul(40_503) >> 9) as u8;
        let data: Vec<u8> = (0..length).map(noise).collect();
        writer.record(&mut file, Timestamp::from_nanos(number.into()), length, &data);
    }
    file
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    compress_to_vec(bytes, CompressionLevel::Fastest)
}

/// Returns an input with the bytes of `bytes`.
fn input_of(bytes: impl io::Read + Send + 'static) -> Input {
    let (taken, stop) = (Arc::default(), Arc::default());
    let tail = Tail::new(Box::new(bytes), Arc::clone(&taken), Arc::clone(&stop));
    Input::stream("test".to_owned(), tail, taken, stop)
}

fn run(input: Input) -> (Count, Result<CaptureInfo, InputError>) {
    let (mut capture, mut count) = (Capture::new(), Count::default());
    let outcome = input.run(&mut capture, &mut count, &mut |_, _| {});
    let outcome = outcome.inspect(|members| assert!(members.is_none()));
    (count, outcome.map(|_| capture.info().clone()))
}

fn run_bytes(bytes: Vec<u8>) -> (Count, Result<CaptureInfo, InputError>) {
    run(input_of(io::Cursor::new(bytes)))
}

/// Returns the counts of an undamaged file.
fn expected(file: &[u8]) -> Count {
    let mut count = Count::default();
    Capture::new().read(file, true, &mut count);
    count
}

/// Reader that returns a fixed number of bytes per call.
struct Trickle(io::Cursor<Vec<u8>>, usize);

impl io::Read for Trickle {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = buffer.len().min(self.1);
        self.0.read(&mut buffer[..most])
    }
}

#[test]
fn packed_and_plain_give_the_same() {
    let file = capture_of(3_000);
    let expected = expected(&file);
    assert_eq!(expected.packets, 3_000);
    let (first, second) = file.split_at(1_234_567);
    let skippable = b"\x50\x2a\x4d\x18\x03\0\0\0abc".to_vec();
    let variants = [
        file.clone(),
        gzip(&file),
        [gzip(first), gzip(b""), gzip(second)].concat(),
        zstd(&file),
        [skippable.clone(), zstd(first), skippable, zstd(second)].concat(),
    ];
    for (number, bytes) in variants.into_iter().enumerate() {
        let (count, info) = run_bytes(bytes);
        assert_eq!((&count, info.unwrap().damage), (&expected, None), "variant {number}");
    }
}

#[test]
fn a_gzip_header_may_have_every_field() {
    let file = capture_of(3);
    let plain = gzip(&file);
    let mut fields = vec![0x1f, 0x8b, 8, 0x1e, 0, 0, 0, 0, 0, 0];
    fields.extend(b"\x02\0xxname\0comment\0cc");
    fields.extend(&plain[10..]);
    let (count, info) = run_bytes(fields);
    assert_eq!((count.packets, info.unwrap().damage), (3, None));
}

#[test]
fn a_pipe_that_trickles_gives_the_same() {
    let file = capture_of(40);
    let expected = expected(&file);
    for (bytes, step) in [(file.clone(), 7), (gzip(&file), 3), (zstd(&file), 3)] {
        let (count, info) = run(input_of(Trickle(io::Cursor::new(bytes), step)));
        assert_eq!((count, info.unwrap().damage), (Count { ..expected }, None));
    }
}

/// Two of the largest packets together exceed the headroom of a block.
#[test]
fn large_packets_cross_blocks() {
    let mut file = Vec::new();
    let writer = PcapWriter::default();
    writer.header(&mut file);
    for number in 0..40_u8 {
        writer.record(&mut file, Timestamp::ZERO, 1, &vec![number; 262_144]);
    }
    let expected = expected(&file);
    for step in [usize::MAX, 300_000, 65_536, 5_000] {
        let (count, info) = run(input_of(Trickle(io::Cursor::new(file.clone()), step)));
        assert_eq!((&count, info.unwrap().damage), (&expected, None), "{step}");
    }
}

#[test]
fn all_before_the_damage_is_used() {
    let file = capture_of(3_000);
    let whole = expected(&file).packets;
    for (packed, name) in [(gzip(&file), "gzip"), (zstd(&file), "zstd")] {
        let cut = packed[..packed.len() / 2].to_vec();
        let (count, info) = run_bytes(cut);
        let damage = info.unwrap().damage.unwrap();
        assert!(damage.what.contains(name) && damage.what.contains("breaks off"), "{damage}");
        assert_eq!(damage.after_packet, count.packets);
        assert!(count.packets > whole * 2 / 5, "{name}: {count:?}");

        let mut changed = packed;
        let middle = changed.len() / 2;
        changed[middle..middle + 64].fill(0xff);
        let (count, info) = run_bytes(changed);
        let damage = info.unwrap().damage.unwrap();
        assert_eq!(damage.after_packet, count.packets);
        assert!(count.packets > whole * 2 / 5, "{name}: {count:?} {damage}");
    }
    let (count, info) = run_bytes([gzip(&file), b"more".to_vec()].concat());
    let what = info.unwrap().damage.unwrap().what;
    assert_eq!((count.packets, &what[..]), (3_000, "what follows gzip member 1 is no gzip"));
}

#[test]
fn a_wrong_checksum_is_named() {
    let mut packed = gzip(&capture_of(5));
    let place = packed.len() - 8;
    packed[place] ^= 1;
    let (count, info) = run_bytes(packed);
    assert_eq!(count.packets, 5);
    assert!(info.unwrap().damage.unwrap().what.contains("checksum"));
}

#[test]
fn errors_say_what_to_do() {
    let told = |error: InputError| error.failure("read").in_one_line().to_string();
    let open = |path: &str| told(Input::open(&PathBuf::from(path), Arc::default()).err().unwrap());
    let missing = open("/nowhere/a.pcap");
    assert!(missing.starts_with("cannot read /nowhere/a.pcap: No such file"), "{missing}");
    assert!(missing.ends_with("check the path"), "{missing}");
    assert!(open("/").contains("is a directory"));
    let (_, outcome) = run_bytes(Vec::new());
    assert_eq!(
        outcome.unwrap_err().failure("read").to_string(),
        "cannot read test: the input is empty"
    );
    let (_, outcome) = run_bytes(b"PK\x03\x04....".to_vec());
    assert!(outcome.unwrap_err().failure("read").to_string().contains("a zip archive"));
    let (_, outcome) = run_bytes(vec![0x1f, 0x8b, 8]);
    assert!(outcome.unwrap_err().failure("read").to_string().contains("gzip stream breaks off"));
}

#[test]
fn a_failing_disk_is_an_error() {
    struct FailingReader;
    impl io::Read for FailingReader {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("the disk is gone"))
        }
    }
    let file = capture_of(10);
    let bytes = file.len();
    for packed in [file.clone(), zstd(&file)[..200].to_vec()] {
        let (_, outcome) = run(input_of(io::Read::chain(io::Cursor::new(packed), FailingReader)));
        let text = outcome.unwrap_err().failure("read").to_string();
        assert!(text.contains("the disk is gone"), "{text} {bytes}");
    }
}

/// Returns a snoop capture with the packets of [`capture_of`].
fn snoop_of(packets: u32) -> Vec<u8> {
    struct Snoop(Vec<u8>);
    impl Observer for Snoop {
        fn packet(&mut self, packet: &Packet<'_>) {
            let length = u32::try_from(packet.data.len()).unwrap();
            let numbers = [packet.original_length, length, 24 + length, 0, 0, 0];
            self.0.extend(numbers.map(u32::to_be_bytes).concat());
            self.0.extend(packet.data);
        }

        fn segment(&mut self, _: &Segment) {}
    }
    let mut snoop = Snoop(b"snoop\0\0\0\0\0\0\x02\0\0\0\x04".to_vec());
    Capture::new().read(&capture_of(packets), true, &mut snoop);
    snoop.0
}

#[test]
fn snoop_is_read_in_every_way() {
    let file = snoop_of(3_000);
    let expected = expected(&capture_of(3_000));
    for bytes in [file.clone(), gzip(&file), zstd(&file)] {
        let (count, info) = run_bytes(bytes);
        assert_eq!((&count, info.unwrap().damage), (&expected, None));
    }
    let (count, _) = run(input_of(Trickle(io::Cursor::new(gzip(&file)), 3)));
    assert_eq!(count, expected);
    // This size is large enough for a mapping.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("large.snoop");
    let large = [&file[..16], &file[16..].repeat(4)].concat();
    assert!(large.len() > 5 << 20, "{}", large.len());
    std::fs::write(&path, large).unwrap();
    let input = Input::open(&path, Arc::default()).unwrap();
    assert!(input.mapped.is_some());
    let (count, info) = run(input);
    assert_eq!((count.packets, info.unwrap().damage), (12_000, None));
}

#[test]
fn what_is_known_and_not_read_is_an_error_of_its_own() {
    let (_, outcome) = run_bytes(b"GMBU\0\x02\x01\0".to_vec());
    let Err(InputError::NoCapture { what, foreign, .. }) = outcome else { panic!("{outcome:?}") };
    assert_eq!(what, "this is Microsoft Network Monitor 2, which windlass does not read");
    assert!(foreign.is_some());
}

#[test]
fn a_growing_file_is_followed() {
    for file in [capture_of(50), snoop_of(50)] {
        follows(&file);
    }
}

fn follows(file: &[u8]) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("growing.pcap");
    let mut writer = File::create(&path).unwrap();
    let (first, second) = file.split_at(file.len() / 3);
    writer.write_all(first).unwrap();
    let input = Input::open(&path, Arc::default()).unwrap().follow(Some(Duration::from_secs(4)));
    let second = second.to_vec();
    // The file grows long before the reader gives up.
    let growing = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(250));
        writer.write_all(&second).unwrap();
    });
    let (count, info) = run(input);
    growing.join().unwrap();
    assert_eq!((count.packets, info.unwrap().damage), (50, None));
}

/// A source that stays silent, like a quiet pipe.
#[test]
fn the_stop_ends_a_wait_without_damage() {
    struct QuietReader(io::Cursor<Vec<u8>>, Sender<()>);
    impl io::Read for QuietReader {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            match self.0.read(buffer)? {
                // Everything has been passed on.
                0 => {
                    let _ = self.1.send(());
                    loop {
                        std::thread::park();
                    }
                }
                count => Ok(count),
            }
        }
    }
    let mut file = capture_of(50);
    file.truncate(file.len() - 1);
    let (passed, has_passed) = channel();
    let input = input_of(QuietReader(io::Cursor::new(file), passed));
    let stop = Arc::clone(&input.stop);
    std::thread::spawn(move || {
        has_passed.recv().unwrap();
        stop.store(true, Ordering::Relaxed);
    });
    let (count, info) = run(input);
    assert_eq!((count.packets, info.unwrap().damage), (49, None));
}

#[test]
fn progress_reaches_the_size_of_the_file() {
    let file = capture_of(3_000);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.pcap");
    std::fs::write(&path, &file).unwrap();
    let mut seen = Vec::new();
    let (mut capture, mut count) = (Capture::new(), Count::default());
    let input = Input::open(&path, Arc::default()).unwrap();
    assert_eq!(input.name, path.display().to_string());
    let mut on_progress = |bytes, total| seen.push((bytes, total));
    input.run(&mut capture, &mut count, &mut on_progress).unwrap();
    let size = file.len() as u64;
    assert!(seen.len() > 3);
    assert_eq!(seen.last(), Some(&(size, Some(size))));
}

/// Compressed streams with bytes changed at many places: reading ends without a panic of the
/// decompressing thread, whatever the result.
#[test]
fn changed_packed_streams_do_no_harm() {
    let file = capture_of(60);
    for packed in [gzip(&file), zstd(&file)] {
        for round in 1..150_usize {
            let mut changed = packed.clone();
            for step in 1..4 {
                let place = round.wrapping_mul(step).wrapping_mul(2_654_435_761) >> 3;
                let place = if round % 3 == 0 { place % 40 } else { place % changed.len() };
                changed[place] ^= 1 << (round % 8);
            }
            let damage = match run_bytes(changed).1 {
                Ok(info) => info.damage.map(|damage| damage.to_string()),
                Err(error) => Some(error.failure("read").to_string()),
            };
            assert!(!damage.is_some_and(|what| what.contains("cannot go on")), "round {round}");
        }
    }
}
