//! From packets to the TCP segments that are wanted, with an account of the rest.

use std::net::IpAddr;

use crate::passed::{Kind, Passed, PassedOver};
use crate::{Decoder, Observer, Packet, Segment};

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
    pub fn lets_through(&self, segment: &Segment) -> bool {
        let ends = || [&segment.source, &segment.destination].into_iter();
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
        Self { decoder: Decoder::new(), filter, passed: PassedOver::default(), observer }
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
        self.observer.packet(packet);
        // By reference: a segment is large enough for its copy to be felt.
        if let Some(segment) = self.passed.take(&self.decoder.decode(packet)) {
            self.segment(segment);
        }
        while let Some(decoded) = self.decoder.more(packet) {
            if let Some(segment) = self.passed.take(&decoded) {
                self.segment(segment);
            }
        }
    }

    #[inline]
    fn segment(&mut self, segment: &Segment) {
        if self.filter.lets_through(segment) {
            self.observer.segment(segment);
        }
    }
}
