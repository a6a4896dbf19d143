//! Measurement of one stream by samples of its kernel's figures.

use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use windlass_base::{Bytes, Rate, Span, whole_part};
use windlass_sys::cpu::CpuTime;
use windlass_sys::tcp_info::{TcpInfo, tcp_info};

use crate::report::{Cpu, LimitTimes, SenderInterval, SenderStream, StreamReport, share};
use crate::socket::{congestion, granted};
use crate::transfer::Role;
use crate::waits::{WaitState, Waits};

/// Intervals between samples of the kernel: short for short transfers, so that these have figures,
/// too, and longer later. Many streams then take little processor time.
const SAMPLE: (Duration, Duration) = (Duration::from_millis(5), Duration::from_millis(50));

/// Duration of the short intervals.
const SHORT: Duration = Duration::from_millis(200);

/// Share of a full interval below which the last interval is not reported by itself.
const CRUMB: f64 = 0.05;

/// Returns the time until the next sample of a transfer that has run for `running`.
pub fn pause_after(running: Duration) -> Duration {
    if running < SHORT { SAMPLE.0 } else { SAMPLE.1 }
}

/// Returns whether the last interval is too short to be reported by itself, for full intervals of
/// `every`.
pub fn is_crumb(last: Duration, every: Duration) -> bool {
    last.as_secs_f64() < CRUMB * every.as_secs_f64()
}

/// Returns the interval between two moments, relative to the test's beginning; nothing if it is too
/// short ([`is_crumb`]).
pub(crate) fn interval(
    began: Instant,
    (from, to): (Instant, Instant),
    every: Duration,
) -> Option<(Span, Span)> {
    let length = to.saturating_duration_since(from);
    let since = |moment: Instant| Span::from_duration(moment.saturating_duration_since(began));
    (!is_crumb(length, every)).then(|| (since(from), since(to)))
}

/// Times of a thread.
#[derive(Clone, Copy, Debug, Default)]
pub struct ThreadTime {
    /// Processor time.
    pub cpu: CpuTime,
    /// Time from its beginning to its end.
    pub ran: Duration,
    /// Time in which it was ready and waited for a processor, if the kernel counts this.
    pub waited: Option<Duration>,
}

/// Sums up the processor time of threads, each as a share of its own time.
pub fn processor_time(threads: impl IntoIterator<Item = ThreadTime>) -> Cpu {
    let (mut sum, mut longest, mut busiest) = (CpuTime::default(), Duration::ZERO, 0.0_f64);
    let mut waiting = None;
    for ThreadTime { cpu, ran, waited } in threads {
        sum += cpu;
        longest = longest.max(ran);
        if ran.is_zero() {
            continue;
        }
        let of = |time: Duration| time.as_secs_f64() / ran.as_secs_f64();
        let (share, waited) = (of(cpu.total()), waited.map(of));
        // The thread that needed most of a processor.
        if waiting.is_none() || share + waited.unwrap_or(0.0) > busiest + waiting.unwrap_or(0.0) {
            (busiest, waiting) = (share, waited);
        }
    }
    let share =
        if longest.is_zero() { 0.0 } else { sum.total().as_secs_f64() / longest.as_secs_f64() };
    Cpu {
        user_seconds: Span::from_duration(sum.user),
        system_seconds: Span::from_duration(sum.system),
        share,
        busiest_share: busiest,
        waiting_share: waiting,
    }
}

/// Tolerance for half of the window at a sample: a twentieth of the window.
const HALVED_BY: u64 = 20;

/// Counters of a connection.
#[derive(Clone, Copy, Debug, Default)]
struct Totals {
    bytes: u64,
    segments: u64,
    retransmissions: u64,
    sent: u64,
    retransmitted: u64,
    needless: u64,
    marked: u64,
    reorderings: u64,
    times: LimitTimes,
}

