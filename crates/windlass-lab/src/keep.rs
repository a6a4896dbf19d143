//! Captures of simulated packets, as standard pcap.

use std::io::Write;
use std::net::Ipv4Addr;

use windlass_base::{Bytes, Timestamp};
use windlass_sim::{Direction, Payload, Segment};
use windlass_wire::Host;
use windlass_wire::build::{
    self, Addresses, Carrier, Data, Frame, Identification, OutgoingSegment,
};
use windlass_wire::write::PcapWriter;

/// Address of the sender: one for documentation (RFC 5737), so that no real host is meant.
pub const SENDER: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
/// Address of the device.
pub const DEVICE: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 2);

/// Locally administered addresses, which no real network card has.
const SENDER_MAC: [u8; 6] = [0x02, 0, 0, 0, 0, 0x01];
const DEVICE_MAC: [u8; 6] = [0x02, 0, 0, 0, 0, 0x02];

/// `EtherTypes` of the two IP versions (RFC 894, RFC 2464).
const IPV4: [u8; 2] = [0x08, 0x00];
const IPV6: [u8; 2] = [0x86, 0xdd];

/// Amount of data from which only headers are kept: the rest is zeros.
const LARGE: Bytes = Bytes::new(1_000_000);
/// Room for Ethernet, IPv4, and TCP with all its options.
const SNAP: u32 = 96;

/// Writer of a transfer's capture.
pub struct Keeper {
    out: Box<dyn Write + Send>,
    writer: PcapWriter,
    buffer: Vec<u8>,
    packet: Vec<u8>,
    packets: u64,
    failed: Option<String>,
}

impl Keeper {
    /// Returns a writer for a transfer of `bytes` bytes, which writes to `out`.
    pub fn new(out: Box<dyn Write + Send>, bytes: Bytes) -> Self {
        let whole = PcapWriter::default();
        let writer = if bytes > LARGE { PcapWriter { snap_length: SNAP, ..whole } } else { whole };
        let mut buffer = Vec::new();
        writer.header(&mut buffer);
        Self { out, writer, buffer, packet: Vec::new(), packets: 0, failed: None }
    }

    /// Writes a segment.
    pub(super) fn segment(
        &mut self,
        time: Timestamp,
        direction: Direction,
        identification: u16,
        segment: &Segment,
    ) {
        if self.failed.is_some() {
            return;
        }
        let ((source, from), (destination, to)) = match direction {
            Direction::Forward => ((SENDER, SENDER_MAC), (DEVICE, DEVICE_MAC)),
            Direction::Backward => ((DEVICE, DEVICE_MAC), (SENDER, SENDER_MAC)),
        };
        let carrier = Carrier {
            frame: Some(Frame { source: from, destination: to }),
            addresses: Addresses::V4 { source, destination },
            identification,
            hop_limit: 64,
        };
        self.packet.clear();
        let keep = self.writer.snap_length as usize;
        match build::packet(&mut self.packet, &carrier, &outgoing(segment), keep) {
            Ok(length) => self.record(time, length),
            Err(error) => self.failed = Some(error.to_string()),
        }
    }

    /// Writes a packet as it is. `packet` has no Ethernet header.
    pub fn packet(&mut self, time: Timestamp, direction: Direction, packet: &[u8]) {
        if self.failed.is_some() {
            return;
        }
        let [from, to] = match direction {
            Direction::Forward => [SENDER_MAC, DEVICE_MAC],
            Direction::Backward => [DEVICE_MAC, SENDER_MAC],
        };
        let kind = if packet.first().is_some_and(|first| first >> 4 == 6) { IPV6 } else { IPV4 };
        self.packet.clear();
        self.packet.extend(to);
        self.packet.extend(from);
        self.packet.extend(kind);
        let length = self.packet.len() + packet.len();
        let room = (self.writer.snap_length as usize).saturating_sub(self.packet.len());
        self.packet.extend(&packet[..room.min(packet.len())]);
        self.record(time, u32::try_from(length).unwrap_or(u32::MAX));
    }

    /// Writes the prepared packet, up to the snap length.
    fn record(&mut self, time: Timestamp, length: u32) {
        self.writer.record(&mut self.buffer, time, length, &self.packet);
        self.packets += 1;
        if let Err(error) = self.out.write_all(&self.buffer) {
            self.failed = Some(error.to_string());
        }
        self.buffer.clear();
    }

    /// Ends the capture, and flushes it.
    ///
    /// # Errors
    /// Returns the write error, and the number of packets before it.
    pub fn finish(mut self) -> Result<(), String> {
        // A capture without packets is a header.
        let done = self.out.write_all(&self.buffer).and_then(|()| self.out.flush());
        let failed = self.failed.take().or(done.err().map(|error| error.to_string()));
        failed.map_or(Ok(()), |wrong| Err(format!("{wrong}, after {} packets", self.packets)))
    }
}

/// Converts a segment for the packet builder.
pub fn outgoing(segment: &Segment) -> OutgoingSegment<'_> {
    OutgoingSegment {
        source: segment.source,
        destination: segment.destination,
        sequence: segment.sequence,
        acknowledgment: segment.acknowledgment,
        flags: segment.flags,
        window: segment.window,
        options: segment.options,
        data: match &segment.payload {
            Payload::Zeros(length) => Data::Zeros(*length),
            Payload::Bytes(bytes) => Data::Bytes(bytes.as_slice()),
        },
    }
}

/// Converter of simulated segments to captured ones at the sender, with their numbers and IP
/// identifications.
#[derive(Clone, Copy, Debug)]
pub(super) struct SenderCapture {
    number: u64,
    sender: Identification,
    device: Identification,
}

impl SenderCapture {
    pub(super) const fn new() -> Self {
        // Far apart, so that a reader does not confuse the two hosts.
        let (sender, device) = (Identification::from(1), Identification::from(0x8000));
        Self { number: 0, sender, device }
    }

    /// Returns the captured form of the next segment, and its identification.
    pub(super) fn next(
        &mut self,
        time: Timestamp,
        direction: Direction,
        segment: &Segment,
    ) -> (windlass_wire::Segment, u16) {
        self.number += 1;
        let (source, destination, identification) = match direction {
            Direction::Forward => (SENDER, DEVICE, self.sender.next()),
            Direction::Backward => (DEVICE, SENDER, self.device.next()),
        };
        let mut captured =
            segment.captured(self.number, time, Host::V4(source), Host::V4(destination));
        captured.identification = Some(identification);
        (captured, identification)
    }
}
