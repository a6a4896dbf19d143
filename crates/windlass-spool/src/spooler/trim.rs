//! When memory is given back: the allocator keeps what many jobs had for the next ones,
//! and a spool that was full once would look full for ever.

/// Jobs that have gone, below which there is little to give back: some 600 bytes each.
const MANY: u64 = 20_000;

/// How much came and went since memory was given back last.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Backlog {
    /// The most jobs that were not over.
    most: usize,
    /// Those that were over by then.
    over: u64,
}

impl Backlog {
    /// Whether many have gone and few are left, so that it is worth its milliseconds:
    /// asked every few seconds, with the jobs that are not over and all that ever were.
    pub(super) fn has_gone(&mut self, active: usize, over: u64) -> bool {
        self.most = self.most.max(active);
        let has_gone = over.saturating_sub(self.over) >= MANY && active <= self.most / 8;
        if has_gone {
            *self = Self { most: active, over };
        }
        has_gone
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_have_to_go_and_few_to_be_left() {
        let mut backlog = Backlog::default();
        assert!(!backlog.has_gone(200_000, 0));
        assert!(!backlog.has_gone(100_000, 100_000), "half are left");
        assert!(backlog.has_gone(25_000, 175_000));
        assert!(!backlog.has_gone(25_000, 175_000), "once");
        assert!(!backlog.has_gone(3_000, 194_999), "few have gone since");
        assert!(backlog.has_gone(0, 200_000));
        // Printed as they come, in the end they have gone as well.
        assert!(!backlog.has_gone(10, 260_000));
        assert!(backlog.has_gone(1, 261_000));
    }
}
