//! Files are written in complete records, even on full disks.

use std::fs::OpenOptions;
use std::os::unix::fs::PermissionsExt;

use windlass_base::Span;
use windlass_sys::privileges::Identity;
use windlass_wire::{Capture, CaptureInfo, LinkType, Observer, Segment};

use super::super::encode::DescribedInterface;
use super::*;

fn about() -> CaptureOrigin {
    CaptureOrigin {
        interfaces: vec![described("eth0", LinkType::ETHERNET)],
        filter: "tcp".into(),
        hardware: String::new(),
        system: "Linux".into(),
    }
}

fn described(name: &str, link: LinkType) -> DescribedInterface {
    DescribedInterface { name: name.to_owned(), link, snap_length: 262_144 }
}

fn begun(
    path: &Path,
    format: FileFormat,
    rotation: Rotation,
    about: CaptureOrigin,
) -> Result<Writer, Failure> {
    let (path, afterwards) = (path.to_owned(), FileWork::default());
    Writer::begin_in(&WriteSettings { path, format, rotation, afterwards, pipe: None }, about)
}

fn create(path: &Path, format: FileFormat, rotation: Rotation) -> Writer {
    begun(path, format, rotation, about()).unwrap()
}

fn at(millis: i64) -> Timestamp {
    Timestamp::from_nanos(millis * 1_000_000)
}

#[derive(Default)]
struct Count(u64);

impl Observer for Count {
    fn packet(&mut self, _: &windlass_wire::Packet<'_>) {
        self.0 += 1;
    }
    fn segment(&mut self, _: &Segment) {}
}

/// Returns the number of packets of a file, and its description of itself.
fn read(path: &Path) -> (u64, CaptureInfo) {
    let (mut capture, mut count) = (Capture::new(), Count::default());
    let bytes = std::fs::read(path).unwrap();
    let progress = capture.read(&bytes, true, &mut count);
    assert!(progress.finished);
    (count.0, capture.info().clone())
}

#[test]
fn a_file_has_its_packets_and_its_counts() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.pcapng");
    let mut writer = create(&path, FileFormat::Pcapng, Rotation::default());
    for number in 0..100 {
        writer.packet(at(number), 1_514, &[7; 96], None, 3);
    }
    let outcome = writer.finish(3, "");
    assert_eq!((outcome.written, outcome.lost, outcome.removed), (100, 0, 0));
    let (packets, info) = read(&path);
    assert_eq!((packets, info.received, info.drops), (100, Some(103), Some(3)));
    assert!(info.damage.is_none());
    let about = std::fs::metadata(&path).unwrap();
    assert_eq!(about.permissions().mode() & 0o777, 0o600, "what others said is nobody's business");
    assert_eq!(Bytes::new(about.len()), outcome.files[0].bytes);
}

#[test]
fn files_follow_each_other_and_the_last_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.pcap");
    let rotation = Rotation { packets: Some(10), files: Some(3), ..Rotation::default() };
    let mut writer = create(&path, FileFormat::Pcap, rotation);
    for number in 0..45 {
        writer.packet(at(number), 60, &[7; 60], None, 0);
    }
    let outcome = writer.finish(0, "");
    assert_eq!((outcome.written, outcome.removed), (45, 2));
    let names: Vec<&str> =
        outcome.files.iter().map(|file| file.file.rsplit('/').next().unwrap()).collect();
    assert_eq!(names, ["trace-00003.pcap", "trace-00004.pcap", "trace-00005.pcap"]);
    let packets: Vec<u64> = names.iter().map(|name| read(&folder.path().join(name)).0).collect();
    assert_eq!(packets, [10, 10, 5]);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 3);
}

#[test]
fn more_files_are_kept_than_are_named_but_no_more_than_asked() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.pcap");
    let files = MAX_NAMED as u32 + 20;
    let rotation = Rotation { packets: Some(1), files: Some(files), ..Rotation::default() };
    let mut writer = create(&path, FileFormat::Pcap, rotation);
    for number in 0..i64::from(files) + 30 {
        writer.packet(at(number), 60, &[7; 60], None, 0);
    }
    let outcome = writer.finish(0, "");
    assert_eq!((outcome.there, outcome.removed), (files, 30));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), files as usize);
    assert_eq!(outcome.files.len(), MAX_NAMED + 1);
}

#[test]
fn a_next_file_that_cannot_begin_loses_no_count() {
    let folder = tempfile::tempdir().unwrap();
    for format in [FileFormat::Pcapng, FileFormat::Pcap] {
        let path = folder.path().join("trace");
        let second = folder.path().join("trace-00002");
        std::fs::create_dir_all(&second).unwrap();
        let rotation = Rotation { packets: Some(10), ..Rotation::default() };
        let mut writer = create(&path, format, rotation);
        for number in 0..25 {
            writer.packet(at(number), 60, &[7; 60], None, 2);
        }
        let outcome = writer.finish(2, "");
        assert_eq!((outcome.written, outcome.lost, outcome.there), (10, 15, 1));
        let wrong = outcome.failed.unwrap().to_string();
        assert!(wrong.contains("trace-00002"), "{wrong}");
        let [file] = outcome.files.as_slice() else { panic!("{:?}", outcome.files) };
        let (packets, info) = read(&folder.path().join("trace-00001"));
        assert_eq!((packets, file.packets, info.damage), (10, 10, None));
        if format == FileFormat::Pcapng {
            assert_eq!((info.received, info.drops), (Some(27), Some(17)));
        }
    }
}

