//! Report of `windlass ping` for people.

use windlass_base::figures::fixed;
use windlass_base::{Quantiles, Span, whole_part};
use windlass_drive::ping::buckets::Bucket;
use windlass_drive::ping::report::PingReport;
use windlass_drive::ping::{Kind, Placement, Socket, Target, TripOutcome, TripSeen};

use crate::records::ip::ip_text;
use crate::{Page, Record, Rows, Style, Table, Text, figures};

/// Maximum width of a histogram's bars.
const WIDEST: f64 = 40.0;

/// Writes the first line, before any result.
pub fn beginning(page: &mut Page, host: &str, address: &str, interval: Option<Span>) {
    let mut line = Text::from("asking ").and(named(host, address));
    if let Some(interval) = interval {
        line = line.and(" every ").and(interval);
    }
    page.line(line);
}

/// Returns the reason of an unreachable host: `No route to host, says 192.0.2.1`.
pub fn unreachable(why: &str, by: Option<std::net::IpAddr>) -> String {
    by.map_or_else(|| why.to_owned(), |by| format!("{why}, says {by}"))
}

/// Returns the line of a completed trip.
pub fn line(TripSeen { number, trip, .. }: &TripSeen<'_>) -> Text {
    let number = number.map_or_else(|| "warm-up".to_owned(), figures::count);
    let time = Span::from_duration(trip.time);
    let bad = |said: String| Text::styled(Style::Bad, said);
    let mut line = match &trip.outcome {
        TripOutcome::Answered => Text::from(time),
        TripOutcome::Refused => Text::from(time).with(Style::Warn, ", refused"),
        TripOutcome::Unreachable { why, by } => {
            bad(format!("unreachable: {}", unreachable(why, *by)))
        }
        TripOutcome::Silent => bad(format!("no answer in {time}")),
    };
    if trip.resent {
        line = line.with(Style::Warn, ", SYN sent again");
    }
    if trip.altered {
        line = line.with(Style::Warn, ", with other data");
    }
    Text::from(format!("{number:>9}  ")).and(line)
}

/// Returns the name and the address of a host: `printer:9100 (192.0.2.7:9100)`.
fn named(host: &str, address: &str) -> Text {
    // An address as the name needs no repetition.
    let is_same = address == host || address.trim_matches(['[', ']']) == host;
    if is_same { host.into() } else { Text::from(host).and(" (").and(address).and(")") }
}

impl Record for PingReport {
    fn text(&self, page: &mut Page) {
        let address = Target { host: self.address.clone(), port: self.port }.to_string();
        let what = match self.measured.kind {
            Kind::Connect => "TCP handshakes with ",
            Kind::Latency => "Requests and answers over one connection to ",
            Kind::Udp => "Requests and answers by UDP to ",
            Kind::Icmp => "ICMP echoes of ",
        };
        page.heading(Text::from(what).and(named(&self.host, &address)));
        page.indented(|page| {
            page.rows(&counts(self));
            if let Some(times) = &self.measured.trip_seconds {
                page.gap();
                page.rows(&rows(times, self.measured.deviation_seconds));
            }
            if let Some(buckets) = self.histogram.as_ref().filter(|buckets| !buckets.is_empty()) {
                page.gap();
                page.table(&table(buckets));
            }
            page.gap();
            page.rows(&rest(self));
        });
    }
}

