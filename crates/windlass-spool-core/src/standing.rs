//! The progress of a job at its device, and the part that may be printed of one that broke off.

use std::fmt;

use windlass_base::Bytes;

use crate::job::JobId;
use crate::moment::Moment;

/// The progress of a job at its device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Standing {
    /// It has not taken the connection yet, or nothing is known of it.
    #[default]
    Connecting,
    /// It takes the job.
    Moving,
    /// Nothing moves.
    Stalled(DeviceStall),
}

/// That nothing moves at a device whose connection is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceStall {
    /// Since when.
    pub since: Moment,
    /// Bytes of the document that the device's TCP has acknowledged.
    pub acknowledged: u64,
    /// Bytes that the document has.
    pub of: u64,
    /// The sign of it.
    pub sign: StallSign,
}

/// The sign that nothing moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StallSign {
    /// The device's TCP keeps its window closed, and answers probes.
    ClosedWindow,
    /// The device's TCP acknowledges neither data nor probes.
    NoAck,
    /// The device has all that was sent, and has not answered.
    NoAnswer,
    /// The device has the job, and cannot be asked after it.
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
                "its TCP window is closed and it answers probes, as a printer does that is paused, \
                 out of paper or open"
            }
            Self::NoAck => {
                "its TCP acknowledges neither data nor probes: it is off, or the network is \
                 interrupted"
            }
            Self::NoAnswer => {
                "its connection is open and it has all that was sent, so it is waited for"
            }
            Self::Unreachable => "it is asked again, as it may be printing it",
        }
    }
}

impl DeviceStall {
    /// Returns a sentence about it.
    pub fn words(&self, job: JobId, now: Moment) -> String {
        let (time, done) = (self.since.until(now).as_secs(), Bytes::new(self.acknowledged));
        let (of, meaning) = (Bytes::new(self.of), self.sign.meaning());
        match self.sign {
            StallSign::NoAnswer => format!(
                "its device has {done} of {of} of job {job} and has not answered for {time} s: \
                 {meaning}"
            ),
            StallSign::Unreachable => format!(
                "its device has job {job} and cannot be asked after it for {time} s: {meaning}"
            ),
            StallSign::ClosedWindow | StallSign::NoAck => format!(
                "its device has taken nothing of job {job} for {time} s, after {done} of {of}: \
                 {meaning}"
            ),
        }
    }
}

/// The part that a device may have printed of a job that it did not take to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartialPrint {
    /// The most bytes of the document that it may have.
    pub bytes: u64,
    /// Bytes that the document has.
    pub of: u64,
    /// True if the device says what it printed, and says that it does not print the rest.
    pub is_reported: bool,
}

impl fmt::Display for PartialPrint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (bytes, of) = (Bytes::new(self.bytes), Bytes::new(self.of));
        write!(f, "its device may have printed up to {bytes} of its {of}")
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
            "its device has taken nothing of job 7 for 75 s, after 204,800 B of 3,000,000 B: its \
             TCP window is closed and it answers probes, as a printer does that is paused, out of \
             paper or open"
        );
        stall.sign = StallSign::NoAnswer;
        assert_eq!(
            stall.words(7, Moment(71_000)),
            "its device has 204,800 B of 3,000,000 B of job 7 and has not answered for 70 s: its \
             connection is open and it has all that was sent, so it is waited for"
        );
    }
}
