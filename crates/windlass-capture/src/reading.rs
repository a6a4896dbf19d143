//! Reading a capture: from a file or a pipe to the segments that are wanted.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde::Serialize;
use windlass_base::{Failure, Span, Timestamp};
use windlass_wire::passed::{Kind, Passed};
use windlass_wire::{Capture, CaptureInfo, ConnectionFilter, Endpoint, Host, Observer, Segments};

use crate::input::{Input, InputError, STANDARD_INPUT};

/// How a capture is to be read.
#[derive(Clone, Copy, Debug)]
pub struct Reading<'a> {
    /// The file, or `-`.
    pub file: &'a Path,
    /// Which connections to look at.
    pub filter: ConnectionFilter,
    /// Whether to go on reading at the end of the file.
    pub follow: bool,
    /// The command, for messages.
    pub doing: &'a str,
}

impl Reading<'_> {
    /// Whether the capture comes from standard input, which can be read only once.
    pub fn is_stdin(&self) -> bool {
        self.file == Path::new("-")
    }

    /// What to call the capture in messages.
    pub fn name(&self) -> String {
        if self.is_stdin() { STANDARD_INPUT.to_owned() } else { self.file.display().to_string() }
    }
}

/// A capture that has been read.
#[derive(Debug)]
pub struct Read {
    capture: Capture,
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

/// Reads a capture to its end, or until `stop` is set.
///
/// `on_progress` is told now and then how many bytes were taken, and how many
/// there are in all where that is known.
///
/// # Errors
/// A [`Failure`] where it cannot be opened or read, or is no capture.
pub fn read<O: Observer>(
    reading: &Reading<'_>,
    stop: &Arc<AtomicBool>,
    on_progress: impl FnMut(u64, Option<u64>),
    observer: &mut O,
) -> Result<Read, Failure> {
    let failed = |error: InputError| error.failure(reading.doing);
    let mut input = Input::open(reading.file, Arc::clone(stop)).map_err(failed)?;
    if reading.follow {
        input = input.follow(None);
    }
    let mut capture = Capture::new();
    let mut segments = Segments::filtered(observer, reading.filter);
    input.run(&mut capture, &mut segments, on_progress).map_err(failed)?;
    let (_, passed, not_tcp_kinds) = segments.finish();
    let interrupted = stop.load(Ordering::Relaxed);
    Ok(Read { capture, passed, not_tcp_kinds, interrupted })
}

/// What a capture says of itself, for reports.
#[derive(Clone, Debug, Serialize)]
pub struct CaptureFacts {
    /// What it was read from.
    pub file: String,
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
    /// The facts of a capture that was read from `file`.
    pub fn new(file: String, read: &Read) -> Self {
        let info = read.info();
        let duration = match (info.earliest, info.latest) {
            (Some(first), Some(last)) => last.since(first),
            _ => Span::ZERO,
        };
        let link_types: Vec<String> = info.link_types.iter().map(ToString::to_string).collect();
        Self {
            file,
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
