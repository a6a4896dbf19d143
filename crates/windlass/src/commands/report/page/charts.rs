//! The charts of a connection.

use windlass_base::figures::RoughSize;
use windlass_base::{Bytes, Rate, Span, whole_part};
use windlass_output::html::scale::Axis;
use windlass_trace::curve::{Curve, Steps};
use windlass_trace::report::ConnectionReport;
use windlass_trace::time_sequence::Series;

use super::chart::{Chart, Guide, Line, Unit};
use super::path::{Ground, levels, rates, strokes};
use super::{band, caption};

/// Steps of the throughput: more are finer than the columns of a screen.
const MOST_STEPS: f64 = 400.0;

/// Steps of the throughput that show its course well, if steps of two round trips are at least as
/// many.
const MANY_STEPS: f64 = 24.0;

/// Minimum steps that show the course of the throughput. With fewer round trips, the steps show the
/// flights themselves.
const FEW_STEPS: f64 = 6.0;

/// Tried widths of a step, as multiples of the measured RTT: the distance of flights may differ by
/// a fifth from the median of ACKs.
const STRETCHED: std::ops::RangeInclusive<u32> = 80..=125;

/// A latency this many times as long as nine of ten flattens these on a linear axis.
const FLATTENS: f64 = 10.0;

/// Common data of a connection's charts.
pub(super) struct Charts<'a> {
    /// Suffix of the identifiers of this connection's charts.
    pub(super) id: &'a str,
    pub(super) report: &'a ConnectionReport,
    pub(super) series: &'a Series,
    /// From the first packet to the start of the transfer.
    pub(super) lead: Option<Span>,
}

