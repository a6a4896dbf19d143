//! Measurements of an end.

use serde::{Deserialize, Serialize};
use windlass_base::{Bytes, Quantiles, Rate, Span};
use windlass_host::census::BusyProcess;
use windlass_host::processors::{Processors, system_number};

use crate::error::Error;
use crate::transfer::{End, Role};

/// Latency of small messages.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Latency {
    /// Latency on the idle path.
    pub idle_seconds: Option<Quantiles>,
    /// Latency under load.
    pub loaded_seconds: Option<Quantiles>,
    /// 10th percentile under load: the excess over the idle path's latency is a queue that never
    /// empties.
    pub loaded_p10_seconds: Option<Span>,
}

/// Outcome of a test.
#[derive(Debug)]
pub struct Outcome {
    /// This end's measurements.
    pub near: SideReport,
    /// The server's measurements; nothing if it could not report any.
    pub far: Option<SideReport>,
    /// Latency beside the test.
    pub latency: Latency,
    /// Reason why the test did not end normally.
    pub failure: Option<Error>,
    /// True if the test was stopped.
    pub stopped: bool,
}
/// Times of the kernel's sender by limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LimitTimes {
    /// Time with data to send or to be acknowledged.
    pub busy_seconds: Span,
    /// Time limited by the peer's receive window.
    pub receiver_limited_seconds: Span,
    /// Time limited by the send buffer.
    pub buffer_limited_seconds: Span,
}

impl LimitTimes {
    /// Returns the times added since `earlier`.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        let since = |now: Span, earlier: Span| (now - earlier).or_zero();
        Self {
            busy_seconds: since(self.busy_seconds, earlier.busy_seconds),
            receiver_limited_seconds: since(
                self.receiver_limited_seconds,
                earlier.receiver_limited_seconds,
            ),
            buffer_limited_seconds: since(
                self.buffer_limited_seconds,
                earlier.buffer_limited_seconds,
            ),
        }
    }
}

impl std::ops::AddAssign for LimitTimes {
    fn add_assign(&mut self, other: Self) {
        self.busy_seconds += other.busy_seconds;
        self.receiver_limited_seconds += other.receiver_limited_seconds;
        self.buffer_limited_seconds += other.buffer_limited_seconds;
    }
}

/// One interval of one direction, over all its streams, as one end measured it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// End that measured it.
    pub end: End,
    /// Role of that end.
    pub role: Role,
    /// Time of its beginning, from the beginning of the test.
    pub from_seconds: Span,
    /// Time of its end.
    pub to_seconds: Span,
    /// True if the interval lies before the counted time.
    pub omitted: bool,
    /// Bytes acknowledged, at the sender; bytes read, at the receiver.
    pub bytes: Bytes,
    /// Rate of these bytes.
    pub bytes_per_second: Rate,
    /// Figures of the sender's kernel.
    pub sender: Option<SenderInterval>,
    /// Figures of a UDP test with numbered datagrams.
    #[serde(default)]
    pub datagrams: Option<DatagramInterval>,
}

/// Numbered datagrams of an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DatagramInterval {
    /// Number of datagrams sent or received.
    pub count: u64,
    /// Number of missing datagrams, as far as the numbers show by now; nothing at the sender. Late
    /// datagrams count as lost until they arrive.
    pub lost: Option<u64>,
    /// Number of datagrams that came after a later one; nothing at the sender.
    pub out_of_order: Option<u64>,
    /// Smoothed jitter at the end (RFC 3550); of several flows the largest.
    pub jitter_seconds: Option<Span>,
}

/// Figures of the sender's kernel over an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SenderInterval {
    /// Smoothed RTT, the mean over samples and streams.
    pub rtt_seconds: Option<Span>,
    /// Congestion window, the mean of a stream.
    pub congestion_window_bytes: Bytes,
    /// Receive window that the peer advertises, the mean of a stream.
    pub peer_window_bytes: Option<Bytes>,
    /// Retransmitted segments.
    pub retransmissions: u64,
    /// Delivery rate at the last ACKs, over all streams.
    pub delivery_bytes_per_second: Rate,
    /// Time with an expired retransmission timer; with several streams, their sum. It is reported
    /// after the timer has expired, and includes the silence before.
    #[serde(default)]
    pub timeout_seconds: Option<Span>,
    /// Times by limit; with several streams, their sums.
    #[serde(flatten)]
    pub times: LimitTimes,
}

