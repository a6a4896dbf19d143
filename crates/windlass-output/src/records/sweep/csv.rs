//! Points as CSV: a row for each point, with the names and numbers of the JSON. Unknown values are
//! empty. No value needs quotes: they are numbers and words of windlass.

use serde_json::{Value, json};
use windlass_sweep::report::SweepReport;

/// Fields of a point, in the order of the JSON.
const COLUMNS: [&str; 25] = [
    "direction",
    "window_bytes",
    "streams",
    "asked_congestion",
    "congestion",
    "repeats",
    "bits_per_second",
    "min_bits_per_second",
    "max_bits_per_second",
    "half_width",
    "rtt_seconds",
    "queueing_delay_seconds",
    "small_rtt_seconds",
    "small_rtt_p99_seconds",
    "delivery_delay_seconds",
    "retransmissions",
    "transmitted_bytes",
    "retransmitted_bytes",
    "offered_window_bytes",
    "cpu_seconds_per_gigabyte",
    "transfer_time_ratio",
    "tcp_efficiency_percent",
    "buffer_delay_percent",
    "verdict",
    "because",
];

/// Returns the table of all points.
pub fn table(record: &SweepReport) -> String {
    let mut table = format!("{}\n", COLUMNS.join(","));
    for point in &record.points {
        let point = json!(point);
        let fields = COLUMNS.map(|name| match &point[name] {
            Value::Null => String::new(),
            Value::String(word) => word.clone(),
            number => number.to_string(),
        });
        table.push_str(&format!("{}\n", fields.join(",")));
    }
    table
}
