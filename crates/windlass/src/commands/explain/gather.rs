//! What is explained, wherever it comes from: a file, a pipe that grows, or an interface.

use windlass_base::Failure;
use windlass_capture::live::Dropping;
use windlass_capture::{CaptureFacts, Read, Reading};
use windlass_lab::what_if::Changes;
use windlass_trace::report::ConnectionReport;
use windlass_trace::{Analysis, Finished, Keep, Note, Totals};
use windlass_wire::{Endpoint, Host};

use super::archive::{ArchiveExplanation, Captures};
use super::follow::{EVERY, Following, Interval, Telling};
use super::{ExplainArgs, doing, report_of};
use crate::commands::{moving, unwritten};
use crate::print::Output;
use crate::reading;

/// What was gathered.
pub(super) struct Gathered {
    pub(super) source: Source,
    pub(super) connections: Vec<Finished>,
    pub(super) totals: Totals,
    /// What moved in each second, where that was told and is for the report.
    pub(super) intervals: Vec<Interval>,
    /// The notes on packets, where the capture is to be annotated.
    pub(super) notes: Vec<(u64, Note)>,
}

/// A capture, or the captures of an archive.
pub(super) enum Found {
    One(Gathered),
    Archive(Box<ArchiveExplanation>),
}

/// Where it comes from.
pub(super) enum Source {
    /// A capture that was read.
    Read(Box<Read>),
    /// An interface.
    Interface {
        facts: Box<CaptureFacts>,
        /// When the kernel dropped packets.
        dropping: Vec<Dropping>,
        /// Whether the interface went away.
        is_gone: bool,
    },
}

impl Source {
    /// Whether Ctrl-C ended it before its end.
    pub(super) const fn is_interrupted(&self) -> bool {
        matches!(self, Self::Read(read) if read.interrupted)
    }

    /// The report of a connection, with what the capture lost meanwhile.
    pub(super) fn report(&self, connection: &Finished) -> ConnectionReport {
        match self {
            Self::Read(read) => report_of(connection, read),
            Self::Interface { dropping, .. } => {
                let (from, to) = connection.lived();
                let drops = Dropping::between(dropping, from, to);
                connection.report(|end| end.to_string(), Some(drops))
            }
        }
    }

    /// The name of an end.
    pub(super) fn name(&self, end: Endpoint) -> String {
        match self {
            Self::Read(read) => read.name(end),
            Self::Interface { .. } => end.to_string(),
        }
    }

    /// The name of a host.
    pub(super) fn host(&self, host: Host) -> String {
        match (self, host) {
            (Self::Read(read), host) => read.host(host),
            (_, Host::V4(address)) => address.to_string(),
            (_, Host::V6(address)) => address.to_string(),
            // An interface has no names.
            (_, Host::Named(index)) => format!("#{index}"),
        }
    }

    /// What is to be said of the capture, by the name that it was asked for.
    pub(super) fn facts(&self, name: String) -> CaptureFacts {
        match self {
            Self::Read(read) => CaptureFacts::new(name, read),
            Self::Interface { facts, .. } => facts.as_ref().clone(),
        }
    }

    /// What went wrong with it at its end.
    pub(super) fn failure(&self) -> Option<Failure> {
        let Self::Interface { facts, is_gone: true, .. } = self else { return None };
        let doing = format!("cannot go on capturing on {}", facts.file);
        Some(Failure::new(doing, "it is not there any more"))
    }
}

/// How the file is to be read.
pub(super) fn reading(args: &ExplainArgs) -> Reading<'_> {
    Reading {
        file: &args.capture.file,
        filter: args.filter.into(),
        follow: args.follow,
        doing: "explain",
    }
}

/// Reads the file. What is `wanted` is a change that is to be tried.
pub(super) fn gather(
    args: &ExplainArgs,
    keep: Keep,
    top: usize,
    wanted: Option<&Changes>,
    output: &mut Output,
) -> anyhow::Result<Found> {
    let reading = reading(args);
    let (mut intervals, mut notes) = (Vec::new(), Vec::new());
    let (read, analyzer) = if args.annotate.is_some() {
        let mut analysis = Analysis::new(keep, Vec::new());
        let read = reading::read(&reading, &mut analysis)?;
        notes = analysis.notes;
        (read, analysis.analyzer)
    } else if args.follow {
        let listening = args.live.live.then(|| args.live.listen(&doing(args))).transpose()?;
        let title = || format!("windlass explain {}", reading.name());
        let live = match &listening {
            Some(listening) => listening.show(output, || moving::view(title(), Some(EVERY)))?,
            None => None,
        };
        let telling = Telling::new(top, output, live);
        let mut following = Following::new(Analysis::new(keep, ()), telling);
        let read = match &listening {
            // A view has no room for a line that says how far it is.
            Some(listening) => {
                windlass_capture::read(&reading, &listening.stop, |_, _| {}, &mut following)
            }
            None => reading::read(&reading, &mut following),
        };
        let read = read?;
        intervals = following.telling.finish().map_err(unwritten)?;
        (read, following.analysis.analyzer)
    } else {
        let mut captures = Captures::new(args, keep);
        if let Some(archive) = reading::read_each(&reading, &mut captures)? {
            return Ok(Found::Archive(Box::new(captures.finish(archive, wanted))));
        }
        let Some((read, analysis)) = captures.one else {
            return Err(Failure::new(doing(args), "nothing was read").into());
        };
        (read, analysis.analyzer)
    };
    let (connections, totals) = analyzer.finish();
    let source = Source::Read(Box::new(read));
    Ok(Found::One(Gathered { source, connections, totals, intervals, notes }))
}
