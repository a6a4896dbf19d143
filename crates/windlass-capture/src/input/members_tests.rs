//! Zip bombs. `tests/archives` has other archives.

use std::io::{Cursor, Write};

use flate2::Compression;
use flate2::write::GzEncoder;
use tar::{Builder, EntryType, Header};
use windlass_base::Timestamp;
use windlass_wire::write::PcapWriter;

use super::super::source::Tail;
use super::super::{Input, InputError};
use super::*;

struct NullObserver;

impl Observer for NullObserver {
    fn segment(&mut self, _: &windlass_wire::Segment) {}
}

/// Returns a capture of zeros of this size.
fn zeros(megabytes: u32) -> Vec<u8> {
    let mut file = Vec::new();
    let writer = PcapWriter::default();
    writer.header(&mut file);
    for number in 0..megabytes * 16 {
        writer.record(&mut file, Timestamp::from_nanos(number.into()), 65_536, &[0; 65_536]);
    }
    file
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn tar_of(bytes: &[u8], times: u64) -> Vec<u8> {
    let mut builder = Builder::new(Vec::new());
    let mut header = Header::new_gnu();
    header.as_old_mut().name[..6].copy_from_slice(b"a.pcap");
    header.set_size(bytes.len() as u64);
    header.set_entry_type(EntryType::Regular);
    header.set_mode(0o644);
    header.set_cksum();
    for _ in 0..times {
        builder.append(&header, bytes).unwrap();
    }
    builder.into_inner().unwrap()
}

/// Reads all members from memory; returns the archive, and the damage of each capture.
fn read(bytes: Vec<u8>) -> (Archive, Vec<Option<String>>) {
    let (taken, stop) = (Arc::default(), Arc::default());
    let tail = Tail::new(Box::new(Cursor::new(bytes)), Arc::clone(&taken), Arc::clone(&stop));
    let input = Input::stream("test".to_owned(), tail, taken, stop);
    let members = input.run(&mut Capture::new(), &mut NullObserver, &mut |_, _| {});
    let mut members = members.unwrap_or_else(|error: InputError| panic!("{error:?}")).unwrap();
    let mut damages = Vec::new();
    while let Some(member) = members.next() {
        let mut capture = Capture::new();
        if members.read(&member, &mut capture, &mut NullObserver, &mut |_, _| {}) {
            damages.push(capture.info().damage.as_ref().map(ToString::to_string));
        }
    }
    (members.finish(), damages)
}

/// Deflate packs a thousand to one, and deflate within deflate the square of that.
#[test]
fn a_bomb_ends_where_it_is_known_as_one() {
    let packed = gzip(&zeros(1));
    assert!(packed.len() < 8 << 10, "{}", packed.len());
    let bomb = gzip(&tar_of(&packed, 200));
    assert!(bomb.len() < 20 << 10, "{}", bomb.len());
    let (archive, damages) = read(bomb);
    let damage = archive.damage.unwrap();
    assert!(damage.what.contains("it may be a bomb"), "{damage}");
    assert!((4..20).contains(&damages.len()), "{}", damages.len());
    assert!(damages.last().unwrap().as_ref().unwrap().contains("bomb"));
    assert!(damages[0].is_none());
}

/// Captures with a usual compression ratio are no bomb, however many there are.
#[test]
fn many_captures_are_no_bomb() {
    let mut noise = zeros(1);
    let mut state = 1_u32;
    for byte in noise.iter_mut().skip(40).step_by(100) {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        *byte ^= (state >> 24) as u8;
    }
    // Changed headers are damage, which does not matter here.
    let (archive, captures) = read(tar_of(&gzip(&noise), 12));
    assert!(archive.damage.is_none(), "{:?}", archive.damage);
    assert_eq!(captures.len(), 12);
}
