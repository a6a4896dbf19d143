//! One end of a test: its threads and their measurements.
//!
//! This module knows no protocol. The owner of the streams starts the end, calls its `tick` at each
//! `next_time`, and takes the report when it is done.

use std::collections::BTreeMap;
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use windlass_base::{Bytes, Span};
use windlass_host::processors::ProcessorSampler;
use windlass_sys::cpu::{self, CpuTime};

use crate::driven::TestSide;
use crate::error::Error;
use crate::meter::{Meter, interval, pause_after, processor_time};
use crate::report::{DirectionReport, Interval, Machine, SenderInterval, SideReport};
use crate::slices::Slices;
use crate::socket::ahead;
use crate::stream::{Budget, CloseSignal, Receiver, Sender, Sink, Source, StreamEnd, TestFlags};
use crate::transfer::{End, Role, Transfer};

/// Longest time for a thread to end after it was told to. A thread that waits for a terminal or a
/// pipe may take forever.
const ENDING: Duration = Duration::from_secs(1);

/// Maximum number of streams with a pipe each. With more, each write copies, because the pipes'
/// file descriptors would be missing for connections.
const MAX_PIPES: u16 = 64;

/// One end of a running test.
#[derive(Debug)]
pub(crate) struct Side {
    end: End,
    began: Instant,
    /// Beginning of the counted time and, if the test has a duration, its end.
    counts_from: Instant,
    deadline: Option<Instant>,
    interval: Duration,
    directions: Vec<Direction>,
    shared: Arc<TestFlags>,
    next_sample: Instant,
    /// Beginning of the current interval.
    from: Instant,
    process: CpuTime,
    has_begun: bool,
    /// Number of counted bytes after which the test ends, if bytes end it.
    bytes: Option<u64>,
    budget: Arc<Budget>,
    /// True if everything written is delivered: neither a time nor a user ends the test before.
    is_whole: bool,
    /// True if the last interval was reported.
    is_told: bool,
    /// Thread that takes the first sample of the machine. Sampling thousands of processes takes a
    /// while, and the test does not wait for it.
    looker: Option<JoinHandle<Option<ProcessorSampler>>>,
}

/// Streams of one direction.
#[derive(Debug)]
struct Direction {
    role: Role,
    streams: Vec<Stream>,
    /// Measurements, once the counted time is over.
    measured: Option<DirectionTotals>,
    /// Beginning of the counted time in this direction.
    base: Instant,
    slices: Slices,
}

#[derive(Debug)]
struct Stream {
    meter: Meter,
    thread: Option<JoinHandle<StreamEnd>>,
    ended: Option<StreamEnd>,
}

#[derive(Clone, Debug)]
struct DirectionTotals {
    seconds: Span,
    bytes: Vec<Bytes>,
}

/// Settings for the threads of an end.
#[derive(Debug, Default)]
pub struct ThreadSettings {
    /// Data to send; random bytes by default.
    pub source: Option<Source>,
    /// Destination of received data, for a single stream; discarded by default.
    pub sink: Option<Sink>,
    /// True if each received byte is read.
    pub touch: bool,
}

impl Side {
    /// Starts the threads: the test begins now. The number of a stream gives its role. The sender
    /// of each stream closes it after it has sent everything.
    ///
    /// # Errors
    /// Fails if a thread cannot be started.
    pub(crate) fn start(
        end: End,
        transfer: &Transfer,
        streams: Vec<(u16, TcpStream)>,
        ends: ThreadSettings,
    ) -> Result<Self, Error> {
        Self::start_with(end, transfer, streams, ends, CloseSignal::Sender)
    }

