//! Measurements of an end.

use serde::{Deserialize, Serialize};
use windlass_base::{Bytes, Quantiles, Rate, Span};
use windlass_host::census::BusyProcess;
use windlass_host::processors::{Processors, system_number};

use crate::error::Error;
use crate::transfer::{End, Role};

/// The latency of small messages.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Latency {
    /// On the idle path.
    pub idle_seconds: Option<Quantiles>,
    /// Under load.
    pub loaded_seconds: Option<Quantiles>,
    /// The least that nine of ten took under load: beyond the idle path's, a queue that never
    /// empties.
    pub loaded_p10_seconds: Option<Span>,
}

/// The outcome of a test.
#[derive(Debug)]
pub struct Outcome {
    /// This end's measurements.
    pub near: SideReport,
    /// The server's measurements; nothing where it could not say.
    pub far: Option<SideReport>,
    /// The latency beside it.
    pub latency: Latency,
    /// The reason why the test did not end as it should.
    pub failure: Option<Error>,
    /// True if it was stopped.
    pub stopped: bool,
}
/// Times that the kernel waited, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LimitTimes {
    /// There was something to send or to be acknowledged.
    pub busy_seconds: Span,
    /// The peer's window held it up.
    pub receiver_limited_seconds: Span,
    /// The send buffer held it up.
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

/// One interval of one direction, over all its streams, as one end saw it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// The end that saw it.
    pub end: End,
    /// The role of that end.
    pub role: Role,
    /// The time when it began, from the begin of the test.
    pub from_seconds: Span,
    /// The time when it ended.
    pub to_seconds: Span,
    /// True if it counts in the figures of the whole.
    pub omitted: bool,
    /// Bytes that were acknowledged, at the sender; that were read, at the
    /// receiver.
    pub bytes: Bytes,
    /// Their rate.
    pub bytes_per_second: Rate,
    /// Figures of the sender's kernel.
    pub sender: Option<SenderInterval>,
    /// Of a test over UDP with numbered datagrams.
    #[serde(default)]
    pub datagrams: Option<DatagramInterval>,
}

/// Numbered datagrams of an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DatagramInterval {
    /// The number sent or received.
    pub count: u64,
    /// The number of missing ones, as far as the numbers show by now; nothing at the
    /// sender. Late ones count as lost until they are there.
    pub lost: Option<u64>,
    /// The number that came behind a later one; nothing at the sender.
    pub out_of_order: Option<u64>,
    /// The smoothed jitter at its end (RFC 3550), of several flows the largest.
    pub jitter_seconds: Option<Span>,
}

/// Figures of the sender's kernel over an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SenderInterval {
    /// The smoothed RTT, the mean over samples and streams.
    pub rtt_seconds: Option<Span>,
    /// The congestion window, the mean of a stream.
    pub congestion_window_bytes: Bytes,
    /// The window that the peer advertises, the mean of a stream.
    pub peer_window_bytes: Option<Bytes>,
    /// Segments sent again.
    pub retransmissions: u64,
    /// The rate of delivery at the last acknowledgments, over all streams.
    pub delivery_bytes_per_second: Rate,
    /// The time with a retransmission timer that ran out; with several streams, the sum over
    /// them. It is told once the timer has, with the silence before it.
    #[serde(default)]
    pub timeout_seconds: Option<Span>,
    /// Times by what was waited for; with several streams, their sums.
    #[serde(flatten)]
    pub times: LimitTimes,
}

/// Measurements of an end, over the time that counts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SideReport {
    /// The role of the end.
    pub end: End,
    /// Directions in which it took part: one, or two where the test goes both
    /// ways.
    pub directions: Vec<DirectionReport>,
    /// The processors of its machine that it may use; nothing where it does not
    /// say.
    pub processors: Option<usize>,
    /// The processor time of the whole program during the test.
    pub process_cpu_seconds: Span,
}

