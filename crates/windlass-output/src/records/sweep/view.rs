//! Sweep as a live view: a column and a row for each measurement.

use windlass_base::{Measurement, Span};
use windlass_sweep::Probe;

use crate::live::{Series, View, ViewInterval};
use crate::{Style, Text, figures};

/// Returns the empty view.
pub fn view(title: String) -> View {
    let series = [Series::rate("rate"), Series::time("RTT under load"), Series::count("resent")];
    let view = View::new(title, None, series);
    view.with_columns("window: | streams: | way | control | rate: | RTT: | resent: | held by")
}

/// Returns a measurement as a row.
pub fn row(probe: Probe, measurement: &Measurement) -> Vec<Text> {
    let setting = probe.setting;
    vec![
        setting.window.map_or_else(|| Text::from("autotuned"), figures::size),
        Text::from(u64::from(setting.streams)),
        Text::from(setting.direction.to_string()),
        Text::known(setting.congestion.map(|name| name.to_string())),
        Text::default().strong(measurement.rate().in_bits()),
        Text::known(measurement.mean_rtt),
        Text::rare(measurement.retransmissions, Style::Warn),
        Text::known(measurement.cause.map(|cause| cause.limit().id())),
    ]
}

/// Returns a measurement as an interval of the view.
pub fn stretch(
    (from, to): (Span, Span),
    measurement: &Measurement,
    rows: Vec<Vec<Text>>,
) -> ViewInterval {
    ViewInterval {
        from,
        to,
        values: vec![
            Some(measurement.rate().bytes_per_second()),
            measurement.mean_rtt.map(Span::as_seconds),
            Some(measurement.retransmissions as f64),
        ],
        rows,
        ..ViewInterval::default()
    }
}
