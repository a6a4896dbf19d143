//! Figures of the page: measurements, and the laws beside them.

use windlass_base::{Bytes, Rate, Sentence, Span, laws, whole_part};
use windlass_sweep::Direction;
use windlass_sweep::report::{DirectionFacts, PointFacts, SweepReport};

use super::caption;
use crate::figures as numbers;
use crate::html::plot::{Dot, Guide, Plot, Series, SeriesStyle};
use crate::html::scale::Axis;

/// Number of points at which a law is drawn.
const FINE: u32 = 120;

/// Quantity that a sweep varies.
#[derive(Clone, Copy, Debug)]
enum SweptQuantity {
    Window,
    Streams,
}

impl SweptQuantity {
    fn points(self, record: &SweepReport, way: Direction) -> Vec<PointFacts> {
        match self {
            Self::Window => record.windows(way),
            Self::Streams => record.streams(way),
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Window => "the receive window",
            Self::Streams => "the number of parallel streams",
        }
    }

    /// Returns the horizontal axis.
    fn across(self, series: &[Series]) -> Axis {
        let values = values(series, |dot| dot.x);
        match self {
            Self::Window => Axis::doublings("Receive window", &values, size),
            Self::Streams => Axis::doublings("Parallel streams", &values, count),
        }
    }

    /// Returns the bandwidth-delay products and the recommended windows of all directions.
    fn guides(self, record: &SweepReport) -> Vec<Guide> {
        match self {
            Self::Window => guides(record),
            Self::Streams => Vec::new(),
        }
    }
}

/// Plot and its caption.
type FigureWithCaption = (Plot, String);

/// Returns the figures by varied quantity; a quantity with one value has none.
pub(super) fn all(record: &SweepReport) -> Vec<(&'static str, [FigureWithCaption; 2])> {
    let is_varied = |(_, axis): &(&str, SweptQuantity)| {
        record.directions.iter().any(|way| axis.points(record, way.direction).len() > 1)
    };
    [("By the window", SweptQuantity::Window), ("By the number of streams", SweptQuantity::Streams)]
        .into_iter()
        .filter(is_varied)
        .map(|(title, axis)| (title, [rate(record, axis), delay(record, axis)]))
        .collect()
}

fn size(bytes: f64) -> String {
    numbers::size(Bytes::new(whole(bytes))).plain()
}

fn bits(rate: f64) -> String {
    Rate::from_bits_per_second(rate).in_bits().to_string()
}

fn seconds(time: f64) -> String {
    Span::from_seconds(time).to_string()
}

fn whole(value: f64) -> u64 {
    whole_part(value.round())
}

/// Returns the tooltip of a point.
fn says(point: &PointFacts) -> String {
    let streams = numbers::counted(u64::from(point.streams), "stream").plain();
    let window =
        point.window_bytes.map_or("autotuned".to_owned(), |window| size(window.get() as f64));
    let mut says = format!("{window}, {streams}: {}", numbers::both(point.rate()).plain());
    if let Some(rtt) = point.rtt_seconds {
        says.push_str(&format!(", RTT {rtt}"));
    }
    if let Some(delay) = point.delivery_delay_seconds {
        says.push_str(&format!(", delivery delay {delay}"));
    }
    if point.retransmissions > 0 {
        says.push_str(&format!(", {} retransmitted", numbers::count(point.retransmissions)));
    }
    format!("{says}, {}", point.cause())
}

/// Returns the measured series of one quantity, one for each direction.
fn measured(
    record: &SweepReport,
    name: &str,
    color: usize,
    axis: SweptQuantity,
    y: impl Fn(&PointFacts) -> Option<f64>,
) -> Vec<Series> {
    let both = record.directions.len() > 1;
    let series = |(place, way): (usize, &DirectionFacts)| {
        let dots = axis.points(record, way.direction).into_iter().filter_map(|point| {
            let (x, chosen) = match axis {
                SweptQuantity::Window => {
                    // A window that the receiver did not offer is not shown.
                    let window = point.shown_window()?;
                    (window.get() as f64, way.recommended_window_bytes == point.window_bytes)
                }
                SweptQuantity::Streams => {
                    let streams = point.streams;
                    (f64::from(streams), way.recommended_streams == Some(u64::from(streams)))
                }
            };
            Some(Dot { x, y: y(&point)?, says: says(&point), chosen })
        });
        Series {
            name: if both { format!("{name}, {}", way.direction) } else { name.to_owned() },
            color: color + place,
            drawn: SeriesStyle::Measured,
            points: dots.collect(),
        }
    };
    record.directions.iter().enumerate().map(series).collect()
}

/// Returns the series of a law along an axis.
fn law(name: &str, axis: &Axis, of: impl Fn(f64) -> f64) -> Series {
    let dot = |x: f64| Dot { x, y: of(x), says: String::new(), chosen: false };
    Series {
        name: name.to_owned(),
        color: 0,
        drawn: SeriesStyle::Law,
        points: axis.along(FINE).map(dot).collect(),
    }
}

