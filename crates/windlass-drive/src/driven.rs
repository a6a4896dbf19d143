//! Interface of one end of a test for the code that controls it, for any transport and protocol.

use std::time::{Duration, Instant};

use windlass_base::Bytes;

use crate::report::{Interval, SideReport};
use crate::transfer::Role;

/// One end of a running test.
pub(crate) trait TestSide {
    /// Returns the time to call [`Self::tick`] next.
    fn next_time(&self) -> Instant;
    /// Samples the end, and returns the intervals that are over.
    fn tick(&mut self) -> Vec<Interval>;
    /// Stops sending; data in flight still arrives.
    fn stop(&mut self);
    /// Ends everything at once, data in flight included.
    fn cut(&mut self);
    /// Stops sending because the other end says that the data is over; data in flight to this end
    /// is still received.
    fn end_sending(&mut self);
    /// Stops waiting for data on each stream whose number and bytes satisfy `is_all`. Data that has
    /// arrived is still read.
    fn end_receiving(&self, is_all: &dyn Fn(u16, Bytes) -> bool);
    /// Returns the number of datagrams of each flow, once, after all were sent; nothing if the end
    /// of the data shows by itself.
    fn take_sent(&mut self) -> Option<Vec<(u16, u64)>> {
        None
    }
    /// Records that the other end sends no more, and how many datagrams it sent in each flow, as
    /// far as it says.
    fn heard(&mut self, _sent: &[(u16, u64)]) {}
    /// Returns whether this end has sent everything.
    fn senders_ended(&self) -> bool;
    /// Lists the streams: number, role of this end, and bytes so far.
    fn each(&self) -> Box<dyn Iterator<Item = (u16, Role, Bytes)> + '_>;
    /// Returns the time when the test began.
    fn began(&self) -> Instant;
    /// Returns the time when the test's duration is over, if it has one.
    fn deadline(&self) -> Option<Instant>;
    /// Returns whether the test's duration is over, if it has one.
    fn is_past_deadline(&self) -> bool {
        self.deadline().is_some_and(|deadline| Instant::now() >= deadline)
    }
    /// Returns how long the test has run.
    fn runs_for(&self) -> Duration {
        self.began().elapsed()
    }
    /// Returns whether waiting for the other end is over: the deadline has passed, and data in
    /// flight has had `grace` to arrive.
    fn is_late(&self, grace: Duration) -> bool {
        self.deadline().is_some_and(|deadline| deadline.elapsed() > grace)
    }
    /// Returns whether all threads have ended.
    fn is_done(&self) -> bool;
    /// Returns the number of bytes that have moved so far.
    fn moved(&self) -> Bytes;
    /// Ends what still runs, and returns the report.
    fn finish(&mut self) -> SideReport;
}
