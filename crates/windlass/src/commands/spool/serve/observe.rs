//! Limits of transfers to devices, by the figures of this host's kernel.

use std::sync::Arc;
use std::time::Duration;

use windlass_base::verdict::{Remedy, Verdict};
use windlass_measure::job::JobWatch;
use windlass_output::verdict;
use windlass_print::Monitor;
use windlass_spool::{Observation, Observer, TransferLimit};

/// Observes each connection that carries a job.
#[derive(Debug)]
pub(super) struct KernelObserver;

impl Observer for KernelObserver {
    fn begin(&self) -> Arc<dyn Observation> {
        Arc::new(JobObservation(JobWatch::begin()))
    }
}

/// An observed job.
struct JobObservation(JobWatch);

impl Observation for JobObservation {
    fn monitor(&self) -> Monitor {
        self.0.monitor()
    }

    fn tick(&self) {
        self.0.tick();
    }

    fn pause(&self) -> Duration {
        self.0.pause()
    }

    fn limit(&self, monitor: &Monitor) -> Option<TransferLimit> {
        let (verdict, bytes) = self.0.verdict(monitor)?;
        let Verdict { cause, confidence, sentence, remedies, .. } = &verdict;
        let measured = verdict.measured_bytes_per_second;
        let in_words = |remedy: &Remedy| verdict::remedy_text(remedy, measured).plain();
        Some(TransferLimit {
            cause: verdict::cause(*cause).into(),
            confidence: confidence.id().into(),
            sentence: sentence.to_string().into(),
            remedy: remedies.first().map(in_words).unwrap_or_default().into(),
            bytes: bytes.get(),
            bytes_per_second: windlass_base::whole_part(measured.bytes_per_second()),
        })
    }
}
