//! Progress of a job at its device, and the printed part of a job that broke off.

use std::fmt;

use windlass_base::Bytes;

use crate::job::JobId;
use crate::moment::Moment;

/// Progress of a job at its device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DeviceProgress {
    /// The device has not accepted the connection yet, or nothing is known.
    #[default]
    Connecting,
    /// The device accepts data of the job.
    Moving,
    /// The device makes no progress.
    Stalled(DeviceStall),
}

/// Lack of progress at a device whose connection is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceStall {
    /// Start of the stall.
    pub since: Moment,
    /// Bytes of the document that the device's TCP acknowledged.
    pub acknowledged: u64,
    /// Length of the document in bytes.
    pub of: u64,
    /// Symptom of the stall.
    pub sign: StallSign,
}

/// Symptom of a stall.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StallSign {
    /// The device's TCP keeps its window closed, and answers probes.
    ClosedWindow,
    /// The device's TCP acknowledges neither data nor probes.
    NoAck,
    /// The device has all data, and has not answered.
    NoAnswer,
    /// The device has the job, and does not answer queries about it.
    Unreachable,
}

impl StallSign {
    /// Returns the keyword.
    pub const fn keyword(self) -> &'static str {
        match self {
            Self::ClosedWindow => "closed-window",
            Self::NoAck => "no-ack",
            Self::NoAnswer => "no-answer",
            Self::Unreachable => "unreachable",
        }
    }

    const fn meaning(self) -> &'static str {
        match self {
            Self::ClosedWindow => {
                "it keeps its TCP window closed and answers probes, like a printer that is paused, \
                 open or out of paper"
            }
            Self::NoAck => {
                "it acknowledges neither data nor probes: it is off, or the network is \
                 interrupted"
            }
            Self::NoAnswer => {
                "the connection is open and the device has all data, so the spool waits"
            }
            Self::Unreachable => "the spool keeps asking, as the device may print the job",
        }
    }
}

impl DeviceStall {
    /// Returns a sentence about the stall.
    pub fn words(&self, job: JobId, now: Moment) -> String {
        let (time, done) = (self.since.until(now).as_secs(), Bytes::new(self.acknowledged));
        let (of, meaning) = (Bytes::new(self.of), self.sign.meaning());
        match self.sign {
            StallSign::NoAnswer => format!(
                "the device has {done} of {of} of job {job} and has not answered for {time} s: \
                 {meaning}"
            ),
            StallSign::Unreachable => {
                format!("the device has job {job} and has been unreachable for {time} s: {meaning}")
            }
            StallSign::ClosedWindow | StallSign::NoAck => format!(
                "the device has taken no data of job {job} for {time} s, after {done} of {of}: \
                 {meaning}"
            ),
        }
    }
}

/// Part of an incomplete job that a device may have printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartialPrint {
    /// Maximum number of bytes that the device may have.
    pub bytes: u64,
    /// Length of the document in bytes.
    pub of: u64,
    /// True if the device itself reports the printed part, and that it drops the rest.
    pub is_reported: bool,
}

impl fmt::Display for PartialPrint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (bytes, of) = (Bytes::new(self.bytes), Bytes::new(self.of));
        write!(f, "the device may have printed up to {bytes} of {of}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stall_is_told_in_a_sentence() {
        let mut stall = DeviceStall {
            since: Moment(1_000),
            acknowledged: 204_800,
            of: 3_000_000,
            sign: StallSign::ClosedWindow,
        };
        assert_eq!(
            stall.words(7, Moment(76_500)),
            "the device has taken no data of job 7 for 75 s, after 204,800 B of 3,000,000 B: it \
             keeps its TCP window closed and answers probes, like a printer that is paused, open or \
             out of paper"
        );
        stall.sign = StallSign::NoAnswer;
        assert_eq!(
            stall.words(7, Moment(71_000)),
            "the device has 204,800 B of 3,000,000 B of job 7 and has not answered for 70 s: the \
             connection is open and the device has all data, so the spool waits"
        );
    }
}
