//! Export of a test as a data file of flent, so that flent can plot it beside its own.
//!
//! The format is version 4 of flent's data files, as flent 2.3.0 reads them (`flent/resultset.py`):
//! JSON, compressed with gzip. Times count from the start. Each series has a list of as many
//! values, and the same values again as points with their own times. The names of series are those
//! of flent's tests `tcp_nup`, `tcp_ndown`, `tcp_bidirectional` and `udp_flood`.

use serde_json::{Map, Value, json};
use windlass_base::{Span, Timestamp};

/// Version of flent's data files.
const VERSION: u32 = 4;
/// Version of flent that these files are tested with.
const FLENT: &str = "2.3.0";

/// Direction of data.
struct Direction {
    /// Name in flent: `TCP upload`.
    name: &'static str,
    /// Received data of each interval.
    points: Vec<Point>,
}

/// Interval of a test.
struct Point {
    /// End of the interval, from the start of the test.
    seconds: f64,
    /// Length of the interval.
    span: f64,
    /// Received Mbit/s.
    mbits: f64,
    /// Values of the sender's kernel, if they are known.
    rtt_ms: Option<f64>,
    window_segments: Option<f64>,
    delivered_mbits: Option<f64>,
}

/// Converts a record of `windlass send` to an uncompressed data file of flent. `host` is the name
/// of this machine.
///
/// All streams are one series, because the record has only their sum: `TCP upload::1` is that sum.
/// There is no series of pings, because the record has only quantiles of the small messages.
///
/// # Errors
/// Returns an error for another record, for a record without intervals, and for datagrams from the
/// server alone, which no flent test has.
pub fn dataset(record: &Value, host: &str) -> Result<Value, &'static str> {
    if !record["schema"].as_str().is_some_and(|name| name.starts_with("windlass.send/")) {
        return Err("it is not a record of windlass send");
    }
    let is_udp = record["transfer"]["udp"] == true;
    let names =
        if is_udp { ["UDP upload", "UDP download"] } else { ["TCP upload", "TCP download"] };
    let ways: Vec<Direction> = ["client", "server"]
        .into_iter()
        .zip(names)
        .map(|(from, name)| Direction { name, points: points(record, from) })
        .filter(|way| !way.points.is_empty())
        .collect();
    if is_udp && ways.first().is_some_and(|way| way.name == "UDP download") {
        return Err("flent has no UDP test that only downloads");
    }
    let Some(longest) = ways.iter().max_by_key(|way| way.points.len()) else {
        return Err("it has no intervals");
    };
    let start = record["start_time"].as_str().and_then(|text| text.parse::<Timestamp>().ok());
    let start = start.unwrap_or_default();
    let times: Vec<f64> = longest.points.iter().map(|point| point.seconds).collect();
    let (mut results, mut raw, mut about) = (Map::new(), Map::new(), Map::new());
    for way in &ways {
        series(way, &times, &mut results);
        raw.insert(way.series(), way.points.iter().map(|point| point.raw(start)).collect());
        let rates = way.points.iter().map(|point| point.mbits * point.span);
        let mean = rates.sum::<f64>() / way.points.iter().map(|point| point.span).sum::<f64>();
        let units = json!({"UNITS": "Mbits/s", "MEAN_VALUE": mean, "RUNNER": "windlass send"});
        about.insert(way.series(), units);
    }
    Ok(json!({
        "version": VERSION,
        "x_values": times,
        "results": results,
        "raw_values": raw,
        "metadata": metadata(record, &ways, start, host, &about),
    }))
}

impl Direction {
    /// Returns the name of the series of received data.
    fn series(&self) -> String {
        if self.is_udp() { self.name.to_owned() } else { format!("{}::1", self.name) }
    }

    fn is_udp(&self) -> bool {
        self.name.starts_with("UDP")
    }
}

