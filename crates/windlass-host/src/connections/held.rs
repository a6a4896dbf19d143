//! The limit of a connection between two looks, as far as its kernel knows.
//!
//! Two looks at a socket become facts of [`windlass_base::live`], which charges the time between
//! them by the rules for transfers of `windlass send`. If they leave the limit open, it is unknown,
//! and the source that would tell it is named.

use serde::Serialize;
use windlass_base::live::{Facts, Part, Parts, ReceiverFacts, Sampling, judge, judge_receiving};
use windlass_base::thresholds::WRITABLE_BUFFER;
use windlass_base::{Bytes, Cause, Limit, LimitReason, Named, Rate, Span};
use windlass_sys::sock_diag::Socket;
use windlass_sys::tcp_info::TcpInfo;

use super::ends::Ends;

/// `TCP_SYN_SENT` in `net/tcp_states.h`.
const SYN_SENT: u8 = 2;

/// Directions of data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Named)]
pub enum Direction {
    /// From this end, whose kernel knows the limit.
    #[default]
    Sending,
    /// To this end; the other end's kernel knows the limit.
    Receiving,
}

/// Sources that would tell a limit which the kernel does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Named)]
pub enum BetterSource {
    /// The kernel at the other end, which sends.
    OtherEnd,
    /// The connection's packets.
    Packets,
    /// The processors of this host, as there is no path between the ends.
    Processors,
    /// A newer kernel, which keeps clocks (Linux 4.10).
    NewerKernel,
    /// Any answer of the other end.
    Ping,
}

/// Time of an interval by limits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LimitTimes([Span; Limit::ALL.len()]);

impl LimitTimes {
    /// Adds time to a limit.
    pub fn add(&mut self, limit: Limit, time: Span) {
        self.0[limit as usize] += time;
    }

    /// Returns the time of a limit.
    pub const fn of(&self, limit: Limit) -> Span {
        self.0[limit as usize]
    }

    /// Returns the sum of all limits.
    pub fn whole(&self) -> Span {
        self.0.iter().copied().sum()
    }

    /// Returns the limits with time, the largest first.
    pub fn largest_first(&self) -> Vec<(Limit, Span)> {
        let all = Limit::ALL.into_iter().map(|limit| (limit, self.of(limit)));
        let mut some: Vec<_> = all.filter(|(_, time)| *time > Span::ZERO).collect();
        some.sort_by_key(|(_, time)| std::cmp::Reverse(*time));
        some
    }
}

/// Limits that may hold, the likelier first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PossibleLimits {
    all: [Option<Limit>; 3],
}

impl PossibleLimits {
    /// Returns the limits of causes.
    fn of(causes: &[Cause]) -> Self {
        Self::limits(causes.iter().map(|cause| cause.limit()))
    }

    /// Returns the limits of a list, each once; empty for a single one, which is no choice.
    pub fn limits(limits: impl IntoIterator<Item = Limit>) -> Self {
        let mut between = Self::default();
        for limit in limits {
            let is_known = between.all().any(|known| known == limit);
            let place = between.all.iter_mut().find(|place| place.is_none());
            if let (Some(place), false) = (place, is_known) {
                *place = Some(limit);
            }
        }
        if between.all().count() > 1 { between } else { Self::default() }
    }

    /// Returns whether there is no choice.
    pub const fn is_empty(&self) -> bool {
        self.all[0].is_none()
    }

    /// Returns the limits.
    pub fn all(&self) -> impl Iterator<Item = Limit> + '_ {
        self.all.iter().copied().flatten()
    }
}

impl Serialize for PossibleLimits {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.all())
    }
}

/// The limit with the largest share of an interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct MainLimit {
    /// The limit.
    pub limit: Limit,
    /// The reason of the limit, if known.
    pub because: Option<LimitReason>,
    /// Its share of the time.
    pub share: f64,
    /// The limits that its kernel cannot tell apart.
    pub between: PossibleLimits,
    /// The source that would tell, if the limit is unknown.
    pub would_tell: Option<BetterSource>,
}

/// The time of one direction of a connection, by limits.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ChargedTime {
    /// The time by limits. For a connection that began in the interval it is the busy time.
    pub times: LimitTimes,
    /// The largest part; `None` if no time was charged.
    pub most: Option<MainLimit>,
}

/// A part of the time, and its limit in the report.
#[derive(Clone, Copy, Debug)]
struct LimitPart {
    limit: Limit,
    because: Option<LimitReason>,
    between: PossibleLimits,
    would_tell: Option<BetterSource>,
    time: Span,
}

