//! Record of `windlass send`.

mod datagrams;
mod lines;
mod search;
mod view;

pub use self::lines::{LineFormatter, held};
pub use self::search::{cells, table as search_table};
pub use self::view::TransferView;

use std::net::SocketAddr;

use serde::Serialize;
use windlass_base::figures::fixed;
use windlass_base::verdict::Verdict;
use windlass_base::{Bytes, Rate, RateUnit, Schema, Sentence, Span};
use windlass_drive::Protocol;
use windlass_drive::grants::not_granted;
use windlass_drive::report::{
    Cpu, DirectionReport, Interval, Latency, Outcome, SenderStream, StreamReport,
};
use windlass_drive::transfer::{Buffers, Direction, End, EndCondition, Transfer};
use windlass_drive::udp::search::SearchResult;
use windlass_drive::verdict::{DirectionSeen, verdict};

use crate::records::ip::ip_text;
use crate::{Column, Page, Record, Rows, Style, Table, Text, figures, verdict as verdicts};

/// Report on a test.
#[derive(Debug, Serialize)]
pub struct SendReport {
    schema: Schema,
    host: String,
    address: String,
    /// Protocol between the two ends.
    protocol: Protocol,
    transfer: Transfer,
    /// Directions in which data went.
    directions: Vec<SendDirection>,
    /// Latency of small messages beside the test; null if not measured.
    latency: Option<Latency>,
    processors: Processors,
    intervals: Vec<Interval>,
    /// Result of a search over several tests for the rate that the path carries; null for one test.
    search: Option<SearchResult>,
    /// True if the test was stopped before its end.
    interrupted: bool,
    /// Failure of the test; null if there was none.
    failure: Option<String>,
    /// Unit of rates in the text.
    #[serde(skip)]
    unit: Option<RateUnit>,
}

/// Direction of a test, as both ends saw it.
#[derive(Debug, Serialize)]
struct SendDirection {
    /// Sending end.
    from: End,
    /// Measurements of the sender; null if the server did not report them.
    sender: Option<DirectionReport>,
    /// Measurements of the receiver.
    receiver: Option<DirectionReport>,
    /// Figures of the sender's kernel, over all streams.
    kernel: Option<SenderStream>,
    /// Settings of the test that a kernel did not grant.
    not_granted: Vec<Sentence>,
    /// Verdict; null if the sender's kernel did not report.
    verdict: Option<Verdict>,
    /// Rate of the sender in ttcp's unit, if the protocol is ttcp's.
    ttcp: Option<TtcpRate>,
}

/// Rate in ttcp's unit of 1,024 bytes.
#[derive(Debug, Serialize)]
struct TtcpRate {
    kilobytes_per_second: f64,
    /// Size of such a kilobyte.
    kilobyte_bytes: u64,
}

/// Processors of both ends.
#[derive(Debug, Serialize)]
struct Processors {
    /// Number of processors that this end may use.
    client: usize,
    /// Number of processors that the server may use; null if unknown.
    server: Option<usize>,
    /// Processor time of the whole windlass process at this end.
    client_seconds: Span,
    /// Processor time of the server's process, including other work.
    server_seconds: Option<Span>,
}

impl SendReport {
    /// Schema of the JSON, described by `schemas/send.schema.json`.
    const SCHEMA: Schema = Schema { name: "windlass.send", version: 2 };

    /// Creates the report on a test with a host, at this address.
    pub fn new(
        host: &str,
        address: SocketAddr,
        protocol: Protocol,
        transfer: &Transfer,
        outcome: &Outcome,
        intervals: Vec<Interval>,
    ) -> Self {
        let ends = match transfer.direction {
            Direction::Forward => &[End::Client][..],
            Direction::Reverse => &[End::Server],
            Direction::Both => &[End::Client, End::Server],
        };
        let way = |from: &End| SendDirection::new(*from, protocol, transfer, outcome);
        let far = outcome.far.as_ref();
        let Latency { idle_seconds, loaded_seconds, .. } = outcome.latency;
        let measured = idle_seconds.is_some() || loaded_seconds.is_some();
        Self {
            schema: Self::SCHEMA,
            host: host.to_owned(),
            address: address.to_string(),
            protocol,
            transfer: transfer.clone(),
            directions: ends.iter().map(way).collect(),
            latency: measured.then_some(outcome.latency),
            processors: Processors {
                client: outcome.near.processors.unwrap_or(0),
                server: far.and_then(|far| far.processors),
                client_seconds: outcome.near.process_cpu_seconds,
                server_seconds: far.map(|far| far.process_cpu_seconds),
            },
            intervals,
            search: None,
            interrupted: outcome.stopped,
            failure: outcome.failure.as_ref().map(ToString::to_string),
            unit: None,
        }
    }