fn counts(report: &PingReport) -> Rows {
    let measured = &report.measured;
    let mut rows = Rows::new();
    let sizes = match (report.request_bytes, report.response_bytes) {
        (Some(request), Some(response)) => {
            Some(Text::from(request).and(", answers of ").and(response))
        }
        (Some(request), _) => Some(Text::from(request).and(" of data")),
        _ => None,
    };
    let mut sent = Text::from(measured.sent);
    if let Some(sizes) = sizes {
        sent = sent.and(" of ").and(sizes);
    }
    sent = match report.interval_seconds {
        Some(interval) => sent.and(", one every ").and(interval),
        None => sent.and(", one after the other"),
    };
    rows.push("sent", sent.and(" in ").and(measured.seconds));
    if measured.warmup > 0 {
        rows.push("before", figures::counted(measured.warmup, "request").and(" to warm up"));
    }
    let mut answered = Text::from(measured.answered);
    if measured.refused > 0 {
        answered = answered
            .with(Style::Warn, format!(", {} of them refused", figures::count(measured.refused)));
    }
    rows.push("answered", answered);
    let lost = measured.silent + measured.unreachable;
    let style = if lost > 0 { Style::Bad } else { Style::Plain };
    let mut loss = Text::styled(style, lost);
    if lost > 0 {
        loss = loss.and(" (").and(figures::fine_percent(measured.loss)).and(")");
    }
    if measured.unreachable > 0 {
        loss = loss.and(format!(", {} unreachable", figures::count(measured.unreachable)));
    }
    if measured.silent > 0 {
        let silent = format!(", {} without an answer in ", figures::count(measured.silent));
        loss = loss.and(silent).and(report.timeout_seconds);
    }
    rows.push("lost", loss);
    let mut odd = |name: &str, count: Option<u64>, meaning: &str| {
        if let Some(count) = count.filter(|count| *count > 0) {
            let text = Text::styled(Style::Warn, count).and(meaning);
            rows.push(name.to_owned(), text);
        }
    };
    odd("SYN sent again", measured.resent, ": their times include the timeout");
    odd("other data", measured.altered, " answers with changed data");
    odd("late", measured.late, " answers came after the timeout");
    odd("repeated", measured.repeated, " duplicate answers");
    rows
}

fn rest(report: &PingReport) -> Rows {
    let measured = &report.measured;
    let mut rows = Rows::new();
    let asleep = match (report.asleep, measured.kind, measured.server_asleep) {
        (false, ..) => "awake",
        (true, Kind::Latency, Some(true)) => {
            "both ends asleep: the times include the wake-up of both"
        }
        // The server has an earlier release, which stays awake.
        (true, Kind::Latency, _) => {
            "this end asleep, the server awake: the times include this end's wake-up"
        }
        (true, ..) => "asleep: the times include the wake-up",
    };
    rows.push("measured", report.source);
    if let Some(text) = ip_text(&report.ip) {
        rows.push("packets", text);
    }
    rows.push("clock", Text::from(report.clock_seconds).and(" per reading, included in each time"));
    rows.push("waiting", asleep);
    let mut client = placement(&measured.client);
    if report.pinned_cpu.is_some() {
        client = client.and(", pinned");
    }
    rows.push("client", client);
    if let Some(server) = &measured.server {
        rows.push("server", placement(server).dim(", as it reports"));
    }
    if let Some(connection) = measured.connection {
        let mut text = match connection.min_rtt_seconds {
            Some(rtt) => Text::from("min RTT ").and(rtt).and(", "),
            None => Text::new(),
        };
        let again = u64::from(connection.retransmissions);
        text = text.and(figures::counted(again, "retransmission"));
        rows.push("kernel", text.dim(" (TCP_INFO)"));
    }
    if let Some(socket) = measured.socket {
        rows.push(
            "socket",
            match socket {
                Socket::Ping => "for ICMP echo only",
                Socket::Raw => "raw",
            },
        );
    }
    if measured.interrupted {
        rows.push("ended", Text::styled(Style::Warn, "stopped before its end"));
    }
    if let Some(failure) = &measured.failure {
        rows.push("ended", Text::styled(Style::Bad, failure.to_string()));
    }
    rows
}

/// Returns the processors of a thread: `CPU 1`, `CPUs 0, 1, 17 moves between them`.
fn placement(of: &Placement) -> Text {
    let numbers: Vec<String> = of.cpus.iter().map(u32::to_string).collect();
    match numbers.as_slice() {
        [] => Text::from("not known"),
        [only] => Text::whole(&format!("CPU {only}")),
        all => {
            let moves = figures::counted(of.moves, "move");
            Text::from(format!("CPUs {}, ", all.join(", "))).and(moves).and(" between them")
        }
    }
}

