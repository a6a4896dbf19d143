//! Export of a test in the format of `iperf3 --json`, for perfSONAR, dashboards and scripts.
//!
//! The format is that of a client of iperf 3.12 (`iperf_api.c`). iperf3 reports each stream per
//! second, but a windlass record has only the sum of a direction's streams. So an interval has one
//! stream that stands for all, and the end has each stream by itself. Figures that nobody measured
//! are left out; the socket number is that of the stream.

use serde_json::{Map, Value, json};
use windlass_base::Timestamp;

/// Version of iperf3 whose format this is.
const IPERF3: &str = "3.12";

/// Number of the first stream, which is iperf3's usual first socket.
const FIRST_SOCKET: u64 = 5;

/// Direction of data.
struct Direction<'a> {
    record: &'a Value,
    /// True if the client sent the data.
    is_sent: bool,
    is_udp: bool,
}

/// Converts a record of `windlass send` to iperf3's format. `system` describes this machine as
/// `uname -a` does.
///
/// # Errors
/// Returns an error for another record.
pub fn document(record: &Value, system: &str) -> Result<Value, &'static str> {
    if !record["schema"].as_str().is_some_and(|name| name.starts_with("windlass.send/")) {
        return Err("it is not a record of windlass send");
    }
    let is_udp = record["transfer"]["udp"] == true;
    let ways: Vec<Direction<'_>> = record["directions"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|record| Direction { record, is_sent: record["from"] == "client", is_udp })
        .collect();
    let mut told = json!({
        "start": start(record, &ways, system),
        "intervals": intervals(record, &ways),
        "end": end(&ways),
    });
    if let Some(wrong) = record["failure"].as_str() {
        told["error"] = json!(wrong);
    } else if record["interrupted"] == true {
        told["error"] = json!("interrupt - the client has terminated");
    }
    Ok(told)
}

/// Removes members that nobody measured.
fn known(value: Value) -> Value {
    let Value::Object(members) = value else { return value };
    members.into_iter().filter(|(_, value)| !value.is_null()).collect::<Map<_, _>>().into()
}

fn number(of: &Value, key: &str) -> Option<f64> {
    of[key].as_f64()
}

/// Returns seconds as whole microseconds.
fn micros(of: &Value, key: &str) -> Option<i64> {
    number(of, key).map(|seconds| (seconds * 1e6).round() as i64)
}

fn percent(of: f64, all: f64) -> f64 {
    if all > 0.0 { 100.0 * of / all } else { 0.0 }
}

/// Splits `host:port`, or `[host]:port` for IPv6.
fn place(text: &Value) -> Option<(&str, u16)> {
    let (host, port) = text.as_str()?.rsplit_once(':')?;
    Some((host.trim_start_matches('[').trim_end_matches(']'), port.parse().ok()?))
}

/// Formats a date as `Fri, 27 Nov 2026 03:03:52 GMT`.
fn date(time: Timestamp) -> String {
    let time = jiff::Timestamp::from_nanosecond(time.as_nanos().into()).unwrap_or_default();
    let printer = jiff::fmt::rfc2822::DateTimePrinter::new();
    printer.timestamp_to_rfc9110_string(&time).unwrap_or_default()
}

