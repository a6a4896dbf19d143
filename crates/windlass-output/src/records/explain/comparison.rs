//! Two captures side by side, as text.

use serde::Serialize;
use windlass_base::thresholds::{ALIKE, LOCAL_PATH};
use windlass_base::{Bytes, Rate, Schema, Span, whole_part};
use windlass_capture::CaptureFacts;
use windlass_trace::compare::{
    AckPath, DataPath, DelayQuantiles, Figure, FigureName, FigureUnit, MatchBasis, Order,
    RelativePosition, Rewrite, RewrittenItem, SelectionRule, TwoPlaces, TwoRuns,
};
use windlass_trace::report::{ConnectionReport, Side, Verdict};

use crate::{Page, Record, Rows, Style, Table, Text, figures, verdict as verdicts};

/// Maximum number of packets of each kind that the text names.
const NAMED: usize = 3;

/// Maximum number of limits of two runs in the text; the record has all.
const LIMITS: usize = 3;

/// Record of `windlass explain --compare`, with either `places` or `runs`.
#[derive(Debug, Serialize)]
pub struct CaptureComparison {
    /// Name and version of the schema.
    pub schema: Schema,
    /// Facts of the captures.
    pub captures: [CaptureFacts; 2],
    /// Compared transfer of each capture.
    pub transfers: [ConnectionReport; 2],
    /// One connection at two places.
    pub places: Option<TwoPlaces>,
    /// Two transfers.
    pub runs: Option<TwoRuns>,
}

impl CaptureComparison {
    /// Schema of the JSON, described by `schemas/explain-compare.schema.json`.
    pub const SCHEMA: Schema = Schema { name: "windlass.explain-compare", version: 1 };

    fn files(&self) -> [&str; 2] {
        self.captures.each_ref().map(|capture| capture.file.as_str())
    }

    /// Names both captures, each followed by a text.
    fn name_captures(&self, page: &mut Page, behind: [Text; 2]) {
        let [first, second] = self.files();
        let [one, other] = behind;
        let rows = Rows::new().row("first", Text::from(first).and(one));
        page.rows(&rows.row("second", Text::from(second).and(other)));
        for (which, facts) in ["first", "second"].into_iter().zip(&self.captures) {
            if let Some(damage) = &facts.damage {
                let text = format!("The {which} capture is damaged: {damage}.");
                page.paragraph(Text::styled(Style::Warn, text));
            }
        }
    }

