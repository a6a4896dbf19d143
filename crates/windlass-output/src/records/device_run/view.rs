//! Emulated device as a live view.

use std::collections::{BTreeMap, VecDeque};
use std::ffi::OsString;
use std::net::Ipv4Addr;

use windlass_base::{Bytes, Rate, Span};
use windlass_lab::SENDER;
use windlass_netlab::device::{
    DeviceFacts, DeviceSnapshot, JobCounts, PeerSnapshot, ReaderActivity, Services,
};

use crate::live::{MOST_ROWS, Series, View, ViewInterval};
use crate::records::ended::{self, EVERY};
use crate::{Style, Text, figures};

/// Returns the empty view.
pub fn view(device: &DeviceFacts, command: &[OsString]) -> View {
    let series = [
        Series::rate("rate in"),
        Series::rate("read"),
        Series::bytes("window"),
        Series::bytes("buffer"),
    ];
    let title = format!("windlass device run {} -- {}", device.profile, ended::asked(command));
    let view = View::new(title, Some(EVERY), series);
    view.with_columns("from port | to | rate: | received: | window: | buffer: | its reader")
}

/// Ends of a connection: the peer, its port, and the device's port.
type ConnectionEnds = (Ipv4Addr, u16, u16);

/// Traffic of a device, as of the last snapshot.
#[derive(Debug)]
pub struct DeviceTraffic {
    services: Services,
    at: Span,
    received: Bytes,
    read: Bytes,
    connections: BTreeMap<ConnectionEnds, PeerSnapshot>,
    /// Rows of ended connections, the newest first.
    over: VecDeque<Vec<Text>>,
}

impl DeviceTraffic {
    /// Creates the traffic of a device with these services.
    pub fn new(services: Services) -> Self {
        Self {
            services,
            at: Span::ZERO,
            received: Bytes::ZERO,
            read: Bytes::ZERO,
            connections: BTreeMap::new(),
            over: VecDeque::new(),
        }
    }

    /// Returns the traffic since the last snapshot, and the current state.
    pub fn stretch(&mut self, look: &DeviceSnapshot) -> ViewInterval {
        let from = std::mem::replace(&mut self.at, look.at);
        let lasted = look.at - from;
        let rate = |now: Bytes, before: Bytes| (now - before).per(lasted);
        let came = rate(look.received, self.received);
        let read = rate(look.read, self.read);
        (self.received, self.read) = (look.received, look.read);
        let now: BTreeMap<ConnectionEnds, PeerSnapshot> =
            look.connections.iter().map(|one| (ends(one), *one)).collect();
        let before = std::mem::take(&mut self.connections);
        // A reused port means another connection.
        let goes_on = |of: &ConnectionEnds, one: &PeerSnapshot| {
            now.get(of).is_some_and(|now| now.connection.received >= one.connection.received)
        };
        for (_, one) in before.iter().filter(|(of, one)| !goes_on(of, one)) {
            let row = self.row(one, None);
            self.over.truncate(MOST_ROWS - 1);
            self.over.push_front(row);
        }
        let since = |of: &ConnectionEnds, one: &PeerSnapshot| {
            let earlier = before.get(of).filter(|earlier| goes_on(of, earlier));
            one.connection.received - earlier.map_or(Bytes::ZERO, |one| one.connection.received)
        };
        let mut moved: Vec<(Bytes, &PeerSnapshot)> =
            now.iter().map(|(of, one)| (since(of, one), one)).collect();
        moved.sort_by_key(|(bytes, _)| std::cmp::Reverse(*bytes));
        let first = moved.first().map(|(_, one)| one.connection);
        let bytes = |bytes: Bytes| bytes.get() as f64;
        let open = moved.iter().map(|(bytes, one)| self.row(one, Some(bytes.per(lasted))));
        let rows = open.chain(self.over.iter().cloned()).take(MOST_ROWS).collect();
        self.connections = now;
        ViewInterval {
            from,
            to: look.at,
            values: vec![
                Some(came.bytes_per_second()),
                Some(read.bytes_per_second()),
                first.map(|one| bytes(one.window)),
                first.map(|one| bytes(one.unread)),
            ],
            rows,
            state: state(look),
            ..ViewInterval::default()
        }
    }

    /// Returns the row of a connection; an ended one has no rate.
    fn row(&self, one: &PeerSnapshot, rate: Option<Rate>) -> Vec<Text> {
        let PeerSnapshot { peer, connection } = one;
        // Hosts other than the command's are rare: only made-up addresses appear here.
        let port = connection.peer_port;
        let from = if *peer == SENDER { port.to_string() } else { format!("{peer}:{port}") };
        let is_over = rate.is_none();
        let open = |bytes: Bytes| if is_over { Text::known(None::<Text>) } else { bytes.into() };
        vec![
            Text::from(from),
            Text::from(self.services.called(connection.port)),
            Text::known(rate.map(|rate| Text::default().strong(rate.in_bits()))),
            connection.received.into(),
            open(connection.window),
            open(connection.unread),
            if is_over { Text::styled(Style::Dim, "over") } else { reading(connection.reading) },
        ]
    }
}

fn ends(one: &PeerSnapshot) -> ConnectionEnds {
    (one.peer, one.connection.peer_port, one.connection.port)
}

