//! The rate of a test over its time, with what held each interval as a band.

use serde::Deserialize;
use windlass_base::figures::Rough;
use windlass_base::figures::{Share, fixed};
use windlass_base::{Bytes, Rate, Span, whole_part};
use windlass_drive::report::{Interval, SenderInterval};
use windlass_drive::transfer::{End, Role};

use crate::html::plot::{Dot, Drawn, Plot, Series, Stretch};
use crate::html::scale::Axis;
use crate::html::{Figure, Html, Key};
use crate::records::send::held;
use crate::{Page, Table, Text, figures};

/// What of a test decides how its intervals are read.
#[derive(Clone, Copy, Debug, Deserialize)]
pub struct Setting {
    /// How many connections at once.
    pub streams: u16,
    /// The rate that was asked for.
    pub pace: Option<Rate>,
}

/// What may hold an interval, as the text begins it; what the style sheet calls it; and what it
/// means.
const HOLDERS: [(&str, &str, &str); 6] = [
    ("window", "window", "the receiver's window"),
    ("buffer", "buffer", "the send buffer"),
    ("program", "program", "the program had nothing to send"),
    ("timeout", "timeout", "a retransmission timer"),
    ("pace", "pace", "the pace that was asked for"),
    ("cwnd or path", "path", "the congestion window or the path"),
];

/// The intervals that are drawn: of each way the sender's, or the receiver's where that is not
/// heard.
struct Way<'a> {
    forth: bool,
    intervals: Vec<&'a Interval>,
}

impl Way<'_> {
    /// The end of its last interval, in seconds.
    fn end(&self) -> f64 {
        self.intervals.iter().map(|one| at(one.to_seconds)).fold(0.0, f64::max)
    }
}

fn is_forth(interval: &Interval) -> bool {
    (interval.end == End::Client) == (interval.role == Role::Sender)
}

fn ways(intervals: &[Interval]) -> Vec<Way<'_>> {
    let way = |forth: bool| {
        let of = |role: Role| -> Vec<&Interval> {
            let own = intervals.iter().filter(|one| is_forth(one) == forth && one.role == role);
            own.collect()
        };
        let sent = of(Role::Sender);
        let intervals = if sent.is_empty() { of(Role::Receiver) } else { sent };
        Way { forth, intervals }
    };
    let all = [true, false].map(way);
    all.into_iter().filter(|way| !way.intervals.is_empty()).collect()
}

/// What held an interval; nothing where its sender's kernel was not heard.
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

/// Writes the graphs. Nothing where there is no interval yet.
pub fn write(html: &mut Html, intervals: &[Interval], setting: Setting) {
    for figure in drawn(intervals, setting) {
        figure.write(html);
    }
}

/// The graphs: the rate, and what the sender's kernel tells, over the same time. Nothing where
/// there is no interval.
pub fn drawn(intervals: &[Interval], setting: Setting) -> Vec<Figure> {
    let ways = ways(intervals);
    let end = ways.first().map_or(0.0, Way::end);
    let kernel = Kernel { ways: &ways, end, streams: setting.streams.max(1) };
    let rate = rate_figure(&ways, setting);
    rate.into_iter()
        .chain([kernel.rtt(), kernel.windows(), kernel.again()].into_iter().flatten())
        .collect()
}

/// The middle of an interval, in seconds.
fn middle(one: &Interval) -> f64 {
    f64::midpoint(at(one.from_seconds), at(one.to_seconds))
}

/// The points of the rate over time of what went from here to there, or back where nothing did.
pub(super) fn rate_points(intervals: &[Interval], name: &str) -> Vec<Dot> {
    let Some(way) = ways(intervals).into_iter().next() else { return Vec::new() };
    let dot = |one: &&Interval| {
        let says =
            format!("{name}, {}: {}", when(one), figures::both(one.bytes_per_second).plain());
        Dot { x: middle(one), y: one.bytes_per_second.bits_per_second(), says, chosen: false }
    };
    way.intervals.iter().map(dot).collect()
}

/// The figures of senders' kernels as graphs, over the time of the rate's.
struct Kernel<'a> {
    ways: &'a [Way<'a>],
    end: f64,
    streams: u16,
}