    /// Starts the threads like [`Self::start`]; `closing` says which side ends a stream's data.
    pub(crate) fn start_with(
        end: End,
        transfer: &Transfer,
        mut streams: Vec<(u16, TcpStream)>,
        ends: ThreadSettings,
        closing: CloseSignal,
    ) -> Result<Self, Error> {
        let length = usize::try_from(transfer.length).unwrap_or(usize::MAX);
        let sends = streams.iter().any(|(number, _)| transfer.role(end, *number) == Role::Sender);
        let source = ends.source.unwrap_or(Source::Random);
        let copy = transfer.copy || transfer.streams > MAX_PIPES;
        let data = Arc::new(source.prepared(if sends { length } else { 0 }, copy, transfer.align));
        let began = Instant::now();
        let counts_from = began + transfer.omit.to_duration();
        let (deadline, bytes) = transfer.until.bounds(counts_from);
        let shared = Arc::<TestFlags>::default();
        let has_begun = counts_from == began;
        let budget = if has_begun { Budget::new(bytes) } else { Budget::later(bytes) };
        let budget = Arc::new(budget);
        let (mut sink, touch) = (ends.sink, ends.touch);
        let mut directions = BTreeMap::<u8, Direction>::new();
        // Streams come in the order of their opening; reports list them by number.
        streams.sort_by_key(|(number, _)| *number);
        for (number, stream) in streams {
            let role = transfer.role(end, number);
            let stream = Arc::new(stream);
            let meter = Meter::new(number, role, Arc::clone(&stream));
            let shared = Arc::clone(&shared);
            let name = thread::Builder::new().name(format!("stream {number}"));
            let thread = match role {
                Role::Sender => {
                    let (data, budget) = (Arc::clone(&data), Arc::clone(&budget));
                    let written = Arc::clone(&meter.moved);
                    // A piece is no longer than what the kernel is to hold.
                    let pace = transfer.pace_of_one();
                    let piece = pace.map_or(usize::MAX, |pace| ahead(pace) as usize);
                    let sender = Sender {
                        stream,
                        data,
                        budget,
                        length: length.min(piece),
                        pace: pace.filter(|_| piece < length),
                        deadline,
                        closing,
                        shared,
                        written,
                    };
                    name.spawn(move || sender.run())
                }
                Role::Receiver => {
                    let receiver = Receiver {
                        stream,
                        length,
                        touch,
                        window: transfer.buffers(end).window,
                        sink: sink.take(),
                        deadline,
                        closing,
                        shared,
                        read: Arc::clone(&meter.moved),
                    };
                    name.spawn(move || receiver.run())
                }
            };
            let thread = thread.map_err(Error::io("cannot start a thread for a stream"))?;
            let order = u8::from(role == Role::Receiver);
            let fresh = || Direction {
                role,
                streams: Vec::new(),
                measured: None,
                base: began,
                slices: Slices::default(),
            };
            directions.entry(order).or_insert_with(fresh).streams.push(Stream {
                meter,
                thread: Some(thread),
                ended: None,
            });
        }
        Ok(Self {
            end,
            began,
            counts_from,
            deadline,
            interval: transfer.interval.to_duration(),
            directions: directions.into_values().collect(),
            shared,
            next_sample: began,
            from: began,
            process: cpu::of_this_process(),
            has_begun,
            budget,
            bytes,
            is_whole: deadline.is_none(),
            is_told: false,
            looker: thread::Builder::new()
                .name("machine".to_owned())
                .spawn(ProcessorSampler::begin)
                .ok(),
        })
    }

    fn next_interval(&self) -> Instant {
        let next = self.from + self.interval;
        if self.from < self.counts_from { next.min(self.counts_from) } else { next }
    }

    fn is_measured(&self) -> bool {
        self.directions.iter().all(|direction| direction.measured.is_some())
    }

    /// Returns whether the counted time of a direction is over.
    fn is_over(&self, place: usize, now: Instant) -> bool {
        let late = self.deadline.is_some_and(|deadline| now >= deadline);
        late || self.directions[place].streams.iter().all(|stream| stream.ended.is_some())
    }

    /// Takes the measurements of a direction.
    fn measure(&mut self, place: usize, now: Instant) {
        let direction = &mut self.directions[place];
        // A test of bytes ends with the last of them, and not at the next sample.
        let ends = direction.streams.iter().map(|stream| stream.ended.as_ref().map(|end| end.at));
        let last = ends.collect::<Option<Vec<_>>>().and_then(|ends| ends.into_iter().max());
        let end = last.map_or(now, |last| last.min(now));
        direction.sample(now);
        let bytes = direction.streams.iter().map(|stream| match last {
            // Everything written was acknowledged, and so was the FIN, which is no byte.
            Some(_) if self.is_whole && direction.base == self.began => stream.meter.all(),
            _ => stream.meter.bytes(),
        });
        let bytes = bytes.collect();
        direction.measured =
            Some(DirectionTotals { seconds: Span::from_duration(end - direction.base), bytes });
    }