impl Direction<'_> {
    /// Returns the streams as one of the ends reports them.
    fn streams_of(&self, role: &str) -> impl Iterator<Item = &Value> {
        let end = &self.record[role];
        let all = if self.is_udp { &end["datagrams"]["flows"] } else { &end["streams"] };
        all.as_array().into_iter().flatten()
    }

    /// Returns the role of the client.
    const fn role(&self) -> &'static str {
        if self.is_sent { "sender" } else { "receiver" }
    }

    /// Returns the duration, the bytes and the rate at one of the ends.
    fn totals(&self, role: &str) -> Value {
        let end = &self.record[role];
        json!({
            "start": 0,
            "end": end["seconds"],
            "seconds": end["seconds"],
            "bytes": end["bytes"],
            "bits_per_second": number(end, "bytes_per_second").map(|rate| rate * 8.0),
            "sender": self.is_sent,
        })
    }

    /// Returns the sum at one of the ends.
    fn sum(&self, role: &str) -> Value {
        let mut sum = self.totals(role);
        if self.is_udp {
            // The receiver knows what was lost.
            let counted = datagrams(&self.record["receiver"]["datagrams"], role == "receiver");
            merge(&mut sum, counted);
        } else if role == "sender" {
            let sent_again = number(&self.record["kernel"], "retransmissions")
                .or_else(|| number(&self.record["sender"], "retransmissions"));
            sum["retransmits"] = json!(sent_again.map(|count| count as i64));
        }
        known(sum)
    }

    /// Returns each stream by itself, at both ends.
    fn streams(&self) -> Vec<Value> {
        let of = |role: &str| -> Vec<&Value> { self.streams_of(role).collect() };
        let (senders, receivers) = (of("sender"), of("receiver"));
        let count = senders.len().max(receivers.len());
        (0..count)
            .map(|place| {
                let pair = [("sender", senders.get(place)), ("receiver", receivers.get(place))];
                let ends =
                    pair.map(|(role, stream)| (role, stream.map(|one| self.stream(role, one))));
                if self.is_udp {
                    let [(_, sent), (_, received)] = ends;
                    json!({"udp": received.or(sent)})
                } else {
                    let ends =
                        ends.into_iter().filter_map(|(role, end)| Some((role.to_owned(), end?)));
                    Value::Object(ends.collect())
                }
            })
            .collect()
    }

    fn stream(&self, role: &str, stream: &Value) -> Value {
        let seconds = number(&self.record[role], "seconds").unwrap_or_default();
        let bytes = number(stream, "bytes").unwrap_or_default();
        let mut told = json!({
            "socket": FIRST_SOCKET + stream["stream"].as_u64().unwrap_or_default(),
            "start": 0,
            "end": seconds,
            "seconds": seconds,
            "bytes": stream["bytes"],
            "bits_per_second": if seconds > 0.0 { bytes * 8.0 / seconds } else { 0.0 },
            "sender": self.is_sent,
        });
        let kernel = &stream["sender"];
        if self.is_udp {
            merge(&mut told, datagrams(&stream["datagrams"], true));
        } else if kernel.is_object() {
            merge(
                &mut told,
                json!({
                    "retransmits": kernel["retransmissions"],
                    "max_snd_cwnd": kernel["max_congestion_window_bytes"],
                    "max_snd_wnd": kernel["max_peer_window_bytes"],
                    "max_rtt": micros(kernel, "max_rtt_seconds"),
                    "min_rtt": micros(kernel, "min_rtt_seconds"),
                    "mean_rtt": micros(kernel, "mean_rtt_seconds"),
                }),
            );
        }
        known(told)
    }
}

fn merge(into: &mut Value, more: Value) {
    if let (Some(into), Value::Object(more)) = (into.as_object_mut(), more) {
        into.extend(more);
    }
}

/// Counts datagrams as iperf3 does; a sender knows of no losses.
fn datagrams(of: &Value, is_receiver: bool) -> Value {
    let count = number(of, "sent").or_else(|| number(of, "count")).unwrap_or_default();
    let lost = number(of, "lost").unwrap_or_default();
    if !is_receiver {
        return json!({
            "jitter_ms": 0, "lost_packets": 0, "packets": count as i64, "lost_percent": 0,
        });
    }
    json!({
        "jitter_ms": number(of, "jitter_seconds").map(|seconds| seconds * 1e3),
        "lost_packets": lost as i64,
        "packets": count as i64,
        "lost_percent": percent(lost, count),
        "out_of_order": of["out_of_order"],
    })
}