fn rows(times: &Quantiles, deviation: Option<Span>) -> Rows {
    let mut rows = Rows::new().row("min", times.min).row("mean", times.mean);
    if let Some(deviation) = deviation {
        rows.push("deviation", deviation);
    }
    let shares =
        [("p50", Some(times.p50)), ("p90", times.p90), ("p99", times.p99), ("p99.9", times.p99_9)];
    for (name, time) in shares {
        if let Some(time) = time {
            rows.push(
                name,
                Text::styled(if name == "p50" { Style::Strong } else { Style::Plain }, time),
            );
        }
    }
    rows.row("max", times.max)
}

fn table(buckets: &[Bucket]) -> Table {
    let most = buckets.iter().map(|bucket| bucket.count).max().unwrap_or(0).max(1);
    let mut table = Table::headed("above: | up to: | answers: | ");
    let edges = edges(buckets);
    for (place, bucket) in buckets.iter().enumerate() {
        let share = bucket.count as f64 / most as f64;
        let mut columns = whole_part((share * WIDEST).round()) as usize;
        if bucket.count > 0 {
            columns = columns.max(1);
        }
        table.push([
            edges[place].clone(),
            edges.get(place + 1).cloned().unwrap_or_default(),
            Text::from(bucket.count),
            Text::styled(Style::Hue(0), "#".repeat(columns)),
        ]);
    }
    table
}

/// Returns the edges of buckets, the first to the last, with enough decimals to differ.
fn edges(buckets: &[Bucket]) -> Vec<Text> {
    let first = buckets.iter().take(1).map(|bucket| bucket.from_seconds);
    let edges: Vec<Span> = first.chain(buckets.iter().filter_map(|one| one.to_seconds)).collect();
    let differ = |texts: &[String]| texts.windows(2).all(|pair| pair[0] != pair[1]);
    let usual: Vec<String> = edges.iter().map(Span::to_string).collect();
    if differ(&usual) {
        return edges.into_iter().map(Text::from).collect();
    }
    // Use the unit of the largest for all, with as many decimals as necessary.
    let largest = edges.iter().max().copied().unwrap_or_default().as_nanos();
    let (unit, nanos, most) = match largest {
        ..1_000 => ("ns", 1.0, 0),
        1_000..1_000_000 => ("µs", 1e3, 3),
        1_000_000..1_000_000_000 => ("ms", 1e6, 6),
        _ => ("s", 1e9, 9),
    };
    let with = |places: usize| -> Vec<String> {
        let value = |edge: &Span| edge.as_nanos() as f64 / nanos;
        edges.iter().map(|edge| format!("{} {unit}", fixed(value(edge), places))).collect()
    };
    let places = (0..most).find(|places| differ(&with(*places))).unwrap_or(most);
    with(places).iter().map(|text| Text::whole(text)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the edges of buckets of equal width, in nanoseconds.
    fn of(from: i64, width: i64, count: i64) -> Vec<String> {
        let at = |number| Span::from_nanos(from + width * number);
        let bucket = |number| Bucket {
            from_seconds: at(number),
            to_seconds: Some(at(number + 1)),
            count: 1,
        };
        let buckets: Vec<Bucket> = (0..count).map(bucket).collect();
        edges(&buckets).iter().map(Text::plain).collect()
    }

    #[test]
    fn no_two_edges_print_alike() {
        assert_eq!(of(5_000_000, 100_000, 2), ["5 ms", "5.1 ms", "5.2 ms"]);
        assert_eq!(of(5_080_000, 1_200, 2), ["5.080 ms", "5.081 ms", "5.082 ms"]);
        assert_eq!(of(999_999, 1, 2), ["0.999999 ms", "1.000000 ms", "1.000001 ms"]);
        assert_eq!(of(2_000_000_000, 30, 1), ["2.00000000 s", "2.00000003 s"]);
        for width in [1, 7, 99, 1_000, 12_345, 999_999_999] {
            for from in [0, 1, 999, 1_000, 123_456, 999_499, 1_500_000_000] {
                let all = of(from, width, 50);
                assert!(all.windows(2).all(|pair| pair[0] != pair[1]), "{from} {width}: {all:?}");
            }
        }
        assert_eq!(edges(&[]).len(), 0);
    }
}
