//! `--send-buffer auto`: the send buffer that the job itself shows to be needed.
//!
//! The beginning of the job is analysed while it is sent to the printer, as `--explain` does:
//! nothing is printed twice. If the send buffer is the limit, the buffer of the live connection is
//! raised to the size by the law.

use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use windlass_base::{Bytes, Failure, Span};

use super::choice::{Choice, Outcome, VerdictSource};
use super::gauge::{Gauge, JobBeginning};
use super::packets::{CapturedPackets, Packets, by_laws};
use super::report::seen_by_kernel;

/// Number of acknowledgements before the job is judged: a wait that occurs once does not come from
/// a buffer.
const ROUNDS: u32 = 8;

/// Shortest time before the job is judged: slow start is over on most paths then.
const MIN: Duration = Duration::from_secs(1);

/// Time after which the job is judged by the available data.
const MAX: Duration = Duration::from_secs(5);

/// Beginning of the job, and the kernel's choice for it.
struct LearningInput {
    kernel: Option<Choice>,
    so_far: Option<JobBeginning>,
}

impl LearningInput {
    fn new(so_far: Option<JobBeginning>) -> Self {
        Self { kernel: so_far.as_ref().and_then(seen_by_kernel), so_far }
    }

    /// Returns the choice by the packets, or else by the kernel.
    fn advice(&self, captured: Option<&CapturedPackets>) -> Option<Choice> {
        let kernel = self.so_far.as_ref().and_then(|so_far| so_far.stream.sender.as_ref());
        match captured.and_then(|captured| captured.connection.as_ref()) {
            Some(report) => {
                Some(Choice { by: Some(VerdictSource::Packets), ..Choice::of_both(report, kernel) })
            }
            None => {
                self.kernel.clone().map(|told| Choice { by: Some(VerdictSource::Kernel), ..told })
            }
        }
    }
}

/// State of learning.
#[expect(clippy::large_enum_variant, reason = "there is one for each run")]
enum LearningState {
    /// The job is observed.
    Looking(Option<Packets>),
    /// Its packets are analysed.
    Reading { thread: JoinHandle<Option<CapturedPackets>>, judged: LearningInput },
    /// The choice is made.
    Decided(Choice),
}

/// Learns the send buffer that a job needs.
pub(super) struct Learner {
    state: LearningState,
    /// Number of times that data was acknowledged, and all acknowledged bytes.
    rounds: u32,
    acknowledged: Bytes,
    without_packets: Option<String>,
}

impl Learner {
    /// Begins before the connection is made. If packets cannot be captured, the kernel's figures
    /// alone decide.
    pub(super) fn begin(packets: Result<Packets, Failure>) -> Self {
        let (packets, without_packets) = match packets {
            Ok(packets) => (Some(packets), None),
            Err(failure) => (None, Some(failure.in_one_line().to_string())),
        };
        Self { without_packets, ..Self::at(LearningState::Looking(packets)) }
    }

    /// Returns a learner with a choice from a file.
    pub(super) const fn decided(choice: Choice) -> Self {
        Self::at(LearningState::Decided(choice))
    }

    const fn at(state: LearningState) -> Self {
        Self { state, rounds: 0, acknowledged: Bytes::ZERO, without_packets: None }
    }

    /// Observes the job, and changes its connection once the choice is made.
    pub(super) fn tick(&mut self, gauge: &Gauge) {
        let state = std::mem::replace(&mut self.state, LearningState::Decided(Choice::default()));
        self.state = match state {
            LearningState::Looking(packets) => self.look(gauge, packets),
            LearningState::Reading { thread, judged } if thread.is_finished() => {
                let captured = thread.join().ok().flatten();
                LearningState::Decided(self.decide(captured.as_ref(), judged, Some(gauge)))
            }
            state => state,
        };
    }

    fn look(&mut self, gauge: &Gauge, packets: Option<Packets>) -> LearningState {
        let Some(so_far) = gauge.so_far(Instant::now()) else {
            return LearningState::Looking(packets);
        };
        self.rounds += u32::from(so_far.bytes > self.acknowledged);
        self.acknowledged = so_far.bytes.max(self.acknowledged);
        let is_enough = self.rounds >= ROUNDS && so_far.seconds >= MIN;
        if !is_enough && so_far.seconds < MAX {
            return LearningState::Looking(packets);
        }
        let judged = LearningInput::new(Some(so_far));
        let Some(packets) = packets else {
            return LearningState::Decided(self.decide(None, judged, Some(gauge)));
        };
        let from = gauge.ends().0;
        // Analysing takes a moment, and the job continues.
        let reading = thread::Builder::new().name("learn".to_owned());
        match reading.spawn(move || packets.end(from, by_laws).ok()) {
            Ok(thread) => LearningState::Reading { thread, judged },
            Err(error) => {
                self.without_packets = Some(format!("cannot read them: {error}"));
                LearningState::Decided(self.decide(None, judged, Some(gauge)))
            }
        }
    }

    /// Makes the choice, and raises the buffer of a connection that is still open.
    fn decide(
        &self,
        captured: Option<&CapturedPackets>,
        judged: LearningInput,
        live: Option<&Gauge>,
    ) -> Choice {
        let told = judged.advice(captured);
        let told = told.map(|told| Choice { outcome: Outcome::NotTheLimit, ..told });
        let mut choice = told.unwrap_or_default();
        choice.without_packets.clone_from(&self.without_packets);
        if let Some(so_far) = judged.so_far {
            choice.seconds = Some(Span::from_duration(so_far.seconds));
            choice.bytes = Some(so_far.bytes);
        }
        if let Some(needed) = choice.needed_bytes {
            choice.raise(needed, live.and_then(|gauge| gauge.raise(needed)));
        }
        choice
    }

    /// Ends with the job. A choice that comes too late serves the next job.
    pub(super) fn finish(self, gauge: &Gauge, end: Instant) -> Choice {
        let this = Self { state: LearningState::Decided(Choice::default()), ..self };
        match self.state {
            LearningState::Decided(choice) => choice,
            LearningState::Reading { thread, judged } => {
                this.decide(thread.join().ok().flatten().as_ref(), judged, None)
            }
            LearningState::Looking(packets) => {
                let captured =
                    packets.and_then(|packets| packets.end(gauge.ends().0, by_laws).ok());
                this.decide(captured.as_ref(), LearningInput::new(gauge.so_far(end)), None)
            }
        }
    }
}
