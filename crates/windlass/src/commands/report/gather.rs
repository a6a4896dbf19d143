//! The second pass over a capture: what the plots and the ladders of a report are made of.

use windlass_base::{Span, Timestamp};
use windlass_trace::report::ConnectionReport;
use windlass_trace::time_sequence::{Follow, Point, Series, TimeSequence};
use windlass_trace::{Transfer, report};
use windlass_wire::{Endpoint, Observer, Segment};

use super::ladder::Ladder;

/// How many stretches the curves of all connections have together, for each kind of curve. At
/// some 25 bytes each, and with nine kinds, the page stays within some 3 MB.
const STRETCHES: usize = 8_000;

/// Packets of each piece of evidence, and pieces, whose surroundings are shown.
const SHOWN: usize = 2;

/// What is gathered of one connection.
#[derive(Debug)]
pub(super) struct Gathered {
    sender: Endpoint,
    kept: usize,
    /// Nothing before its first packet.
    pub(super) series: Option<Series>,
    pub(super) ladder: Ladder,
    /// The packet at which the transfer begins, and when that came.
    begins: Option<u64>,
    began: Option<Timestamp>,
}

impl Gathered {
    /// Of a connection and its report; `share` is how many there are.
    fn new(connection: &Transfer, report: &ConnectionReport, share: usize) -> Self {
        let evidence = &report.verdict.evidence;
        let packets = evidence.iter().take(SHOWN).flat_map(|one| one.packets.iter().take(SHOWN));
        Self {
            sender: connection.sender(),
            kept: (STRETCHES / share.max(1) / 2).max(1),
            series: None,
            ladder: Ladder::around(packets.copied().collect()),
            begins: report.timeline.first().map(|part| part.first_packet),
            began: None,
        }
    }

    /// From the connection's first packet to the start of its transfer, from which the timeline
    /// counts; nothing where that did not come by.
    pub(super) fn lead(&self) -> Option<Span> {
        let (first, _) = self.series.as_ref()?.lived()?;
        Some(self.began?.since(first).or_zero())
    }

    fn point(&mut self, point: &Point, graph: &TimeSequence, notes: &[windlass_trace::Note]) {
        let Some(ends) = graph.ends() else { return };
        let side = usize::from(ends[1] == self.sender);
        if self.begins == Some(point.number) {
            self.began = Some(point.time);
        }
        let series = self.series.get_or_insert_with(|| Series::new(side, self.kept));
        if let Some(start) = graph.start(side) {
            series.point(point, start);
        }
        self.ladder.point(point, side, graph, notes);
    }
}

/// Gathers in a second pass.
#[derive(Debug)]
pub(super) struct Gathering {
    follow: Follow,
    /// In the order of the reports.
    pub(super) all: Vec<Gathered>,
}

impl Gathering {
    /// Of these connections and their reports.
    pub(super) fn new(connections: &[Transfer], reports: &[ConnectionReport]) -> Self {
        let share = reports.len();
        let pairs = connections.iter().zip(reports);
        let all = pairs.map(|(connection, report)| Gathered::new(connection, report, share));
        let all = all.collect();
        let graphs = reports.iter().map(|report| (report.number, graph(&report.receive_window)));
        Self { follow: Follow::new(graphs), all }
    }
}

/// A graph whose windows are those of the report, where no handshake tells their scale.
fn graph(window: &report::ReceiveWindow) -> TimeSequence {
    let graph = TimeSequence::new();
    if window.scale_known { graph } else { graph.with_shifts([window.scale; 2]) }
}

impl Observer for Gathering {
    fn segment(&mut self, segment: &Segment) {
        let Some((place, point)) = self.follow.segment(segment) else { return };
        let Some(graph) = self.follow.graph(place) else { return };
        let notes = self.follow.notes(point.number);
        self.all[place].point(&point, graph, notes);
    }
}
