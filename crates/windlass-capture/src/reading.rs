//! Reading a capture: from a file or a pipe to the segments that are wanted.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::Serialize;
use windlass_base::{Failure, Span, Timestamp};
use windlass_wire::passed::{Kind, Passed};
use windlass_wire::{
    Capture, CaptureInfo, ConnectionFilter, Endpoint, Host, Observer, PacketRange, Segment,
    Segments,
};

use crate::input::{Archive, Input, InputError, Members, Name, STANDARD_INPUT, Sha256};

/// How a capture is to be read.
#[derive(Clone, Copy, Debug)]
pub struct Reading<'a> {
    /// The file, or `-`; a member of an archive as `ARCHIVE::MEMBER`.
    pub file: &'a Path,
    /// Which connections to look at.
    pub filter: ConnectionFilter,
    /// The stretch of the capture to look at.
    pub range: PacketRange,
    /// Whether to go on reading at the end of the file.
    pub follow: bool,
    /// The command, for messages.
    pub doing: &'a str,
}

impl Reading<'_> {
    /// Whether the capture comes from standard input, which can be read only once.
    pub fn is_stdin(&self) -> bool {
        let file = self.file.as_os_str().as_encoded_bytes();
        file == b"-" || file.starts_with(b"-::")
    }

    /// What to call the capture in messages.
    pub fn name(&self) -> String {
        let is_stdin = self.file == Path::new("-");
        if is_stdin { STANDARD_INPUT.to_owned() } else { self.file.display().to_string() }
    }
}

/// A capture that has been read.
#[derive(Debug)]
pub struct Read {
    capture: Capture,
    /// The archive that it is a member of, and its name there.
    pub member: Option<Member>,
    /// What was passed over.
    pub passed: Passed,
    /// What is not TCP, by kind; the most frequent first.
    pub not_tcp_kinds: Vec<Kind>,
    /// Whether Ctrl-C ended the reading.
    pub interrupted: bool,
}

impl Read {
    /// What the capture says of itself.
    pub fn info(&self) -> &CaptureInfo {
        self.capture.info()
    }

    /// The name of an endpoint: the host as the capture writes it.
    pub fn name(&self, end: Endpoint) -> String {
        match end.host {
            Host::Named(_) => format!("{}:{}", self.host(end.host), end.port),
            Host::V4(_) | Host::V6(_) => end.to_string(),
        }
    }

    /// The name of a host.
    pub fn host(&self, host: Host) -> String {
        match host {
            Host::Named(index) => {
                let name = self.capture.host_name(index);
                name.map_or_else(|| format!("#{index}"), str::to_owned)
            }
            Host::V4(address) => address.to_string(),
            Host::V6(address) => address.to_string(),
        }
    }
}

/// Where in an archive a capture was.
#[derive(Clone, Debug)]
pub struct Member {
    /// What it is called with its archive: `ARCHIVE::MEMBER`.
    pub file: String,
    /// What it is called there.
    pub name: Name,
    /// The SHA-256 of its bytes as they are in the archive, as far as they could be read, where
    /// [`Each::digests`] asks for that.
    pub sha256: Option<Sha256>,
}

/// Told now and then how many bytes were taken, and how many there are in all where
/// that is known.
type OnProgress<'a> = dyn FnMut(u64, Option<u64>) + 'a;

/// Opens what is to be read.
fn open(reading: &Reading<'_>, stop: &Arc<AtomicBool>) -> Result<Input, InputError> {
    let input = Input::open(reading.file, Arc::clone(stop))?;
    Ok(if reading.follow { input.follow(None) } else { input })
}

