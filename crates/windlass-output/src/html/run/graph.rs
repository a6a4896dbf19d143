//! Rate of a test over time, with a band of the limit of each interval.

use serde::Deserialize;
use windlass_base::figures::RoughSize;
use windlass_base::figures::{Share, fixed};
use windlass_base::{Bytes, Rate, Span, whole_part};
use windlass_drive::report::{Interval, SenderInterval};
use windlass_drive::transfer::{End, Role};

use crate::html::plot::{BandSegment, Dot, Plot, Series, SeriesStyle};
use crate::html::scale::Axis;
use crate::html::{Figure, Html, Key};
use crate::records::send::held;
use crate::{Page, Table, Text, figures};

/// Settings of a test that decide the meaning of its intervals.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Setting {
    /// Number of parallel connections.
    pub streams: u16,
    /// Requested rate.
    pub pace: Option<Rate>,
}

/// Possible limits of an interval: the start of the text, the class in the style sheet, and the
/// meaning.
const HOLDERS: [(&str, &str, &str); 6] = [
    ("window", "window", "the receiver's window"),
    ("buffer", "buffer", "the send buffer"),
    ("program", "program", "the program had nothing to send"),
    ("timeout", "timeout", "a retransmission timer"),
    ("pace", "pace", "the requested pace"),
    ("cwnd or path", "path", "the congestion window or the path"),
];

/// Intervals to draw of one direction: those of the sender, or those of the receiver if the
/// sender's are missing.
struct DirectionIntervals<'a> {
    forth: bool,
    intervals: Vec<&'a Interval>,
}

impl DirectionIntervals<'_> {
    /// Returns the end of the last interval, in seconds.
    fn end(&self) -> f64 {
        self.intervals.iter().map(|one| at(one.to_seconds)).fold(0.0, f64::max)
    }
}

fn is_forth(interval: &Interval) -> bool {
    (interval.end == End::Client) == (interval.role == Role::Sender)
}

fn ways(intervals: &[Interval]) -> Vec<DirectionIntervals<'_>> {
    let way = |forth: bool| {
        let of = |role: Role| -> Vec<&Interval> {
            let own = intervals.iter().filter(|one| is_forth(one) == forth && one.role == role);
            own.collect()
        };
        let sent = of(Role::Sender);
        let intervals = if sent.is_empty() { of(Role::Receiver) } else { sent };
        DirectionIntervals { forth, intervals }
    };
    let all = [true, false].map(way);
    all.into_iter().filter(|way| !way.intervals.is_empty()).collect()
}

/// Returns the limit of an interval; `None` if its sender's kernel did not report.
fn holder(interval: &Interval, setting: Setting) -> Option<String> {
    let kernel = interval.sender?;
    Some(held(interval, &kernel, setting.streams, setting.pace).plain())
}

fn kind(holder: Option<&str>) -> Option<&'static (&'static str, &'static str, &'static str)> {
    HOLDERS.iter().find(|(begin, ..)| holder.is_some_and(|text| text.starts_with(begin)))
}

fn when(interval: &Interval) -> String {
    let time = |span: Span| fixed(span.as_seconds(), 1);
    format!("{} to {} s", time(interval.from_seconds), time(interval.to_seconds))
}

/// Writes the graphs; nothing without an interval.
pub fn write(html: &mut Html, intervals: &[Interval], setting: Setting) {
    for figure in drawn(intervals, setting) {
        figure.write(html);
    }
}

/// Returns the graphs: the rate, and the figures of the sender's kernel over the same time. Returns
/// none without an interval.
pub fn drawn(intervals: &[Interval], setting: Setting) -> Vec<Figure> {
    let ways = ways(intervals);
    let end = ways.first().map_or(0.0, DirectionIntervals::end);
    let kernel = Kernel { ways: &ways, end, streams: setting.streams.max(1) };
    let rate = rate_figure(&ways, setting);
    rate.into_iter()
        .chain([kernel.rtt(), kernel.windows(), kernel.again()].into_iter().flatten())
        .collect()
}

