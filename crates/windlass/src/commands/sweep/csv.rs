//! The points as CSV: a row a point, under the names that the JSON has. What is
//! not known is empty. No value needs quotes: they are numbers and our own words.

use windlass_base::{Because, Bytes, Limit, Span};

use super::record::{PointFacts, Record};

/// All points.
pub(super) fn table(record: &Record) -> String {
    let mut table = String::new();
    for (place, point) in record.points.iter().enumerate() {
        let fields = fields(point);
        if place == 0 {
            let names: Vec<&str> = fields.iter().map(|(name, _)| *name).collect();
            table.push_str(&format!("{}\n", names.join(",")));
        }
        let values: Vec<&str> = fields.iter().map(|(_, value)| value.as_str()).collect();
        table.push_str(&format!("{}\n", values.join(",")));
    }
    table
}

/// The fields of a point, in the order in which the JSON has them.
fn fields(point: &PointFacts) -> [(&'static str, String); 19] {
    let bytes = |bytes: Bytes| bytes.get().to_string();
    let span = |span: Option<Span>| span.map_or_else(String::new, |span| number(span.as_seconds()));
    let some = |value: Option<f64>| value.map_or_else(String::new, number);
    [
        ("direction", point.direction.to_string()),
        ("window_bytes", bytes(point.window_bytes)),
        ("streams", point.streams.to_string()),
        ("repeats", point.repeats.to_string()),
        ("bits_per_second", number(point.bits_per_second)),
        ("min_bits_per_second", number(point.min_bits_per_second)),
        ("max_bits_per_second", number(point.max_bits_per_second)),
        ("rtt_seconds", span(point.rtt_seconds)),
        ("delivery_delay_seconds", span(point.delivery_delay_seconds)),
        ("retransmissions", point.retransmissions.to_string()),
        ("transmitted_bytes", bytes(point.transmitted_bytes)),
        ("retransmitted_bytes", bytes(point.retransmitted_bytes)),
        ("offered_window_bytes", point.offered_window_bytes.map_or_else(String::new, bytes)),
        ("cpu_seconds_per_gigabyte", some(point.cpu_seconds_per_gigabyte)),
        ("transfer_time_ratio", some(point.transfer_time_ratio)),
        ("tcp_efficiency_percent", some(point.tcp_efficiency_percent)),
        ("buffer_delay_percent", some(point.buffer_delay_percent)),
        ("verdict", point.verdict.map_or("", Limit::id).to_owned()),
        ("because", point.because.map_or("", Because::id).to_owned()),
    ]
}

/// A number in the form that the JSON has.
fn number(value: f64) -> String {
    serde_json::to_string(&value).unwrap_or_default()
}
