//! Sums as the text that Prometheus reads: `OpenMetrics` 1.0, or its predecessor for readers that
//! do not ask for `OpenMetrics`.

use std::fmt::{self, Write as _};

use windlass_base::Span;
use windlass_host::connections::groups::{Groups, Sums};
use windlass_host::cpu;

/// A text format of metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    /// <https://prometheus.io/docs/specs/om/open_metrics_spec/>
    OpenMetrics,
    /// <https://prometheus.io/docs/instrumenting/exposition_formats/>
    Plain,
}

impl Format {
    /// Returns the format that a client accepts, by its `Accept` header.
    pub(super) fn wanted(accept: &str) -> Self {
        let mut kinds = accept.split(',').filter_map(|kind| kind.split(';').next());
        let is_open = |kind: &str| kind.trim().eq_ignore_ascii_case("application/openmetrics-text");
        if kinds.any(is_open) { Self::OpenMetrics } else { Self::Plain }
    }

    /// Returns the media type.
    pub(super) const fn kind(self) -> &'static str {
        match self {
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Self::Plain => "text/plain; version=0.0.4; charset=utf-8",
        }
    }
}

/// The units of families, which their names end with.
const UNITS: [&str; 2] = ["bytes", "seconds"];

/// Type of a family of metrics.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Counter,
    Gauge,
    Histogram,
    Info,
}

/// The labels of a sample.
struct Labels<'a>(&'a [(&'a str, &'a str)]);

impl fmt::Display for Labels<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, (name, value)) in self.0.iter().enumerate() {
            f.write_str(if place == 0 { "{" } else { "," })?;
            write!(f, "{name}=\"")?;
            for one in value.chars() {
                match one {
                    '\\' => f.write_str("\\\\")?,
                    '"' => f.write_str("\\\"")?,
                    '\n' => f.write_str("\\n")?,
                    one => f.write_char(one)?,
                }
            }
            f.write_str("\"")?;
        }
        f.write_str(if self.0.is_empty() { "" } else { "}" })
    }
}

/// The text, on its way.
struct Writer {
    format: Format,
    text: String,
}

impl Writer {
    fn line(&mut self, line: fmt::Arguments<'_>) {
        // To write into memory does not fail.
        let _ = self.text.write_fmt(line);
        self.text.push('\n');
    }

    /// Writes the lines before a family's samples, and returns the prefix of their names.
    fn begin(&mut self, name: &str, kind: Kind, help: &str) -> String {
        let is_open = self.format == Format::OpenMetrics;
        let word = match kind {
            Kind::Counter => "counter",
            Kind::Histogram => "histogram",
            Kind::Info if is_open => "info",
            Kind::Gauge | Kind::Info => "gauge",
        };
        let suffix = match kind {
            Kind::Counter => "_total",
            Kind::Info => "_info",
            Kind::Gauge | Kind::Histogram => "",
        };
        // In OpenMetrics the name of a family lacks the suffix of its samples.
        let (of, sample) = (if is_open { "" } else { suffix }, format!("{name}{suffix}"));
        self.line(format_args!("# TYPE {name}{of} {word}"));
        let unit = name.rsplit('_').next().filter(|unit| UNITS.contains(unit));
        if let Some(unit) = unit.filter(|_| is_open) {
            self.line(format_args!("# UNIT {name}{of} {unit}"));
        }
        self.line(format_args!("# HELP {name}{of} {help}"));
        sample
    }

    fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: impl fmt::Display) {
        self.line(format_args!("{name}{} {value}", Labels(labels)));
    }
}

/// Formats a number of seconds.
fn seconds(time: Span) -> String {
    format!("{:?}", time.as_seconds())
}

/// Writes the sums of all groups.
pub(super) fn write(groups: &Groups, format: Format) -> String {
    let all: Vec<(&str, &str, &Sums)> = groups.used().collect();
    let mut to = Writer { format, text: String::new() };
    let mut each = |name: &str, kind, help, value: fn(&Sums) -> String| {
        let name = to.begin(name, kind, help);
        for (service, subnet, sums) in &all {
            to.sample(&name, &[("service", service), ("subnet", subnet)], value(sums));
        }
    };
    let help = "Open TCP connections.";
    each("windlass_tcp_connections", Kind::Gauge, help, |sums| sums.open.to_string());
    let help = "Opened connections.";
    each("windlass_tcp_opened_connections", Kind::Counter, help, |sums| sums.opened.to_string());
    let help = "Closed connections.";
    each("windlass_tcp_closed_connections", Kind::Counter, help, |sums| sums.closed.to_string());
    let help = "Data acknowledged by the other end.";
    each("windlass_tcp_sent_bytes", Kind::Counter, help, |sums| sums.sent.get().to_string());
    let help = "Data received in order.";
    each("windlass_tcp_received_bytes", Kind::Counter, help, |sums| {
        sums.received.get().to_string()
    });
    let help = "Segments with data that were sent, retransmissions included.";
    each("windlass_tcp_sent_segments", Kind::Counter, help, |sums| sums.segments.to_string());
    let help = "Retransmitted segments.";
    each("windlass_tcp_retransmitted_segments", Kind::Counter, help, |sums| {
        sums.retransmissions.to_string()
    });
    let help = "Time with data to send or unacknowledged data.";
    each("windlass_tcp_busy_seconds", Kind::Counter, help, |sums| seconds(sums.busy));
    let help = "Busy time by limit; unknown is time without a clock in the kernel.";
    let name = to.begin("windlass_tcp_limited_seconds", Kind::Counter, help);
    for (service, subnet, sums) in &all {
        for (limit, time) in sums.limits() {
            let limit = limit.to_string();
            let labels = [("service", *service), ("subnet", *subnet), ("limit", limit.as_str())];
            to.sample(&name, &labels, seconds(time));
        }
    }
    round_trips(&mut to, &all);
    about(&mut to, groups);
    if format == Format::OpenMetrics {
        to.text.push_str("# EOF\n");
    }
    to.text
}