/// One direction, as one end saw it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DirectionReport {
    /// The role of this end.
    pub role: Role,
    /// The time that counts.
    pub seconds: Span,
    /// Bytes in that time: acknowledged at the sender, read at the receiver.
    pub bytes: Bytes,
    /// Their rate.
    pub bytes_per_second: Rate,
    /// All bytes of the test, with those before the time that counts and after.
    pub total_bytes: Bytes,
    /// The processor time of the threads that sent or received: in the program
    /// and in the kernel, over the whole test.
    pub cpu: Cpu,
    /// The mean share of their time in which the threads read what they send, or wrote what came,
    /// elsewhere: from a file, to a pipe. Nothing where the end does not say.
    #[serde(default)]
    pub program_share: Option<f64>,
    /// Each stream; none where the end speaks another protocol than windlass's,
    /// which does not tell of its sockets.
    pub streams: Vec<StreamReport>,
    /// Segments sent again, where the end says that and no more of its kernel:
    /// iperf3's does.
    #[serde(default)]
    pub retransmissions: Option<u64>,
    /// Of a test over UDP: what went or came. Its bytes are those that a sender handed to the
    /// network; nobody acknowledges them.
    #[serde(default)]
    pub datagrams: Option<Datagrams>,
    /// The rates at which data arrived over the time; nothing where this end is not the sender,
    /// or the time was too short.
    #[serde(default)]
    pub delivery: Option<Delivery>,
    /// The processors of this end's machine; nothing where it does not say, or the test
    /// was too short.
    #[serde(default)]
    pub machine: Option<Machine>,
    /// The error, where there was one.
    pub error: Option<String>,
}

/// The rates at which data arrived at the other end over slices of the time that counts, each of
/// 200 ms and two round trips at the least, by what the sender's kernel says (`tcpi_delivered`).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Delivery {
    /// The number of slices in which something arrived.
    pub slices: u64,
    /// A tenth of them had less.
    #[serde(default)]
    pub p10_bytes_per_second: Option<Rate>,
    /// The median of them.
    pub usual_bytes_per_second: Rate,
    /// A tenth of them had more.
    #[serde(default)]
    pub p90_bytes_per_second: Option<Rate>,
    /// The best.
    pub most_bytes_per_second: Rate,
}

/// Datagrams with data.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Datagrams {
    /// The number sent or received: each once.
    pub count: u64,
    /// The number that came while the test ran and for which the receiver's socket had no room: of
    /// numbered ones those of this test, of ttcp's from whomever. Nothing at the sender.
    pub overflowed: Option<u64>,
    /// True if those were as many at the least: what comes so fast that the kernel joins several as
    /// one, it counts as one.
    #[serde(default)]
    pub overflowed_is_least: bool,
    /// Figures of a receiver of numbered ones, from here on. How many were sent: as the sender
    /// says, or else the largest number that came.
    #[serde(default)]
    pub sent: Option<u64>,
    /// The number of those that did not come.
    #[serde(default)]
    pub lost: Option<u64>,
    /// The number that came behind a later one.
    #[serde(default)]
    pub out_of_order: Option<u64>,
    /// The number that came again.
    #[serde(default)]
    pub duplicates: Option<u64>,
    /// The smoothed jitter at the end (RFC 3550 section 6.4.1), of several flows the mean.
    #[serde(default)]
    pub jitter_seconds: Option<Span>,
    /// The mean of what it smooths, over the whole test.
    #[serde(default)]
    pub mean_jitter_seconds: Option<Span>,
    /// Extra time beyond the quickest (RFC 5481 section 4.2); of several flows the
    /// one with the largest middle.
    #[serde(default)]
    pub delay_variation_seconds: Option<Quantiles>,
    /// Each flow by itself.
    #[serde(default)]
    pub flows: Vec<FlowReport>,
}

/// One flow of numbered datagrams, as one end saw it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlowReport {
    /// Its number, from 0.
    pub stream: u16,
    /// The address of this end.
    pub local: String,
    /// The address of the other end.
    pub remote: String,
    /// The bytes of its datagrams.
    pub bytes: Bytes,
    /// Its datagrams.
    pub datagrams: Datagrams,
    /// Those before the time that counts: how many were sent, as far as this end knew when it
    /// began. Nothing where it does not say, as iperf3 before 3.13.
    #[serde(default)]
    pub omitted: Option<u64>,
    /// The number of those that had not come by then.
    #[serde(default)]
    pub omitted_lost: Option<u64>,
}

impl FlowReport {
    /// The number of datagrams from the sender of the flow, with those that do not count.
    pub(crate) fn all_sent(&self) -> u64 {
        self.datagrams.count + self.omitted.unwrap_or(0)
    }
}

impl Datagrams {
    /// Of several flows together.
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