/// Sums over samples, each weighted with the time since the one before.
#[derive(Clone, Copy, Debug, Default)]
struct Samples {
    count: u64,
    /// Sums of seconds, and of values times seconds.
    time: f64,
    rtt_time: f64,
    rtt_sum: f64,
    rtt_most: Duration,
    cwnd_sum: f64,
    cwnd_most: u64,
    window_sum: f64,
    window_most: Option<u64>,
    window_least: Option<u64>,
    closed: f64,
    open_sum: f64,
    flight_sum: f64,
    unsent_sum: f64,
    /// Largest path MTU that the kernel assumed.
    path_mtu_most: u32,
    delivery_most: u64,
    empty: f64,
}

impl Samples {
    fn add(&mut self, info: &TcpInfo, time: Duration) {
        // Two simultaneous samples are one, and still count if there are no others.
        let time = time.max(Duration::from_nanos(1)).as_secs_f64();
        self.count += 1;
        self.time += time;
        if let Some(rtt) = info.rtt {
            self.rtt_time += time;
            self.rtt_sum += rtt.as_secs_f64() * time;
            self.rtt_most = self.rtt_most.max(rtt);
        }
        let bytes = |segments: u32| u64::from(segments) * u64::from(info.mss);
        let over = |value: u64| value as f64 * time;
        let when = |is_so: bool| if is_so { time } else { 0.0 };
        self.cwnd_sum += over(bytes(info.congestion_window));
        self.cwnd_most = self.cwnd_most.max(bytes(info.congestion_window));
        if let Some(window) = info.peer_window.map(u64::from) {
            self.window_sum += over(window);
            self.closed += when(window == 0);
            self.window_most = self.window_most.max(Some(window));
            self.open_sum += share(window, self.window_most.unwrap_or(window)) * time;
            self.window_least = Some(self.window_least.map_or(window, |least| least.min(window)));
        }
        self.flight_sum += over(bytes(info.unacknowledged));
        self.unsent_sum += over(u64::from(info.unsent));
        self.path_mtu_most = self.path_mtu_most.max(info.path_mtu);
        self.empty += when(info.unsent == 0);
        if !info.is_application_limited {
            self.delivery_most = self.delivery_most.max(info.delivery_rate);
        }
    }

    fn rtt(&self) -> Option<Span> {
        (self.rtt_time > 0.0).then(|| Span::from_seconds(self.rtt_sum / self.rtt_time))
    }

    fn share(&self, part: f64) -> f64 {
        if self.count == 0 { 0.0 } else { part / self.time }
    }

    fn mean(&self, sum: f64) -> Bytes {
        Bytes::new(whole_part(self.share(sum).round()))
    }
}

/// Facts that a connection no longer has once it is closed. Linux then forgets the other end
/// (`ENOTCONN`), and this end's port if the kernel chose it.
#[derive(Clone, Debug)]
struct ConnectionFacts {
    local: String,
    remote: String,
    congestion: String,
}

impl ConnectionFacts {
    fn of(stream: &TcpStream) -> Self {
        let text = |address: std::io::Result<SocketAddr>| {
            // An IPv4 address from an IPv6 socket is shown as IPv4.
            let plain = |address: SocketAddr| {
                SocketAddr::new(address.ip().to_canonical(), address.port()).to_string()
            };
            address.map(plain).unwrap_or_default()
        };
        Self {
            local: text(stream.local_addr()),
            remote: text(stream.peer_addr()),
            congestion: congestion(stream),
        }
    }
}

/// Measurement of one stream.
#[derive(Debug)]
pub struct Meter {
    /// The stream's number.
    pub number: u16,
    role: Role,
    /// The connection.
    pub stream: Arc<TcpStream>,
    ends: ConnectionFacts,
    /// Bytes that its thread has written or read.
    pub moved: Arc<AtomicU64>,
    last: TcpInfo,
    last_at: Instant,
    waiting: WaitState,
    waits: Waits,
    /// Time with an expired retransmission timer, up to the beginning of the interval.
    interval_timeout: Duration,
    /// Counters at the beginning of the counted time, and at that of the interval.
    base: Totals,
    interval: Totals,
    whole: Samples,
    lately: Samples,
}

