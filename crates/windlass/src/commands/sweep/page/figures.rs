//! The figures of the page: those of the paper, and the laws beside them.

use windlass_base::{Bytes, Rate, Span, laws};
use windlass_drive::sweep::Direction;

use super::super::record::{DirectionFacts, PointFacts, Record};
use super::plot::{Dot, Drawn, Guide, Plot, Series};
use super::scale::Axis;
use crate::print::figures as numbers;

/// A law is drawn through so many places.
const FINE: u32 = 120;

/// What is varied.
#[derive(Clone, Copy, Debug)]
enum Varied {
    Window,
    Streams,
}

impl Varied {
    fn points(self, record: &Record, way: Direction) -> Vec<PointFacts> {
        match self {
            Self::Window => record.windows(way),
            Self::Streams => record.streams(way),
        }
    }
}

/// A plot and what it shows.
type Figure = (Plot, String);

/// The figures by what is varied; what has one value only has none.
pub(super) fn all(record: &Record) -> Vec<(&'static str, Vec<Figure>)> {
    let varied = |axis: Varied| {
        record.directions.iter().any(|way| axis.points(record, way.direction).len() > 1)
    };
    let mut all = Vec::new();
    if varied(Varied::Window) {
        all.push(("By the window", vec![rate_by_window(record), delay_by_window(record)]));
    }
    if varied(Varied::Streams) {
        all.push((
            "By the number of streams",
            vec![rate_by_streams(record), delay_by_streams(record)],
        ));
    }
    all
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

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "casts saturate")]
fn whole(value: f64) -> u64 {
    value.round() as u64
}

/// What a point says under the pointer.
fn says(point: &PointFacts) -> String {
    let streams = numbers::counted(u64::from(point.streams), "stream").plain();
    let mut says =
        format!("{}, {streams}: {}", size(point.window_bytes.get() as f64), point.rate().in_bits());
    if let Some(rtt) = point.rtt_seconds {
        says.push_str(&format!(", RTT {rtt}"));
    }
    if let Some(delay) = point.delivery_delay_seconds {
        says.push_str(&format!(", delivery delay {delay}"));
    }
    if point.retransmissions > 0 {
        says.push_str(&format!(", {} sent again", numbers::count(point.retransmissions)));
    }
    format!("{says}, {}", point.cause())
}

/// The measured series of one quantity, one for each direction.
fn measured(
    record: &Record,
    name: &str,
    color: usize,
    axis: Varied,
    y: impl Fn(&PointFacts) -> Option<f64>,
) -> Vec<Series> {
    let both = record.directions.len() > 1;
    let series = |(place, way): (usize, &DirectionFacts)| {
        let dots = axis.points(record, way.direction).into_iter().filter_map(|point| {
            let (x, chosen) = match axis {
                Varied::Window => {
                    let window = point.window_bytes;
                    (window.get() as f64, way.recommended_window_bytes == Some(window))
                }
                Varied::Streams => {
                    let streams = point.streams;
                    (f64::from(streams), way.recommended_streams == Some(u64::from(streams)))
                }
            };
            Some(Dot { x, y: y(&point)?, says: says(&point), chosen })
        });
        Series {
            name: if both { format!("{name}, {}", way.direction) } else { name.to_owned() },
            color: color + place,
            drawn: Drawn::Measured,
            points: dots.collect(),
        }
    };
    record.directions.iter().enumerate().map(series).collect()
}

/// A law along an axis.
fn law(name: &str, axis: &Axis, of: impl Fn(f64) -> f64) -> Series {
    let dot = |x: f64| Dot { x, y: of(x), says: String::new(), chosen: false };
    Series {
        name: name.to_owned(),
        color: 0,
        drawn: Drawn::Law,
        points: axis.along(FINE).map(dot).collect(),
    }
}

fn values(series: &[Series], of: impl Fn(&Dot) -> f64) -> Vec<f64> {
    series.iter().flat_map(|series| series.points.iter().map(&of)).collect()
}

/// The capacity and the base round trip that the laws go by; of two directions
/// the first.
fn capacity(record: &Record) -> Option<(Rate, Span)> {
    let way = record.directions.first()?;
    let capacity = Rate::from_bits_per_second(way.capacity_bits_per_second?);
    Some((capacity, record.base_rtt_seconds?))
}

/// The products and the recommended windows of all directions.
fn guides(record: &Record) -> Vec<Guide> {
    let both = record.directions.len() > 1;
    let mut guides = Vec::new();
    for way in &record.directions {
        let suffix = if both { format!(", {}", way.direction) } else { String::new() };
        if let Some(product) = way.bdp_bytes {
            let name = format!("bandwidth-delay product {product}{suffix}");
            guides.push(Guide::Upright(product.get() as f64, name));
        }
        if let Some(window) = way.recommended_window_bytes {
            let name = format!("recommended {}{suffix}", size(window.get() as f64));
            guides.push(Guide::Upright(window.get() as f64, name));
        }
    }
    guides
}

