//! What held a connection between two looks, as far as its kernel knows.
//!
//! Linux keeps three clocks of what it sends (the chronograph of `tcp_chrono_start`, in `TCP_INFO`
//! since 4.10): how long there was something to send or to be acknowledged, and for how long of
//! that the peer's window or the send buffer held it. A fourth adds up the repair of what a
//! retransmission timer found lost (6.7). What none of them has is charged by what the two looks
//! show; where they leave it open, it is unknown, and what would tell is named. The thresholds are
//! those by which `windlass send` judges a transfer.

use serde::Serialize;
use windlass_base::{Because, Bytes, Cause, Limit, Named, Rate, Span};
use windlass_sys::sock_diag::Socket;
use windlass_sys::tcp_info::TcpInfo;

/// The share of segments lost from which on loss is the limit (decision 7).
const LOSSY: f64 = 0.01;

/// In flight are the rate times the round trip (Little 1961); this share of a window fills it, as
/// a start, in which it grows, is in the mean.
const FILLS: f64 = 0.6;

/// And beyond this one, what was in flight was never in that window.
const OVERFILLS: f64 = 1.5;

/// A flight up to this share of a congestion window leaves room in it.
const LEAVES_ROOM: f64 = 0.8;

/// A round trip this much above the least has waited in a queue, or for a receiver.
const QUEUED: f64 = 1.25;

/// And by this much at least: below, it is the hosts' own doing.
const QUEUED_BY: Span = Span::from_micros(200);

/// Windows of so many segments cannot queue what delays them much: the receiver does.
const FEW_SEGMENTS: u32 = 4;

/// A rate this near to the pace that was asked for is the pace's.
const PACED: f64 = 0.85;

/// In slow start a window is in use where half of it was in flight (`tcp_is_cwnd_limited`).
const IN_USE: u32 = 2;

/// A rate at this share of the best delivery of late is at the path's.
const FULL: f64 = 0.8;

/// From this part of the busy time on, the tenth, the clock of the send buffer speaks for more.
const CLOCKED: u64 = 10;

/// A program may write again once a third of the send buffer is free (`sk_stream_write_space`).
const WRITABLE: f64 = 2.0 / 3.0;

/// `TCP_SYN_SENT` in `net/tcp_states.h`.
const SYN_SENT: u8 = 2;

/// Which way data goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Named)]
pub enum Direction {
    /// From this end: its kernel knows what holds it.
    #[default]
    Sending,
    /// To this end: what holds it, the other end's kernel knows.
    Receiving,
}

/// What would tell where a kernel does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Named)]
pub enum WouldTell {
    /// The kernel at the other end, which sends.
    OtherEnd,
    /// The connection's packets.
    Packets,
    /// The processors of this host, as no path lies between.
    Processors,
    /// A kernel that keeps clocks of it (Linux 4.10).
    NewerKernel,
    /// Whether the other end answers at all.
    Ping,
}

/// What a stretch of time was spent on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Times([Span; Limit::ALL.len()]);

impl Times {
    /// Adds some to a limit.
    pub fn add(&mut self, limit: Limit, time: Span) {
        self.0[limit as usize] += time;
    }

    /// The time of a limit.
    pub const fn of(&self, limit: Limit) -> Span {
        self.0[limit as usize]
    }

    /// All of them together.
    pub fn whole(&self) -> Span {
        self.0.iter().copied().sum()
    }

    /// Those that had some, the most first.
    pub fn largest_first(&self) -> Vec<(Limit, Span)> {
        let all = Limit::ALL.into_iter().map(|limit| (limit, self.of(limit)));
        let mut some: Vec<_> = all.filter(|(_, time)| *time > Span::ZERO).collect();
        some.sort_by_key(|(_, time)| std::cmp::Reverse(*time));
        some
    }
}

/// The limit that most of a stretch of time went to.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Reading {
    /// The limit.
    pub limit: Limit,
    /// Why it holds, where that is known.
    pub because: Option<Because>,
    /// Its share of the time.
    pub share: f64,
    /// Where it is unknown: those of which it is one, as far as that is known.
    pub between: &'static [Limit],
    /// Where it is unknown: what would tell.
    pub would_tell: Option<WouldTell>,
}

/// What held one direction of a connection for a while.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Held {
    /// What the time went to. Of a connection that began meanwhile it is the time in which it was
    /// busy.
    pub times: Times,
    /// The most of it; nothing where no time was charged.
    pub most: Option<Reading>,
}

/// A judgement on a part of the time.
#[derive(Clone, Copy, Debug)]
struct Verdict {
    limit: Limit,
    because: Option<Because>,
    between: &'static [Limit],
    would_tell: Option<WouldTell>,
}

impl Verdict {
    const fn is(cause: Cause) -> Self {
        Self { because: cause.because(), ..Self::limit(cause.limit()) }
    }

