//! Report of a sweep for people.

pub mod csv;
pub mod view;

use windlass_base::figures::{RoughSize, fixed};
use windlass_base::{Rate, Span};
use windlass_sweep::Direction;
use windlass_sweep::report::{DirectionFacts, LinkFacts, PointFacts, Recommendation, SweepReport};

use crate::{Column, Page, Rows, Style, Table, Text, figures};

impl crate::Record for SweepReport {
    fn text(&self, page: &mut Page) {
        let path = &self.path;
        page.paragraph(Text::default().strong(path.title.as_str()));
        if let Some(shows) = &path.shows {
            page.paragraph(shows.as_str());
        }
        if let Some(source) = &path.source {
            page.paragraph(Text::default().dim(format!("From: {source}")));
        }
        if !path.hops.is_empty() {
            page.gap();
            page.rows(&hops(self));
        }
        for way in &self.directions {
            let suffix = suffix(self, way.direction);
            page.heading(format!("Defaults of the kernel{suffix}"));
            page.table(&autotuned(self, way));
            let windows = windows(self, way);
            if windows.is_empty() {
                continue;
            }
            page.heading(format!("One stream, by its window{suffix}"));
            page.table(&windows);
            if !way.windows_left_out_bytes.is_empty() {
                let sizes = way.windows_left_out_bytes.iter().map(|size| figures::size(*size));
                left_out(page, sizes.collect());
            }
            let window = figures::size(self.plan.stream_window_bytes);
            let streams = streams(self, way);
            if !streams.is_empty() {
                page.heading(
                    Text::from("Streams with a window of ").and(window).and(" each").and(suffix),
                );
                page.table(&streams);
                if !way.streams_left_out.is_empty() {
                    let counts = way.streams_left_out.iter().map(|count| Text::from(*count));
                    left_out(page, counts.collect());
                }
            }
        }
        for way in &self.directions {
            page.heading(format!("Recommendation{}", suffix(self, way.direction)));
            page.indented(|page| page.rows(&advice(self, way)));
        }
        page.gap();
        page.paragraph(Text::default().dim(how(self)));
    }
}

/// Returns the suffix that tells the parts of two directions apart.
fn suffix(record: &SweepReport, way: Direction) -> &'static str {
    match way {
        _ if record.directions.len() < 2 && way == Direction::Up => "",
        Direction::Up => ", up",
        Direction::Down => ", down",
    }
}

/// Returns the method of the measurement.
pub fn how(record: &SweepReport) -> String {
    let plan = &record.plan;
    let count = figures::counted(record.measurements, "measurement").plain();
    let (spent, sent) = (record.spent_seconds, RoughSize(record.sent_bytes));
    let mut how = match record.path.kind {
        "simulated" => format!(
            "Simulated, seed {}: {count} in {spent} of virtual time, {sent} sent.",
            record.path.seed.unwrap_or(0)
        ),
        _ => format!(
            "Measured with {}: {count} in {spent}, {sent} sent.",
            record.path.address.as_deref().unwrap_or("?"),
        ),
    };
    if record.path.alike && plan.directions.len() == 1 {
        how.push_str(" Both directions are alike: measured once.");
    }
    how.push_str(&match (record.path.chance, plan.repeat) {
        (false, _) => " The path has no random parts, so a repeat would give the same.".to_owned(),
        (true, 1) => " Each point was measured once.".to_owned(),
        (true, times) => format!(" Decisions use the median of {times}."),
    });
    if !record.complete {
        how.push_str(" The sweep was not finished.");
    }
    how.push_str(
        " Rates count payload only, in the steady state. A packet's delivery delay is n · W / rate \
         minus the base RTT: docs/sweep.md.",
    );
    how
}

fn left_out(page: &mut Page, left: Vec<Text>) {
    let text =
        Text::from("Not measured, as the recommendation did not need them or time was over: ");
    page.paragraph(Text::default().dim(text.and(Text::joined(left, ", ")).and(".")));
}