/// Reads a capture to its end, or until `stop` is set. Of an archive it is the member
/// that is named, or the only one that is a capture.
///
/// `on_progress` is told now and then how many bytes were taken, and how many
/// there are in all where that is known.
///
/// # Errors
/// A [`Failure`] where it cannot be opened or read, is no capture, or is an archive of
/// several.
pub fn read<O: Observer>(
    reading: &Reading<'_>,
    stop: &Arc<AtomicBool>,
    mut on_progress: impl FnMut(u64, Option<u64>),
    observer: &mut O,
) -> Result<Read, Failure> {
    let failed = |error: InputError| error.failure(reading.doing);
    let mut capture = Capture::new();
    let mut segments = Segments::filtered(observer, reading.filter).within(reading.range);
    let input = open(reading, stop).map_err(failed)?;
    let members = input.run(&mut capture, &mut segments, &mut on_progress).map_err(failed)?;
    let member = match members {
        None => None,
        Some(members) => {
            let only = only(members, &mut capture, &mut segments, &mut on_progress);
            only.map_err(failed)?
        }
    };
    Ok(Read::of(capture, segments, member, stop))
}

/// Reads the one member that is meant, and looks whether there is another.
fn only<O: Observer>(
    mut members: Members,
    capture: &mut Capture,
    observer: &mut O,
    on_progress: &mut OnProgress<'_>,
) -> Result<Option<Member>, InputError> {
    /// Wants nothing.
    struct Nobody;
    impl Observer for Nobody {
        fn segment(&mut self, _: &Segment) {}
    }
    let mut first: Option<Name> = None;
    while let Some(member) = members.next() {
        let mut another = Capture::new();
        if let Some(first) = first.clone() {
            if members.read(&member, &mut another, &mut Nobody, on_progress) {
                let (archive, second) = (Box::new(members.finish()), member.name);
                return Err(InputError::Several { archive, first, second });
            }
        } else if members.read(&member, &mut another, observer, on_progress) {
            *capture = another;
            first = Some(member.name);
        } else if another.info().packets > 0 {
            // A variant of pcap, of which the first records looked sound.
            let info = another.info();
            let what = info.damage.as_ref().map_or_else(String::new, |it| it.what.clone());
            let name = members.archive.member(&member.name);
            return Err(InputError::NoCapture { name, what, foreign: info.foreign });
        }
    }
    match first {
        Some(name) => {
            let file = members.archive.member(&name);
            Ok(Some(Member { file, name, sha256: None }))
        }
        None if members.archive.interrupted => Ok(None),
        None => {
            let member = members.wanted();
            Err(InputError::NoMember { archive: Box::new(members.finish()), member })
        }
    }
}

/// What is done with captures of which there may be several.
pub trait Each {
    /// What observes a capture.
    type Observer: Observer;

    /// They are the members of this archive, of which little is known yet.
    ///
    /// # Errors
    /// Where they are not wanted, which ends the reading.
    fn archive(&mut self, archive: &Archive) -> Result<(), Failure>;

    /// Whether each member is to have a digest of its bytes.
    fn digests(&self) -> bool {
        false
    }

    /// What observes the next one, of which [`Each::read`] tells at its end.
    fn observer(&mut self) -> &mut Self::Observer;

    /// What was observed was no capture after all.
    fn forget(&mut self);

    /// The capture was read.
    ///
    /// # Errors
    /// Where no more are wanted, which ends the reading.
    fn read(&mut self, read: Read) -> Result<(), Failure>;
}