/// Measurements of an end over the counted time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SideReport {
    /// The end.
    pub end: End,
    /// Directions of the end: one, or two if the test goes both ways.
    pub directions: Vec<DirectionReport>,
    /// Number of processors that it may use; nothing if it does not say.
    pub processors: Option<usize>,
    /// Processor time of the whole program during the test.
    pub process_cpu_seconds: Span,
}

/// One direction, as one end measured it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DirectionReport {
    /// Role of this end.
    pub role: Role,
    /// Counted time.
    pub seconds: Span,
    /// Bytes in that time: acknowledged at the sender, read at the receiver.
    pub bytes: Bytes,
    /// Rate of these bytes.
    pub bytes_per_second: Rate,
    /// All bytes of the test, including those before and after the counted time.
    pub total_bytes: Bytes,
    /// Processor time of the sending or receiving threads, in the program and in the kernel, over
    /// the whole test.
    pub cpu: Cpu,
    /// Mean share of the threads' time spent on reading the data to send, or writing the received
    /// data: from a file, to a pipe. Nothing if the end does not say.
    #[serde(default)]
    pub program_share: Option<f64>,
    /// Streams; none if the end speaks another protocol than windlass's, which does not report its
    /// sockets.
    pub streams: Vec<StreamReport>,
    /// Retransmitted segments, if the end reports only this figure of its kernel, as iperf3 does.
    #[serde(default)]
    pub retransmissions: Option<u64>,
    /// Datagrams of a UDP test, sent or received. For a sender, their bytes are those handed to the
    /// network; nobody acknowledges them.
    #[serde(default)]
    pub datagrams: Option<Datagrams>,
    /// Rates at which data arrived; nothing if this end is not the sender, or the time was too
    /// short.
    #[serde(default)]
    pub delivery: Option<Delivery>,
    /// Processors of this end's machine; nothing if it does not say, or the test was too short.
    #[serde(default)]
    pub machine: Option<Machine>,
    /// Error of the direction, if there was one.
    pub error: Option<String>,
}

/// Rates at which data arrived at the other end, over slices of the counted time. Each slice is at
/// least 200 ms and two round trips. The rates come from the sender's kernel (`tcpi_delivered`).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Delivery {
    /// Number of slices in which data arrived.
    pub slices: u64,
    /// 10th percentile of the rates.
    #[serde(default)]
    pub p10_bytes_per_second: Option<Rate>,
    /// Median of the rates.
    pub usual_bytes_per_second: Rate,
    /// 90th percentile of the rates.
    #[serde(default)]
    pub p90_bytes_per_second: Option<Rate>,
    /// Highest rate.
    pub most_bytes_per_second: Rate,
}

/// Datagrams with data.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Datagrams {
    /// Number of datagrams sent or received, each counted once.
    pub count: u64,
    /// Number of datagrams that the receiver's full socket dropped during the test. For numbered
    /// datagrams they are this test's; for ttcp's, any sender's. Nothing at the sender.
    pub overflowed: Option<u64>,
    /// True if that number is a lower bound: the kernel counts datagrams that it joined as one.
    #[serde(default)]
    pub overflowed_is_least: bool,
    /// Number of sent datagrams, as the sender says, or else the largest received number. This and
    /// all further fields are for a receiver of numbered datagrams.
    #[serde(default)]
    pub sent: Option<u64>,
    /// Number of datagrams that did not arrive.
    #[serde(default)]
    pub lost: Option<u64>,
    /// Number of datagrams that came after a later one.
    #[serde(default)]
    pub out_of_order: Option<u64>,
    /// Number of datagrams that came again.
    #[serde(default)]
    pub duplicates: Option<u64>,
    /// Smoothed jitter at the end (RFC 3550 section 6.4.1); of several flows the mean.
    #[serde(default)]
    pub jitter_seconds: Option<Span>,
    /// Mean of the unsmoothed jitter over the whole test.
    #[serde(default)]
    pub mean_jitter_seconds: Option<Span>,
    /// Delay beyond the smallest (RFC 5481 section 4.2); of several flows the one with the largest
    /// median.
    #[serde(default)]
    pub delay_variation_seconds: Option<Quantiles>,
    /// Flows by themselves.
    #[serde(default)]
    pub flows: Vec<FlowReport>,
}

