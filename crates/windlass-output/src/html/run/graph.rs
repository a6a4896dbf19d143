//! The rate of a test over its time, with what held each interval as a band.

use serde::Deserialize;
use windlass_base::figures::{Share, fixed};
use windlass_base::{Rate, Span};
use windlass_drive::report::Interval;
use windlass_drive::transfer::{End, Role};

use crate::html::plot::{Dot, Drawn, Plot, Series, Stretch};
use crate::html::scale::Axis;
use crate::html::{Figure, Html, Key};
use crate::records::send::held;
use crate::{Page, Table, Text};

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

/// Writes the graph and the names of its band. Nothing where there is no interval yet.
pub fn write(html: &mut Html, intervals: &[Interval], setting: Setting) {
    if let Some(figure) = figure(intervals, setting) {
        figure.write(html);
    }
}

/// The graph; nothing where there is no interval.
pub fn figure(intervals: &[Interval], setting: Setting) -> Option<Figure> {
    let ways = ways(intervals);
    let first = ways.first()?;
    let both = ways.len() > 1;
    let middle = |one: &Interval| f64::midpoint(at(one.from_seconds), at(one.to_seconds));
    let series = ways.iter().enumerate().map(|(color, way)| {
        let dots = way.intervals.iter().map(|one| {
            let holder = holder(one, setting).map(|held| format!(", held by {held}"));
            let rate = one.bytes_per_second.in_bits();
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
    let end = first.intervals.iter().map(|one| at(one.to_seconds)).fold(0.0, f64::max);
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
                Text::from(one.bytes_per_second.in_bits()),
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
    let read = |rate: f64| Rate::from_bits_per_second(rate).in_bits();
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
    use windlass_base::Bytes;
    use windlass_drive::report::{LimitTimes, SenderInterval};

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

    fn drawn(intervals: &[Interval]) -> String {
        let mut html = Html::new("/t");
        let setting = Setting { streams: 1, pace: None };
        write(&mut html, intervals, setting);
        table(&mut html, intervals, setting);
        html.part().replace('\u{a0}', " ")
    }

    #[test]
    fn each_interval_has_its_holder_in_the_band() {
        let text = drawn(&[
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
        assert!(text.contains("0.0 to 1.0 s: 8 Mbit/s, held by window 90 %"), "{text}");
        assert!(text.contains("2 intervals, from 8 Mbit/s to 8 Mbit/s."), "{text}");
        assert_eq!(text.matches("<tr><td").count(), 2, "the sender's alone: {text}");
        assert!(!text.contains("style="), "{text}");
    }

    #[test]
    fn without_a_kernel_the_receiver_is_drawn() {
        let text = drawn(&[interval(0, Role::Receiver, None)]);
        assert!(text.contains("class=\"band unknown\"") && text.contains("8 Mbit/s"), "{text}");
        assert_eq!(drawn(&[]), "");
    }
}
