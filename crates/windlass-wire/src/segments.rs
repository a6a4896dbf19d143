//! Decoding of packets to the selected TCP segments, with counts of the other packets.

use std::net::IpAddr;

use crate::decode::ip::protocol;
use crate::packet_range::RangePicker;
use crate::passed::{SkippedKind, SkippedPacketCounter, SkippedPackets};
use crate::{
    Decoded, Decoder, Endpoint, NonTcpPacket, Observer, Packet, PacketRange, Segment, too_big,
};

/// Filter of connections by a host and a port on one side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConnectionFilter {
    /// An address on one side.
    pub host: Option<IpAddr>,
    /// A TCP port on one side.
    pub port: Option<u16>,
}

impl ConnectionFilter {
    /// Returns whether a segment belongs to a selected connection.
    #[inline]
    pub fn lets_through(&self, segment: &Segment) -> bool {
        self.is_of([&segment.source, &segment.destination])
    }

    fn is_of(&self, ends: [&Endpoint; 2]) -> bool {
        let ends = || ends.into_iter();
        self.port.is_none_or(|port| ends().any(|end| end.port == port))
            && self.host.is_none_or(|host| ends().any(|end| end.host.address() == Some(host)))
    }
}

/// Observer that decodes packets and hands their segments on.
///
/// The inner observer receives each packet first, then its segments that the filter lets through.
/// Packets without a segment are counted.
#[derive(Debug)]
pub struct Segments<O> {
    decoder: Decoder,
    filter: ConnectionFilter,
    range: RangePicker,
    passed: SkippedPacketCounter,
    /// Observer that receives the segments.
    pub observer: O,
}

impl<O: Observer> Segments<O> {
    /// Hands all segments to `observer`.
    pub fn to(observer: O) -> Self {
        Self::filtered(observer, ConnectionFilter::default())
    }

    /// Hands the segments that the filter lets through to `observer`.
    pub fn filtered(observer: O, filter: ConnectionFilter) -> Self {
        Self {
            decoder: Decoder::new(),
            filter,
            range: RangePicker::default(),
            passed: SkippedPacketCounter::default(),
            observer,
        }
    }

    /// Restricts the segments to a range of the capture.
    #[must_use]
    pub fn within(self, range: PacketRange) -> Self {
        Self { range: RangePicker::new(range), ..self }
    }

    /// Returns the observer, the counts of skipped packets, and the kinds that are not TCP, the
    /// most frequent first.
    pub fn finish(self) -> (O, SkippedPackets, Vec<SkippedKind>) {
        let (passed, kinds) = self.passed.finish();
        (self.observer, passed, kinds)
    }
}

impl<O: Observer> Observer for Segments<O> {
    fn packet(&mut self, packet: &Packet<'_>) {
        if !self.range.has(packet.time, packet.number) {
            return;
        }
        self.observer.packet(packet);
        self.decoder.verify_checksums(self.observer.wants_checksum());
        let mut decoded = self.decoder.decode(packet);
        loop {
            // The segment is passed by reference, because its copy is measurably slow. There is a
            // single call, so that the observer's code is inlined here.
            if let Some(segment) = self.passed.take(&decoded) {
                self.segment(segment);
            } else if let Decoded::NotTcp(NonTcpPacket::Ip(protocol::ICMP | protocol::ICMP_V6)) =
                decoded
                && let Some(message) = too_big::read(packet)
                && self.filter.is_of([&message.source, &message.destination])
            {
                self.observer.too_big(&message);
            }
            let Some(next) = self.decoder.more(packet) else { return };
            decoded = next;
        }
    }

    #[inline(always)]
    fn segment(&mut self, segment: &Segment) {
        // Text has segments and no packets.
        if self.filter.lets_through(segment) && self.range.has(segment.time, segment.number) {
            self.observer.segment(segment);
        }
    }
}
