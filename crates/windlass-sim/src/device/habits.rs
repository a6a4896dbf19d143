//! Habits of a device: the parameters of a small TCP stack.

use serde::{Deserialize, Deserializer};
use windlass_base::{Bytes, Rate, Span, values};

use crate::segment::MAX_SHIFT;
use crate::written;

/// A random length of time: uniform within `spread` on either side of `typical`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Latency {
    /// The middle.
    pub typical: Span,
    /// The largest deviation from the middle.
    pub spread: Span,
}

impl Latency {
    /// No time at all.
    pub const NONE: Self = Self { typical: Span::ZERO, spread: Span::ZERO };

    /// Returns a constant latency.
    pub const fn of(typical: Span) -> Self {
        Self { typical, spread: Span::ZERO }
    }
}

impl written::Value for Latency {
    const ALLOWED: &str = "a time with its unit, such as \"10.4 ms\" or \"10.4 ms ± 0.2 ms\"";

    fn parse(text: &str) -> Result<Self, String> {
        let parts = text.split_once('±').or_else(|| text.split_once("+-"));
        let Some((typical, spread)) = parts else {
            return values::span_with_unit(text).map(Self::of);
        };
        let (typical, spread) = (values::span_with_unit(typical)?, values::span_with_unit(spread)?);
        if spread > typical {
            return Err("the variation is larger than the time".to_owned());
        }
        Ok(Self { typical, spread })
    }
}

impl<'de> Deserialize<'de> for Latency {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        written::read(from)
    }
}

/// The window that a device offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Window {
    /// Every ACK offers the same number of bytes, as with the H-PS1U. With a [`Drain::Rate`], the
    /// device holds its ACK until it has read the acknowledged data: it has no room to offer
    /// before.
    Fixed(#[serde(deserialize_with = "written::read")] Bytes),
    /// A buffer that fills and drains: the window is its free space.
    Buffer(#[serde(deserialize_with = "written::read")] Bytes),
}

impl Window {
    /// Returns the window of an empty buffer.
    pub const fn most(self) -> Bytes {
        match self {
            Self::Fixed(bytes) | Self::Buffer(bytes) => bytes,
        }
    }

    /// Returns the least window scale that can offer this window.
    pub fn least_scale(self) -> u8 {
        (0..MAX_SHIFT).find(|shift| self.most().get() <= 0xFFFF << shift).unwrap_or(MAX_SHIFT)
    }
}

/// Condition for which a device sends an ACK.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub enum AckPolicy {
    /// Every segment.
    EverySegment,
    /// Every second segment (RFC 9293 section 3.8.6.3), or a timer from the arrival of an odd one.
    EverySecond {
        /// The timer.
        #[serde(deserialize_with = "written::read")]
        timer: Span,
    },
    /// Data that exceeds a share of the offered window since the last ACK; otherwise a timer from
    /// its first arrival. The IMAGEN printer: "If the packet consumes more than a particular
    /// percentage of the offered window, the ACK is sent immediately", else after 0.5 s (G. Cooper,
    /// 1986).
    ShareOfWindow {
        /// The share, from 0 to 1.
        #[serde(deserialize_with = "written::read")]
        share: f64,
        /// The timer.
        #[serde(deserialize_with = "written::read")]
        timer: Span,
    },
}

/// A separate ACK latency for small segments: control lines and probes, which no slow printer has
/// to process. The H-PS1U acknowledges 256 and 768 bytes after 2.6 to 13 ms, and 1,213 bytes after
/// 117 ms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct SmallSegments {
    /// The most payload that counts as small, in bytes.
    #[serde(deserialize_with = "written::size_or_none")]
    pub up_to: Bytes,
    /// Their ACK latency.
    pub latency: Latency,
}

/// Pattern in which the program in the device, or the printer behind it, reads.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub enum Drain {
    /// All data as it arrives.
    AtOnce,
    /// At a rate.
    #[serde(rename = "at-rate")]
    Rate {
        /// Bytes in a second.
        #[serde(deserialize_with = "written::read")]
        rate: Rate,
        /// Maximum size of one read. The next read waits until these bytes are printed.
        #[serde(deserialize_with = "written::read")]
        chunk: Bytes,
    },
    /// All acknowledged data, a fixed time after the ACK. The PS101 acknowledges 1,024 bytes with a
    /// window of zero, and opens the window 1.742 ms later.
    AfterAck(Latency),
}

/// Cause of a stall.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StallEvery {
    /// This number of bytes read since the last stall.
    Bytes(#[serde(deserialize_with = "written::read")] Bytes),
    /// This time since the last stall, once there is something to read.
    Time(#[serde(deserialize_with = "written::read")] Span),
}

/// A printer that stops reading now and then. The buffer fills, probes get a
/// window of zero, and after a while the window opens by itself, as the PPSX1's
/// does after 2.02 s.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Stalls {
    /// Cause of a stall.
    pub every: StallEvery,
    /// Length of a stall.
    pub lasting: Latency,
}

