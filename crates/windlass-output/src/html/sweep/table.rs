//! Points as a table.

use windlass_base::Rate;
use windlass_base::figures::fixed;
use windlass_sweep::report::{PointFacts, SweepReport};

use super::suffix;
use crate::figures;
use crate::html::escaped;
use crate::records::sweep as text;

/// Column: its name, whether its cells are words, and the function that returns a point's cell.
type Column = (&'static str, bool, fn(&PointFacts) -> String);

const COLUMNS: [Column; 13] = [
    ("Window", false, |point| {
        point
            .window_bytes
            .map_or_else(|| "autotuned".to_owned(), |size| figures::size(size).plain())
    }),
    ("Streams", false, |point| point.streams.to_string()),
    ("Congestion", true, text::congestion),
    ("Throughput", false, |point| figures::both(point.rate()).plain()),
    ("±", false, |point| {
        known(point.half_width.map(|width| format!("{} %", fixed(width * 100.0, 1))))
    }),
    (RANGE, false, range),
    ("RTT under load", false, |point| known(point.rtt_seconds)),
    ("Delivery delay", false, |point| known(point.delivery_delay_seconds)),
    ("Retransmitted", false, |point| figures::count(point.retransmissions)),
    ("Time ratio", false, |point| known(point.transfer_time_ratio.map(ratio))),
    ("Efficiency", false, |point| {
        known(point.tcp_efficiency_percent.map(|share| format!("{} %", fixed(share, 2))))
    }),
    ("Buffer delay", false, |point| {
        known(point.buffer_delay_percent.map(|share| format!("{} %", fixed(share, 1))))
    }),
    ("Verdict", true, PointFacts::cause),
];

const RANGE: &str = "Range";

/// Writes all points, direction by direction.
pub(super) fn put(page: &mut String, record: &SweepReport) {
    // A single measurement has no range.
    let is_there = |column: &&Column| column.0 != RANGE || record.plan.repeat > 1;
    let class = |word: bool| if word { " class=\"word\"" } else { "" };
    for way in &record.directions {
        let title = format!("Points{}", suffix(record, way.direction));
        page.push_str(&format!("<h2>{title}</h2>\n<table>\n<thead><tr>"));
        for (name, word, _) in COLUMNS.iter().filter(is_there) {
            page.push_str(&format!("<th scope=\"col\"{}>{name}</th>", class(*word)));
        }
        page.push_str("</tr></thead>\n<tbody>\n");
        let own = |point: &&PointFacts| point.direction == way.direction;
        for point in record.points.iter().filter(own) {
            let chosen = text::is_chosen(way, point);
            page.push_str(if chosen { "<tr class=\"best\">" } else { "<tr>" });
            for (name, word, cell) in COLUMNS.iter().filter(is_there) {
                let (class, cell) = (class(*word), escaped(&cell(point)));
                page.push_str(&format!("<td{class} data-name=\"{name}\">{cell}</td>"));
            }
            page.push_str("</tr>\n");
        }
        page.push_str("</tbody>\n</table>\n");
    }
}

fn bits(bits: f64) -> String {
    Rate::from_bits_per_second(bits).in_bits().to_string()
}

fn known(value: Option<impl ToString>) -> String {
    value.map_or_else(|| "?".to_owned(), |value| value.to_string())
}

fn range(point: &PointFacts) -> String {
    match point.repeats {
        1 => "once".to_owned(),
        _ => format!("{} to {}", bits(point.min_bits_per_second), bits(point.max_bits_per_second)),
    }
}

/// Returns a ratio with three decimals, and with fewer from 10 and from 1,000 on.
fn ratio(ratio: f64) -> String {
    match ratio {
        ratio if ratio < 10.0 => fixed(ratio, 3),
        ratio if ratio < 1_000.0 => fixed(ratio, 1),
        ratio => fixed(ratio, 0),
    }
}
