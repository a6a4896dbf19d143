//! What holds for all connections of a capture, and what each keeps between two looks.

use windlass_base::Timestamp;

use crate::follow::ledger::Interval;

/// What a connection keeps from look to look.
#[derive(Clone, Debug, Default)]
pub(crate) struct SeenAtLook {
    /// By direction, the bytes that were known of at the last look.
    pub(crate) bytes: [u64; 2],
    /// By direction, the last interval of the ledger then. What was added to it
    /// since is judged alone. A connection that has hibernated has lost it, and the
    /// interval is judged as a whole.
    pub(crate) last: Option<Box<[Option<Interval>; 2]>>,
}

/// What holds for all connections of a capture.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Setting {
    /// The time when the capture began.
    pub(crate) origin: Timestamp,
    /// True if ACKs are counted by the second.
    pub(crate) by_second: bool,
}
