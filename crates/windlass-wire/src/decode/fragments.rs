//! Fragments of IP datagrams, joined by their lengths.
//!
//! Only the first bytes of a datagram are kept, for its TCP header; of the rest
//! it is enough to know that it came. So the table is small and of a fixed
//! size, whatever a capture holds.

use windlass_base::{Span, Timestamp};

use super::ip::{Carrier, Part};

/// Datagrams that may be incomplete at once. The oldest gives way.
const MAX_DATAGRAMS: usize = 64;
/// How long a datagram waits for the rest, as Linux waits
/// (`net.ipv4.ipfrag_time`). The identification may mean another datagram soon
/// after.
const PATIENCE: Span = Span::from_millis(30_000);
/// Gaps that a datagram may have before it is given up.
const MAX_RUNS: usize = 16;
/// The longest TCP header.
const HEAD: usize = 60;
/// The longest payload of a datagram that may be fragmented: offsets and
/// lengths are of 16 bits.
const MAX_BYTES: u32 = 65_535;

/// The datagrams that wait for fragments.
#[derive(Debug, Default)]
pub(crate) struct Fragments {
    /// In the order of their first fragments.
    waiting: Vec<Datagram>,
    lost: u64,
}

/// What a fragment led to.
#[expect(clippy::large_enum_variant, reason = "it lives for one packet")]
pub(crate) enum Joined {
    /// Others are missing.
    Waiting,
    /// It contradicts the others: the datagram is given up.
    Refused,
    /// It was the last one missing.
    Complete(Datagram),
}

/// A datagram of which fragments came.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Datagram {
    /// What the first captured fragment's IP header said.
    pub(crate) carrier: Carrier,
    /// The length of the whole payload; meaningful once it is complete.
    pub(crate) length: u32,
    identity: u32,
    began: Timestamp,
    /// Whether `length` is known, by the fragment that said it is the last.
    ended: bool,
    head: [u8; HEAD],
    /// A bit for each byte of `head` that was captured.
    captured: u64,
    runs: Runs,
}

impl Datagram {
    /// The first bytes, as many as were captured without a gap.
    pub(crate) fn head(&self) -> &[u8] {
        let whole = (self.captured.trailing_ones() as usize).min(HEAD);
        &self.head[..whole.min(self.length as usize)]
    }

    /// Takes a fragment; `false` where it contradicts the others.
    fn add(&mut self, part: &Part<'_>) -> bool {
        let end = part.offset.saturating_add(part.view.wire);
        // A fragment within a datagram is a multiple of 8 bytes (RFC 791
        // section 3.2), and nothing may lie past the last.
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

    /// Keeps what belongs to the head. Of bytes that come twice the first
    /// stay, as an overlap cannot then rewrite a header.
    fn keep_head(&mut self, part: &Part<'_>) {
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
    /// Datagrams given up.
    pub(crate) fn lost(&self) -> u64 {
        self.lost
    }

    /// Datagrams that wait.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Takes a fragment that was captured at `time`.
    pub(crate) fn add(&mut self, time: Timestamp, carrier: Carrier, part: &Part<'_>) -> Joined {
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
            return Joined::Refused;
        }
        if datagram.complete() {
            Joined::Complete(self.waiting.remove(at))
        } else {
            Joined::Waiting
        }
    }

    fn give_up(&mut self, at: usize) {
        self.waiting.remove(at);
        self.lost += 1;
    }
}

/// Runs of bytes that came, apart and in order.
#[derive(Clone, Copy, Debug, Default)]
struct Runs {
    count: usize,
    runs: [(u32, u32); MAX_RUNS],
}

impl Runs {
    /// Adds a run and joins those that it touches; `false` where there are too
    /// many.
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
