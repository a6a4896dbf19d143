//! One end of a test over UDP: its flows and their measurements.

use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use windlass_base::{Bytes, Span};
use windlass_sys::clock::since_1970;
use windlass_sys::cpu::{self, CpuTime};
use windlass_wire::iperf2::datagrams::Report;
use windlass_wire::numbered::DatagramFormat;

use super::arrivals::{Arrivals, Counts};
use super::flow::{EndSignal, FlowEnd, FlowState, Receiver, Sender, gap, is_fast};
use crate::driven::TestSide;
use crate::error::Error;
use crate::meter::{ThreadTime, interval, processor_time};
use crate::report::{
    DatagramInterval, Datagrams, DirectionReport, FlowReport, Interval, SideReport,
};
use crate::transfer::{End, Role, Transfer};

/// Pause after which no more datagrams are awaited, once the other end has sent everything.
const QUIET: Duration = Duration::from_millis(500);

/// Longest time for the last datagrams.
const LAST: Duration = Duration::from_secs(5);

/// Interval between two checks for the last datagrams.
const SOON: Duration = Duration::from_millis(10);

/// Longest time for a thread to end after it was told to.
const ENDING: Duration = Duration::from_secs(1);

/// One end of a running test over UDP.
#[derive(Debug)]
pub(crate) struct UdpSide {
    end: End,
    began: Instant,
    /// Time from which datagrams count.
    counts_from: Instant,
    /// True once datagrams count.
    has_begun: bool,
    deadline: Option<Instant>,
    interval: Duration,
    flows: Vec<Flow>,
    from: Instant,
    process: CpuTime,
    /// Time when the other end had sent everything, as it says.
    far_done: Option<Instant>,
    /// Number of arrivals, and the time when it last grew.
    moved: (u64, Instant),
    is_told: bool,
    /// True if the numbers of sent datagrams were reported.
    has_said_sent: bool,
    /// Gap between two datagrams of a flow.
    gap: Option<Span>,
    /// Length of a datagram in bytes.
    length: u64,
}

#[derive(Debug)]
struct Flow {
    number: u16,
    role: Role,
    local: String,
    remote: String,
    shared: Arc<FlowState>,
    thread: Option<JoinHandle<FlowEnd>>,
    ended: Option<FlowEnd>,
    /// Counts at the end of the last interval.
    before: Snapshot,
    /// Number of datagrams that the other end says to have sent.
    expected: Option<u64>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Snapshot {
    sent: u64,
    sent_bytes: u64,
    counts: Counts,
}

/// Time and bytes of a datagram that came before its flow had a socket.
pub(crate) type EarlyDatagram = (Duration, Vec<u8>);

impl UdpSide {
    /// Starts the threads: the test begins now. Sockets are connected. The number of a flow gives
    /// its role.
    pub(crate) fn start(
        end: End,
        transfer: &Transfer,
        sockets: Vec<(u16, UdpSocket)>,
        format: DatagramFormat,
    ) -> Result<Self, Error> {
        Self::start_with(end, transfer, sockets, format, EndSignal::Silent, &[])
    }

