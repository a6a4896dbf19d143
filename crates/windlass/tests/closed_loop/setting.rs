//! Settings at random, each with one limit put in.

use windlass_base::{Bytes, Cause, Rate, Span};
use windlass_sim::device::{
    AckPolicy, ClosePolicy, Drain, Latency, StallEvery, Stalls, Window, WindowUpdates,
};
use windlass_sim::sender::{Congestion, PartialSegmentPolicy, WritePattern};
use windlass_sim::{
    CapturePoint, Habits, HoldCause, Hop, LinkSettings, Policer, SenderSettings, Setting, Stream,
    Truth,
};

use super::transfer::share_of;
use windlass_testkit::random::Random;

/// The limits that are put in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Injected {
    WindowPathRtt,
    WindowAckLatency,
    WindowBelowMss,
    ReceiverNotReading,
    NoWindowUpdate,
    WindowOpensLate,
    BufferPathRtt,
    BufferDelayedAck,
    SlowStart,
    RareLoss,
    FrequentLoss,
    LossByTimer,
    FullPath,
    SenderIdle,
    AwaitsAnswer,
    ReceiverLimited,
    SillyWindow,
    NagleDelayedAck,
    ReceiverDiscards,
    BlackHole,
    Policer,
    AckLoss,
    Reordering,
    SlowTimer,
}

/// A setting, and where it is seen.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) setting: Setting,
    pub(crate) capture_point: CapturePoint,
    pub(crate) what: String,
}

const MSS: f64 = 1_460.0;

pub(crate) fn seconds(seconds: f64) -> Span {
    Span::from_seconds(seconds)
}

#[expect(clippy::cast_sign_loss, reason = "no setting is negative")]
pub(crate) fn bytes(bytes: f64) -> Bytes {
    Bytes::new(bytes as u64)
}

fn link(rate: f64, delay: Span) -> LinkSettings {
    LinkSettings::new(Rate::from_bytes_per_second(rate), delay)
}

