//! How readers hand on what they find.

use crate::{Packet, Segment, TooBig};

/// Takes packets and segments as they are read, in the order of the capture.
///
/// A reader of files hands on packets, and segments only where the capture is a
/// text, which has no packets. [`crate::Segments`] stands between such a reader
/// and an observer of segments.
pub trait Observer {
    /// A packet of a binary capture, before anything is known of it.
    fn packet(&mut self, packet: &Packet<'_>) {
        let _ = packet;
    }

    /// A TCP segment.
    fn segment(&mut self, segment: &Segment);

    /// A router's message that a segment was too big.
    fn too_big(&mut self, message: &TooBig) {
        let _ = message;
    }

    /// Returns whether the checksum of the next packet is to be verified, which reads all of it.
    fn wants_checksum(&self) -> bool {
        false
    }
}

/// The same, for who keeps the observer.
impl<O: Observer + ?Sized> Observer for &mut O {
    #[inline]
    fn packet(&mut self, packet: &Packet<'_>) {
        O::packet(self, packet);
    }

    #[inline]
    fn segment(&mut self, segment: &Segment) {
        O::segment(self, segment);
    }

    fn too_big(&mut self, message: &TooBig) {
        O::too_big(self, message);
    }

    #[inline]
    fn wants_checksum(&self) -> bool {
        O::wants_checksum(self)
    }
}

/// How far a reader came with the bytes it was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Bytes that are done with; the caller drops them and passes the rest
    /// again, with more behind it.
    pub consumed: usize,
    /// The least number of bytes, from the first that was not consumed, with
    /// which the reader can go on.
    pub wanted: usize,
    /// Whether nothing more will come: the end was reached, or damage that
    /// cannot be read past.
    pub finished: bool,
}
