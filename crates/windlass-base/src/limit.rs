//! The vocabulary of limits: what can limit a transfer, and the reasons.

use std::fmt;

use serde::ser::{Serialize, SerializeMap, Serializer};
use windlass_macros::Named;

/// Limits of a transfer, in the order in which reports list them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Named)]
pub enum Limit {
    /// The flight fills the window that the receiver advertises.
    ReceiverWindow,
    /// The receiver advertises a window of zero.
    ZeroWindow,
    /// The flight fills the sender's own buffer.
    SendBuffer,
    /// The flight fills the sender's congestion window.
    CongestionWindow,
    /// Segments or their ACKs were lost, and are being retransmitted.
    Loss,
    /// The path is full.
    PathCapacity,
    /// The program on one side does not send, or does not answer.
    Application,
    /// Segments carry much less than they could.
    SmallSegments,
    /// A small last segment waits for an ACK that the receiver delays.
    NagleDelayedAck,
    /// The capture does not tell.
    Unknown,
}

macro_rules! causes {
    ($(
        $(#[$doc:meta])* $name:ident = $limit:ident $(/ $because:ident)? $(, as $other:ident)?;
    )*) => {
        /// The reason of a limit.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Named)]
        pub enum LimitReason {
            $($(#[doc = concat!("As in [`Cause::", stringify!($name), "`].")] $because,)?)*
        }

        /// A limit together with its reason: the cause that an interval of a transfer is charged
        /// to.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Cause { $($(#[$doc])* $name,)* }

        impl Cause {
            /// Every cause.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// Returns the limit.
            pub const fn limit(self) -> Limit {
                match self { $(Self::$name => Limit::$limit,)* }
            }

            /// Returns the reason, if the limit has several.
            pub const fn because(self) -> Option<LimitReason> {
                match self { $(Self::$name => causes!(@because $($because)? $($other)?),)* }
            }
        }
    };
    (@because) => { None };
    (@because $because:ident) => { Some(LimitReason::$because) };
}

// Each cause with its limit and its reason. `as` names the reason of another limit.
causes! {
    /// A window too small for the path's round trip.
    WindowPathRtt = ReceiverWindow / PathRtt;
    /// A window too small for the receiver's slow ACKs.
    WindowAckLatency = ReceiverWindow / AckLatency;
    /// A window that does not hold one full segment.
    WindowBelowMss = ReceiverWindow / WindowBelowMss;
    /// A closed window: the receiving program does not read.
    ReceiverNotReading = ZeroWindow / ReceiverNotReading;
    /// A closed window whose opening was never announced.
    NoWindowUpdate = ZeroWindow / NoWindowUpdate;
    /// A window that closes and opens again a moment later.
    WindowOpensLate = ZeroWindow / WindowOpensLate;
    /// A send buffer that the receiver's withheld ACK keeps full.
    BufferDelayedAck = SendBuffer / DelayedAck;
    /// A send buffer too small for the path's round trip.
    BufferPathRtt = SendBuffer, as PathRtt;
    /// A congestion window that still grows by slow start.
    SlowStart = CongestionWindow / SlowStart;
    /// A congestion window that loss cut down.
    AfterLoss = CongestionWindow / AfterLoss;
    /// A congestion window that is cut because of reordering, which looks like loss.
    Reordering = CongestionWindow / Reordering;
    /// A congestion window that holds steady.
    Steady = CongestionWindow / Steady;
    /// Loss under repair by fast retransmit.
    FastRecovery = Loss / FastRecovery;
    /// Loss that waits for the retransmission timer.
    Timeout = Loss / Timeout;
    /// Loss that costs the whole flight, as the receiver discards everything behind it.
    ReceiverDiscards = Loss / ReceiverDiscards;
    /// Segments too large for a link on the path, without an ICMP message about it.
    BlackHole = Loss / BlackHole;
    /// ACKs that never arrive, so that the sender's timer retransmits data that had arrived.
    AckLoss = Loss / AckLoss;
    /// Loss that waits for a retransmission timer which is far too long.
    SlowTimer = Loss / SlowTimer;
    /// Spurious retransmissions, by a retransmission timer shorter than the path's round trip.
    FastTimer = Loss / FastTimer;
    /// A full path, with a queue before its bottleneck.
    PathQueue = PathCapacity / Queue;
    /// A path that drops packets beyond a rate.
    PathPolicer = PathCapacity / Policer;
    /// A path whose queue marks data (ECN) instead of dropping it, and a sender that reacts to the
    /// marks.
    PathMarks = PathCapacity / Marks;
    /// A full return path, so that ACKs come late, while the data's direction has room.
    AckPath = PathCapacity / AckPath;
    /// A sender with nothing to send.
    SenderIdle = Application / SenderIdle;
    /// A sender that waits for the other side's answer or request.
    AwaitsAnswer = Application / AwaitsAnswer;
    /// A receiving program that reads at a steady rate of its own.
    ReceiverLimited = Application / ReceiverLimited;
    /// A program that uses a whole processor. Only a measurement of the program shows it, no
    /// capture.
    Processor = Application / Processor;
    /// Segments much smaller than they could be.
    SmallSegments = SmallSegments;
    /// Nagle's algorithm against a delayed ACK.
    NagleDelayedAck = NagleDelayedAck;
    /// Unknown from this capture.
    Unknown = Unknown;
}

/// `limit` or `limit/because`, as `receiver-window/ack-latency`.
impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.because() {
            Some(because) => f.pad(&format!("{}/{}", self.limit().id(), because.id())),
            None => f.pad(self.limit().id()),
        }
    }
}

/// Serialised as `limit` and `because`, among the other keys of their owner.
impl Serialize for Cause {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut keys = serializer.serialize_map(Some(2))?;
        keys.serialize_entry("limit", &self.limit())?;
        keys.serialize_entry("because", &self.because())?;
        keys.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn each_cause_has_its_own_name_and_a_listed_limit() {
        let names: BTreeSet<String> = Cause::ALL.iter().map(ToString::to_string).collect();
        assert_eq!(names.len(), Cause::ALL.len());
        for cause in Cause::ALL {
            assert!(Limit::ALL.contains(&cause.limit()), "{cause}");
        }
        assert_eq!(Cause::WindowAckLatency.to_string(), "receiver-window/ack-latency");
        assert_eq!(Cause::PathQueue.to_string(), "path-capacity/queue");
    }
}
