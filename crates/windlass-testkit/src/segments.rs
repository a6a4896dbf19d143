//! Captures as TCP segments: reading the segments of a file, and writing segments to a file.

use std::io::Read;
use std::net::Ipv4Addr;
use std::path::Path;

use windlass_wire::build::{self, Addresses, Carrier, Data, Frame, OutgoingSegment};
use windlass_wire::write::PcapWriter;
use windlass_wire::{Capture, Decoded, Decoder, Host, Observer, Packet, Segment};

/// Observer that collects the TCP segments of a capture.
#[derive(Default)]
struct SegmentCollector {
    decoder: Decoder,
    segments: Vec<Segment>,
}

impl Observer for SegmentCollector {
    fn packet(&mut self, packet: &Packet<'_>) {
        let mut next = Some(self.decoder.decode(packet));
        while let Some(decoded) = next {
            if let Decoded::Segment(segment) = decoded {
                self.segments.push(segment);
            }
            next = self.decoder.more(packet);
        }
    }

    fn segment(&mut self, segment: &Segment) {
        self.segments.push(*segment);
    }
}

/// Returns the segments of a capture file, which may be compressed by gzip.
pub fn segments_of(file: &Path) -> Vec<Segment> {
    let mut bytes = std::fs::read(file).unwrap();
    if file.extension().is_some_and(|end| end == "gz") {
        let packed = std::mem::take(&mut bytes);
        flate2::read::MultiGzDecoder::new(&packed[..]).read_to_end(&mut bytes).unwrap();
    }
    let (mut capture, mut gathered) = (Capture::new(), SegmentCollector::default());
    let mut rest = &bytes[..];
    loop {
        let progress = capture.read(rest, true, &mut gathered);
        rest = &rest[progress.consumed..];
        if progress.finished {
            return gathered.segments;
        }
    }
}

/// Returns a pcap file of segments, with zeros as payload.
///
/// Hosts without an address get addresses of 192.0.2.0/24. A segment with more payload than a
/// datagram holds is left out.
pub fn pcap_of(segments: &[Segment]) -> Vec<u8> {
    let writer = PcapWriter::default();
    let mut out = Vec::new();
    writer.header(&mut out);
    for segment in segments {
        let addresses = match (segment.source.host, segment.destination.host) {
            (Host::V4(source), Host::V4(destination)) => Addresses::V4 { source, destination },
            (Host::V6(source), Host::V6(destination)) => Addresses::V6 { source, destination },
            _ => Addresses::V4 {
                source: Ipv4Addr::new(192, 0, 2, 1),
                destination: Ipv4Addr::new(192, 0, 2, 2),
            },
        };
        let carrier = Carrier {
            frame: Some(Frame { source: [2, 0, 0, 0, 0, 1], destination: [2, 0, 0, 0, 0, 2] }),
            addresses,
            identification: segment.identification.unwrap_or_default(),
            hop_limit: segment.hop_limit,
        };
        let outgoing = OutgoingSegment {
            source: segment.source.port,
            destination: segment.destination.port,
            sequence: segment.sequence.unwrap_or_default(),
            acknowledgment: segment.acknowledgment,
            flags: segment.flags,
            window: segment.window,
            options: segment.options,
            data: Data::Zeros(segment.payload),
        };
        let mut packet = Vec::new();
        if let Ok(length) = build::packet(&mut packet, &carrier, &outgoing, 128) {
            writer.record(&mut out, segment.time, length, &packet);
        }
    }
    out
}
