//! The vocabulary of limits: what can hold a transfer back, and because of
//! what.

use std::fmt;

use serde::ser::{Serialize, SerializeMap, Serializer};
use windlass_macros::Named;

/// What holds a transfer back, in the order in which reports list it.
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
    /// Segments were lost, or their ACKs, and are being sent again.
    Loss,
    /// The path carries all that it can.
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
        /// Why a limit holds.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Named)]
        pub enum Because {
            $($(#[doc = concat!("As in [`Cause::", stringify!($name), "`].")] $because,)?)*
        }

        /// A limit together with its reason: what an interval of a transfer is
        /// charged to.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Cause { $($(#[$doc])* $name,)* }

        impl Cause {
            /// Every cause.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The limit.
            pub const fn limit(self) -> Limit {
                match self { $(Self::$name => Limit::$limit,)* }
            }

            /// The reason, where the limit has more than one.
            pub const fn because(self) -> Option<Because> {
                match self { $(Self::$name => causes!(@because $($because)? $($other)?),)* }
            }
        }
    };
    (@because) => { None };
    (@because $because:ident) => { Some(Because::$because) };
}

// Each with its limit and its reason, which is that of another limit where it is named behind
// `as`.
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
    /// A congestion window that is cut as others overtake segments, which looks like loss.
    Reordering = CongestionWindow / Reordering;
    /// A congestion window that holds steady.
    Steady = CongestionWindow / Steady;
    /// Loss under repair by fast retransmit.
    FastRecovery = Loss / FastRecovery;
    /// Loss that waits for the retransmission timer.
    Timeout = Loss / Timeout;
    /// Loss that costs the whole flight, as the receiver keeps nothing behind it.
    ReceiverDiscards = Loss / ReceiverDiscards;
    /// Segments too large for a link on the path, of which nobody tells.
    BlackHole = Loss / BlackHole;
    /// ACKs that never arrive, so that the sender's timer sends again what had arrived.
    AckLoss = Loss / AckLoss;
    /// Loss that waits for a retransmission timer which runs for far too long.
    SlowTimer = Loss / SlowTimer;
    /// Repairs of what was not lost, by a retransmission timer shorter than the path's round trip.
    FastTimer = Loss / FastTimer;
    /// A path that carries all it can, with a queue before its slowest link.
    PathQueue = PathCapacity / Queue;
    /// A path that drops what goes beyond a rate.
    PathPolicer = PathCapacity / Policer;
    /// A path whose queue marks data before it has to drop it (ECN), and a sender that heeds that.
    PathMarks = PathCapacity / Marks;
    /// A way back that is full, so that ACKs come late: the data's way has room.
    AckPath = PathCapacity / AckPath;
    /// A sender with nothing to send.
    SenderIdle = Application / SenderIdle;
    /// A sender that waits for the other side's answer or request.
    AwaitsAnswer = Application / AwaitsAnswer;
    /// A receiving program that reads at a steady rate of its own.
    ReceiverLimited = Application / ReceiverLimited;
    /// A program that takes all of a processor. No capture tells it; who measures the program
    /// does.
    Processor = Application / Processor;
    /// Segments much smaller than they could be.
    SmallSegments = SmallSegments;
    /// Nagle's algorithm against a delayed ACK.
    NagleDelayedAck = NagleDelayedAck;
    /// Not to be told from this capture.
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

/// As `limit` and `because`, among the other keys of what has a cause.
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