fn values(series: &[Series], of: impl Fn(&Dot) -> f64) -> Vec<f64> {
    series.iter().flat_map(|series| series.points.iter().map(&of)).collect()
}

/// Returns the capacity and the base RTT for the laws; of two directions, those of the first.
fn capacity(record: &SweepReport) -> Option<(Rate, Span)> {
    let way = record.directions.first()?;
    let capacity = Rate::from_bits_per_second(way.capacity_bits_per_second?);
    Some((capacity, record.base_rtt_seconds?))
}

/// Returns the bandwidth-delay products and the smallest windows that are as fast, of all
/// directions.
fn guides(record: &SweepReport) -> Vec<Guide> {
    let both = record.directions.len() > 1;
    let mut guides = Vec::new();
    for way in &record.directions {
        let suffix = if both { format!(", {}", way.direction) } else { String::new() };
        if let Some(product) = way.bdp_bytes {
            let name = format!("bandwidth-delay product {product}{suffix}");
            guides.push(Guide::Upright(product.get() as f64, name));
        }
        if let Some(window) = way.recommended_window_bytes {
            let chosen = way.recommendation.as_ref();
            let is_chosen =
                chosen.is_some_and(|one| one.window_bytes == Some(window) && one.streams == 1);
            let word = if is_chosen { "recommended" } else { "smallest as fast" };
            let name = format!("{word} {}{suffix}", size(window.get() as f64));
            guides.push(Guide::Upright(window.get() as f64, name));
        }
    }
    guides
}

/// Returns the figure of the rate of all streams, beside the laws.
fn rate(record: &SweepReport, axis: SweptQuantity) -> FigureWithCaption {
    let (name, law_name) = match axis {
        SweptQuantity::Window => ("throughput", "the laws: min(C, W / T)"),
        SweptQuantity::Streams => ("throughput of all", "the laws: min(C, n · W / T)"),
    };
    let mut series =
        measured(record, name, 0, axis, |point: &PointFacts| Some(point.bits_per_second));
    let x = axis.across(&series);
    let rates = values(&series, |dot| dot.y);
    let y = match axis {
        SweptQuantity::Window => Axis::amounts("Throughput", &rates, bits),
        // From zero up, as in the paper.
        SweptQuantity::Streams => Axis::linear("Throughput", &rates, bits),
    };
    let window = record.plan.stream_window_bytes;
    if let Some((capacity, rtt)) = capacity(record) {
        let one = laws::window_rate(window, rtt).bits_per_second();
        let of = |x: f64| match axis {
            SweptQuantity::Window => {
                capacity.min(laws::window_rate(Bytes::new(whole(x)), rtt)).bits_per_second()
            }
            SweptQuantity::Streams => (one * x).min(capacity.bits_per_second()),
        };
        series.insert(0, law(law_name, &x, of));
    }
    let (id, says, caption) = match axis {
        SweptQuantity::Window => (
            "rate-by-window",
            told(record, |way| way.window_reason.as_ref()),
            caption::rate_by_window(record),
        ),
        SweptQuantity::Streams => (
            "rate-by-streams",
            told(record, |way| way.streams_reason.as_ref()),
            caption::rate_by_streams(record),
        ),
    };
    let title = format!("Throughput against {}", axis.name());
    let (guides, band) = (axis.guides(record), Vec::new());
    (Plot { id, title, says, x, y, series, guides, band, height: Plot::HIGH }, caption)
}

/// Returns the figure of the delay of a packet, and of the RTT under load.
fn delay(record: &SweepReport, axis: SweptQuantity) -> FigureWithCaption {
    let delay = |point: &PointFacts| point.delivery_delay_seconds.map(Span::as_seconds);
    let rtt = |point: &PointFacts| point.rtt_seconds.map(Span::as_seconds);
    let mut series = measured(record, "delivery delay", 0, axis, delay);
    series.extend(measured(record, "RTT under load", 2, axis, rtt));
    let x = axis.across(&series);
    let y = Axis::amounts("Delay", &values(&series, |dot| dot.y), seconds);
    let (id, says, caption) = match axis {
        SweptQuantity::Window => (
            "delay-by-window",
            told(record, |way| way.low_delay_reason.as_ref()),
            caption::delay_by_window(record),
        ),
        SweptQuantity::Streams => (
            "delay-by-streams",
            told(record, |way| way.streams_reason.as_ref()),
            caption::delay_by_streams(record),
        ),
    };
    let mut guides = axis.guides(record);
    if let Some(base) = record.base_rtt_seconds {
        guides.push(Guide::Level(base.as_seconds(), format!("base RTT {base}")));
    }
    let title = format!("Packet-delivery delay against {}", axis.name());
    (Plot { id, title, says, x, y, series, guides, band: Vec::new(), height: Plot::HIGH }, caption)
}

fn count(value: f64) -> String {
    numbers::count(whole(value))
}

/// Returns the reasons of all directions as one text.
fn told(record: &SweepReport, of: impl Fn(&DirectionFacts) -> Option<&Sentence>) -> String {
    let all = record.directions.iter().filter_map(of);
    let all: Vec<String> = all.map(ToString::to_string).collect();
    all.join(" ")
}