    const fn limit(limit: Limit) -> Self {
        Self { limit, because: None, between: &[], would_tell: None }
    }

    const fn unknown(between: &'static [Limit], would_tell: WouldTell) -> Self {
        Self { between, would_tell: Some(would_tell), ..Self::limit(Limit::Unknown) }
    }
}

/// The parts of a stretch of time. There are as many at the most as clocks, with what none of
/// them has: thousands of connections are judged at a look, so they take no memory.
#[derive(Default)]
struct Parts([Option<(Verdict, Span)>; 5]);

impl Parts {
    fn add(&mut self, verdict: Verdict, time: Span) {
        if time > Span::ZERO
            && let Some(place) = self.0.iter_mut().find(|place| place.is_none())
        {
            *place = Some((verdict, time));
        }
    }

    fn held(self) -> Held {
        let mut times = Times::default();
        let parts = || self.0.iter().flatten();
        for (verdict, time) in parts() {
            times.add(verdict.limit, *time);
        }
        let whole = times.whole();
        // Of several parts of a limit the longest says why.
        let most = parts().max_by_key(|(verdict, time)| (times.of(verdict.limit), *time));
        let most = most.map(|(verdict, _)| Reading {
            limit: verdict.limit,
            because: verdict.because,
            share: times.of(verdict.limit).share_of(whole),
            between: verdict.between,
            would_tell: verdict.would_tell,
        });
        Held { times, most }
    }
}

/// What held the data that a connection received. Its own kernel knows only whether its program
/// reads: at both looks more was unread than the window still had room for, or it was closed.
pub fn receiving(before: Option<&Socket>, now: &Socket, span: Span) -> Held {
    let mut parts = Parts::default();
    let window = |socket: &Socket| socket.info.and_then(|info| info.own_window);
    let is_closed = |socket: &Socket| socket.unread > 0 && window(socket) == Some(0);
    let is_behind =
        |socket: &Socket| window(socket).is_some_and(|window| socket.unread > window.max(1));
    let before = before.unwrap_or(now);
    // Each look stands for its half.
    let closed = [before, now].iter().filter(|socket| is_closed(socket)).count();
    let closed = span.part_of(2).scaled(closed as f64);
    parts.add(Verdict::is(Cause::ReceiverNotReading), closed);
    let rest = span - closed;
    let verdict = if is_behind(before) && is_behind(now) {
        Verdict::is(Cause::ReceiverLimited)
    } else {
        Verdict::unknown(&[], WouldTell::OtherEnd)
    };
    parts.add(verdict, rest);
    parts.held()
}

/// What held the data that a connection sent in `span`. Without a look `before` it began in that
/// time, nobody knows when.
pub fn sending(before: Option<&Socket>, now: &Socket, span: Span) -> Held {
    let mut parts = Parts::default();
    let Some(info) = &now.info else {
        parts.add(Verdict::unknown(&[], WouldTell::Packets), span);
        return parts.held();
    };
    if now.state == SYN_SENT {
        parts.add(Verdict::unknown(&[], WouldTell::Ping), span);
        return parts.held();
    }
    if !info.has_clocks {
        parts.add(Verdict::unknown(&[], WouldTell::NewerKernel), span);
        return parts.held();
    }
    let nothing = TcpInfo::default();
    let earlier = before.and_then(|before| before.info.as_ref()).unwrap_or(&nothing);
    let sent = Sent { now, before, info, earlier };
    let clock = |of: fn(&TcpInfo) -> std::time::Duration| sent.clock(of).min(span);
    let busy = clock(|info| info.busy);
    // The kernel's other clocks go on while a timer runs.
    let timeout = sent.timeout().min(busy);
    let window = clock(|info| info.receiver_limited).min(busy - timeout);
    let buffer = clock(|info| info.buffer_limited).min(busy - timeout - window);
    let rest = busy - timeout - window - buffer;
    parts.add(Verdict::is(Cause::Timeout), timeout);
    parts.add(sent.of_window(), window);
    parts.add(Verdict::limit(Limit::SendBuffer), buffer);
    parts.add(sent.of_rest(busy, buffer), rest);
    if before.is_some() {
        parts.add(Verdict::is(Cause::SenderIdle), span - busy);
    }
    parts.held()
}

/// Two looks at what was sent.
struct Sent<'a> {
    now: &'a Socket,
    before: Option<&'a Socket>,
    info: &'a TcpInfo,
    earlier: &'a TcpInfo,
}

