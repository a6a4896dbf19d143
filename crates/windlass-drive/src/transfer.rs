//! What is to be transferred, and how.

use std::ops::RangeInclusive;
use std::sync::OnceLock;
use std::time::Instant;

use serde::{Deserialize, Serialize};
use windlass_base::{Bytes, CongestionControl, Rate, Span};

use crate::error::Error;
use crate::ip::Ip;

/// The most streams of a test, each way.
pub const MAX_STREAMS: u16 = 1_024;

/// The longest write, in bytes.
pub const LONGEST_WRITE: u32 = 1 << 26;

/// The largest multiple at which memory is to begin, in bytes.
pub const LONGEST_ALIGNMENT: u32 = 1 << 24;

/// The longest test.
pub const LONGEST_TEST: Span = Span::from_millis(7 * 24 * 3_600 * 1_000);

/// The segments that Linux lets a program ask for (`TCP_MIN_MSS`,
/// `MAX_TCP_WINDOW`).
const MSS: RangeInclusive<u16> = 88..=32_767;

/// The shortest interval.
pub const SHORTEST_INTERVAL: Span = Span::from_millis(10);

/// The length of a write that copies nothing where none is asked for. Longer
/// ones are no faster, shorter ones have more calls.
pub const UNCOPIED_LENGTH: u32 = 256 << 10;

/// The length of a write that copies, or of a read, where none is asked for: a
/// quarter of the second-level cache of a core, from 64 KiB to 1 MiB.
///
/// What is written, what the kernel makes of it and what is read then stay near
/// the core. With more, the data comes from memory each time, and the receiver
/// takes twice the time for a byte; with less, there are more calls.
pub fn usual_length() -> u32 {
    static LENGTH: OnceLock<u32> = OnceLock::new();
    *LENGTH.get_or_init(|| length_for(windlass_sys::cache::second_level()))
}

fn length_for(cache: Option<u64>) -> u32 {
    const USUAL: u64 = 512 << 10;
    let quarter = cache.unwrap_or(USUAL) / 4;
    u32::try_from(quarter).unwrap_or(u32::MAX).clamp(64 << 10, 1 << 20)
}

/// Which way the data goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// From the client to the server.
    #[default]
    Forward,
    /// From the server to the client.
    Reverse,
    /// Both ways at once, on streams of their own.
    Both,
}

/// Which end of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum End {
    /// The one that asked for it.
    Client,
    /// The one that was asked.
    Server,
}

impl End {
    /// The one at the far side of it.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::Client => Self::Server,
            Self::Server => Self::Client,
        }
    }
}

/// What an end does with a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// It sends the data.
    Sender,
    /// It receives it.
    Receiver,
}

/// When a transfer is over.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Until {
    /// After so long.
    Time(Span),
    /// After so many bytes each way, over all streams.
    Bytes(Bytes),
    /// When the sender's source has no more.
    SourceEnds,
}

impl Until {
    /// The time when a test ends whose data counts from then on, and after how many bytes; nothing
    /// where it does not go by that.
    pub(crate) fn bounds(self, counts_from: Instant) -> (Option<Instant>, Option<u64>) {
        match self {
            Self::Time(time) => (Some(counts_from + time.to_duration()), None),
            Self::Bytes(bytes) => (None, Some(bytes.get())),
            Self::SourceEnds => (None, None),
        }
    }
}

/// The buffers of one end, as they are asked for. Without one the kernel sizes
/// it, and grows it as it sees fit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Buffers {
    /// The largest window that it advertises, in bytes.
    pub window: Option<Bytes>,
    /// The send buffer: what `SO_SNDBUF` is set to, of which Linux makes twice
    /// as much.
    pub send: Option<Bytes>,
}

/// Where the memory begins that a sender writes from, or the part of it for data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Align {
    /// At a multiple of so many bytes.
    pub to: u32,
    /// This many bytes behind it.
    pub offset: u32,
}

