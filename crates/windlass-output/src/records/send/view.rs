//! Transfer as a live view.

use std::collections::VecDeque;

use windlass_base::{Bytes, Limit, Rate, Span};
use windlass_drive::Protocol;
use windlass_drive::report::{Interval, SenderInterval};
use windlass_drive::transfer::Transfer;
use windlass_drive::verdict::{flight, keeps};

use super::lines::{self, LineFormatter};
use crate::live::{MOST_ROWS, Series, View, ViewInterval};
use crate::{Mark, Style, Text, mark};

/// Converter of a transfer's intervals to those of a view.
pub struct TransferView {
    live: LineFormatter,
    streams: u16,
    pace: Option<Rate>,
    both: bool,
    numbered: bool,
    /// Rate of the other direction, if data goes both ways.
    back: Option<f64>,
    /// Lines that are printed without a view, the newest first.
    rows: VecDeque<Vec<Text>>,
}

impl TransferView {
    /// Creates the converter, before the first interval.
    pub fn new(transfer: &Transfer, protocol: Protocol) -> Self {
        Self {
            live: LineFormatter::new(transfer, protocol),
            streams: transfer.streams,
            pace: transfer.pace,
            both: transfer.connections() > transfer.streams,
            numbered: lines::is_numbered(transfer, protocol),
            back: None,
            rows: VecDeque::new(),
        }
    }

    /// Returns the empty view.
    pub fn view(&self, title: impl Into<Text>, every: Span) -> View {
        let mut series = vec![Series::rate("rate")];
        if self.both {
            series.push(Series::rate("back"));
        }
        if self.numbered {
            series.extend([Series::count("lost"), Series::time("jitter")]);
        } else {
            series.extend([
                Series::bytes("window"),
                Series::bytes("cwnd"),
                Series::bytes("flight"),
                Series::time("RTT"),
            ]);
        }
        let columns = lines::columns(self.numbered).into_iter().map(|column| (column, 0));
        let view = View::new(title, Some(every), series).with_table(columns);
        if self.numbered { view } else { view.with_band() }
    }

    /// Returns an interval of the view; `None` if another interval tells more about this time.
    pub fn stretch(&mut self, interval: &Interval) -> Option<ViewInterval> {
        let cells = self.live.cells(interval)?;
        self.rows.truncate(MOST_ROWS - 1);
        self.rows.push_front(cells);
        let rate = interval.bytes_per_second.bytes_per_second();
        if self.both && lines::way(interval) == "back" {
            self.back = Some(rate);
            return None;
        }
        let mut values = vec![Some(rate)];
        if self.both {
            values.push(self.back);
        }
        let bytes = |bytes: Bytes| bytes.get() as f64;
        let mut held = Vec::new();
        if self.numbered {
            let seen = interval.datagrams.unwrap_or_default();
            values.push(seen.lost.map(|lost| lost as f64));
            values.push(seen.jitter_seconds.map(Span::as_seconds));
        } else if let Some(kernel) = &interval.sender {
            values.extend([
                kernel.peer_window_bytes.map(bytes),
                Some(bytes(kernel.congestion_window_bytes)),
                kernel.rtt_seconds.map(|rtt| flight(interval.bytes_per_second, rtt)),
                kernel.rtt_seconds.map(Span::as_seconds),
            ]);
            held = self.held(interval, kernel);
        }
        Some(ViewInterval {
            from: interval.from_seconds,
            to: interval.to_seconds,
            values,
            held,
            rows: self.rows.iter().cloned().collect(),
            state: Text::styled(Style::Dim, "the newest interval first"),
        })
    }

    /// Returns the limit of an interval, as in the column of that name.
    fn held(&self, interval: &Interval, kernel: &SenderInterval) -> Vec<(Mark, f64)> {
        let (_, [window, buffer, program, timeout], rest) =
            lines::waits(interval, kernel, self.streams);
        let other = |name: &str| Mark { letter: 'C', style: Style::Hue(2), name: name.to_owned() };
        let of_rest = if self.pace.is_some_and(|pace| keeps(pace, interval.bytes_per_second)) {
            Mark { letter: 'p', ..other("pace") }
        } else if lines::fills_window(interval, kernel, self.streams) {
            mark(Limit::ReceiverWindow)
        } else {
            other("congestion window or path")
        };
        let parts = [
            (mark(Limit::ReceiverWindow), window),
            (mark(Limit::SendBuffer), buffer),
            (mark(Limit::Application), program),
            (Mark { name: "timeout".to_owned(), ..mark(Limit::Loss) }, timeout),
            (of_rest, (rest - timeout).or_zero()),
        ];
        let parts = parts.into_iter().filter(|(_, time)| *time > Span::ZERO);
        parts.map(|(mark, time)| (mark, time.as_seconds())).collect()
    }
}