impl Sent<'_> {
    /// What one of the kernel's clocks went on by.
    fn clock(&self, of: fn(&TcpInfo) -> std::time::Duration) -> Span {
        Span::from_duration(of(self.info).saturating_sub(of(self.earlier)))
    }

    /// The time of timers that ran out. The kernel's clock of it, where it has one, begins when a
    /// timer runs out; the silence before that is the timer's as well.
    fn timeout(&self) -> Span {
        let clock = self.clock(|info| info.after_timeouts.unwrap_or_default());
        let is_silent = self.info.is_after_timeout && self.info.unacknowledged > 0;
        let silence = if is_silent { Span::from_duration(self.info.since_ack) } else { Span::ZERO };
        clock.max(silence)
    }

    fn of_window(&self) -> Verdict {
        // The clock is one for both: closed it was, where both looks found it so.
        let closed = |info: &TcpInfo| info.peer_window == Some(0);
        let is_closed = closed(self.info) && (self.before.is_none() || closed(self.earlier));
        Verdict::limit(if is_closed { Limit::ZeroWindow } else { Limit::ReceiverWindow })
    }

    /// What the time comes from that no clock has.
    fn of_rest(&self, busy: Span, buffer: Span) -> Verdict {
        let flight = self.flight(busy);
        if self.keeps_its_pace(busy) {
            return Verdict::is(Cause::SenderIdle);
        }
        if self.fills_window(flight) {
            return Verdict::limit(Limit::ReceiverWindow);
        }
        if let Some(verdict) = self.of_program(flight, busy, buffer) {
            return verdict;
        }
        if self.is_local() {
            return Verdict::unknown(&[], WouldTell::Processors);
        }
        if self.has_small_buffer() {
            return self.of_small_buffer(flight, buffer > busy.part_of(CLOCKED));
        }
        self.of_path(flight, busy)
    }

    /// What the program or its buffer comes to where all that was written was sent at once.
    fn of_program(&self, flight: f64, busy: Span, buffer: Span) -> Option<Verdict> {
        const WRITES: &[Limit] = &[Limit::SendBuffer, Limit::Application];
        const SOMETIMES: &[Limit] = &[Limit::CongestionWindow, Limit::Application];
        let has_sent_all = self.info.unsent == 0 && self.earlier.unsent == 0;
        let leaves_room = self.leaves_room(flight);
        if !has_sent_all || !(self.info.is_application_limited || leaves_room) {
            return None;
        }
        if !leaves_room {
            // It had nothing more to send at last, and filled its window before.
            let sometimes = Verdict::unknown(SOMETIMES, WouldTell::Packets);
            return (!self.has_small_buffer()).then_some(sometimes);
        }
        // A write that waits for room has nothing to send either, and the kernel's clock misses
        // some of that: it counts in jiffies, and a write takes whole segments of the stack.
        let looks = [Some(self.now), self.before];
        let full = looks.iter().flatten().filter(|look| has_full_buffer(look)).count();
        let is_clocked = buffer > busy.part_of(CLOCKED);
        Some(match (full, is_clocked) {
            (2, _) | (1, true) => Verdict::limit(Limit::SendBuffer),
            (1, false) | (_, true) => Verdict::unknown(WRITES, WouldTell::Packets),
            (_, false) => Verdict::is(Cause::SenderIdle),
        })
    }

    /// What a send buffer comes to that does not hold a congestion window. A write may take more
    /// than it holds, which the windows then let out.
    fn of_small_buffer(&self, flight: f64, is_clocked: bool) -> Verdict {
        const SMALL: &[Limit] = &[Limit::SendBuffer, Limit::CongestionWindow, Limit::PathCapacity];
        if is_clocked && self.leaves_room(flight) && !self.is_late() {
            return Verdict::limit(Limit::SendBuffer);
        }
        Verdict::unknown(SMALL, WouldTell::Packets)
    }

    /// What a path or a congestion window comes to.
    fn of_path(&self, flight: f64, busy: Span) -> Verdict {
        const LOST: &[Limit] = &[Limit::Loss, Limit::PathCapacity];
        const FEW: &[Limit] = &[Limit::PathCapacity, Limit::ReceiverWindow];
        const EITHER: &[Limit] = &[Limit::CongestionWindow, Limit::PathCapacity];
        const ANY: &[Limit] = &[Limit::CongestionWindow, Limit::PathCapacity, Limit::Application];
        let unknown = |between| Verdict::unknown(between, WouldTell::Packets);
        if !self.is_late() && self.starts_slowly() {
            return Verdict::is(Cause::SlowStart);
        }
        if flight < LEAVES_ROOM * self.congestion_window() {
            // BBR paces, and leaves room in its window.
            return unknown(if self.is_bbr() { EITHER } else { ANY });
        }
        match (self.is_lossy(), self.is_late()) {
            // A queue that is full loses, too.
            (true, true) => unknown(LOST),
            (true, false) => Verdict::is(Cause::FastRecovery),
            // So few do not queue: the receiver may be late to acknowledge.
            (false, true) if self.is_few(flight) => unknown(FEW),
            (false, true) if self.is_full(busy) => Verdict::is(Cause::PathQueue),
            (false, true) => unknown(EITHER),
            // BBR goes by the rate that it has seen delivered: its window is no limit of its own.
            (false, false) if self.is_bbr() => unknown(EITHER),
            (false, false) => Verdict::limit(Limit::CongestionWindow),
        }
    }

    /// Whether neither window is anywhere near full.
    fn leaves_room(&self, flight: f64) -> bool {
        flight < FILLS * self.congestion_window()
            && self.info.peer_window.is_none_or(|window| flight < FILLS * f64::from(window))
    }

    /// Whether the send buffer does not hold a congestion window. One that the kernel sizes holds
    /// two of them (`tcp_sndbuf_expand`).
    fn has_small_buffer(&self) -> bool {
        let send = self.now.buffers.map_or(0, |buffers| buffers.send.get());
        send > 0 && (send as f64) < self.congestion_window()
    }

    /// Whether it went as fast as data was delivered at its best of late.
    fn is_full(&self, busy: Span) -> bool {
        let best = self.info.delivery_rate as f64;
        let rate = Bytes::new(self.acknowledged()).per(busy).bytes_per_second();
        best > 0.0 && !self.info.is_application_limited && rate >= FULL * best
    }

    /// Whether there are but a few segments in flight.
    fn is_few(&self, flight: f64) -> bool {
        let segments = (flight / f64::from(self.info.mss.max(1))).ceil();
        f64::from(self.info.unacknowledged).max(segments) < f64::from(FEW_SEGMENTS)
    }

    fn is_bbr(&self) -> bool {
        self.now.congestion.is_some_and(|congestion| congestion.is_bbr())
    }

    /// Bytes that were acknowledged.
    const fn acknowledged(&self) -> u64 {
        self.info.acknowledged.saturating_sub(self.earlier.acknowledged)
    }

    /// What was in flight on average while there was something to send, in bytes.
    fn flight(&self, busy: Span) -> f64 {
        let rate = Bytes::new(self.acknowledged()).per(busy).bytes_per_second();
        rate * self.rtt().as_seconds()
    }

    fn congestion_window(&self) -> f64 {
        f64::from(self.info.congestion_window) * f64::from(self.info.mss)
    }

    fn rtt(&self) -> Span {
        self.info.rtt.map(Span::from_duration).unwrap_or_default()
    }

    /// Whether round trips take longer than the path's least.
    fn is_late(&self) -> bool {
        let least = self.info.least_rtt.map(Span::from_duration);
        least.is_some_and(|least| {
            self.rtt() > least.scaled(QUEUED) && self.rtt() - least > QUEUED_BY
        })
    }

    /// Whether it is lost data that holds a congestion control which takes that for a sign.
    fn is_lossy(&self) -> bool {
        let since = |of: fn(&TcpInfo) -> u32| of(self.info).saturating_sub(of(self.earlier));
        let needless = since(|info| info.needless);
        let lost = since(|info| info.retransmissions).saturating_sub(needless);
        let sent = since(|info| info.segments_sent);
        !self.is_bbr() && lost > 0 && f64::from(lost) >= LOSSY * f64::from(sent)
    }

    /// Whether a window's worth is in flight, and the congestion window would allow more. The
    /// kernel counts in jiffies for how long a window held it, so on a path that is shorter much
    /// of that is missed.
    fn fills_window(&self, flight: f64) -> bool {
        self.info.peer_window.map(f64::from).is_some_and(|window| {
            window > 0.0
                && (FILLS * window..=OVERFILLS * window).contains(&flight)
                && self.congestion_window() > window
        })
    }

    /// Whether the pace that its program asked for was kept.
    fn keeps_its_pace(&self, busy: Span) -> bool {
        let rate = Bytes::new(self.acknowledged()).per(busy);
        let pace = self.info.asked_pace.map(|pace| Rate::from_bytes_per_second(pace as f64));
        pace.is_some_and(|pace| rate.bytes_per_second() > PACED * pace.bytes_per_second())
    }

    /// Whether the congestion window has never met a loss, and is in use.
    fn starts_slowly(&self) -> bool {
        self.info.slow_start_threshold.is_none()
            && !self.is_bbr()
            && self.info.congestion_window < self.info.unacknowledged.saturating_mul(IN_USE)
    }

    /// Whether both ends are on this host.
    fn is_local(&self) -> bool {
        self.now.peer.ip().is_loopback() || self.now.peer.ip() == self.now.local.ip()
    }
}

/// Whether a program may not write: the buffer has less room than it takes.
fn has_full_buffer(socket: &Socket) -> bool {
    socket
        .buffers
        .is_some_and(|buffers| buffers.sent.get() as f64 > WRITABLE * buffers.send.get() as f64)
}

#[cfg(test)]
#[path = "held_tests.rs"]
mod tests;
