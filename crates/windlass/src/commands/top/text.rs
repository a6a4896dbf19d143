//! An interval as text: a table of connections, and a legend of its letters.

use std::collections::BTreeSet;

use windlass_base::figures::fixed;
use windlass_base::{Bytes, Limit, Rate};
use windlass_host::connections::{
    BetterSource, Connection, Direction, MainLimit, NoProcess, Order, Owner,
};
use windlass_output::records::host::figures::{bytes, count, millis};
use windlass_output::{Column, Style, Table, Text, figures, mark};

use super::TopReport;

/// Width from which on the windows have columns.
const WIDE: usize = 100;

/// Maximum width of an address on a narrower page: any IPv4 address with its port fits.
const ADDRESS: usize = 21;

/// Indent of details, and the maximum number of their lines on a usual terminal.
const INDENT: &str = "  ";
pub(super) const DETAILS: usize = 3;

/// Number of letters in the bar of shares.
const CELLS: usize = 10;

/// Returns the lines of an interval on a page of `width` columns.
pub(super) fn lines(report: &TopReport, width: usize) -> Vec<Text> {
    let view = &report.view;
    let mut lines = summary(report).wrap(width);
    if !view.connections.is_empty() {
        lines.push(Text::new());
        lines.extend(table(report, width));
        lines.push(Text::new());
        lines.extend(legend(&view.connections).wrap(width));
    }
    for note in below(report) {
        lines.extend(note.wrap(width));
    }
    lines
}

/// Returns the totals of the connections that the addresses and ports select.
fn summary(report: &TopReport) -> Text {
    let view = &report.view;
    let totals = &view.totals;
    let span = view.to_seconds - view.from_seconds;
    let mut text = figures::counted(totals.open, "connection")
        .and(if report.by_process { " open in all processes, " } else { " open, " })
        .strong(totals.moved)
        .and(" active: ")
        .strong(figures::both(totals.sent_bytes.per(span)))
        .and(" out, ")
        .strong(figures::both(totals.received_bytes.per(span)))
        .and(" in");
    if totals.opened + totals.closed > 0 {
        text = text.and("; ").and(totals.opened).and(" opened, ").and(totals.closed).and(" closed");
    }
    if totals.short > 0 {
        text = text.and(", ").and(totals.short).and(" of them within the interval");
    }
    text
}

/// Returns the table of connections, with details if wanted.
fn table(report: &TopReport, width: usize) -> Vec<Text> {
    let window = format!("last {}", report.window_seconds);
    let connections = &report.view.connections;
    let is_wide = width >= WIDE;
    let has_resent = is_wide || report.sort == Order::Retransmissions;
    let peer = Column::left("peer");
    let mut columns = vec![
        Column::left("process").flexible(),
        if is_wide { peer.flexible() } else { peer },
        Column::right("out/s").least(5),
        Column::right("in/s").least(5),
        Column::right("RTT ms").least(6),
    ];
    if is_wide {
        columns.extend(["cwnd", "window", "unsent"].map(|name| Column::right(name).least(6)));
    }
    if has_resent {
        columns.push(Column::right("resent").least(6));
    }
    columns.extend([Column::left("now"), Column::left(window)]);
    let mut table = Table::new(columns);
    for connection in connections {
        table.push(cells(connection, report.bits, is_wide, has_resent));
    }
    let mut lines = table.lines(width);
    let mut all: Vec<Text> = lines.next().into_iter().collect();
    for (line, connection) in lines.zip(&report.view.connections) {
        all.push(line);
        if report.details {
            let lines = details(connection, is_wide).wrap(width.saturating_sub(INDENT.len()));
            all.extend(lines.into_iter().map(|line| Text::from(INDENT).dim(line)));
        }
    }
    all
}

fn cells(connection: &Connection, in_bits: bool, is_wide: bool, has_resent: bool) -> Vec<Text> {
    let rate = |rate: Rate| match in_bits {
        true => Text::from(bits(rate.bits_per_second())),
        false => Text::from(bytes(rate.bytes_per_second())),
    };
    let size = |size: Bytes| Text::from(bytes(size.get() as f64));
    let peer = Text::from(connection.peer.to_string());
    let mut cells = vec![
        owner(&connection.owner),
        if is_wide { peer } else { peer.cut(ADDRESS) },
        rate(connection.sent_bytes_per_second),
        rate(connection.received_bytes_per_second),
        Text::known(connection.rtt_seconds.map(|rtt| millis(rtt.as_seconds()))),
    ];
    if is_wide {
        cells.push(size(connection.congestion_window_bytes));
        cells.push(Text::known(connection.peer_window_bytes.map(size)));
        cells.push(size(connection.unsent_bytes));
    }
    if has_resent {
        let style = if connection.retransmissions > 0 { Style::Warn } else { Style::Plain };
        cells.push(Text::styled(style, count(connection.retransmissions as f64)));
    }
    cells.push(now(connection));
    cells.push(bar(connection));
    cells
}

/// Bits with the letter of a power of a thousand, as bytes have those of 1,024.
fn bits(bits: f64) -> String {
    const POWERS: [(f64, &str); 4] = [(1e9, "G"), (1e6, "M"), (1e3, "K"), (1.0, "")];
    let power = POWERS.into_iter().find(|(power, _)| bits >= *power * 0.9995);
    match power {
        Some((power, letter)) if power > 1.0 && bits < power * 99.95 => {
            format!("{}{letter}", fixed(bits / power, 1))
        }
        Some((power, letter)) => format!("{}{letter}", fixed(bits / power, 0)),
        None => "0".to_owned(),
    }
}

