//! State of running tests, for observers of a server.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use windlass_base::Bytes;

use crate::driven::TestSide;
use crate::protocol::Protocol;
use crate::report::{Interval, SideReport};
use crate::transfer::{End, Role, Transfer};

/// State of a running test at one moment.
#[derive(Clone, Debug)]
pub struct TestNow {
    /// Its number.
    pub test: u64,
    /// Address of the client.
    pub client: SocketAddr,
    /// Its protocol.
    pub protocol: Protocol,
    /// The transfer.
    pub transfer: Transfer,
    /// Duration so far.
    pub lasted: Duration,
    /// Directions in which data may have moved.
    pub ways: Vec<WayNow>,
}

/// State of one direction of a running test.
#[derive(Clone, Copy, Debug)]
pub struct WayNow {
    /// Role of this end.
    pub role: Role,
    /// Bytes so far: acknowledged if this end sends, read if it receives.
    pub bytes: Bytes,
    /// Latest interval with figures of the sender's kernel, from either end; nothing if no end
    /// reports them.
    pub sender: Option<Interval>,
}

/// Running tests.
#[derive(Debug, Default)]
pub(crate) struct Gauges(Mutex<BTreeMap<u64, Arc<Gauge>>>);

/// State of a running test.
#[derive(Debug)]
pub(crate) struct Gauge {
    test: u64,
    client: SocketAddr,
    protocol: Protocol,
    transfer: Transfer,
    began: Instant,
    ways: Mutex<Vec<WayNow>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Gauges {
    /// Adds a test that begins.
    pub(super) fn begins(
        &self,
        (test, client): (u64, SocketAddr),
        protocol: Protocol,
        transfer: Transfer,
    ) {
        let (began, ways) = (Instant::now(), Mutex::default());
        let gauge = Gauge { test, client, protocol, transfer, began, ways };
        lock(&self.0).insert(test, Arc::new(gauge));
    }

    /// Removes a test that has ended.
    pub(super) fn ends(&self, test: u64) {
        lock(&self.0).remove(&test);
    }

    /// Removes the tests of a client whose request failed: a test may have begun before a thread or
    /// a socket could not be had.
    pub(super) fn refused(&self, client: SocketAddr) {
        lock(&self.0).retain(|_, one| one.client != client);
    }

    /// Returns the gauge of a running test.
    pub(super) fn of(&self, test: u64) -> Option<Arc<Gauge>> {
        lock(&self.0).get(&test).cloned()
    }

    /// Returns the state of all running tests, by their numbers.
    pub(super) fn now(&self) -> Vec<TestNow> {
        lock(&self.0).values().map(|gauge| gauge.now()).collect()
    }
}

impl Gauge {
    /// Records the bytes of a direction so far.
    pub(super) fn moved(&self, role: Role, bytes: Bytes) {
        self.way(role, |way| way.bytes = bytes);
    }

    /// Records an interval that an end reports.
    pub(super) fn tells(&self, interval: &Interval) {
        if interval.sender.is_none() {
            return;
        }
        let sends = (interval.end == End::Server) == (interval.role == Role::Sender);
        let role = if sends { Role::Sender } else { Role::Receiver };
        self.way(role, |way| way.sender = Some(*interval));
    }

    fn way(&self, role: Role, change: impl FnOnce(&mut WayNow)) {
        let mut ways = lock(&self.ways);
        let place = ways.iter().position(|way| way.role == role).unwrap_or_else(|| {
            ways.push(WayNow { role, bytes: Bytes::ZERO, sender: None });
            ways.len() - 1
        });
        change(&mut ways[place]);
    }

    fn now(&self) -> TestNow {
        TestNow {
            test: self.test,
            client: self.client,
            protocol: self.protocol,
            transfer: self.transfer.clone(),
            lasted: self.began.elapsed(),
            ways: lock(&self.ways).clone(),
        }
    }
}

/// An end of a test that records its progress in a gauge.
pub(crate) struct GaugedSide {
    side: Box<dyn TestSide>,
    gauge: Option<Arc<Gauge>>,
}

impl GaugedSide {
    /// Adds a gauge to an end.
    pub(crate) fn new(side: Box<dyn TestSide>, gauge: Option<Arc<Gauge>>) -> Self {
        Self { side, gauge }
    }

