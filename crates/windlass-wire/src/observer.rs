//! The interface through which readers hand on packets and segments.

use crate::{Packet, PacketTooBig, Segment};

/// Receiver of packets and segments as they are read, in the order of the capture.
///
/// A reader of files hands on packets. It hands on segments only if the capture is a text, which
/// has no packets. [`crate::Segments`] converts between such a reader and an observer of segments.
pub trait Observer {
    /// Receives a packet of a binary capture, before it is decoded.
    fn packet(&mut self, packet: &Packet<'_>) {
        let _ = packet;
    }

    /// Receives a TCP segment.
    fn segment(&mut self, segment: &Segment);

    /// Receives a router's message that a segment was too big.
    fn too_big(&mut self, message: &PacketTooBig) {
        let _ = message;
    }

    /// Returns whether the checksum of the next packet is to be verified, which reads all of it.
    fn wants_checksum(&self) -> bool {
        false
    }
}

/// An observer by reference, for a caller that keeps it.
impl<O: Observer + ?Sized> Observer for &mut O {
    #[inline]
    fn packet(&mut self, packet: &Packet<'_>) {
        O::packet(self, packet);
    }

    #[inline]
    fn segment(&mut self, segment: &Segment) {
        O::segment(self, segment);
    }

    fn too_big(&mut self, message: &PacketTooBig) {
        O::too_big(self, message);
    }

    #[inline]
    fn wants_checksum(&self) -> bool {
        O::wants_checksum(self)
    }
}

/// Progress of a reader in the bytes that it was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Bytes consumed. The caller drops them and passes the rest again, with more bytes behind it.
    pub consumed: usize,
    /// Minimum number of bytes that the reader needs next, from the first byte that was not
    /// consumed.
    pub wanted: usize,
    /// True once nothing more follows: the end was reached, or damage that ends the reading.
    pub finished: bool,
}