    fn close_intervals(&mut self, now: Instant) -> Vec<Interval> {
        let Some((from, to)) = interval(self.began, (self.from, now), self.interval) else {
            return Vec::new();
        };
        let length = to - from;
        self.from = now;
        let (end, omitted) = (self.end, !self.has_begun);
        let intervals = self.directions.iter_mut().map(|direction| {
            let streams = direction.streams.iter_mut();
            let (moved, senders): (Vec<Bytes>, Vec<Option<SenderInterval>>) =
                streams.map(|stream| stream.meter.close_interval()).unzip();
            let bytes: Bytes = moved.into_iter().sum();
            let senders: Vec<SenderInterval> = senders.into_iter().flatten().collect();
            Interval {
                end,
                role: direction.role,
                from_seconds: from,
                to_seconds: to,
                omitted,
                bytes,
                bytes_per_second: bytes.per(length),
                sender: SenderInterval::of(&senders),
                datagrams: None,
            }
        });
        intervals.collect()
    }

    /// Takes the results of the threads that have ended.
    fn collect(&mut self) {
        for stream in self.directions.iter_mut().flat_map(|direction| &mut direction.streams) {
            let ended = stream.thread.as_ref().is_some_and(JoinHandle::is_finished);
            if let Some(thread) = stream.thread.take_if(|_| ended) {
                stream.ended = Some(thread.join().unwrap_or_else(|_| broken_off()));
            }
        }
    }

    fn streams(&self) -> impl Iterator<Item = &Stream> {
        self.directions.iter().flat_map(|direction| &direction.streams)
    }
}

impl TestSide for Side {
    fn next_time(&self) -> Instant {
        let due = [self.next_sample, self.next_interval()];
        due.into_iter().chain(self.deadline.filter(|_| !self.is_measured())).min().unwrap_or_else(
            // There are at least two.
            Instant::now,
        )
    }

    fn tick(&mut self) -> Vec<Interval> {
        self.collect();
        let now = Instant::now();
        let mut closed = Vec::new();
        let is_due = now >= self.next_sample
            || now >= self.next_interval()
            || self.deadline.is_some_and(|deadline| now >= deadline);
        if is_due && !self.is_measured() {
            for direction in self.directions.iter_mut().filter(|one| one.measured.is_none()) {
                direction.sample(now);
            }
        }
        if !self.has_begun && now >= self.counts_from {
            closed.extend(self.close_intervals(now));
            self.has_begun = true;
            if let Some(bytes) = self.bytes {
                self.budget.begin(bytes);
            }
            for direction in &mut self.directions {
                (direction.base, direction.slices) = (now, Slices::default());
                direction.streams.iter_mut().for_each(|stream| stream.meter.begin());
            }
        }
        for place in 0..self.directions.len() {
            if self.directions[place].measured.is_none() && self.is_over(place, now) {
                self.measure(place, now);
            }
        }
        if !self.is_told && (now >= self.next_interval() || self.is_measured()) {
            self.is_told = self.is_measured();
            closed.extend(self.close_intervals(now));
        }
        if now >= self.next_sample {
            self.next_sample = now + pause_after(now - self.began);
        }
        closed
    }

    fn stop(&mut self) {
        self.shared.end();
        self.is_whole = false;
        self.deadline = Some(self.deadline.map_or_else(Instant::now, |at| at.min(Instant::now())));
    }

    fn cut(&mut self) {
        self.stop();
        self.shared.cut();
    }

    fn end_sending(&mut self) {
        self.shared.end();
        self.is_whole &= self.senders_ended();
        let now = Instant::now();
        for place in 0..self.directions.len() {
            let direction = &self.directions[place];
            if direction.role != Role::Sender {
                continue;
            }
            for stream in direction.streams.iter().filter(|stream| stream.ended.is_some()) {
                // Its thread left the stream open, and the stream may have ended by itself since.
                let _ = stream.meter.stream.shutdown(Shutdown::Write);
            }
            if direction.measured.is_none() {
                self.measure(place, now);
            }
        }
    }

    fn end_receiving(&self, is_all: &dyn Fn(u16, Bytes) -> bool) {
        for direction in self.directions.iter().filter(|one| one.role == Role::Receiver) {
            for stream in direction.streams.iter().filter(|stream| stream.ended.is_none()) {
                if is_all(stream.meter.number, stream.meter.all()) {
                    // Linux delivers the buffered data, and then the end of the stream.
                    let _ = stream.meter.stream.shutdown(Shutdown::Read);
                }
            }
        }
    }