    /// Starts the threads like [`Self::start`]; `ending` says how senders signal the end of their
    /// flows. The datagrams in `early` belong to the first received flow.
    pub(crate) fn start_with(
        end: End,
        transfer: &Transfer,
        mut sockets: Vec<(u16, UdpSocket)>,
        format: DatagramFormat,
        ending: EndSignal,
        early: &[EarlyDatagram],
    ) -> Result<Self, Error> {
        let began = Instant::now();
        let omit = transfer.omit.to_duration();
        let counts_from = began + omit;
        let (deadline, bytes) = transfer.until.bounds(counts_from);
        let streams = u64::from(transfer.streams.max(1));
        let each = transfer.pace_of_one();
        let gap = each.map(|pace| gap(transfer.length, pace));
        // Each flow sends the same number; the first ones send the rest.
        let datagrams = bytes.map(|bytes| bytes.div_ceil(u64::from(transfer.length.max(1))));
        let length = usize::try_from(transfer.length).unwrap_or(usize::MAX);
        sockets.sort_by_key(|(number, _)| *number);
        let mut side = Self {
            end,
            began,
            counts_from,
            has_begun: omit.is_zero(),
            deadline,
            interval: transfer.interval.to_duration(),
            flows: Vec::new(),
            from: began,
            process: cpu::of_this_process(),
            far_done: None,
            moved: (0, began),
            is_told: false,
            has_said_sent: false,
            gap,
            length: transfer.length.into(),
        };
        let mut early = Some(early);
        for (number, socket) in sockets {
            let role = transfer.role(end, number);
            let address = |found: std::io::Result<std::net::SocketAddr>| {
                found.map_or_else(
                    |_| String::new(),
                    |address| crate::udp::plain(address).to_string(),
                )
            };
            let (local, remote) = (address(socket.local_addr()), address(socket.peer_addr()));
            let shared = Arc::new(FlowState::new(format, omit));
            let name = thread::Builder::new().name(format!("flow {number}"));
            let own = u64::from(number) % streams;
            let thread = match role {
                Role::Sender => {
                    let sender = Sender {
                        socket,
                        format,
                        length,
                        pace: each,
                        turn: gap.map_or(Duration::ZERO, |gap| {
                            gap.scaled(own as f64 / streams as f64).to_duration()
                        }),
                        counts_from,
                        until: deadline,
                        most: datagrams.map(|all| all / streams + u64::from(own < all % streams)),
                        ending,
                        shared: Arc::clone(&shared),
                    };
                    name.spawn(move || sender.run())
                }
                Role::Receiver => {
                    for (at, bytes) in early.take().into_iter().flatten() {
                        if let Some(stamp) = format.read(bytes) {
                            shared.arrivals().take(&stamp, *at, bytes.len());
                        }
                    }
                    let (is_fast, shared) = (is_fast(gap), Arc::clone(&shared));
                    let counts_from = (!omit.is_zero()).then_some(counts_from);
                    let receiver =
                        Receiver { socket, format, length, counts_from, is_fast, shared };
                    name.spawn(move || receiver.run())
                }
            };
            let thread = thread.map_err(Error::io("cannot start a thread for a flow"))?;
            side.flows.push(Flow {
                number,
                role,
                local,
                remote,
                shared,
                thread: Some(thread),
                ended: None,
                before: Snapshot::default(),
                expected: None,
            });
        }
        Ok(side)
    }

    fn of(&self, role: Role) -> impl Iterator<Item = &Flow> {
        self.flows.iter().filter(move |flow| flow.role == role)
    }

    fn next_interval(&self) -> Instant {
        let next = self.from + self.interval;
        if self.has_begun { next } else { next.min(self.counts_from) }
    }

    fn end(&self, role: Role) {
        self.of(role).for_each(|flow| flow.shared.stop.store(true, Ordering::Relaxed));
    }

    /// Takes the results of the threads that have ended.
    fn collect(&mut self) {
        for flow in &mut self.flows {
            let ended = flow.thread.as_ref().is_some_and(JoinHandle::is_finished);
            if let Some(thread) = flow.thread.take_if(|_| ended) {
                let broken = || FlowEnd {
                    error: Some(std::io::Error::other("its thread broke off")),
                    ..FlowEnd::default()
                };
                flow.ended = Some(thread.join().unwrap_or_else(|_| broken()));
            }
        }
    }