/// One flow of numbered datagrams, as one end measured it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlowReport {
    /// Its number, from 0.
    pub stream: u16,
    /// Address of this end.
    pub local: String,
    /// Address of the other end.
    pub remote: String,
    /// Bytes of its datagrams.
    pub bytes: Bytes,
    /// Its datagrams.
    pub datagrams: Datagrams,
    /// Number of datagrams sent before the counted time, as far as this end knew at its beginning.
    /// Nothing if the end does not say, as iperf3 before 3.13.
    #[serde(default)]
    pub omitted: Option<u64>,
    /// Number of those that had not arrived by then.
    #[serde(default)]
    pub omitted_lost: Option<u64>,
}

impl FlowReport {
    /// Returns the number of datagrams sent in the flow, including those before the counted time.
    pub(crate) fn all_sent(&self) -> u64 {
        self.datagrams.count + self.omitted.unwrap_or(0)
    }
}

impl Datagrams {
    /// Sums up several flows.
    pub(crate) fn of(flows: &[FlowReport]) -> Self {
        let all = || flows.iter().map(|flow| &flow.datagrams);
        let sum = |of: fn(&Self) -> Option<u64>| all().map(of).sum::<Option<u64>>();
        Self {
            count: all().map(|one| one.count).sum(),
            overflowed: sum(|one| one.overflowed),
            overflowed_is_least: all().any(|one| one.overflowed_is_least),
            sent: sum(|one| one.sent),
            lost: sum(|one| one.lost),
            out_of_order: sum(|one| one.out_of_order),
            duplicates: sum(|one| one.duplicates),
            jitter_seconds: mean_span(all().filter_map(|one| one.jitter_seconds)),
            mean_jitter_seconds: mean_span(all().filter_map(|one| one.mean_jitter_seconds)),
            delay_variation_seconds: all()
                .filter_map(|one| one.delay_variation_seconds)
                .max_by_key(|found| found.p50),
            flows: Vec::new(),
        }
    }

    /// Replaces the figures with the sums over its flows, which it keeps.
    pub(crate) fn add_up(&mut self) {
        let flows = std::mem::take(&mut self.flows);
        *self = Self::of(&flows);
        self.flows = flows;
    }

    /// Learns the sender's number of datagrams of each flow, including those before the counted
    /// time. Datagrams after the last that arrived were lost, too.
    pub(crate) fn learn(&mut self, sent: impl Fn(u16) -> Option<u64>) {
        for flow in &mut self.flows {
            let datagrams = &mut flow.datagrams;
            let (Some(sent), Some(known)) = (sent(flow.stream), datagrams.sent) else { continue };
            let sent = sent.saturating_sub(flow.omitted.unwrap_or(0)).max(known);
            datagrams.sent = Some(sent);
            datagrams.lost = Some(sent.saturating_sub(datagrams.count));
        }
        self.add_up();
    }

    /// Returns the number of datagrams that the path lost; those that the receiver's full socket
    /// dropped had arrived. Returns nothing if either number is unknown.
    pub fn lost_on_path(&self) -> Option<u64> {
        let here = self.overflowed.filter(|_| !self.overflowed_is_least)?;
        Some(self.lost?.saturating_sub(here))
    }

    /// Returns the lost datagrams as a share of those sent.
    pub fn loss(&self) -> Option<f64> {
        Some(share(self.lost?, self.sent?))
    }
}

/// Processor time of threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Cpu {
    /// Time in the program.
    pub user_seconds: Span,
    /// Time in the kernel.
    pub system_seconds: Span,
    /// Both times as a share of one processor over the test.
    pub share: f64,
    /// Share of a processor of the busiest thread.
    pub busiest_share: f64,
    /// Share of its time in which that thread was ready and waited for a processor; nothing if its
    /// kernel does not count this.
    #[serde(default)]
    pub waiting_share: Option<f64>,
}

/// The processors of an end's machine during a test.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// Identifier of the running system, the same for two ends on one machine.
    pub system: Option<String>,
    /// Number of its processors.
    pub processors: usize,
    /// Share of all processors' time in which they worked.
    pub busy_share: f64,
    /// Share of the busiest processor.
    pub busiest_core_share: f64,
    /// Part of that share for interrupts, including their deferred work.
    pub busiest_core_interrupt_share: f64,
    /// Share of one processor used by this end's program.
    pub own_share: f64,
    /// Other programs that used the most, each with its children. An end does not tell the other
    /// end about them.
    pub others: Vec<OtherProgram>,
}

/// Another program on the machine of an end.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OtherProgram {
    /// Process ID.
    pub pid: u32,
    /// Name of the program.
    pub name: String,
    /// Share of one processor used by the program and its children.
    pub cpu_share: f64,
}

