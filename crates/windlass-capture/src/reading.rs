//! Reading of a capture: from a file or a pipe to the wanted segments.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::Serialize;
use windlass_base::{Failure, Span, Timestamp};
use windlass_wire::passed::{SkippedKind, SkippedPackets};
use windlass_wire::{
    Capture, CaptureInfo, ConnectionFilter, Endpoint, Host, Observer, PacketRange, Segment,
    Segments,
};

use crate::input::{Archive, Input, InputError, Members, Name, STANDARD_INPUT, Sha256};

/// Settings for reading a capture.
#[derive(Clone, Copy, Debug)]
pub struct ReadSettings<'a> {
    /// File, or `-`; a member of an archive as `ARCHIVE::MEMBER`.
    pub file: &'a Path,
    /// Filter of connections.
    pub filter: ConnectionFilter,
    /// Range of the capture.
    pub range: PacketRange,
    /// True if a growing file is followed.
    pub follow: bool,
    /// The command's verb, for messages.
    pub doing: &'a str,
}

impl ReadSettings<'_> {
    /// Returns whether the source is standard input, which can be read only once.
    pub fn is_stdin(&self) -> bool {
        let file = self.file.as_os_str().as_encoded_bytes();
        file == b"-" || file.starts_with(b"-::")
    }

    /// Returns the name of the capture in messages.
    pub fn name(&self) -> String {
        let is_stdin = self.file == Path::new("-");
        if is_stdin { STANDARD_INPUT.to_owned() } else { self.file.display().to_string() }
    }
}

/// Capture that has been read.
#[derive(Debug)]
pub struct ReadCapture {
    capture: Capture,
    /// Place of the capture in an archive, if it comes from one.
    pub member: Option<Member>,
    /// Skipped packets.
    pub passed: SkippedPackets,
    /// Packets that are not TCP, by kind; the most frequent first.
    pub not_tcp_kinds: Vec<SkippedKind>,
    /// True if Ctrl-C ended the reading.
    pub interrupted: bool,
}

impl ReadCapture {
    /// Returns the capture's description of itself.
    pub fn info(&self) -> &CaptureInfo {
        self.capture.info()
    }

    /// Returns the name of an endpoint: the host as the capture writes it.
    pub fn name(&self, end: Endpoint) -> String {
        match end.host {
            Host::Named(_) => format!("{}:{}", self.host(end.host), end.port),
            Host::V4(_) | Host::V6(_) => end.to_string(),
        }
    }