    /// Ends the receivers once everything that will arrive has arrived.
    fn look_whether_all_came(&mut self) {
        let came: u64 =
            self.of(Role::Receiver).map(|flow| flow.shared.arrivals().counts().distinct).sum();
        if came != self.moved.0 {
            self.moved = (came, Instant::now());
        }
        for flow in self.flows.iter_mut().filter(|flow| flow.role == Role::Receiver) {
            let last = flow.shared.arrivals().last();
            flow.expected = flow.expected.or(last);
        }
        let received = self.of(Role::Receiver).count();
        let knows = self.of(Role::Receiver).filter(|flow| flow.expected.is_some()).count();
        if received > 0 && knows == received {
            self.far_done.get_or_insert_with(Instant::now);
        }
        let Some(done) = self.far_done else { return };
        let is_whole = self.of(Role::Receiver).all(|flow| {
            let counts = flow.shared.arrivals().counts();
            flow.expected.is_some_and(|expected| counts.distinct >= expected)
        });
        if is_whole || done.max(self.moved.1).elapsed() >= QUIET || done.elapsed() >= LAST {
            self.end(Role::Receiver);
        }
    }

    /// Returns the other end's answers to the last datagrams of all sent flows, by their numbers;
    /// nothing if one is missing.
    pub(crate) fn answers(&self) -> Option<Vec<(u16, Report)>> {
        let answer = |flow: &Flow| Some((flow.number, flow.ended.as_ref()?.answer?));
        self.of(Role::Sender).map(answer).collect()
    }

    fn close_intervals(&mut self, now: Instant) -> Vec<Interval> {
        let Some((from, to)) = interval(self.began, (self.from, now), self.interval) else {
            return Vec::new();
        };
        let length = to - from;
        self.from = now;
        let (end, omitted) = (self.end, !self.has_begun);
        let mut intervals = Vec::new();
        for role in [Role::Sender, Role::Receiver] {
            let mut flows = self.flows.iter_mut().filter(|flow| flow.role == role).peekable();
            if flows.peek().is_none() {
                continue;
            }
            let (mut bytes, mut seen) = (0, DatagramInterval::default());
            for flow in flows {
                let (before, now) = (flow.before, flow.snapshot());
                flow.before = now;
                match role {
                    Role::Sender => {
                        bytes += now.sent_bytes - before.sent_bytes;
                        seen.count += now.sent - before.sent;
                    }
                    Role::Receiver => {
                        let (now, before) = (now.counts, before.counts);
                        bytes += now.bytes - before.bytes;
                        seen.count += now.distinct - before.distinct;
                        // Late datagrams were counted as lost in an earlier interval.
                        let lost = now.missing().saturating_sub(before.missing());
                        *seen.lost.get_or_insert(0) += lost;
                        *seen.out_of_order.get_or_insert(0) +=
                            now.out_of_order - before.out_of_order;
                        let jitter = flow.shared.arrivals().jitter();
                        seen.jitter_seconds = seen.jitter_seconds.max(jitter);
                    }
                }
            }
            let bytes = Bytes::new(bytes);
            intervals.push(Interval {
                end,
                role,
                from_seconds: from,
                to_seconds: to,
                omitted,
                bytes,
                bytes_per_second: bytes.per(length),
                sender: None,
                datagrams: Some(seen),
            });
        }
        intervals
    }

