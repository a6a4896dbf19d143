//! Members of an archive, one after the other, as the analyser asks for them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use windlass_wire::capture::CaptureFormat;
use windlass_wire::{Capture, Observer};

use super::ahead::ReadAhead;
use super::digest::Sha256;
use super::event::Event;
use super::member::{Archive, ArchiveDamage, Name, Oddity, SkipReason};
use super::{Ending, Feed, POLL};

/// Reader of the members that may be captures.
pub(crate) struct Members {
    ahead: ReadAhead,
    /// Properties of the archive so far.
    pub(crate) archive: Archive,
    /// Name of the wanted member, if one is given.
    wanted: Option<Vec<u8>>,
    total: Option<u64>,
    taken: Arc<AtomicU64>,
    stop: Arc<AtomicBool>,
    has_ended: bool,
}

/// Member whose bytes come next.
pub(crate) struct PendingMember {
    pub(crate) name: Name,
    number: u64,
}

impl Members {
    pub(super) const fn new(
        ahead: ReadAhead,
        archive: Archive,
        wanted: Option<Vec<u8>>,
        total: Option<u64>,
        taken: Arc<AtomicU64>,
        stop: Arc<AtomicBool>,
    ) -> Self {
        Self { ahead, archive, wanted, total, taken, stop, has_ended: false }
    }

    /// Returns the contents of the archive.
    pub(crate) fn finish(self) -> Archive {
        self.archive
    }

    /// Returns the name of the wanted member, as given.
    pub(crate) fn wanted(&self) -> Option<Name> {
        self.wanted.as_deref().map(Name::new)
    }

    /// Advances to the next file in the archive. Returns `None` at the end, at the stop, and at
    /// damage, which the archive then reports.
    pub(crate) fn next(&mut self) -> Option<PendingMember> {
        while !self.has_ended {
            let event = self.ahead.next(POLL);
            if self.stop.load(Ordering::Relaxed) {
                self.archive.interrupted = true;
                self.has_ended = true;
                return None;
            }
            match event {
                Some(Event::Member(name, number)) => {
                    self.archive.members = number;
                    return Some(PendingMember { name, number });
                }
                Some(Event::Odd(name, oddity)) => self.odd(name, oddity),
                Some(Event::End(members)) => {
                    self.archive.members = members;
                    self.has_ended = true;
                }
                Some(Event::Broken { at, after, broken }) => {
                    let what = broken.words();
                    self.archive.members = after;
                    self.archive.damage =
                        Some(ArchiveDamage { offset: at, after_member: after, what });
                    self.has_ended = true;
                }
                // Rest of a member that was not read to its end.
                Some(Event::Block(block)) => self.ahead.give_back(block),
                None | Some(Event::MemberEnd(..) | Event::Archive(..) | Event::Unseekable) => {}
            }
        }
        None
    }

    fn odd(&mut self, name: Name, oddity: Oddity) {
        self.archive.members += 1;
        let (why, what) = match oddity {
            Oddity::Empty => (SkipReason::Empty, None),
            Oddity::Link => (SkipReason::Link, None),
            Oddity::Special => (SkipReason::Special, None),
            Oddity::Sparse => (SkipReason::Sparse, None),
            Oddity::Encrypted => (SkipReason::Encrypted, None),
            Oddity::Method(method) => {
                (SkipReason::Method, Some(format!("packed by method {method}")))
            }
        };
        self.archive.pass_over(why, name, what);
    }

    /// Takes the digest of the last member, if digests are on.
    pub(crate) fn take_digest(&mut self) -> Option<Sha256> {
        self.ahead.take_digest()
    }

    /// Feeds a member to `capture`, which passes packets to `observer`. Returns whether the member
    /// is a capture. If it is none, the archive counts it as skipped, and its packets do not count.
    pub(crate) fn read<O: Observer>(
        &mut self,
        member: &PendingMember,
        capture: &mut Capture,
        observer: &mut O,
        on_progress: &mut dyn FnMut(u64, Option<u64>),
    ) -> bool {
        let mut feed = Feed { capture, observer, waiting: Vec::new(), wanted: 0 };
        let on_block = |bytes| on_progress(bytes, self.total);
        // The reading thread itself reports blocks that it cannot read.
        let ending = feed
            .read(&mut self.ahead, &self.stop, &self.taken, on_block)
            .unwrap_or(Ending::Stopped);
        self.ahead.enough_of(member.number);
        if matches!(ending, Ending::Finished) {
            self.drain();
        }
        let is_broken = matches!(ending, Ending::Broken(_));
        feed.end(ending);
        let info = capture.info();
        if info.packets > 0 && info.foreign.is_none() {
            self.archive.captures += 1;
            return true;
        }
        let Some(damage) = &info.damage else {
            // A capture without packets still counts as a capture.
            let is_capture = info.format.is_some();
            self.archive.captures += u64::from(is_capture);
            return is_capture;
        };
        let why = match info.foreign {
            Some(foreign) if foreign.is_archive() => SkipReason::Archive,
            None if is_broken || info.format.is_some_and(CaptureFormat::is_binary) => {
                SkipReason::Damaged
            }
            _ => SkipReason::NoCapture,
        };
        let what = Some(damage.what.clone());
        self.archive.pass_over(why, member.name.clone(), what);
        false
    }

    /// Skips the rest of a member.
    fn drain(&mut self) {
        loop {
            match self.ahead.next(POLL) {
                Some(Event::Block(block)) => self.ahead.give_back(block),
                Some(Event::MemberEnd(..)) => return,
                _ if self.stop.load(Ordering::Relaxed) => return,
                None => {}
                // The thread ended within the member; `next` will notice.
                Some(_) => return,
            }
        }
    }
}

#[cfg(test)]
#[path = "members_tests.rs"]
mod tests;