impl LimitPart {
    fn unknown(would_tell: BetterSource, time: Span) -> Self {
        Self {
            limit: Limit::Unknown,
            because: None,
            between: PossibleLimits::default(),
            would_tell: Some(would_tell),
            time,
        }
    }

    fn is(cause: Cause, time: Span) -> Self {
        Self {
            limit: cause.limit(),
            because: cause.because(),
            would_tell: None,
            ..Self::unknown(BetterSource::Packets, time)
        }
    }

    /// Converts a part: by its cause, or by the limit that all of its causes share, or else by the
    /// kernel's own clock. The cause of that clock may be open.
    fn of(part: &Part, would: BetterSource) -> Self {
        let causes = part.causes.all();
        let same = causes.first().map(|cause| cause.limit());
        let same = same.filter(|limit| causes.iter().all(|cause| cause.limit() == *limit));
        match (causes, same.or(part.clock)) {
            ([cause], _) => Self::is(*cause, part.time),
            (_, Some(limit)) => {
                let between = PossibleLimits::of(causes);
                Self { limit, between, would_tell: None, ..Self::unknown(would, part.time) }
            }
            _ => Self { between: PossibleLimits::of(causes), ..Self::unknown(would, part.time) },
        }
    }
}

/// Adds up the parts.
fn held(told: impl Iterator<Item = LimitPart> + Clone) -> ChargedTime {
    let mut times = LimitTimes::default();
    told.clone().for_each(|one| times.add(one.limit, one.time));
    let whole = times.whole();
    // Of several parts of a limit the longest gives the reason.
    let most =
        told.filter(|one| one.time > Span::ZERO).max_by_key(|one| (times.of(one.limit), one.time));
    let most = most.map(|one| MainLimit {
        limit: one.limit,
        because: one.because,
        share: times.of(one.limit).share_of(whole),
        between: one.between,
        would_tell: one.would_tell,
    });
    ChargedTime { times, most }
}

/// Returns the limits of data that a connection received. Its own kernel knows only whether its
/// program reads. The program does not if, at both looks, the unread data exceeded the rest of the
/// window, or the window was closed.
pub fn receiving(before: Option<&Socket>, now: &Socket, span: Span, ends: &Ends) -> ChargedTime {
    let window = |socket: &Socket| socket.info.and_then(|info| info.own_window);
    let is_closed = |socket: &Socket| socket.unread > 0 && window(socket) == Some(0);
    let is_behind =
        |socket: &Socket| window(socket).is_some_and(|window| socket.unread > window.max(1));
    let before = before.unwrap_or(now);
    // Each look stands for its half.
    let looks = [before, now];
    let closed = looks.iter().filter(|socket| is_closed(socket)).count();
    let facts = ReceiverFacts {
        seconds: span,
        closed_share: closed as f64 / looks.len() as f64,
        is_behind: looks.into_iter().all(is_behind),
        reader: ends.own,
    };
    charged(&judge_receiving(&facts), BetterSource::OtherEnd)
}

/// Adds up parts of the time.
fn charged(parts: &Parts, would: BetterSource) -> ChargedTime {
    held(parts.all().iter().map(|part| LimitPart::of(part, would)))
}

/// Returns the limits of data that a connection sent in `span`. Without a look `before` the
/// connection began in that time, at an unknown moment.
pub fn sending(before: Option<&Socket>, now: &Socket, span: Span, ends: &Ends) -> ChargedTime {
    let unknown = |would_tell| held(std::iter::once(LimitPart::unknown(would_tell, span)));
    let Some(info) = &now.info else { return unknown(BetterSource::Packets) };
    if now.state == SYN_SENT {
        return unknown(BetterSource::Ping);
    }
    if !info.has_clocks {
        return unknown(BetterSource::NewerKernel);
    }
    let nothing = TcpInfo::default();
    let earlier = before.and_then(|before| before.info.as_ref()).unwrap_or(&nothing);
    let facts = facts(&SocketLooks { now, before, info, earlier }, span, ends);
    let would = if facts.is_loopback { BetterSource::Processors } else { BetterSource::Packets };
    charged(&judge(&facts), would)
}

/// Two looks at a sending connection.
struct SocketLooks<'a> {
    now: &'a Socket,
    before: Option<&'a Socket>,
    info: &'a TcpInfo,
    earlier: &'a TcpInfo,
}

