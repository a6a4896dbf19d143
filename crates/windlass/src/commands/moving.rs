//! Active connections of a capture: a line for each one, or a live view.

use std::collections::BTreeMap;

use windlass_base::figures::fixed;
use windlass_base::{Bytes, Limit, Span};
use windlass_output::{Column, Style, Table, Text, figures, mark};
use windlass_trace::{LiveConnection, Snapshot};

use windlass_output::live::{Series, View, ViewInterval};

/// Returns the table of active connections.
pub(super) fn table() -> Table {
    Table::new([
        Column::right("seconds").least(13),
        Column::left("from → to").least(43),
        Column::right("rate").least(11),
        Column::right("RTT").least(8),
        Column::right("resent").least(6),
        Column::left("held by"),
    ])
}

/// Returns a line for each connection that transferred data in a period.
pub(super) fn lines(from: Span, to: Span, look: &Snapshot) -> Vec<Text> {
    let mut when = Some(between(from, to));
    let shown =
        look.connections.iter().filter(|live| live.bytes_since > Bytes::ZERO || !live.ended);
    let mut lines: Vec<Text> = shown
        .map(|live| {
            let ends = Text::whole(&format!("{} → {}", live.sender, live.receiver));
            table().line(&[
                when.take().map_or_else(Text::default, Text::from),
                Text::from(format!("{:>3} ", live.number)).and(ends),
                Text::default().strong(live.bytes_per_second.in_bits()),
                Text::known(live.rtt_seconds),
                resent(live.retransmissions),
                held(live),
            ])
        })
        .collect();
    if let Some(when) = when {
        let nothing = Text::styled(Style::Dim, "no data sent");
        lines.push(table().line(&[Text::from(when), nothing]));
    }
    lines
}

/// Segments that were sent again.
fn resent(count: u64) -> Text {
    Text::styled(if count == 0 { Style::Dim } else { Style::Warn }, count)
}

/// Returns the most costly limit.
fn held(live: &LiveConnection) -> Text {
    let Some(limit) = live.limit else { return Text::styled(Style::Dim, "-") };
    let share = live.shares.get(limit.id()).copied().unwrap_or_default();
    let because = live.because.map(|because| format!("/{}", because.id())).unwrap_or_default();
    let text = Text::from(format!("{}{because} ", limit.id())).and(figures::percent(share));
    if live.ended { text.dim(" (ended)") } else { text }
}

/// Formats an interval in seconds.
pub(super) fn between(from: Span, to: Span) -> String {
    let time = |span: Span| fixed(span.as_seconds(), 1);
    format!("{}-{}", time(from), time(to))
}

/// Minimum columns of the screen for these columns of a table.
const ROOM_FOR_RTT: usize = 100;
const ROOM_FOR_WINDOW: usize = 120;

/// Makes a view of active connections, an interval at a time.
pub(super) fn view(title: impl Into<Text>, every: Option<Span>) -> View {
    let series = [
        Series::rate("rate"),
        Series::bytes("window"),
        Series::bytes("flight"),
        Series::time("RTT"),
    ];
    View::new(title, every, series).with_band().with_table([
        (Column::right("#"), 0),
        (Column::left("from → to").flexible(), 0),
        (Column::right("rate"), 0),
        (Column::right("RTT"), ROOM_FOR_RTT),
        (Column::right("window"), ROOM_FOR_WINDOW),
        (Column::right("flight"), ROOM_FOR_WINDOW),
        (Column::right("resent"), 0),
        (Column::left("held by"), 0),
    ])
}

/// Returns an interval for a view. The window, the data in flight and the RTT are those of the
/// connection with the most bytes; the rate and the limits are those of all connections.
pub(super) fn stretch(from: Span, to: Span, look: &Snapshot) -> ViewInterval {
    let bytes = |bytes: Bytes| bytes.get() as f64;
    let rate = look.bytes_since.per(look.seconds).bytes_per_second();
    let first = look.connections.iter().find(|live| !live.ended);
    let values = vec![
        Some(rate),
        first.and_then(|live| live.window_bytes).map(bytes),
        first.and_then(|live| live.flight_bytes).map(bytes),
        first.and_then(|live| live.rtt_seconds).map(Span::as_seconds),
    ];
    let mut held: BTreeMap<Limit, f64> = BTreeMap::new();
    for live in &look.connections {
        for limit in Limit::ALL {
            let share = live.shares.get(limit.id()).copied().unwrap_or_default();
            *held.entry(limit).or_default() += share * live.charged_seconds.as_seconds();
        }
    }
    let held = held.into_iter().filter(|(_, time)| *time > 0.0);
    let row = |live: &LiveConnection| {
        vec![
            Text::from(live.number),
            Text::whole(&format!("{} → {}", live.sender, live.receiver)),
            Text::default().strong(live.bytes_per_second.in_bits()),
            Text::known(live.rtt_seconds),
            Text::known(live.window_bytes),
            Text::known(live.flight_bytes),
            resent(live.retransmissions),
            self::held(live),
        ]
    };
    let count = |count: u64, what: &str| Text::from(count).and(format!(" {what}"));
    let state = [
        count(look.open, "open"),
        count(look.began_since, "began"),
        count(look.ended_since, "ended"),
    ];
    ViewInterval {
        from,
        to,
        values,
        held: held.map(|(limit, time)| (mark(limit), time)).collect(),
        rows: look.connections.iter().map(row).collect(),
        state: Text::joined(state, ", "),
    }
}
