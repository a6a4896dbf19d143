//! Settings of a sender: its TCP, and the program on top.

use serde::Deserialize;
use windlass_base::{Bytes, Span, Timestamp};

/// Congestion control.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Congestion {
    /// No congestion control, as before 1988.
    None,
    /// Reno (RFC 5681) with NewReno's recovery (RFC 6582).
    Reno,
    /// CUBIC (RFC 9438).
    Cubic,
}

/// Rule for sending a segment that is not full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartialSegmentPolicy {
    /// The sender's rules against silly windows (RFC 9293 section 3.8.6.2.1): a full segment, the
    /// last of the data, or half of the largest window.
    Careful,
    /// As much as the window takes, as in 4.2BSD.
    WhatFits,
}

/// Probe that a sender sends into a closed window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Probe {
    /// No data, with the sequence number SND.UNA − 1, as Linux does.
    Empty,
    /// The next byte (RFC 9293 section 3.8.6.1).
    OneByte,
}

/// Pattern of the program's writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WritePattern {
    /// Everything at once, as far as the send buffer takes it.
    Bulk,
    /// In pieces: each one a fixed time after the piece before was taken.
    Paced {
        /// The first piece.
        first: Bytes,
        /// Each further piece.
        piece: Bytes,
        /// The time between two pieces.
        every: Span,
    },
    /// In bursts, with a pause after each burst was taken.
    Bursts {
        /// The burst.
        bytes: Bytes,
        /// The pause.
        pause: Span,
    },
    /// A request at a time: the next one after its answer.
    Requests {
        /// The request.
        bytes: Bytes,
        /// The answer.
        answer: Bytes,
    },
}

/// The length that an LPR client announces for its data file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnnouncedSize {
    /// The size of the file.
    Exactly,
    /// 0: the file lasts to the end of the connection.
    ToTheEnd,
}

/// Protocol around the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// No protocol: a raw connection to port 9100.
    Raw,
    /// A printer job by LPR (RFC 1179). The sender waits for each answer.
    Lpr {
        /// True if the data file goes before the control file, as with `lpdcat`. A file
        /// [`AnnouncedSize::ToTheEnd`] is last in any case.
        data_first: bool,
        /// The announced length.
        announced: AnnouncedSize,
    },
}

/// Behavior of a sender once its FIN is acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LeavePolicy {
    /// Waits for the peer's FIN.
    Wait,
    /// Leaves at once: further segments are answered by a reset, as in the last lines of the
    /// H-PS1U's trace.
    Gone,
}

/// A sender's settings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SenderSettings {
    /// Time at which the sender connects.
    pub start: Timestamp,
    /// The data that the program sends.
    pub bytes: Bytes,
    /// Protocol around the data.
    pub method: Method,
    /// Pattern of the program's writes.
    pub writes: WritePattern,
    /// Time that the program needs to begin, and to continue after an answer.
    pub think: Span,
    /// Behavior once the sender's FIN is acknowledged.
    pub leave: LeavePolicy,
    /// The announced MSS, and the largest payload of a segment.
    pub mss: u16,
    /// Size of the send buffer: the most bytes that are written and not acknowledged; `None` for no
    /// bound.
    pub send_buffer: Option<Bytes>,
    /// Share of the send buffer that must be free before a blocked program is woken to write again;
    /// 0 for any room. Linux waits for a third (`sk_stream_is_writeable`: free space of half of the
    /// used space).
    pub wakes_at: f64,
    /// Initial congestion window, in bytes (RFC 6928: ten segments).
    pub initial_window: Bytes,
    /// Congestion control.
    pub congestion: Congestion,
    /// True if an idle time longer than the RTO resets the congestion window to its initial value
    /// (RFC 5681 section 4.1).
    pub restarts_after_idle: bool,
    /// True if three duplicate ACKs cause a retransmission (RFC 5681 section 3.2).
    pub fast_retransmit: bool,
    /// True for Nagle's algorithm (RFC 9293 section 3.7.4).
    pub nagle: bool,
    /// Rule for sending a segment that is not full.
    pub segmenting: PartialSegmentPolicy,
    /// Probe of a closed window.
    pub probe: Probe,
    /// True if the sender announces SACK (RFC 2018), and recovers by it (RFC 6675).
    pub sack: bool,
    /// True if the sender announces timestamps (RFC 7323).
    pub timestamps: bool,
    /// The announced window scale (RFC 7323).
    pub window_scale: Option<u8>,
    /// Receive window for answers, in bytes.
    pub receive_window: u16,
    /// Shortest retransmission timeout. Linux has 200 ms, RFC 6298 asks for 1 s.
    pub least_timeout: Span,
    /// Payload of a segment after three timeouts for the same data, to probe a smaller path MTU;
    /// `None` for never. See RFC 4821 section 7.7, and Linux's `tcp_mtu_probing`, which begins with
    /// packets of 1,024 bytes.
    pub size_probing: Option<u16>,
    /// Retransmissions of the same data, or probes without an answer, before the sender gives up
    /// (Linux's `tcp_retries2`).
    pub retries: u32,
    /// Time from an arrival to the departure that it causes. The documents show 12 to 19 µs.
    pub response: Span,
    /// Time between segments that leave together. The documents show 5 to 8 µs.
    pub gap: Span,
}

impl SenderSettings {
    /// Returns the settings of today's Linux, with `bytes` of bulk data on a raw connection.
    pub const fn new(bytes: Bytes) -> Self {
        Self {
            start: Timestamp::ZERO,
            bytes,
            method: Method::Raw,
            writes: WritePattern::Bulk,
            think: Span::ZERO,
            leave: LeavePolicy::Wait,
            mss: 1_460,
            send_buffer: None,
            wakes_at: 1.0 / 3.0,
            initial_window: Bytes::new(14_600),
            congestion: Congestion::Cubic,
            restarts_after_idle: true,
            fast_retransmit: true,
            nagle: true,
            segmenting: PartialSegmentPolicy::Careful,
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

    /// Returns the settings of Linux 2.2 in the print-server document: two segments at first, no
    /// window scale, and the response times of its traces.
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

    /// Returns the settings of 4.2BSD in the IMAGEN document: a send buffer of 2,048 bytes, no
    /// congestion control, no Nagle, and segments of any size that fits.
    pub const fn bsd_4_2(bytes: Bytes) -> Self {
        Self {
            congestion: Congestion::None,
            send_buffer: Some(Bytes::new(2_048)),
            wakes_at: 0.0,
            fast_retransmit: false,
            nagle: false,
            segmenting: PartialSegmentPolicy::WhatFits,
            probe: Probe::OneByte,
            sack: false,
            window_scale: None,
            receive_window: 2_048,
            least_timeout: Span::from_millis(1_000),
            ..Self::new(bytes)
        }
    }
}
