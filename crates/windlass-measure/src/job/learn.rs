//! `--send-buffer auto`: the send buffer that the job itself shows to be needed.
//!
//! The beginning of the job is looked at, as `--explain` does, while it goes to the
//! printer: nothing is printed twice. Where the send buffer held it back, the
//! buffer of the live connection is raised to what the law asks for.

use std::path::PathBuf;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde::Serialize;
use windlass_base::{Because, Bytes, Failure, Limit, Rate, Span};
use windlass_drive::report::DirectionReport;
use windlass_drive::socket::Raised;

use super::gauge::{Beginning, Gauge};
use super::packets::{Captured, Packets};
use super::report::seen_by_kernel;

/// So often something is to be acknowledged before the job is judged: a wait that
/// comes once is none that a buffer makes.
const ROUNDS: u32 = 8;

/// And for so long it has run: slow start is over on most paths then.
const MIN: Duration = Duration::from_secs(1);

/// It is judged by what there is after so long.
const MAX: Duration = Duration::from_secs(5);

/// What told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum By {
    /// The job's own packets.
    Packets,
    /// This end's kernel.
    Kernel,
    /// A capture or a report.
    File,
}

/// What came of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// The buffer was set before the connection was made.
    Set,
    /// It was raised on the live connection.
    Raised,
    /// It has that size already: the kernel sized it.
    Enough,
    /// The kernel grants no more than it has.
    Refused,
    /// Something else held the job back.
    NotTheLimit,
    /// The job was over before: it is known for the next one.
    TooLate,
    /// There was too little to judge by.
    #[default]
    Unknown,
}

/// The send buffer that was chosen, and why.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Choice {
    /// What came of it.
    pub outcome: Outcome,
    /// What told; nothing where nothing did.
    pub by: Option<By>,
    /// The file that did.
    pub file: Option<PathBuf>,
    /// Why no packets were looked at; nothing where they were, or a file told.
    pub without_packets: Option<String>,
    /// When it was judged, from the first byte of the data; nothing where a file told.
    pub seconds: Option<Span>,
    /// What was acknowledged by then.
    pub bytes: Option<Bytes>,
    /// What held it back.
    pub limit: Option<Limit>,
    /// The reason of that.
    pub because: Option<Because>,
    /// The share of the time that it cost.
    pub share: Option<f64>,
    /// The same for people.
    pub sentence: Option<String>,
    /// The send buffer that the law asks for; nothing where another limit holds.
    pub needed_bytes: Option<Bytes>,
    /// The rate to expect with it.
    pub expected_bytes_per_second: Option<Rate>,
    /// The buffer before, as the kernel counts it.
    pub before_bytes: Option<Bytes>,
    /// What was asked for; nothing where nothing was.
    pub asked_bytes: Option<Bytes>,
    /// What the kernel has since, as it counts it.
    pub granted_bytes: Option<Bytes>,
    /// The rate up to then; nothing where nothing was changed.
    pub bytes_per_second_before: Option<Rate>,
    /// The rate from then on.
    pub bytes_per_second_after: Option<Rate>,
}

impl Choice {
    /// What a file says, for a connection that is to be made.
    pub(super) fn of_file(self, file: PathBuf) -> Self {
        let asked_bytes = self.needed_bytes;
        let outcome = if asked_bytes.is_some() { Outcome::Set } else { Outcome::NotTheLimit };
        Self { outcome, by: Some(By::File), file: Some(file), asked_bytes, ..self }
    }

    /// What the live connection did with the size that is needed; nothing where it
    /// takes no more.
    fn raise(&mut self, needed: Bytes, raised: Option<Raised>) {
        let Some(raised) = raised else {
            self.outcome = Outcome::TooLate;
            return;
        };
        (self.before_bytes, self.granted_bytes) = (Some(raised.before), Some(raised.granted));
        self.outcome = if raised.granted > raised.before {
            self.asked_bytes = Some(needed);
            Outcome::Raised
        } else if raised.is_enough {
            Outcome::Enough
        } else {
            Outcome::Refused
        };
    }