    /// Returns the name of a host.
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

/// Place of a capture in an archive.
#[derive(Clone, Debug)]
pub struct Member {
    /// Name with the archive: `ARCHIVE::MEMBER`.
    pub file: String,
    /// Name in the archive.
    pub name: Name,
    /// SHA-256 of the member's bytes as they are in the archive, as far as they could be read.
    /// Present if [`CaptureReceiver::digests`] asks for it.
    pub sha256: Option<Sha256>,
}

/// Callback with the number of bytes taken so far, and the total if known.
type OnProgress<'a> = dyn FnMut(u64, Option<u64>) + 'a;

/// Opens the input of a reading.
fn open(reading: &ReadSettings<'_>, stop: &Arc<AtomicBool>) -> Result<Input, InputError> {
    let input = Input::open(reading.file, Arc::clone(stop))?;
    Ok(if reading.follow { input.follow(None) } else { input })
}

/// Reads a capture to its end, or until `stop` is set. From an archive it reads the named member,
/// or the only one that is a capture.
///
/// `on_progress` is called now and then with the number of bytes taken, and the total if known.
///
/// # Errors
/// A [`Failure`] if the source cannot be opened or read, is not a capture, or is an archive of
/// several.
pub fn read<O: Observer>(
    reading: &ReadSettings<'_>,
    stop: &Arc<AtomicBool>,
    mut on_progress: impl FnMut(u64, Option<u64>),
    observer: &mut O,
) -> Result<ReadCapture, Failure> {
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
    Ok(ReadCapture::of(capture, segments, member, stop))
}

/// Reads the one member that is meant, and checks that there is no other.
fn only<O: Observer>(
    mut members: Members,
    capture: &mut Capture,
    observer: &mut O,
    on_progress: &mut OnProgress<'_>,
) -> Result<Option<Member>, InputError> {
    /// Observer that ignores everything.
    struct NullObserver;
    impl Observer for NullObserver {
        fn segment(&mut self, _: &Segment) {}
    }
    let mut first: Option<Name> = None;
    while let Some(member) = members.next() {
        let mut another = Capture::new();
        if let Some(first) = first.clone() {
            if members.read(&member, &mut another, &mut NullObserver, on_progress) {
                let (archive, second) = (Box::new(members.finish()), member.name);
                return Err(InputError::Several { archive, first, second });
            }
        } else if members.read(&member, &mut another, observer, on_progress) {
            *capture = another;
            first = Some(member.name);
        } else if another.info().packets > 0 {
            // A variant of pcap whose first records looked valid.
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

/// Receiver of one or several captures.
pub trait CaptureReceiver {
    /// Observer of a capture.
    type Observer: Observer;

    /// Announces that the captures are the members of this archive, of which little is known yet.
    ///
    /// # Errors
    /// Returns an error if they are not wanted, which ends the reading.
    fn archive(&mut self, archive: &Archive) -> Result<(), Failure>;

    /// Returns whether each member gets a digest of its bytes.
    fn digests(&self) -> bool {
        false
    }

    /// Returns the observer of the next capture, whose end [`CaptureReceiver::read`] reports.
    fn observer(&mut self) -> &mut Self::Observer;

    /// Discards the observations: the input was not a capture.
    fn forget(&mut self);

    /// Receives a capture that was read to its end.
    ///
    /// # Errors
    /// Returns an error if no more are wanted, which ends the reading.
    fn read(&mut self, read: ReadCapture) -> Result<(), Failure>;
}

/// Reads a capture, or each one in an archive, one after the other.
///
/// An archive is returned at its end. Its damage stands there, and is not an error.
///
/// # Errors
/// The errors of [`read`], except that several captures are allowed; and errors that `each`
/// returns.
pub fn read_each<E: CaptureReceiver>(
    reading: &ReadSettings<'_>,
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
            let read = ReadCapture::of(capture, segments, member, stop);
            each.read(read)?;
            return Ok(None);
        }
        Some(members) => members,
        None => {
            let read = ReadCapture::of(capture, segments, None, stop);
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
            let read = ReadCapture::of(capture, segments, member, stop);
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

impl ReadCapture {
    /// Returns the result of `capture` and the skipped packets.
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

/// Description of a capture, for reports.
#[derive(Clone, Debug, Serialize)]
pub struct CaptureFacts {
    /// Source: a file, or `ARCHIVE::MEMBER`.
    pub file: String,
    /// Name of the member in its archive.
    pub member: Option<String>,
    /// Format of the capture.
    pub format: String,
    /// Number of packets; for text, of packet lines.
    pub packets: u64,
    /// Link types of the interfaces.
    pub link_types: Vec<String>,
    /// First of these link types.
    pub link_type: Option<String>,
    /// Maximum number of bytes kept of a packet.
    pub snap_length: Option<u32>,
    /// Time of the first packet; null in captures without dates.
    pub start_time: Option<Timestamp>,
    /// Time of the last packet.
    pub end_time: Option<Timestamp>,
    /// Time from the first packet to the last.
    pub duration_seconds: Span,
    /// Packets that the capturing program received, if the capture says so.
    pub received: Option<u64>,
    /// Packets that the capturing program lost, if the capture says so.
    pub drops: Option<u64>,
    /// Number of skipped packets, by reason.
    pub passed_over: SkippedPackets,
    /// Packets that are not TCP, by kind; the most frequent first.
    pub not_tcp_kinds: Vec<SkippedKind>,
    /// Damage that ended the reading.
    pub damage: Option<String>,
    /// True if Ctrl-C ended the reading early.
    pub interrupted: bool,
}

impl CaptureFacts {
    /// Returns the facts of a capture that was read from `file`, or from a member of it.
    pub fn new(file: String, read: &ReadCapture) -> Self {
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
