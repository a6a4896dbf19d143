//! The message of a job, for people.

use std::borrow::Cow;

use crate::job::{Ending, Job, Phase};
use crate::moment::Moment;
use crate::printer::Printer;

/// Returns what there is to say of a job: how its device stands with it, as long as that has it, and
/// else why it did not go.
pub fn job_message<'a, D>(job: &'a Job<D>, device: &Printer, now: Moment) -> Cow<'a, str> {
    if device.current == Some(job.id) && !job.is_canceled() {
        return Cow::from(device.message(now));
    }
    let is_fine = matches!(job.phase, Phase::Over { how: Ending::Completed, .. });
    // What was printed in part before it was printed whole is worth a word.
    let failure = job.failure.as_deref().filter(|_| !is_fine || job.broken_off > 0);
    Cow::from(failure.unwrap_or_default())
}