impl Meter {
    /// Starts to measure a connection.
    pub fn new(number: u16, role: Role, stream: Arc<TcpStream>) -> Self {
        let last = tcp_info(&*stream).unwrap_or_default();
        let ends = ConnectionFacts::of(&stream);
        let mut meter = Self {
            number,
            role,
            stream,
            ends,
            moved: Arc::default(),
            last,
            last_at: Instant::now(),
            waiting: WaitState::default(),
            waits: Waits::default(),
            interval_timeout: Duration::ZERO,
            base: Totals::default(),
            interval: Totals::default(),
            whole: Samples::default(),
            lately: Samples::default(),
        };
        meter.base = meter.totals();
        meter.interval = meter.base;
        meter
    }

    /// Takes a sample of the connection.
    pub fn sample(&mut self) {
        // A receiver's kernel does not know what limits the sender.
        if self.role == Role::Receiver {
            return;
        }
        if let Ok(info) = tcp_info(&*self.stream) {
            let now = Instant::now();
            let time = now.saturating_duration_since(self.last_at);
            // The windows of an ended connection mean nothing.
            if info.is_established {
                self.whole.add(&info, time);
                self.lately.add(&info, time);
            }
            self.waits.add(&mut self.waiting, time, &self.last, &info);
            (self.last, self.last_at) = (info, now);
        }
    }

    fn totals(&self) -> Totals {
        let info = &self.last;
        let bytes = match self.role {
            Role::Sender => info.acknowledged_data(),
            Role::Receiver => self.moved.load(Ordering::Relaxed),
        };
        Totals {
            bytes,
            segments: info.segments_sent.into(),
            retransmissions: info.retransmissions.into(),
            sent: info.sent,
            retransmitted: info.retransmitted,
            needless: info.needless.into(),
            marked: info.marked.into(),
            reorderings: info.reorderings.into(),
            times: LimitTimes {
                busy_seconds: Span::from_duration(info.busy),
                receiver_limited_seconds: Span::from_duration(info.receiver_limited),
                buffer_limited_seconds: Span::from_duration(info.buffer_limited),
            },
        }
    }

    /// Starts the counted time now, with a sample just taken.
    pub fn begin(&mut self) {
        self.base = self.totals();
        self.whole = Samples::default();
        (self.waits, self.interval_timeout) = (Waits::default(), Duration::ZERO);
    }

    /// Returns the bytes that have arrived at the other end so far, in order or not, and the RTT.
    pub(crate) fn delivered(&self) -> (u64, Option<Duration>) {
        (u64::from(self.last.delivered) * u64::from(self.segment()), self.last.rtt)
    }

    /// Returns the bytes of the counted time so far.
    pub fn bytes(&self) -> Bytes {
        // A write in progress may have sent more than its thread knows.
        Bytes::new(self.totals().bytes.saturating_sub(self.base.bytes))
    }

    /// Returns all bytes that its thread has moved.
    pub fn all(&self) -> Bytes {
        Bytes::new(self.moved.load(Ordering::Relaxed))
    }

    /// Ends the interval; returns its bytes, and the figures of the sender's kernel.
    pub fn close_interval(&mut self) -> (Bytes, Option<SenderInterval>) {
        let totals = self.totals();
        let bytes = Bytes::new(totals.bytes.saturating_sub(self.interval.bytes));
        let sender = (self.role == Role::Sender).then(|| SenderInterval {
            rtt_seconds: self.lately.rtt(),
            congestion_window_bytes: self.lately.mean(self.lately.cwnd_sum),
            peer_window_bytes: self
                .lately
                .window_most
                .map(|_| self.lately.mean(self.lately.window_sum)),
            retransmissions: totals.retransmissions.saturating_sub(self.interval.retransmissions),
            delivery_bytes_per_second: Rate::from_bytes_per_second(self.last.delivery_rate as f64),
            timeout_seconds: Some(Span::from_duration(
                self.waits.timeout.saturating_sub(self.interval_timeout),
            )),
            times: totals.times.since(self.interval.times),
        });
        self.interval_timeout = self.waits.timeout;
        self.interval = totals;
        self.lately = Samples::default();
        (bytes, sender)
    }

