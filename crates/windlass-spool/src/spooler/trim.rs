//! Release of unused memory. The allocator keeps the memory of many jobs for later ones, so a spool
//! that was full once would look full for ever.

/// Number of finished jobs below which there is little memory to release: some 600 bytes each.
const MANY: u64 = 20_000;

/// Load since memory was released last.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Backlog {
    /// Maximum number of active jobs.
    most: usize,
    /// Number of jobs that were over at the last release.
    over: u64,
}

impl Backlog {
    /// Returns whether many jobs have ended and few are active, so that a release is worth its
    /// milliseconds. Called every few seconds, with the active jobs and all jobs that ever ended.
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
        // Jobs that are printed as they arrive add up as well.
        assert!(!backlog.has_gone(10, 260_000));
        assert!(backlog.has_gone(1, 261_000));
    }
}
