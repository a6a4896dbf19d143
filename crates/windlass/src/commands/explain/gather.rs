//! What is explained, wherever it comes from: a file, a pipe that grows, or an interface.

use windlass_base::Failure;
use windlass_capture::{CaptureFacts, Read, Reading};
use windlass_lab::what_if::Changes;
use windlass_output::Output;
use windlass_trace::report::ConnectionReport;
use windlass_trace::{Analysis, Keep, Note, Reasons, Totals, Transfer, WhichWaits};
use windlass_wire::{Endpoint, Host};

use super::archive::{ArchiveExplanation, Captures};
use super::follow::{EVERY, Following, Interval, Telling};
use super::{ExplainArgs, doing, report_of, why_of};
use crate::commands::{moving, unwritten};
use crate::reading;

/// What was gathered.
pub(super) struct Gathered {
    pub(super) source: Box<dyn Source>,
    pub(super) connections: Vec<Transfer>,
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

/// Where it comes from, and what is to be known of it.
pub(super) trait Source {
    /// Whether Ctrl-C ended it before its end.
    fn is_interrupted(&self) -> bool;

    /// The report of a connection, with what the capture lost meanwhile.
    fn report(&self, connection: &Transfer) -> ConnectionReport;

    /// Tells why a connection was judged as its report says.
    fn why(&self, connection: &Transfer, which: WhichWaits) -> Reasons;

    /// The name of an end.
    fn name(&self, end: Endpoint) -> String;

    /// The name of a host.
    fn host(&self, host: Host) -> String;

    /// What is to be said of the capture, by the name that it was asked for.
    fn facts(&self, name: String) -> CaptureFacts;

    /// What went wrong with it at its end.
    fn failure(&self) -> Option<Failure>;
}

/// A capture that was read.
impl Source for Read {
    fn is_interrupted(&self) -> bool {
        self.interrupted
    }

    fn report(&self, connection: &Transfer) -> ConnectionReport {
        report_of(connection, self)
    }

    fn why(&self, connection: &Transfer, which: WhichWaits) -> Reasons {
        why_of(connection, self, which)
    }

    fn name(&self, end: Endpoint) -> String {
        self.name(end)
    }

    fn host(&self, host: Host) -> String {
        self.host(host)
    }

    fn facts(&self, name: String) -> CaptureFacts {
        CaptureFacts::new(name, self)
    }

    fn failure(&self) -> Option<Failure> {
        None
    }
}

/// How the file is to be read.
pub(super) fn reading(args: &ExplainArgs) -> Reading<'_> {
    Reading {
        file: &args.capture.file,
        filter: args.filter.into(),
        range: args.range.into(),
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
    Ok(Found::One(Gathered { source: Box::new(read), connections, totals, intervals, notes }))
}
