//! Figures of a run: names, units, and better directions.

use serde::{Deserialize, Deserializer, Serialize};
use windlass_base::Named;

/// Name of a figure, which is the same in lists, conditions and tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Named)]
pub enum FigureName {
    /// Received or acknowledged data per second.
    Rate,
    /// Duration of a transfer or a job.
    Time,
    /// Mean RTT under load.
    Rtt,
    /// Base RTT.
    MinRtt,
    /// Median round-trip time of small messages during a transfer, or of a ping.
    Latency,
    /// The 99th percentile of those round-trip times.
    LatencyP99,
    /// Time from a segment to the receiver's ACK.
    AckLatency,
    /// Share of retransmitted segments.
    Retransmissions,
    /// Share of lost packets.
    Loss,
    /// Variation of the time between datagrams (RFC 3550 section 6.4.1).
    Jitter,
    /// Capacity of a path.
    Capacity,
    /// Queueing delay with the recommended settings.
    QueueingDelay,
    /// Recommended window.
    Window,
    /// Jobs that a spooler accepts per second.
    QueueRate,
    /// Jobs that a spooler processes per second.
    ProcessRate,
    /// 99th percentile of the time until a job is acknowledged.
    AnswerP99,
    /// Jobs that were not completed.
    NotCompleted,
    /// Packets per second.
    PacketRate,
    /// Packets lost by the capture.
    Drops,
    /// Processor time of the sender, as a share of the transfer's duration.
    SenderProcessor,
    /// The share of time that the processors were busy.
    Busy,
    /// The share of time that the busiest processor was busy.
    BusiestCore,
    /// The share of time that processors waited for disks.
    DiskWait,
}

/// Unit of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Named)]
pub enum Unit {
    /// Bytes per second.
    BytesPerSecond,
    /// Seconds.
    Seconds,
    /// Bytes.
    Bytes,
    /// A share, from 0 to 1.
    Share,
    /// Jobs per second.
    JobsPerSecond,
    /// Packets per second.
    PacketsPerSecond,
    /// A count.
    Count,
}

/// Better direction of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Named)]
pub enum Preference {
    /// More is better.
    More,
    /// Less is better.
    Less,
    /// Neither direction is better.
    Neither,
}

impl FigureName {
    /// Returns the unit.
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

    /// Returns the name for people. Conditions and JSON use [`Self::id`].
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

    /// Returns the better direction.
    pub const fn better(self) -> Preference {
        match self {
            Self::Rate | Self::Capacity | Self::QueueRate | Self::ProcessRate => Preference::More,
            Self::Window
            | Self::PacketRate
            | Self::Busy
            | Self::BusiestCore
            | Self::SenderProcessor => Preference::Neither,
            _ => Preference::Less,
        }
    }

    /// Returns the figure with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.id() == name)
    }
}

impl<'de> Deserialize<'de> for FigureName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        let unknown = || serde::de::Error::custom(format!("{name:?} is not a figure"));
        Self::named(&name).ok_or_else(unknown)
    }
}

/// Figure of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figure {
    /// Name of the figure.
    pub name: FigureName,
    /// Row of the record, if it has several: a device, a direction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<String>,
    /// Value in the figure's unit.
    pub value: f64,
}

/// Verdict of a record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerdictSummary {
    /// Row of the record, if it has several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<String>,
    /// Limit and reason: `receiver-window/ack-latency`.
    pub cause: String,
    /// Confidence, if the record has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<String>,
}
