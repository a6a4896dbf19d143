//! The settings of a transfer.

use std::ops::RangeInclusive;
use std::sync::OnceLock;
use std::time::Instant;

use serde::{Deserialize, Serialize};
use windlass_base::{Bytes, CongestionControl, Rate, Span};

use crate::error::Error;
use crate::ip::Ip;

/// Maximum number of streams of a test, each way.
pub const MAX_STREAMS: u16 = 1_024;

/// Longest write, in bytes.
pub const LONGEST_WRITE: u32 = 1 << 26;

/// Largest alignment of memory, in bytes.
pub const LONGEST_ALIGNMENT: u32 = 1 << 24;

/// Longest test.
pub const LONGEST_TEST: Span = Span::from_millis(7 * 24 * 3_600 * 1_000);

/// MSS values that Linux accepts (`TCP_MIN_MSS`, `MAX_TCP_WINDOW`).
const MSS: RangeInclusive<u16> = 88..=32_767;

/// Shortest interval.
pub const SHORTEST_INTERVAL: Span = Span::from_millis(10);

/// Default length of a write that does not copy. Longer writes are no faster, and shorter ones need
/// more calls.
pub const UNCOPIED_LENGTH: u32 = 256 << 10;

/// Returns the default length of a write that copies, or of a read: a quarter of a core's
/// second-level cache, from 64 KiB to 1 MiB.
///
/// With this length the written data, the kernel's copy and the read data stay near the core. With
/// longer writes the data comes from memory each time, and the receiver takes twice the time for a
/// byte. Shorter ones need more calls.
pub fn usual_length() -> u32 {
    static LENGTH: OnceLock<u32> = OnceLock::new();
    *LENGTH.get_or_init(|| length_for(windlass_sys::cache::second_level()))
}

fn length_for(cache: Option<u64>) -> u32 {
    const USUAL: u64 = 512 << 10;
    let quarter = cache.unwrap_or(USUAL) / 4;
    u32::try_from(quarter).unwrap_or(u32::MAX).clamp(64 << 10, 1 << 20)
}

/// Direction of the data.
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

/// End of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum End {
    /// The end that asks for the test.
    Client,
    /// The end that serves the test.
    Server,
}

impl End {
    /// Returns the opposite end.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::Client => Self::Server,
            Self::Server => Self::Client,
        }
    }
}

/// Role of an end in a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// The end sends the data.
    Sender,
    /// The end receives the data.
    Receiver,
}

/// Condition that ends a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EndCondition {
    /// End after this time.
    Time(Span),
    /// End after this many bytes each way, over all streams.
    Bytes(Bytes),
    /// End when the sender's source has no more data.
    SourceEnds,
}

impl EndCondition {
    /// Returns the time and the number of bytes that end a test whose data counts from
    /// `counts_from`; nothing for each that does not end it.
    pub(crate) fn bounds(self, counts_from: Instant) -> (Option<Instant>, Option<u64>) {
        match self {
            Self::Time(time) => (Some(counts_from + time.to_duration()), None),
            Self::Bytes(bytes) => (None, Some(bytes.get())),
            Self::SourceEnds => (None, None),
        }
    }
}

/// Requested buffers of one end. The kernel sizes, and grows, a buffer that is not set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Buffers {
    /// Largest advertised window, in bytes.
    pub window: Option<Bytes>,
    /// Send buffer (`SO_SNDBUF`), which Linux doubles.
    pub send: Option<Bytes>,
}

/// Alignment of the memory that a sender writes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryAlignment {
    /// Multiple at which the memory begins, in bytes.
    pub to: u32,
    /// Offset from that multiple, in bytes.
    pub offset: u32,
}

/// Settings of a transfer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Transfer {
    /// Direction of the data.
    pub direction: Direction,
    /// Number of parallel streams, each way.
    pub streams: u16,
    /// True if the data goes over UDP.
    #[serde(default)]
    pub udp: bool,
    /// Condition that ends the transfer.
    pub until: EndCondition,
    /// Time at the start that does not count.
    pub omit: Span,
    /// Interval between two sets of figures.
    pub interval: Span,
    /// Number of bytes per write and read.
    pub length: u32,
    /// True if each write copies its bytes. Otherwise, data that a sender makes itself goes into
    /// the kernel as pages if the writes are long enough (splice(2)).
    pub copy: bool,
    /// Alignment of the memory that writes copy from; any if none is set.
    #[serde(default)]
    pub align: Option<MemoryAlignment>,
    /// Client's buffers.
    pub client: Buffers,
    /// Server's buffers.
    pub server: Buffers,
    /// Name of the congestion control; the system's if none is set.
    pub congestion: Option<String>,
    /// Largest segment (`TCP_MAXSEG`), in bytes.
    pub mss: Option<u16>,
    /// True if small writes are sent at once (`TCP_NODELAY`).
    pub nodelay: bool,
    /// Maximum rate of all streams of a direction together.
    pub pace: Option<Rate>,
    /// Settings of IP packets.
    #[serde(default)]
    pub ip: Ip,
}