    /// Sets the unit of rates in the text.
    #[must_use]
    pub const fn with(mut self, unit: Option<RateUnit>) -> Self {
        self.unit = unit;
        self
    }
}

impl SendReport {
    /// Turns the report into one on several tests that searched for a rate.
    #[must_use]
    pub fn with_search(self, found: SearchResult) -> Self {
        Self { search: Some(found), ..self }
    }
}

impl SendDirection {
    fn new(from: End, protocol: Protocol, transfer: &Transfer, outcome: &Outcome) -> Self {
        let [sender, receiver] = outcome.way(from);
        // Without the sender's kernel the limit is unknown.
        let known = sender.filter(|sender| !sender.streams.is_empty());
        let verdict = known.map(|sender| {
            verdict(&DirectionSeen {
                sender,
                receiver,
                latency: outcome.latency,
                pace: transfer.pace,
                // For other programs the window only sets the size of a buffer.
                window: transfer
                    .buffers(from.other())
                    .window
                    .filter(|_| protocol == Protocol::Windlass),
                processors: outcome.near.processors,
            })
        });
        let kernel = sender.and_then(DirectionReport::kernel);
        let ttcp = sender.filter(|_| protocol == Protocol::Ttcp).map(|sender| TtcpRate {
            kilobytes_per_second: sender.bytes_per_second.bytes_per_second() / 1_024.0,
            kilobyte_bytes: 1_024,
        });
        let not_granted = not_granted(transfer, from, streams(sender), streams(receiver));
        let (sender, receiver) = (sender.cloned(), receiver.cloned());
        Self { from, sender, receiver, kernel, not_granted, verdict, ttcp }
    }
}

impl Record for SendReport {
    fn text(&self, page: &mut Page) {
        if let Some(found) = &self.search {
            search::text(page, found);
        }
        for way in &self.directions {
            let (from, to) = match way.from {
                End::Client => ("here", self.host.as_str()),
                End::Server => (self.host.as_str(), "here"),
            };
            page.heading(Text::from(format!("{from} → {to}")).dim(format!("   {}", self.asked())));
            page.indented(|page| way.text(page, self));
        }
        if self.interrupted && self.failure.is_none() {
            page.line(Text::styled(Style::Warn, "the test was stopped before its end"));
        }
    }
}

impl SendReport {
    /// Returns the requested transfer in a few words.
    fn asked(&self) -> String {
        let amount = match self.transfer.until {
            EndCondition::Time(time) => time.to_string(),
            EndCondition::Bytes(bytes) => bytes.to_string(),
            EndCondition::SourceEnds => "a file".to_owned(),
        };
        match self.transfer.streams {
            _ if self.transfer.udp => {
                let length = Bytes::new(self.transfer.length.into());
                format!("{amount} in datagrams of {length}")
            }
            1 => format!("{amount} over 1 stream"),
            streams => format!("{amount} over {streams} streams"),
        }
    }
}