    /// Records the progress of the end.
    fn tell(&self, intervals: &[Interval]) {
        let Some(gauge) = &self.gauge else { return };
        intervals.iter().for_each(|interval| gauge.tells(interval));
        for role in [Role::Sender, Role::Receiver] {
            let own = self.side.each().filter(|(_, of, _)| *of == role).map(|(.., bytes)| bytes);
            // If both ends of a test are here, each records one direction.
            if let Some(bytes) = own.reduce(|one, other| one + other) {
                gauge.moved(role, bytes);
            }
        }
    }
}

impl TestSide for GaugedSide {
    fn tick(&mut self) -> Vec<Interval> {
        let intervals = self.side.tick();
        self.tell(&intervals);
        intervals
    }

    fn next_time(&self) -> Instant {
        self.side.next_time()
    }

    fn stop(&mut self) {
        self.side.stop();
    }

    fn cut(&mut self) {
        self.side.cut();
    }

    fn end_sending(&mut self) {
        self.side.end_sending();
    }

    fn end_receiving(&self, is_all: &dyn Fn(u16, Bytes) -> bool) {
        self.side.end_receiving(is_all);
    }

    fn take_sent(&mut self) -> Option<Vec<(u16, u64)>> {
        self.side.take_sent()
    }

    fn heard(&mut self, sent: &[(u16, u64)]) {
        self.side.heard(sent);
    }

    fn senders_ended(&self) -> bool {
        self.side.senders_ended()
    }

    fn each(&self) -> Box<dyn Iterator<Item = (u16, Role, Bytes)> + '_> {
        self.side.each()
    }

    fn began(&self) -> Instant {
        self.side.began()
    }

    fn deadline(&self) -> Option<Instant> {
        self.side.deadline()
    }

    fn is_done(&self) -> bool {
        self.side.is_done()
    }

    fn moved(&self) -> Bytes {
        self.side.moved()
    }

    fn finish(&mut self) -> SideReport {
        self.side.finish()
    }
}

#[cfg(test)]
mod tests {
    use windlass_base::{Rate, Span};

    use super::*;
    use crate::report::SenderInterval;

    #[test]
    fn a_test_is_known_from_its_begin_to_its_end() {
        let gauges = Gauges::default();
        let client = SocketAddr::from(([192, 0, 2, 1], 40_000));
        let (protocol, transfer) = (Protocol::Windlass, Transfer::default());
        gauges.begins((7, client), protocol, transfer.clone());
        let gauge = gauges.of(7).unwrap();
        gauge.moved(Role::Receiver, Bytes::new(5_000));
        let interval = |end, role, sender| Interval {
            end,
            role,
            from_seconds: Span::ZERO,
            to_seconds: Span::from_millis(1_000),
            omitted: false,
            bytes: Bytes::ZERO,
            bytes_per_second: Rate::from_bytes_per_second(1e6),
            sender,
            datagrams: None,
        };
        // The client sends: its kernel reports on the direction in which this end receives.
        gauge.tells(&interval(End::Client, Role::Sender, Some(SenderInterval::default())));
        gauge.tells(&interval(End::Server, Role::Receiver, None));
        let now = gauges.now();
        let [ref test] = now[..] else { panic!("{now:?}") };
        assert_eq!((test.test, test.client), (7, client));
        let [way] = test.ways[..] else { panic!("{test:?}") };
        assert_eq!((way.role, way.bytes), (Role::Receiver, Bytes::new(5_000)));
        assert_eq!(way.sender.map(|told| told.end), Some(End::Client));
        gauge.tells(&interval(End::Server, Role::Sender, Some(SenderInterval::default())));
        assert_eq!(gauges.now()[0].ways[1].role, Role::Sender);
        gauges.ends(7);
        assert!(gauges.now().is_empty() && gauges.of(7).is_none());
        // A test that began, and failed.
        gauges.begins((8, client), protocol, transfer);
        gauges.refused(client);
        assert!(gauges.now().is_empty());
    }
}
