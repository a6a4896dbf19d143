//! Sums as the text that Prometheus reads: `OpenMetrics` 1.0, or its predecessor for readers that
//! do not ask for `OpenMetrics`.

use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{
    DescriptorEncoder, EncodeMetric, NoLabelSet, prometheus_text, text,
};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::{Registry, Unit};
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

/// The sums of all groups at a scrape.
#[derive(Debug)]
struct SumsSnapshot {
    groups: Vec<([(&'static str, String); 2], Sums)>,
    unheard: u64,
}

impl SumsSnapshot {
    fn of(groups: &Groups) -> Self {
        let labels =
            |service: &str, subnet: &str| [("service", service.into()), ("subnet", subnet.into())];
        let each =
            groups.used().map(|(service, subnet, sums)| (labels(service, subnet), sums.clone()));
        Self { groups: each.collect(), unheard: groups.unheard() }
    }

    /// Writes a value of each group.
    fn each<M: EncodeMetric>(
        &self,
        to: &mut DescriptorEncoder<'_>,
        (name, unit): (&str, Option<Unit>),
        help: &str,
        value: fn(&Sums) -> M,
    ) -> fmt::Result {
        let kind = value(&Sums::default()).metric_type();
        let mut family = to.encode_descriptor(name, help, unit.as_ref(), kind)?;
        for (labels, sums) in &self.groups {
            value(sums).encode(family.encode_family(labels)?)?;
        }
        Ok(())
    }

    fn limits(&self, to: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let help = "Busy time by limit; unknown is time without a clock in the kernel.";
        let kind = MetricType::Counter;
        let mut family = to.encode_descriptor("tcp_limited", help, Some(&Unit::Seconds), kind)?;
        for ([service, subnet], sums) in &self.groups {
            for (limit, time) in sums.limits() {
                let labels = [service.clone(), subnet.clone(), ("limit", limit.to_string())];
                seconds(time).encode(family.encode_family(&labels)?)?;
            }
        }
        Ok(())
    }

    fn round_trips(&self, to: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let help = "Smoothed RTT: one sample per active connection, at each scrape and at its end.";
        let kind = MetricType::Histogram;
        let mut family = to.encode_descriptor("tcp_rtt", help, Some(&Unit::Seconds), kind)?;
        for (labels, sums) in &self.groups {
            let (mut buckets, mut before) = (Vec::new(), 0);
            for (bound, up_to) in sums.round_trips.up_to() {
                buckets.push((bound.map_or(f64::INFINITY, Span::as_seconds), up_to - before));
                before = up_to;
            }
            let sum = sums.round_trips.sum.as_seconds();
            let mut sample = family.encode_family(labels)?;
            sample.encode_histogram::<NoLabelSet>(sum, before, &buckets, None)?;
        }
        Ok(())
    }

    /// Writes the metrics of the exporter itself.
    fn about(&self, to: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let help = "Closed connections that are missing: they were reported faster than they \
                    could be read.";
        let kind = MetricType::Counter;
        let missing = to.encode_descriptor("exporter_unheard_connections", help, None, kind)?;
        ConstCounter::new(self.unheard).encode(missing)?;
        let help = "Processor time used by the exporter.";
        let time = to.encode_descriptor("exporter_cpu", help, Some(&Unit::Seconds), kind)?;
        seconds(Span::from_duration(cpu::of_this_process().total())).encode(time)?;
        let kind = MetricType::Info;
        let mut info = to.encode_descriptor("exporter", "The exporter.", None, kind)?;
        info.encode_info(&[("version", env!("CARGO_PKG_VERSION"))])
    }
}

/// Returns a counter of seconds.
fn seconds(time: Span) -> ConstCounter<f64> {
    ConstCounter::new(time.as_seconds())
}

impl Collector for SumsSnapshot {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let to = &mut encoder;
        let count = |name| (name, None);
        let bytes = |name| (name, Some(Unit::Bytes));
        self.each(to, count("tcp_connections"), "Open TCP connections.", |sums| {
            ConstGauge::new(sums.open)
        })?;
        self.each(to, count("tcp_opened_connections"), "Opened connections.", |sums| {
            ConstCounter::new(sums.opened)
        })?;
        self.each(to, count("tcp_closed_connections"), "Closed connections.", |sums| {
            ConstCounter::new(sums.closed)
        })?;
        self.each(to, bytes("tcp_sent"), "Data acknowledged by the other end.", |sums| {
            ConstCounter::new(sums.sent.get())
        })?;
        self.each(to, bytes("tcp_received"), "Data received in order.", |sums| {
            ConstCounter::new(sums.received.get())
        })?;
        let help = "Segments with data that were sent, retransmissions included.";
        self.each(to, count("tcp_sent_segments"), help, |sums| ConstCounter::new(sums.segments))?;
        self.each(to, count("tcp_retransmitted_segments"), "Retransmitted segments.", |sums| {
            ConstCounter::new(sums.retransmissions)
        })?;
        let help = "Time with data to send or unacknowledged data.";
        self.each(to, ("tcp_busy", Some(Unit::Seconds)), help, |sums| seconds(sums.busy))?;
        self.limits(to)?;
        self.round_trips(to)?;
        self.about(to)
    }
}

/// Writes the sums of all groups.
pub(super) fn write(groups: &Groups, format: Format) -> String {
    let mut registry = Registry::with_prefix("windlass");
    registry.register_collector(Box::new(SumsSnapshot::of(groups)));
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = match format {
        Format::OpenMetrics => text::encode(&mut text, &registry),
        Format::Plain => prometheus_text::encode(&mut text, &registry),
    };
    text
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

    fn socket(number: u32) -> Socket {
        let host = Ipv4Addr::from(0x0a00_0000 + number * 4);
        Socket {
            id: Id::default(),
            cookie: number.into(),
            state: 1,
            local: "192.0.2.1:40000".parse().unwrap(),
            peer: (host, [9100, 443, 22][number as usize % 3]).into(),
            inode: None,
            user: 0,
            unread: 0,
            queued: 0,
            info: Some(TcpInfo::default()),
            congestion: None,
            buffers: None,
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
        let rules = Rules {
            services: vec![Service { name: "x\\y\"z".into(), ports: vec![9100] }],
            subnets: Vec::new(),
        };
        let mut groups = Groups::new(rules);
        groups.look(&[socket(0)]);
        for format in [Format::OpenMetrics, Format::Plain] {
            let text = write(&groups, format);
            assert!(text.contains(r#"{service="x\\y\"z",subnet="other"} 1"#), "{text}");
        }
    }
}