impl SendDirection {
    fn text(&self, page: &mut Page, report: &SendReport) {
        let mut rows = Rows::new();
        let of = |direction: &DirectionReport| {
            let (bytes, seconds) = (direction.bytes, direction.seconds);
            let rate = direction.bytes_per_second;
            let moved = match report.unit {
                None => moved(bytes, seconds, rate),
                Some(unit) => {
                    Text::from(bytes).and(" in ").and(seconds).and(": ").strong(unit.read(rate))
                }
            };
            match &direction.datagrams {
                Some(datagrams) => {
                    moved.and(", ").and(figures::counted(datagrams.count, "datagram"))
                }
                None => moved,
            }
        };
        let not = || match report.protocol {
            Protocol::Windlass | Protocol::Iperf3 => {
                Text::styled(Style::Warn, "not known: the server does not report it")
            }
            protocol => {
                Text::styled(Style::Dim, format!("not known: {protocol} does not report it"))
            }
        };
        rows.push("received", self.receiver.as_ref().map_or_else(not, of));
        // Another program's sender counts the bytes that it wrote.
        let told = self.sender.as_ref().is_some_and(|sender| sender.streams.is_empty());
        let found = self.receiver.as_ref().and_then(|receiver| receiver.datagrams.as_ref());
        let is_numbered = found.is_some_and(|found| found.sent.is_some());
        let sent = if told { "sent" } else { "acknowledged" };
        rows.push(sent, self.sender.as_ref().map_or_else(not, of));
        if let Some(ttcp) = &self.ttcp {
            let rate = fixed(ttcp.kilobytes_per_second, 2);
            let (whole, rest) = rate.split_once('.').unwrap_or((&rate, "00"));
            let whole = figures::count(whole.parse().unwrap_or(u64::MAX));
            let rate = format!("{whole}.{rest} KB/s of 1,024 B");
            rows.push("in ttcp's units", rate);
        }
        if let Some(found) = found {
            datagrams::push(&mut rows, found, self.sender.as_ref(), &report.transfer);
        }
        for one in [&self.sender, &self.receiver].into_iter().flatten() {
            if let Some(error) = &one.error {
                rows.push("", Text::styled(Style::Bad, format!("a stream failed: {error}")));
            }
        }
        page.rows(&rows);
        page.gap();
        if let Some(verdict) = &self.verdict {
            verdicts::whole(page, verdict, |_| {});
        }
        if is_numbered {
            // The rows already have the losses, as the receiver saw them.
        } else if report.transfer.udp && report.protocol == Protocol::Ttcp {
            page.paragraph(
                "These datagrams carry no sequence numbers, so losses are not known. Compare the \
                 amount sent with the amount that the other end reports as received.",
            );
            page.gap();
        } else if !report.transfer.udp && self.verdict.is_none() && self.sender.is_some() {
            page.paragraph(format!(
                "The limit is not known: only the sender's kernel knows it, and {} does not report \
                 it. Run windlass serve at that end.",
                report.protocol
            ));
            page.gap();
        }
        page.rows(&self.facts(report));
        if let Some(found) = found.filter(|found| found.flows.len() > 1) {
            page.gap();
            page.table(&datagrams::flows(&found.flows));
        }
        let streams = streams(self.sender.as_ref());
        if streams.len() > 1 {
            page.gap();
            page.table(&table(streams, report.unit));
        }
    }

    fn facts(&self, report: &SendReport) -> Rows {
        let mut rows = Rows::new();
        let transfer = &report.transfer;
        let other = self.from.other();
        let (senders, receivers) = (streams(self.sender.as_ref()), streams(self.receiver.as_ref()));
        if !transfer.udp {
            rows.push("window", window(transfer.buffers(other), receivers, senders));
        }
        rows.push("send buffer", buffer(transfer.buffers(self.from), senders));
        if let Some(first) = senders.first() {
            rows.push("congestion", congestion(first, senders));
        }
        for setting in &self.not_granted {
            rows.push("not granted", setting);
        }
        if let Some(text) = ip_text(&transfer.ip) {
            rows.push("packets", text);
        }
        if let Some(kernel) = &self.kernel {
            rows.push("RTT", rtt(kernel));
            rows.push("resent", resent(kernel));
        }
        if let Some(again) = self.sender.as_ref().and_then(|sender| sender.retransmissions) {
            let count = figures::counted(again, "segment");
            rows.push("resent", count.and(format!(", as {} says", report.protocol)));
        }
        if let Some(beside) = &report.latency {
            rows.push("latency", latency(beside));
        }
        let cpus = [
            ("sender", self.sender.as_ref().map(|direction| direction.cpu)),
            ("receiver", self.receiver.as_ref().map(|direction| direction.cpu)),
        ];
        let cpus = cpus
            .into_iter()
            .filter_map(|(name, cpu)| Some(Text::from(name).and(" ").and(processor(cpu?))));
        let text = Text::joined(cpus, "; ");
        if !text.is_empty() {
            rows.push("processors", text);
        }
        rows
    }
}

/// Returns the streams of an end; none if it did not report any.
fn streams(side: Option<&DirectionReport>) -> &[StreamReport] {
    side.map_or(&[], |side| &side.streams)
}

/// Returns the CPU time of an end.
pub fn processor(cpu: Cpu) -> Text {
    figures::percent(cpu.share)
        .and(" of one (")
        .and(cpu.user_seconds)
        .and(" in the program, ")
        .and(cpu.system_seconds)
        .and(" in the kernel)")
}

/// Returns bytes, time and rate.
pub fn moved(bytes: Bytes, time: Span, rate: Rate) -> Text {
    let text = Text::from(bytes).and(" in ").and(time).and(": ");
    text.strong(figures::both(rate))
}

/// Returns the range of a figure over streams: one value if they agree.
fn range<T: Ord + Copy + Into<Text>>(values: impl Iterator<Item = T>) -> Option<Text> {
    let values: Vec<T> = values.collect();
    let (least, most) = (*values.iter().min()?, *values.iter().max()?);
    let text: Text = least.into();
    Some(if least == most { text } else { text.and(" to ").and(most) })
}