/// Returns the middle of an interval, in seconds.
fn middle(one: &Interval) -> f64 {
    f64::midpoint(at(one.from_seconds), at(one.to_seconds))
}

/// Returns the points of the rate over time, of the forward direction if data went that way.
pub(super) fn rate_points(intervals: &[Interval], name: &str) -> Vec<Dot> {
    let Some(way) = ways(intervals).into_iter().next() else { return Vec::new() };
    let dot = |one: &&Interval| {
        let says =
            format!("{name}, {}: {}", when(one), figures::both(one.bytes_per_second).plain());
        Dot { x: middle(one), y: one.bytes_per_second.bits_per_second(), says, chosen: false }
    };
    way.intervals.iter().map(dot).collect()
}

/// Graphs of the figures of senders' kernels, over the time of the rate's graph.
struct Kernel<'a> {
    ways: &'a [DirectionIntervals<'a>],
    end: f64,
    streams: u16,
}

impl Kernel<'_> {
    /// Returns a graph that is lower than the rate's; `None` without points.
    fn figure(
        &self,
        id: &'static str,
        title: &str,
        series: Vec<Series>,
        name: impl Fn(f64) -> String,
        caption: &str,
    ) -> Option<Figure> {
        let values: Vec<f64> =
            series.iter().flat_map(|one| one.points.iter().map(|dot| dot.y)).collect();
        let most = values.iter().copied().fold(f64::NAN, f64::max);
        let least = values.iter().copied().fold(f64::NAN, f64::min);
        if values.is_empty() {
            return None;
        }
        let end = self.end;
        let plot = Plot {
            id,
            title: title.to_owned(),
            says: format!("{title}: from {} to {}.", name(least), name(most)),
            x: Axis::between("Seconds", (0.0, end), |value| fixed(value, decimals(end))),
            y: Axis::linear("", &values, name),
            series,
            guides: Vec::new(),
            band: Vec::new(),
            height: Plot::LOW,
        };
        Some(Figure { plot, caption: caption.to_owned(), keys: Vec::new() })
    }

    /// Returns one series for each direction whose kernel reports the figure.
    fn series(
        &self,
        name: &str,
        color: usize,
        value: impl Fn(&Interval, &SenderInterval) -> Option<f64>,
        reads: impl Fn(f64) -> String,
    ) -> Vec<Series> {
        let both = self.ways.len() > 1;
        let series = self.ways.iter().enumerate().map(|(place, way)| {
            let name = match (both, way.forth) {
                (false, _) => name.to_owned(),
                (true, true) => format!("{name}, there"),
                (true, false) => format!("{name}, back"),
            };
            let dots = way.intervals.iter().filter_map(|one| {
                let y = value(one, one.sender.as_ref()?)?;
                let says = format!("{}: {name} {}", when(one), reads(y));
                Some(Dot { x: middle(one), y, says, chosen: false })
            });
            let points = dots.collect();
            Series {
                name: name.clone(),
                color: color + place * WAYS_APART,
                drawn: SeriesStyle::Measured,
                points,
            }
        });
        series.filter(|series| !series.points.is_empty()).collect()
    }

    fn rtt(&self) -> Option<Figure> {
        let reads = |seconds: f64| Span::from_seconds(seconds).to_string();
        let series = self.series("RTT", 0, |_, kernel| kernel.rtt_seconds.map(at), reads);
        self.figure(
            "rtt",
            "RTT over time",
            series,
            reads,
            "RTT as smoothed by the sender's kernel.",
        )
    }

    fn windows(&self) -> Option<Figure> {
        let reads = |bytes: f64| RoughSize(Bytes::new(whole_part(bytes.round()))).to_string();
        let bytes = |bytes: Bytes| bytes.get() as f64;
        let streams = f64::from(self.streams);
        let flight = |one: &Interval, kernel: &SenderInterval| {
            Some(one.bytes_per_second.bytes_per_second() * at(kernel.rtt_seconds?) / streams)
        };
        let mut series = self.series("in flight", 0, flight, reads);
        let own =
            |_: &Interval, kernel: &SenderInterval| Some(bytes(kernel.congestion_window_bytes));
        let peer = |_: &Interval, kernel: &SenderInterval| kernel.peer_window_bytes.map(bytes);
        let mut windows = self.series("congestion window", 1, own, reads);
        windows.extend(self.series("peer's window", 2, peer, reads));
        // A window far above the flight would flatten the other curves.
        let most = |one: &Series| one.points.iter().map(|dot| dot.y).fold(0.0, f64::max);
        let flight = series.iter().map(most).fold(0.0, f64::max);
        let is_beyond = |one: &Series| flight > 0.0 && most(one) > flight * NEAR;
        let (beyond, near): (Vec<Series>, Vec<Series>) = windows.into_iter().partition(is_beyond);
        series.extend(near);
        let beyond: Vec<String> = beyond
            .iter()
            .map(|one| format!("{} (at most {})", one.name, reads(most(one))))
            .collect();
        let mut caption = "In flight is the rate times the RTT.".to_owned();
        if self.streams > 1 {
            caption.push_str(" All figures are means per stream.");
        }
        if !beyond.is_empty() {
            caption.push_str(&format!(" Not drawn, because far above: {}.", beyond.join(", ")));
        }
        self.figure("windows", "Flight and windows over time", series, reads, &caption)
    }

    fn again(&self) -> Option<Figure> {
        // An axis over few whole numbers has ticks at halves.
        let reads = |count: f64| match count.fract() {
            0.0 => figures::count(whole_part(count)),
            _ => fixed(count, 1),
        };
        let is_udp =
            |way: &DirectionIntervals<'_>| way.intervals.iter().any(|one| one.datagrams.is_some());
        if self.ways.iter().any(is_udp) {
            return None;
        }
        let count = |_: &Interval, kernel: &SenderInterval| Some(kernel.retransmissions as f64);
        let series = self.series("retransmissions", 0, count, reads);
        let most = series.iter().flat_map(|one| &one.points).map(|dot| dot.y).fold(0.0, f64::max);
        if most == 0.0 {
            return None;
        }
        self.figure(
            "again",
            "Retransmissions over time",
            series,
            reads,
            "Segments retransmitted in each interval.",
        )
    }
}