/// Reads a capture, or each one in an archive, one after the other.
///
/// An archive is told of at its end. What was wrong with it stands there, and is no
/// error.
///
/// # Errors
/// As [`read`] has it, but for archives, of which one without a capture is an error; and
/// what `each` refuses.
pub fn read_each<E: Each>(
    reading: &Reading<'_>,
    stop: &Arc<AtomicBool>,
    mut on_progress: impl FnMut(u64, Option<u64>),
    each: &mut E,
) -> Result<Option<Archive>, Failure> {
    let failed = |error: InputError| error.failure(reading.doing);
    let mut input = open(reading, stop).map_err(failed)?;
    if each.digests() {
        input.digest_members();
    }
    let names_member = input.names_member();
    let mut capture = Capture::new();
    let mut segments = Segments::filtered(each.observer(), reading.filter).within(reading.range);
    let members = input.run(&mut capture, &mut segments, &mut on_progress).map_err(failed)?;
    let mut members = match members {
        Some(members) if names_member => {
            let member = only(members, &mut capture, &mut segments, &mut on_progress);
            let member = member.map_err(failed)?;
            let read = Read::of(capture, segments, member, stop);
            each.read(read)?;
            return Ok(None);
        }
        Some(members) => members,
        None => {
            let read = Read::of(capture, segments, None, stop);
            each.read(read)?;
            return Ok(None);
        }
    };
    each.archive(&members.archive)?;
    while let Some(member) = members.next() {
        let mut capture = Capture::new();
        let mut segments =
            Segments::filtered(each.observer(), reading.filter).within(reading.range);
        if members.read(&member, &mut capture, &mut segments, &mut on_progress) {
            let file = members.archive.member(&member.name);
            let member = Some(Member { file, name: member.name, sha256: members.take_digest() });
            let read = Read::of(capture, segments, member, stop);
            each.read(read)?;
        } else if capture.info().packets > 0 {
            each.forget();
        }
    }
    let archive = members.finish();
    if archive.captures == 0 && !archive.interrupted {
        return Err(failed(InputError::NoMember { archive: Box::new(archive), member: None }));
    }
    Ok(Some(archive))
}

impl Read {
    /// What `capture` and what was passed over come to.
    fn of<O: Observer>(
        capture: Capture,
        segments: Segments<&mut O>,
        member: Option<Member>,
        stop: &AtomicBool,
    ) -> Self {
        let (_, passed, not_tcp_kinds) = segments.finish();
        let interrupted = stop.load(Ordering::Relaxed);
        Self { capture, member, passed, not_tcp_kinds, interrupted }
    }
}

/// What a capture says of itself, for reports.
#[derive(Clone, Debug, Serialize)]
pub struct CaptureFacts {
    /// What it was read from: a file, or `ARCHIVE::MEMBER`.
    pub file: String,
    /// What it is called in the archive that it was read from.
    pub member: Option<String>,
    /// Its format.
    pub format: String,
    /// Its packets; for text, its packet lines.
    pub packets: u64,
    /// The link types of its interfaces.
    pub link_types: Vec<String>,
    /// The first of them.
    pub link_type: Option<String>,
    /// The most bytes that it keeps of a packet.
    pub snap_length: Option<u32>,
    /// When its first packet came; null where it has no dates.
    pub start_time: Option<Timestamp>,
    /// When its last packet came.
    pub end_time: Option<Timestamp>,
    /// From the first packet to the last.
    pub duration_seconds: Span,
    /// Packets that its writer received, where it says so.
    pub received: Option<u64>,
    /// Packets that its writer lost, where it says so.
    pub drops: Option<u64>,
    /// Packets that were passed over.
    pub passed_over: Passed,
    /// Those that are not TCP, by kind; the most frequent first.
    pub not_tcp_kinds: Vec<Kind>,
    /// Where it could not be read further.
    pub damage: Option<String>,
    /// Whether Ctrl-C ended the reading before its end.
    pub interrupted: bool,
}

impl CaptureFacts {
    /// The facts of a capture that was read from `file`, or from a member of it.
    pub fn new(file: String, read: &Read) -> Self {
        let info = read.info();
        let duration = match (info.earliest, info.latest) {
            (Some(first), Some(last)) => last.since(first),
            _ => Span::ZERO,
        };
        let link_types: Vec<String> = info.link_types.iter().map(ToString::to_string).collect();
        let member = read.member.as_ref();
        Self {
            file: member.map_or(file, |member| member.file.clone()),
            member: member.map(|member| member.name.to_string()),
            format: info.format.map_or_else(String::new, |format| format.to_string()),
            packets: info.packets,
            link_type: link_types.first().cloned(),
            link_types,
            snap_length: info.snap_length,
            start_time: info.earliest.and_then(Timestamp::dated),
            end_time: info.latest.and_then(Timestamp::dated),
            duration_seconds: duration,
            received: info.received,
            drops: info.drops,
            passed_over: read.passed,
            not_tcp_kinds: read.not_tcp_kinds.clone(),
            damage: info.damage.as_ref().map(ToString::to_string),
            interrupted: read.interrupted,
        }
    }
}