fn rate_by_window(record: &Record) -> Figure {
    let rate = |point: &PointFacts| Some(point.bits_per_second);
    let mut series = measured(record, "throughput", 0, Varied::Window, rate);
    let x = Axis::doublings("Receive window", &values(&series, |dot| dot.x), size);
    let y = Axis::amounts("Throughput", &values(&series, |dot| dot.y), bits);
    if let Some((capacity, rtt)) = capacity(record) {
        let of = |window: f64| {
            let window = laws::window_rate(Bytes::new(whole(window)), rtt);
            capacity.min(window).bits_per_second()
        };
        series.insert(0, law("the laws: min(C, W / T)", &x, of));
    }
    let plot = Plot {
        id: "rate-by-window",
        title: "Throughput against the receive window".to_owned(),
        says: told(record, |way| way.window_reason.as_deref()),
        x,
        y,
        series,
        guides: guides(record),
    };
    let caption = "One stream. Up to the bandwidth-delay product the rate is the window over the \
                   round trip; beyond it the path carries no more.";
    (plot, caption.to_owned())
}

fn delay_by_window(record: &Record) -> Figure {
    let delay = |point: &PointFacts| point.delivery_delay_seconds.map(Span::as_seconds);
    let rtt = |point: &PointFacts| point.rtt_seconds.map(Span::as_seconds);
    let mut series = measured(record, "delivery delay", 0, Varied::Window, delay);
    series.extend(measured(record, "RTT under load", 2, Varied::Window, rtt));
    let x = Axis::doublings("Receive window", &values(&series, |dot| dot.x), size);
    let y = Axis::amounts("Delay", &values(&series, |dot| dot.y), seconds);
    let plot = Plot {
        id: "delay-by-window",
        title: "Packet-delivery delay against the receive window".to_owned(),
        says: told(record, |way| way.low_delay_reason.as_deref()),
        x,
        y,
        series,
        guides: with_base(record, guides(record)),
    };
    let caption = "One stream. The delivery delay is W / rate less the path's own round trip: what \
                   a packet waits for others. Small windows wait for ACKs and fill no segment, \
                   large ones wait in queues.";
    (plot, caption.to_owned())
}

fn rate_by_streams(record: &Record) -> Figure {
    let rate = |point: &PointFacts| Some(point.bits_per_second);
    let mut series = measured(record, "throughput of all", 0, Varied::Streams, rate);
    let x = Axis::doublings("Parallel streams", &values(&series, |dot| dot.x), count);
    // From nothing up, as in the paper.
    let y = Axis::linear("Throughput", &values(&series, |dot| dot.y), bits);
    if let Some((capacity, rtt)) = capacity(record) {
        let one = laws::window_rate(record.plan.stream_window_bytes, rtt).bits_per_second();
        let of = |streams: f64| (one * streams).min(capacity.bits_per_second());
        series.insert(0, law("the laws: min(C, n · W / T)", &x, of));
    }
    let plot = Plot {
        id: "rate-by-streams",
        title: "Throughput against the number of parallel streams".to_owned(),
        says: told(record, |way| way.streams_reason.as_deref()),
        x,
        y,
        series,
        guides: Vec::new(),
    };
    let window = numbers::size(record.plan.stream_window_bytes).plain();
    (plot, format!("Each stream has a window of {window}. The rates of all streams are summed."))
}

fn delay_by_streams(record: &Record) -> Figure {
    let delay = |point: &PointFacts| point.delivery_delay_seconds.map(Span::as_seconds);
    let rtt = |point: &PointFacts| point.rtt_seconds.map(Span::as_seconds);
    let mut series = measured(record, "delivery delay", 0, Varied::Streams, delay);
    series.extend(measured(record, "RTT under load", 2, Varied::Streams, rtt));
    let x = Axis::doublings("Parallel streams", &values(&series, |dot| dot.x), count);
    let y = Axis::amounts("Delay", &values(&series, |dot| dot.y), seconds);
    let plot = Plot {
        id: "delay-by-streams",
        title: "Packet-delivery delay against the number of parallel streams".to_owned(),
        says: told(record, |way| way.streams_reason.as_deref()),
        x,
        y,
        series,
        guides: with_base(record, Vec::new()),
    };
    let window = numbers::size(record.plan.stream_window_bytes).plain();
    (
        plot,
        format!("Each stream has a window of {window}. Streams beyond the path's capacity queue."),
    )
}

fn count(value: f64) -> String {
    numbers::count(whole(value))
}

fn with_base(record: &Record, mut guides: Vec<Guide>) -> Vec<Guide> {
    if let Some(base) = record.base_rtt_seconds {
        guides.push(Guide::Level(base.as_seconds(), format!("base RTT {base}")));
    }
    guides
}

/// The reasons of all directions as one text.
fn told(record: &Record, of: impl Fn(&DirectionFacts) -> Option<&str>) -> String {
    let all: Vec<&str> = record.directions.iter().filter_map(of).collect();
    all.join(" ")
}