/// Number of colours for the series of one direction.
const WAYS_APART: usize = 3;

/// Maximum ratio of a window to the flight at which the window is drawn.
const NEAR: f64 = 8.0;

/// Returns the graph of the rate over time, with the legend of its band.
fn rate_figure(ways: &[DirectionIntervals<'_>], setting: Setting) -> Option<Figure> {
    let first = ways.first()?;
    let both = ways.len() > 1;
    let series = ways.iter().enumerate().map(|(color, way)| {
        let dots = way.intervals.iter().map(|one| {
            let holder = holder(one, setting).map(|held| format!(", held by {held}"));
            let rate = figures::both(one.bytes_per_second).plain();
            let says = format!("{}: {rate}{}", when(one), holder.unwrap_or_default());
            let y = one.bytes_per_second.bits_per_second();
            Dot { x: middle(one), y, says, chosen: false }
        });
        let name = match (both, way.forth) {
            (false, _) => "rate",
            (true, true) => "to the target",
            (true, false) => "from the target",
        };
        let points = dots.collect();
        Series { name: name.to_owned(), color, drawn: SeriesStyle::Measured, points }
    });
    let series: Vec<Series> = series.collect();
    let end = first.end();
    let rates: Vec<f64> =
        series.iter().flat_map(|series| series.points.iter().map(|dot| dot.y)).collect();
    let bits = |rate: f64| Rate::from_bits_per_second(rate).in_bits().to_string();
    let band = first.intervals.iter().map(|one| {
        let holder = holder(one, setting);
        let class = kind(holder.as_deref()).map_or("unknown", |(_, class, _)| *class);
        let holder = holder.unwrap_or_else(|| "not known".to_owned());
        let says = format!("{}: {holder}", when(one));
        BandSegment { from: at(one.from_seconds), to: at(one.to_seconds), class, says }
    });
    let plot = Plot {
        id: "rate",
        title: "Rate over time".to_owned(),
        says: told(first, setting),
        x: Axis::between("Seconds", (0.0, end), |value| fixed(value, decimals(end))),
        y: Axis::linear("Rate", &rates, bits),
        series,
        guides: Vec::new(),
        band: band.collect(),
        height: Plot::HIGH,
    };
    let way = if both { ", to the target" } else { "" };
    let keys = shares(first, setting).into_iter().map(|((_, class, means), share)| Key {
        class,
        means: format!("{means}, {}", Share(share)),
    });
    Some(Figure {
        plot,
        caption: format!(
            "Band at the foot: the limit of each interval, by the sender's kernel{way}."
        ),
        keys: keys.collect(),
    })
}

/// Writes the figures of the graphs as a table, for readers who do not see the graphs, with further
/// figures.
pub fn table(html: &mut Html, intervals: &[Interval], setting: Setting) {
    let ways = ways(intervals);
    if ways.is_empty() {
        return;
    }
    let mut table = Table::headed(
        "time | direction | rate: | RTT: | congestion window: | peer's window: | retransmissions: \
         | held by",
    );
    for way in &ways {
        for one in &way.intervals {
            let kernel = one.sender;
            table.push([
                Text::from(when(one)),
                Text::from(if way.forth { "there" } else { "back" }),
                figures::both(one.bytes_per_second),
                Text::known(kernel.and_then(|kernel| kernel.rtt_seconds)),
                Text::known(kernel.map(|kernel| kernel.congestion_window_bytes)),
                Text::known(kernel.and_then(|kernel| kernel.peer_window_bytes)),
                Text::known(kernel.map(|kernel| kernel.retransmissions)),
                Text::known(holder(one, setting)),
            ]);
        }
    }
    html.raw("<details><summary>Each interval</summary>\n");
    let mut page = Page::html();
    page.table(&table);
    html.raw(&page.finish());
    html.raw("</details>\n");
}

fn at(span: Span) -> f64 {
    span.as_seconds()
}

/// Returns the number of decimals at which the ticks of an axis differ.
fn decimals(end: f64) -> usize {
    if end <= 4.0 { 1 } else { 0 }
}

type Holder = &'static (&'static str, &'static str, &'static str);

