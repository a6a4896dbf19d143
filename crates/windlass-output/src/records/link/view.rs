//! Emulated link as a live view.

use std::ffi::OsString;

use windlass_base::{Bytes, Span};
use windlass_netlab::link::{LinkDirectionReport, LinkSnapshot, Queue};

use crate::live::{Series, View, ViewInterval};
use crate::records::ended::{self, EVERY};
use crate::records::link::{asked, done};
use crate::{Style, Text, figures};

/// Returns the empty view.
pub fn view(command: &[OsString]) -> View {
    let series = [
        Series::rate("to peer"),
        Series::rate("from peer"),
        Series::bytes("queue to"),
        Series::bytes("queue from"),
    ];
    let title = format!("windlass link -- {}", ended::asked(command));
    View::new(title, Some(EVERY), series).with_columns(" | to the peer: | from the peer:")
}

/// Traffic of each direction, as of the last snapshot.
#[derive(Debug, Default)]
pub struct LinkTraffic {
    at: Span,
    bytes: [Bytes; 2],
}

impl LinkTraffic {
    /// Returns the traffic since the last snapshot, and the current state.
    pub fn stretch(&mut self, look: &LinkSnapshot) -> ViewInterval {
        let LinkSnapshot { at, ways } = look;
        let from = std::mem::replace(&mut self.at, *at);
        let before = self.bytes;
        self.bytes = [0, 1].map(|way: usize| ways[way].so_far.bytes);
        let rate = |way: usize| {
            let passed = self.bytes[way] - before[way];
            Some(passed.per(*at - from).bytes_per_second())
        };
        let queue = |way: usize| Some(ways[way].queue.bytes.get() as f64);
        let both = (&ways[0].so_far, &ways[1].so_far);
        let now = |name: &str, of: fn(Queue) -> Text| {
            [Text::styled(Style::Dim, name), of(ways[0].queue), of(ways[1].queue)]
        };
        let queues = [
            now("in the queue now", |queue| queue.bytes.into()),
            now("  as time", |queue| queue.wait.into()),
        ];
        let rows = queues.into_iter().chain(done(both)).chain(asked(both));
        ViewInterval {
            from,
            to: *at,
            values: vec![rate(0), rate(1), queue(0), queue(1)],
            rows: rows.map(Vec::from).collect(),
            state: state(both),
            ..ViewInterval::default()
        }
    }
}

/// Returns the settings of the link, and the lateness of the emulator.
fn state((up, down): (&LinkDirectionReport, &LinkDirectionReport)) -> Text {
    let line = |way: &LinkDirectionReport| {
        let set = &way.settings;
        let rate = set.rate.map_or_else(|| Text::from("no rate"), |rate| rate.in_bits().into());
        rate.and(", ").and(figures::exact(set.delay))
    };
    let is_even =
        up.settings.rate == down.settings.rate && up.settings.delay == down.settings.delay;
    let line = match is_even {
        true => line(up).and(" each way"),
        false => line(up).and(" there; ").and(line(down)).and(" back"),
    };
    let late = [up, down].into_iter().filter_map(|way| way.late_seconds.as_ref());
    match late.map(|all| all.p99.unwrap_or(all.max)).max() {
        Some(late) => line.and("   emulator late ").and(late).dim(" (99 of 100)"),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use windlass_base::{Histogram, Rate, Timestamp};
    use windlass_netlab::link::{Delay, LinkDirectionSnapshot, LinkSettings};

    use super::*;
    use crate::live::screen;

    /// Returns a direction that carries 100 Mbit/s, after this many seconds.
    fn way(second: u64, waiting: u64) -> LinkDirectionSnapshot {
        let mut late = Histogram::default();
        (0..1_000).for_each(|n| late.add(Span::from_micros(5 + n % 20)));
        let rate = Rate::from_bits_per_second(100e6);
        let bytes = Bytes::new(waiting);
        let so_far = LinkDirectionReport {
            settings: LinkSettings {
                queue: Some(Bytes::new(64_000)),
                loss: 0.001,
                ..LinkSettings::new(rate, Span::from_micros(1_225))
            },
            packets: 8_333 * second,
            bytes: Bytes::new(12_500_000 * second),
            dropped_by_queue: 7 * second,
            policed: 0,
            lost: second,
            reordered: 0,
            marked: 0,
            missed: Some(0),
            refused: 0,
            queue_high_water_bytes: Bytes::new(63_000),
            busy: 0.97,
            delay_seconds: Some(Delay {
                min: Span::from_micros(1_225),
                mean: Span::from_micros(4_200),
                max: Span::from_micros(6_345),
            }),
            late_seconds: late.quantiles(),
        };
        LinkDirectionSnapshot { so_far, queue: Queue { bytes, wait: rate.time_for(bytes) } }
    }

    fn shown() -> View {
        let command = ["iperf3", "-c", "192.0.2.2"].map(OsString::from);
        let (mut view, mut ways) = (view(&command), LinkTraffic::default());
        for second in 1..=30 {
            let waiting = 3_000 * (second % 20);
            let back = LinkDirectionSnapshot {
                so_far: LinkDirectionReport {
                    bytes: Bytes::new(300_000 * second),
                    ..way(second, 0).so_far
                },
                queue: Queue::default(),
            };
            let at =
                Timestamp::from_nanos(1_000_000_000 * second.cast_signed()).since(Timestamp::ZERO);
            view.push(ways.stretch(&LinkSnapshot { at, ways: [way(second, waiting), back] }));
        }
        view
    }

    #[test]
    fn a_link_at_80_by_24() {
        insta::assert_snapshot!(screen(&shown(), (80, 24)));
    }

    #[test]
    fn a_link_at_200_by_50() {
        insta::assert_snapshot!(screen(&shown(), (200, 50)));
    }

    #[test]
    fn a_rate_is_of_the_time_since_the_last_look() {
        let mut ways = LinkTraffic::default();
        let look = |millis, second| LinkSnapshot {
            at: Span::from_millis(millis),
            ways: [way(second, 0), way(0, 0)],
        };
        assert_eq!(ways.stretch(&look(1_000, 1)).values[..2], [Some(12.5e6), Some(0.0)]);
        // The emulator was late.
        let late = ways.stretch(&look(3_000, 2));
        assert_eq!((late.from, late.to), (Span::from_millis(1_000), Span::from_millis(3_000)));
        assert_eq!(late.values[0], Some(6.25e6));
    }
}
