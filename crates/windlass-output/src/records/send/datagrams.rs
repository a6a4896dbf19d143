//! Report on a UDP test, as text.

use windlass_base::Span;
use windlass_drive::report::{Datagrams, DirectionReport, FlowReport, Interval};
use windlass_drive::transfer::Transfer;

use crate::{Column, Rows, Style, Table, Text, figures};

/// Minimum share of its pace at which a sender counts as keeping it.
const KEPT: f64 = 0.98;

/// Returns the columns of intervals.
pub(super) fn columns() -> [Column; 7] {
    [
        Column::right("seconds").least(11),
        Column::right("rate").least(11),
        Column::right("datagrams").least(9),
        Column::right("lost").least(12),
        Column::right("late").least(6),
        Column::right("jitter").least(8),
        Column::left("").least(5),
    ]
}

/// Returns the cells of an interval after the first; the last one is the direction.
pub(super) fn cells(interval: &Interval, way: Text) -> [Text; 6] {
    let seen = interval.datagrams.unwrap_or_default();
    let lost = seen.lost.map(|lost| {
        let of = seen.count + lost;
        match lost {
            0 => Text::styled(Style::Dim, "0"),
            lost => {
                let share = figures::percent(lost as f64 / of.max(1) as f64).plain();
                Text::styled(Style::Warn, format!("{} ({share})", figures::count(lost)))
            }
        }
    });
    [
        Text::default().strong(interval.bytes_per_second.in_bits()),
        Text::from(figures::count(seen.count)),
        Text::known(lost),
        Text::known(seen.out_of_order.map(figures::count)),
        Text::known(seen.jitter_seconds),
        way,
    ]
}

/// Adds the receiver's figures of numbered datagrams; `sender` is the other end.
pub(super) fn push(
    rows: &mut Rows,
    found: &Datagrams,
    sender: Option<&DirectionReport>,
    transfer: &Transfer,
) {
    match (found.sent, found.lost) {
        (Some(sent), Some(lost)) => rows.push("lost", loss(found, sent, lost)),
        _ if found.flows.iter().any(|flow| flow.omitted.is_none()) => {
            let why = "not known: the other end does not report losses in the omitted time (iperf3 \
                       does since 3.13)";
            rows.push("lost", Text::from(why));
        }
        _ => return,
    }
    let order = match (found.out_of_order, found.duplicates) {
        (Some(late), Some(again)) => Text::from(figures::count(late))
            .and(" out of order, ")
            .and(figures::count(again))
            .and(" duplicates"),
        (Some(late), None) => Text::from(figures::count(late)).and(" out of order"),
        _ => Text::default(),
    };
    if !order.is_empty() {
        rows.push("order", order);
    }
    let mean =
        found.mean_jitter_seconds.map(|mean| Text::default().strong(mean).and(" on average"));
    let last = found.jitter_seconds.map(|last| Text::from(last).and(" at the end (RFC 3550)"));
    if mean.is_some() || last.is_some() {
        rows.push("jitter", Text::joined(mean.into_iter().chain(last), ", "));
    }
    if let Some(over) = found.delay_variation_seconds {
        let part = |share: &str, span: Option<Span>| {
            span.map(|span| Text::from(format!("{share} within ")).and(span))
        };
        let parts = [
            part("50 %", Some(over.p50)),
            part("90 %", over.p90),
            part("99 %", over.p99),
            part("all", Some(over.max)),
        ];
        rows.push("delay variation", Text::joined(parts.into_iter().flatten(), ", "));
    }
    let pace = transfer.pace.zip(sender);
    if let Some((pace, sender)) = pace.filter(|(pace, sender)| {
        sender.bytes_per_second.bytes_per_second() < KEPT * pace.bytes_per_second()
    }) {
        let reached = Text::from(sender.bytes_per_second.in_bits())
            .and(" of the ")
            .and(pace.in_bits())
            .and(" asked for: the sender was too slow");
        rows.push("pace", Text::default().with(Style::Warn, reached.plain()));
    }
}

/// Returns the losses, and their place.
fn loss(found: &Datagrams, sent: u64, lost: u64) -> Text {
    let of = figures::counted(sent, "datagram");
    if lost == 0 {
        return Text::from("none of ").and(of);
    }
    let share = figures::fine_percent(found.loss().unwrap_or_default());
    let text = Text::default()
        .strong(figures::count(lost))
        .and(" of ")
        .and(of)
        .and(" (")
        .and(share)
        .and(")");
    match (found.overflowed, found.lost_on_path()) {
        (Some(0), _) => text.and(", all on the path"),
        // The datagrams arrived fast enough for the kernel to coalesce them.
        (Some(overflowed), None) => text
            .and(": ")
            .with(Style::Warn, format!("at least {} dropped by", figures::count(overflowed)))
            .with(Style::Warn, " the receiver's full socket")
            .and("; the place of the others is not known"),
        (Some(overflowed), Some(path)) => {
            let here = overflowed.min(lost);
            text.and(": ")
                .and(figures::count(path))
                .and(" on the path, and ")
                .with(Style::Warn, format!("{} dropped by", figures::count(here)))
                .with(Style::Warn, " the receiver's full socket")
        }
        _ => text.and("; drops by the receiver's socket are not known"),
    }
}

/// Returns the flows of a test side by side.
pub(super) fn flows(flows: &[FlowReport]) -> Table {
    Table::of(
        flows,
        &[
            (Column::right("stream"), |flow| u64::from(flow.stream).into()),
            (Column::right("bytes"), |flow| flow.bytes.into()),
            (Column::right("datagrams"), |flow| figures::count(flow.datagrams.count).into()),
            (Column::right("lost"), |flow| Text::known(flow.datagrams.lost.map(figures::count))),
            (Column::right("no room"), |flow| {
                let least = if flow.datagrams.overflowed_is_least { "≥ " } else { "" };
                let count = |count| format!("{least}{}", figures::count(count));
                Text::known(flow.datagrams.overflowed.map(count))
            }),
            (Column::right("jitter"), |flow| Text::known(flow.datagrams.mean_jitter_seconds)),
        ],
    )
}