    /// Returns the rows of the verdicts.
    fn verdicts(&self) -> [(&'static str, [Text; 2]); 2] {
        let verdicts = self.transfers.each_ref().map(|report| &report.verdict);
        let sure = |verdict: &Verdict| {
            let share = figures::percent(verdict.share).and(" of the time, ");
            share.and(verdicts::confidence(verdict.confidence))
        };
        [
            ("limit", verdicts.map(|verdict| verdicts::cause(verdict.cause).into())),
            ("share, confidence", verdicts.map(sure)),
        ]
    }
}

impl Record for CaptureComparison {
    fn text(&self, page: &mut Page) {
        if let Some(places) = &self.places {
            self.two_places(page, places);
        }
        if let Some(runs) = &self.runs {
            self.two_runs(page, runs);
        }
    }
}

/// Returns the value of a figure.
fn value(value: f64, unit: FigureUnit) -> Text {
    match unit {
        FigureUnit::BytesPerSecond => Rate::from_bytes_per_second(value).into(),
        FigureUnit::Bytes => Bytes::new(whole_part(value)).into(),
        FigureUnit::Seconds => Span::from_seconds(value).into(),
        FigureUnit::Share => figures::fine_percent(value),
        FigureUnit::Count => whole_part(value).into(),
    }
}

/// Returns whether a figure is missing or zero in both.
fn is_nothing(figure: &Figure) -> bool {
    figure.values.iter().all(|value| value.is_none_or(|value| value == 0.0))
}

/// Returns whether a figure differs between the captures.
fn differs(figure: &Figure) -> bool {
    let [Some(first), Some(second)] = figure.values else { return true };
    (first - second).abs() > first.max(second) * ALIKE.get()
}

impl CaptureComparison {
    fn two_places(&self, page: &mut Page, places: &TwoPlaces) {
        let [first, second] = &self.transfers;
        let ends = |report: &ConnectionReport| format!("{} → {}", report.sender, report.receiver);
        let mut head = Text::default().strong("One connection at two places").and(": ");
        head = head.and(ends(first));
        if places.translated {
            head = head.and(", seen as ").and(ends(second)).and(" (a NAT lies between)");
        }
        page.paragraph(head.and(match places.found.matched_by {
            MatchBasis::InitialSequenceNumbers => ", by its initial sequence numbers.",
            MatchBasis::SequenceNumbers => ", by its sequence numbers.",
        }));
        page.gap();
        let roles = places.places.map(|place| match place {
            RelativePosition::NearerSender => {
                Text::from(", nearer the sender: ").and(order(places))
            }
            RelativePosition::NearerReceiver => ", nearer the receiver".into(),
            RelativePosition::SamePlace => {
                ", at the same place: the packets have the same times".into()
            }
        });
        self.name_captures(page, roles);
        page.gap();
        let mut table = Table::headed(" | first: | second:");
        for (name, [first, second]) in self.verdicts() {
            table.push([name.into(), first, second]);
        }
        // Both captures carry the same data over the same time, except what one of them lacks.
        let left_out = [FigureName::Loss, FigureName::SegmentSize, FigureName::Queue];
        let whole = [FigureName::Data, FigureName::Time];
        for figure in &places.figures {
            let is_alike = whole.contains(&figure.name) && !differs(figure);
            if is_nothing(figure) || is_alike || left_out.contains(&figure.name) {
                continue;
            }
            let known = |it: Option<f64>| Text::known(it.map(|it| value(it, figure.unit)));
            let [first, second] = figure.values.map(known);
            table.push([figure.name.name().into(), first, second]);
        }
        page.table(&table);
        page.gap();
        page.paragraph(&places.trust.sentence);
        page.heading("Between the two");
        page.indented(|page| page.rows(&between(places, first.seconds)));
        if places.common_connections > 1 {
            page.gap();
            page.paragraph(
                figures::counted(places.common_connections, "connection")
                    .and(" with data are in both captures; this is the largest. --connection N ")
                    .and("picks one of the first capture."),
            );
        }
    }

