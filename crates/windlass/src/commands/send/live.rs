//! The intervals of a test as they come.

use serde::Serialize;
use windlass_drive::Protocol;
use windlass_drive::report::{Interval, LimitTimes, SenderInterval};
use windlass_drive::transfer::{End, Role, Transfer};

use crate::print::{Column, Page, Record, Style, Table, Text, figures};

/// Prints the intervals of the senders: a line each.
pub(super) struct Live {
    table: Table,
    /// Whether data goes both ways.
    both: bool,
    streams: u16,
    /// Whether the other end tells of its intervals, too.
    tells: bool,
    has_begun: bool,
}

/// One line.
#[derive(Serialize)]
pub(super) struct Line {
    #[serde(skip)]
    head: Option<Text>,
    #[serde(skip)]
    line: Text,
}

impl Record for Line {
    fn text(&self, page: &mut Page) {
        if let Some(head) = &self.head {
            page.line(head.clone());
        }
        page.line(self.line.clone());
    }
}

impl Live {
    pub(super) fn new(transfer: &Transfer, protocol: Protocol) -> Self {
        let table = Table::new([
            Column::right("seconds").least(11),
            Column::right("rate").least(11),
            Column::right("RTT").least(8),
            Column::right("cwnd").least(11),
            Column::right("window").least(11),
            Column::right("resent").least(6),
            Column::left("held by").least(8),
        ]);
        let both = transfer.connections() > transfer.streams;
        let tells = protocol == Protocol::Windlass;
        Self { table, both, streams: transfer.streams, tells, has_begun: false }
    }

    /// The line of an interval. The receivers' say less, and make none where the
    /// sender tells of it.
    pub(super) fn line(&mut self, interval: &Interval) -> Option<Line> {
        let kernel = interval.sender.filter(|_| interval.role == Role::Sender);
        if kernel.is_none() && self.tells {
            return None;
        }
        let time = |span: windlass_base::Span| format!("{:.1}", span.as_seconds());
        let when = format!("{}-{}", time(interval.from_seconds), time(interval.to_seconds));
        let dash = || Text::styled(Style::Dim, "-");
        let some = |value: Option<Text>| value.unwrap_or_else(dash);
        let mut held = kernel.map_or_else(dash, |kernel| held(interval, &kernel, self.streams));
        if self.both {
            let forth = (interval.end == End::Client) == (interval.role == Role::Sender);
            let way = if forth { "there" } else { "back" };
            held = Text::from(format!("{way:<6}")).and(held);
        }
        if interval.omitted {
            held = held.dim(" (left out)");
        }
        let line = self.table.line(&[
            Text::from(when),
            Text::default().strong(interval.bytes_per_second.in_bits()),
            some(kernel.and_then(|kernel| kernel.rtt_seconds).map(Text::from)),
            some(kernel.map(|kernel| kernel.congestion_window_bytes.into())),
            some(kernel.and_then(|kernel| kernel.peer_window_bytes).map(Text::from)),
            some(kernel.map(|kernel| match kernel.retransmissions {
                0 => Text::styled(Style::Dim, "0"),
                count => Text::styled(Style::Warn, count),
            })),
            held,
        ]);
        let head = (!self.has_begun).then(|| self.table.head());
        self.has_begun = true;
        Some(Line { head, line })
    }
}

/// What the kernel waited for.
fn held(interval: &Interval, kernel: &SenderInterval, streams: u16) -> Text {
    let whole = (interval.to_seconds - interval.from_seconds).scaled(f64::from(streams.max(1)));
    let LimitTimes { busy_seconds, receiver_limited_seconds, buffer_limited_seconds } =
        kernel.times;
    let idle = (whole - busy_seconds).or_zero();
    let parts = [
        (receiver_limited_seconds, "window"),
        (buffer_limited_seconds, "buffer"),
        (idle, "program"),
    ];
    let most = parts.into_iter().max_by_key(|(time, _)| *time);
    match most {
        Some((time, name)) if time.share_of(whole) >= 0.1 => {
            Text::from(format!("{name} ")).and(figures::percent(time.share_of(whole)))
        }
        _ => Text::styled(Style::Dim, "cwnd or path"),
    }
}
