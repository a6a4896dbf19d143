//! The second pass over a capture: data of the charts and packet ladders.

use windlass_base::{Span, Timestamp};
use windlass_trace::report::ConnectionReport;
use windlass_trace::time_sequence::{ConnectionFollower, Point, Series, TimeSequence};
use windlass_trace::{Transfer, report};
use windlass_wire::{Endpoint, Observer, Segment};

use super::ladder::Ladder;

/// Total stretches of all connections for each kind of curve. At about 25 bytes each, nine kinds
/// of curve keep the page below about 3 MB.
const STRETCHES: usize = 8_000;

/// Number of evidence items, and of packets of each, shown with the packets around them.
const SHOWN: usize = 2;

/// Chart data of one connection.
#[derive(Debug)]
pub(super) struct ChartData {
    sender: Endpoint,
    kept: usize,
    /// Nothing before its first packet.
    pub(super) series: Option<Series>,
    pub(super) ladder: Ladder,
    /// First packet of the transfer, and its time.
    begins: Option<u64>,
    began: Option<Timestamp>,
}

impl ChartData {
    /// Prepares the chart data of a connection and its report; `share` is the number of
    /// connections.
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

    /// Returns the time from the connection's first packet to the start of its transfer; `None` if
    /// the start was not seen.
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
pub(super) struct ChartCollector {
    follow: ConnectionFollower,
    /// In the order of the reports.
    pub(super) all: Vec<ChartData>,
}

impl ChartCollector {
    /// Prepares the chart data of these connections and their reports.
    pub(super) fn new(connections: &[Transfer], reports: &[ConnectionReport]) -> Self {
        let share = reports.len();
        let pairs = connections.iter().zip(reports);
        let all = pairs.map(|(connection, report)| ChartData::new(connection, report, share));
        let all = all.collect();
        let graphs = reports.iter().map(|report| (report.number, graph(&report.receive_window)));
        Self { follow: ConnectionFollower::new(graphs), all }
    }
}

/// Returns a graph with the report's window scale if the handshake is missing.
fn graph(window: &report::ReceiveWindow) -> TimeSequence {
    let graph = TimeSequence::new();
    if window.scale_known { graph } else { graph.with_shifts([window.scale; 2]) }
}

impl Observer for ChartCollector {
    fn segment(&mut self, segment: &Segment) {
        let Some((place, point)) = self.follow.segment(segment) else { return };
        let Some(graph) = self.follow.graph(place) else { return };
        let notes = self.follow.notes(point.number);
        self.all[place].point(&point, graph, notes);
    }
}
