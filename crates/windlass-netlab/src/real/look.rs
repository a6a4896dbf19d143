//! Snapshots of a device and of the link to it.

use windlass_base::{Bytes, Span, Timestamp};
use windlass_sim::{LinkCounters, Queue};

pub use super::device::PeerSnapshot;
use super::device::{DeviceHost, Totals};

/// Snapshot of a device and of the link to it.
#[derive(Clone, Debug)]
pub struct DeviceSnapshot {
    /// Time since the start.
    pub at: Span,
    /// The connections that the device holds.
    pub connections: Vec<PeerSnapshot>,
    /// Payload that has arrived in order, each byte once.
    pub received: Bytes,
    /// Part of this payload that the device's programs have read.
    pub read: Bytes,
    /// Finished jobs.
    pub jobs: JobCounts,
    /// SYNs that found no free connection slot.
    pub syns_dropped: u64,
    /// Packets that found the link's queue full: to the device, and from it.
    pub dropped_by_queue: [u64; 2],
    /// Packets that the line destroyed, and those that the device lost.
    pub lost: u64,
    /// Queue of the line to the device.
    pub queue: Queue,
}

/// Jobs that a device has finished, by their protocol.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JobCounts {
    /// Closed connections to a raw port that brought data.
    pub raw: u64,
    /// Data files by LPR.
    pub lpr: u64,
    /// Complete documents by IPP.
    pub ipp: u64,
}

impl DeviceSnapshot {
    pub(super) fn new(
        now: Timestamp,
        side: &DeviceHost,
        links: [LinkCounters; 2],
        queue: Queue,
    ) -> Self {
        let Totals { read, refused, lost, received, printed, raw_jobs, .. } = side.totals();
        let connections = side.looks(now);
        let unread: Bytes = connections.iter().map(|one| one.connection.unread).sum();
        Self {
            at: now.since(Timestamp::ZERO),
            connections,
            received: read + unread,
            read,
            jobs: JobCounts { raw: raw_jobs, lpr: received.data_files, ipp: printed.documents },
            syns_dropped: refused,
            dropped_by_queue: links.map(|link| link.dropped_by_queue),
            lost: lost + links.iter().map(|link| link.lost).sum::<u64>(),
            queue,
        }
    }
}
