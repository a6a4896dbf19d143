//! Sources of an explanation: a file, a growing pipe, or an interface.

use windlass_base::Failure;
use windlass_capture::{CaptureFacts, ReadCapture, ReadSettings};
use windlass_lab::what_if::Changes;
use windlass_output::Output;
use windlass_trace::report::ConnectionReport;
use windlass_trace::{Analysis, Keep, Note, Reasons, Totals, Transfer, WaitSelection};
use windlass_wire::{Endpoint, Host};

use super::archive::{ArchiveExplanation, Captures};
use super::follow::{EVERY, FollowedAnalysis, Interval, IntervalPrinter};
use super::{ExplainArgs, doing, report_of, why_of};
use crate::commands::{moving, unwritten};
use crate::reading;

/// The connections of a source.
pub(super) struct ExplainInput {
    pub(super) source: Box<dyn Source>,
    pub(super) connections: Vec<Transfer>,
    pub(super) totals: Totals,
    /// Transfers of each second, for the report of --follow.
    pub(super) intervals: Vec<Interval>,
    /// Notes on packets, with --annotate.
    pub(super) notes: Vec<(u64, Note)>,
}

/// A capture, or the captures of an archive.
pub(super) enum InputKind {
    One(ExplainInput),
    Archive(Box<ArchiveExplanation>),
}

/// A source of connections, with its facts.
pub(super) trait Source {
    /// Returns true if Ctrl-C ended the reading early.
    fn is_interrupted(&self) -> bool;

    /// Returns the report of a connection, with the packets that the capture lost.
    fn report(&self, connection: &Transfer) -> ConnectionReport;

    /// Returns the reasons of a connection's verdict.
    fn why(&self, connection: &Transfer, which: WaitSelection) -> Reasons;

    /// Returns the name of an end.
    fn name(&self, end: Endpoint) -> String;

    /// Returns the name of a host.
    fn host(&self, host: Host) -> String;

    /// Returns the facts of the capture under the given name.
    fn facts(&self, name: String) -> CaptureFacts;

    /// Returns the failure that ended the source.
    fn failure(&self) -> Option<Failure>;
}

/// A capture that was read.
impl Source for ReadCapture {
    fn is_interrupted(&self) -> bool {
        self.interrupted
    }

    fn report(&self, connection: &Transfer) -> ConnectionReport {
        report_of(connection, self)
    }

    fn why(&self, connection: &Transfer, which: WaitSelection) -> Reasons {
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

/// Returns the settings for reading the file.
pub(super) fn reading(args: &ExplainArgs) -> ReadSettings<'_> {
    ReadSettings {
        file: &args.capture.file,
        filter: args.filter.into(),
        range: args.range.into(),
        follow: args.follow,
        doing: "explain",
    }
}

/// Reads the file; `wanted` is the change of --what-if.
pub(super) fn gather(
    args: &ExplainArgs,
    keep: Keep,
    top: usize,
    wanted: Option<&Changes>,
    output: &mut Output,
) -> anyhow::Result<InputKind> {
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
        let telling = IntervalPrinter::new(top, output, live);
        let mut following = FollowedAnalysis::new(Analysis::new(keep, ()), telling);
        let read = match &listening {
            // A view has no room for a progress line.
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
            return Ok(InputKind::Archive(Box::new(captures.finish(archive, wanted))));
        }
        let Some((read, analysis)) = captures.one else {
            return Err(Failure::new(doing(args), "nothing was read").into());
        };
        (read, analysis.analyzer)
    };
    let (connections, totals) = analyzer.finish();
    Ok(InputKind::One(ExplainInput {
        source: Box::new(read),
        connections,
        totals,
        intervals,
        notes,
    }))
}