/// Returns the share of time of each limit, the largest first.
fn shares(way: &DirectionIntervals<'_>, setting: Setting) -> Vec<(Holder, f64)> {
    let lasted = |one: &&Interval| at(one.to_seconds) - at(one.from_seconds);
    let whole: f64 = way.intervals.iter().map(lasted).sum();
    let mut shares: Vec<(Holder, f64)> = Vec::new();
    for holder_kind in &HOLDERS {
        let own = way.intervals.iter().filter(|one| {
            let holder = holder(one, setting);
            kind(holder.as_deref()).is_some_and(|(begin, ..)| *begin == holder_kind.0)
        });
        let own: f64 = own.map(lasted).sum();
        if own > 0.0 && whole > 0.0 {
            shares.push((holder_kind, own / whole));
        }
    }
    shares.sort_by(|one, other| other.1.total_cmp(&one.1));
    shares
}

/// Returns the caption of the graph.
fn told(way: &DirectionIntervals<'_>, setting: Setting) -> String {
    let rates = || way.intervals.iter().map(|one| one.bytes_per_second.bits_per_second());
    let read = |rate: f64| figures::both(Rate::from_bits_per_second(rate)).plain();
    let (least, most) = (rates().fold(f64::MAX, f64::min), rates().fold(0.0, f64::max));
    let (count, least, most) = (way.intervals.len(), read(least), read(most));
    let held = match shares(way, setting).first() {
        Some(((_, _, means), share)) => format!(" For {} of the time: {means}.", Share(*share)),
        None => String::new(),
    };
    format!("{count} intervals, from {least} to {most}.{held}")
}

#[cfg(test)]
mod tests {
    use windlass_drive::report::LimitTimes;

    use super::*;