    fn two_runs(&self, page: &mut Page, runs: &TwoRuns) {
        let head = Text::default().strong("Two transfers");
        let service = Text::known(runs.service.as_deref());
        page.paragraph(match runs.chosen_by {
            SelectionRule::SameServer | SelectionRule::SamePort => {
                head.and(" of ").and(service).and(".")
            }
            SelectionRule::Largest => {
                head.and(": the largest of each capture; they share no server.")
            }
        });
        page.paragraph(&runs.sentence);
        if runs.may_be_split {
            page.paragraph(Text::styled(
                Style::Warn,
                "Both have the same ports at the same time, but other sequence numbers: a proxy \
                 or firewall between the captures ends or rewrites the connection.",
            ));
        }
        page.gap();
        let numbers =
            self.transfers.each_ref().map(|report| Text::from(", connection ").and(report.number));
        self.name_captures(page, numbers);
        page.gap();
        let mut table = Table::headed(" | first: | second: | change:");
        for (name, [first, second]) in self.verdicts() {
            table.push([name.into(), first, second, Text::new()]);
        }
        for figure in runs.figures.iter().filter(|figure| !is_nothing(figure)) {
            let known = |it: Option<f64>| Text::known(it.map(|it| value(it, figure.unit)));
            let [first, second] = figure.values.map(known);
            let change = figure.ratio.map(|ratio| figures::difference(ratio - 1.0));
            let is_most = runs.changed_most.is_some_and(|most| most.name == figure.name);
            let style = if is_most { Style::Strong } else { Style::Plain };
            let change = Text::styled(style, change.unwrap_or_default());
            table.push([figure.name.name().into(), first, second, change]);
        }
        for shares in runs.limits.iter().take(LIMITS) {
            let [first, second] = shares.shares.map(figures::percent);
            table.push([format!("time in {}", shares.limit).into(), first, second, Text::new()]);
        }
        page.table(&table);
    }
}

/// Returns the reason why a capture is nearer the sender.
fn order(places: &TwoPlaces) -> Text {
    let round_trip = places.clocks.round_trip.filter(|span| *span > LOCAL_PATH.get());
    let takes = |span: Span| Text::from("a round trip between the two takes ").and(span);
    match (places.places_shown_by, round_trip) {
        (Order::HopLimit, None) => "routers lowered the hop limit".into(),
        (Order::HopLimit, Some(span)) => {
            Text::from("routers lowered the hop limit, and ").and(takes(span))
        }
        (Order::Loss, _) => "the other one lacks data that it holds".into(),
        (Order::RoundTrip | Order::SamePlace, _) => {
            takes(places.clocks.round_trip.unwrap_or_default())
        }
    }
}

/// Returns the events between two places, for a transfer that took `took`.
fn between(places: &TwoPlaces, took: Span) -> Rows {
    let [near, far] = places.near_and_far();
    let mut rows = Rows::new();
    rows.push("data", data(&places.data, near));
    if places.data.retransmissions > 0 {
        rows.push("sent again", sent_again(&places.data, near));
    }
    rows.push("ACKs", acks(&places.acks, far));
    let delay = places.data_delay_seconds.map(delay);
    let back = places.ack_delay_seconds.map(self::delay);
    if let Some(delay) = delay {
        rows.push("data delay", delay);
    }
    if let Some(back) = back {
        rows.push("ACK delay", back);
    }
    // Unequal delays of the two directions can explain a smaller offset.
    let least = places.clocks.round_trip.unwrap_or_default().max(LOCAL_PATH.get());
    let offset = places.clocks.offset.filter(|offset| {
        let is_seen = *offset > least || Span::ZERO - *offset > least;
        is_seen && places.places_shown_by != Order::SamePlace
    });
    if let Some(offset) = offset {
        let gained = took.scaled(places.clocks.drift.abs());
        let drift = Some(places.clocks.drift).filter(|_| gained > LOCAL_PATH.get());
        rows.push("clocks", clocks(offset, drift));
    }
    let offload = &places.data.offload;
    if offload.cut > 0 || offload.joined > 0 {
        let [near, far] = offload.largest;
        let text = Text::from("network cards cut ")
            .and(figures::counted(offload.cut, "segment"))
            .and(" out of larger ones and joined ")
            .and(figures::count(offload.joined))
            .and("; the largest has ")
            .and(near)
            .and(" near the sender and ")
            .and(far)
            .and(" at the far place");
        rows.push("offload", text);
    }
    rows.list("rewritten", rewritten(places));
    rows.list("not compared", not_compared(places));
    rows
}

/// Returns the first packet numbers of a capture, the first or the second.
fn packets(numbers: &[u64], capture: usize) -> Text {
    let named: Vec<String> = numbers.iter().take(NAMED).map(u64::to_string).collect();
    let more = if numbers.len() > NAMED { ", …" } else { "" };
    let noun = if numbers.len() == 1 { "packet" } else { "packets" };
    let capture = if capture == 0 { "first" } else { "second" };
    Text::default().dim(format!(" ({noun} {}{more} of the {capture})", named.join(", ")))
}

fn data(data: &DataPath, near: usize) -> Text {
    let segments = figures::counted(data.segments, "segment");
    let mut text = if data.lost_segments == 0 {
        Text::from("none lost of ").and(segments)
    } else {
        let lost = Text::styled(Style::Bad, figures::count(data.lost_segments)).and(" of ");
        lost.and(segments)
            .and(" lost, ")
            .and(data.lost_bytes)
            .and(", ")
            .and(figures::fine_percent(data.lost_share))
            .and(packets(&data.lost_packets, near))
    };
    if data.duplicated > 0 {
        text = text.and("; ").and(figures::count(data.duplicated));
        text = text.and(match data.duplicated * 2 >= data.segments {
            true => " are in the far capture twice: capture on one interface only",
            false => " came twice: the network duplicated them",
        });
    }
    text
}

fn sent_again(data: &DataPath, near: usize) -> Text {
    let text = figures::counted(data.retransmissions, "retransmission");
    let needless = figures::count(data.needless);
    let mut text = match data.needless {
        0 if data.arrived_before == 0 => return text.and("; no earlier copy had arrived"),
        0 => text,
        all if all == data.retransmissions => text.and(", all needless"),
        _ => text.and(", ").and(needless).and(" needless"),
    };
    if data.needless > 0 {
        text = text
            .and(": an earlier copy had arrived")
            .and(packets(&data.arrived_before_packets, near));
    }
    if data.needless_ack_lost > 0 {
        text = text.and("; the ACKs of ").and(figures::count(data.needless_ack_lost));
        text = text.and(" were lost");
    }
    if data.unacknowledged > 0 {
        text = text.and("; an earlier copy of ").and(figures::count(data.unacknowledged));
        text =
            text.and(" had come behind a gap without an ACK: the receiver may discard such data");
    }
    text
}

fn acks(acks: &AckPath, far: usize) -> Text {
    let all = figures::counted(acks.acks, "ACK");
    if acks.lost == 0 {
        return Text::from("none lost of ").and(all);
    }
    let lost = Text::styled(Style::Bad, figures::count(acks.lost)).and(" of ");
    lost.and(all)
        .and(" lost, ")
        .and(figures::fine_percent(acks.lost_share))
        .and(packets(&acks.lost_packets, far))
}

fn delay(delay: DelayQuantiles) -> Text {
    let text = Text::from("above the least: median ").and(delay.p50);
    text.and(", 95 % within ").and(delay.p95).and(", longest ").and(delay.max)
}

fn clocks(offset: Span, drift: Option<f64>) -> Text {
    let (span, word) = match offset < Span::ZERO {
        true => (Span::ZERO - offset, "behind"),
        false => (offset, "ahead"),
    };
    let text = Text::from("that of the far capture is ").and(span).and(" ").and(word);
    match drift {
        None => text,
        Some(drift) => {
            let way = if drift > 0.0 { " faster" } else { " slower" };
            text.and(", and ").and(figures::fine_percent(drift.abs())).and(way)
        }
    }
}

fn rewritten(places: &TwoPlaces) -> Vec<Text> {
    let [near, _] = places.near_and_far();
    let mut found: Vec<Text> = places.rewrites.iter().map(rewrite).collect();
    if places.acks.windows_rewritten > 0 {
        let count = figures::counted(places.acks.windows_rewritten, "ACK");
        let text = Text::from("the window of ").and(count);
        found.push(text.and(packets(&places.acks.rewritten_packets, near)));
    }
    if places.acks.made_between > 0 {
        let count = figures::counted(places.acks.made_between, "ACK");
        found.push(count.and(" that the receiver did not send: a device between answers for it"));
    }
    found
}

fn rewrite(rewrite: &Rewrite) -> Text {
    let option = match rewrite.option {
        RewrittenItem::Mss => "MSS",
        RewrittenItem::WindowScale => "window scale",
        RewrittenItem::Sack => "SACK",
        RewrittenItem::Timestamps => "timestamps",
        RewrittenItem::Multipath => "Multipath TCP",
        RewrittenItem::Ecn => "ECN",
    };
    let is_number = matches!(rewrite.option, RewrittenItem::Mss | RewrittenItem::WindowScale);
    let [first, second] = rewrite.values.map(|value| match (value, is_number) {
        (None, _) => Text::from("off"),
        (Some(value), true) => value.into(),
        (Some(_), false) => "on".into(),
    });
    let side = if rewrite.side == Side::Sender { "sender" } else { "receiver" };
    let text = Text::from(format!("{option} of the {side}: ")).and(first);
    text.and(" in the first capture, ").and(second).and(" in the second")
}

fn not_compared(places: &TwoPlaces) -> Vec<Text> {
    let (data, acks) = (&places.data, &places.acks);
    let mut found = Vec::new();
    if data.outside > 0 {
        let count = figures::counted(data.outside, "segment");
        found.push(count.and(" outside of what the far capture holds"));
    }
    if data.missed_by_near > 0 {
        let count = figures::counted(data.missed_by_near, "segment");
        found.push(count.and(" that the capture nearer the sender missed"));
    }
    if acks.missed_by_near > 0 {
        let count = figures::counted(acks.missed_by_near, "ACK");
        found.push(count.and(" that it missed as well, or that were lost"));
    }
    let missed = acks.missed_by_far.saturating_sub(acks.made_between);
    if missed > 0 {
        found.push(figures::counted(missed, "ACK").and(" that the far capture missed"));
    }
    if places.cut {
        found.push(Text::from("the end: a connection is compared up to 500,000 packets"));
    }
    found
}
