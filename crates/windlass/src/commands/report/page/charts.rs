//! The charts of a connection.

use windlass_base::figures::Rough;
use windlass_base::{Bytes, Rate, Span, whole_part};
use windlass_output::html::scale::Axis;
use windlass_trace::curve::{Bins, Curve};
use windlass_trace::report::ConnectionReport;
use windlass_trace::time_sequence::Series;

use super::chart::{Chart, Guide, Line, Unit};
use super::path::{Ground, levels, rate, rates, strokes};
use super::{band, caption};

/// The throughput has so many steps at least, where its bins are that many.
const LEAST_BINS: usize = 24;

/// What the charts of a connection share.
pub(super) struct Charts<'a> {
    /// What tells them from those of others.
    pub(super) id: &'a str,
    pub(super) report: &'a ConnectionReport,
    pub(super) series: &'a Series,
    /// From the first packet to the start of the transfer.
    pub(super) lead: Option<Span>,
}

impl Charts<'_> {
    /// All of them; none of a connection of which no packet came by.
    pub(super) fn all(&self) -> Vec<Chart> {
        if self.series.lived().is_none() {
            return Vec::new();
        }
        vec![self.throughput(), self.sequence(), self.flight(), self.latency()]
    }

    /// A chart without curves, whose values reach from nothing to `most`.
    fn begin(&self, name: &str, title: &'static str, unit: Unit, most: f64) -> Chart {
        let (began, span) = self.series.lived().unwrap_or_default();
        let span = span.max(Span::from_micros(1));
        let y = Axis::linear("", &[most], |value| named(unit, value));
        let x = Axis::between("", (0.0, span.as_seconds()), |value| named(Unit::Time, value));
        Chart {
            id: format!("{}-{name}", self.id),
            title,
            unit,
            ground: Ground { began, span, top: y.high },
            x,
            y,
            floats: false,
            lines: Vec::new(),
            guides: Vec::new(),
            above: String::new(),
            caption: String::new(),
        }
    }

    /// New bytes by time, over two round trips where that leaves enough steps: within one a flight
    /// and the wait for its ACK follow each other.
    fn bins(&self) -> Bins {
        let bins = &self.series.bytes;
        let cycle = self.report.ack_latency_seconds.map_or(Span::ZERO, |latency| latency.p50);
        let wanted = (cycle * 2).as_seconds() / bins.width().as_seconds();
        let most = bins.amounts().len() / LEAST_BINS;
        bins.joined(usize::try_from(whole_part(wanted.ceil())).unwrap_or(usize::MAX).min(most))
    }

    fn throughput(&self) -> Chart {
        let bins = &self.bins();
        let guides = caption::rates(self.report);
        let highest = bins.amounts().iter().map(|amount| rate(*amount, bins.width()));
        let most = highest.fold(0.0, f64::max);
        let mut chart =
            self.begin("throughput", "Throughput, and what limits it", Unit::Rate, most);
        // A law may promise far more than the chart has room for.
        chart.guides = guides
            .into_iter()
            .map(|(rate, class, name)| Guide { value: rate.bytes_per_second(), class, name })
            .filter(|guide| guide.value <= chart.ground.top)
            .collect();
        let path = rates(&chart.ground, bins);
        let (name, class) = ("new bytes", "curve data");
        chart.lines.push(Line { name, class, path, is_level: true, is_bound: false });
        if let Some(lead) = self.lead {
            chart.above = band::band(self.report, &chart.ground, lead);
        }
        chart.caption = caption::throughput(self.report, bins);
        chart
    }

    fn sequence(&self) -> Chart {
        let series = self.series;
        let most = highest(&[&series.sent, &series.again, &series.acked]);
        let (most, beyond) = room(most, highest(&[&series.edge]));
        let title = "Sequence numbers against time";
        let mut chart = self.begin("sequence", title, Unit::Bytes, most);
        chart.floats = true;
        let ground = chart.ground;
        let level = |name, class, curve: &Curve| {
            let path = levels(&ground, curve.stretches());
            Line { name, class, path, is_level: true, is_bound: class == "curve edge" }
        };
        let stroke = |name, class, curve: &Curve| {
            let path = strokes(&ground, curve.stretches());
            Line { name, class, path, is_level: false, is_bound: false }
        };
        chart.lines = vec![
            level("edge of the window", "curve edge", &series.edge),
            stroke("segments", "stroke data", &series.sent),
            level("ACK", "curve ack", &series.acked),
            stroke("SACK", "stroke sack", &series.sacked),
            stroke("out of order", "stroke late", &series.overtaken),
            stroke("sent again", "stroke again", &series.again),
        ];
        // The key has only what is there.
        chart.lines.retain(|line| !line.path.is_empty());
        chart.caption = caption::sequence(self.report, series, beyond);
        chart
    }

    fn flight(&self) -> Chart {
        let series = self.series;
        let (most, beyond) = room(highest(&[&series.flight]), highest(&[&series.window]));
        let title = "Bytes in flight against the window";
        let mut chart = self.begin("flight", title, Unit::Bytes, most);
        for (name, class, curve) in
            [("window", "curve edge", &series.window), ("in flight", "curve data", &series.flight)]
        {
            let path = levels(&chart.ground, curve.stretches());
            let is_bound = name == "window";
            chart.lines.push(Line { name, class, path, is_level: true, is_bound });
        }
        chart.caption = caption::flight(self.report, beyond);
        chart
    }

    fn latency(&self) -> Chart {
        let series = self.series;
        let most = Span::from_nanos(series.latency.most().unwrap_or(0)).as_seconds();
        let guide = caption::round_trip(self.report);
        let least = guide.as_ref().map_or(0.0, |(rtt, _)| rtt.as_seconds());
        let mut chart =
            self.begin("latency", "ACK latency and the round trip", Unit::Time, most.max(least));
        chart.guides.extend(guide.map(|(rtt, name)| Guide {
            value: rtt.as_seconds(),
            class: "guide",
            name,
        }));
        // The curve is in nanoseconds.
        let ground = Ground { top: chart.ground.top * 1e9, ..chart.ground };
        let path = strokes(&ground, series.latency.stretches());
        let name = "from a segment to its ACK";
        let class = "stroke dot ack";
        chart.lines.push(Line { name, class, path, is_level: false, is_bound: false });
        chart.caption = caption::latency(self.report, series);
        chart
    }
}

/// The highest value of some curves.
fn highest(curves: &[&Curve]) -> f64 {
    curves.iter().filter_map(|curve| curve.most()).max().unwrap_or(0).max(1) as f64
}

/// A bound that is more times as high leaves no room for what it bounds.
const NEAR: f64 = 2.5;

/// How high a chart reaches, and whether its bound is beyond.
fn room(most: f64, bound: f64) -> (f64, bool) {
    if bound > most * NEAR { (most, true) } else { (most.max(bound), false) }
}

/// A value of an axis in words.
fn named(unit: Unit, value: f64) -> String {
    match unit {
        Unit::Bytes => Rough(Bytes::new(whole_part(value.round()))).to_string(),
        Unit::Rate => Rate::from_bytes_per_second(value).to_string(),
        Unit::Time => Span::from_seconds(value).to_string(),
    }
}