fn asked(size: Option<Bytes>) -> Text {
    size.map_or_else(|| "the kernel's choice".into(), |size| Text::from("asked for ").and(size))
}

fn window(buffers: Buffers, receivers: &[StreamReport], senders: &[StreamReport]) -> Text {
    let mut text = asked(buffers.window);
    let granted = receivers.iter().map(|stream| stream.granted_receive_buffer_bytes);
    if let Some(granted) = range(granted) {
        text = text.and("; buffer granted ").and(granted);
    }
    let kernels = senders.iter().filter_map(|stream| stream.sender);
    if let Some(seen) = range(kernels.filter_map(|kernel| kernel.max_peer_window_bytes)) {
        text = text.and("; advertised at most ").strong(seen);
    }
    text
}

/// Returns the send buffers.
pub fn buffer(buffers: Buffers, senders: &[StreamReport]) -> Text {
    let granted = range(senders.iter().map(|stream| stream.granted_send_buffer_bytes));
    let text = asked(buffers.send);
    match granted {
        Some(granted) => text.and("; granted ").and(granted),
        None => text,
    }
}

/// Returns the congestion control of the connections.
pub fn congestion(first: &StreamReport, senders: &[StreamReport]) -> Text {
    let windows = senders.iter().filter_map(|stream| stream.sender);
    let mean = range(windows.map(|kernel| kernel.mean_congestion_window_bytes));
    let mut text = Text::from(&first.congestion);
    if let Some(mean) = mean {
        text = text.and("; window ").and(mean).and(" on average");
    }
    text.and("; segments of ").and(Bytes::new(first.mss_bytes.into()))
}

/// Returns the round-trip times that the kernel measured.
pub fn rtt(kernel: &SenderStream) -> Text {
    let values = [
        (kernel.min_rtt_seconds, "min"),
        (kernel.mean_rtt_seconds, "mean"),
        (kernel.max_rtt_seconds, "max"),
    ];
    let part = |(value, what)| Some(Text::from(format!("{what} ")).and(value?));
    join(values.into_iter().filter_map(part))
}

fn join(parts: impl IntoIterator<Item = Text>) -> Text {
    let text = Text::joined(parts, ", ");
    if text.is_empty() { "not known".into() } else { text }
}

/// Returns the retransmissions of the kernel.
pub fn resent(kernel: &SenderStream) -> Text {
    let again = kernel.retransmissions;
    let mut text = Text::from(again).and(" of ").and(figures::counted(kernel.segments, "segment"));
    if again > 0 {
        text = text.and(" (").and(figures::fine_percent(kernel.retransmission_share)).and(")");
    }
    if kernel.needless_retransmissions > 0 {
        text = text.and(", ").and(kernel.needless_retransmissions).and(" spurious");
    }
    match kernel.marked_segments {
        None | Some(0) => text,
        Some(marked) => text.and("; ").and(marked).and(" marked by a queue (ECN)"),
    }
}

fn latency(of: &Latency) -> Text {
    let mut parts = Vec::new();
    if let Some(idle) = &of.idle_seconds {
        parts.push(Text::from(idle.p50).and(" idle"));
    }
    if let Some(loaded) = &of.loaded_seconds {
        let text = Text::default().strong(loaded.p50).and(" under load, ");
        parts.push(match loaded.p99 {
            Some(p99) => text.and("99 % within ").and(p99),
            None => text.and("at most ").and(loaded.max),
        });
    }
    join(parts)
}

fn table(streams: &[StreamReport], unit: Option<RateUnit>) -> Table {
    let kernel = |stream: &StreamReport| stream.sender.unwrap_or_default();
    let rows: Vec<_> = streams.iter().map(|stream| (stream, kernel(stream), unit)).collect();
    Table::of(
        &rows,
        &[
            (Column::right("stream"), |(stream, ..)| u64::from(stream.stream).into()),
            (Column::right("bytes"), |(stream, ..)| stream.bytes.into()),
            (Column::right("rate"), |(stream, _, unit)| read(stream.bytes_per_second, *unit)),
            (Column::right("RTT"), |(_, kernel, _)| Text::known(kernel.mean_rtt_seconds)),
            (Column::right("window"), |(_, kernel, _)| Text::known(kernel.max_peer_window_bytes)),
            (Column::right("resent"), |(_, kernel, _)| kernel.retransmissions.into()),
        ],
    )
}

/// Returns a rate in the given unit, or in the most readable one.
fn read(rate: Rate, unit: Option<RateUnit>) -> Text {
    unit.map_or_else(|| rate.in_bits().into(), |unit| Text::from(unit.read(rate)))
}