    fn interval(from: i64, role: Role, window: Option<i64>) -> Interval {
        let sender = window.map(|window| SenderInterval {
            times: LimitTimes {
                busy_seconds: Span::from_millis(1_000),
                receiver_limited_seconds: Span::from_millis(window),
                buffer_limited_seconds: Span::ZERO,
            },
            ..SenderInterval::default()
        });
        Interval {
            end: if role == Role::Sender { End::Client } else { End::Server },
            role,
            from_seconds: Span::from_millis(from),
            to_seconds: Span::from_millis(from + 1_000),
            omitted: false,
            bytes: Bytes::new(1_000_000),
            bytes_per_second: Rate::from_bytes_per_second(1e6),
            sender,
            datagrams: None,
        }
    }

    fn drawn_text(intervals: &[Interval]) -> String {
        let mut html = Html::new("/t");
        let setting = Setting { streams: 1, pace: None };
        write(&mut html, intervals, setting);
        table(&mut html, intervals, setting);
        html.part().replace('\u{a0}', " ")
    }

    #[test]
    fn each_interval_has_its_holder_in_the_band() {
        let text = drawn_text(&[
            interval(0, Role::Sender, Some(900)),
            interval(0, Role::Receiver, None),
            interval(1_000, Role::Sender, Some(0)),
            interval(1_000, Role::Receiver, None),
        ]);
        // Once for each of the two widths, and once in the legend.
        for class in ["window", "path"] {
            assert_eq!(text.matches(&format!("class=\"band {class}\"")).count(), 3, "{text}");
        }
        assert!(text.contains("the receiver&#39;s window, 50 %"), "{text}");
        assert!(text.contains("0.0 to 1.0 s: 1 MB/s = 8 Mbit/s, held by window 90 %"), "{text}");
        assert!(
            text.contains("2 intervals, from 1 MB/s = 8 Mbit/s to 1 MB/s = 8 Mbit/s."),
            "{text}"
        );
        assert_eq!(text.matches("<tr><td").count(), 2, "the sender's alone: {text}");
        assert!(!text.contains("style="), "{text}");
    }

    #[test]
    fn what_the_kernel_tells_is_drawn_below_the_rate() {
        let told = |from: i64, again: u64| {
            let mut one = interval(from, Role::Sender, Some(0));
            one.sender = one.sender.map(|kernel| SenderInterval {
                rtt_seconds: Some(Span::from_millis(20)),
                congestion_window_bytes: Bytes::new(40_000),
                peer_window_bytes: Some(Bytes::new(6_000_000)),
                retransmissions: again,
                ..kernel
            });
            one
        };
        let intervals = [told(0, 0), told(1_000, 7)];
        let titles = |intervals: &[Interval]| -> Vec<String> {
            let figures = drawn(intervals, Setting { streams: 1, pace: None });
            figures.into_iter().map(|figure| figure.plot.title).collect()
        };
        let all = ["Rate", "RTT", "Flight and windows", "Retransmissions"];
        assert_eq!(titles(&intervals), all.map(|title| format!("{title} over time")));
        assert_eq!(titles(&intervals[..1]).len(), 3, "no retransmission");
        assert_eq!(titles(&[]).len(), 0);
        // Without a sample of the RTT the flight is unknown.
        let without = interval(0, Role::Sender, Some(0));
        assert_eq!(titles(&[without]), ["Rate over time", "Flight and windows over time"]);
        let text = drawn_text(&intervals);
        assert!(text.contains("0.0 to 1.0 s: in flight 20 kB"), "{text}");
        assert!(
            text.contains("Not drawn, because far above: peer&#39;s window (at most 6 MB)."),
            "{text}"
        );
        assert!(text.contains("1.0 to 2.0 s: retransmissions 7"), "{text}");
    }

    #[test]
    fn without_a_kernel_the_receiver_is_drawn() {
        let text = drawn_text(&[interval(0, Role::Receiver, None)]);
        assert!(text.contains("class=\"band unknown\"") && text.contains("8 Mbit/s"), "{text}");
        assert_eq!(drawn_text(&[]), "");
    }
}