impl Default for Transfer {
    /// Returns a transfer of ten seconds over one stream to the server, in writes of the default
    /// length.
    fn default() -> Self {
        Self {
            direction: Direction::Forward,
            streams: 1,
            udp: false,
            until: EndCondition::Time(Span::from_millis(10_000)),
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
    /// Returns the number of streams of a test, over both directions.
    pub const fn connections(&self) -> u16 {
        match self.direction {
            Direction::Both => self.streams.saturating_mul(2),
            Direction::Forward | Direction::Reverse => self.streams,
        }
    }

    /// Returns the role of `end` in stream number `stream`.
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

    /// Returns the pace of each stream.
    pub(crate) fn pace_of_one(&self) -> Option<Rate> {
        let streams = f64::from(self.streams.max(1));
        self.pace.map(|all| Rate::from_bytes_per_second(all.bytes_per_second() / streams))
    }

    /// Returns the buffers of an end.
    pub const fn buffers(&self, end: End) -> Buffers {
        match end {
            End::Client => self.client,
            End::Server => self.server,
        }
    }

    /// Returns the longest time for the next datagrams of each stream at the pace: several gaps.
    pub(crate) fn time_until_next(&self) -> std::time::Duration {
        const GAPS: f64 = 4.0;
        let gap = self.pace.map(|pace| pace.time_for(Bytes::new(self.length.into())));
        let streams = f64::from(self.streams.max(1));
        gap.map_or(Span::ZERO, |gap| gap.scaled(GAPS * streams)).to_duration()
    }

    /// Checks that the settings are possible. The other end may have made them up.
    ///
    /// # Errors
    /// Names the impossible setting.
    pub fn check(&self) -> Result<(), Error> {
        let refuse = |why: String| Err(Error::Asked(why));
        if self.streams == 0 || self.streams > MAX_STREAMS {
            return refuse(format!("a test has 1 to {MAX_STREAMS} streams, not {}", self.streams));
        }
        let last = self.connections() - 1;
        if self.ip.bind.port.is_some_and(|first| first.checked_add(last).is_none()) {
            let count = self.connections();
            return refuse(format!(
                "{count} data connections need {count} source ports, and fewer follow that port"
            ));
        }
        if self.length == 0 || self.length > LONGEST_WRITE {
            let most = Bytes::new(u64::from(LONGEST_WRITE));
            let length = Bytes::new(self.length.into());
            return refuse(format!("a write has 1 B to {most}, not {length}"));
        }
        if let Some(MemoryAlignment { to, offset }) = self.align
            && (to == 0 || to > LONGEST_ALIGNMENT || offset >= to)
        {
            let most = Bytes::new(LONGEST_ALIGNMENT.into());
            return refuse(format!(
                "an alignment is a multiple of up to {most}, with an offset below the multiple"
            ));
        }
        if let EndCondition::Time(time) = self.until
            && (time <= Span::ZERO || time > LONGEST_TEST)
        {
            return refuse(format!("a test lasts up to {LONGEST_TEST}, not {time}"));
        }
        if self.until == EndCondition::Bytes(Bytes::ZERO) {
            return refuse("a test sends at least 1 byte".to_owned());
        }
        if self.omit < Span::ZERO || self.omit > LONGEST_TEST {
            return refuse(format!("a time of {} cannot be omitted", self.omit));
        }
        if self.interval < SHORTEST_INTERVAL {
            let least = SHORTEST_INTERVAL;
            return refuse(format!("an interval is at least {least}, not {}", self.interval));
        }
        if let Some(pace) = self.pace
            && pace.bytes_per_second() < 1.0
        {
            return refuse(format!("a pace of {pace} is too low"));
        }
        let most = Bytes::new(i32::MAX.unsigned_abs().into());
        for buffer in [self.client, self.server].iter().flat_map(|end| [end.window, end.send]) {
            if buffer.is_some_and(|buffer| buffer == Bytes::ZERO || buffer > most) {
                return refuse(format!("a buffer has 1 B to {most}"));
            }
        }
        if let Some(mss) = self.mss
            && !MSS.contains(&mss)
        {
            let (least, most) = MSS.into_inner();
            return refuse(format!("Linux takes an MSS of {least} to {most} B, not {mss}"));
        }
        if self.ip.ttl == Some(0) {
            return refuse("a TTL is at least 1".to_owned());
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
            Transfer { until: EndCondition::Time(Span::ZERO), ..good.clone() },
            Transfer { until: EndCondition::Time(Span::MAX), ..good.clone() },
            Transfer { until: EndCondition::Bytes(Bytes::ZERO), ..good.clone() },
            Transfer { omit: Span::from_nanos(-1), ..good.clone() },
            Transfer { interval: Span::ZERO, ..good.clone() },
            Transfer { pace: Some(Rate::ZERO), ..good.clone() },
            Transfer { pace: Some(Rate::from_bytes_per_second(-1e9)), ..good.clone() },
            Transfer {
                server: Buffers { window: Some(Bytes::new(1 << 40)), send: None },
                ..good.clone()
            },
            Transfer { align: Some(MemoryAlignment { to: 0, offset: 0 }), ..good.clone() },
            Transfer { align: Some(MemoryAlignment { to: 8, offset: 8 }), ..good.clone() },
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