/// Returns the intervals of a direction: received data if known, otherwise acknowledged data, each
/// with the values of the sender's kernel.
fn points(record: &Value, from: &str) -> Vec<Point> {
    let intervals: Vec<&Value> = record["intervals"].as_array().into_iter().flatten().collect();
    let of = |role: &'static str| {
        let is_from =
            move |one: &&&Value| one["role"] == role && (one["end"] == from) == (role == "sender");
        intervals.iter().filter(is_from).copied().collect::<Vec<&Value>>()
    };
    // flent has windows in segments, like ss(8).
    let mut ways = record["directions"].as_array().into_iter().flatten();
    let way = ways.find(|way| way["from"] == from);
    let mss = way.and_then(|way| way.pointer("/sender/streams/0/mss_bytes")?.as_f64());
    let mss = mss.filter(|bytes| *bytes > 0.0);
    let (senders, receivers) = (of("sender"), of("receiver"));
    let main = if receivers.is_empty() { &senders } else { &receivers };
    main.iter()
        .enumerate()
        .filter_map(|(place, one)| {
            let kernel = senders.get(place).map(|sender| &sender["sender"]);
            let number = |key: &str| kernel.and_then(|kernel| kernel[key].as_f64());
            let seconds = one["to_seconds"].as_f64()?;
            Some(Point {
                seconds,
                span: seconds - one["from_seconds"].as_f64()?,
                mbits: one["bytes_per_second"].as_f64()? * 8.0 / 1e6,
                rtt_ms: number("rtt_seconds").map(|seconds| seconds * 1e3),
                window_segments: number("congestion_window_bytes")
                    .zip(mss)
                    .map(|(bytes, mss)| bytes / mss),
                delivered_mbits: number("delivery_bytes_per_second").map(|rate| rate * 8.0 / 1e6),
            })
        })
        .collect()
}

impl Point {
    fn raw(&self, start: Timestamp) -> Value {
        let time = start + Span::from_seconds(self.seconds);
        let mut point = json!({
            "t": time.as_nanos() as f64 / 1e9, "val": self.mbits, "dur": self.span,
        });
        for (key, value) in [
            ("tcp_rtt", self.rtt_ms),
            ("tcp_cwnd", self.window_segments),
            ("tcp_delivery_rate", self.delivered_mbits),
        ] {
            if let Some(value) = value {
                point[key] = json!(value);
            }
        }
        point
    }
}

/// Value of an interval.
type OfPoint = fn(&Point) -> Option<f64>;

/// Adds the series of a direction, with a value for each time of the direction.
fn series(way: &Direction, times: &[f64], results: &mut Map<String, Value>) {
    let all = |value: &dyn Fn(&Point) -> Option<f64>| -> Value {
        let values = (0..times.len()).map(|place| way.points.get(place).and_then(value));
        values.collect::<Vec<Option<f64>>>().into()
    };
    let rates = all(&|point| Some(point.mbits));
    if !way.is_udp() {
        for of in ["sum", "avg"] {
            results.insert(format!("{} {of}", way.name), rates.clone());
        }
    }
    results.insert(way.series(), rates);
    let of_kernel: [(&str, OfPoint); 3] = [
        ("tcp_rtt", |point| point.rtt_ms),
        ("tcp_cwnd", |point| point.window_segments),
        ("tcp_delivery_rate", |point| point.delivered_mbits),
    ];
    for (key, value) in of_kernel {
        if way.points.iter().any(|point| value(point).is_some()) {
            results.insert(format!("{}::{key}", way.series()), all(&value));
        }
    }
}