impl Injected {
    pub(crate) const ALL: [Self; 24] = [
        Self::WindowPathRtt,
        Self::WindowAckLatency,
        Self::WindowBelowMss,
        Self::ReceiverNotReading,
        Self::NoWindowUpdate,
        Self::WindowOpensLate,
        Self::BufferPathRtt,
        Self::BufferDelayedAck,
        Self::SlowStart,
        Self::RareLoss,
        Self::FrequentLoss,
        Self::LossByTimer,
        Self::FullPath,
        Self::SenderIdle,
        Self::AwaitsAnswer,
        Self::NagleDelayedAck,
        Self::ReceiverLimited,
        Self::SillyWindow,
        Self::ReceiverDiscards,
        Self::BlackHole,
        Self::Policer,
        Self::AckLoss,
        Self::Reordering,
        Self::SlowTimer,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::WindowPathRtt => "receiver-window/path-rtt",
            Self::WindowAckLatency => "receiver-window/ack-latency",
            Self::WindowBelowMss => "receiver-window/window-below-mss",
            Self::ReceiverNotReading => "zero-window/receiver-not-reading",
            Self::NoWindowUpdate => "zero-window/no-window-update",
            Self::WindowOpensLate => "zero-window/window-opens-late",
            Self::BufferPathRtt => "send-buffer/path-rtt",
            Self::BufferDelayedAck => "send-buffer/delayed-ack",
            Self::SlowStart => "congestion-window/slow-start",
            Self::RareLoss => "congestion-window/after-loss",
            Self::FrequentLoss => "loss/fast-recovery",
            Self::LossByTimer => "loss/timeout",
            Self::FullPath => "path-capacity/queue",
            Self::SenderIdle => "application/sender-idle",
            Self::AwaitsAnswer => "application/awaits-answer",
            Self::ReceiverLimited => "application/receiver-limited",
            Self::SillyWindow => "application/receiver-limited (silly windows)",
            Self::NagleDelayedAck => "nagle-delayed-ack",
            Self::ReceiverDiscards => "loss/receiver-discards",
            Self::BlackHole => "loss/black-hole",
            Self::Policer => "path-capacity/policer",
            Self::AckLoss => "loss/ack-loss",
            Self::Reordering => "congestion-window/reordering",
            Self::SlowTimer => "loss/slow-timer",
        }
    }

    /// The share of the time that the sender itself says this limit took; of a
    /// full path, that its line was busy. Loss at random may leave this transfer
    /// alone.
    pub(crate) fn share(self, truth: &Truth, busy: f64, lost: f64) -> f64 {
        let share = |held| share_of(truth, held);
        match self {
            Self::WindowPathRtt | Self::WindowAckLatency | Self::WindowBelowMss => {
                share(HoldCause::ReceiveWindow)
            }
            Self::ReceiverNotReading
            | Self::NoWindowUpdate
            | Self::WindowOpensLate
            | Self::ReceiverLimited
            | Self::SillyWindow => {
                // Closed also means: nearly closed.
                share(HoldCause::ZeroWindow) + share(HoldCause::ReceiveWindow)
            }
            Self::BufferPathRtt | Self::BufferDelayedAck => share(HoldCause::SendBuffer),
            Self::RareLoss
            | Self::FrequentLoss
            | Self::LossByTimer
            | Self::ReceiverDiscards
            | Self::BlackHole
            | Self::Policer
            | Self::AckLoss
            | Self::SlowTimer
                if lost == 0.0 =>
            {
                0.0
            }
            // The window that loss keeps small, and the repair itself.
            Self::FrequentLoss
            | Self::LossByTimer
            | Self::ReceiverDiscards
            | Self::BlackHole
            | Self::Policer
            | Self::Reordering
            | Self::SlowTimer => {
                share(HoldCause::FastRecovery)
                    + share(HoldCause::Timeout)
                    + share(HoldCause::CongestionWindow)
            }
            Self::SlowStart | Self::RareLoss => share(HoldCause::CongestionWindow),
            Self::AckLoss => share(HoldCause::Timeout),
            Self::FullPath => busy,
            Self::SenderIdle | Self::AwaitsAnswer => share(HoldCause::Application),
            Self::NagleDelayedAck => share(HoldCause::Nagle),
        }
    }

    /// Returns whether this verdict is right, given this share of lost segments.
    pub(crate) fn accepts(self, cause: Cause, lost: f64) -> bool {
        match self {
            Self::WindowPathRtt => cause == Cause::WindowPathRtt,
            Self::WindowAckLatency => cause == Cause::WindowAckLatency,
            Self::WindowBelowMss => cause == Cause::WindowBelowMss,
            Self::ReceiverNotReading => cause == Cause::ReceiverNotReading,
            Self::NoWindowUpdate => cause == Cause::NoWindowUpdate,
            Self::WindowOpensLate => cause == Cause::WindowOpensLate,
            // Where the program refills the buffer at once, no packet tells it from a
            // congestion window that something holds fixed; the verdict says so.
            Self::BufferPathRtt => matches!(cause, Cause::BufferPathRtt | Cause::Steady),
            Self::BufferDelayedAck => cause == Cause::BufferDelayedAck,
            Self::SlowStart => cause == Cause::SlowStart,
            // Both say that loss keeps the window small.
            Self::RareLoss => {
                matches!(cause, Cause::AfterLoss | Cause::FastRecovery | Cause::Timeout)
            }
            // Below 1 % the lowered window between losses has its own name.
            Self::FrequentLoss if lost < 0.01 && cause == Cause::AfterLoss => true,
            Self::FrequentLoss | Self::LossByTimer => {
                matches!(cause, Cause::FastRecovery | Cause::Timeout)
            }
            Self::FullPath => cause == Cause::PathQueue,
            Self::SenderIdle => cause == Cause::SenderIdle,
            Self::AwaitsAnswer => cause == Cause::AwaitsAnswer,
            Self::ReceiverLimited | Self::SillyWindow => cause == Cause::ReceiverLimited,
            Self::NagleDelayedAck => cause == Cause::NagleDelayedAck,
            Self::ReceiverDiscards => cause == Cause::ReceiverDiscards,
            Self::BlackHole => cause == Cause::BlackHole,
            Self::AckLoss => cause == Cause::AckLoss,
            Self::Reordering => cause == Cause::Reordering,
            // One wait may be that of a timer which was doubled.
            Self::SlowTimer => matches!(cause, Cause::SlowTimer | Cause::Timeout),
            // Where few drops show it, or none so that a line can be told, the path loses
            // data and no more is said.
            Self::Policer => matches!(
                cause,
                Cause::PathPolicer | Cause::FastRecovery | Cause::AfterLoss | Cause::Timeout
            ),
        }
    }

    /// A setting with this limit.
    pub(crate) fn prepare(self, seed: u64) -> Prepared {
        let kind = Self::ALL.iter().position(|one| *one == self).unwrap_or_default();
        let random = &mut Random::new(kind as u64, seed);
        let mut rtt = random.log(0.002, 0.2);
        // Far above what the transfer takes.
        let mut rate = 125e6;
        let mut queue = None;
        let (mut loss, mut ack_loss) = (0.0, 0.0);
        let (mut policer, mut largest) = (None, None);
        let (mut reorder, mut reorder_by) = (0.0, Span::ZERO);
        let mut sender = SenderSettings::new(Bytes::ZERO);
        sender.timestamps = random.chance(0.5);
        sender.sack = random.chance(0.7);
        sender.congestion = random.one_of(&[Congestion::Cubic, Congestion::Reno]);
        let mut device = Habits {
            window: Window::Fixed(bytes(1e6)),
            window_scale: Some(random.one_of(&[5, 7])),
            timestamps: true,
            ack: random.one_of(&[
                AckPolicy::EverySegment,
                AckPolicy::EverySecond { timer: Span::from_millis(40) },
            ]),
            close: random.one_of(&[ClosePolicy::AtOnce, ClosePolicy::AfterDrain]),
            ..Habits::HEALTHY
        };
        let what = match self {
            Self::WindowPathRtt => {
                let window = random.log(2.0 * MSS, 120e3).min(rate * rtt * 0.5);
                device.window = fixed_or_buffer(random, window);
                sender.bytes = bytes((window * random.log(30.0, 80.0)).max(60e3));
                format!("window {window:.0}")
            }
            Self::WindowAckLatency => {
                rtt = random.log(0.000_3, 0.02);
                let window = random.log(2.0 * MSS, 30e3);
                let latency = random.log((2.0 * rtt).max(0.01), 0.25);
                device.window = Window::Fixed(bytes(window));
                device.ack = AckPolicy::EverySegment;
                device.ack_latency =
                    Latency { typical: seconds(latency), spread: seconds(latency * 0.03) };
                sender.bytes = bytes((window * random.log(30.0, 80.0)).max(60e3));
                format!("window {window:.0}, ACK latency {:.1} ms", latency * 1e3)
            }
            Self::WindowBelowMss => {
                let window = random.log(256.0, 1_400.0);
                rtt = random.log(0.000_5, 0.05);
                device.window = Window::Fixed(bytes(window));
                device.window_scale = None;
                let latency = if random.chance(0.5) { random.log(0.001, 0.05) } else { 0.0 };
                device.ack = AckPolicy::EverySegment;
                device.ack_latency = Latency::of(seconds(latency));
                sender.bytes = bytes(window * random.log(40.0, 200.0));
                format!("window {window:.0}, ACK latency {:.1} ms", latency * 1e3)
            }
            Self::ReceiverNotReading => {
                rtt = random.log(0.000_5, 0.03);
                let buffer = random.log(8e3, 64e3);
                device.window = Window::Buffer(bytes(buffer));
                device.window_scale = None;
                let drained = random.log(20e3, 200e3);
                if random.chance(0.5) {
                    // The printer takes a sheet at a time.
                    let pause = random.log(0.3, 2.0);
                    device.drain = Drain::Rate {
                        rate: Rate::from_bytes_per_second(buffer / pause),
                        chunk: bytes(buffer),
                    };
                    sender.bytes = bytes(buffer * random.log(8.0, 20.0));
                    format!("buffer {buffer:.0}, read whole every {pause:.2} s")
                } else {
                    let lasting = random.log(0.5, 3.0);
                    device.stalls = Some(Stalls {
                        every: StallEvery::Bytes(bytes(drained.max(buffer))),
                        lasting: Latency::of(seconds(lasting)),
                    });
                    sender.bytes = bytes(drained.max(buffer) * random.log(6.0, 15.0));
                    format!("buffer {buffer:.0}, stalls of {lasting:.2} s every {drained:.0}")
                }
            }
            Self::NoWindowUpdate => {
                rtt = random.log(0.000_5, 0.03);
                let buffer = random.log(4e3, 32e3);
                device.window = Window::Buffer(bytes(buffer));
                device.window_scale = None;
                device.updates = WindowUpdates::Never;
                device.ack = AckPolicy::EverySegment;
                let time = random.log((4.0 * rtt).max(0.01), 0.15);
                device.drain = Drain::Rate {
                    rate: Rate::from_bytes_per_second(buffer / time),
                    chunk: bytes(buffer),
                };
                sender.bytes = bytes(buffer * random.log(10.0, 30.0));
                format!("buffer {buffer:.0}, read within {:.0} ms, no update", time * 1e3)
            }
            Self::WindowOpensLate => {
                rtt = random.log(0.000_3, 0.003);
                let window = random.log(1_024.0, 16e3);
                device.window = Window::Buffer(bytes(window));
                device.window_scale = None;
                device.ack = AckPolicy::EverySegment;
                let opens = random.log((8.0 * rtt).max(0.002), 0.04);
                device.drain = Drain::AfterAck(Latency {
                    typical: seconds(opens),
                    spread: seconds(opens * 0.1),
                });
                sender.bytes = bytes(window * random.log(40.0, 150.0));
                format!("window {window:.0}, opens after {:.1} ms", opens * 1e3)
            }
            Self::BufferPathRtt => {
                let buffer = random.log(6e3, 120e3);
                rtt = random.log(0.005, 0.2);
                sender.send_buffer = Some(bytes(buffer));
                sender.bytes = bytes((buffer * random.log(30.0, 80.0)).max(100e3));
                if random.chance(0.3) {
                    sender.wakes_at = 0.0;
                }
                sender.nagle = random.chance(0.5);
                format!("send buffer {buffer:.0}, refilled from {:.2}", sender.wakes_at)
            }
            Self::BufferDelayedAck => {
                rtt = random.log(0.000_3, 0.01);
                let window = random.log(6_144.0, 32e3);
                let buffer = random.log(1_024.0, window * 0.3);
                let timer = random.log(0.1, 0.5);
                device.window = Window::Fixed(bytes(window));
                device.window_scale = None;
                device.ack = AckPolicy::ShareOfWindow { share: 0.35, timer: seconds(timer) };
                if random.chance(0.5) {
                    sender = SenderSettings::bsd_4_2(Bytes::ZERO);
                }
                sender.send_buffer = Some(bytes(buffer));
                sender.bytes = bytes(buffer * random.log(40.0, 100.0));
                format!("send buffer {buffer:.0} against {window:.0}, timer {:.0} ms", timer * 1e3)
            }
            Self::SlowStart => {
                rtt = random.log(0.05, 0.3);
                sender.bytes = bytes(random.log(60e3, 600e3));
                String::new()
            }
            Self::RareLoss => {
                rtt = random.log(0.02, 0.1);
                loss = random.log(0.001, 0.005);
                sender.congestion = Congestion::Reno;
                sender.sack = true;
                sender.bytes = bytes(random.log(10e6, 20e6));
                format!("loss {:.2} %", loss * 100.0)
            }
            Self::FrequentLoss => {
                rtt = random.log(0.02, 0.1);
                loss = random.log(0.015, 0.04);
                sender.sack = true;
                sender.bytes = bytes(random.log(3e6, 8e6));
                format!("loss {:.1} %", loss * 100.0)
            }
            Self::LossByTimer => {
                rtt = random.log(0.01, 0.1);
                loss = random.log(0.02, 0.06);
                sender.fast_retransmit = false;
                sender.sack = false;
                sender.bytes = bytes(random.log(500e3, 1.5e6));
                format!("loss {:.1} %, no fast retransmit", loss * 100.0)
            }
            Self::FullPath => {
                rtt = random.log(0.005, 0.1);
                rate = random.log(50e3, 5e6).max(12.0 * MSS / rtt).min(6e6);
                let product = rate * rtt;
                queue = Some(bytes((product * random.log(1.0, 4.0)).max(20.0 * 1_514.0)));
                sender.sack = true;
                device.window = Window::Fixed(bytes(product * 20.0));
                sender.bytes = bytes(product * random.log(80.0, 200.0)).min(bytes(8e6));
                format!("rate {:.0} kB/s", rate / 1e3)
            }
            Self::SenderIdle => {
                let piece = random.log(2e3, 60e3);
                let pause = random.log((6.0 * rtt).max(0.05), 1.5);
                sender.writes = if random.chance(0.5) {
                    WritePattern::Bursts { bytes: bytes(piece), pause: seconds(pause) }
                } else {
                    let every = seconds(pause);
                    WritePattern::Paced { first: bytes(piece), piece: bytes(piece), every }
                };
                sender.nagle = false;
                sender.bytes = bytes(piece * random.log(10.0, 30.0));
                format!("{piece:.0} B, pauses of {:.0} ms", pause * 1e3)
            }
            Self::AwaitsAnswer => {
                rtt = random.log(0.001, 0.03);
                let request = random.log(500.0, 12e3);
                let answer = random.log((4.0 * rtt).max(0.05), 0.5);
                sender.writes = WritePattern::Requests {
                    bytes: bytes(request),
                    answer: bytes(random.log(20.0, 400.0)),
                };
                sender.nagle = false;
                device.answer_latency = Latency::of(seconds(answer));
                sender.bytes = bytes(bytes(request).get() as f64 * random.log(15.0, 40.0).floor());
                format!("requests of {request:.0}, answered after {:.0} ms", answer * 1e3)
            }
            Self::ReceiverLimited => {
                rtt = random.log(0.000_3, 0.05);
                // What it reads at once is a third of its room or less: after two halves it
                // offers nearly all again, as a device of one buffer does.
                let pieces = random.log(3.0, 12.0);
                // A device of two or three segments that tells of two at once has read all
                // by then: it is one whose window opens late.
                let buffer = random.log(4.0 * MSS, 64e3).max(1_000.0 * pieces);
                let chunk = buffer / pieces;
                let latency = if random.chance(0.5) { random.log(0.000_1, 0.005) } else { 0.0 };
                // A third of what the window would allow, or less.
                let rate = buffer / (rtt + latency) * random.log(0.002, 0.33);
                let reads = rate.min(10e6).max(buffer / 4.0);
                device.window = Window::Buffer(bytes(buffer));
                device.window_scale = None;
                device.drain =
                    Drain::Rate { rate: Rate::from_bytes_per_second(reads), chunk: bytes(chunk) };
                device.ack_latency = Latency::of(seconds(latency));
                device.ack = random.one_of(&[
                    AckPolicy::EverySegment,
                    AckPolicy::EverySecond { timer: Span::from_millis(40) },
                ]);
                sender.bytes = bytes(buffer * random.log(12.0, 80.0));
                format!(
                    "buffer {buffer:.0}, reads {chunk:.0} at a time, {reads:.0} B/s, ACK latency \
                     {:.1} ms",
                    latency * 1e3
                )
            }
            Self::SillyWindow => {
                rtt = random.log(0.000_3, 0.02);
                let buffer = random.log(3.0 * MSS, 32e3);
                let chunk = random.log(64.0, 700.0);
                let reads = (buffer / rtt * random.log(0.005, 0.3)).min(1e6).max(buffer / 4.0);
                device.window = Window::Buffer(bytes(buffer));
                device.window_scale = None;
                device.least_opening = Some(Bytes::new(1));
                device.updates = WindowUpdates::EachRead;
                // Such a sender takes what it is offered.
                sender.segmenting = PartialSegmentPolicy::WhatFits;
                sender.nagle = false;
                device.ack = AckPolicy::EverySegment;
                device.drain =
                    Drain::Rate { rate: Rate::from_bytes_per_second(reads), chunk: bytes(chunk) };
                sender.bytes = bytes(buffer * random.log(10.0, 40.0));
                format!("buffer {buffer:.0}, reads {chunk:.0} at a time, {reads:.0} B/s")
            }
            Self::NagleDelayedAck => {
                rtt = random.log(0.000_5, 0.008);
                let timer = random.one_of(&[0.04, 0.1, 0.2]);
                let request = MSS + random.log(100.0, 1_000.0);
                device.ack = AckPolicy::EverySecond { timer: seconds(timer) };
                sender.writes =
                    WritePattern::Requests { bytes: bytes(request), answer: bytes(64.0) };
                sender.bytes = bytes(bytes(request).get() as f64 * random.log(20.0, 60.0).floor());
                format!("requests of {request:.0}, ACK timer {:.0} ms", timer * 1e3)
            }
            Self::ReceiverDiscards => {
                rtt = random.log(0.01, 0.1);
                loss = random.log(0.01, 0.04);
                // Stacks that keep nothing have little room.
                let window = random.log(6.0 * MSS, 44.0 * MSS);
                device.window = Window::Fixed(bytes(window));
                device.keeps_out_of_order = false;
                device.sack = false;
                sender.bytes = bytes(random.log(1e6, 2e6));
                format!("loss {:.1} %, window {window:.0}, of which a hole costs all", loss * 100.0)
            }
            Self::BlackHole => {
                rtt = random.log(0.002, 0.05);
                let mtu = random.log(1_250.0, 1_480.0);
                largest = Some(bytes(mtu + 38.0));
                if random.chance(0.6) {
                    let probed = random.log(500.0, 1_100.0).floor();
                    #[expect(
                        clippy::cast_possible_truncation,
                        clippy::cast_sign_loss,
                        reason = "small"
                    )]
                    let size = probed as u16;
                    sender.size_probing = Some(size);
                    sender.bytes = bytes(random.log(15e3, 60e3));
                    format!("packets up to {mtu:.0}, lowered to {probed:.0}")
                } else {
                    // Only its last segment passes.
                    let tail = random.log(20.0, 1_000.0);
                    sender.bytes = bytes(random.log(1.0, 9.0).floor() * MSS + tail);
                    sender.timestamps = false;
                    sender.sack = true;
                    sender.nagle = false;
                    sender.retries = 6;
                    format!("packets up to {mtu:.0}, and a last segment of {tail:.0}")
                }
            }
            Self::Policer => {
                rtt = random.log(0.01, 0.1);
                let policed = random.log(12.0, 30.0) * MSS / rtt;
                let burst = (policed * rtt * random.log(3.0, 10.0)).max(30.0 * MSS);
                policer = Some(Policer {
                    rate: Rate::from_bytes_per_second(policed),
                    burst: bytes(burst),
                });
                sender.sack = true;
                sender.bytes = bytes(burst + policed * rtt * random.log(150.0, 300.0));
                format!("policed to {:.0} kB/s, burst {:.0} kB", policed / 1e3, burst / 1e3)
            }
            Self::AckLoss => {
                rtt = random.log(0.002, 0.02);
                ack_loss = random.log(0.06, 0.25);
                // Two segments, which one ACK answers.
                let window = random.log(2.0 * MSS, 2.9 * MSS);
                device.window = Window::Fixed(bytes(window));
                device.ack = AckPolicy::EverySecond { timer: Span::from_millis(40) };
                device.d_sack = true;
                sender.sack = true;
                sender.bytes = bytes(window * random.log(60.0, 200.0));
                format!("{:.0} % of the ACKs lost, window {window:.0}", ack_loss * 100.0)
            }
            Self::Reordering => {
                rtt = random.log(0.02, 0.1);
                // So often that slow start is the smaller part.
                reorder = random.log(0.01, 0.04);
                reorder_by = seconds(rtt * random.log(0.1, 0.5));
                sender.sack = true;
                // Either tells the sender's side that the first copy had arrived.
                device.d_sack = random.chance(0.5);
                sender.timestamps = sender.timestamps || !device.d_sack;
                sender.bytes = bytes(random.log(4e6, 8e6));
                format!("{:.1} % of the segments late by {reorder_by}", reorder * 100.0)
            }
            Self::SlowTimer => {
                rtt = random.log(0.005, 0.1);
                loss = random.log(0.01, 0.05);
                let timer = random.log(1.5, 5.0);
                sender.least_timeout = seconds(timer);
                sender.fast_retransmit = false;
                sender.sack = false;
                sender.bytes = bytes(random.log(300e3, 1e6));
                format!("loss {:.1} %, a timer of {timer:.1} s", loss * 100.0)
            }
        };
        let plain = loss == 0.0
            && !matches!(self, Self::FullPath | Self::Policer | Self::AckLoss | Self::Reordering);
        if random.chance(0.1) && plain {
            ack_loss = 0.002;
        }
        // The capture point divides the path in two.
        let capture_point = match self {
            // Behind the small link nothing shows of what it drops.
            Self::BlackHole => CapturePoint(random.one_of(&[0, 0, 1])),
            _ => CapturePoint(random.one_of(&[0, 0, 1, 2])),
        };
        let share = random.log(0.1, 0.9);
        let (near, far) = (seconds(rtt / 2.0 * share), seconds(rtt / 2.0 * (1.0 - share)));
        let fast = 1.25e9;
        let bottleneck_first = random.chance(0.5);
        let (near_rate, far_rate) = if bottleneck_first { (rate, fast) } else { (fast, rate) };
        let hop = |rate: f64, delay, bottleneck: bool| Hop {
            forward: LinkSettings {
                queue: if bottleneck { queue } else { None },
                loss: if bottleneck { loss } else { 0.0 },
                policer: if bottleneck { policer } else { None },
                reorder: if bottleneck { reorder } else { 0.0 },
                reorder_by,
                ..link(rate, delay)
            },
            backward: LinkSettings {
                loss: if bottleneck { ack_loss } else { 0.0 },
                ..link(rate, delay)
            },
        };
        let mut path =
            vec![hop(near_rate, near, bottleneck_first), hop(far_rate, far, !bottleneck_first)];
        path[1].forward.largest = largest;
        let what = format!(
            "{what}; {:.2} ms, {} B, {}{}{}",
            rtt * 1e3,
            sender.bytes.get(),
            if sender.timestamps { "timestamps " } else { "" },
            if sender.sack { "SACK " } else { "" },
            if ack_loss > 0.0 { "ACKs lost" } else { "" },
        );
        let setting = Setting { path, streams: vec![Stream { sender, device }], seed };
        Prepared { setting, capture_point, what }
    }
}

fn fixed_or_buffer(random: &mut Random, window: f64) -> Window {
    if random.chance(0.5) { Window::Fixed(bytes(window)) } else { Window::Buffer(bytes(window)) }
}
