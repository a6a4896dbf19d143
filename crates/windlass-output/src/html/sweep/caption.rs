//! Captions of the figures: only claims that the points support.

use windlass_base::figures::Share;
use windlass_base::{Rate, Span, laws};
use windlass_sweep::report::{DirectionFacts, PointFacts, SweepReport};

use crate::figures as numbers;

/// Ratio of a rate to its law at which the rate follows the law. The round trip also contains the
/// window's last segment and the hosts' own time.
const FOLLOWS: std::ops::RangeInclusive<f64> = 0.85..=1.1;
/// Minimum share of the capacity at which a path is full.
const FULL: f64 = 0.95;
/// Shares of the bandwidth-delay product below and above which a window lies clearly on one side.
const SIDES: (f64, f64) = (0.9, 1.25);
/// Minimum factor at which one time counts as longer than another.
const LONGER: f64 = 1.25;

/// Returns the caption of the rate by window.
pub(super) fn rate_by_window(record: &SweepReport) -> String {
    let mut said = "One stream.".to_owned();
    for way in &record.directions {
        said.push_str(&of(record, way, &by_product(record, way)));
    }
    said
}

/// Describes the rates on both sides of the bandwidth-delay product.
fn by_product(record: &SweepReport, way: &DirectionFacts) -> String {
    let (Some(product), Some(base)) = (way.bdp_bytes, record.base_rtt_seconds) else {
        return "the RTT is not known.".to_owned();
    };
    let capacity = way.capacity_bits_per_second.unwrap_or(0.0);
    let product = product.get() as f64;
    let (mut below, mut beyond) = (Vec::new(), Vec::new());
    for point in record.windows(way.direction) {
        let Some(window) = point.shown_window() else { continue };
        let size = window.get() as f64;
        if size < product * SIDES.0 {
            below.push(point.bits_per_second / laws::window_rate(window, base).bits_per_second());
        } else if size >= product * SIDES.1 {
            beyond.push(point.bits_per_second / capacity);
        }
    }
    let mut parts = Vec::new();
    match span(&below) {
        Some((least, most)) if FOLLOWS.contains(&least) && FOLLOWS.contains(&most) => {
            parts.push(
                "below the bandwidth-delay product the rate is the window over the RTT".to_owned(),
            );
        }
        Some((least, most)) => parts.push(format!(
            "below the bandwidth-delay product the rate is {} of the window over the RTT",
            shares(least, most)
        )),
        None => {}
    }
    match span(&beyond) {
        Some((least, _)) if least >= FULL => {
            parts.push("beyond it the path carries no more".to_owned());
        }
        Some((least, most)) => {
            parts
                .push(format!("beyond it one stream gets {} of the capacity", shares(least, most)));
        }
        None => {}
    }
    if parts.is_empty() {
        "all windows are near the product.".to_owned()
    } else {
        parts.join("; ") + "."
    }
}

/// Returns the caption of the delay by window.
pub(super) fn delay_by_window(record: &SweepReport) -> String {
    let mut said =
        "One stream. The delivery delay is W / rate minus the base RTT: the time that a packet \
         waits for others."
            .to_owned();
    for way in &record.directions {
        let points = record.windows(way.direction);
        let delays: Vec<Span> =
            points.iter().filter_map(|one| one.delivery_delay_seconds).collect();
        let (Some(first), Some(last), Some(least)) =
            (delays.first(), delays.last(), delays.iter().min())
        else {
            continue;
        };
        let base = record.base_rtt_seconds.unwrap_or_default();
        let longer = |delay: &Span| *delay > least.scaled(LONGER) + base.scaled(LONGER - 1.0);
        let text = match (longer(first), longer(last)) {
            (true, true) => "small windows wait for ACKs, large ones in queues.",
            (true, false) => "small windows wait for ACKs.",
            (false, true) => "large windows wait in queues.",
            (false, false) => "all windows wait about as long.",
        };
        said.push_str(&of(record, way, text));
    }
    said
}

/// Returns the caption of the rate by number of streams.
pub(super) fn rate_by_streams(record: &SweepReport) -> String {
    let window = record.plan.stream_window_bytes;
    let mut said = format!(
        "Each stream has a window of {}. The rates of all streams are summed.",
        numbers::size(window).plain()
    );
    for way in &record.directions {
        let points = record.streams(way.direction);
        let (Some(most), Some(last)) = (fastest(&points), points.last()) else { continue };
        let full = way.capacity_bits_per_second.unwrap_or(0.0);
        let mut text = if most.bits_per_second >= full * FULL {
            format!("{} fill the path", streams(&most))
        } else {
            format!(
                "{} get the most, {} of the capacity",
                streams(&most),
                Share(most.bits_per_second / full)
            )
        };
        if last.bits_per_second < most.bits_per_second * FULL {
            text.push_str(&format!(
                "; {} get less, {}",
                streams(last),
                Rate::from_bits_per_second(last.bits_per_second).in_bits()
            ));
        }
        said.push_str(&of(record, way, &(text + ".")));
    }
    said
}

/// Returns the caption of the delay by number of streams.
pub(super) fn delay_by_streams(record: &SweepReport) -> String {
    let window = numbers::size(record.plan.stream_window_bytes).plain();
    let mut said = format!("Each stream has a window of {window}.");
    for way in &record.directions {
        let points = record.streams(way.direction);
        let rtts: Vec<Span> = points.iter().filter_map(|point| point.rtt_seconds).collect();
        let (Some(first), Some(last)) = (rtts.first(), rtts.last()) else { continue };
        let text = if *last > first.scaled(LONGER) {
            format!("the RTT grows from {first} to {last} with the streams: they queue.")
        } else {
            "the RTT does not grow with the streams.".to_owned()
        };
        said.push_str(&of(record, way, &text));
    }
    said
}

/// Returns a sentence about a direction, with its name if there are two.
fn of(record: &SweepReport, way: &DirectionFacts, text: &str) -> String {
    if record.directions.len() > 1 {
        return format!(" {}: {text}", if way.direction.id() == "up" { "Up" } else { "Down" });
    }
    let mut letters = text.chars();
    let first: String = letters.next().into_iter().flat_map(char::to_uppercase).collect();
    format!(" {first}{}", letters.as_str())
}

fn streams(point: &PointFacts) -> String {
    numbers::counted(u64::from(point.streams), "stream").plain()
}

/// Returns the point with the fewest streams at about the highest rate.
fn fastest(points: &[PointFacts]) -> Option<PointFacts> {
    let most = points.iter().map(|point| point.bits_per_second).fold(0.0, f64::max);
    points.iter().find(|point| point.bits_per_second >= most * 0.98).copied()
}

fn span(values: &[f64]) -> Option<(f64, f64)> {
    let least = values.iter().copied().reduce(f64::min)?;
    Some((least, values.iter().copied().reduce(f64::max)?))
}

fn shares(least: f64, most: f64) -> String {
    let (least, most) = (Share(least).to_string(), Share(most).to_string());
    if least == most { least } else { format!("{least} to {most}") }
}