    /// Says what the job went like since: `all` is the whole of it.
    pub(super) fn close(&mut self, all: Option<&DirectionReport>) {
        match self.outcome {
            Outcome::Set => {
                let stream = all.and_then(|all| all.streams.first());
                self.granted_bytes = stream.map(|stream| stream.granted_send_buffer_bytes);
            }
            Outcome::Raised => {
                let then = self.bytes.zip(self.seconds);
                if let (Some((bytes, seconds)), Some(all)) = (then, all) {
                    let later = Bytes::new(all.bytes.get().saturating_sub(bytes.get()));
                    let time = (all.seconds - seconds).or_zero();
                    self.bytes_per_second_before = Some(bytes.per(seconds));
                    self.bytes_per_second_after = (time > Span::ZERO).then(|| later.per(time));
                }
            }
            _ => {}
        }
    }
}

/// The beginning of the job, and what this end's kernel says of it.
struct Judged {
    kernel: Option<Choice>,
    so_far: Option<Beginning>,
}

impl Judged {
    fn new(so_far: Option<Beginning>) -> Self {
        Self { kernel: so_far.as_ref().and_then(seen_by_kernel), so_far }
    }

    /// What the packets say, or else the kernel.
    fn advice(&self, captured: Option<&Captured>) -> Option<Choice> {
        let kernel = self.so_far.as_ref().and_then(|so_far| so_far.stream.sender.as_ref());
        match captured.and_then(|captured| captured.connection.as_ref()) {
            Some(report) => {
                Some(Choice { by: Some(By::Packets), ..Choice::of_both(report, kernel) })
            }
            None => self.kernel.clone().map(|told| Choice { by: Some(By::Kernel), ..told }),
        }
    }
}

/// How far it is.
#[expect(clippy::large_enum_variant, reason = "there is one for each run")]
enum LearningState {
    /// The job is looked at.
    Looking(Option<Packets>),
    /// Its packets are read.
    Reading { thread: JoinHandle<Option<Captured>>, judged: Judged },
    /// It is decided.
    Decided(Choice),
}

/// Learns from a job what send buffer it needs.
pub(super) struct Learner {
    state: LearningState,
    /// How often something was acknowledged, and how much in all.
    rounds: u32,
    acknowledged: Bytes,
    without_packets: Option<String>,
}

impl Learner {
    /// Begins, before the connection is made. Where no packets may be captured,
    /// the kernel's own account has to do.
    pub(super) fn begin(packets: Result<Packets, Failure>) -> Self {
        let (packets, without_packets) = match packets {
            Ok(packets) => (Some(packets), None),
            Err(failure) => (None, Some(failure.in_one_line().to_string())),
        };
        Self { without_packets, ..Self::at(LearningState::Looking(packets)) }
    }

    /// One that was told by a file.
    pub(super) const fn decided(choice: Choice) -> Self {
        Self::at(LearningState::Decided(choice))
    }

    const fn at(state: LearningState) -> Self {
        Self { state, rounds: 0, acknowledged: Bytes::ZERO, without_packets: None }
    }

    /// Looks at the job, and changes its connection once it is known how.
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
        let judged = Judged::new(Some(so_far));
        let Some(packets) = packets else {
            return LearningState::Decided(self.decide(None, judged, Some(gauge)));
        };
        let from = gauge.ends().0;
        // It takes a moment, and the job goes on.
        let reading = thread::Builder::new().name("learn".to_owned());
        match reading.spawn(move || packets.end(from).ok()) {
            Ok(thread) => LearningState::Reading { thread, judged },
            Err(error) => {
                self.without_packets = Some(format!("cannot read them: {error}"));
                LearningState::Decided(self.decide(None, judged, Some(gauge)))
            }
        }
    }

    /// Decides, and raises the buffer of a connection that is there still.
    fn decide(&self, captured: Option<&Captured>, judged: Judged, live: Option<&Gauge>) -> Choice {
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

    /// Ends with the job. What was not decided by then is known for the next one.
    pub(super) fn finish(self, gauge: &Gauge, end: Instant) -> Choice {
        let this = Self { state: LearningState::Decided(Choice::default()), ..self };
        match self.state {
            LearningState::Decided(choice) => choice,
            LearningState::Reading { thread, judged } => {
                this.decide(thread.join().ok().flatten().as_ref(), judged, None)
            }
            LearningState::Looking(packets) => {
                let captured = packets.and_then(|packets| packets.end(gauge.ends().0).ok());
                this.decide(captured.as_ref(), Judged::new(gauge.so_far(end)), None)
            }
        }
    }
}
