//! Stored records as pages, by their commands.

use serde::Deserialize;
use serde_json::Value;
use windlass_base::{Bytes, Rate, Span};
use windlass_drive::report::Interval;
use windlass_runs::{Summary, Unit};

use super::graph::{self, Setting};
use super::processors::{self, End};
use super::verdict::Verdict;
use crate::html::plot::{Dot, Guide, Plot, Series, SeriesStyle};
use crate::html::scale::Axis;
use crate::html::{Figure, Html};
use crate::records::runs::value;
use crate::{Page, Table, Text, figures};

/// Maximum number of figures as cards: with more rows, only the table has them.
const MOST_CARDS: usize = 8;

/// Writes the results of a record, beside the figures of its run. Records of other commands have
/// only their text.
pub fn write(html: &mut Html, record: &Value) {
    let schema = record.get("schema").and_then(Value::as_str).unwrap_or_default();
    let read = || record.clone();
    match schema.split('/').next().unwrap_or_default() {
        "windlass.send" => {
            if let Ok(send) = serde_json::from_value::<SendRecord>(read()) {
                send.write(html);
            }
        }
        "windlass.sweep" => {
            if let Ok(sweep) = serde_json::from_value::<SweepRecord>(read()) {
                sweep.write(html);
            }
        }
        "windlass.lab" => {
            if let Ok(lab) = serde_json::from_value::<LabRecord>(read()) {
                lab.write(html);
            }
        }
        _ => {
            let verdict = record.get("verdict").cloned().unwrap_or_default();
            if let Ok(verdict) = serde_json::from_value::<Verdict>(verdict) {
                html.element("h2", "Verdict");
                verdict.write(html, None);
                // The transfer of a print job has the processors of the sending end.
                let transfer = record.get("transfer").cloned().unwrap_or_default();
                let end = serde_json::from_value::<Option<End>>(transfer).ok().flatten();
                processors::write(html, &[("sender", end.as_ref())]);
            }
        }
    }
}

/// Returns the figures of a record.
pub fn drawn(record: &Value) -> Vec<Figure> {
    let schema = record.get("schema").and_then(Value::as_str).unwrap_or_default();
    let read = || record.clone();
    match schema.split('/').next().unwrap_or_default() {
        "windlass.send" => serde_json::from_value::<SendRecord>(read())
            .map(|send| graph::drawn(&send.intervals, send.transfer))
            .unwrap_or_default(),
        "windlass.sweep" => {
            let sweep = serde_json::from_value::<SweepRecord>(read());
            sweep.ok().and_then(|sweep| sweep.figure()).into_iter().collect()
        }
        _ => Vec::new(),
    }
}

/// Returns the points of a record for an overlay, and whether they belong to a sweep; `None`
/// without points.
pub(super) fn points(record: &Value, name: &str) -> Option<(bool, Vec<Dot>)> {
    let schema = record.get("schema").and_then(Value::as_str).unwrap_or_default();
    let (is_sweep, points) = match schema.split('/').next().unwrap_or_default() {
        "windlass.send" => {
            let send = serde_json::from_value::<SendRecord>(record.clone()).ok()?;
            (false, graph::rate_points(&send.intervals, name))
        }
        "windlass.sweep" => {
            let sweep = serde_json::from_value::<SweepRecord>(record.clone()).ok()?;
            (true, sweep.points_of_first_way(name))
        }
        _ => return None,
    };
    (!points.is_empty()).then_some((is_sweep, points))
}

/// Writes the figures of a run as cards.
pub fn cards(html: &mut Html, run: &Summary) {
    let cards = run.figures.iter().take(MOST_CARDS).enumerate().map(|(place, figure)| {
        let name = match &figure.of {
            Some(of) => format!("{} of {of}", figure.name.says()),
            None => figure.name.says().to_owned(),
        };
        let class = if place == 0 { "best" } else { "" };
        (class, name, Some(shown_value(figure.value, figure.name.unit())))
    });
    html.cards(cards);
}

/// Returns a value as pages show it: a rate in bytes and in bits.
fn shown_value(number: f64, unit: Unit) -> String {
    match unit {
        Unit::BytesPerSecond => figures::both(Rate::from_bytes_per_second(number)).plain(),
        _ => value(number, unit).plain(),
    }
}

/// Record of `windlass send`.
#[derive(Debug, Deserialize)]
struct SendRecord {
    transfer: Setting,
    directions: Vec<Direction>,
    #[serde(default)]
    intervals: Vec<Interval>,
}

