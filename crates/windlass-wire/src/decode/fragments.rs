//! Reassembly of IP fragments by their lengths.
//!
//! Only the first bytes of a datagram are kept, for its TCP header. Of the other bytes, only their
//! arrival is recorded. So the table is small and of a fixed size, whatever a capture holds.

use windlass_base::{Span, Timestamp};

use super::ip::{IpHeader, TcpFragment};

/// Maximum number of incomplete datagrams. Beyond it, the oldest is evicted.
const MAX_DATAGRAMS: usize = 64;
/// Reassembly timeout, as in Linux (`net.ipv4.ipfrag_time`). The identification may soon belong to
/// another datagram.
const PATIENCE: Span = Span::from_millis(30_000);
/// Maximum number of separate runs of a datagram before it is given up.
const MAX_RUNS: usize = 16;
/// Longest TCP header, in bytes.
const HEAD: usize = 60;
/// Longest payload of a fragmented datagram, in bytes: offsets and lengths have 16 bits.
const MAX_BYTES: u32 = 65_535;

/// Datagrams that wait for fragments.
#[derive(Debug, Default)]
pub(crate) struct Fragments {
    /// Incomplete datagrams, in the order of their first fragments.
    waiting: Vec<Datagram>,
    lost: u64,
}

/// Outcome of adding a fragment.
#[expect(clippy::large_enum_variant, reason = "it lives for one packet")]
pub(crate) enum Reassembly {
    /// Other fragments are missing.
    Waiting,
    /// The fragment contradicts the others: the datagram is given up.
    Refused,
    /// The fragment was the last one missing.
    Complete(Datagram),
}

/// A datagram of which fragments arrived.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Datagram {
    /// IP header of the first captured fragment.
    pub(crate) carrier: IpHeader,
    /// Length of the whole payload; valid once the datagram is complete.
    pub(crate) length: u32,
    identity: u32,
    began: Timestamp,
    /// True once the last fragment arrived, which gives `length`.
    ended: bool,
    head: [u8; HEAD],
    /// One bit for each captured byte of `head`.
    captured: u64,
    runs: Runs,
}

impl Datagram {
    /// Returns the first bytes of the payload, up to the first gap.
    pub(crate) fn head(&self) -> &[u8] {
        let whole = (self.captured.trailing_ones() as usize).min(HEAD);
        &self.head[..whole.min(self.length as usize)]
    }

    /// Adds a fragment. Returns `false` if it contradicts the others.
    fn add(&mut self, part: &TcpFragment<'_>) -> bool {
        let end = part.offset.saturating_add(part.view.wire);
        // A fragment other than the last has a multiple of 8 bytes (RFC 791 section 3.2). No byte
        // may lie behind the last fragment.
        let whole_units = part.view.wire.is_multiple_of(8);
        if end > MAX_BYTES || part.view.wire == 0 || (part.more && !whole_units) {
            return false;
        }
        if part.more {
            if self.ended && end > self.length {
                return false;
            }
        } else {
            if self.ended && end != self.length || self.runs.end() > end {
                return false;
            }
            (self.ended, self.length) = (true, end);
        }
        self.keep_head(part);
        self.runs.add(part.offset, end)
    }

    /// Keeps the bytes that belong to the head. If a byte arrives twice, the first copy stays, so
    /// that an overlap cannot rewrite a header.
    fn keep_head(&mut self, part: &TcpFragment<'_>) {
        let bytes = part.view.data.iter().take(part.view.wire as usize);
        for (at, byte) in (part.offset as usize..HEAD).zip(bytes) {
            if self.captured >> at & 1 == 0 {
                self.head[at] = *byte;
                self.captured |= 1 << at;
            }
        }
    }

    fn complete(&self) -> bool {
        self.ended && self.runs.is_one(self.length)
    }
}

impl Fragments {
    /// Returns the number of datagrams given up.
    pub(crate) fn lost(&self) -> u64 {
        self.lost
    }

    /// Returns the number of incomplete datagrams.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Adds a fragment that was captured at `time`.
    pub(crate) fn add(
        &mut self,
        time: Timestamp,
        carrier: IpHeader,
        part: &TcpFragment<'_>,
    ) -> Reassembly {
        let known = self.waiting.iter().position(|datagram| {
            datagram.identity == part.datagram
                && datagram.carrier.source == carrier.source
                && datagram.carrier.destination == carrier.destination
        });
        let at = match known {
            Some(at) if time.since(self.waiting[at].began) <= PATIENCE => at,
            stale => {
                if let Some(at) = stale {
                    self.give_up(at);
                } else if self.waiting.len() >= MAX_DATAGRAMS {
                    self.give_up(0);
                }
                self.waiting.push(Datagram {
                    carrier,
                    length: 0,
                    identity: part.datagram,
                    began: time,
                    ended: false,
                    head: [0; HEAD],
                    captured: 0,
                    runs: Runs::default(),
                });
                self.waiting.len() - 1
            }
        };
        let datagram = &mut self.waiting[at];
        if !datagram.add(part) {
            self.give_up(at);
            return Reassembly::Refused;
        }
        if datagram.complete() {
            Reassembly::Complete(self.waiting.remove(at))
        } else {
            Reassembly::Waiting
        }
    }

    fn give_up(&mut self, at: usize) {
        self.waiting.remove(at);
        self.lost += 1;
    }
}

/// Runs of bytes that arrived, separate and in order.
#[derive(Clone, Copy, Debug, Default)]
struct Runs {
    count: usize,
    runs: [(u32, u32); MAX_RUNS],
}

impl Runs {
    /// Adds a run and merges the runs that it touches. Returns `false` if there are too many.
    fn add(&mut self, start: u32, end: u32) -> bool {
        let (mut start, mut end) = (start, end);
        let mut kept = 0;
        for at in 0..self.count {
            let run = self.runs[at];
            if run.1 < start || run.0 > end {
                self.runs[kept] = run;
                kept += 1;
            } else {
                start = start.min(run.0);
                end = end.max(run.1);
            }
        }
        self.count = kept;
        let Some(slot) = self.runs.get_mut(kept) else { return false };
        *slot = (start, end);
        self.count += 1;
        true
    }

    fn end(&self) -> u32 {
        self.runs[..self.count].iter().map(|run| run.1).max().unwrap_or(0)
    }

    fn is_one(&self, length: u32) -> bool {
        self.count == 1 && self.runs[0] == (0, length)
    }
}
