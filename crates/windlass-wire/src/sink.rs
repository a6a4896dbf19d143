//! How readers hand on what they find.

use crate::{Packet, Segment};

/// Takes what a reader finds, in the order of the file.
pub trait Sink {
    /// A packet of a binary capture.
    fn packet(&mut self, packet: &Packet<'_>);

    /// A segment of a text capture, which is never a [`Packet`].
    fn segment(&mut self, segment: &Segment);
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
