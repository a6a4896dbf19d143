//! Settings of all connections of a capture, and state of each between two snapshots.

use windlass_base::Timestamp;

use crate::follow::ledger::Interval;

/// State of a connection between snapshots.
#[derive(Clone, Debug, Default)]
pub(crate) struct SnapshotState {
    /// Bytes known at the last look, by direction.
    pub(crate) bytes: [u64; 2],
    /// Last interval of the ledger then, by direction. Time that was added to it since is judged
    /// alone. A connection that has hibernated has lost it, and the interval is judged as a whole.
    pub(crate) last: Option<Box<[Option<Interval>; 2]>>,
}

/// Settings of all connections of a capture.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Setting {
    /// The time when the capture began.
    pub(crate) origin: Timestamp,
    /// True if ACKs are counted by the second.
    pub(crate) by_second: bool,
}
