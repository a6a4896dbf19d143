//! Overview of many connections: their verdicts, and their peers.

use std::collections::BTreeMap;

use serde::Serialize;
use windlass_base::{Bytes, Cause, Span};
use windlass_trace::report::{ConnectionReport, Stream};
use windlass_wire::Host;

use super::parallel::HostPairTransfers;
use crate::{Column, Page, Table, Text, figures, verdict};

/// Number of connections that are judged for the overview, if fewer are explained. They carry the
/// bulk of any capture, and take little memory.
pub const JUDGED: usize = 200;

/// Maximum number of peers that are named, and of verdicts that the text shows.
const PEERS: usize = 5;

/// Totals of connections.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
struct Sum {
    /// Number of connections.
    connections: u64,
    /// Bytes of their larger transfers.
    bytes: Bytes,
    /// Sum of the times of these transfers.
    seconds: Span,
}

impl Sum {
    fn add(&mut self, report: &ConnectionReport) {
        self.join(&Self { connections: 1, bytes: report.bytes, seconds: report.seconds });
    }

    fn join(&mut self, other: &Self) {
        self.connections += other.connections;
        self.bytes = Bytes::new(self.bytes.get().saturating_add(other.bytes.get()));
        self.seconds += other.seconds;
    }
}

/// Totals of the connections that share a verdict.
#[derive(Debug, Serialize)]
struct VerdictTotals {
    #[serde(flatten)]
    cause: Cause,
    #[serde(flatten)]
    sum: Sum,
    /// Share of the time of all connections.
    share: f64,
}

/// Totals of the connections to a peer.
#[derive(Debug, Serialize)]
struct PeerTotals {
    /// Called end of the connections, as `host:port`.
    peer: String,
    #[serde(flatten)]
    sum: Sum,
    /// Verdict that cost the most time with this peer.
    #[serde(flatten)]
    cause: Cause,
}

/// Overview of many connections.
#[derive(Debug, Serialize)]
pub struct Overview {
    #[serde(flatten)]
    sum: Sum,
    /// Verdicts of the connections, costliest first.
    verdicts: Vec<VerdictTotals>,
    /// Peers with the most data first.
    peers: Vec<PeerTotals>,
    /// Number of peers that are not named.
    peers_left_out: u64,
    /// Transfers between two hosts at the same time, the most data first.
    parallel: Vec<HostPairTransfers>,
    /// Number of connections with data that are not judged, none of them larger.
    not_judged: u64,
}

/// Builder of an overview. Its memory grows only with the judged connections, which are stored
/// anyway.
#[derive(Debug, Default)]
pub struct OverviewBuilder {
    sum: Sum,
    verdicts: BTreeMap<Cause, Sum>,
    peers: BTreeMap<String, BTreeMap<Cause, Sum>>,
    streams: Vec<Stream>,
}

/// Returns the verdicts ordered by time, then by bytes, largest first.
fn costliest(sums: &BTreeMap<Cause, Sum>) -> Vec<(Cause, Sum)> {
    let mut all: Vec<(Cause, Sum)> = sums.iter().map(|(verdict, sum)| (*verdict, *sum)).collect();
    all.sort_by_key(|(_, sum)| std::cmp::Reverse((sum.seconds, sum.bytes, sum.connections)));
    all
}

impl OverviewBuilder {
    /// Adds a connection to this peer, and its larger transfer.
    pub fn add(&mut self, report: &ConnectionReport, peer: String, stream: Option<Stream>) {
        self.streams.extend(stream);
        let cause = report.verdict.cause;
        self.sum.add(report);
        self.verdicts.entry(cause).or_default().add(report);
        self.peers.entry(peer).or_default().entry(cause).or_default().add(report);
    }

    /// Returns the overview; `with_data` is the number of connections with data. Returns `None` if
    /// there is nothing to compare. `name` returns the name of a host.
    pub fn overview(self, with_data: u64, name: impl Fn(Host) -> String) -> Option<Overview> {
        if self.sum.connections < 2 {
            return None;
        }
        let verdicts = costliest(&self.verdicts).into_iter();
        let verdicts = verdicts
            .map(|(cause, sum)| VerdictTotals {
                cause,
                sum,
                share: sum.seconds.share_of(self.sum.seconds),
            })
            .collect();
        let mut peers: Vec<PeerTotals> = self
            .peers
            .into_iter()
            .filter_map(|(peer, verdicts)| {
                let mut sum = Sum::default();
                for one in verdicts.values() {
                    sum.join(one);
                }
                let (cause, _) = *costliest(&verdicts).first()?;
                Some(PeerTotals { peer, sum, cause })
            })
            .collect();
        peers.sort_by_key(|peer| {
            std::cmp::Reverse((peer.sum.bytes, peer.sum.connections, peer.sum.seconds))
        });
        let peers_left_out = peers.len().saturating_sub(PEERS) as u64;
        peers.truncate(PEERS);
        let not_judged = with_data.saturating_sub(self.sum.connections);
        let parallel = HostPairTransfers::of(&self.streams, name);
        Some(Overview { sum: self.sum, verdicts, peers, peers_left_out, parallel, not_judged })
    }
}

fn cause(cause: Cause) -> Text {
    Text::whole(&verdict::cause(cause))
}

impl Overview {
    /// Writes the overview of one capture.
    pub fn text(&self, page: &mut Page) {
        self.text_with(page, " with data, none of them larger; --all explains each.");
    }

    /// Writes the overview of several captures, of each of which the largest connections were
    /// judged.
    pub fn text_of_captures(&self, page: &mut Page) {
        self.text_with(page, " with data; --all explains each.");
    }

    fn text_with(&self, page: &mut Page, not_judged: &'static str) {
        let mut head = Text::from("Overview of ");
        head = head.and(figures::counted(self.sum.connections, "connection"));
        head = head.and(": ").and(self.sum.bytes).and(" in ").and(self.sum.seconds);
        page.heading(head.and(", their times added"));
        page.indented(|page| {
            let shown = self.verdicts.len().min(PEERS);
            page.table(&Table::of(
                &self.verdicts[..shown],
                &[
                    (Column::left("verdict").flexible(), |it| cause(it.cause)),
                    (Column::right("connections"), |it| it.sum.connections.into()),
                    (Column::right("time"), |it| it.sum.seconds.into()),
                    (Column::right(""), |it| figures::percent(it.share)),
                    (Column::right("bytes"), |it| it.sum.bytes.get().into()),
                ],
            ));
            page.gap();
            page.table(&Table::of(
                &self.peers,
                &[
                    (Column::left("peer").flexible(), |it| it.peer.as_str().into()),
                    (Column::right("connections"), |it| it.sum.connections.into()),
                    (Column::right("time"), |it| it.sum.seconds.into()),
                    (Column::right("bytes"), |it| it.sum.bytes.get().into()),
                    (Column::left("mostly").flexible(), |it| cause(it.cause)),
                ],
            ));
            for parallel in &self.parallel {
                parallel.text(page);
            }
            let mut more = Text::default();
            if shown < self.verdicts.len() {
                let left_out = (self.verdicts.len() - shown) as u64;
                more = more.and(figures::counted(left_out, "more verdict")).and(". ");
            }
            if self.peers_left_out > 0 {
                more = more.and(figures::counted(self.peers_left_out, "more peer")).and(". ");
            }
            if self.not_judged > 0 {
                more = more
                    .and("Not judged: ")
                    .and(figures::counted(self.not_judged, "more connection"))
                    .and(not_judged);
            }
            if !more.is_empty() {
                page.paragraph(more);
            }
        });
    }
}
