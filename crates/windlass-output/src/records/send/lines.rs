//! Intervals of a running test, as lines.

use windlass_base::figures::fixed;
use windlass_base::{Rate, RateUnit, Span};
use windlass_drive::Protocol;
use windlass_drive::report::{Interval, LimitTimes, SenderInterval};
use windlass_drive::transfer::{End, Role, Transfer};
use windlass_drive::verdict::{fills, flight, keeps};

use super::{datagrams, read};
use crate::{Column, Style, Table, Text, figures};

/// Formatter of the senders' intervals, a line each.
pub struct LineFormatter {
    table: Table,
    /// True if data goes in both directions.
    both: bool,
    streams: u16,
    pace: Option<Rate>,
    /// True if the other end reports its intervals as well.
    tells: bool,
    has_begun: bool,
    /// True for numbered datagrams.
    numbered: bool,
    /// Unit of rates.
    unit: Option<RateUnit>,
    /// Number of decimals at which neighbouring intervals differ.
    places: usize,
}

impl LineFormatter {
    /// Creates the formatter, before the first interval.
    pub fn new(transfer: &Transfer, protocol: Protocol) -> Self {
        let numbered = is_numbered(transfer, protocol);
        let table = Table::new(columns(numbered));
        let both = transfer.connections() > transfer.streams;
        let tells = protocol == Protocol::Windlass;
        let places = places(transfer.interval);
        let (streams, pace) = (transfer.streams, transfer.pace);
        Self { table, both, streams, pace, tells, has_begun: false, numbered, unit: None, places }
    }

    /// Sets the unit of rates.
    #[must_use]
    pub const fn with(mut self, unit: Option<RateUnit>) -> Self {
        self.unit = unit;
        self
    }

    /// Returns the separator between the intervals and the next lines; empty if there
    /// were none.
    pub const fn end(&self) -> &'static [u8] {
        if self.has_begun { b"\n" } else { b"" }
    }

    /// Returns the line of an interval, and the head before the first one. A receiver's interval
    /// has fewer figures, and no line if the sender reports that interval.
    pub fn lines(&mut self, interval: &Interval) -> Option<Vec<Text>> {
        let line = self.table.line(&self.cells(interval)?);
        let head = (!self.has_begun).then(|| self.table.head());
        self.has_begun = true;
        Some(head.into_iter().chain([line]).collect())
    }

    /// Returns the cells of such a line.
    pub fn cells(&self, interval: &Interval) -> Option<Vec<Text>> {
        let kernel = interval.sender.filter(|_| interval.role == Role::Sender);
        let is_wanted = match self.numbered {
            // Only the receiver knows which datagrams arrived.
            true => interval.role == Role::Receiver,
            false => kernel.is_some(),
        };
        if self.tells && !is_wanted {
            return None;
        }
        let places = self.places;
        let time = |span: Span| fixed(span.as_seconds(), places);
        let when = format!("{}-{}", time(interval.from_seconds), time(interval.to_seconds));
        let held = || Text::known(kernel.map(|it| held(interval, &it, self.streams, self.pace)));
        let mut last = match (self.numbered, self.both) {
            (true, false) => Text::default(),
            (true, true) => way(interval).into(),
            (false, false) => held(),
            (false, true) => Text::from(format!("{:<6}", way(interval))).and(held()),
        };
        if interval.omitted {
            let left_out = if last.is_empty() { "(left out)" } else { " (left out)" };
            last = last.dim(left_out);
        }
        if self.numbered {
            let cells = datagrams::cells(interval, last);
            return Some([Text::from(when)].into_iter().chain(cells).collect());
        }
        Some(vec![
            Text::from(when),
            Text::default().strong(read(interval.bytes_per_second, self.unit)),
            Text::known(kernel.and_then(|kernel| kernel.rtt_seconds)),
            Text::known(kernel.map(|kernel| kernel.congestion_window_bytes)),
            Text::known(kernel.and_then(|kernel| kernel.peer_window_bytes)),
            Text::known(kernel.map(|kernel| match kernel.retransmissions {
                0 => Text::styled(Style::Dim, "0"),
                count => Text::styled(Style::Warn, count),
            })),
            last,
        ])
    }
}