/// Occasion on which a device announces by itself that its window has grown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WindowUpdates {
    /// A growth by two segments or half the buffer: the rule of 4.4BSD (Wright and Stevens, TCP/IP
    /// Illustrated 2, section 26.3).
    WhenGrown,
    /// Each read that moves the window's right edge, however little. With a least opening of one
    /// byte this is the silly window syndrome (RFC 1122 section 4.2.3.3).
    EachRead,
    /// An empty buffer.
    WhenEmpty,
    /// A window of zero before it (KallistiOS/KallistiOS#1450).
    AfterZero,
    /// None: the sender has to probe (zephyrproject-rtos/zephyr#26330).
    Never,
}

/// Behavior of a device when its peer has closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClosePolicy {
    /// Closes at once as well.
    AtOnce,
    /// Closes as soon as it has read everything.
    AfterDrain,
    /// Resets the connection as soon as it has read everything.
    Reset,
    /// Keeps its own side open for a time after it has read everything, as a printer does for its
    /// back-channel.
    KeepOpen(#[serde(deserialize_with = "written::read")] Span),
}

/// The habits of a device.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Habits {
    /// The announced MSS, and the largest payload of a segment, in bytes.
    pub mss: u16,
    /// The offered window.
    pub window: Window,
    /// True if a stall takes back a window that was offered. The right edge then moves left, which
    /// RFC 9293 section 3.8.6 discourages.
    pub takes_window_back: bool,
    /// Smallest step of the window's right edge, in bytes; 1 for a stack that offers each byte as
    /// it is freed. `None` for the rule of RFC 9293 section 3.8.6.2.2: one MSS, or half the buffer
    /// if that is less.
    pub least_opening: Option<Bytes>,
    /// The announced window scale, if the peer announces one (RFC 7323).
    pub window_scale: Option<u8>,
    /// True if the device announces SACK when the peer does (RFC 2018).
    pub sack: bool,
    /// True if the device reports duplicate data when both announced SACK (D-SACK, RFC 2883).
    pub d_sack: bool,
    /// True if the device announces timestamps when the peer does (RFC 7323).
    pub timestamps: bool,
    /// Time from a SYN to its answer.
    pub handshake_delay: Latency,
    /// Condition for which the device sends an ACK.
    pub ack: AckPolicy,
    /// Time from the arrival of the data that causes an ACK to the ACK, which covers all data that
    /// has arrived until then.
    pub ack_latency: Latency,
    /// Separate ACK latency for small segments.
    pub small_segments: Option<SmallSegments>,
    /// True if bare ACKs have PSH set, as those of the PS101 and the PPSX1.
    pub pushes_acks: bool,
    /// Time that the device's program needs to answer, as an LPR server does.
    pub answer_latency: Latency,
    /// Pattern of the reads.
    pub drain: Drain,
    /// Stalls of the reader.
    pub stalls: Option<Stalls>,
    /// Occasion on which the device announces a grown window.
    pub updates: WindowUpdates,
    /// True if the device keeps data that arrives out of order; small stacks drop it.
    pub keeps_out_of_order: bool,
    /// Share of incoming segments that the device loses, from 0 to 1.
    pub loss: f64,
    /// Share of incoming segments that the device finds damaged, from 0 to 1.
    pub corruption: f64,
    /// Behavior when the peer has closed.
    pub close: ClosePolicy,
    /// Time before the first retransmission of the device's own data, SYN or FIN. It doubles each
    /// time (RFC 6298 asks for 1 s to begin with).
    pub retransmission: Span,
    /// Maximum number of connections. The device does not answer a SYN beyond.
    pub connections: usize,
    /// Time after which the device resets a connection without arrivals; `None` for never.
    pub idle: Option<Span>,
}

impl Habits {
    /// A healthy host: a 64 kB window, an ACK for every second segment, no latency of its own. The
    /// ACK timer is Linux's shortest, 40 ms.
    pub const HEALTHY: Self = Self {
        mss: 1_460,
        window: Window::Buffer(Bytes::new(65_535)),
        takes_window_back: false,
        least_opening: None,
        window_scale: None,
        sack: true,
        d_sack: false,
        timestamps: false,
        handshake_delay: Latency::NONE,
        ack: AckPolicy::EverySecond { timer: Span::from_millis(40) },
        ack_latency: Latency::NONE,
        small_segments: None,
        pushes_acks: false,
        answer_latency: Latency::NONE,
        drain: Drain::AtOnce,
        stalls: None,
        updates: WindowUpdates::WhenGrown,
        keeps_out_of_order: true,
        loss: 0.0,
        corruption: 0.0,
        close: ClosePolicy::AfterDrain,
        retransmission: Span::from_millis(1_000),
        connections: 8,
        idle: None,
    };
}

impl Default for Habits {
    fn default() -> Self {
        Self::HEALTHY
    }
}