impl Kernel<'_> {
    /// A graph that is lower than the rate's; nothing without points.
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

    /// One series for each way whose kernel tells the figure.
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
                drawn: Drawn::Measured,
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
            "The RTT that the sender's kernel smooths.",
        )
    }

    fn windows(&self) -> Option<Figure> {
        let reads = |bytes: f64| Rough(Bytes::new(whole_part(bytes.round()))).to_string();
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
        // A window far above the flight leaves no room for this.
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
            caption.push_str(" All are those of one stream, in the mean.");
        }
        if !beyond.is_empty() {
            caption.push_str(&format!(" Far above, and not drawn: {}.", beyond.join(", ")));
        }
        self.figure("windows", "Flight and windows over time", series, reads, &caption)
    }

    fn again(&self) -> Option<Figure> {
        // Between few whole numbers an axis has halves.
        let reads = |count: f64| match count.fract() {
            0.0 => figures::count(whole_part(count)),
            _ => fixed(count, 1),
        };
        let is_udp = |way: &Way<'_>| way.intervals.iter().any(|one| one.datagrams.is_some());
        if self.ways.iter().any(is_udp) {
            return None;
        }
        let count = |_: &Interval, kernel: &SenderInterval| Some(kernel.retransmissions as f64);
        let series = self.series("sent again", 0, count, reads);
        let most = series.iter().flat_map(|one| &one.points).map(|dot| dot.y).fold(0.0, f64::max);
        if most == 0.0 {
            return None;
        }
        self.figure(
            "again",
            "Retransmissions over time",
            series,
            reads,
            "Segments sent again in each interval.",
        )
    }
}

/// The colours of one way's series, before those of the other begin.
const WAYS_APART: usize = 3;

/// A window that is more times as high as the flight is not drawn.
const NEAR: f64 = 8.0;

/// The rate over time, and the names of its band.
fn rate_figure(ways: &[Way<'_>], setting: Setting) -> Option<Figure> {
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
            (true, true) => "from here to there",
            (true, false) => "from there to here",
        };
        let points = dots.collect();
        Series { name: name.to_owned(), color, drawn: Drawn::Measured, points }
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
        Stretch { from: at(one.from_seconds), to: at(one.to_seconds), class, says }
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
    let way = if both { ", from here to there" } else { "" };
    let keys = shares(first, setting).into_iter().map(|((_, class, means), share)| Key {
        class,
        means: format!("{means}, {}", Share(share)),
    });
    Some(Figure {
        plot,
        caption: format!(
            "The band at the foot: what held each interval, by the sender's kernel{way}."
        ),
        keys: keys.collect(),
    })
}

/// Writes the same as a table, for those who do not see the graph, and for the other figures.
pub fn table(html: &mut Html, intervals: &[Interval], setting: Setting) {
    let ways = ways(intervals);
    if ways.is_empty() {
        return;
    }
    let mut table = Table::headed(
        "time | way | rate: | RTT: | congestion window: | peer's window: | sent again: | held by",
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

/// With so many decimals the ticks of an axis differ.
fn decimals(end: f64) -> usize {
    if end <= 4.0 { 1 } else { 0 }
}

type Holder = &'static (&'static str, &'static str, &'static str);

/// The shares of time that each holder has, the largest first.
fn shares(way: &Way<'_>, setting: Setting) -> Vec<(Holder, f64)> {
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

/// What the graph shows, in a sentence.
fn told(way: &Way<'_>, setting: Setting) -> String {
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
        assert_eq!(titles(&intervals[..1]).len(), 3, "nothing was sent again");
        assert_eq!(titles(&[]).len(), 0);
        // Before the kernel has a sample of the RTT there is no flight.
        let without = interval(0, Role::Sender, Some(0));
        assert_eq!(titles(&[without]), ["Rate over time", "Flight and windows over time"]);
        let text = drawn_text(&intervals);
        assert!(text.contains("0.0 to 1.0 s: in flight 20 kB"), "{text}");
        assert!(text.contains("not drawn: peer&#39;s window (at most 6 MB)."), "{text}");
        assert!(text.contains("1.0 to 2.0 s: sent again 7"), "{text}");
    }

    #[test]
    fn without_a_kernel_the_receiver_is_drawn() {
        let text = drawn_text(&[interval(0, Role::Receiver, None)]);
        assert!(text.contains("class=\"band unknown\"") && text.contains("8 Mbit/s"), "{text}");
        assert_eq!(drawn_text(&[]), "");
    }
}