/// A transfer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Transfer {
    /// Which way.
    pub direction: Direction,
    /// How many streams at once, each way.
    pub streams: u16,
    /// True if it goes in datagrams of UDP.
    #[serde(default)]
    pub udp: bool,
    /// The time when it is over.
    pub until: Until,
    /// The time at the start that does not count.
    pub omit: Span,
    /// The time from one set of figures to the next.
    pub interval: Span,
    /// How many bytes are written and read at a time.
    pub length: u32,
    /// True if each write copies its bytes. Without it, data that a sender makes
    /// itself goes into the kernel as pages, where writes are long (splice(2)).
    pub copy: bool,
    /// Where writes that copy read from; without it, wherever memory is to be had.
    #[serde(default)]
    pub align: Option<Align>,
    /// The client's buffers.
    pub client: Buffers,
    /// The server's.
    pub server: Buffers,
    /// The congestion control, by its name; without one, the system's.
    pub congestion: Option<String>,
    /// The largest segment (`TCP_MAXSEG`), in bytes.
    pub mss: Option<u16>,
    /// True if small writes are sent at once (`TCP_NODELAY`).
    pub nodelay: bool,
    /// The most that all streams of a direction send together.
    pub pace: Option<Rate>,
    /// What is set on the packets of IP.
    #[serde(default)]
    pub ip: Ip,
}

impl Default for Transfer {
    /// Ten seconds over one stream, to the server, in writes of the usual
    /// length.
    fn default() -> Self {
        Self {
            direction: Direction::Forward,
            streams: 1,
            udp: false,
            until: Until::Time(Span::from_millis(10_000)),
            omit: Span::ZERO,
            interval: Span::from_millis(1_000),
            length: usual_length(),
            copy: false,
            align: None,
            client: Buffers::default(),
            server: Buffers::default(),
            congestion: None,
            mss: None,
            nodelay: false,
            pace: None,
            ip: Ip::default(),
        }
    }
}

impl Transfer {
    /// The streams of a test, over both directions.
    pub const fn connections(&self) -> u16 {
        match self.direction {
            Direction::Both => self.streams.saturating_mul(2),
            Direction::Forward | Direction::Reverse => self.streams,
        }
    }

    /// What `end` does with stream number `stream`.
    pub const fn role(&self, end: End, stream: u16) -> Role {
        let client_sends = match self.direction {
            Direction::Forward => true,
            Direction::Reverse => false,
            Direction::Both => stream < self.streams,
        };
        match (end, client_sends) {
            (End::Client, true) | (End::Server, false) => Role::Sender,
            (End::Client, false) | (End::Server, true) => Role::Receiver,
        }
    }

    /// The buffers of an end.
    pub const fn buffers(&self, end: End) -> Buffers {
        match end {
            End::Client => self.client,
            End::Server => self.server,
        }
    }

    /// How long the next datagrams of each stream may take at the pace: several gaps.
    pub(crate) fn time_until_next(&self) -> std::time::Duration {
        const GAPS: f64 = 4.0;
        let gap = self.pace.map(|pace| pace.time_for(Bytes::new(self.length.into())));
        let streams = f64::from(self.streams.max(1));
        gap.map_or(Span::ZERO, |gap| gap.scaled(GAPS * streams)).to_duration()
    }

    /// Returns whether the server's sockets need options before the handshake.
    pub const fn needs_own_port(&self) -> bool {
        self.server.window.is_some() || self.mss.is_some()
    }

