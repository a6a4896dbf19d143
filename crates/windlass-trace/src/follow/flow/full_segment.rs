//! Size of the full segment, by a sender's own segments.

use super::{Data, Flow};

impl Flow {
    /// Learns the size from the last segment, if this one shows that it was cut from more data.
    pub(super) fn learn_full_segment(&mut self, data: &Data) {
        if !self.is_continued_by(data) {
            return;
        }
        let before = self.size.get();
        self.size.was_cut(self.last_length);
        let size = self.size.get();
        if size < before {
            // Full segments were counted as partial before, and maybe as small.
            self.ledger.forget_partial(size < before / 2);
        }
    }

    /// Returns whether this segment continues the last one at once: no PSH ended the data, no ACK
    /// came in between, and the window had room for more in the last one.
    fn is_continued_by(&self, data: &Data) -> bool {
        data.start == self.nxt
            && !self.last_pushed
            && self.acks_since_data == 0
            && self.heard
            && self.usable() > 0
            // The PSH of a sender that never sets it tells nothing.
            && self.counts.pushes > 0
            // If the window has no room for two segments, Linux sends half a window.
            && self.window_most >= 2 * self.size.get()
    }
}