impl Machine {
    /// Returns the report of a machine's processors.
    pub fn of(seen: Processors) -> Self {
        let other = |process: BusyProcess| OtherProgram {
            pid: process.pid,
            name: process.name,
            cpu_share: process.cpu_share,
        };
        Self {
            system: system_number(),
            processors: seen.processors,
            busy_share: seen.busy_share,
            busiest_core_share: seen.busiest_core_share,
            busiest_core_interrupt_share: seen.busiest_core_interrupt_share,
            own_share: seen.own_share,
            others: seen.others.into_iter().map(other).collect(),
        }
    }
}

impl SideReport {
    /// Returns the report for the other end, without the other programs on this machine.
    pub(crate) fn for_the_other_end(&self) -> Self {
        let mut report = self.clone();
        let machines = report.directions.iter_mut().filter_map(|one| one.machine.as_mut());
        machines.for_each(|machine| machine.others.clear());
        report
    }
}

/// One stream, as one end measured it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StreamReport {
    /// Its number, from 0.
    pub stream: u16,
    /// Address of this end.
    pub local: String,
    /// Address of the other end.
    pub remote: String,
    /// Bytes in the counted time.
    pub bytes: Bytes,
    /// Rate of these bytes.
    pub bytes_per_second: Rate,
    /// Congestion control.
    pub congestion: String,
    /// Size of full segments, in bytes.
    pub mss_bytes: u32,
    /// Receive buffer that the kernel granted, for data and its overhead.
    pub granted_receive_buffer_bytes: Bytes,
    /// Send buffer that the kernel granted.
    pub granted_send_buffer_bytes: Bytes,
    /// Figures of the sender's kernel.
    pub sender: Option<SenderStream>,
}

/// Figures of the sender's kernel for a stream over the counted time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SenderStream {
    /// Smallest RTT of the connection.
    pub min_rtt_seconds: Option<Span>,
    /// Mean of the smoothed RTT.
    pub mean_rtt_seconds: Option<Span>,
    /// Largest smoothed RTT.
    pub max_rtt_seconds: Option<Span>,
    /// Mean of the congestion window.
    pub mean_congestion_window_bytes: Bytes,
    /// Largest congestion window.
    pub max_congestion_window_bytes: Bytes,
    /// True if the congestion window still had no slow-start threshold at the end: no loss or mark
    /// had stopped its growth.
    pub never_left_slow_start: bool,
    /// Largest receive window that the peer advertised (Linux 5.4).
    pub max_peer_window_bytes: Option<Bytes>,
    /// Mean of the advertised window.
    pub mean_peer_window_bytes: Option<Bytes>,
    /// Smallest advertised window at a sample.
    pub min_peer_window_bytes: Option<Bytes>,
    /// Share of the time with a closed window, by samples.
    pub closed_share: f64,
    /// Window as a share of the largest until then, the mean over time: 1 if the peer's program
    /// reads data at once.
    #[serde(default)]
    pub open_share: Option<f64>,
    /// Mean of the bytes in flight.
    pub mean_flight_bytes: Bytes,
    /// Highest delivery rate at a sample that the program did not limit.
    pub max_delivery_bytes_per_second: Rate,
    /// Data segments sent.
    pub segments: u64,
    /// Retransmitted segments among them.
    pub retransmissions: u64,
    /// Bytes sent, including retransmissions.
    pub sent_bytes: Bytes,
    /// Retransmitted bytes among them.
    pub retransmitted_bytes: Bytes,
    /// Retransmissions as a share of the segments.
    pub retransmission_share: f64,
    /// Retransmitted segments that the peer had already (spurious retransmissions).
    pub needless_retransmissions: u64,
    /// Segments with a congestion mark of a queue on the path, as the peer reported (ECN, RFC
    /// 3168).
    #[serde(default)]
    pub marked_segments: Option<u64>,
    /// Share of the time in which nothing waited in the send buffer, by samples: the program did
    /// not keep it filled.
    pub empty_share: f64,
    /// Mean of the bytes in the send buffer that were never sent.
    #[serde(default)]
    pub mean_unsent_bytes: Option<Bytes>,
    /// Number of ACKs that showed reordered segments (Linux 4.19).
    #[serde(default)]
    pub reorderings: Option<u64>,
    /// Path MTU that the kernel assumed at the end.
    #[serde(default)]
    pub path_mtu_bytes: Option<u32>,
    /// Largest path MTU that the kernel assumed.
    #[serde(default)]
    pub max_path_mtu_bytes: Option<u32>,
    /// Time with an expired retransmission timer: from the last ACK before it to the end of the
    /// repair.
    #[serde(default)]
    pub timeout_seconds: Option<Span>,
    /// Segments retransmitted in that time.
    #[serde(default)]
    pub timeout_retransmissions: Option<u64>,
    /// Longest time without an ACK while data was in flight.
    #[serde(default)]
    pub longest_silence_seconds: Option<Span>,
    /// Time in slow start with the congestion window in use, before any threshold.
    #[serde(default)]
    pub slow_start_seconds: Option<Span>,
    /// Mean of the smoothed RTT during retransmissions, those of a timer excluded. It is the RTT of
    /// a full queue, or of a path that loses data whatever its queue holds.
    #[serde(default)]
    pub loss_rtt_seconds: Option<Span>,
    /// Openings of a closed window, as far as samples show their times.
    #[serde(default)]
    pub window_openings: u64,
    /// Openings at which no probe of the sender was due: the receiver announced them.
    #[serde(default)]
    pub unprompted_window_openings: u64,
    /// Times by limit.
    #[serde(flatten)]
    pub times: LimitTimes,
}

