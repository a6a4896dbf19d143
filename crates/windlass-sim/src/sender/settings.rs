//! How a sender behaves: its TCP, and the program on top.

use serde::Deserialize;
use windlass_base::{Bytes, Span, Timestamp};

/// How the congestion window moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Congestion {
    /// There is none, as before 1988.
    None,
    /// Reno (RFC 5681) with NewReno's recovery (RFC 6582).
    Reno,
    /// CUBIC (RFC 9438).
    Cubic,
}

/// When a segment that is not full may leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Segmenting {
    /// By the sender's rules against silly windows (RFC 9293 section
    /// 3.8.6.2.1): full, or the last of the data, or half of the largest window.
    Careful,
    /// Whatever the window has room for, as 4.2BSD did.
    WhatFits,
}

/// What a sender sends into a closed window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Probe {
    /// No data, with the sequence number SND.UNA − 1, as Linux does.
    Empty,
    /// The next byte (RFC 9293 section 3.8.6.1).
    OneByte,
}

/// When the program writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writes {
    /// All at once, as far as the send buffer takes it.
    Bulk,
    /// In pieces: so much time after a piece was taken, the next.
    Paced {
        /// The first piece.
        first: Bytes,
        /// Each further piece.
        piece: Bytes,
        /// The time between them.
        every: Span,
    },
    /// In bursts, with a pause after each one was taken.
    Bursts {
        /// The burst.
        bytes: Bytes,
        /// The pause.
        pause: Span,
    },
    /// A request, then nothing until its answer has come.
    Requests {
        /// The request.
        bytes: Bytes,
        /// The answer.
        answer: Bytes,
    },
}

/// The length that an LPR client announces for its data file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Announced {
    /// Its size.
    Exactly,
    /// 0: the file lasts to the end of the connection.
    ToTheEnd,
}

/// How the data is wrapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Not at all: port 9100.
    Raw,
    /// A printer job by LPR (RFC 1179). Each answer is waited for.
    Lpr {
        /// Whether the data file goes before the control file, as `lpdcat` has
        /// it. A file [`Announced::ToTheEnd`] is last in any case.
        data_first: bool,
        /// What is announced.
        announced: Announced,
    },
}

/// What a sender does once its FIN is acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Leave {
    /// It waits for the peer's FIN.
    Wait,
    /// It has gone: what still comes is answered by a reset, as in the last
    /// lines of the H-PS1U's trace.
    Gone,
}

/// A sender's settings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SenderSettings {
    /// When it connects.
    pub start: Timestamp,
    /// The data that the program has to send.
    pub bytes: Bytes,
    /// How the data is wrapped.
    pub method: Method,
    /// When the program writes.
    pub writes: Writes,
    /// The time that the program takes to go on after an answer, and to begin.
    pub think: Span,
    /// What it does once its FIN is acknowledged.
    pub leave: Leave,
    /// The MSS that it announces, and the most that it sends in a segment.
    pub mss: u16,
    /// The most bytes that are written and not acknowledged; `None` for no
    /// bound.
    pub send_buffer: Option<Bytes>,
    /// The share of the send buffer that must be free before a program that found
    /// it full is woken to write again; 0 for any room. Linux waits for a third
    /// (`sk_stream_is_writeable`: as much free as half of what is taken).
    pub wakes_at: f64,
    /// The congestion window at first, in bytes (RFC 6928: ten segments).
    pub initial_window: Bytes,
    /// How the congestion window moves.
    pub congestion: Congestion,
    /// Whether a pause longer than the RTO sets the congestion window back to
    /// its first value (RFC 5681 section 4.1).
    pub restarts_after_idle: bool,
    /// Whether three duplicate ACKs bring a retransmission (RFC 5681 section
    /// 3.2).
    pub fast_retransmit: bool,
    /// Nagle's algorithm (RFC 9293 section 3.7.4).
    pub nagle: bool,
    /// When a segment that is not full may leave.
    pub segmenting: Segmenting,
    /// What it sends into a closed window.
    pub probe: Probe,
    /// Whether it announces SACK (RFC 2018), and recovers by it (RFC 6675).
    pub sack: bool,
    /// Whether it announces timestamps (RFC 7323).
    pub timestamps: bool,
    /// The window scale that it announces (RFC 7323).
    pub window_scale: Option<u8>,
    /// The window that it offers for answers, in bytes.
    pub receive_window: u16,
    /// The least retransmission timeout. Linux has 200 ms, RFC 6298 asks for
    /// 1 s.
    pub least_timeout: Span,
    /// The payload of a segment to which it goes down when its timer has run out three
    /// times for the same data (RFC 4821 section 7.7; Linux's `tcp_mtu_probing`, which
    /// begins with 1,024 bytes of packet). `None` for never.
    pub size_probing: Option<u16>,
    /// Times that it sends something again, or probes without an answer, before
    /// it gives up (Linux's `tcp_retries2`).
    pub retries: u32,
    /// The time from what arrives to what it makes leave. The documents show 12
    /// to 19 µs.
    pub response: Span,
    /// The time between segments that leave together: 5 to 8 µs there.
    pub gap: Span,
}

impl SenderSettings {
    /// Linux today, with `bytes` of bulk on a raw connection.
    pub const fn new(bytes: Bytes) -> Self {
        Self {
            start: Timestamp::ZERO,
            bytes,
            method: Method::Raw,
            writes: Writes::Bulk,
            think: Span::ZERO,
            leave: Leave::Wait,
            mss: 1_460,
            send_buffer: None,
            wakes_at: 1.0 / 3.0,
            initial_window: Bytes::new(14_600),
            congestion: Congestion::Cubic,
            restarts_after_idle: true,
            fast_retransmit: true,
            nagle: true,
            segmenting: Segmenting::Careful,
            probe: Probe::Empty,
            sack: true,
            timestamps: false,
            window_scale: Some(7),
            receive_window: 64_240,
            least_timeout: Span::from_millis(200),
            size_probing: None,
            retries: 15,
            response: Span::ZERO,
            gap: Span::ZERO,
        }
    }

    /// The Linux 2.2 of the print-server document: two segments at first, no
    /// scale, and the response times of its traces.
    pub const fn linux_2_2(bytes: Bytes) -> Self {
        Self {
            congestion: Congestion::Reno,
            initial_window: Bytes::new(2 * 1_460),
            window_scale: None,
            receive_window: 32_120,
            response: Span::from_micros(13),
            gap: Span::from_micros(7),
            ..Self::new(bytes)
        }
    }

    /// The 4.2BSD of the IMAGEN document: a send buffer of 2,048 bytes, no
    /// congestion control, no Nagle, and what fits is sent.
    pub const fn bsd_4_2(bytes: Bytes) -> Self {
        Self {
            congestion: Congestion::None,
            send_buffer: Some(Bytes::new(2_048)),
            wakes_at: 0.0,
            fast_retransmit: false,
            nagle: false,
            segmenting: Segmenting::WhatFits,
            probe: Probe::OneByte,
            sack: false,
            window_scale: None,
            receive_window: 2_048,
            least_timeout: Span::from_millis(1_000),
            ..Self::new(bytes)
        }
    }
}
