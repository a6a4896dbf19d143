//! How a device behaves: the parameters of a small TCP stack.

use serde::{Deserialize, Deserializer};
use windlass_base::{Bytes, Rate, Span, values};

use crate::segment::MAX_SHIFT;
use crate::written;

/// A length of time that varies: each one within `spread` on either side of
/// `typical` is as likely.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Latency {
    /// The middle.
    pub typical: Span,
    /// How far it strays from the middle.
    pub spread: Span,
}

impl Latency {
    /// No time at all.
    pub const NONE: Self = Self { typical: Span::ZERO, spread: Span::ZERO };

    /// Always the same time.
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
            return Err("it strays further than it lasts".to_owned());
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
    /// Every ACK offers the same number of bytes, as the H-PS1U does. A device
    /// with a [`Drain::Rate`] then holds its ACK until it has read what it
    /// acknowledges: it has no room to offer before.
    Fixed(#[serde(deserialize_with = "written::read")] Bytes),
    /// A buffer that fills and drains: the window is its free space.
    Buffer(#[serde(deserialize_with = "written::read")] Bytes),
}

impl Window {
    /// The window when nothing waits.
    pub const fn most(self) -> Bytes {
        match self {
            Self::Fixed(bytes) | Self::Buffer(bytes) => bytes,
        }
    }

    /// The least window scale that can offer it.
    pub fn least_scale(self) -> u8 {
        (0..MAX_SHIFT).find(|shift| self.most().get() <= 0xFFFF << shift).unwrap_or(MAX_SHIFT)
    }
}

/// What makes a device acknowledge.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub enum AckPolicy {
    /// Each segment.
    EverySegment,
    /// Every second segment (RFC 9293 section 3.8.6.3); a timer from the
    /// arrival of an odd one.
    EverySecond {
        /// The timer.
        #[serde(deserialize_with = "written::read")]
        timer: Span,
    },
    /// Data that has taken more than a share of the offered window since the
    /// last ACK; otherwise a timer from its first arrival. The IMAGEN printer:
    /// "If the packet consumes more than a particular percentage of the offered
    /// window, the ACK is sent immediately", else after 0.5 s (G. Cooper, 1986).
    ShareOfWindow {
        /// The share, from 0 to 1.
        #[serde(deserialize_with = "written::read")]
        share: f64,
        /// The timer.
        #[serde(deserialize_with = "written::read")]
        timer: Span,
    },
}

/// A latency of its own for small segments: control lines and probes, which no
/// slow printer has to swallow. The H-PS1U acknowledges 256 and 768 bytes after
/// 2.6 to 13 ms, and 1,213 bytes after 117 ms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct SmallSegments {
    /// The most payload that counts as small, in bytes.
    #[serde(deserialize_with = "written::size_or_none")]
    pub up_to: Bytes,
    /// Their ACK latency.
    pub latency: Latency,
}

/// How the program in the device, or the printer behind it, reads.
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
        /// The most that one read takes out of the buffer; then the next waits
        /// until these bytes are printed.
        #[serde(deserialize_with = "written::read")]
        chunk: Bytes,
    },
    /// All that was acknowledged, so long after the ACK. The PS101 acknowledges
    /// 1,024 bytes with a window of zero, and opens it 1.742 ms later.
    AfterAck(Latency),
}

/// What brings a stall about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StallEvery {
    /// So many bytes read since the last one.
    Bytes(#[serde(deserialize_with = "written::read")] Bytes),
    /// So much time since the last one, as soon as there is something to read.
    Time(#[serde(deserialize_with = "written::read")] Span),
}

/// A printer that stops reading now and then. The buffer fills, probes get a
/// window of zero, and after a while the window opens by itself, as the PPSX1's
/// does after 2.02 s.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Stalls {
    /// When.
    pub every: StallEvery,
    /// For how long.
    pub lasting: Latency,
}

/// When a device announces, without being asked, that its window has grown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WindowUpdates {
    /// When it has grown by two segments or half the buffer: the rule of 4.4BSD
    /// (Wright and Stevens, TCP/IP Illustrated 2, section 26.3).
    WhenGrown,
    /// With each read that moves the window's right edge, however little: with a least
    /// opening of a byte that is the silly window syndrome (RFC 1122 section 4.2.3.3).
    EachRead,
    /// When the buffer is wholly empty.
    WhenEmpty,
    /// After a window of zero only (KallistiOS/KallistiOS#1450).
    AfterZero,
    /// Never: the sender has to probe (zephyrproject-rtos/zephyr#26330).
    Never,
}

/// What a device does when its peer has closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Close {
    /// Closes as well, at once.
    AtOnce,
    /// Closes as soon as it has read everything.
    AfterDrain,
    /// Resets the connection as soon as it has read everything.
    Reset,
    /// Keeps its own side open for a time after it has read everything: a
    /// printer's back-channel.
    KeepOpen(#[serde(deserialize_with = "written::read")] Span),
}

/// The habits of a device.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Habits {
    /// The MSS that it announces, and the most it sends in a segment, in bytes.
    pub mss: u16,
    /// The window that it offers.
    pub window: Window,
    /// Whether a stall takes back a window that was offered: the right edge
    /// then moves left, which RFC 9293 section 3.8.6 discourages.
    pub takes_window_back: bool,
    /// The least that the window's right edge moves by, in bytes; 1 for a stack
    /// that offers each byte as it comes free. `None` for the rule of RFC 9293
    /// section 3.8.6.2.2: one MSS, or half the buffer where that is less.
    pub least_opening: Option<Bytes>,
    /// The window scale that it announces if the peer does (RFC 7323).
    pub window_scale: Option<u8>,
    /// Whether it announces SACK if the peer does (RFC 2018).
    pub sack: bool,
    /// Whether it says which data it got twice, where both announced SACK (RFC 2883).
    pub d_sack: bool,
    /// Whether it announces timestamps if the peer does (RFC 7323).
    pub timestamps: bool,
    /// The time from a SYN to its answer.
    pub handshake_delay: Latency,
    /// What makes it acknowledge.
    pub ack: AckPolicy,
    /// The time from the arrival of the data that makes it acknowledge to the
    /// ACK, which covers all that has arrived until then.
    pub ack_latency: Latency,
    /// Another latency for small segments.
    pub small_segments: Option<SmallSegments>,
    /// Whether its bare ACKs have PSH set, as those of the PS101 and the PPSX1.
    pub pushes_acks: bool,
    /// The time that its program takes to answer, as an LPR server does.
    pub answer_latency: Latency,
    /// How it reads.
    pub drain: Drain,
    /// When it stops reading.
    pub stalls: Option<Stalls>,
    /// When it announces a grown window.
    pub updates: WindowUpdates,
    /// Whether it keeps data that arrives out of order; small stacks drop it.
    pub keeps_out_of_order: bool,
    /// The share of incoming segments that it loses, from 0 to 1.
    pub loss: f64,
    /// The share of incoming segments that it finds damaged, from 0 to 1.
    pub corruption: f64,
    /// What it does when its peer has closed.
    pub close: Close,
    /// The time after which it first sends its own data, SYN or FIN again; it
    /// doubles each time (RFC 6298 asks for 1 s to begin with).
    pub retransmission: Span,
    /// The most connections that it holds. It does not answer a SYN beyond.
    pub connections: usize,
    /// The time after which it resets a connection on which nothing arrives;
    /// `None` for never.
    pub idle: Option<Span>,
}

impl Habits {
    /// A healthy host: a 64 kB window, an ACK for every second segment, no
    /// latency of its own. (The ACK timer is Linux's least, 40 ms.)
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
        close: Close::AfterDrain,
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