impl Charts<'_> {
    /// Returns all charts; none for a connection without packets.
    pub(super) fn all(&self) -> Vec<Chart> {
        if self.series.lived().is_none() {
            return Vec::new();
        }
        vec![self.throughput(), self.sequence(), self.flight(), self.latency()]
    }

    /// Makes a chart without curves, with values from zero to `most`.
    fn begin(&self, name: &str, title: &'static str, unit: Unit, most: f64) -> Chart {
        let (began, span) = self.series.lived().unwrap_or_default();
        let span = span.max(Span::from_micros(1));
        let y = Axis::linear("", &[most], |value| named(unit, value));
        let x = Axis::between("", (0.0, span.as_seconds()), |value| named(Unit::Time, value));
        Chart {
            id: format!("{}-{name}", self.id),
            title,
            unit,
            ground: Ground { began, span, top: y.high, low: 0.0 },
            x,
            y,
            floats: false,
            lines: Vec::new(),
            guides: Vec::new(),
            above: String::new(),
            caption: String::new(),
        }
    }

    /// Returns the time between two flights, if known.
    fn round(&self) -> Option<Span> {
        let answered = self.report.ack_latency_seconds.map(|latency| latency.p50);
        let path = self.report.rtt_seconds.map(|rtt| rtt.min);
        // Away from the sender ACKs come sooner than after the path's RTT.
        answered.max(path).filter(|round| *round > Span::ZERO)
    }

    /// Returns new bytes by time, over one or more full round trips per step. Steps of another
    /// length contain one flight more or less in turn, and draw a constant rate as a square wave.
    fn steps(&self) -> Steps {
        let bins = &self.series.bytes;
        let whole = (bins.width() * i64::try_from(bins.amounts().len()).unwrap_or(0)).as_seconds();
        let (first, lived) = self.series.lived().unwrap_or_default();
        let until = lived - bins.began().map_or(Span::ZERO, |began| began.since(first));
        let steps = |seconds: f64| bins.steps(Span::from_seconds(seconds), until);
        let round = self.round().map_or(0.0, Span::as_seconds);
        let most = whole / round;
        if !most.is_finite() || most < FEW_STEPS {
            return steps(whole / MANY_STEPS);
        }
        let least = if most < 2.0 * MANY_STEPS { 1.0 } else { 2.0 };
        let rounds = (most / MOST_STEPS).ceil().max(least);
        let tried = STRETCHED.map(|percent| steps(round * rounds * f64::from(percent) / 100.0));
        let smoothest = tried.min_by(|one, other| one.variation().total_cmp(&other.variation()));
        smoothest.unwrap_or_else(|| steps(round * rounds))
    }

    fn throughput(&self) -> Chart {
        let steps = &self.steps();
        let guides = caption::rates(self.report);
        let most = steps.rates().map(|(_, rate)| rate).fold(0.0, f64::max);
        let mut chart =
            self.begin("throughput", "Throughput, and what limits it", Unit::Rate, most);
        // A law may promise far more than the chart has room for.
        chart.guides = guides
            .into_iter()
            .map(|(rate, class, name)| Guide { value: rate.bytes_per_second(), class, name })
            .filter(|guide| guide.value <= chart.ground.top)
            .collect();
        let began = self.series.bytes.began();
        let path = began.map_or_else(String::new, |began| rates(&chart.ground, began, steps));
        let (name, class) = ("new bytes", "curve data");
        chart.lines.push(Line { name, class, path, is_level: true, is_bound: false });
        if let Some(lead) = self.lead {
            chart.above = band::band(self.report, &chart.ground, lead);
        }
        chart.caption = caption::throughput(self.report, steps);
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
            stroke("retransmission", "stroke again", &series.again),
        ];
        // The key has only the lines with data.
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
        let curve = &self.series.latency;
        let seconds = |nanos: Option<i64>| Span::from_nanos(nanos.unwrap_or(0)).as_seconds();
        let (least, most) = (seconds(curve.least()), seconds(curve.most()));
        let guide = caption::round_trip(self.report);
        let rtt = guide.as_ref().map(|(rtt, _)| rtt.as_seconds());
        let highest = most.max(rtt.unwrap_or(0.0));
        let mut chart =
            self.begin("latency", "ACK latency and the round trip", Unit::Time, highest);
        let nine_of_ten = self.report.ack_latency_seconds.map(|latency| latency.p90.as_seconds());
        if let Some(usual) = nine_of_ten.filter(|usual| *usual > 0.0 && highest > usual * FLATTENS)
        {
            // Beside the receiver some take no time that the capture's clock has.
            let low = if least > 0.0 { least } else { usual / FLATTENS };
            chart.y = Axis::amounts("", &[low, highest], |value| named(Unit::Time, value));
            chart.ground = Ground { top: chart.y.high, low: chart.y.low(), ..chart.ground };
        }
        chart.guides.extend(guide.map(|(rtt, name)| Guide {
            value: rtt.as_seconds(),
            class: "guide",
            name,
        }));
        // The curve is in nanoseconds.
        let Ground { top, low, .. } = chart.ground;
        let ground = Ground { top: top * 1e9, low: low * 1e9, ..chart.ground };
        let path = strokes(&ground, curve.stretches());
        let name = "time from segment to ACK";
        let class = "stroke dot ack";
        chart.lines.push(Line { name, class, path, is_level: false, is_bound: false });
        chart.caption = caption::latency(self.report, self.series);
        if chart.ground.low > 0.0 {
            chart.caption.push_str(" The axis is logarithmic.");
        }
        chart
    }
}

/// Returns the highest value of some curves.
fn highest(curves: &[&Curve]) -> f64 {
    curves.iter().filter_map(|curve| curve.most()).max().unwrap_or(0).max(1) as f64
}

/// Factor above the data beyond which a bound is not drawn: it would leave no space for the data.
const NEAR: f64 = 2.5;

/// Returns the top of a chart, and true if its bound lies above.
fn room(most: f64, bound: f64) -> (f64, bool) {
    if bound > most * NEAR { (most, true) } else { (most.max(bound), false) }
}

/// Formats a value of an axis in words.
fn named(unit: Unit, value: f64) -> String {
    match unit {
        Unit::Bytes => RoughSize(Bytes::new(whole_part(value.round()))).to_string(),
        Unit::Rate => Rate::from_bytes_per_second(value).to_string(),
        Unit::Time => Span::from_seconds(value).to_string(),
    }
}
