//! What who speaks of a test needs to know of one of its ends, whatever its data goes by.

use std::time::{Duration, Instant};

use windlass_base::Bytes;

use crate::report::{Interval, SideReport};
use crate::side::Side;
use crate::transfer::Role;

/// One end of a test that runs, as [`Side`] is one of TCP.
pub(crate) trait Driven {
    /// When to call [`Self::tick`] next.
    fn next_time(&self) -> Instant;
    /// Samples what there is, and gives the intervals that are over.
    fn tick(&mut self) -> Vec<Interval>;
    /// Nobody sends any more; what is under way still arrives.
    fn stop(&mut self);
    /// Ends all at once, with what is under way.
    fn cut(&mut self);
    /// Nobody here sends any more.
    fn end_sending(&mut self);
    /// What is not here yet is not waited for, where that says so by number and bytes.
    fn end_receiving(&self, is_all: &dyn Fn(u16, Bytes) -> bool);
    /// How many datagrams went in each flow, once all have gone; it is told once, and nothing
    /// where the end of the data shows by itself.
    fn take_sent(&mut self) -> Option<Vec<(u16, u64)>> {
        None
    }
    /// The other end sends no more: how many went in each flow, as far as it says.
    fn heard(&mut self, _sent: &[(u16, u64)]) {}
    /// Whether all that is sent from here is sent.
    fn senders_ended(&self) -> bool;
    /// Each stream: its number, what is done with it here, and its bytes so far.
    fn each(&self) -> Box<dyn Iterator<Item = (u16, Role, Bytes)> + '_>;
    /// Whether the time is over, where there is one.
    fn is_past_deadline(&self) -> bool;
    /// For how long it runs.
    fn runs_for(&self) -> Duration;
    /// Whether the other end is not to be waited for any more.
    fn is_late(&self, grace: Duration) -> bool;
    /// Whether all has ended.
    fn is_done(&self) -> bool;
    /// Bytes that have moved so far.
    fn moved(&self) -> Bytes;
    /// The report; what still runs is ended.
    fn finish(&mut self) -> SideReport;
}

impl Driven for Side {
    fn next_time(&self) -> Instant {
        Side::next_time(self)
    }

    fn tick(&mut self) -> Vec<Interval> {
        Side::tick(self)
    }

    fn stop(&mut self) {
        Side::stop(self);
    }

    fn cut(&mut self) {
        Side::cut(self);
    }

    fn end_sending(&mut self) {
        Side::end_sending(self);
    }

    fn end_receiving(&self, is_all: &dyn Fn(u16, Bytes) -> bool) {
        Side::end_receiving(self, is_all);
    }

    fn senders_ended(&self) -> bool {
        Side::senders_ended(self)
    }

    fn each(&self) -> Box<dyn Iterator<Item = (u16, Role, Bytes)> + '_> {
        Box::new(Side::each(self))
    }

    fn is_past_deadline(&self) -> bool {
        Side::is_past_deadline(self)
    }

    fn runs_for(&self) -> Duration {
        Side::runs_for(self)
    }

    fn is_late(&self, grace: Duration) -> bool {
        Side::is_late(self, grace)
    }

    fn is_done(&self) -> bool {
        Side::is_done(self)
    }

    fn moved(&self) -> Bytes {
        Side::moved(self)
    }

    fn finish(&mut self) -> SideReport {
        Side::finish(self)
    }
}