    /// Makes it what its flows come to, which it keeps.
    pub(crate) fn add_up(&mut self) {
        let flows = std::mem::take(&mut self.flows);
        *self = Self::of(&flows);
        self.flows = flows;
    }

    /// Learns how many the sender says to have sent, of each flow by its number and with those
    /// that do not count: those behind the last that came were lost, too.
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

    /// The number of lost ones that the path lost: those for which the receiver's socket had no
    /// room had come. Nothing where either is not known.
    pub fn lost_on_path(&self) -> Option<u64> {
        let here = self.overflowed.filter(|_| !self.overflowed_is_least)?;
        Some(self.lost?.saturating_sub(here))
    }

    /// The lost ones as a share of those sent.
    pub fn loss(&self) -> Option<f64> {
        Some(share(self.lost?, self.sent?))
    }
}

/// The processor time of threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Cpu {
    /// In the program.
    pub user_seconds: Span,
    /// In the kernel.
    pub system_seconds: Span,
    /// Both, as a share of one processor over the test.
    pub share: f64,
    /// The busiest thread's share of a processor.
    pub busiest_share: f64,
    /// The share of its time in which that thread was ready and waited for a processor; nothing
    /// where its kernel does not count that.
    #[serde(default)]
    pub waiting_share: Option<f64>,
}

/// The processors of an end's machine during a test.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// A number that two ends have in common where they are one machine.
    pub system: Option<String>,
    /// The number of its processors.
    pub processors: usize,
    /// The share of all processors' time in which they worked.
    pub busy_share: f64,
    /// The share of the one with most work.
    pub busiest_core_share: f64,
    /// The part of that which interrupts took, with what they leave for later.
    pub busiest_core_interrupt_share: f64,
    /// The share of one processor that this end's program had.
    pub own_share: f64,
    /// Other programs with most, each with its children. An end tells nobody else of them.
    pub others: Vec<OtherProgram>,
}

/// Another program on the machine of an end.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OtherProgram {
    /// Its number.
    pub pid: u32,
    /// Its name.
    pub name: String,
    /// The share of one processor that it and its children had.
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
    /// Returns the report for the other end, which is not told what else runs on this machine.
    pub(crate) fn for_the_other_end(&self) -> Self {
        let mut report = self.clone();
        let machines = report.directions.iter_mut().filter_map(|one| one.machine.as_mut());
        machines.for_each(|machine| machine.others.clear());
        report
    }
}

/// One stream, as one end saw it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StreamReport {
    /// Its number, from 0.
    pub stream: u16,
    /// The address of this end.
    pub local: String,
    /// The address of the other end.
    pub remote: String,
    /// Bytes in the time that counts.
    pub bytes: Bytes,
    /// Their rate.
    pub bytes_per_second: Rate,
    /// The congestion control.
    pub congestion: String,
    /// The size of full segments, in bytes.
    pub mss_bytes: u32,
    /// The receive buffer that the kernel granted, for data and what it keeps
    /// beside it.
    pub granted_receive_buffer_bytes: Bytes,
    /// The send buffer that it granted.
    pub granted_send_buffer_bytes: Bytes,
    /// Figures of the sender's kernel.
    pub sender: Option<SenderStream>,
}