fn metadata(
    record: &Value,
    ways: &[Direction],
    start: Timestamp,
    host: &str,
    series: &Map<String, Value>,
) -> Value {
    let (test, streams) = match ways {
        [one, ..] if one.is_udp() => ("udp_flood", None),
        [one] if one.name == "TCP upload" => ("tcp_nup", Some("upload_streams")),
        [_] => ("tcp_ndown", Some("download_streams")),
        _ => ("tcp_bidirectional", Some("bidir_streams")),
    };
    let points = || ways.iter().flat_map(|way| &way.points);
    let length = points().map(|point| point.seconds).fold(0.0, f64::max);
    let step = points().map(|point| point.span).fold(f64::MAX, f64::min);
    // `2026-11-26T11:26:17.745176438Z`, of which flent reads microseconds.
    let text = start.to_string();
    let time = format!("{}Z", text.get(..26).unwrap_or(&text));
    let parameters: Map<String, Value> =
        streams.into_iter().map(|streams| (streams.to_owned(), json!("1"))).collect();
    json!({
        "NAME": test,
        "TITLE": "",
        "NOTE": "measured by windlass send",
        "DATA_FILENAME": null,
        "HOST": record["host"],
        "HOSTS": [record["host"]],
        "LOCAL_HOST": host,
        "IP_VERSION": if record["address"].as_str().unwrap_or_default().starts_with('[') { 6 } else { 4 },
        "LENGTH": length,
        "TOTAL_LENGTH": length,
        "STEP_SIZE": step,
        "TIME": time,
        "T0": time,
        "TEST_PARAMETERS": parameters,
        "FAILED_RUNNERS": 0,
        "FLENT_VERSION": FLENT,
        "SERIES_META": series,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interval(end: &str, role: &str, to: f64, rate: f64, sender: &Value) -> Value {
        json!({"end": end, "role": role, "from_seconds": to - 1.0, "to_seconds": to,
               "bytes_per_second": rate, "sender": sender})
    }

    #[test]
    fn what_arrived_is_drawn_beside_what_the_kernel_knew() {
        let kernel = |rtt: f64| {
            json!({"rtt_seconds": rtt, "congestion_window_bytes": 14480,
                                       "delivery_bytes_per_second": 2e6})
        };
        let record = json!({
            "schema": "windlass.send/2", "host": "printer", "address": "192.0.2.9:5201",
            "start_time": "2026-11-26T11:26:17.745176438Z",
            "directions": [{"from": "client", "sender": {"streams": [{"mss_bytes": 1448}]}}],
            "intervals": [
                interval("server", "receiver", 1.0, 1e6, &json!(null)),
                interval("client", "sender", 1.0, 1.1e6, &kernel(0.02)),
                interval("server", "receiver", 2.0, 3e6, &json!(null)),
                interval("client", "sender", 2.0, 2.9e6, &kernel(0.03)),
            ],
        });
        let file = dataset(&record, "desk").unwrap();
        assert_eq!(file["x_values"], json!([1.0, 2.0]));
        assert_eq!(file["results"]["TCP upload sum"], json!([8.0, 24.0]));
        assert_eq!(file["results"]["TCP upload::1::tcp_rtt"], json!([20.0, 30.0]));
        assert_eq!(file["results"]["TCP upload::1::tcp_cwnd"], json!([10.0, 10.0]));
        let raw = &file["raw_values"]["TCP upload::1"][1];
        assert_eq!((&raw["val"], &raw["tcp_delivery_rate"]), (&json!(24.0), &json!(16.0)));
        assert!((raw["t"].as_f64().unwrap() - 1_795_692_379.745_176).abs() < 1e-3, "{raw}");
        let about = &file["metadata"];
        assert_eq!(
            (&about["NAME"], &about["TIME"]),
            (&json!("tcp_nup"), &json!("2026-11-26T11:26:17.745176Z"))
        );
        assert_eq!(about["SERIES_META"]["TCP upload::1"]["MEAN_VALUE"], 16.0);
    }

    #[test]
    fn both_ways_are_two_series_of_one_length() {
        let none = json!(null);
        let record = json!({
            "schema": "windlass.send/2", "host": "h", "address": "[::1]:5201",
            "intervals": [
                interval("server", "receiver", 1.0, 1e6, &none),
                interval("client", "receiver", 1.0, 2e6, &none),
                interval("client", "receiver", 2.0, 2e6, &none),
            ],
        });
        let file = dataset(&record, "desk").unwrap();
        assert_eq!(file["results"]["TCP upload::1"], json!([8.0, null]));
        assert_eq!(file["results"]["TCP download::1"], json!([16.0, 16.0]));
        assert_eq!(file["metadata"]["NAME"], "tcp_bidirectional");
        assert_eq!(file["metadata"]["IP_VERSION"], 6);
        for wrong in [json!({"schema": "windlass.ping/2"}), json!(null)] {
            assert_eq!(dataset(&wrong, "").unwrap_err(), "it is not a record of windlass send");
        }
        let bare = json!({"schema": "windlass.send/2", "intervals": []});
        assert_eq!(dataset(&bare, "").unwrap_err(), "it has no intervals");
    }
}