    /// Returns the size of a full segment. If the window is so small that Linux sends half of it at
    /// a time, returns the MSS that this end accepts.
    fn segment(&self) -> u32 {
        let mss = self.last.mss;
        let halved = |window: u64| window.abs_diff(u64::from(mss) * 2) * HALVED_BY <= window;
        if self.whole.window_most.is_some_and(halved) { self.last.own_mss.max(mss) } else { mss }
    }

    /// Returns the report of the stream over the counted time; `bytes` of it took `seconds`.
    pub fn report(&self, bytes: Bytes, seconds: Span) -> StreamReport {
        let (receive, send) = granted(&self.stream);
        let ConnectionFacts { local, remote, congestion } = self.ends.clone();
        StreamReport {
            stream: self.number,
            local,
            remote,
            bytes,
            bytes_per_second: bytes.per(seconds),
            congestion,
            mss_bytes: self.segment(),
            granted_receive_buffer_bytes: receive,
            granted_send_buffer_bytes: send,
            sender: (self.role == Role::Sender).then(|| self.sender()),
        }
    }

    fn sender(&self) -> SenderStream {
        let (totals, base, whole) = (self.totals(), &self.base, &self.whole);
        SenderStream {
            min_rtt_seconds: self.last.least_rtt.map(Span::from_duration),
            mean_rtt_seconds: whole.rtt(),
            max_rtt_seconds: (whole.rtt_time > 0.0).then(|| Span::from_duration(whole.rtt_most)),
            mean_congestion_window_bytes: whole.mean(whole.cwnd_sum),
            max_congestion_window_bytes: Bytes::new(whole.cwnd_most),
            never_left_slow_start: self.last.slow_start_threshold.is_none(),
            max_peer_window_bytes: whole.window_most.map(Bytes::new),
            mean_peer_window_bytes: whole.window_most.map(|_| whole.mean(whole.window_sum)),
            min_peer_window_bytes: whole.window_least.map(Bytes::new),
            closed_share: whole.share(whole.closed),
            open_share: whole.window_most.map(|_| whole.share(whole.open_sum)),
            mean_flight_bytes: whole.mean(whole.flight_sum),
            max_delivery_bytes_per_second: Rate::from_bytes_per_second(whole.delivery_most as f64),
            segments: totals.segments.saturating_sub(base.segments),
            retransmissions: totals.retransmissions.saturating_sub(base.retransmissions),
            sent_bytes: Bytes::new(totals.sent.saturating_sub(base.sent)),
            retransmitted_bytes: Bytes::new(
                totals.retransmitted.saturating_sub(base.retransmitted),
            ),
            retransmission_share: share(
                totals.retransmissions.saturating_sub(base.retransmissions),
                totals.segments.saturating_sub(base.segments),
            ),
            needless_retransmissions: totals.needless.saturating_sub(base.needless),
            marked_segments: Some(totals.marked.saturating_sub(base.marked)),
            empty_share: whole.share(whole.empty),
            mean_unsent_bytes: Some(whole.mean(whole.unsent_sum)),
            reorderings: Some(totals.reorderings.saturating_sub(base.reorderings)),
            path_mtu_bytes: Some(self.last.path_mtu),
            max_path_mtu_bytes: Some(whole.path_mtu_most.max(self.last.path_mtu)),
            timeout_seconds: Some(Span::from_duration(self.waits.timeout)),
            timeout_retransmissions: Some(self.waits.timeout_retransmissions),
            longest_silence_seconds: Some(Span::from_duration(self.waits.longest_silence)),
            slow_start_seconds: Some(Span::from_duration(self.waits.slow_start)),
            loss_rtt_seconds: self.waits.loss_rtt(),
            window_openings: self.waits.openings,
            unprompted_window_openings: self.waits.unprompted_openings,
            times: totals.times.since(base.times),
        }
    }
}