/// Figures of the sender's kernel for a stream, in the time that counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SenderStream {
    /// The least RTT of the connection.
    pub min_rtt_seconds: Option<Span>,
    /// The mean of the smoothed RTT.
    pub mean_rtt_seconds: Option<Span>,
    /// The most that the smoothed RTT was.
    pub max_rtt_seconds: Option<Span>,
    /// The mean of the congestion window.
    pub mean_congestion_window_bytes: Bytes,
    /// The most that the congestion window was.
    pub max_congestion_window_bytes: Bytes,
    /// True if the congestion window was still without a slow-start threshold
    /// at the end: nothing had told it to stop growing.
    pub never_left_slow_start: bool,
    /// The largest window that the peer advertised (Linux 5.4).
    pub max_peer_window_bytes: Option<Bytes>,
    /// The mean of the window that it advertised.
    pub mean_peer_window_bytes: Option<Bytes>,
    /// The least window that it advertised at a sample.
    pub min_peer_window_bytes: Option<Bytes>,
    /// The time in which the window was closed, as a share, by samples.
    pub closed_share: f64,
    /// The window as a share of the largest until then, the mean over time: 1 where the
    /// peer's program reads what comes at once.
    #[serde(default)]
    pub open_share: Option<f64>,
    /// The mean of what was sent and not acknowledged.
    pub mean_flight_bytes: Bytes,
    /// The best rate of delivery at a sample, where the program did not set it.
    pub max_delivery_bytes_per_second: Rate,
    /// Data segments sent.
    pub segments: u64,
    /// Of them, sent again.
    pub retransmissions: u64,
    /// Bytes sent, with those sent again.
    pub sent_bytes: Bytes,
    /// Of them, sent again.
    pub retransmitted_bytes: Bytes,
    /// Retransmissions as a share of the segments.
    pub retransmission_share: f64,
    /// Segments that the peer had already.
    pub needless_retransmissions: u64,
    /// Segments that a queue on the path marked, which the peer told (ECN, RFC 3168).
    #[serde(default)]
    pub marked_segments: Option<u64>,
    /// The time in which nothing waited in the send buffer, as a share, by samples: the
    /// program did not keep it filled.
    pub empty_share: f64,
    /// The mean of what waited in the send buffer and was never sent.
    #[serde(default)]
    pub mean_unsent_bytes: Option<Bytes>,
    /// The number of ACKs that showed overtaken segments (Linux 4.19).
    #[serde(default)]
    pub reorderings: Option<u64>,
    /// The largest packet that the path was believed to take at the end.
    #[serde(default)]
    pub path_mtu_bytes: Option<u32>,
    /// The most that this ever was.
    #[serde(default)]
    pub max_path_mtu_bytes: Option<u32>,
    /// The time with a retransmission timer that ran out: from the last acknowledgment before it
    /// to the end of the repair.
    #[serde(default)]
    pub timeout_seconds: Option<Span>,
    /// Segments sent again in that time.
    #[serde(default)]
    pub timeout_retransmissions: Option<u64>,
    /// The longest time in which nothing was acknowledged, with something in flight.
    #[serde(default)]
    pub longest_silence_seconds: Option<Span>,
    /// The time in slow start by a congestion window in use, before any threshold.
    #[serde(default)]
    pub slow_start_seconds: Option<Span>,
    /// The mean of the smoothed RTT when segments were sent again, but for those of a timer: that
    /// of a queue that was full, or of a path that loses data whatever waits in it.
    #[serde(default)]
    pub loss_rtt_seconds: Option<Span>,
    /// Openings of a closed window, as far as samples tell when they were.
    #[serde(default)]
    pub window_openings: u64,
    /// Of them, those at which no probe of the sender's was due: the receiver announced them.
    #[serde(default)]
    pub unprompted_window_openings: u64,
    /// Times by what was waited for.
    #[serde(flatten)]
    pub times: LimitTimes,
}

impl SenderInterval {
    /// Of several streams together: sums of what is counted, and of what is measured
    /// the mean over those that have a value; nothing of none.
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
    /// Makes it one of `seconds` at the least: the data had so long, and came in less.
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

    /// Returns the figures of the sender's kernel for all streams together: sums of what is
    /// counted, means and extremes of what is measured; nothing where it is not the
    /// sender.
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

/// Nothing of none.
fn mean_bytes(all: impl Iterator<Item = Bytes>) -> Option<Bytes> {
    let (count, sum) = all.fold((0, Bytes::ZERO), |(count, sum), one| (count + 1, sum + one));
    sum.get().checked_div(count).map(Bytes::new)
}

/// Nothing of none.
fn mean_share(all: impl Iterator<Item = f64>) -> Option<f64> {
    let (count, sum) = all.fold((0.0, 0.0), |(count, sum), one| (count + 1.0, sum + one));
    (count > 0.0).then(|| sum / count)
}

/// Nothing of none.
fn mean_span(all: impl Iterator<Item = Span>) -> Option<Span> {
    let (count, sum) = all.fold((0, Span::ZERO), |(count, sum), one| (count + 1, sum + one));
    (count > 0).then(|| sum / count)
}

/// Nothing of none.
fn sum_span(all: impl Iterator<Item = Span>) -> Option<Span> {
    all.reduce(|sum, one| sum + one)
}

pub(crate) fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

impl Outcome {
    /// Returns the measurements of the data that `from` sends: by it, and by the end that
    /// receives.
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
