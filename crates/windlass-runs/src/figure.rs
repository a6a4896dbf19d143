//! A figure of a run: its name, what it counts, and which way is better.

use serde::{Deserialize, Deserializer, Serialize};
use windlass_base::Named;

/// What a figure is. Each has the same name in lists, conditions and tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Named)]
pub enum FigureName {
    /// Data that arrived, or was acknowledged, over its time.
    Rate,
    /// The time of a transfer or a job.
    Time,
    /// The mean round trip under load.
    Rtt,
    /// The least round trip.
    MinRtt,
    /// The median round trip of small messages beside a transfer, or of a ping.
    Latency,
    /// The 99th percentile of the same.
    LatencyP99,
    /// The time from a segment to the receiver's ACK of it.
    AckLatency,
    /// The share of segments that were sent again.
    Retransmissions,
    /// The share of packets that were lost.
    Loss,
    /// The variation of the times between datagrams (RFC 3550 section 6.4.1).
    Jitter,
    /// The rate that a path carries.
    Capacity,
    /// How long packets wait in queues with what is recommended.
    QueueingDelay,
    /// The window that is recommended.
    Window,
    /// Jobs that a spooler takes in a second.
    QueueRate,
    /// Jobs that it processes in a second.
    ProcessRate,
    /// The 99th percentile of the time until a job is acknowledged.
    AnswerP99,
    /// Jobs that did not come out.
    NotCompleted,
    /// Packets in a second.
    PacketRate,
    /// Packets that were lost before they were seen.
    Drops,
    /// Processor time of the sender over the time of its transfer.
    SenderProcessor,
    /// The share of time that the processors were busy.
    Busy,
    /// The share of time that the busiest processor was busy.
    BusiestCore,
    /// The share of time that processors waited for disks.
    DiskWait,
}

/// What a figure counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Named)]
pub enum Unit {
    /// Bytes in a second.
    BytesPerSecond,
    /// Seconds.
    Seconds,
    /// Bytes.
    Bytes,
    /// A share, from 0 to 1.
    Share,
    /// Jobs in a second.
    JobsPerSecond,
    /// Packets in a second.
    PacketsPerSecond,
    /// A number of things.
    Count,
}

/// Which way is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Named)]
pub enum Better {
    /// More.
    More,
    /// Less.
    Less,
    /// Neither.
    Neither,
}

impl FigureName {
    /// What it counts.
    pub const fn unit(self) -> Unit {
        match self {
            Self::Rate | Self::Capacity => Unit::BytesPerSecond,
            Self::Time
            | Self::Rtt
            | Self::MinRtt
            | Self::Latency
            | Self::LatencyP99
            | Self::AckLatency
            | Self::Jitter
            | Self::QueueingDelay
            | Self::AnswerP99 => Unit::Seconds,
            Self::Window => Unit::Bytes,
            Self::Retransmissions
            | Self::Loss
            | Self::SenderProcessor
            | Self::Busy
            | Self::BusiestCore
            | Self::DiskWait => Unit::Share,
            Self::QueueRate | Self::ProcessRate => Unit::JobsPerSecond,
            Self::PacketRate => Unit::PacketsPerSecond,
            Self::Drops | Self::NotCompleted => Unit::Count,
        }
    }

    /// Its name for people. Conditions and JSON have the other.
    pub const fn says(self) -> &'static str {
        match self {
            Self::Rate => "rate",
            Self::Time => "time",
            Self::Rtt => "RTT under load",
            Self::MinRtt => "base RTT",
            Self::Latency => "latency, median",
            Self::LatencyP99 => "latency, 99th percentile",
            Self::AckLatency => "ACK latency",
            Self::Retransmissions => "retransmissions",
            Self::Loss => "loss",
            Self::Jitter => "jitter",
            Self::Capacity => "capacity",
            Self::QueueingDelay => "queueing delay",
            Self::Window => "recommended window",
            Self::QueueRate => "jobs taken",
            Self::ProcessRate => "jobs processed",
            Self::AnswerP99 => "answer to a job, 99th percentile",
            Self::NotCompleted => "jobs not completed",
            Self::PacketRate => "packet rate",
            Self::Drops => "packets lost by the capture",
            Self::SenderProcessor => "sender's processor time",
            Self::Busy => "processors busy",
            Self::BusiestCore => "busiest processor",
            Self::DiskWait => "waiting for disks",
        }
    }

    /// Which way is better.
    pub const fn better(self) -> Better {
        match self {
            Self::Rate | Self::Capacity | Self::QueueRate | Self::ProcessRate => Better::More,
            Self::Window
            | Self::PacketRate
            | Self::Busy
            | Self::BusiestCore
            | Self::SenderProcessor => Better::Neither,
            _ => Better::Less,
        }
    }

    /// The figure of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.id() == name)
    }
}

impl<'de> Deserialize<'de> for FigureName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        let unknown = || serde::de::Error::custom(format!("{name:?} is no figure"));
        Self::named(&name).ok_or_else(unknown)
    }
}

/// A figure of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// What it is.
    pub name: FigureName,
    /// Of which row of the record, where it has several: a device, a direction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<String>,
    /// In its unit.
    pub value: f64,
}

/// A verdict of a record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerdictSeen {
    /// Of which row of the record, where it has several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<String>,
    /// The limit and its reason: `receiver-window/ack-latency`.
    pub cause: String,
    /// How sure it is, where it says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<String>,
}
