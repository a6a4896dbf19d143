//! The message of a job, for people.

use std::borrow::Cow;

use crate::job::{Ending, Job, Phase};
use crate::moment::Moment;
use crate::printer::Printer;

/// Returns the message of a job: the state of its device while the device has the job, otherwise
/// the reason of its failure.
pub fn job_message<'a, D>(job: &'a Job<D>, device: &Printer, now: Moment) -> Cow<'a, str> {
    if device.current == Some(job.id) && !job.is_canceled() {
        return Cow::from(device.message(now));
    }
    let is_fine = matches!(job.phase, Phase::Over { how: Ending::Completed, .. });
    // A partial print is reported even if the job was printed whole later.
    let failure = job.failure.as_deref().filter(|_| !is_fine || job.broken_off > 0);
    Cow::from(failure.unwrap_or_default())
}