#[derive(Debug, Deserialize)]
struct Direction {
    from: String,
    verdict: Option<Verdict>,
    sender: Option<End>,
    receiver: Option<End>,
}

impl SendRecord {
    fn write(&self, html: &mut Html) {
        let both = self.directions.len() > 1;
        html.element("h2", "Verdict");
        for Direction { from, verdict, sender, receiver } in &self.directions {
            let way = if from == "client" { "to the target" } else { "from the target" };
            match verdict {
                Some(verdict) => verdict.write(html, both.then_some(way)),
                None => html.element(
                    "p",
                    "No verdict: the sender's kernel did not report. Run windlass serve at the \
                     other end.",
                ),
            }
            let ends = [("sender", sender.as_ref()), ("receiver", receiver.as_ref())];
            processors::write(html, &ends);
        }
        graph::write(html, &self.intervals, self.transfer);
        graph::table(html, &self.intervals, self.transfer);
    }
}

/// Record of `windlass sweep`.
#[derive(Debug, Deserialize)]
struct SweepRecord {
    #[serde(default)]
    summary: Vec<String>,
    base_rtt_seconds: Option<Span>,
    directions: Vec<SweptWay>,
    points: Vec<SweptPoint>,
}

#[derive(Debug, Deserialize)]
struct SweptWay {
    direction: String,
    capacity_bits_per_second: Option<f64>,
    bdp_bytes: Option<Bytes>,
    recommendation: Option<Recommendation>,
    recommended_window_bytes: Option<Bytes>,
}

#[derive(Debug, Deserialize)]
struct Recommendation {
    bits_per_second: f64,
    window_bytes: Option<Bytes>,
    streams: u64,
    congestion: Option<String>,
    reason: String,
}

#[derive(Debug, Deserialize)]
struct SweptPoint {
    direction: String,
    window_bytes: Option<Bytes>,
    streams: u64,
    bits_per_second: f64,
    rtt_seconds: Option<Span>,
}

fn bits(rate: f64) -> String {
    Rate::from_bits_per_second(rate).in_bits().to_string()
}

/// Returns a rate in bytes and in bits.
fn both(rate: f64) -> String {
    figures::both(Rate::from_bits_per_second(rate)).plain()
}

fn size(bytes: Bytes) -> String {
    figures::size(bytes).plain()
}

impl Recommendation {
    /// Returns the settings to apply.
    fn what(&self) -> String {
        let window = self.window_bytes.map(|window| format!("a window of {}", size(window)));
        let streams = (self.streams > 1).then(|| format!("{} streams", self.streams));
        let congestion = self.congestion.clone();
        let all: Vec<String> = [congestion, window, streams].into_iter().flatten().collect();
        if all.is_empty() { "nothing".to_owned() } else { all.join(", ") }
    }
}

impl SweepRecord {
    fn write(&self, html: &mut Html) {
        html.raw("<ul class=\"summary\">\n");
        for line in &self.summary {
            html.element("li", line);
        }
        html.raw("</ul>\n");
        html.element("h2", "Recommendation");
        for way in &self.directions {
            let Some(chosen) = &way.recommendation else { continue };
            if self.directions.len() > 1 {
                html.element("h3", &way.direction);
            }
            html.cards([
                ("best", "to set".to_owned(), Some(chosen.what())),
                ("best", "rate of the setting".to_owned(), Some(both(chosen.bits_per_second))),
                ("", "base RTT".to_owned(), self.base_rtt_seconds.map(|rtt| rtt.to_string())),
                ("", "capacity".to_owned(), way.capacity_bits_per_second.map(both)),
                ("", "smallest window as fast".to_owned(), way.recommended_window_bytes.map(size)),
            ]);
            html.element("p", &chosen.reason);
        }
        if let Some(figure) = self.figure() {
            figure.write(html);
        }
    }

    /// Returns the rates of one stream by its window, in the first direction.
    fn points_of_first_way(&self, name: &str) -> Vec<Dot> {
        let Some(way) = self.directions.first() else { return Vec::new() };
        let own = |point: &&SweptPoint| point.direction == way.direction && point.streams == 1;
        let dots = self.points.iter().filter(own).filter_map(|point| way.dot(point));
        let mut points: Vec<Dot> =
            dots.map(|dot| Dot { says: format!("{name}, {}", dot.says), ..dot }).collect();
        points.sort_by(|one, other| one.x.total_cmp(&other.x));
        points
    }

