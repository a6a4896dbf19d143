//! Conversion of an archive's members to events, in the reading thread.

use std::io::{self, Read};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender};

use super::super::digest::{DigestReader, Sha256};
use super::super::event::{Block, Event};
use super::super::member::{Name, Oddity};
use super::super::source::{Budget, Bytes, Source, StreamError};
use super::{MemberKind, tar, zip};

/// Receiver of members: sends their events to the analysing thread.
pub(in crate::input) struct Walk<'a> {
    events: &'a SyncSender<Event>,
    empty: &'a Receiver<Block>,
    /// A block that was taken and not used.
    spare: Option<Block>,
    /// Number of the last member of which no more bytes are needed.
    enough: &'a AtomicU64,
    /// Name of the wanted member; `None` if all are wanted.
    wanted: Option<Vec<u8>>,
    budget: Budget,
    /// True if members get a digest.
    digests: bool,
    /// Number of members so far, without folders.
    number: u64,
}

/// Error of a send: the receiving thread has ended.
struct ReceiverGone;

/// End of a member's bytes.
enum MemberEnding {
    /// All bytes came, or no more are needed.
    Whole,
    /// Reading failed.
    Broken(StreamError),
    /// The member has more bytes than any capture needs.
    TooMany(StreamError),
}

impl MemberEnding {
    /// Returns the reason if bytes are missing.
    fn words(&self) -> Option<String> {
        match self {
            Self::Whole => None,
            Self::Broken(broken) | Self::TooMany(broken) => Some(broken.words()),
        }
    }
}

impl<'a> Walk<'a> {
    pub(in crate::input) const fn new(
        events: &'a SyncSender<Event>,
        empty: &'a Receiver<Block>,
        enough: &'a AtomicU64,
        wanted: Option<Vec<u8>>,
        budget: Budget,
        digests: bool,
    ) -> Self {
        Self { events, empty, spare: None, enough, wanted, budget, digests, number: 0 }
    }

    /// Returns the maximum bytes to unpack from the archive.
    pub(in crate::input) fn budget(&self) -> Budget {
        self.budget.clone()
    }

    fn tell(&self, event: Event) -> Result<(), ReceiverGone> {
        self.events.send(event).map_err(|_| ReceiverGone)
    }

    fn is_wanted(&self, name: &[u8]) -> bool {
        self.wanted.as_ref().is_none_or(|wanted| Name::new(name).is_called(wanted))
    }

    /// Counts a skipped member, and reports it if it is wanted.
    fn odd(&mut self, name: &[u8], oddity: Oddity) -> Result<(), ReceiverGone> {
        self.number += 1;
        if self.is_wanted(name) {
            self.tell(Event::Odd(Name::new(name), oddity))?;
        }
        Ok(())
    }

    /// Counts a file, and returns whether its bytes are wanted.
    fn wants(&mut self, name: &[u8]) -> bool {
        self.number += 1;
        self.is_wanted(name)
    }

    /// Passes on the bytes of a file, decompressed if needed, and returns their digest if digests
    /// are on. `is_packed` says whether the archive compressed them.
    fn file(
        &mut self,
        name: &[u8],
        is_packed: bool,
        bytes: impl Read,
    ) -> Result<(MemberEnding, Option<Sha256>), ReceiverGone> {
        self.tell(Event::Member(Name::new(name), self.number))?;
        let mut bytes = DigestReader::new(bytes, self.digests);
        let ended = self.pass(&mut bytes, is_packed)?;
        // Beyond the budget nothing more is decompressed.
        let digest = bytes.finish(!matches!(ended, MemberEnding::TooMany(_)));
        Ok((ended, digest))
    }

    fn pass(&mut self, bytes: impl Read, is_packed: bool) -> Result<MemberEnding, ReceiverGone> {
        let mut source = match Source::open(bytes) {
            Ok(source) => source,
            Err(broken) => return Ok(MemberEnding::Broken(broken)),
        };
        let is_packed = is_packed || source.packing().is_some();
        loop {
            let mut block = match self.spare.take() {
                Some(block) => block,
                None => self.empty.recv().map_err(|_| ReceiverGone)?,
            };
            let mut ended = None;
            let filled = block.fill(|room| {
                let mut done = 0;
                // Fill the block, so that a small member needs only one.
                while done < room.len() && ended.is_none() {
                    match source.read(&mut room[done..]) {
                        Ok(0) => ended = Some(MemberEnding::Whole),
                        Ok(count) => done += count,
                        Err(broken) => ended = Some(MemberEnding::Broken(broken)),
                    }
                }
                done
            });
            if is_packed && let Err(broken) = self.budget.spend(filled) {
                ended = Some(MemberEnding::TooMany(broken));
            }
            if filled == 0 {
                self.spare = Some(block);
            } else {
                self.tell(Event::Block(block))?;
            }
            match ended {
                Some(ended) => return Ok(ended),
                None if self.enough.load(Ordering::Relaxed) == self.number => {
                    return Ok(MemberEnding::Whole);
                }
                None => {}
            }
        }
    }
}