/// Returns whether a transfer consists of numbered datagrams.
pub(super) fn is_numbered(transfer: &Transfer, protocol: Protocol) -> bool {
    transfer.udp && protocol != Protocol::Ttcp
}

/// Returns the columns of intervals, of numbered datagrams or of TCP.
pub(super) fn columns(numbered: bool) -> [Column; 7] {
    if numbered {
        return datagrams::columns();
    }
    [
        Column::right("seconds").least(11),
        Column::right("rate").least(11),
        Column::right("RTT").least(8),
        Column::right("cwnd").least(11),
        Column::right("window").least(11),
        Column::right("resent").least(6),
        Column::left("held by").least(8),
    ]
}

/// Returns the direction of an interval's data.
pub(super) fn way(interval: &Interval) -> &'static str {
    let forth = (interval.end == End::Client) == (interval.role == Role::Sender);
    if forth { "there" } else { "back" }
}

/// Returns the number of decimals of a second that tell intervals apart.
fn places(interval: Span) -> usize {
    let millis = interval.as_nanos() / 1_000_000;
    if millis % 100 == 0 {
        1
    } else if millis % 10 == 0 {
        2
    } else {
        3
    }
}

/// Returns the time of all streams in an interval, and the parts for which the kernel waited: for
/// the window, the buffer, the program, a timer. The last value is the remaining time.
pub(super) fn waits(
    interval: &Interval,
    kernel: &SenderInterval,
    streams: u16,
) -> (Span, [Span; 4], Span) {
    let whole = (interval.to_seconds - interval.from_seconds).scaled(f64::from(streams.max(1)));
    let LimitTimes { busy_seconds, receiver_limited_seconds, buffer_limited_seconds } =
        kernel.times;
    let idle = (whole - busy_seconds).or_zero();
    let rest = (busy_seconds - receiver_limited_seconds - buffer_limited_seconds).or_zero();
    // The kernel's clocks continue while a timer runs.
    let timeout = kernel.timeout_seconds.unwrap_or_default();
    (whole, [receiver_limited_seconds, buffer_limited_seconds, idle, timeout], rest)
}

/// Returns the limit that the kernel reports.
pub fn held(
    interval: &Interval,
    kernel: &SenderInterval,
    streams: u16,
    pace: Option<Rate>,
) -> Text {
    let (whole, parts, rest) = waits(interval, kernel, streams);
    let names = ["window", "buffer", "program", "timeout"];
    let most = parts.into_iter().zip(names).max_by_key(|(time, _)| *time);
    match most {
        Some((time, "timeout")) if time > whole.scaled(0.5) => {
            Text::styled(Style::Warn, "timeout ").and(figures::percent(time.share_of(whole)))
        }
        // At equal times, the reason wins over the rest, which no clock of the kernel measures.
        Some((time, name)) if time >= rest && time > Span::ZERO => {
            Text::from(format!("{name} ")).and(figures::percent(time.share_of(whole)))
        }
        _ if pace.is_some_and(|pace| keeps(pace, interval.bytes_per_second)) => Text::from("pace"),
        _ if fills_window(interval, kernel, streams) => Text::from("window"),
        _ => Text::styled(Style::Dim, "cwnd or path"),
    }
}

/// Returns whether a stream has a full window in flight while its congestion window allows more.
/// The kernel counts window-limited time in jiffies, and not while it paces.
pub(super) fn fills_window(interval: &Interval, kernel: &SenderInterval, streams: u16) -> bool {
    let (Some(window), Some(rtt)) = (kernel.peer_window_bytes, kernel.rtt_seconds) else {
        return false;
    };
    let streams = f64::from(streams.max(1));
    let each = flight(interval.bytes_per_second, rtt) / streams;
    window < kernel.congestion_window_bytes && fills(each, window)
}

