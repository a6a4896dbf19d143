//! Limit of a part of a run.

use std::time::Duration;

use serde::Serialize;
use windlass_base::figures::{Share, fixed};
use windlass_base::thresholds::{BUSY_PROCESSORS, OTHER_PROGRAMS};
use windlass_base::{Sentence, Span, sentence};
use windlass_host::busiest::named;
use windlass_host::processors::SHORTEST;
use windlass_print::load::{Absences, ProblemKind, QueueingResult};

use super::figures::{Figures, PartFigures, Process};

/// Share of the time spent waiting for the disk from which the disk is the limit.
const WAITS: f64 = 0.4;

/// Share of the time without a server, or with a full one, from which this is the limit.
const MOST: f64 = 0.5;

/// Share of the time with a busy disk from which it is named if nothing was at its limit.
const BUSY: f64 = 0.2;

/// Number of suggestions for more connections, each twice as many, and the maximum of
/// `--connections`.
const TRIES: u32 = 3;
const MAX_CONNECTIONS: usize = 1_024;

/// Kind of a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LimitKind {
    /// The server was away.
    Away,
    /// The server was full, and accepted no jobs until it had fewer.
    Full,
    /// One processor of the server, which works serially.
    ServerCore,
    /// All processors of this machine.
    Processors,
    /// A disk.
    Disk,
    /// The network, by the kernel's figures of the connections.
    Network,
    /// The server does not read the data.
    ServerReads,
    /// windlass itself, or the program that it runs for each job.
    Client,
    /// Nothing was at its limit: each connection waits for its answers.
    Answers,
    /// The limit cannot be determined from here.
    Unknown,
}

/// A limit with its reason.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Limit {
    /// Kind of the limit.
    pub limit: LimitKind,
    /// Figures that show the limit, in a sentence.
    pub sentence: Sentence,
    /// Mean number of jobs in progress, by Little's law: their rate times the mean time of an
    /// answer. Nothing if this does not explain the limit.
    pub in_flight: Option<f64>,
    /// Values of `--connections` to try; none if more would not help.
    pub try_connections: Vec<usize>,
}

impl Limit {
    pub(super) fn new(limit: LimitKind, sentence: Sentence) -> Self {
        Self { limit, sentence, in_flight: None, try_connections: Vec::new() }
    }
}

/// A queueing run, as it is judged.
#[derive(Clone, Copy, Debug)]
pub(super) struct QueueingRun<'a> {
    pub(super) queued: &'a QueueingResult,
    pub(super) absences: &'a Absences,
    pub(super) connections: usize,
    /// True if a program submitted the jobs.
    pub(super) by_program: bool,
}

impl QueueingRun<'_> {
    /// Returns the limit of the queueing.
    pub(super) fn limit(&self, looked: &PartFigures) -> Limit {
        if let Some(limit) = self.of_server() {
            return limit;
        }
        let seconds = self.queued.queueing.seconds;
        if seconds < SHORTEST || matches!(looked, PartFigures::TooShort) {
            return too_short("The run");
        }
        if self.queued.counts.acknowledged == 0 {
            return unknown("No job was queued.");
        }
        match looked {
            PartFigures::Seen(figures) => figures.of_queueing(self),
            PartFigures::TooShort | PartFigures::Unseen => unseen(),
        }
    }

    /// Returns the limit that the server itself shows: its absence or its refusals.
    fn of_server(&self) -> Option<Limit> {
        let all = self.queued.queueing.seconds;
        let is_most =
            |part: Span| part > Span::ZERO && part.as_seconds() >= MOST * all.as_seconds();
        let away = self.absences.within(all);
        if is_most(away) {
            let sentence = sentence!(
                "The server was away for {away} of {all}: it accepted no connections in that time."
            );
            return Some(Limit::new(LimitKind::Away, sentence));
        }
        let (full, kind) = self.queued.wrong.full_for(all)?;
        if !is_most(full) {
            return None;
        }
        let why = match kind {
            ProblemKind::TooManyJobs => {
                "it had its maximum of jobs, and accepted others only as those finished. A higher \
                 limit (MaxJobs of CUPS) delays that, but does not speed up processing"
            }
            ProblemKind::Busy => "it processed another job, and accepted none meanwhile",
            _ => {
                "its spool had no room, and it accepted jobs only as others finished. A larger \
                 spool delays that, but does not speed up processing"
            }
        };
        let sentence = sentence!("The server was full for {full} of {all}: {why}.");
        Some(Limit::new(LimitKind::Full, sentence))
    }
}