impl SocketLooks<'_> {
    /// Returns the advance of one of the kernel's clocks.
    fn clock(&self, of: fn(&TcpInfo) -> std::time::Duration) -> Span {
        Span::from_duration(of(self.info).saturating_sub(of(self.earlier)))
    }

    /// Returns the advance of a counter.
    fn count(&self, of: fn(&TcpInfo) -> u32) -> u64 {
        of(self.info).saturating_sub(of(self.earlier)).into()
    }

    /// Returns the time of timers that expired. The kernel's clock of it, if there is one, begins
    /// when a timer expires; the silence before that counts, too.
    fn timeout(&self) -> Span {
        let clock = self.clock(|info| info.after_timeouts.unwrap_or_default());
        let is_silent = self.info.is_after_timeout && self.info.unacknowledged > 0;
        let silence = if is_silent { Span::from_duration(self.info.since_ack) } else { Span::ZERO };
        clock.max(silence)
    }

    /// Returns whether the peer's window was closed at both looks: the kernel has one clock for
    /// closed windows and for full ones.
    fn is_closed(&self) -> bool {
        let closed = |info: &TcpInfo| info.peer_window == Some(0);
        closed(self.info) && (self.before.is_none() || closed(self.earlier))
    }

    /// Returns the share of the looks at which a program could not write: the buffer had too little
    /// room.
    fn full_buffer(&self) -> f64 {
        let is_full = |socket: &&&Socket| {
            socket.buffers.is_some_and(|buffers| {
                buffers.sent.get() as f64 > WRITABLE_BUFFER.get() * buffers.send.get() as f64
            })
        };
        let looks = [Some(self.now), self.before];
        // A new connection was looked at once.
        looks.iter().flatten().filter(is_full).count() as f64 / looks.len() as f64
    }
}

/// Returns the facts from two looks.
fn facts(looks: &SocketLooks<'_>, span: Span, ends: &Ends) -> Facts {
    let SocketLooks { now, before, info, .. } = *looks;
    let busy = looks.clock(|info| info.busy).min(span);
    let bytes = Bytes::new(info.acknowledged.saturating_sub(looks.earlier.acknowledged));
    let of_segments = |count: u32| Bytes::new(u64::from(count) * u64::from(info.mss));
    let retransmissions = looks.count(|info| info.retransmissions);
    let lost = retransmissions.saturating_sub(looks.count(|info| info.needless));
    let unsent = info.unsent.max(looks.earlier.unsent);
    let (own, peer) = (now.local.ip(), now.peer.ip());
    let is_loopback = ends.is_one_host || peer.is_loopback() || peer == own;
    Facts {
        sampling: Sampling::Twice,
        // A connection that began in the interval counts for its busy time.
        seconds: if before.is_some() { span } else { busy },
        streams: 1,
        bytes,
        rate: bytes.per(busy),
        busy,
        window_held: looks.clock(|info| info.receiver_limited),
        buffer_held: looks.clock(|info| info.buffer_limited),
        timeout: looks.timeout(),
        counts_idle: before.is_some(),
        rtt: info.rtt.map(Span::from_duration),
        least_rtt: info.least_rtt.map(Span::from_duration),
        window: info.peer_window.map(|window| Bytes::new(window.into())),
        closed_share: f64::from(u8::from(looks.is_closed())),
        flight: of_segments(info.unacknowledged),
        congestion_window: of_segments(info.congestion_window),
        buffer: now.buffers.map(|buffers| buffers.send).unwrap_or_default(),
        buffer_full: Some(looks.full_buffer()),
        unsent: Some(Bytes::new(unsent.into())),
        is_application_limited: info.is_application_limited,
        segment: info.mss.into(),
        segments: looks.count(|info| info.segments_sent),
        retransmissions,
        lost,
        lost_outside_timeouts: lost,
        marked: looks.count(|info| info.marked),
        reorderings: looks.count(|info| info.reorderings),
        path_mtu: before.map(|_| {
            let most = info.path_mtu.max(looks.earlier.path_mtu);
            (info.path_mtu.into(), most.into())
        }),
        heeds_loss: !now.congestion.is_some_and(|congestion| congestion.is_bbr()),
        never_left_slow_start: info.slow_start_threshold.is_none(),
        best: if info.is_application_limited {
            Rate::ZERO
        } else {
            Rate::from_bytes_per_second(info.delivery_rate as f64)
        },
        pace: info.asked_pace.map(|pace| Rate::from_bytes_per_second(pace as f64)),
        sender: ends.own,
        receiver: ends.other,
        sending_machine: ends.machine.clone(),
        is_one_machine: is_loopback,
        is_loopback,
        ..Facts::default()
    }
}

#[cfg(test)]
#[path = "held_tests.rs"]
mod tests;
