//! Short remarks on single packets: the margin of `windlass show` and the
//! comments of an annotated capture.

use std::fmt;

use windlass_base::{Bytes, Span};

/// A remark on one packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Note {
    /// A SYN sent again.
    SynAgain,
    /// This segment leaves less than one more segment of room in the window.
    WindowFilled {
        /// The window that it fills.
        window: Bytes,
    },
    /// This ACK came so long after the segment that it answers.
    AckAfter {
        /// From the capture of that segment to this packet.
        latency: Span,
        /// That segment's packet.
        answers: u64,
    },
    /// The receiver closed its window, or left too little of it to use.
    WindowClosed {
        /// Remaining window.
        left: Bytes,
    },
    /// The receiver opened its window again.
    WindowOpens {
        /// The time for which it was closed.
        after: Span,
        /// The new window.
        window: Bytes,
        /// True if a probe had asked.
        when_probed: bool,
    },
    /// The sender asks whether the window is still closed.
    Probe {
        /// Number of the probe since the window closed.
        count: u32,
    },
    /// The receiver answers a probe: still closed.
    StillClosed,
    /// A segment that only asks whether the other side is alive.
    KeepAlive,
    /// Data that was sent before.
    Retransmission {
        /// Packet with the first copy, if the capture holds it.
        of: Option<u64>,
        /// Trigger of the retransmission.
        trigger: Trigger,
    },
    /// Data that overtaken data had left room for: late, not lost.
    OutOfOrder {
        /// Delay.
        late: Span,
    },
    /// An ACK that repeats the one before: data arrived out of order.
    DuplicateAck {
        /// Number of the repetition.
        count: u32,
    },
    /// The capture holds this packet twice.
    CapturedTwice {
        /// The packet's first copy.
        of: u64,
    },
    /// Bytes before this packet are not in the capture.
    NotCaptured {
        /// Number of bytes.
        missing: Bytes,
    },
    /// The sender had nothing in flight for so long.
    WasIdle {
        /// The time.
        idle: Span,
    },
    /// A D-SACK: the receiver got this data twice, so it was not lost.
    GotTwice,
    /// A segment larger than the MSS: the network card cuts it into several.
    SuperPacket {
        /// The number of segments on the wire.
        segments: u64,
    },
}

/// Trigger of a retransmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// Duplicate ACKs or SACK blocks (RFC 5681 section 3.2, RFC 6675).
    Fast,
    /// A timer: the retransmission timer (RFC 6298) or a tail loss probe
    /// (RFC 8985 section 7).
    Timer,
    /// Nothing: the data had been acknowledged before.
    Needless,
    /// Second copy on the network: it came too soon after the first copy for any timer of a sender.
    Copy,
    /// ACKs of data that had arrived twice, which say nothing of a loss (RFC 2883 section 4).
    OfCopies,
    /// A timer shorter than the path's round trip: no ACK of the first copy could have come.
    Early,
    /// A router's message that the first copy was too large for a link (RFC 1191 section 6.4).
    TooLarge,
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SynAgain => f.write_str("SYN again: the first was not answered"),
            Self::WindowFilled { window } => {
                write!(f, "window filled ({window}): must wait")
            }
            Self::AckAfter { latency, answers } => write!(f, "ACK of #{answers} after {latency}"),
            Self::WindowClosed { left } if *left == Bytes::ZERO => f.write_str("window closed"),
            Self::WindowClosed { left } => write!(f, "window closed but for {left}"),
            Self::WindowOpens { after, window, when_probed } => {
                let probed = if *when_probed { ", found by a probe" } else { "" };
                write!(f, "window opens ({window}) after {after}{probed}")
            }
            Self::Probe { count } => write!(f, "window probe {count}: is there room?"),
            Self::StillClosed => f.write_str("answers the probe: still closed"),
            Self::KeepAlive => f.write_str("keep-alive"),
            Self::Retransmission { of, trigger } => {
                f.write_str("retransmission")?;
                if let Some(of) = of {
                    write!(f, " of #{of}")?;
                }
                match trigger {
                    Trigger::Fast => f.write_str(", after duplicate ACKs"),
                    Trigger::Timer => f.write_str(", by a timer"),
                    Trigger::Needless => f.write_str(", needless: already acknowledged"),
                    Trigger::OfCopies => f.write_str(", needless: after ACKs of copies"),
                    Trigger::TooLarge => {
                        f.write_str(", in smaller segments: a router asked for them")
                    }
                    Trigger::Early => f.write_str(", needless: sooner than an ACK could come"),
                    Trigger::Copy => f.write_str(", needless: a copy, too soon for a timer"),
                }
            }
            Self::OutOfOrder { late } => write!(f, "out of order by {late}, not lost"),
            Self::DuplicateAck { count } => write!(f, "duplicate ACK {count}"),
            Self::CapturedTwice { of } => write!(f, "#{of} captured a second time"),
            Self::NotCaptured { missing } => write!(f, "{missing} before this are not captured"),
            Self::WasIdle { idle } => write!(f, "sent nothing for {idle} before"),
            Self::GotTwice => f.write_str("D-SACK: got this data twice"),
            Self::SuperPacket { segments } => {
                write!(f, "one capture, {segments} segments on the wire")
            }
        }
    }
}

/// Receiver of notes.
pub trait Notes {
    /// True if notes are used. Without notes, short connections take less memory.
    const WANTED: bool = true;

    /// Takes a note on the packet `number`.
    fn note(&mut self, number: u64, note: Note);
}

/// Takes no notes.
impl Notes for () {
    const WANTED: bool = false;

    fn note(&mut self, _: u64, _: Note) {}
}

impl Notes for Vec<(u64, Note)> {
    fn note(&mut self, number: u64, note: Note) {
        self.push((number, note));
    }
}
