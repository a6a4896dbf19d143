//! Builders of test archives.

use std::io::Write;

use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder};
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use tar::{Builder, EntryType, Header};
use windlass_base::Timestamp;
use windlass_wire::write::PcapWriter;

/// Returns a capture with this number of packets, of many sizes and contents.
pub(crate) fn capture(packets: u32) -> Vec<u8> {
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

pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

pub(crate) fn zstd(bytes: &[u8]) -> Vec<u8> {
    compress_to_vec(bytes, CompressionLevel::Fastest)
}

/// Returns a tar header.
pub(crate) fn header(name: &[u8], size: u64, kind: EntryType) -> Header {
    let mut header = Header::new_gnu();
    header.as_old_mut().name[..name.len()].copy_from_slice(name);
    header.set_size(size);
    header.set_entry_type(kind);
    header.set_mode(0o644);
    header.set_cksum();
    header
}

/// Returns a tar of files with any names.
pub(crate) fn tar(members: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut builder = Builder::new(Vec::new());
    for (name, bytes) in members {
        let header = header(name.as_bytes(), bytes.len() as u64, EntryType::Regular);
        builder.append(&header, &bytes[..]).unwrap();
    }
    builder.into_inner().unwrap()
}

/// Returns a zip of files with any names.
pub(crate) fn zip(members: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut archive = rawzip::ZipArchiveWriter::new(&mut out);
    for (name, bytes) in members {
        let file = archive.new_file(rawzip::path::EntryPath::verbatim(name.as_bytes()));
        let (mut entry, config) =
            file.compression_method(rawzip::CompressionMethod::DEFLATE).start().unwrap();
        let mut writer = config.wrap(DeflateEncoder::new(&mut entry, Compression::fast()));
        writer.write_all(bytes).unwrap();
        let (encoder, descriptor) = writer.finish().unwrap();
        encoder.finish().unwrap();
        entry.finish(descriptor).unwrap();
    }
    archive.finish().unwrap();
    out
}