/// Returns the activity of the device's program.
fn reading(reading: ReaderActivity) -> Text {
    match reading {
        ReaderActivity::Waiting => Text::styled(Style::Dim, "has read all"),
        ReaderActivity::AtOnce => Text::from("reads"),
        ReaderActivity::Printing => Text::from("prints"),
        ReaderActivity::BeforeAck => Text::from("waits for an ACK"),
        ReaderActivity::AfterAck => Text::from("reads after an ACK"),
        ReaderActivity::Stalled { left } => Text::styled(Style::Warn, "stalls").and(", ").and(left),
        ReaderActivity::Clogged => Text::styled(Style::Warn, "waits for its peer"),
    }
}

/// Returns the number of connections, the progress, and the failures.
fn state(look: &DeviceSnapshot) -> Text {
    let JobCounts { raw, lpr, ipp } = look.jobs;
    let done = figures::counted(raw + lpr + ipp, "job").and(" done");
    let each = [(raw, "raw"), (lpr, "LPR"), (ipp, "IPP")].into_iter().filter(|(n, _)| *n > 0);
    let each: Vec<Text> = each.map(|(n, by)| Text::from(n).and(format!(" {by}"))).collect();
    let done =
        if each.len() > 1 { done.and(" (").and(Text::joined(each, ", ")).and(")") } else { done };
    let open = figures::counted(look.connections.len() as u64, "connection").and(" open");
    let bad = [
        (look.dropped_by_queue.iter().sum(), "dropped by the queue"),
        (look.lost, "lost"),
        (look.syns_dropped, "found no free connection"),
    ];
    let bad = bad.into_iter().filter(|(count, _)| *count > 0);
    bad.fold(open.and(", ").and(done), |text, (count, what)| {
        text.and(", ").with(Style::Warn, figures::count(count)).and(" ").and(what)
    })
}

#[cfg(test)]
mod tests {
    use windlass_lab::{DEVICE, Profile};
    use windlass_netlab::device::{ConnectionSnapshot, ExtraPorts, Queue};

    use super::*;
    use crate::live::screen;

    fn facts() -> DeviceFacts {
        let profile = Profile::named("netgear-ps101", &|_| unreachable!("it is built in")).unwrap();
        let services = Services::new(&profile, ExtraPorts::default()).unwrap();
        DeviceFacts::new(&profile, services)
    }

    fn connection(
        peer_port: u16,
        received: u64,
        unread: u64,
        reading: ReaderActivity,
    ) -> PeerSnapshot {
        let connection = ConnectionSnapshot {
            port: 9_100,
            peer_port,
            received: Bytes::new(received),
            unread: Bytes::new(unread),
            window: Bytes::new(1_024 - unread),
            reading,
        };
        PeerSnapshot { peer: SENDER, connection }
    }

    fn look(second: u64, connections: Vec<PeerSnapshot>, raw: u64) -> DeviceSnapshot {
        let sum = |of: fn(&ConnectionSnapshot) -> Bytes| {
            connections.iter().map(|one| of(&one.connection)).sum::<Bytes>()
        };
        let before = Bytes::new(raw * 500_000);
        let received = sum(|one| one.received) + before;
        DeviceSnapshot {
            at: Span::from_millis(1_000 * second.cast_signed()),
            received,
            read: received - sum(|one| one.unread),
            connections,
            jobs: JobCounts { raw, lpr: 2, ipp: 0 },
            syns_dropped: 1,
            dropped_by_queue: [3, 0],
            lost: 0,
            queue: Queue::default(),
        }
    }

    /// Returns the view of an ended job of 500 kB, and of two running ones.
    fn shown() -> View {
        let device = facts();
        let command = ["./sender", "--host", "192.0.2.2"].map(OsString::from);
        let mut view = view(&device, &command);
        let mut coming = DeviceTraffic::new(device.services);
        for second in 1..=10 {
            let one = connection(40_001, 50_000 * second, 512, ReaderActivity::Printing);
            view.push(coming.stretch(&look(second, vec![one], 0)));
        }
        for second in 11..=30 {
            let left = Span::from_millis(340);
            let stalled = connection(40_003, 9_000, 1_024, ReaderActivity::Stalled { left });
            let one = connection(40_002, 20_000 * (second - 10), 0, ReaderActivity::Waiting);
            view.push(coming.stretch(&look(second, vec![stalled, one], 1)));
        }
        view
    }

    #[test]
    fn a_device_at_80_by_24() {
        insta::assert_snapshot!(screen(&shown(), (80, 24)));
    }

    #[test]
    fn a_device_at_200_by_50() {
        insta::assert_snapshot!(screen(&shown(), (200, 50)));
    }

    #[test]
    fn a_port_that_is_used_again_is_another_connection() {
        let mut coming = DeviceTraffic::new(facts().services);
        coming.stretch(&look(1, vec![connection(5, 700_000, 0, ReaderActivity::Waiting)], 0));
        let again =
            coming.stretch(&look(2, vec![connection(5, 1_000, 24, ReaderActivity::AtOnce)], 1));
        let text = |row: &[Text]| row.iter().map(Text::plain).collect::<Vec<_>>().join(" ");
        let rows: Vec<String> = again.rows.iter().map(|row| text(row)).collect();
        assert_eq!(rows.len(), 2, "{rows:?}");
        assert_eq!(rows[0], "5 raw 9100 8 kbit/s 1,000 B 1,000 B 24 B reads");
        assert!(rows[1].starts_with("5 raw 9100 - 700,000 B") && rows[1].ends_with("over"));
        assert_ne!(DEVICE, SENDER);
    }
}