impl SenderInterval {
    /// Returns the figures of several streams together: sums of counters, and means over the
    /// streams that have a value. Returns nothing for no streams.
    pub(crate) fn of(streams: &[Self]) -> Option<Self> {
        let all = || streams.iter();
        let delivery = all().map(|one| one.delivery_bytes_per_second.bytes_per_second());
        let mut times = LimitTimes::default();
        all().for_each(|one| times += one.times);
        Some(Self {
            rtt_seconds: mean_span(all().filter_map(|one| one.rtt_seconds)),
            congestion_window_bytes: mean_bytes(all().map(|one| one.congestion_window_bytes))?,
            peer_window_bytes: mean_bytes(all().filter_map(|one| one.peer_window_bytes)),
            retransmissions: all().map(|one| one.retransmissions).sum(),
            delivery_bytes_per_second: Rate::from_bytes_per_second(delivery.sum()),
            timeout_seconds: sum_span(all().filter_map(|one| one.timeout_seconds)),
            times,
        })
    }
}

impl DirectionReport {
    /// Extends the direction to at least `seconds`: the data had this time, but came in less.
    pub(crate) fn last(&mut self, seconds: Span) {
        if self.seconds >= seconds {
            return;
        }
        self.seconds = seconds;
        self.bytes_per_second = self.bytes.per(seconds);
        for stream in &mut self.streams {
            stream.bytes_per_second = stream.bytes.per(seconds);
        }
    }