/// Describes a link: both directions, or one.
pub fn link(link: &LinkFacts, both: bool) -> Text {
    let mut text = match link.bits_per_second {
        Some(bits) => Text::from(Rate::from_bits_per_second(bits).in_bits()),
        None => Text::from("any rate"),
    };
    if let (Some(least), Some(every)) = (link.fading_bits_per_second, link.fading_seconds) {
        let least = Rate::from_bits_per_second(least).in_bits();
        text = text.and(" down to ").and(least).and(", new every ").and(figures::exact(every));
    }
    if let Some(access) = link.half_duplex_access_seconds {
        text = text.and(", half duplex with ").and(figures::exact(access)).and(" before a frame");
    }
    text = text.and(", ").and(figures::exact(link.delay_seconds));
    text = text.and(if both { " each way, queue " } else { ", queue " });
    text = text.and(figures::size(link.queue_bytes));
    for (share, what) in
        [(link.loss, "lost"), (link.reorder, "out of order"), (link.corruption, "damaged")]
    {
        if share > 0.0 {
            text = text.and(", ").and(figures::fine_percent(share)).and(format!(" {what}"));
        }
    }
    if link.jitter_seconds > Span::ZERO {
        text = text.and(", jitter ").and(figures::exact(link.jitter_seconds));
    }
    text
}

fn hops(record: &SweepReport) -> Rows {
    let mut rows = Rows::new();
    let hops = &record.path.hops;
    for (number, hop) in (1..).zip(hops) {
        let name = if hops.len() == 1 { "path".to_owned() } else { format!("hop {number}") };
        if hop.up == hop.down {
            rows.push(name, link(&hop.up, true));
        } else {
            rows.push(format!("{name} up"), link(&hop.up, false));
            rows.push(format!("{name} down"), link(&hop.down, false));
        }
    }
    rows
}

/// Returns a table with the common columns, after the varied ones.
fn table(varied: impl IntoIterator<Item = Column>) -> Table {
    let columns = [
        Column::right("throughput"),
        Column::right("±"),
        Column::right("RTT"),
        Column::right("delivery"),
        Column::right("resent"),
        Column::left("verdict"),
    ];
    Table::new([Column::left("")].into_iter().chain(varied).chain(columns))
}

fn row(varied: impl IntoIterator<Item = Text>, point: &PointFacts, chosen: bool) -> Vec<Text> {
    let time = |time: Option<Span>| time.map_or_else(|| "?".into(), Text::from);
    let style = if chosen { Style::Strong } else { Style::Plain };
    let within = point
        .half_width
        .map_or_else(|| "?".into(), |width| Text::whole(&format!("{} %", fixed(width * 100.0, 1))));
    let mut row = vec![Text::styled(Style::Good, if chosen { "→" } else { "" })];
    row.extend(varied.into_iter().map(|text| Text::styled(style, text)));
    row.extend([
        Text::styled(style, point.rate().in_bits()),
        within,
        time(point.rtt_seconds),
        time(point.delivery_delay_seconds),
        Text::rare(point.retransmissions, Style::Warn),
        point.cause().into(),
    ]);
    row
}

/// Returns whether a point is the recommended one.
pub fn is_chosen(way: &DirectionFacts, point: &PointFacts) -> bool {
    way.recommendation.as_ref().is_some_and(|chosen| {
        (chosen.window_bytes, chosen.streams, chosen.congestion)
            == (point.window_bytes, point.streams, point.asked_congestion)
    })
}

/// Returns the congestion control of a point, if known.
pub fn congestion(point: &PointFacts) -> String {
    let known = point.congestion.or(point.asked_congestion);
    known.map_or_else(|| "?".to_owned(), |name| name.to_string())
}