    /// Returns the rate of one stream by its window; `None` for fewer than two windows.
    fn figure(&self) -> Option<Figure> {
        let both = self.directions.len() > 1;
        let series = self.directions.iter().enumerate().map(|(color, way)| {
            let own = self
                .points
                .iter()
                .filter(|point| point.direction == way.direction && point.streams == 1);
            let mut points: Vec<Dot> = own.filter_map(|point| way.dot(point)).collect();
            points.sort_by(|one, other| one.x.total_cmp(&other.x));
            let name = if both {
                format!("one stream, {}", way.direction)
            } else {
                "one stream".to_owned()
            };
            Series { name, color, drawn: SeriesStyle::Measured, points }
        });
        let series: Vec<Series> = series.collect();
        let all = |of: fn(&Dot) -> f64| -> Vec<f64> {
            series.iter().flat_map(|series| series.points.iter().map(of)).collect()
        };
        let (windows, rates) = (all(|dot| dot.x), all(|dot| dot.y));
        if windows.len() < 2 {
            return None;
        }
        let mut guides = Vec::new();
        if let Some(way) = self.directions.first() {
            let mut upright = |bytes: Option<Bytes>, name: &str| {
                if let Some(bytes) = bytes {
                    guides.push(Guide::Upright(
                        bytes.get() as f64,
                        format!("{name} {}", size(bytes)),
                    ));
                }
            };
            upright(way.bdp_bytes, "bandwidth-delay product");
            upright(way.recommended_window_bytes, "recommended");
        }
        let says: Vec<&str> = self.summary.iter().map(String::as_str).collect();
        let window = |value: f64| size(Bytes::new(windlass_base::whole_part(value.round())));
        let plot = Plot {
            id: "rate-by-window",
            title: "Throughput against the receive window".to_owned(),
            says: says.join(" "),
            x: Axis::doublings("Receive window", &windows, window),
            y: Axis::amounts("Throughput", &rates, bits),
            series,
            guides,
            band: Vec::new(),
            height: Plot::HIGH,
        };
        let caption = "Rate of one stream by its receive window. A ring is the window that is \
                       recommended. windlass sweep --html makes a page with all curves.";
        Some(Figure { plot, caption: caption.to_owned(), keys: Vec::new() })
    }
}

impl SweptWay {
    fn dot(&self, point: &SweptPoint) -> Option<Dot> {
        let window = point.window_bytes?;
        let rtt = point.rtt_seconds.map(|rtt| format!(", RTT {rtt}")).unwrap_or_default();
        Some(Dot {
            x: window.get() as f64,
            y: point.bits_per_second,
            says: format!("{}: {}{rtt}", size(window), both(point.bits_per_second)),
            chosen: self.recommended_window_bytes == Some(window),
        })
    }
}

/// Record of `windlass lab`.
#[derive(Debug, Deserialize)]
struct LabRecord {
    title: String,
    shows: String,
    rows: Vec<Row>,
}

#[derive(Debug, Deserialize)]
struct Row {
    device: String,
    method: String,
    setting: Option<String>,
    bytes: Bytes,
    receive_window_bytes: Option<Bytes>,
    ack_latency_seconds: Option<Span>,
    seconds: Span,
    bytes_per_second: Rate,
    documented_bytes_per_second: Option<Rate>,
    verdict: Option<Verdict>,
}

impl Row {
    fn name(&self) -> String {
        match &self.setting {
            Some(setting) => format!("{setting}, {} {}", self.device, self.method),
            None => format!("{} {}", self.device, self.method),
        }
    }
}

impl LabRecord {
    fn write(&self, html: &mut Html) {
        html.element("p", &format!("{}. {}", self.title, self.shows));
        let mut table = Table::headed(
            "device | sent: | window: | ACK after: | time: | rate: | documented: | limit",
        );
        for row in &self.rows {
            table.push([
                Text::from(row.name()),
                row.bytes.into(),
                Text::known(row.receive_window_bytes),
                Text::known(row.ack_latency_seconds),
                row.seconds.into(),
                Text::default().strong(figures::both(row.bytes_per_second).plain()),
                Text::known(row.documented_bytes_per_second.map(figures::both)),
                Text::known(row.verdict.as_ref().map(Verdict::cause)),
            ]);
        }
        let mut page = Page::html();
        page.table(&table);
        html.raw(&page.finish());
        html.element("h2", "Verdicts");
        for row in &self.rows {
            if let Some(verdict) = &row.verdict {
                verdict.write(html, Some(&row.name()));
            }
        }
    }
}
