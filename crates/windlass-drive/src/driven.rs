//! What who speaks of a test needs to know of one of its ends, whatever its data goes by.

use std::time::{Duration, Instant};

use windlass_base::Bytes;

use crate::report::{Interval, SideReport};
use crate::transfer::Role;

/// One end of a test that runs.
pub(crate) trait Driven {
    /// The time to call [`Self::tick`] next.
    fn next_time(&self) -> Instant;
    /// Samples what there is, and gives the intervals that are over.
    fn tick(&mut self) -> Vec<Interval>;
    /// Nobody sends any more; what is under way still arrives.
    fn stop(&mut self);
    /// Ends all at once, with what is under way.
    fn cut(&mut self);
    /// Nobody here sends any more, because the other end says that the data is over; what is under
    /// way to here is still received.
    fn end_sending(&mut self);
    /// What is not here yet is not waited for, where that says so by number and bytes. What has
    /// arrived is still read.
    fn end_receiving(&self, is_all: &dyn Fn(u16, Bytes) -> bool);
    /// How many datagrams went in each flow, once all have gone; it is told once, and nothing
    /// where the end of the data shows by itself.
    fn take_sent(&mut self) -> Option<Vec<(u16, u64)>> {
        None
    }
    /// The other end sends no more: how many went in each flow, as far as it says.
    fn heard(&mut self, _sent: &[(u16, u64)]) {}
    /// Returns whether all that is sent from here is sent.
    fn senders_ended(&self) -> bool;
    /// Each stream: its number, what is done with it here, and its bytes so far.
    fn each(&self) -> Box<dyn Iterator<Item = (u16, Role, Bytes)> + '_>;
    /// The time when it began.
    fn began(&self) -> Instant;
    /// The time when its time is over, where there is one.
    fn deadline(&self) -> Option<Instant>;
    /// Returns whether the time is over, where there is one.
    fn is_past_deadline(&self) -> bool {
        self.deadline().is_some_and(|deadline| Instant::now() >= deadline)
    }
    /// For how long it runs.
    fn runs_for(&self) -> Duration {
        self.began().elapsed()
    }
    /// Returns whether the other end is not to be waited for any more: the time is over, and what
    /// was under way had time to arrive.
    fn is_late(&self, grace: Duration) -> bool {
        self.deadline().is_some_and(|deadline| deadline.elapsed() > grace)
    }
    /// Returns whether all has ended.
    fn is_done(&self) -> bool;
    /// Bytes that have moved so far.
    fn moved(&self) -> Bytes;
    /// The report; what still runs is ended.
    fn finish(&mut self) -> SideReport;
}