impl Figures {
    /// Returns the limit of the machine, if there is one.
    fn of_machine(&self) -> Option<Limit> {
        let limit = |limit, sentence| Some(Limit::new(limit, sentence));
        // Several threads that share processors evenly are not at a limit: they may wait while
        // busy, as those of `windlass spool serve` do.
        let thread = self.busiest_thread().filter(|(_, share)| *share >= BUSY_PROCESSORS.get());
        if let Some((process, share)) = thread {
            let mut sentence = sentence!(
                "{process.name} ({process.pid}) used {} of a processor in one thread: the server's \
                 own work on one core is the limit.",
                Share(share)
            );
            self.name_others(&mut sentence);
            return limit(LimitKind::ServerCore, sentence);
        }
        let full = self.disk.as_ref().filter(|disk| {
            disk.utilisation >= BUSY_PROCESSORS.get()
                || (self.iowait_share >= WAITS && disk.utilisation >= WAITS)
        });
        if let Some(disk) = full {
            let sentence = sentence!(
                "The disk {disk.name} was busy {} of the time, with \
                 {disk.written_bytes_per_second} of writes, and processors waited for disks {} of \
                 the time.",
                Share(disk.utilisation),
                Share(self.iowait_share)
            );
            return limit(LimitKind::Disk, sentence);
        }
        if self.busy_share >= BUSY_PROCESSORS.get() {
            let mut parts = vec![sentence!("windlass {}", Share(self.client_cpu_share))];
            if self.programs_cpu_share > 0.0 {
                let programs = Share(self.programs_cpu_share);
                parts.push(sentence!("its programs {programs}"));
            }
            for process in &self.server {
                let own = Share(process.cpu_share.unwrap_or(0.0));
                parts.push(sentence!("the server {process.name} {own}"));
                if process.children_cpu_share > 0.0 {
                    let children = Share(process.children_cpu_share);
                    parts.push(sentence!("its filters and other children {children}"));
                }
            }
            let known = self.server_cpu_share() + self.client_cpu_share + self.programs_cpu_share;
            let others = self.busy_share * self.processors as f64 - known;
            if others >= OTHER_PROGRAMS.get() {
                parts.push(sentence!("others {}", Share(others)));
            }
            let mut sentence = sentence!(
                "All {self.processors} processors of this machine were busy {} of the time. Shares \
                 of a processor: {}.",
                Share(self.busy_share),
                joined(&parts)
            );
            self.name_others(&mut sentence);
            return limit(LimitKind::Processors, sentence);
        }
        None
    }

    /// Returns the busiest thread of the server, and its process.
    fn busiest_thread(&self) -> Option<(&Process, f64)> {
        let of = |it: &Process| match (it.busiest_thread_share, it.threads) {
            (Some(share), _) => Some(share),
            // The process has a single thread. A larger share is an error of the clock.
            (None, 1) => it.cpu_share.filter(|share| *share < 1.0 + (1.0 - BUSY_PROCESSORS.get())),
            (None, _) => None,
        };
        let known = self.server.iter().filter_map(|it| Some((it, of(it)?)));
        known.max_by(|one, other| one.1.total_cmp(&other.1))
    }

    /// Names other programs that used much of the machine.
    fn name_others(&self, sentence: &mut Sentence) {
        let much: Vec<Sentence> = self
            .others
            .iter()
            .filter(|other| other.cpu_share >= OTHER_PROGRAMS.get())
            .map(named)
            .collect();
        if !much.is_empty() {
            sentence.push(&sentence!(" Programs outside the load: {}.", joined(&much)));
        }
    }

