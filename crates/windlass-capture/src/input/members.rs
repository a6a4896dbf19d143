//! The members of an archive, one after the other, as the analyser asks for them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use windlass_wire::capture::Format;
use windlass_wire::{Capture, Observer};

use super::ahead::Ahead;
use super::digest::Sha256;
use super::event::Event;
use super::member::{Archive, ArchiveDamage, Name, Oddity, Why};
use super::{Ending, Feed, POLL};

/// The members of an archive that may be captures.
pub(crate) struct Members {
    ahead: Ahead,
    /// What is known of it so far.
    pub(crate) archive: Archive,
    /// The member that is wanted, where one is.
    wanted: Option<Vec<u8>>,
    total: Option<u64>,
    taken: Arc<AtomicU64>,
    stop: Arc<AtomicBool>,
    has_ended: bool,
}

/// A member whose bytes come next.
pub(crate) struct Member {
    pub(crate) name: Name,
    number: u64,
}

impl Members {
    pub(super) const fn new(
        ahead: Ahead,
        archive: Archive,
        wanted: Option<Vec<u8>>,
        total: Option<u64>,
        taken: Arc<AtomicU64>,
        stop: Arc<AtomicBool>,
    ) -> Self {
        Self { ahead, archive, wanted, total, taken, stop, has_ended: false }
    }

    /// What the archive held.
    pub(crate) fn finish(self) -> Archive {
        self.archive
    }

    /// The member that is wanted, as it was named.
    pub(crate) fn wanted(&self) -> Option<Name> {
        self.wanted.as_deref().map(Name::new)
    }

    /// Goes on to the next file in it. Nothing at the end, at damage, which the archive
    /// then says, or at the stop.
    pub(crate) fn next(&mut self) -> Option<Member> {
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
                    return Some(Member { name, number });
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
                // What is left of a member.
                Some(Event::Block(block)) => self.ahead.give_back(block),
                None | Some(Event::MemberEnd(..) | Event::Archive(..) | Event::Unseekable) => {}
            }
        }
        None
    }

    fn odd(&mut self, name: Name, oddity: Oddity) {
        self.archive.members += 1;
        let (why, what) = match oddity {
            Oddity::Empty => (Why::Empty, None),
            Oddity::Link => (Why::Link, None),
            Oddity::Special => (Why::Special, None),
            Oddity::Sparse => (Why::Sparse, None),
            Oddity::Encrypted => (Why::Encrypted, None),
            Oddity::Method(method) => (Why::Method, Some(format!("packed by method {method}"))),
        };
        self.archive.pass_over(why, name, what);
    }

    /// The digest of the member that was read last, where digests are asked for.
    pub(crate) fn take_digest(&mut self) -> Option<Sha256> {
        self.ahead.take_digest()
    }

    /// Feeds a member to `capture`, which hands packets to `observer`. Tells whether it
    /// is a capture; where not, the archive counts it among what was passed over, and
    /// packets that were given are none.
    pub(crate) fn read<O: Observer>(
        &mut self,
        member: &Member,
        capture: &mut Capture,
        observer: &mut O,
        on_progress: &mut dyn FnMut(u64, Option<u64>),
    ) -> bool {
        let mut feed = Feed { capture, observer, waiting: Vec::new(), wanted: 0 };
        let on_block = |bytes| on_progress(bytes, self.total);
        // Blocks of a member come from the thread, which says itself what it cannot read.
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
            // A capture without packets is one.
            let is_capture = info.format.is_some();
            self.archive.captures += u64::from(is_capture);
            return is_capture;
        };
        let why = match info.foreign {
            Some(foreign) if foreign.is_archive() => Why::Archive,
            None if is_broken || info.format.is_some_and(Format::is_binary) => Why::Damaged,
            _ => Why::NoCapture,
        };
        let what = Some(damage.what.clone());
        self.archive.pass_over(why, member.name.clone(), what);
        false
    }

    /// Passes over what is left of a member.
    fn drain(&mut self) {
        loop {
            match self.ahead.next(POLL) {
                Some(Event::Block(block)) => self.ahead.give_back(block),
                Some(Event::MemberEnd(..)) => return,
                _ if self.stop.load(Ordering::Relaxed) => return,
                None => {}
                // The thread has ended within the member, which `next` will find.
                Some(_) => return,
            }
        }
    }
}

#[cfg(test)]
#[path = "members_tests.rs"]
mod tests;