    fn direction(&self, role: Role) -> Option<DirectionReport> {
        let flows: Vec<&Flow> = self.of(role).collect();
        if flows.is_empty() {
            return None;
        }
        let reports: Vec<FlowReport> = flows.iter().map(|flow| flow.report(self.length)).collect();
        let bytes: Bytes = reports.iter().map(|flow| flow.bytes).sum();
        let seconds = match role {
            // A flow lasts until its next datagram would be sent.
            Role::Sender => {
                let ended = flows.iter().filter_map(|flow| flow.ended.as_ref());
                let ran = ended.map(|ended| ended.ran).max();
                let ran = ran.unwrap_or_else(|| self.began.elapsed());
                // If the test was interrupted before the counted time, everything counts.
                let omit = self.counts_from - self.began;
                let ran = Span::from_duration(ran.checked_sub(omit).unwrap_or(ran));
                let paced = self.gap.map(|gap| {
                    let most = reports.iter().map(|flow| flow.datagrams.count).max().unwrap_or(0);
                    gap.scaled(most as f64)
                });
                match self.deadline {
                    Some(_) => ran,
                    None => paced.map_or(ran, |paced| paced.max(ran)),
                }
            }
            Role::Receiver => {
                flows.iter().map(|flow| flow.shared.arrivals().lasted()).max().unwrap_or(Span::ZERO)
            }
        };
        let ended = || flows.iter().filter_map(|flow| flow.ended.as_ref());
        let error = ended().find_map(|ended| ended.error.as_ref().map(ToString::to_string));
        let datagrams = Datagrams::of(&reports);
        Some(DirectionReport {
            role,
            seconds,
            bytes,
            bytes_per_second: bytes.per(seconds),
            total_bytes: flows.iter().map(|flow| flow.bytes()).sum(),
            cpu: processor_time(ended().map(|ended| ThreadTime {
                cpu: ended.cpu,
                ran: ended.ran,
                waited: None,
            })),
            streams: Vec::new(),
            retransmissions: None,
            datagrams: Some(Datagrams { flows: reports, ..datagrams }),
            delivery: None,
            machine: None,
            program_share: None,
            error,
        })
    }
}

impl Flow {
    fn snapshot(&self) -> Snapshot {
        Snapshot {
            sent: self.shared.sent.load(Ordering::Relaxed),
            sent_bytes: self.shared.sent_bytes.load(Ordering::Relaxed),
            counts: self.shared.arrivals().counts(),
        }
    }

    fn bytes(&self) -> Bytes {
        let now = self.snapshot();
        Bytes::new(match self.role {
            Role::Sender => now.sent_bytes,
            Role::Receiver => now.counts.bytes,
        })
    }

    /// Returns the report of the counted time.
    fn report(&self, length: u64) -> FlowReport {
        let Snapshot { sent, sent_bytes, .. } = self.snapshot();
        let (bytes, datagrams, omitted, omitted_lost) = match self.role {
            Role::Sender => {
                let omitted = self.shared.omitted.load(Ordering::Relaxed);
                let datagrams = Datagrams { count: sent - omitted, ..Datagrams::default() };
                (sent_bytes - omitted * length, datagrams, omitted, 0)
            }
            Role::Receiver => {
                let mut arrivals = self.shared.arrivals();
                arrivals.begin_by(since_1970());
                let ended = self.ended.as_ref();
                let datagrams = Datagrams {
                    overflowed: ended.and_then(|ended| ended.overflowed),
                    overflowed_is_least: ended.is_some_and(|ended| ended.overflowed_is_least),
                    ..counted(&arrivals, self.expected)
                };
                let omitted = arrivals.omitted();
                (arrivals.counted().bytes, datagrams, omitted.highest, omitted.missing())
            }
        };
        FlowReport {
            stream: self.number,
            local: self.local.clone(),
            remote: self.remote.clone(),
            bytes: Bytes::new(bytes),
            datagrams,
            omitted: Some(omitted),
            omitted_lost: Some(omitted_lost),
        }
    }
}

/// Returns the counted arrivals, with the number of sent datagrams as far as it is known.
fn counted(arrivals: &Arrivals, expected: Option<u64>) -> Datagrams {
    let counts = arrivals.counted();
    let expected = expected.unwrap_or(0).saturating_sub(arrivals.omitted().highest);
    // Late datagrams from before may have arrived, too.
    let sent = expected.max(counts.highest).max(counts.distinct);
    Datagrams {
        count: counts.distinct,
        sent: Some(sent),
        lost: Some(sent - counts.distinct),
        out_of_order: Some(counts.out_of_order),
        duplicates: Some(counts.duplicates),
        jitter_seconds: arrivals.jitter(),
        mean_jitter_seconds: arrivals.mean_jitter(),
        delay_variation_seconds: arrivals.delay_variation(),
        ..Datagrams::default()
    }
}

impl TestSide for UdpSide {
    fn next_time(&self) -> Instant {
        let next = self.next_interval();
        let soon = Instant::now() + SOON;
        match self.deadline {
            _ if self.far_done.is_some() => next.min(soon),
            Some(deadline) if deadline > self.from => next.min(deadline),
            _ => next,
        }
    }