/// Bytes of a tar's member.
struct TarMember<'a, B>(&'a mut tar::Reader<B>);

impl<B: Bytes> Read for TarMember<'_, B> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        Ok(self.0.member(buffer)?)
    }
}

/// Passes on the members of a tar; returns the closing event.
pub(in crate::input) fn walk_tar(input: impl Bytes, mut walk: Walk<'_>) -> Event {
    let mut reader = tar::Reader::new(input);
    let last = tar_members(&mut reader, &mut walk);
    // If nobody receives, any event will do.
    last.unwrap_or(Event::End(walk.number))
}

fn tar_members<B: Bytes>(
    reader: &mut tar::Reader<B>,
    walk: &mut Walk<'_>,
) -> Result<Event, ReceiverGone> {
    loop {
        let entry = match reader.next() {
            Ok(Some(entry)) => entry,
            Ok(None) => return Ok(Event::End(walk.number)),
            Err(broken) => {
                return Ok(Event::Broken { at: reader.offset, after: walk.number, broken });
            }
        };
        match entry.kind {
            MemberKind::Folder => {}
            MemberKind::Odd(oddity) => walk.odd(&entry.name, oddity)?,
            MemberKind::File { size: 0 } => walk.odd(&entry.name, Oddity::Empty)?,
            MemberKind::File { .. } if !walk.wants(&entry.name) => {}
            MemberKind::File { .. } => {
                let (ended, digest) = walk.file(&entry.name, false, TarMember(reader))?;
                let own = reader.broken();
                let words = own.as_ref().map(StreamError::words).or_else(|| ended.words());
                walk.tell(Event::MemberEnd(words, digest))?;
                let broken = match ended {
                    MemberEnding::TooMany(broken) => own.or(Some(broken)),
                    MemberEnding::Whole | MemberEnding::Broken(_) => own,
                };
                if let Some(broken) = broken {
                    return Ok(Event::Broken { at: reader.offset, after: walk.number, broken });
                }
            }
        }
    }
}

/// Passes on the members of a zip; returns the closing event.
pub(in crate::input) fn walk_zip(parts: zip::ZipFile, mut walk: Walk<'_>) -> Event {
    let mut members = Zip { walk: &mut walk, bomb: None };
    let done = zip::walk(parts, &mut members);
    let bomb = members.bomb;
    let after = walk.number;
    match (done, bomb) {
        (Err(zip::Damage { at, broken }), _) | (Ok(()), Some((at, broken))) => {
            Event::Broken { at, after, broken }
        }
        (Ok(()), None) => Event::End(after),
    }
}

/// Receiver of a zip's members.
struct Zip<'a, 'b> {
    walk: &'a mut Walk<'b>,
    /// Offset and error of a zip bomb.
    bomb: Option<(u64, StreamError)>,
}

impl zip::MemberReceiver for Zip<'_, '_> {
    fn wants(&mut self, name: &[u8]) -> bool {
        self.walk.wants(name)
    }

    fn odd(&mut self, name: &[u8], oddity: Oddity) -> bool {
        self.walk.odd(name, oddity).is_ok()
    }

    fn file(&mut self, name: &[u8], at: u64, unpacked: &mut zip::UnpackedMember<'_>) -> bool {
        let Ok((ended, digest)) = self.walk.file(name, true, &mut *unpacked) else { return false };
        let words = unpacked.broken().map(|own| own.words()).or_else(|| ended.words());
        if self.walk.tell(Event::MemberEnd(words, digest)).is_err() {
            return false;
        }
        if let MemberEnding::TooMany(broken) = ended {
            self.bomb = Some((at, broken));
        }
        self.bomb.is_none()
    }
}
