//! The link from the thread that sends a job to the table of jobs.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use windlass_print::{Attendant, JobProgress, Sign, Stall};
use windlass_spool_core::{DeviceStall, Moment, StallSign};

use crate::spooler::{Spooler, held};
use crate::table::now;

/// Attendant of the job at a printer's device.
pub(super) struct DeviceAttendant {
    spooler: Arc<Spooler>,
    place: usize,
    /// Bytes of the document whose data began last.
    pub(super) document_size: AtomicU64,
    /// True if progress of the device is news. The progress of a device without trouble is not
    /// reported, as the table has a lock.
    is_news: AtomicBool,
    /// Reasons that the device gave last.
    said: Mutex<Vec<String>>,
}

impl DeviceAttendant {
    pub(super) fn new(spooler: &Arc<Spooler>, place: usize, had_trouble: bool) -> Self {
        Self {
            spooler: Arc::clone(spooler),
            place,
            document_size: AtomicU64::new(0),
            is_news: AtomicBool::new(had_trouble),
            said: Mutex::default(),
        }
    }

    fn told(&self, standing: JobProgress) -> windlass_spool_core::DeviceProgress {
        use windlass_spool_core::DeviceProgress;
        let JobProgress::Stalled(Stall { waited, acknowledged, sign }) = standing else {
            return DeviceProgress::Moving;
        };
        let waited = u64::try_from(waited.as_millis()).unwrap_or(u64::MAX);
        DeviceProgress::Stalled(DeviceStall {
            since: Moment(now().0.saturating_sub(waited)),
            acknowledged,
            of: self.document_size.load(Ordering::Relaxed),
            sign: match sign {
                Sign::ClosedWindow => StallSign::ClosedWindow,
                Sign::NoAck => StallSign::NoAck,
                Sign::NoAnswer => StallSign::NoAnswer,
                Sign::Unreachable => StallSign::Unreachable,
            },
        })
    }
}

impl Attendant for DeviceAttendant {
    fn may_begin(&self) -> bool {
        let mut shared = self.spooler.lock();
        shared.table.begins(self.place);
        let logged = self.spooler.finish_change(&mut shared);
        drop(shared);
        // A broken store was reported already. A job that the store does not know as begun would be
        // sent again after a crash.
        self.spooler.committer.safe(logged).is_ok()
    }

    fn stands(&self, standing: JobProgress) {
        let is_stall = matches!(standing, JobProgress::Stalled(_));
        if self.is_news.swap(is_stall, Ordering::Relaxed) || is_stall {
            let standing = self.told(standing);
            self.spooler.lock().table.stands(self.place, standing);
        }
    }

    fn says(&self, reasons: &[String]) {
        let mut said = held(&self.said);
        if *said != reasons {
            *said = reasons.to_vec();
            self.spooler.lock().table.device_says(self.place, reasons.to_vec());
        }
    }
}
