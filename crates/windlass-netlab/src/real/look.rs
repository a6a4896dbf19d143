//! A device and the link to it while they run.

use windlass_base::{Bytes, Span, Timestamp};
use windlass_sim::{LinkCounters, Queue};

pub use super::device::PeerLook;
use super::device::{Side, Totals};

/// A device and the link to it at a moment.
#[derive(Clone, Debug)]
pub struct DeviceLook {
    /// For how long they have run.
    pub at: Span,
    /// The connections that the device holds.
    pub connections: Vec<PeerLook>,
    /// Payload that has come in order, each byte once.
    pub received: Bytes,
    /// Of it, what the device's programs have read.
    pub read: Bytes,
    /// Jobs that are done.
    pub jobs: JobsDone,
    /// SYNs that found no free connection.
    pub syns_dropped: u64,
    /// Packets that found the link's queue full: to the device, and from it.
    pub dropped_by_queue: [u64; 2],
    /// Packets that the line destroyed, and those that the device lost.
    pub lost: u64,
    /// What waits for the line to the device.
    pub queue: Queue,
}

/// Jobs that a device has done, by how they came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JobsDone {
    /// Connections to a raw port that brought data, and are over.
    pub raw: u64,
    /// Data files by LPR.
    pub lpr: u64,
    /// Whole documents by IPP.
    pub ipp: u64,
}

impl DeviceLook {
    pub(super) fn new(now: Timestamp, side: &Side, links: [LinkCounters; 2], queue: Queue) -> Self {
        let Totals { read, refused, lost, received, printed, raw_jobs, .. } = side.totals();
        let connections = side.looks(now);
        let unread: Bytes = connections.iter().map(|one| one.connection.unread).sum();
        Self {
            at: now.since(Timestamp::ZERO),
            connections,
            received: read + unread,
            read,
            jobs: JobsDone { raw: raw_jobs, lpr: received.data_files, ipp: printed.documents },
            syns_dropped: refused,
            dropped_by_queue: links.map(|link| link.dropped_by_queue),
            lost: lost + links.iter().map(|link| link.lost).sum::<u64>(),
            queue,
        }
    }
}