#[cfg(test)]
mod tests {
    use windlass_base::Bytes;

    use super::*;

    fn holds(busy: i64, window: i64, buffer: i64) -> String {
        held_at(busy, window, buffer, None)
    }

    /// Returns the limit at 90 bytes per second.
    fn held_at(busy: i64, window: i64, buffer: i64, pace: Option<Rate>) -> String {
        let times = LimitTimes {
            busy_seconds: Span::from_millis(busy),
            receiver_limited_seconds: Span::from_millis(window),
            buffer_limited_seconds: Span::from_millis(buffer),
        };
        let kernel = SenderInterval { times, ..SenderInterval::default() };
        held(&of(90.0, kernel), &kernel, 1, pace).plain()
    }

    /// Returns an interval of a second at this rate.
    fn of(rate: f64, kernel: SenderInterval) -> Interval {
        Interval {
            end: End::Client,
            role: Role::Sender,
            from_seconds: Span::ZERO,
            to_seconds: Span::from_millis(1_000),
            omitted: false,
            bytes: Bytes::ZERO,
            bytes_per_second: Rate::from_bytes_per_second(rate),
            sender: Some(kernel),
            datagrams: None,
        }
    }

    #[test]
    fn short_intervals_are_told_apart() {
        let places = |millis| places(Span::from_millis(millis));
        assert_eq!([10_000, 1_000, 100].map(places), [1; 3]);
        assert_eq!([10, 50, 250].map(places), [2; 3]);
        assert_eq!([15, 125].map(places), [3; 2]);
    }

    #[test]
    fn what_held_it_longest_is_named_as_in_the_verdict() {
        assert_eq!(holds(900, 800, 0), "window 80 %");
        assert_eq!(holds(1_000, 100, 700), "buffer 70 %");
        assert_eq!(holds(200, 0, 0), "program 80 %");
        assert_eq!(holds(0, 0, 0), "program 100 %");
        // A timeout includes the time without a limit before it, and the silence.
        let timer = |millis| {
            let kernel = SenderInterval {
                timeout_seconds: Some(Span::from_millis(millis)),
                times: LimitTimes {
                    busy_seconds: Span::from_millis(1_000),
                    ..LimitTimes::default()
                },
                ..SenderInterval::default()
            };
            held(&of(90.0, kernel), &kernel, 1, None).plain()
        };
        assert_eq!([timer(700), timer(1_300)], ["timeout 70 %", "timeout 100 %"]);
        assert_eq!(timer(300), "cwnd or path");
        // 60 % of the time belongs to neither.
        assert_eq!(holds(670, 10, 60), "cwnd or path");
        let pace = |rate| Some(Rate::from_bytes_per_second(rate));
        assert_eq!(held_at(670, 10, 60, pace(95.0)), "pace");
        assert_eq!(held_at(670, 10, 60, pace(200.0)), "cwnd or path");
    }

    #[test]
    fn a_window_that_a_paced_sender_fills_is_named() {
        // BBR to a printer that reads 1,986 kB/s: 6,850 B every 3.2 ms.
        let at = |window, rtt| {
            let busy_seconds = Span::from_millis(1_000);
            let kernel = SenderInterval {
                times: LimitTimes { busy_seconds, ..LimitTimes::default() },
                rtt_seconds: Some(Span::from_micros(rtt)),
                peer_window_bytes: Some(Bytes::new(window)),
                congestion_window_bytes: Bytes::new(21_450),
                ..SenderInterval::default()
            };
            held(&of(1_986e3, kernel), &kernel, 1, None).plain()
        };
        assert_eq!(at(6_850, 3_220), "window");
        assert_eq!(at(6_850, 300), "cwnd or path");
        assert_eq!(at(65_535, 30_000), "cwnd or path");
    }
}