    fn of_queueing(&self, ran: &QueueingRun<'_>) -> Limit {
        let QueueingRun { queued, connections, by_program: lp, .. } = *ran;
        let seconds = queued.queueing.seconds.as_seconds();
        let core = self.of_machine().filter(|it| it.limit == LimitKind::ServerCore);
        if let Some(mut limit) = core {
            if connections == 1 {
                // Some servers have one thread per connection, and some, such as `windlass spool
                // serve`, wait for the next request while busy.
                limit.sentence.push(
                    " One connection uses only one thread of a server, and waiting for the next \
                     job may be part of its work: try more --connections.",
                );
                limit.try_connections = more_connections(connections);
            }
            return limit;
        }
        let busiest = queued.most_cpu.as_secs_f64() / seconds;
        let programs = self.programs_cpu_share / connections as f64;
        if lp && programs >= BUSY_PROCESSORS.get() {
            let sentence = sentence!(
                "The programs run for the jobs used {} of a processor: starting and ending them is \
                 most of the work.",
                Share(self.programs_cpu_share)
            );
            return Limit::new(LimitKind::Client, sentence);
        }
        if busiest >= BUSY_PROCESSORS.get() {
            let sentence = sentence!(
                "windlass itself used {} of a processor in one of its threads. More --connections \
                 share the work.",
                Share(busiest)
            );
            return Limit::new(LimitKind::Client, sentence);
        }
        self.of_machine().unwrap_or_else(|| self.of_waiting(queued, connections, lp))
    }

    /// Returns the limit if nothing here was at its limit.
    fn of_waiting(&self, queued: &QueueingResult, connections: usize, lp: bool) -> Limit {
        let median = queued.queueing.latency_seconds.map_or(Span::ZERO, |latency| latency.p50);
        let all = queued.queueing.seconds.as_seconds() * connections as f64;
        if let Some(waited) = queued.waited {
            let share = |time: Duration| time.as_secs_f64() / all;
            if share(waited.receiver_limited) >= WAITS {
                let sentence = sentence!(
                    "The server's window was full {} of the time: it reads too slowly. Nothing on \
                     this machine was at its limit.",
                    Share(share(waited.receiver_limited))
                );
                return Limit::new(LimitKind::ServerReads, sentence);
            }
            let on_the_way = waited.busy.saturating_sub(waited.receiver_limited);
            if self.server.is_empty() && share(on_the_way) >= BUSY_PROCESSORS.get() {
                let sentence = sentence!(
                    "Data was in flight {} of the time, with {waited.retransmissions} \
                     retransmissions: the network carries no more over {connections} connections.",
                    Share(share(on_the_way))
                );
                return Limit::new(LimitKind::Network, sentence);
            }
        }
        let mut cpu = match self.busiest() {
            Some((process, share)) => {
                sentence!("{process.name} used {} of a processor", Share(share))
            }
            None => "the server's processors cannot be seen from here".into(),
        };
        if let Some((_, share)) = self.busiest_thread() {
            cpu.push(&sentence!(", {} in one thread", Share(share)));
        }
        let work = if lp { "program" } else { "connection" };
        let mut sentence = sentence!(
            "No processor and no disk of this machine was at its limit ({cpu}): each {work} waited \
             for the server's answers, {median} for one of two jobs."
        );
        if let Some(disk) = self.disk.as_ref().filter(|disk| disk.utilisation >= BUSY) {
            let took = disk
                .await_seconds
                .map_or_else(Sentence::new, |took| sentence!(", and took {took} for a request"));
            sentence.push(&sentence!(
                " The disk {disk.name} was busy {} of the time{took}: a server that syncs files \
                 before it answers waits for the disk.",
                Share(disk.utilisation)
            ));
        }
        self.name_others(&mut sentence);
        let mut limit = Limit::new(LimitKind::Answers, sentence);
        self.little(&mut limit, queued, connections);
        limit
    }