    /// Returns the figures of the sender's kernel for all streams together: sums of counters, means
    /// and extremes of measurements. Returns nothing for a receiver.
    pub fn kernel(&self) -> Option<SenderStream> {
        let all = || self.streams.iter().filter_map(|stream| stream.sender.as_ref());
        let mean = |of: fn(&SenderStream) -> f64| all().map(of).sum::<f64>() / all().count() as f64;
        let segments = all().map(|one| one.segments).sum();
        let retransmissions = all().map(|one| one.retransmissions).sum();
        let mut times = LimitTimes::default();
        all().for_each(|one| times += one.times);
        Some(SenderStream {
            min_rtt_seconds: all().filter_map(|one| one.min_rtt_seconds).min(),
            mean_rtt_seconds: mean_span(all().filter_map(|one| one.mean_rtt_seconds)),
            max_rtt_seconds: all().filter_map(|one| one.max_rtt_seconds).max(),
            mean_congestion_window_bytes: mean_bytes(
                all().map(|one| one.mean_congestion_window_bytes),
            )?,
            max_congestion_window_bytes: all()
                .map(|one| one.max_congestion_window_bytes)
                .max()
                .unwrap_or_default(),
            never_left_slow_start: all().all(|one| one.never_left_slow_start),
            max_peer_window_bytes: all().filter_map(|one| one.max_peer_window_bytes).max(),
            mean_peer_window_bytes: mean_bytes(all().filter_map(|one| one.mean_peer_window_bytes)),
            min_peer_window_bytes: all().filter_map(|one| one.min_peer_window_bytes).min(),
            closed_share: mean(|one| one.closed_share),
            open_share: mean_share(all().filter_map(|one| one.open_share)),
            mean_flight_bytes: mean_bytes(all().map(|one| one.mean_flight_bytes))?,
            max_delivery_bytes_per_second: all()
                .map(|one| one.max_delivery_bytes_per_second)
                .fold(Rate::ZERO, |most, one| if one > most { one } else { most }),
            segments,
            retransmissions,
            sent_bytes: all().map(|one| one.sent_bytes).sum(),
            retransmitted_bytes: all().map(|one| one.retransmitted_bytes).sum(),
            retransmission_share: share(retransmissions, segments),
            needless_retransmissions: all().map(|one| one.needless_retransmissions).sum(),
            marked_segments: all()
                .filter_map(|one| one.marked_segments)
                .reduce(|sum, one| sum + one),
            empty_share: mean(|one| one.empty_share),
            mean_unsent_bytes: mean_bytes(all().filter_map(|one| one.mean_unsent_bytes)),
            reorderings: all().filter_map(|one| one.reorderings).reduce(|sum, one| sum + one),
            path_mtu_bytes: all().filter_map(|one| one.path_mtu_bytes).min(),
            max_path_mtu_bytes: all().filter_map(|one| one.max_path_mtu_bytes).max(),
            timeout_seconds: sum_span(all().filter_map(|one| one.timeout_seconds)),
            timeout_retransmissions: all()
                .filter_map(|one| one.timeout_retransmissions)
                .reduce(|sum, one| sum + one),
            longest_silence_seconds: all().filter_map(|one| one.longest_silence_seconds).max(),
            slow_start_seconds: sum_span(all().filter_map(|one| one.slow_start_seconds)),
            loss_rtt_seconds: mean_span(all().filter_map(|one| one.loss_rtt_seconds)),
            window_openings: all().map(|one| one.window_openings).sum(),
            unprompted_window_openings: all().map(|one| one.unprompted_window_openings).sum(),
            times,
        })
    }
}

/// Returns the mean; nothing for no values.
fn mean_bytes(all: impl Iterator<Item = Bytes>) -> Option<Bytes> {
    let (count, sum) = all.fold((0, Bytes::ZERO), |(count, sum), one| (count + 1, sum + one));
    sum.get().checked_div(count).map(Bytes::new)
}

/// Returns the mean; nothing for no values.
fn mean_share(all: impl Iterator<Item = f64>) -> Option<f64> {
    let (count, sum) = all.fold((0.0, 0.0), |(count, sum), one| (count + 1.0, sum + one));
    (count > 0.0).then(|| sum / count)
}

/// Returns the mean; nothing for no values.
fn mean_span(all: impl Iterator<Item = Span>) -> Option<Span> {
    let (count, sum) = all.fold((0, Span::ZERO), |(count, sum), one| (count + 1, sum + one));
    (count > 0).then(|| sum / count)
}

/// Returns the sum; nothing for no values.
fn sum_span(all: impl Iterator<Item = Span>) -> Option<Span> {
    all.reduce(|sum, one| sum + one)
}

pub(crate) fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

impl Outcome {
    /// Returns the measurements of the data that `from` sends: by the sender, and by the receiver.
    pub fn way(&self, from: End) -> [Option<&DirectionReport>; 2] {
        let (near, far) = (Some(&self.near), self.far.as_ref());
        let (sends, receives) = if from == End::Client { (near, far) } else { (far, near) };
        [(sends, Role::Sender), (receives, Role::Receiver)]
            .map(|(side, role)| side?.directions.iter().find(|one| one.role == role))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mean_is_over_the_streams_that_have_a_value() {
        let stream = |rtt, window: Option<u64>| SenderInterval {
            rtt_seconds: rtt,
            congestion_window_bytes: Bytes::new(10_000),
            peer_window_bytes: window.map(Bytes::new),
            retransmissions: 2,
            delivery_bytes_per_second: Rate::ZERO,
            timeout_seconds: None,
            times: LimitTimes::default(),
        };
        let ended = stream(None, None);
        let goes_on = stream(Some(Span::from_millis(10)), Some(1_000));
        let both = SenderInterval::of(&[goes_on, ended]).unwrap();
        assert_eq!(both.rtt_seconds, Some(Span::from_millis(10)));
        assert_eq!(both.peer_window_bytes, Some(Bytes::new(1_000)));
        assert_eq!(both.retransmissions, 4);
        assert!(SenderInterval::of(&[]).is_none());
    }
}