#[test]
fn a_file_ends_by_its_size_and_by_its_time() {
    let folder = tempfile::tempdir().unwrap();
    let files = |name: &str, rotation| {
        let mut writer = create(&folder.path().join(name), FileFormat::Pcapng, rotation);
        for number in 0..100 {
            writer.packet(at(number * 10), 1_000, &[7; 1_000], None, 0);
        }
        writer.finish(0, "").files
    };
    let by_size = Rotation { bytes: Some(Bytes::new(20_000)), ..Rotation::default() };
    let sizes = files("size.pcapng", by_size);
    // 20 packets take 1,032 bytes each.
    assert_eq!(sizes.len(), 100_usize.div_ceil(20), "{sizes:?}");
    assert!(sizes.iter().all(|file| file.bytes < Bytes::new(22_000)), "{sizes:?}");
    assert_eq!(sizes.iter().map(|file| file.packets).sum::<u64>(), 100);
    let by_time = Rotation { time: Some(Span::from_millis(250)), ..Rotation::default() };
    let times = files("time.pcapng", by_time);
    let packets: Vec<u64> = times.iter().map(|file| file.packets).collect();
    assert_eq!(packets, [25, 25, 25, 25]);
}

#[test]
fn counts_of_each_file_are_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.pcapng");
    let rotation = Rotation { packets: Some(10), ..Rotation::default() };
    let mut writer = create(&path, FileFormat::Pcapng, rotation);
    for number in 0..20 {
        let drops = if number < 10 { 4 } else { 9 };
        writer.packet(at(number), 60, &[7; 60], None, drops);
    }
    writer.finish(11, "");
    let info = |number: u32| read(&folder.path().join(format!("trace-{number:05}.pcapng"))).1;
    // The packets between belong to the file that ends with them.
    assert_eq!((info(1).received, info(1).drops), (Some(19), Some(9)));
    assert_eq!((info(2).received, info(2).drops), (Some(12), Some(2)));
}

#[test]
fn a_file_of_somebody_else_is_not_written_to() {
    let folder = tempfile::tempdir().unwrap();
    let (there, link) = (folder.path().join("there"), folder.path().join("link"));
    std::fs::write(&there, "mine").unwrap();
    std::os::unix::fs::symlink(&there, &link).unwrap();
    let refused = |path: &Path| {
        let made = begun(path, FileFormat::Pcapng, Rotation::default(), about());
        made.err().unwrap().to_string()
    };
    assert!(refused(&link).contains("symbolic link"), "{}", refused(&link));
    assert_eq!(std::fs::read_to_string(&there).unwrap(), "mine");
    assert!(refused(folder.path()).contains("directory"), "{}", refused(folder.path()));
    assert!(refused(&folder.path().join("none/file")).contains("No such file"));
    if Identity::own().user == 0 {
        std::os::unix::fs::chown(&there, Some(1), None).unwrap();
        assert!(refused(&there).contains("another user"), "{}", refused(&there));
        assert_eq!(std::fs::read_to_string(&there).unwrap(), "mine");
    }
}

#[test]
fn a_pipe_of_somebody_else_and_a_link_in_shared_memory_are_refused() {
    let refused = |path: &Path| {
        let made = begun(path, FileFormat::Pcapng, Rotation::default(), about());
        made.err().map(|error| error.to_string()).unwrap_or_default()
    };
    if let Ok(shared) = tempfile::tempdir_in("/dev/shm") {
        let (there, link) = (shared.path().join("there"), shared.path().join("link"));
        std::fs::write(&there, "mine").unwrap();
        std::os::unix::fs::symlink(&there, &link).unwrap();
        assert!(refused(&link).contains("symbolic link"), "{}", refused(&link));
        assert_eq!(std::fs::read_to_string(&there).unwrap(), "mine");
    }
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    // Opened for both reading and writing, the pipe needs no other end.
    let _ends = OpenOptions::new().read(true).write(true).open(&pipe).unwrap();
    assert_eq!(refused(&pipe), "");
    if Identity::own().user == 0 {
        std::os::unix::fs::chown(&pipe, Some(1), None).unwrap();
        assert!(refused(&pipe).contains("another user"), "{}", refused(&pipe));
    }
}

#[test]
fn a_full_device_is_told_at_once() {
    let made = begun(Path::new("/dev/full"), FileFormat::Pcapng, Rotation::default(), about());
    let wrong = made.err().unwrap().to_string();
    assert!(wrong.contains("No space left"), "{wrong}");
}

#[test]
fn each_interface_has_its_description_and_its_counts() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.pcapng");
    let mut two = about();
    two.interfaces.push(described("tun0", LinkType::RAW));
    let rotation = Rotation { packets: Some(30), ..Rotation::default() };
    let mut writer = begun(&path, FileFormat::Pcapng, rotation, two.clone()).unwrap();
    for number in 0..40 {
        writer.packet_of(usize::from(number % 4 == 0), at(number), 60, &[0x45; 60], None);
        if number == 9 {
            writer.drops_of(1, at(number), 5, "five");
        }
    }
    writer.drops_of(0, at(40), 2, "");
    let outcome = writer.finish_all(&["one".to_owned(), "two".to_owned()]);
    assert_eq!((outcome.written, outcome.there), (40, 2));
    let read = |number| {
        let (packets, info) = read(&folder.path().join(format!("trace-{number:05}.pcapng")));
        (packets, info.received, info.drops, info.link_types.clone())
    };
    let links = vec![LinkType::ETHERNET, LinkType::RAW];
    assert_eq!(read(1), (30, Some(35), Some(5), links.clone()));
    assert_eq!(read(2), (10, Some(12), Some(2), links));
    let refused = begun(&path, FileFormat::Pcap, Rotation::default(), two);
    assert!(refused.err().unwrap().to_string().contains("different link types"));
}