/// Returns the process of a connection, or the reason why it is unknown.
fn owner(owner: &Owner) -> Text {
    let why = match (&owner.process, owner.process_unknown) {
        (Some(process), _) => {
            return Text::from(process.name.as_str()).and(format!(" {}", process.pid));
        }
        (None, None | Some(NoProcess::Nobody)) => "-",
        (None, Some(NoProcess::NotPermitted)) => "not permitted",
        (None, Some(NoProcess::NotFound)) => "not found",
        (None, Some(NoProcess::NotLooked)) => "…",
    };
    Text::styled(Style::Dim, why)
}

/// Returns the limit of most of the interval.
fn now(connection: &Connection) -> Text {
    let way = match (connection.closed, connection.direction) {
        (true, _) => "× ",
        (false, Direction::Sending) => "→ ",
        (false, Direction::Receiving) => "← ",
    };
    let said = match connection.now {
        Some(reading) => named(&reading),
        None if connection.closed => Text::styled(Style::Dim, "closed"),
        None => Text::styled(Style::Dim, "idle"),
    };
    Text::from(way).and(said)
}

/// Returns a limit, and the letters of the possible limits if it is unknown.
fn named(reading: &MainLimit) -> Text {
    let style = mark(reading.limit).style;
    let text = Text::styled(style, reading.limit.id());
    if reading.between.is_empty() {
        return text;
    }
    let letters = reading.between.all().map(|limit| {
        let mark = mark(limit);
        Text::styled(mark.style, mark.letter.to_string())
    });
    text.and(" (").and(Text::joined(letters, " ")).and(")")
}

/// Returns the shares of the last seconds, the largest first.
fn bar(connection: &Connection) -> Text {
    let mut shares: Vec<(Limit, f64)> =
        connection.shares.iter().map(|(limit, share)| (*limit, *share)).collect();
    shares.sort_by(|one, next| next.1.total_cmp(&one.1));
    let (mut bar, mut drawn, mut sum) = (Text::new(), 0, 0.0);
    for (limit, share) in shares {
        sum += share;
        let to = windlass_base::whole_part((sum * CELLS as f64).round());
        let to = usize::try_from(to).unwrap_or(CELLS).min(CELLS);
        let mark = mark(limit);
        let letters = mark.letter.to_string().repeat(to.saturating_sub(drawn));
        bar = bar.with(mark.style, letters);
        drawn = drawn.max(to);
    }
    bar
}

/// Returns the figures of a connection that the table does not have.
fn details(connection: &Connection, is_wide: bool) -> Text {
    let mut parts = vec![
        Text::from("from ").and(connection.local.to_string()),
        Text::from(connection.state.id()),
    ];
    if let Some(congestion) = connection.congestion {
        parts.push(congestion.to_string().into());
    }
    parts.push(Text::from("min RTT ").and(Text::known(connection.min_rtt_seconds)));
    if !is_wide {
        parts.push(Text::from("cwnd ").and(connection.congestion_window_bytes));
        parts.push(Text::from("window ").and(Text::known(connection.peer_window_bytes)));
        parts.push(Text::from("unsent ").and(connection.unsent_bytes));
    }
    parts.push(Text::from("delivered ").and(connection.delivery_bytes_per_second));
    let resent = Text::from("resent ").and(connection.retransmissions);
    parts.push(resent.and(" (").and(connection.total_retransmissions).and(" in total)"));
    let shares = connection
        .shares
        .iter()
        .map(|(limit, share)| Text::from(limit.id()).and(" ").and(figures::percent(*share)));
    let shares = Text::joined(shares, ", ");
    if !shares.is_empty() {
        parts.push(shares);
    }
    Text::joined(parts, ", ")
}

/// Returns the letters in the table with the limits they stand for.
fn legend(connections: &[Connection]) -> Text {
    let mut limits = BTreeSet::new();
    for connection in connections {
        limits.extend(connection.shares.keys().copied());
        limits.extend(connection.now.iter().flat_map(|reading| reading.between.all()));
    }
    let marks = limits.into_iter().map(mark);
    Text::joined(
        marks.map(|mark| {
            let name = Text::whole(&format!("\u{a0}{}", mark.name));
            Text::styled(mark.style, mark.letter.to_string()).and(name)
        }),
        "   ",
    )
}

/// Returns the lines below the table.
fn below(report: &TopReport) -> Vec<Text> {
    let view = &report.view;
    let mut said = Vec::new();
    if view.left_out > 0 {
        let more = figures::counted(view.left_out, "more connection");
        said.push(Text::styled(Style::Dim, more.and(": use --rows or a filter to show them")));
    }
    let readings = view.connections.iter().filter_map(|connection| connection.now);
    let wanted: BTreeSet<BetterSource> =
        readings.filter_map(|reading| reading.would_tell).collect();
    said.extend(wanted.into_iter().map(|would| Text::styled(Style::Dim, would_tell(would))));
    said.extend(report.notes.iter().map(|note| Text::styled(Style::Warn, note)));
    said
}

/// Returns the way to find a limit that is unknown.
const fn would_tell(would: BetterSource) -> &'static str {
    match would {
        BetterSource::OtherEnd => {
            "? ← only the sender's kernel knows what limits received data: run windlass top there, \
             or windlass capture --explain here"
        }
        BetterSource::Packets => {
            "? → packets show the limit: run windlass capture INTERFACE --explain"
        }
        BetterSource::Processors => {
            "? → both ends are on this host: run windlass watch to see if a processor is the limit"
        }
        BetterSource::NewerKernel => {
            "? → this kernel has no clocks of TCP limits: they need Linux 4.10"
        }
        BetterSource::Ping => "? → no answer to the SYN yet: run windlass ping HOST:PORT",
    }
}

#[cfg(test)]
#[path = "text_tests.rs"]
pub(super) mod tests;