fn autotuned(record: &SweepReport, way: &DirectionFacts) -> Table {
    let mut table = table([Column::right("streams"), Column::left("congestion")]);
    for point in record.autotuned(way.direction) {
        let varied = [Text::from(u64::from(point.streams)), congestion(&point).into()];
        table.push(row(varied, &point, is_chosen(way, &point)));
    }
    table
}

fn windows(record: &SweepReport, way: &DirectionFacts) -> Table {
    let mut table = table([Column::right("window")]);
    for point in record.windows(way.direction) {
        let window = figures::size(point.window_bytes.unwrap_or_default());
        table.push(row([window], &point, is_chosen(way, &point)));
    }
    table
}

fn streams(record: &SweepReport, way: &DirectionFacts) -> Table {
    let mut table = table([Column::right("streams")]);
    for point in record.streams(way.direction) {
        let count = Text::from(u64::from(point.streams));
        table.push(row([count], &point, is_chosen(way, &point)));
    }
    table
}

/// Returns the recommendation for a direction.
fn advice(record: &SweepReport, way: &DirectionFacts) -> Rows {
    let mut rows = Rows::new();
    if let Some(base) = record.base_rtt_seconds {
        rows.push("base RTT", base);
    }
    let capacity = way.capacity_bits_per_second.map(Rate::from_bits_per_second);
    rows.push(
        "capacity",
        match capacity {
            Some(rate) => figures::both(rate),
            None => Text::styled(Style::Bad, "no data arrived"),
        },
    );
    if let Some(product) = way.bdp_bytes {
        rows.push("BDP", Text::from(product).dim(", capacity × base RTT"));
    }
    for note in &way.path.notes {
        rows.push("path", note);
    }
    if let Some(chosen) = &way.recommendation {
        rows.append(&card(chosen));
    }
    if let Some(not_granted) = &way.not_granted {
        rows.push("not granted", not_granted);
    }
    if let Some(text) = rfc_6349(way) {
        rows.push("RFC 6349", text);
    }
    rows
}

/// Returns the recommendation: what to set, where, by which option, its effect, and its cost.
fn card(chosen: &Recommendation) -> Rows {
    let mut rows = Rows::new().row("set", Text::styled(Style::Good, what(chosen)));
    for step in &chosen.steps {
        rows.push("on", step.host.as_str());
        rows.push("by", &step.set_by);
    }
    rows.push("brings", &chosen.brings);
    rows.push("costs", &chosen.costs);
    rows
}

/// Returns the setting to apply.
pub fn what(chosen: &Recommendation) -> String {
    let mut parts = Vec::new();
    parts.extend(chosen.congestion.map(|name| format!("the congestion control {name}")));
    let size = |window| figures::size(window).plain();
    match (chosen.window_bytes, chosen.streams) {
        (Some(window), 1) => parts.push(format!("a window of {}", size(window))),
        (Some(window), count) => parts.push(format!("{count} streams of {}", size(window))),
        (None, 1) => {}
        (None, count) => parts.push(format!("{count} streams")),
    }
    if parts.is_empty() { "Nothing".to_owned() } else { parts.join(" and ") }
}

/// Returns the figures of RFC 6349 for the recommendation.
pub fn rfc_6349(way: &DirectionFacts) -> Option<Text> {
    let (ratio, efficiency) = (way.transfer_time_ratio?, way.tcp_efficiency_percent?);
    let ideal = Rate::from_bits_per_second(way.ideal_bits_per_second?);
    let mut text = Text::from("transfer time ratio ")
        .strong(fixed(ratio, 3))
        .and(" of the time at ")
        .and(figures::both(ideal))
        .and(", TCP efficiency ")
        .strong(Text::whole(&format!("{} %", fixed(efficiency, 2))));
    if let Some(delay) = way.buffer_delay_percent {
        let delay = Text::whole(&format!("{} %", fixed(delay, 1)));
        text = text.and(", buffer delay ").strong(delay);
    }
    Some(text.and("; with the recommendation"))
}
