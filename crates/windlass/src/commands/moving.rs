//! What moves while packets come in: a line for each connection of interest.

use windlass_base::figures::fixed;
use windlass_base::{Bytes, Span};
use windlass_trace::{Live, Look};

use crate::print::{Column, Style, Table, Text, figures};

/// The table of connections that move.
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

/// What moved in a stretch of time, a line each.
pub(super) fn lines(from: Span, to: Span, look: &Look) -> Vec<Text> {
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
                match live.retransmissions {
                    0 => Text::styled(Style::Dim, "0"),
                    count => Text::styled(Style::Warn, count),
                },
                held(live),
            ])
        })
        .collect();
    if let Some(when) = when {
        let nothing = Text::styled(Style::Dim, "nothing moves");
        lines.push(table().line(&[Text::from(when), nothing]));
    }
    lines
}

/// The limit that cost most.
fn held(live: &Live) -> Text {
    let Some(limit) = live.limit else { return Text::styled(Style::Dim, "-") };
    let share = live.shares.get(limit.id()).copied().unwrap_or_default();
    let because = live.because.map(|because| format!("/{}", because.id())).unwrap_or_default();
    let text = Text::from(format!("{}{because} ", limit.id())).and(figures::percent(share));
    if live.ended { text.dim(" (ended)") } else { text }
}

/// From when to when, in seconds.
pub(super) fn between(from: Span, to: Span) -> String {
    let time = |span: Span| fixed(span.as_seconds(), 1);
    format!("{}-{}", time(from), time(to))
}
