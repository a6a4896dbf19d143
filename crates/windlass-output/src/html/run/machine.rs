//! Machine during a run: its processors and disks. They are shown over the time of the run if the
//! machine was watched, and otherwise as averages.

use serde::Deserialize;
use windlass_base::figures::{RoughSize, Share, fixed};
use windlass_base::{Bytes, Rate, Span, whole_part};
use windlass_runs::Run;

use crate::html::plot::{Dot, Plot, Series, SeriesStyle};
use crate::html::scale::Axis;
use crate::html::{Figure, Html};

/// Interval of `windlass watch`. Records of other versions of windlass may lack some fields.
#[derive(Clone, Debug, Deserialize)]
struct Interval {
    from_seconds: Span,
    to_seconds: Span,
    host: Processors,
    #[serde(default)]
    disks: Vec<Disk>,
}

/// Shares of the time of all processors.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
struct Processors {
    user_share: Option<f64>,
    nice_share: Option<f64>,
    system_share: Option<f64>,
    irq_share: Option<f64>,
    softirq_share: Option<f64>,
    steal_share: Option<f64>,
    iowait_share: Option<f64>,
    busiest_core_share: Option<f64>,
    available_bytes: Option<Bytes>,
}

#[derive(Clone, Debug, Deserialize)]
struct Disk {
    name: String,
    utilisation: Option<f64>,
    written_bytes_per_second: Option<Rate>,
}

/// Record of a machine that was watched.
#[derive(Debug, Deserialize)]
struct WatchRecord {
    #[serde(default)]
    intervals: Vec<Interval>,
}

#[derive(Debug, Deserialize)]
struct MeasurementRecord {
    watched: Option<WatchRecord>,
}

impl Processors {
    /// Returns the busy share, without idle time and I/O wait; `None` if the machine does not
    /// report it.
    fn busy(self) -> Option<f64> {
        let parts = [
            self.nice_share,
            self.system_share,
            self.irq_share,
            self.softirq_share,
            self.steal_share,
        ];
        Some(self.user_share? + parts.into_iter().flatten().sum::<f64>())
    }
}

/// Returns the intervals of a run, if its command watched the machine or was `windlass watch`
/// itself.
fn intervals(run: &Run) -> Vec<Interval> {
    let Some(last) = run.records.last() else { return Vec::new() };
    let record = last.record.get();
    let watched = match run.command.as_str() {
        "watch" => serde_json::from_str::<WatchRecord>(record).ok(),
        _ => {
            serde_json::from_str::<MeasurementRecord>(record).ok().and_then(|record| record.watched)
        }
    };
    watched.map(|watched| watched.intervals).unwrap_or_default()
}

/// Writes the load of the machine; nothing for a run in virtual time.
pub(super) fn write(html: &mut Html, run: &Run) {
    let intervals = intervals(run);
    let whole = run.machine.as_ref();
    let whole = whole.and_then(|machine| serde_json::from_str::<Interval>(machine.get()).ok());
    if intervals.len() < 2 && whole.is_none() {
        return;
    }
    html.element("h2", "This machine");
    if let Some(figure) = drawn(&intervals) {
        figure.write(html);
    }
    if let Some(whole) = whole {
        cards(html, &whole);
    }
}

fn cards(html: &mut Html, whole: &Interval) {
    let share = |share: Option<f64>| share.map(|share| Share(share).to_string());
    let disk = whole.disks.iter().max_by(|one, other| {
        one.utilisation.unwrap_or(0.0).total_cmp(&other.utilisation.unwrap_or(0.0))
    });
    let host = whole.host;
    let disk_name = disk.map_or_else(String::new, |disk| format!("disk {} busy", disk.name));
    html.cards([
        ("", "processors busy".to_owned(), share(host.busy())),
        ("", "busiest processor".to_owned(), share(host.busiest_core_share)),
        ("", "I/O wait".to_owned(), share(host.iowait_share)),
        ("", disk_name, share(disk.and_then(|disk| disk.utilisation))),
        (
            "",
            "written to it".to_owned(),
            disk.and_then(|disk| disk.written_bytes_per_second).map(|rate| rate.to_string()),
        ),
        (
            "",
            "memory available".to_owned(),
            host.available_bytes.map(|bytes| RoughSize(bytes).to_string()),
        ),
    ]);
}

/// Function that returns a share of the processors' time.
type ShareOf = fn(Processors) -> Option<f64>;

/// Returns the graph of the machine.
pub(super) fn figure(run: &Run) -> Option<Figure> {
    drawn(&intervals(run))
}

/// Returns the shares over the time of the run; `None` for fewer than two intervals.
fn drawn(intervals: &[Interval]) -> Option<Figure> {
    if intervals.len() < 2 {
        return None;
    }
    let at = Span::as_seconds;
    let shares: [(&str, ShareOf); 3] = [
        ("processors busy", Processors::busy),
        ("busiest processor", |one| one.busiest_core_share),
        ("I/O wait", |one| one.iowait_share),
    ];
    let series = shares.into_iter().enumerate().map(|(color, (name, of))| {
        let dots = intervals.iter().filter_map(|one| {
            let (from, to, y) = (at(one.from_seconds), at(one.to_seconds), of(one.host)?);
            let says = format!("{} to {} s: {name} {}", fixed(from, 1), fixed(to, 1), Share(y));
            Some(Dot { x: f64::midpoint(from, to), y, says, chosen: false })
        });
        let points = dots.collect();
        Series { name: name.to_owned(), color, drawn: SeriesStyle::Measured, points }
    });
    let end = intervals.iter().map(|one| at(one.to_seconds)).fold(0.0, f64::max);
    let decimals = if end <= 4.0 { 1 } else { 0 };
    let plot = Plot {
        id: "machine",
        title: "This machine meanwhile".to_owned(),
        says: format!("Shares of time in {} intervals of the run.", intervals.len()),
        x: Axis::between("Seconds", (0.0, end), |value| fixed(value, decimals)),
        y: Axis::linear("Share of time", &[1.0], |share| {
            format!("{} %", whole_part((share * 100.0).round()))
        }),
        series: series.collect(),
        guides: Vec::new(),
        band: Vec::new(),
        height: Plot::HIGH,
    };
    let caption = "Figures of this machine during the run, as in windlass watch.".to_owned();
    Some(Figure { plot, caption, keys: Vec::new() })
}