    fn senders_ended(&self) -> bool {
        let mut senders = self.directions.iter().filter(|one| one.role == Role::Sender);
        senders.all(|direction| direction.streams.iter().all(|stream| stream.ended.is_some()))
    }

    fn each(&self) -> Box<dyn Iterator<Item = (u16, Role, Bytes)> + '_> {
        Box::new(self.directions.iter().flat_map(|direction| {
            let role = direction.role;
            direction.streams.iter().map(move |one| (one.meter.number, role, one.meter.all()))
        }))
    }

    fn began(&self) -> Instant {
        self.began
    }

    fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    fn is_done(&self) -> bool {
        self.is_measured() && self.streams().all(|stream| stream.ended.is_some())
    }

    fn moved(&self) -> Bytes {
        self.streams().map(|stream| stream.meter.all()).sum()
    }

    fn finish(&mut self) -> SideReport {
        if !self.is_done() {
            self.cut();
            let since = Instant::now();
            while !self.is_done() && since.elapsed() < ENDING {
                self.tick();
                thread::sleep(Duration::from_millis(2));
            }
            let now = Instant::now();
            for place in 0..self.directions.len() {
                if self.directions[place].measured.is_none() {
                    self.measure(place, now);
                }
            }
        }
        let process = cpu::of_this_process().since(self.process);
        let looker = self.looker.take().and_then(|began| began.join().ok().flatten());
        let machine = looker.and_then(|mut looker| looker.look()).map(Machine::of);
        let report = |direction: Direction| DirectionReport {
            machine: machine.clone(),
            ..direction.report()
        };
        SideReport {
            end: self.end,
            directions: self.directions.drain(..).map(report).collect(),
            processors: Some(cpu::allowed().map_or(1, |cpus| cpus.len())),
            process_cpu_seconds: Span::from_duration(process.total()),
        }
    }
}

impl Drop for Side {
    /// Ends all threads with the test.
    fn drop(&mut self) {
        self.shared.cut();
    }
}

impl Direction {
    /// Samples all streams.
    fn sample(&mut self, now: Instant) {
        self.streams.iter_mut().for_each(|stream| stream.meter.sample());
        if self.role == Role::Sender {
            let all = self.streams.iter().map(|stream| stream.meter.delivered());
            let (bytes, rtt) =
                all.fold((0, None), |(bytes, rtt), (more, other)| (bytes + more, rtt.max(other)));
            self.slices.add(now.saturating_duration_since(self.base), bytes, rtt);
        }
    }

    fn report(&self) -> DirectionReport {
        let nothing =
            DirectionTotals { seconds: Span::ZERO, bytes: vec![Bytes::ZERO; self.streams.len()] };
        let measured = self.measured.as_ref().unwrap_or(&nothing);
        let streams = self.streams.iter().zip(&measured.bytes);
        let reports: Vec<_> =
            streams.map(|(stream, bytes)| stream.meter.report(*bytes, measured.seconds)).collect();
        let bytes: Bytes = measured.bytes.iter().copied().sum();
        let ended = || self.streams.iter().filter_map(|stream| stream.ended.as_ref());
        let error = ended().find_map(|ended| ended.error.as_ref().map(ToString::to_string));
        DirectionReport {
            role: self.role,
            seconds: measured.seconds,
            bytes,
            bytes_per_second: bytes.per(measured.seconds),
            total_bytes: self.streams.iter().map(|stream| stream.meter.all()).sum(),
            cpu: processor_time(ended().map(StreamEnd::time)),
            streams: reports,
            retransmissions: None,
            datagrams: None,
            delivery: self.slices.delivery(),
            machine: None,
            program_share: mean(ended().filter(|ended| !ended.ran.is_zero()).map(|ended| {
                Span::from_duration(ended.at_program).share_of(Span::from_duration(ended.ran))
            })),
            error,
        }
    }
}

/// Returns the mean; nothing for no values.
fn mean(all: impl Iterator<Item = f64>) -> Option<f64> {
    let (count, sum) = all.fold((0_u32, 0.0), |(count, sum), one| (count + 1, sum + one));
    (count > 0).then(|| sum / f64::from(count))
}

fn broken_off() -> StreamEnd {
    StreamEnd {
        at: Instant::now(),
        ran: Duration::ZERO,
        cpu: CpuTime::default(),
        waited: None,
        at_program: Duration::ZERO,
        error: Some(std::io::Error::other("its thread broke off")),
    }
}