    /// Adds the effect of more connections by Little's law (J. D. C. Little, "A proof for the
    /// queuing formula: L = λ W", Operations Research 9, 1961). The number of jobs in progress is
    /// the arrival rate times the time of each. As long as answers take no longer, twice as many
    /// jobs in progress give twice the rate.
    fn little(&self, limit: &mut Limit, queued: &QueueingResult, connections: usize) {
        let Some(latency) = queued.queueing.latency_seconds else { return };
        let in_flight = queued.queueing.jobs_per_second * latency.mean.as_seconds();
        limit.in_flight = Some(in_flight);
        let tries = more_connections(connections);
        if tries.is_empty() {
            return;
        }
        let words = tries.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        limit.sentence.push(&sentence!(
            " By Little's law {} jobs in flight with a mean answer time of {latency.mean} give the \
             measured {} jobs/s. Twice as many give twice the rate if answers take no longer. The \
             processors were busy {}, so there is room: try --connections {words}.",
            fixed(in_flight, 1),
            fixed(queued.queueing.jobs_per_second, 0),
            Share(self.busy_share)
        ));
        limit.try_connections = tries;
    }

    fn of_processing(&self) -> Limit {
        self.of_machine().unwrap_or_else(|| {
            let cpu = match self.busiest() {
                Some((process, share)) => {
                    let children = match process.children_cpu_share {
                        share if share > 0.0 => {
                            sentence!(", and its filters and other children {}", Share(share))
                        }
                        _ => Sentence::new(),
                    };
                    sentence!("{process.name} used {} of a processor{children}", Share(share))
                }
                None => "the server's processors cannot be seen from here".into(),
            };
            let disk = match &self.disk {
                Some(disk) => {
                    sentence!(", and the disk {disk.name} was busy {}", Share(disk.utilisation))
                }
                None => Sentence::new(),
            };
            let mut sentence = sentence!(
                "No processor and no disk of this machine was at its limit: {cpu}{disk}. The \
                 server waits for its printers, or for something of its own."
            );
            self.name_others(&mut sentence);
            unknown(sentence)
        })
    }
}

fn joined(parts: &[Sentence]) -> Sentence {
    let mut all = Sentence::new();
    for (place, part) in parts.iter().enumerate() {
        all.push(if place > 0 { ", " } else { "" });
        all.push(part);
    }
    all
}

/// Facts of the processing, beside the figures of the machine.
#[derive(Clone, Copy, Debug)]
pub(super) struct ProcessingRun {
    /// Duration of the processing.
    pub(super) seconds: Span,
    /// True if all jobs were processed.
    pub(super) is_complete: bool,
    /// Time in which the server was away.
    pub(super) away: Span,
    /// Stopped printers, if the server was asked.
    pub(super) stopped_printers: usize,
}

/// Returns the limit of the processing.
pub(super) fn of_processing(processed: ProcessingRun, looked: &PartFigures) -> Limit {
    let ProcessingRun { seconds, is_complete, away, stopped_printers } = processed;
    if away > Span::ZERO && away.as_seconds() >= MOST * seconds.as_seconds() {
        let sentence = sentence!(
            "The server was away for {away} of {seconds}: it accepted no connections in that time."
        );
        return Limit::new(LimitKind::Away, sentence);
    }
    if stopped_printers > 0 {
        let printers = if stopped_printers == 1 { "printer is" } else { "printers are" };
        return unknown(sentence!(
            "{stopped_printers} {printers} stopped, and their jobs wait: nothing is processed."
        ));
    }
    match looked {
        _ if seconds < SHORTEST && is_complete => {
            too_short("The jobs finished as they arrived: the rest")
        }
        PartFigures::TooShort => too_short("The processing"),
        PartFigures::Seen(figures) => figures.of_processing(),
        PartFigures::Unseen => unseen(),
    }
}

/// Returns larger numbers of connections to try: twice as many, and so on.
fn more_connections(connections: usize) -> Vec<usize> {
    let tries = (1..=TRIES).map(|twice| connections.saturating_mul(1 << twice));
    tries.filter(|tries| *tries <= MAX_CONNECTIONS).collect()
}

fn too_short(what: &str) -> Limit {
    unknown(sentence!(
        "{what} took less than {SHORTEST}. The kernel counts CPU time in ticks of 10 ms, which is \
         too coarse for a share of so short a time."
    ))
}

fn unknown(why: impl Into<Sentence>) -> Limit {
    Limit::new(LimitKind::Unknown, why.into())
}

/// Returns the limit if the machine reports no figures.
pub(super) fn unseen() -> Limit {
    unknown("The load of this machine is unknown.")
}

#[cfg(test)]
#[path = "limits_tests.rs"]
mod tests;