    /// Refuses what cannot be done. The other end may have made it up.
    ///
    /// # Errors
    /// What cannot be done, in words.
    pub fn check(&self) -> Result<(), Error> {
        let refuse = |why: String| Err(Error::Asked(why));
        if self.streams == 0 || self.streams > MAX_STREAMS {
            return refuse(format!("streams are 1 to {MAX_STREAMS}, not {}", self.streams));
        }
        if self.length == 0 || self.length > LONGEST_WRITE {
            let most = Bytes::new(u64::from(LONGEST_WRITE));
            let length = Bytes::new(self.length.into());
            return refuse(format!("a write is 1 B to {most}, not {length}"));
        }
        if let Some(Align { to, offset }) = self.align
            && (to == 0 || to > LONGEST_ALIGNMENT || offset >= to)
        {
            let most = Bytes::new(LONGEST_ALIGNMENT.into());
            return refuse(format!(
                "memory begins at a multiple of up to {most}, and less than that behind it"
            ));
        }
        if let Until::Time(time) = self.until
            && (time <= Span::ZERO || time > LONGEST_TEST)
        {
            return refuse(format!("a test lasts up to {LONGEST_TEST}, not {time}"));
        }
        if self.until == Until::Bytes(Bytes::ZERO) {
            return refuse("no bytes are no test".to_owned());
        }
        if self.omit < Span::ZERO || self.omit > LONGEST_TEST {
            return refuse(format!("a time of {} cannot be left out", self.omit));
        }
        if self.interval < SHORTEST_INTERVAL {
            let least = SHORTEST_INTERVAL;
            return refuse(format!("an interval is {least} at least, not {}", self.interval));
        }
        if let Some(pace) = self.pace
            && pace.bytes_per_second() < 1.0
        {
            return refuse(format!("a pace of {pace} is none"));
        }
        let most = Bytes::new(i32::MAX.unsigned_abs().into());
        for buffer in [self.client, self.server].iter().flat_map(|end| [end.window, end.send]) {
            if buffer.is_some_and(|buffer| buffer == Bytes::ZERO || buffer > most) {
                return refuse(format!("a buffer is 1 B to {most}"));
            }
        }
        if let Some(mss) = self.mss
            && !MSS.contains(&mss)
        {
            let (least, most) = MSS.into_inner();
            return refuse(format!("Linux takes an MSS of {least} to {most} B, not {mss}"));
        }
        if self.ip.ttl == Some(0) {
            return refuse("a packet of no hops goes nowhere".to_owned());
        }
        if let Some(name) = &self.congestion
            && let Err(wrong) = name.parse::<CongestionControl>()
        {
            return refuse(wrong.to_string());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_fits_the_cache() {
        assert_eq!(length_for(None), 128 << 10);
        assert_eq!(length_for(Some(2 << 20)), 512 << 10);
        assert_eq!(length_for(Some(0)), 64 << 10);
        assert_eq!(length_for(Some(u64::MAX)), 1 << 20);
        assert_eq!(Transfer::default().length, usual_length());
    }

    #[test]
    fn each_stream_has_a_sender_and_a_receiver() {
        for direction in [Direction::Forward, Direction::Reverse, Direction::Both] {
            let transfer = Transfer { direction, streams: 2, ..Transfer::default() };
            for stream in 0..transfer.connections() {
                let [near, far] = [End::Client, End::Server].map(|end| transfer.role(end, stream));
                assert_ne!(near, far, "{direction:?} {stream}");
            }
        }
        let both = Transfer { direction: Direction::Both, streams: 2, ..Transfer::default() };
        assert_eq!(both.connections(), 4);
        assert_eq!(both.role(End::Client, 1), Role::Sender);
        assert_eq!(both.role(End::Client, 2), Role::Receiver);
    }

    #[test]
    fn what_cannot_be_done_is_refused() {
        let good = Transfer::default();
        good.check().unwrap();
        let bad = [
            Transfer { streams: 0, ..good.clone() },
            Transfer { streams: 5_000, ..good.clone() },
            Transfer { length: 0, ..good.clone() },
            Transfer { length: u32::MAX, ..good.clone() },
            Transfer { until: Until::Time(Span::ZERO), ..good.clone() },
            Transfer { until: Until::Time(Span::MAX), ..good.clone() },
            Transfer { until: Until::Bytes(Bytes::ZERO), ..good.clone() },
            Transfer { omit: Span::from_nanos(-1), ..good.clone() },
            Transfer { interval: Span::ZERO, ..good.clone() },
            Transfer { pace: Some(Rate::ZERO), ..good.clone() },
            Transfer { pace: Some(Rate::from_bytes_per_second(-1e9)), ..good.clone() },
            Transfer {
                server: Buffers { window: Some(Bytes::new(1 << 40)), send: None },
                ..good.clone()
            },
            Transfer { align: Some(Align { to: 0, offset: 0 }), ..good.clone() },
            Transfer { align: Some(Align { to: 8, offset: 8 }), ..good.clone() },
            Transfer { mss: Some(87), ..good.clone() },
            Transfer { mss: Some(32_768), ..good.clone() },
            Transfer { ip: Ip { ttl: Some(0), ..Ip::default() }, ..good.clone() },
            Transfer { congestion: Some("../../etc".to_owned()), ..good },
        ];
        for bad in bad {
            bad.check().unwrap_err();
        }
    }
}
