//! Members to events, in the thread that reads.

use std::io::{self, Read};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender};

use super::super::digest::{Digested, Sha256};
use super::super::event::{Block, Event};
use super::super::member::{Name, Oddity};
use super::super::source::{Broken, Budget, Bytes, Source};
use super::{Kind, tar, zip};

/// What passes members on.
pub(in crate::input) struct Walk<'a> {
    events: &'a SyncSender<Event>,
    empty: &'a Receiver<Block>,
    /// A block that was taken and not needed.
    spare: Option<Block>,
    /// The number of the last member of which no more is wanted.
    enough: &'a AtomicU64,
    /// The member that is wanted; without, all are.
    wanted: Option<Vec<u8>>,
    budget: Budget,
    /// Whether members are to have a digest.
    digests: bool,
    /// Members so far, folders apart.
    number: u64,
}

/// Nobody listens any more.
struct Gone;

/// How the bytes of a member ended.
enum Ended {
    /// They all came, or no more are wanted.
    Whole,
    /// This is why there are no more.
    Broken(Broken),
    /// They are more than a capture's can be.
    TooMany(Broken),
}

impl Ended {
    /// In words, where they did not all come.
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

    /// How much may be unpacked of the archive.
    pub(in crate::input) fn budget(&self) -> Budget {
        self.budget.clone()
    }

    fn tell(&self, event: Event) -> Result<(), Gone> {
        self.events.send(event).map_err(|_| Gone)
    }

    fn is_wanted(&self, name: &[u8]) -> bool {
        self.wanted.as_ref().is_none_or(|wanted| Name::new(name).is_called(wanted))
    }

    /// A member that is passed over.
    fn odd(&mut self, name: &[u8], oddity: Oddity) -> Result<(), Gone> {
        self.number += 1;
        if self.is_wanted(name) {
            self.tell(Event::Odd(Name::new(name), oddity))?;
        }
        Ok(())
    }

    /// A file; tells whether its bytes are wanted.
    fn wants(&mut self, name: &[u8]) -> bool {
        self.number += 1;
        self.is_wanted(name)
    }

    /// Passes the bytes of a file on, unpacked where they are packed. `is_packed` says
    /// that its archive had it packed. With what its own bytes are known by, where that is
    /// asked for.
    fn file(
        &mut self,
        name: &[u8],
        is_packed: bool,
        bytes: impl Read,
    ) -> Result<(Ended, Option<Sha256>), Gone> {
        self.tell(Event::Member(Name::new(name), self.number))?;
        let mut bytes = Digested::new(bytes, self.digests);
        let ended = self.pass(&mut bytes, is_packed)?;
        // Of what is too much no more is unpacked.
        let digest = bytes.finish(!matches!(ended, Ended::TooMany(_)));
        Ok((ended, digest))
    }

    fn pass(&mut self, bytes: impl Read, is_packed: bool) -> Result<Ended, Gone> {
        let mut source = match Source::open(bytes) {
            Ok(source) => source,
            Err(broken) => return Ok(Ended::Broken(broken)),
        };
        let is_packed = is_packed || source.packing().is_some();
        loop {
            let mut block = match self.spare.take() {
                Some(block) => block,
                None => self.empty.recv().map_err(|_| Gone)?,
            };
            let mut ended = None;
            let filled = block.fill(|room| {
                let mut done = 0;
                // A small member is passed on in one piece.
                while done < room.len() && ended.is_none() {
                    match source.read(&mut room[done..]) {
                        Ok(0) => ended = Some(Ended::Whole),
                        Ok(count) => done += count,
                        Err(broken) => ended = Some(Ended::Broken(broken)),
                    }
                }
                done
            });
            if is_packed && let Err(broken) = self.budget.spend(filled) {
                ended = Some(Ended::TooMany(broken));
            }
            if filled == 0 {
                self.spare = Some(block);
            } else {
                self.tell(Event::Block(block))?;
            }
            match ended {
                Some(ended) => return Ok(ended),
                None if self.enough.load(Ordering::Relaxed) == self.number => {
                    return Ok(Ended::Whole);
                }
                None => {}
            }
        }
    }
}

/// The bytes of a tar's member.
struct Member<'a, B>(&'a mut tar::Reader<B>);

impl<B: Bytes> Read for Member<'_, B> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        Ok(self.0.member(buffer)?)
    }
}

/// Passes the members of a tar on; gives what is to be said last.
pub(in crate::input) fn walk_tar(input: impl Bytes, mut walk: Walk<'_>) -> Event {
    let mut reader = tar::Reader::new(input);
    let last = tar_members(&mut reader, &mut walk);
    // To nobody, where nobody listens.
    last.unwrap_or(Event::End(walk.number))
}

fn tar_members<B: Bytes>(reader: &mut tar::Reader<B>, walk: &mut Walk<'_>) -> Result<Event, Gone> {
    loop {
        let entry = match reader.next() {
            Ok(Some(entry)) => entry,
            Ok(None) => return Ok(Event::End(walk.number)),
            Err(broken) => {
                return Ok(Event::Broken { at: reader.offset, after: walk.number, broken });
            }
        };
        match entry.kind {
            Kind::Folder => {}
            Kind::Odd(oddity) => walk.odd(&entry.name, oddity)?,
            Kind::File { size: 0 } => walk.odd(&entry.name, Oddity::Empty)?,
            Kind::File { .. } if !walk.wants(&entry.name) => {}
            Kind::File { .. } => {
                let (ended, digest) = walk.file(&entry.name, false, Member(reader))?;
                let own = reader.broken();
                let words = own.as_ref().map(Broken::words).or_else(|| ended.words());
                walk.tell(Event::MemberEnd(words, digest))?;
                let broken = match ended {
                    Ended::TooMany(broken) => own.or(Some(broken)),
                    Ended::Whole | Ended::Broken(_) => own,
                };
                if let Some(broken) = broken {
                    return Ok(Event::Broken { at: reader.offset, after: walk.number, broken });
                }
            }
        }
    }
}

/// Passes the members of a zip on; gives what is to be said last.
pub(in crate::input) fn walk_zip(parts: zip::Parts, mut walk: Walk<'_>) -> Event {
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

/// The members of a zip.
struct Zip<'a, 'b> {
    walk: &'a mut Walk<'b>,
    /// Where there was a bomb.
    bomb: Option<(u64, Broken)>,
}

impl zip::Members for Zip<'_, '_> {
    fn wants(&mut self, name: &[u8]) -> bool {
        self.walk.wants(name)
    }

    fn odd(&mut self, name: &[u8], oddity: Oddity) -> bool {
        self.walk.odd(name, oddity).is_ok()
    }

    fn file(&mut self, name: &[u8], at: u64, unpacked: &mut zip::Unpacked<'_>) -> bool {
        let Ok((ended, digest)) = self.walk.file(name, true, &mut *unpacked) else { return false };
        let words = unpacked.broken().map(|own| own.words()).or_else(|| ended.words());
        if self.walk.tell(Event::MemberEnd(words, digest)).is_err() {
            return false;
        }
        if let Ended::TooMany(broken) = ended {
            self.bomb = Some((at, broken));
        }
        self.bomb.is_none()
    }
}
