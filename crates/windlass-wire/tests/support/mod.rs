//! Common parts of the tests against other tools: the folder of real captures, a plain pcap reader
//! and a function that runs a tool.

#![allow(dead_code, reason = "each test uses a part")]
#![allow(clippy::disallowed_methods, reason = "a test may read files and run tools")]
#![allow(clippy::panic, clippy::unwrap_used, reason = "a test may fail")]

use std::path::{Path, PathBuf};
use std::process::Command;

use windlass_base::Timestamp;
use windlass_wire::{Decoded, Decoder, LinkType, Observer, Packet, Segment};

/// The captures, where they are there.
pub(crate) fn captures() -> Option<Vec<PathBuf>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = [root.join("../../../shared/captures"), root.join("../../../../shared/captures")]
        .into_iter()
        .find(|folder| folder.is_dir())?;
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .ok()?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|ext| ext == "pcap" || ext == "pcapng"))
        .collect();
    files.sort();
    Some(files)
}

/// The standard output of a tool, or `None` where the tool is missing.
pub(crate) fn run(tool: &str, arguments: &[&str], file: &Path) -> Option<Vec<u8>> {
    let output = Command::new(tool).args(arguments).arg("-r").arg(file).output().ok()?;
    Some(output.stdout)
}

/// A copy of `file` as classic pcap with each packet cut to `snap` bytes.
pub(crate) fn cut(file: &Path, snap: &str) -> Option<PathBuf> {
    let name = format!("{}-{snap}.pcap", file.file_stem()?.to_str()?);
    let copy = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let mut editcap = Command::new("editcap");
    editcap.args(["-F", "pcap", "-s", snap]).arg(file).arg(&copy);
    let done = editcap.output().ok()?.status.success();
    done.then_some(copy)
}

/// A copy of a little-endian Ethernet `file` in which routers cut the IPv4
/// packets to fragments of at most `most` bytes of payload, a multiple of 8.
pub(crate) fn fragmented(file: &Path, most: usize) -> Option<PathBuf> {
    let bytes = std::fs::read(file).ok()?;
    if bytes[..4] != [0xd4, 0xc3, 0xb2, 0xa1] || bytes[20] != 1 {
        return None;
    }
    let mut copy = bytes[..24].to_vec();
    let mut rest = &bytes[24..];
    while rest.len() >= 16 {
        let captured = u32::from_le_bytes(rest[8..12].try_into().unwrap()) as usize;
        let (head, frame) = (&rest[..8], &rest[16..16 + captured]);
        rest = &rest[16 + captured..];
        let mut write = |frame: &[u8]| {
            let length = u32::try_from(frame.len()).unwrap().to_le_bytes();
            copy.extend([head, &length, &length, frame].concat());
        };
        if frame.len() < 34 || frame[12..15] != [8, 0, 0x45] {
            write(frame);
            continue;
        }
        let total = usize::from(u16::from_be_bytes([frame[16], frame[17]]));
        let payload = &frame[34..(14 + total).min(frame.len())];
        for (at, part) in (0..).step_by(most).zip(payload.chunks(most)) {
            let more = if at + part.len() < payload.len() { 0x2000 } else { 0 };
            let mut fragment = frame[..34].to_vec();
            let length = u16::try_from(20 + part.len()).unwrap();
            fragment[16..18].copy_from_slice(&length.to_be_bytes());
            let place = u16::try_from(at / 8).unwrap() | more;
            fragment[20..22].copy_from_slice(&place.to_be_bytes());
            fragment.extend(part);
            write(&fragment);
        }
    }
    let name = format!("{}-fragments.pcap", file.file_stem()?.to_str()?);
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, copy).ok()?;
    Some(path)
}

/// The packets of a capture, as the decoder reads them. A pcapng file goes
/// through tcpdump first.
pub(crate) fn decoded(file: &Path) -> Option<Vec<Decoded>> {
    let mut bytes = std::fs::read(file).ok()?;
    if file.extension().is_some_and(|ext| ext == "pcapng") {
        bytes = run("tcpdump", &["-w", "-"], file)?;
    }
    let big = match bytes[..4] {
        [0xa1, 0xb2, 0xc3, 0xd4] => true,
        [0xd4, 0xc3, 0xb2, 0xa1] => false,
        _ => panic!("{}: no microsecond pcap file", file.display()),
    };
    let word = |at: usize| {
        let four = bytes[at..at + 4].try_into().unwrap();
        if big { u32::from_be_bytes(four) } else { u32::from_le_bytes(four) }
    };
    let link = LinkType(u16::try_from(word(20) & 0xffff).unwrap());
    let mut decoder = Decoder::new();
    let (mut at, mut all) = (24, Vec::new());
    while at + 16 <= bytes.len() {
        let end = at + 16 + word(at + 8) as usize;
        let nanos = i64::from(word(at)) * 1_000_000_000 + i64::from(word(at + 4)) * 1_000;
        all.push(decoder.decode(&Packet {
            number: all.len() as u64 + 1,
            time: Timestamp::from_nanos(nanos),
            link,
            big_endian: big,
            original_length: word(at + 12),
            data: &bytes[at + 16..end],
        }));
        at = end;
    }
    Some(all)
}

/// The segments among what was decoded.
pub(crate) fn segments(decoded: &[Decoded]) -> Vec<Segment> {
    let segment =
        |one: &Decoded| if let Decoded::Segment(segment) = one { Some(*segment) } else { None };
    decoded.iter().filter_map(segment).collect()
}

/// Keeps segments.
#[derive(Default)]
pub(crate) struct CollectedSegments(pub(crate) Vec<Segment>);

impl Observer for CollectedSegments {
    fn packet(&mut self, _: &Packet<'_>) {}
    fn segment(&mut self, segment: &Segment) {
        self.0.push(*segment);
    }
}
