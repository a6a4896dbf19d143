//! Tests of a server, as a live view.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;

use windlass_base::{Bytes, Rate, Span};
use windlass_drive::Protocol;
use windlass_drive::report::DirectionReport;
use windlass_drive::server::{Event, TestNow, WayNow};
use windlass_drive::transfer::{Role, Transfer};
use windlass_measure::serve::ServerSnapshot;

use crate::live::{MOST_ROWS, Series, View, ViewInterval};
use crate::records::ended::EVERY;
use crate::records::send::held;
use crate::{Column, Style, Text, figures};

/// Minimum number of columns of a screen that shows the time of a test.
const ROOM_FOR_TIME: usize = 100;

/// Returns the empty view.
pub fn view(address: SocketAddr) -> View {
    let series = [Series::rate("received"), Series::rate("sent")];
    let title = format!("windlass serve on {address}");
    View::new(title, Some(EVERY), series).with_table([
        (Column::right("#"), 0),
        (Column::left("client").flexible(), 0),
        (Column::left("by"), 0),
        (Column::left("here"), 0),
        (Column::right("rate"), 0),
        (Column::right("amount"), 0),
        (Column::right("time"), ROOM_FOR_TIME),
        (Column::left("held by"), 0),
    ])
}

/// Direction of a test: its number, and whether this end sends.
type TestDirection = (u64, bool);

/// State of a direction.
#[derive(Clone, Copy, Debug, Default)]
struct DirectionProgress {
    /// Bytes counted so far.
    bytes: Bytes,
    /// True if the direction has ended: a snapshot may be older.
    is_over: bool,
    /// Number of successive snapshots without this direction.
    missed: u32,
}

/// Number of snapshots without a test after which its end is no longer expected.
const PATIENCE: u32 = 60;

/// State of a server's tests.
#[derive(Debug, Default)]
pub struct ServerTests {
    at: Span,
    seen: BTreeMap<TestDirection, DirectionProgress>,
    /// Bytes of ended tests that no snapshot showed: received and sent.
    unseen: [Bytes; 2],
    ended: u64,
    refused: u64,
    /// Rows of ended tests, the newest first.
    over: VecDeque<Vec<Text>>,
}

impl ServerTests {
    /// Takes an event of the server.
    pub fn hears(&mut self, event: &Event) {
        match event {
            Event::Ends { test, client, protocol, near, failure, .. } => {
                self.ended += 1;
                for direction in &near.directions {
                    // Bytes after the last snapshot count as well.
                    let sends = direction.role == Role::Sender;
                    let seen = self.seen.entry((*test, sends)).or_default();
                    self.unseen[usize::from(sends)] += direction.total_bytes - seen.bytes;
                    seen.is_over = true;
                    let is_bad = failure.is_some() || direction.error.is_some();
                    let row = ended(*test, *client, *protocol, direction, is_bad);
                    self.over.truncate(MOST_ROWS - 1);
                    self.over.push_front(row);
                }
            }
            Event::Refused { .. } => self.refused += 1,
            _ => {}
        }
    }

    /// Returns the traffic since the last snapshot, and the current state.
    pub fn stretch(&mut self, look: &ServerSnapshot) -> ViewInterval {
        let from = std::mem::replace(&mut self.at, look.at);
        let lasted = look.at - from;
        let [mut received, mut sent] = std::mem::take(&mut self.unseen);
        self.seen.values_mut().for_each(|seen| seen.missed += 1);
        let mut rows = Vec::new();
        for test in &look.tests {
            for way in &test.ways {
                let seen = self.seen.entry((test.test, way.role == Role::Sender)).or_default();
                seen.missed = 0;
                if seen.is_over {
                    continue;
                }
                let moved = way.bytes - seen.bytes;
                seen.bytes = seen.bytes.max(way.bytes);
                match way.role {
                    Role::Receiver => received += moved,
                    Role::Sender => sent += moved,
                }
                rows.push(runs(test, way, moved.per(lasted)));
            }
        }
        self.seen.retain(|_, seen| seen.missed == 0 || !seen.is_over && seen.missed < PATIENCE);
        rows.extend(self.over.iter().take(MOST_ROWS.saturating_sub(rows.len())).cloned());
        let run = look.tests.iter().filter(|test| {
            let is_over = |sends| self.seen.get(&(test.test, sends)).is_some_and(|one| one.is_over);
            !is_over(true) && !is_over(false)
        });
        let run = figures::counted(run.count() as u64, "test").and(" running, ");
        let state = run.and(figures::count(self.ended)).and(" ended");
        let state = match self.refused {
            0 => state,
            refused => state.and(", ").with(Style::Warn, figures::count(refused)).and(" refused"),
        };
        let rate = |bytes: Bytes| Some(bytes.per(lasted).bytes_per_second());
        ViewInterval {
            from,
            to: look.at,
            values: vec![rate(received), rate(sent)],
            rows,
            state,
            ..ViewInterval::default()
        }
    }
}

