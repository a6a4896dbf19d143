//! Evidence of the programs and processors of both ends.

use super::facts::{Facts, Machine, Thread};
use crate::thresholds::{
    BUSY_INTERRUPTS, BUSY_PROCESSORS, BUSY_THREAD, BUSY_WITH_BOTH, PROGRAM_SHARE, TICK,
    WANTING_THREAD, WORKING_THREAD,
};

impl Facts {
    /// Returns whether the sender's program uses all that it gets of a processor.
    pub(super) fn is_busy(&self) -> bool {
        self.is_long() && self.sender.is_some_and(Thread::is_busy)
    }

    /// Returns whether the receiver's program uses all that it gets of a processor.
    pub(super) fn receiver_is_busy(&self) -> bool {
        self.is_long() && self.receiver.is_some_and(Thread::is_busy)
    }

    /// Returns whether the transfer was long enough for processor figures.
    fn is_long(&self) -> bool {
        self.seconds >= TICK.get()
    }

    /// Returns the share of both ends of the processors that they have in common.
    pub(super) fn share_of_both(&self) -> Option<f64> {
        let machine = self.sending_machine.as_ref().filter(|_| self.is_one_machine)?;
        let shares = self.sender?.all + self.receiver?.all;
        Some(shares / machine.processors.max(1) as f64)
    }

    /// Returns whether both ends use all of one machine.
    pub(super) fn both_are_busy(&self) -> bool {
        self.is_long() && self.share_of_both().is_some_and(|share| share >= BUSY_WITH_BOTH.get())
    }

    /// Returns the known machines of the ends.
    pub(super) fn machines(&self) -> impl Iterator<Item = &Machine> {
        self.sending_machine.iter().chain(&self.receiving_machine)
    }

    /// Returns the machine of an end whose processors were all busy, with any programs.
    pub(super) fn full_machine(&self) -> Option<&Machine> {
        let is_full = |machine: &&Machine| machine.busy_share >= BUSY_PROCESSORS.get();
        self.machines().find(is_full).filter(|_| self.is_long())
    }

    /// Returns the machine of an end with a processor that did little but handle packets.
    pub(super) fn interrupted_machine(&self) -> Option<&Machine> {
        let is_interrupted = |machine: &&Machine| {
            machine.busiest_core_share >= BUSY_THREAD.get()
                && machine.busiest_core_interrupt_share >= BUSY_INTERRUPTS.get()
        };
        self.machines().find(is_interrupted).filter(|_| self.is_long())
    }

    /// Returns whether processors may limit the transfer. All those of an end were busy, one of its
    /// threads wants much of them, and no steady rate shows the path.
    pub(super) fn may_lack_processors(&self) -> bool {
        let threads = self.sender.iter().chain(&self.receiver);
        let wanted = threads.map(|thread| thread.wanted()).fold(0.0, f64::max);
        self.interrupted_machine().is_some()
            || self.full_machine().is_some() && wanted >= WANTING_THREAD.get() && !self.is_full()
    }

    /// Returns whether the sending program waits for its source of data.
    pub(super) fn waits_for_data(&self) -> bool {
        self.source_share.is_some_and(|share| share >= PROGRAM_SHARE.get())
    }

    /// Returns whether the receiving program waits for the sink of its data.
    pub(super) fn waits_for_sink(&self) -> bool {
        self.sink_share.is_some_and(|share| share >= PROGRAM_SHARE.get())
    }
}

impl Thread {
    /// Returns whether the thread uses, or waits for, a whole processor.
    pub(super) fn is_busy(self) -> bool {
        self.share >= WORKING_THREAD.get() && self.wanted() >= BUSY_THREAD.get()
    }

    /// Returns the share of a processor that it used or waited for.
    fn wanted(self) -> f64 {
        self.share + self.waiting.unwrap_or(0.0)
    }
}