fn start(record: &Value, ways: &[Direction<'_>], system: &str) -> Value {
    let began = record["start_time"].as_str().and_then(|text| text.parse::<Timestamp>().ok());
    let began = began.unwrap_or_default();
    let streams = || ways.iter().flat_map(|way| way.streams_of(way.role()));
    let connected: Vec<Value> = streams()
        .zip(FIRST_SOCKET..)
        .filter_map(|(stream, socket)| {
            let ((local, local_port), (remote, remote_port)) =
                (place(&stream["local"])?, place(&stream["remote"])?);
            Some(json!({
                "socket": socket, "local_host": local, "local_port": local_port,
                "remote_host": remote, "remote_port": remote_port,
            }))
        })
        .collect();
    let (transfer, first) = (&record["transfer"], streams().next().unwrap_or(&Value::Null));
    let asked = number(transfer, "pace").map_or(0, |rate| (rate * 8.0) as i64);
    let port = place(&record["address"]).map(|(_, port)| port);
    let amount = |key: &str| transfer["until"].get(key).and_then(Value::as_f64).unwrap_or_default();
    known(json!({
        "connected": connected,
        "version": format!("iperf {IPERF3}"),
        "system_info": system,
        "timestamp": {"time": date(began), "timesecs": began.as_nanos().div_euclid(1_000_000_000)},
        "connecting_to": {"host": record["host"], "port": port},
        "tcp_mss_default": first["mss_bytes"],
        "target_bitrate": asked,
        "sock_bufsize": transfer["client"]["window"].as_i64().unwrap_or(0),
        "sndbuf_actual": first["granted_send_buffer_bytes"],
        "rcvbuf_actual": first["granted_receive_buffer_bytes"],
        "test_start": {
            "protocol": if transfer["udp"] == true { "UDP" } else { "TCP" },
            "num_streams": transfer["streams"],
            "blksize": transfer["length"],
            "omit": number(transfer, "omit").map_or(0, |seconds| seconds as i64),
            "duration": amount("time") as i64,
            "bytes": amount("bytes") as i64,
            "blocks": 0,
            "reverse": i64::from(transfer["direction"] == "reverse"),
            "tos": transfer["ip"]["tos"].as_i64().unwrap_or(0),
            "target_bitrate": asked,
        },
    }))
}

/// Returns the counts of the client by interval.
fn intervals(record: &Value, ways: &[Direction<'_>]) -> Vec<Value> {
    let all = || record["intervals"].as_array().into_iter().flatten();
    let of = |way: &Direction<'_>| -> Vec<Value> {
        let own = all().filter(|one| one["end"] == "client" && one["role"] == way.role());
        own.map(|one| interval(one, way)).collect()
    };
    let by_way: Vec<Vec<Value>> = ways.iter().map(of).collect();
    let count = by_way.iter().map(Vec::len).max().unwrap_or(0);
    (0..count)
        .map(|place| {
            let mut told = json!({"streams": []});
            let sums =
                by_way.iter().zip(ways).filter_map(|(all, way)| Some((all.get(place)?, way)));
            for (number, (sum, way)) in (0_u64..).zip(sums) {
                let key = if number == 0 { "sum" } else { "sum_bidir_reverse" };
                let mut stream = sum.clone();
                stream["socket"] = json!(FIRST_SOCKET + number);
                if let Some(streams) = told["streams"].as_array_mut() {
                    streams.push(stream);
                }
                let mut sum = sum.clone();
                if let Some(members) = sum.as_object_mut().filter(|_| !way.is_udp) {
                    // A sum has no values of a single stream's kernel state.
                    members
                        .retain(|key, _| !["snd_cwnd", "snd_wnd", "rtt"].contains(&key.as_str()));
                }
                told[key] = sum;
            }
            told
        })
        .collect()
}

fn interval(one: &Value, way: &Direction<'_>) -> Value {
    let (from, to) = (
        number(one, "from_seconds").unwrap_or_default(),
        number(one, "to_seconds").unwrap_or_default(),
    );
    let mut told = json!({
        "start": from,
        "end": to,
        "seconds": to - from,
        "bytes": one["bytes"],
        "bits_per_second": number(one, "bytes_per_second").map(|rate| rate * 8.0),
        "omitted": one["omitted"],
        "sender": way.is_sent,
    });
    let (kernel, counted) = (&one["sender"], &one["datagrams"]);
    if way.is_udp {
        let more = if way.is_sent {
            json!({"packets": counted["count"]})
        } else {
            datagrams(counted, true)
        };
        merge(&mut told, more);
    } else if kernel.is_object() {
        merge(
            &mut told,
            json!({
                "retransmits": kernel["retransmissions"],
                "snd_cwnd": kernel["congestion_window_bytes"],
                "snd_wnd": kernel["peer_window_bytes"],
                "rtt": micros(kernel, "rtt_seconds"),
            }),
        );
    }
    known(told)
}

fn end(ways: &[Direction<'_>]) -> Value {
    let mut told = Map::new();
    let streams: Vec<Value> = ways.iter().flat_map(Direction::streams).collect();
    told.insert("streams".to_owned(), streams.into());
    for (way, suffix) in ways.iter().zip(["", "_bidir_reverse"]) {
        if way.is_udp {
            told.insert(format!("sum{suffix}"), way.sum("receiver"));
        }
        for (key, role) in [("sum_sent", "sender"), ("sum_received", "receiver")] {
            told.insert(format!("{key}{suffix}"), way.sum(role));
        }
    }
    let Some(first) = ways.first() else { return told.into() };
    let roles = if first.is_sent { ["sender", "receiver"] } else { ["receiver", "sender"] };
    let mut used = Map::new();
    for (name, role) in ["host", "remote"].into_iter().zip(roles) {
        let end = &first.record[role];
        let (seconds, cpu) = (number(end, "seconds").unwrap_or_default(), &end["cpu"]);
        if !cpu.is_object() {
            continue;
        }
        let parts = ["user_seconds", "system_seconds"];
        let [user, system] =
            parts.map(|key| percent(number(cpu, key).unwrap_or_default(), seconds));
        used.insert(format!("{name}_total"), json!(user + system));
        used.insert(format!("{name}_user"), json!(user));
        used.insert(format!("{name}_system"), json!(system));
    }
    told.insert("cpu_utilization_percent".to_owned(), used.into());
    for role in ["sender", "receiver"] {
        if let Some(name) =
            first.record[role].pointer("/streams/0/congestion").filter(|it| it.is_string())
        {
            told.insert(format!("{role}_tcp_congestion"), name.clone());
        }
    }
    told.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_is_written_as_in_mail() {
        let of = |text: &str| date(text.parse().unwrap());
        assert_eq!(of("2026-11-27T03:03:52.5Z"), "Fri, 27 Nov 2026 03:03:52 GMT");
        assert_eq!(of("1970-01-01T00:00:00Z"), "Thu, 01 Jan 1970 00:00:00 GMT");
        assert_eq!(of("2024-02-29T23:59:59Z"), "Thu, 29 Feb 2024 23:59:59 GMT");
    }

    #[test]
    fn places_are_taken_apart() {
        assert_eq!(place(&json!("[::1]:5201")), Some(("::1", 5201)));
        assert_eq!(place(&json!("192.0.2.1:9")), Some(("192.0.2.1", 9)));
        assert_eq!(place(&json!(null)), None);
    }

    #[test]
    fn what_is_no_test_is_refused_and_an_error_is_told() {
        assert!(document(&json!({"schema": "windlass.ping/1"}), "").is_err());
        let broken = json!({"schema": "windlass.send/2", "failure": "it went away"});
        let told = document(&broken, "").unwrap();
        assert_eq!(told["error"], "it went away");
        assert_eq!(told["end"]["streams"], json!([]));
    }
}
