//! From packets to the TCP segments that are wanted, with an account of the rest.

use std::net::IpAddr;

use crate::decode::ip::protocol;
use crate::packet_range::RangePicker;
use crate::passed::{Kind, Passed, PassedOver};
use crate::{Decoded, Decoder, Endpoint, Observer, Other, Packet, PacketRange, Segment, too_big};

/// Which connections to look at: those with this host and this port on one side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConnectionFilter {
    /// An address on one side.
    pub host: Option<IpAddr>,
    /// A TCP port on one side.
    pub port: Option<u16>,
}

impl ConnectionFilter {
    /// Whether a segment is of such a connection.
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

/// Decodes packets, and hands their segments on.
///
/// What observes is given each packet first, then its segments that the filter
/// lets through. What is no segment is counted.
#[derive(Debug)]
pub struct Segments<O> {
    decoder: Decoder,
    filter: ConnectionFilter,
    range: RangePicker,
    passed: PassedOver,
    /// Who is given the segments.
    pub observer: O,
}

impl<O: Observer> Segments<O> {
    /// Hands all segments to `observer`.
    pub fn to(observer: O) -> Self {
        Self::filtered(observer, ConnectionFilter::default())
    }

    /// Hands those to `observer` that the filter lets through.
    pub fn filtered(observer: O, filter: ConnectionFilter) -> Self {
        Self {
            decoder: Decoder::new(),
            filter,
            range: RangePicker::default(),
            passed: PassedOver::default(),
            observer,
        }
    }

    /// Hands on those of a stretch of the capture alone.
    #[must_use]
    pub fn within(self, range: PacketRange) -> Self {
        Self { range: RangePicker::new(range), ..self }
    }

    /// Who was given the segments, what was passed over, and the kinds that are
    /// not TCP, the most frequent first.
    pub fn finish(self) -> (O, Passed, Vec<Kind>) {
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
            // By reference: a segment is large enough for its copy to be felt. At one place, so
            // that the observer's own code is compiled into this.
            if let Some(segment) = self.passed.take(&decoded) {
                self.segment(segment);
            } else if let Decoded::NotTcp(Other::Ip(protocol::ICMP | protocol::ICMP_V6)) = decoded
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