fn head(test: u64, client: SocketAddr, protocol: Protocol, udp: bool, role: Role) -> [Text; 4] {
    [
        Text::from(test),
        Text::whole(&client.to_string()),
        Text::from(format!("{protocol}{}", if udp { " UDP" } else { "" })),
        Text::from(match role {
            Role::Sender => "sends",
            Role::Receiver => "receives",
        }),
    ]
}

/// Returns the row of a direction of a running test.
fn runs(test: &TestNow, way: &WayNow, rate: Rate) -> Vec<Text> {
    let Transfer { streams, pace, udp, .. } = test.transfer;
    let held = way.sender.and_then(|interval| {
        let kernel = interval.sender?;
        Some(held(&interval, &kernel, streams, pace))
    });
    let lasted = Span::from_duration(test.lasted);
    let head = head(test.test, test.client, test.protocol, udp, way.role);
    let rest = [
        Text::default().strong(rate.in_bits()),
        way.bytes.into(),
        lasted.into(),
        Text::known(held),
    ];
    head.into_iter().chain(rest).collect()
}

/// Returns the row of a direction of an ended test, with the rate over all its time.
fn ended(
    test: u64,
    client: SocketAddr,
    protocol: Protocol,
    direction: &DirectionReport,
    is_bad: bool,
) -> Vec<Text> {
    let udp = direction.datagrams.is_some();
    let head = head(test, client, protocol, udp, direction.role);
    let how = if is_bad { (Style::Bad, "broke off") } else { (Style::Dim, "ended") };
    let rest = [
        direction.bytes_per_second.in_bits().into(),
        direction.bytes.into(),
        direction.seconds.into(),
        Text::styled(how.0, how.1),
    ];
    head.into_iter().chain(rest).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use windlass_drive::report::{Cpu, Interval, LimitTimes, SenderInterval, SideReport};
    use windlass_drive::transfer::{Direction, End};

    use super::*;
    use crate::live::screen;

    fn client(port: u16) -> SocketAddr {
        SocketAddr::from(([192, 0, 2, 1], port))
    }

    fn test_of(test: u64, protocol: Protocol, ways: Vec<WayNow>) -> TestNow {
        let transfer = Transfer { direction: Direction::Both, ..Transfer::default() };
        let (client, lasted) = (client(40_000 + test as u16), Duration::from_secs(12));
        TestNow { test, client, protocol, transfer, lasted, ways }
    }

    fn way(role: Role, bytes: u64) -> WayNow {
        WayNow { role, bytes: Bytes::new(bytes), sender: None }
    }

    /// Returns the figures of a kernel that waits for its peer's window most of the time.
    fn windowed() -> Interval {
        let times = LimitTimes {
            busy_seconds: Span::from_millis(1_000),
            receiver_limited_seconds: Span::from_millis(830),
            ..LimitTimes::default()
        };
        Interval {
            end: End::Client,
            role: Role::Sender,
            from_seconds: Span::ZERO,
            to_seconds: Span::from_millis(1_000),
            omitted: false,
            bytes: Bytes::new(12_500_000),
            bytes_per_second: Rate::from_bits_per_second(100e6),
            sender: Some(SenderInterval { times, ..SenderInterval::default() }),
            datagrams: None,
        }
    }

    fn over(test: u64, bytes: u64, failure: Option<&str>) -> Event {
        let seconds = Span::from_millis(2_000);
        let bytes = Bytes::new(bytes);
        let direction = DirectionReport {
            role: Role::Receiver,
            seconds,
            bytes,
            bytes_per_second: bytes.per(seconds),
            total_bytes: bytes,
            cpu: Cpu::default(),
            streams: Vec::new(),
            retransmissions: None,
            datagrams: None,
            delivery: None,
            machine: None,
            program_share: None,
            error: None,
        };
        let near = SideReport {
            end: End::Server,
            directions: vec![direction],
            processors: None,
            process_cpu_seconds: Span::ZERO,
        };
        let (client, protocol) = (client(40_000 + test as u16), Protocol::Ttcp);
        let failure = failure.map(str::to_owned);
        Event::Ends { test, client, protocol, near, far: None, failure }
    }

    fn look(second: u64, tests: Vec<TestNow>) -> ServerSnapshot {
        ServerSnapshot { at: Span::from_millis(1_000 * second.cast_signed()), tests }
    }

    fn shown() -> View {
        let (mut view, mut serves) =
            (view(SocketAddr::from(([0; 8], 5_202))), ServerTests::default());
        serves.hears(&over(1, 5_000_000, None));
        for second in 1..=30 {
            let bytes = 12_500_000 * second;
            let received = WayNow { sender: Some(windowed()), ..way(Role::Receiver, bytes) };
            let both = vec![received, way(Role::Sender, 100_000 * second)];
            let mut tests = vec![test_of(3, Protocol::Windlass, both)];
            if second > 10 {
                let ways = vec![way(Role::Sender, 6_000_000 * (second - 10))];
                tests.push(test_of(4, Protocol::Iperf3, ways));
            }
            if second == 20 {
                serves.hears(&over(2, 800_000, Some("the client has gone")));
            }
            view.push(serves.stretch(&look(second, tests)));
        }
        view
    }

    #[test]
    fn a_server_at_80_by_24() {
        insta::assert_snapshot!(screen(&shown(), (80, 24)));
    }

    #[test]
    fn a_server_at_200_by_50() {
        insta::assert_snapshot!(screen(&shown(), (200, 50)));
    }

    #[test]
    fn each_byte_counts_once_whenever_the_end_is_told() {
        let all = |order: &dyn Fn(&mut ServerTests) -> f64| order(&mut ServerTests::default());
        let of = |bytes| vec![test_of(1, Protocol::Ttcp, vec![way(Role::Receiver, bytes)])];
        let received = |stretch: ViewInterval| stretch.values[0].unwrap();
        // The end is reported between two snapshots, after a snapshot without the test, or before
        // one that still has the test.
        let between = all(&|serves| {
            let first = received(serves.stretch(&look(1, of(600))));
            serves.hears(&over(1, 1_000, None));
            first + received(serves.stretch(&look(2, Vec::new())))
        });
        let behind = all(&|serves| {
            let first = received(serves.stretch(&look(1, of(600))));
            let none = received(serves.stretch(&look(2, Vec::new())));
            serves.hears(&over(1, 1_000, None));
            first + none + received(serves.stretch(&look(3, Vec::new())))
        });
        let before = all(&|serves| {
            let first = received(serves.stretch(&look(1, of(600))));
            serves.hears(&over(1, 1_000, None));
            let stale = serves.stretch(&look(2, of(900)));
            assert!(stale.state.plain().starts_with("0 tests running, 1 ended"));
            assert_eq!(stale.rows.len(), 1, "once");
            let last = received(serves.stretch(&look(3, Vec::new())));
            assert!(serves.seen.is_empty());
            first + received(stale) + last
        });
        assert_eq!([between, behind, before], [1_000.0; 3]);
        // A test that no snapshot showed.
        let short = all(&|serves| {
            serves.hears(&over(1, 1_000, None));
            received(serves.stretch(&look(1, Vec::new())))
        });
        assert_eq!(short, 1_000.0);
    }

    #[test]
    fn a_server_of_days_takes_no_more_memory() {
        let mut serves = ServerTests::default();
        for test in 0..1_000 {
            serves.hears(&over(test, 1_000, None));
        }
        let stretch = serves.stretch(&look(1, Vec::new()));
        assert_eq!((stretch.rows.len(), serves.over.len()), (MOST_ROWS, MOST_ROWS));
        // A test whose end is never reported is forgotten.
        for second in 2..100 {
            let tests = if second == 2 {
                vec![test_of(7, Protocol::Ttcp, vec![way(Role::Receiver, 5)])]
            } else {
                Vec::new()
            };
            serves.stretch(&look(second, tests));
        }
        assert!(serves.seen.is_empty());
    }
}