fn round_trips(to: &mut Writer, all: &[(&str, &str, &Sums)]) {
    let help = "Smoothed RTT: one sample per active connection, at each scrape and at its end.";
    let name = to.begin("windlass_tcp_rtt_seconds", Kind::Histogram, help);
    let (bucket, sum, count) =
        (format!("{name}_bucket"), format!("{name}_sum"), format!("{name}_count"));
    for (service, subnet, sums) in all {
        let mut total = 0;
        for (bound, up_to) in sums.round_trips.up_to() {
            let bound = bound.map_or_else(|| "+Inf".to_owned(), seconds);
            let labels = [("service", *service), ("subnet", *subnet), ("le", bound.as_str())];
            to.sample(&bucket, &labels, up_to);
            total = up_to;
        }
        let labels = [("service", *service), ("subnet", *subnet)];
        to.sample(&sum, &labels, seconds(sums.round_trips.sum));
        to.sample(&count, &labels, total);
    }
}

/// Writes the metrics of the exporter itself.
fn about(to: &mut Writer, groups: &Groups) {
    let help =
        "Closed connections that are missing: they were reported faster than they could be read.";
    let name = to.begin("windlass_exporter_unheard_connections", Kind::Counter, help);
    to.sample(&name, &[], groups.unheard());
    let help = "Processor time used by the exporter.";
    let name = to.begin("windlass_exporter_cpu_seconds", Kind::Counter, help);
    to.sample(&name, &[], seconds(Span::from_duration(cpu::of_this_process().total())));
    let name = to.begin("windlass_exporter", Kind::Info, "The exporter.");
    to.sample(&name, &[("version", env!("CARGO_PKG_VERSION"))], 1);
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use windlass_host::connections::groups::{Rules, Service, Subnet};
    use windlass_sys::sock_diag::{Id, Socket};
    use windlass_sys::tcp_info::TcpInfo;

    use super::*;

    #[test]
    fn the_format_is_what_a_client_takes() {
        let prometheus =
            "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;q=0.3,*/*;q=0.1";
        assert_eq!(Format::wanted(prometheus), Format::OpenMetrics);
        for plain in
            ["", "*/*", "text/plain;version=0.0.4", "text/html, application/openmetrics-textual"]
        {
            assert_eq!(Format::wanted(plain), Format::Plain, "{plain}");
        }
    }

    /// Fifty thousand peers in two services and two subnets.
    #[test]
    fn its_size_does_not_grow_with_the_peers() {
        let service = |name: &str, port| Service { name: name.into(), ports: vec![port] };
        let network = "10.1.0.0/16".parse().unwrap();
        let rules = Rules {
            services: vec![service("print", 9100), service("web", 443)],
            subnets: vec![Subnet { name: "office".into(), network }],
        };
        let mut groups = Groups::new(rules);
        groups.look(&[]);
        let socket = |number: u32| Socket {
            id: Id::default(),
            cookie: number.into(),
            state: 1,
            local: "192.0.2.1:40000".parse().unwrap(),
            peer: (Ipv4Addr::from(0x0a00_0000 + number * 4), [9100, 443, 22][number as usize % 3])
                .into(),
            inode: None,
            user: 0,
            unread: 0,
            queued: 0,
            info: Some(TcpInfo::default()),
            congestion: None,
            buffers: None,
        };
        let sockets: Vec<Socket> = (0..50_000).map(socket).collect();
        groups.look(&sockets);
        let text = write(&groups, Format::OpenMetrics);
        let samples = text.lines().filter(|line| !line.starts_with('#')).count();
        assert!((150..200).contains(&samples), "{samples}");
        let open = r#"windlass_tcp_connections{service="print",subnet="office"} "#;
        let open = text.lines().find_map(|line| line.strip_prefix(open)).unwrap();
        assert!(open.parse::<u32>().unwrap() > 1_000, "{open}");
    }

    #[test]
    fn labels_are_escaped() {
        let text = Labels(&[("a", "x\\y\"z\n"), ("b", "ü")]).to_string();
        assert_eq!(text, r#"{a="x\\y\"z\n",b="ü"}"#);
        assert_eq!(Labels(&[]).to_string(), "");
    }
}