    fn tick(&mut self) -> Vec<Interval> {
        self.look_whether_all_came();
        self.collect();
        let now = Instant::now();
        let mut closed = Vec::new();
        if !self.has_begun && now >= self.counts_from {
            closed = self.close_intervals(now);
            self.has_begun = true;
        }
        let is_over = self.is_done();
        if !self.is_told && (is_over || now >= self.next_interval()) {
            self.is_told = is_over;
            closed.extend(self.close_intervals(now));
        }
        closed
    }

    fn stop(&mut self) {
        self.end(Role::Sender);
        self.deadline = Some(self.deadline.map_or_else(Instant::now, |at| at.min(Instant::now())));
    }

    fn cut(&mut self) {
        self.stop();
        self.end(Role::Receiver);
    }

    fn end_sending(&mut self) {
        self.end(Role::Sender);
    }

    fn end_receiving(&self, is_all: &dyn Fn(u16, Bytes) -> bool) {
        for flow in self.of(Role::Receiver).filter(|flow| flow.ended.is_none()) {
            if is_all(flow.number, flow.bytes()) {
                flow.shared.stop.store(true, Ordering::Relaxed);
            }
        }
    }

    fn take_sent(&mut self) -> Option<Vec<(u16, u64)>> {
        if self.has_said_sent || !self.senders_ended() || self.of(Role::Sender).next().is_none() {
            return None;
        }
        self.has_said_sent = true;
        let sent = |flow: &Flow| (flow.number, flow.shared.sent.load(Ordering::Relaxed));
        Some(self.of(Role::Sender).map(sent).collect())
    }

    fn heard(&mut self, sent: &[(u16, u64)]) {
        self.far_done.get_or_insert_with(Instant::now);
        for flow in self.flows.iter_mut().filter(|flow| flow.role == Role::Receiver) {
            let found = sent.iter().find(|(number, _)| *number == flow.number);
            flow.expected = flow.expected.or(found.map(|(_, count)| *count));
        }
    }

    fn senders_ended(&self) -> bool {
        self.of(Role::Sender).all(|flow| flow.ended.is_some())
    }

    fn each(&self) -> Box<dyn Iterator<Item = (u16, Role, Bytes)> + '_> {
        Box::new(self.flows.iter().map(|flow| (flow.number, flow.role, flow.bytes())))
    }

    fn began(&self) -> Instant {
        self.began
    }

    fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    fn is_done(&self) -> bool {
        self.flows.iter().all(|flow| flow.ended.is_some())
    }

    fn moved(&self) -> Bytes {
        self.flows.iter().map(Flow::bytes).sum()
    }

    fn finish(&mut self) -> SideReport {
        if !self.is_done() {
            self.cut();
            let since = Instant::now();
            while !self.is_done() && since.elapsed() < ENDING {
                self.collect();
                thread::sleep(Duration::from_millis(2));
            }
        }
        let process = cpu::of_this_process().since(self.process);
        let directions = [Role::Sender, Role::Receiver];
        SideReport {
            end: self.end,
            directions: directions.into_iter().filter_map(|role| self.direction(role)).collect(),
            processors: Some(cpu::allowed().map_or(1, |cpus| cpus.len())),
            process_cpu_seconds: Span::from_duration(process.total()),
        }
    }
}

impl Drop for UdpSide {
    /// Ends all threads with the test.
    fn drop(&mut self) {
        self.cut();
    }
}
