//! The points as a table.

use windlass_base::Span;
use windlass_drive::sweep::Direction;

use super::super::record::{PointFacts, Record};
use super::{escaped, suffix};
use crate::print::figures;

/// The names of the columns, and whether words stand in them.
const COLUMNS: [(&str, bool); 11] = [
    ("Window", false),
    ("Streams", false),
    ("Throughput", false),
    (RANGE, false),
    ("RTT under load", false),
    ("Delivery delay", false),
    ("Sent again", false),
    ("Time ratio", false),
    ("Efficiency", false),
    ("Buffer delay", false),
    ("Verdict", true),
];

const RANGE: &str = "Least to most";

/// All points, direction by direction.
pub(super) fn put(page: &mut String, record: &Record) {
    for way in &record.directions {
        let title = format!("Points{}", suffix(record, way.direction));
        page.push_str(&format!("<h2>{title}</h2>\n<div class=\"wide\"><table>\n<thead><tr>"));
        // Of one measurement there is no range.
        let columns = COLUMNS.iter().filter(|(name, _)| *name != RANGE || record.plan.repeat > 1);
        for (name, word) in columns {
            let class = if *word { " class=\"word\"" } else { "" };
            page.push_str(&format!("<th scope=\"col\"{class}>{name}</th>"));
        }
        page.push_str("</tr></thead>\n<tbody>\n");
        let own = |point: &&PointFacts| point.direction == way.direction;
        for point in record.points.iter().filter(own) {
            let chosen = is_chosen(record, way.direction, point);
            row(page, point, chosen, record.plan.repeat > 1);
        }
        page.push_str("</tbody>\n</table></div>\n");
    }
}

/// Whether a point is the window or the number of streams that is recommended.
fn is_chosen(record: &Record, way: Direction, point: &PointFacts) -> bool {
    let Some(way) = record.directions.iter().find(|facts| facts.direction == way) else {
        return false;
    };
    let window = point.streams == 1 && way.recommended_window_bytes == Some(point.window_bytes);
    let streams = point.window_bytes == record.plan.stream_window_bytes
        && way.recommended_streams == Some(u64::from(point.streams));
    window || streams
}

fn row(page: &mut String, point: &PointFacts, chosen: bool, ranged: bool) {
    let time = |time: Option<Span>| time.map_or_else(|| "?".to_owned(), |time| time.to_string());
    let number = |value: Option<f64>, places: usize, unit: &str| {
        value.map_or_else(|| "?".to_owned(), |value| format!("{value:.places$}{unit}"))
    };
    let bits = |bits: f64| windlass_base::Rate::from_bits_per_second(bits).in_bits().to_string();
    let range = match point.repeats {
        1 => "once".to_owned(),
        _ => {
            format!("{} to {}", bits(point.min_bits_per_second), bits(point.max_bits_per_second))
        }
    };
    let cells = [
        figures::size(point.window_bytes).plain(),
        point.streams.to_string(),
        bits(point.bits_per_second),
        range,
        time(point.rtt_seconds),
        time(point.delivery_delay_seconds),
        figures::count(point.retransmissions),
        point.transfer_time_ratio.map_or_else(|| "?".to_owned(), ratio),
        number(point.tcp_efficiency_percent, 2, " %"),
        number(point.buffer_delay_percent, 1, " %"),
        point.cause(),
    ];
    page.push_str(if chosen { "<tr class=\"best\">" } else { "<tr>" });
    for (cell, (name, word)) in cells.iter().zip(COLUMNS) {
        if name == RANGE && !ranged {
            continue;
        }
        let class = if word { " class=\"word\"" } else { "" };
        page.push_str(&format!("<td{class}>{}</td>", escaped(cell)));
    }
    page.push_str("</tr>\n");
}

/// A ratio with three figures behind the first, or as a count where it is large.
fn ratio(ratio: f64) -> String {
    match ratio {
        ratio if ratio < 10.0 => format!("{ratio:.3}"),
        ratio if ratio < 1_000.0 => format!("{ratio:.1}"),
        ratio => format!("{ratio:.0}"),
    }
}
