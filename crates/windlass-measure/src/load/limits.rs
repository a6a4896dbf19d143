//! What limited a part of a run.

use std::time::Duration;

use serde::Serialize;
use windlass_base::figures::{Share, fixed};
use windlass_base::thresholds::{BUSY_PROCESSORS, OTHER_PROGRAMS};
use windlass_base::{Sentence, Span, sentence};
use windlass_host::busiest::named;
use windlass_host::processors::SHORTEST;
use windlass_print::load::{Absences, Kind, Queued};

use super::figures::{Figures, Looked, Process};

/// From here on what is waited for is the disk.
const WAITS: f64 = 0.4;

/// From here on the server was away, or took no jobs, for most of the time: what else
/// there was mattered less.
const MOST: f64 = 0.5;

/// A disk that was busy for so much of the time is told as what is waited for, where
/// nothing was at its limit.
const BUSY: f64 = 0.2;

/// How many times as many connections are worth a try, each time twice as many, and
/// the most of `--connections`.
const TRIES: u32 = 3;
const MAX_CONNECTIONS: usize = 1_024;

/// What limited a part of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LimitKind {
    /// The server was away.
    Away,
    /// The server was full, and took no jobs until it had fewer.
    Full,
    /// One processor of the server: it does one thing after the other.
    ServerCore,
    /// All processors of this machine.
    Processors,
    /// A disk.
    Disk,
    /// The network, as the kernel's account of the connections has it.
    Network,
    /// The server does not read what is sent.
    ServerReads,
    /// Windlass itself, or the program that it runs for each job.
    Client,
    /// Nothing was at its limit: each connection waits for its answers.
    Answers,
    /// It cannot be told from here.
    Unknown,
}

/// The same with its reason.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Limit {
    /// What it was.
    pub limit: LimitKind,
    /// By which figures, in a sentence.
    pub sentence: Sentence,
    /// Jobs that were under way at once on average, by Little's law: their rate times
    /// the mean time of an answer. Nothing where that says nothing of the limit.
    pub in_flight: Option<f64>,
    /// The `--connections` that are worth a try; none where more would not help.
    pub try_connections: Vec<usize>,
}

impl Limit {
    pub(super) fn new(limit: LimitKind, sentence: Sentence) -> Self {
        Self { limit, sentence, in_flight: None, try_connections: Vec::new() }
    }
}

/// What was to be queued, and how that went.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ran<'a> {
    pub(super) queued: &'a Queued,
    pub(super) absences: &'a Absences,
    pub(super) connections: usize,
    /// True if programs handed jobs over.
    pub(super) by_program: bool,
}

impl Ran<'_> {
    /// What limited the queueing.
    pub(super) fn limit(&self, looked: &Looked) -> Limit {
        if let Some(limit) = self.of_server() {
            return limit;
        }
        let seconds = self.queued.queueing.seconds;
        if seconds < SHORTEST || matches!(looked, Looked::TooShort) {
            return too_short("All of it");
        }
        if self.queued.counts.acknowledged == 0 {
            return unknown("Nothing was queued.");
        }
        match looked {
            Looked::Seen(figures) => figures.of_queueing(self),
            Looked::TooShort | Looked::Unseen => unseen(),
        }
    }

    /// The server itself says what it was, by being away or by its refusals.
    fn of_server(&self) -> Option<Limit> {
        let all = self.queued.queueing.seconds;
        let is_most =
            |part: Span| part > Span::ZERO && part.as_seconds() >= MOST * all.as_seconds();
        let away = self.absences.within(all);
        if is_most(away) {
            let sentence = sentence!(
                "The server was away for {away} of {all}: it took no connections in that time."
            );
            return Some(Limit::new(LimitKind::Away, sentence));
        }
        let (full, kind) = self.queued.wrong.full_for(all)?;
        if !is_most(full) {
            return None;
        }
        let why = match kind {
            Kind::TooManyJobs => {
                "it had as many jobs as it may, and took others only as those were done. It \
                 processes them no faster; a higher limit (MaxJobs of CUPS) moves that to later"
            }
            Kind::Busy => "it did another job, and took none meanwhile",
            _ => {
                "its spool had no room, and took jobs only as others were done. It processes them \
                 no faster; a larger spool moves that to later"
            }
        };
        let sentence = sentence!("The server was full for {full} of {all}: {why}.");
        Some(Limit::new(LimitKind::Full, sentence))
    }
}

impl Figures {
    /// What limited it, where that is the machine.
    fn of_machine(&self) -> Option<Limit> {
        let limit = |limit, sentence| Some(Limit::new(limit, sentence));
        // Of several threads that have half of one each, none is at its limit: they may
        // wait at work, as those of `windlass spool serve` do.
        let thread = self.busiest_thread().filter(|(_, share)| *share >= BUSY_PROCESSORS.get());
        if let Some((process, share)) = thread {
            let mut sentence = sentence!(
                "{process.name} ({process.pid}) had {} of one processor in one thread: it is the \
                 server's own work, on one core, that limits it.",
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
                 {disk.written_bytes_per_second} written to it, and processors waited for disks {} \
                 of theirs.",
                Share(disk.utilisation),
                Share(self.iowait_share)
            );
            return limit(LimitKind::Disk, sentence);
        }
        if self.busy_share >= BUSY_PROCESSORS.get() {
            let mut parts = vec![sentence!("windlass {}", Share(self.client_cpu_share))];
            if self.programs_cpu_share > 0.0 {
                let programs = Share(self.programs_cpu_share);
                parts.push(sentence!("the programs that it ran {programs}"));
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
                "All {self.processors} processors of this machine worked {} of the time. Of one \
                 processor: {}.",
                Share(self.busy_share),
                joined(&parts)
            );
            self.name_others(&mut sentence);
            return limit(LimitKind::Processors, sentence);
        }
        None
    }

    /// The thread of the server with most to do, and its process.
    fn busiest_thread(&self) -> Option<(&Process, f64)> {
        let of = |it: &Process| match (it.busiest_thread_share, it.threads) {
            (Some(share), _) => Some(share),
            // It has but one.
            // More it cannot have had, but by an error of the clock.
            (None, 1) => it.cpu_share.filter(|share| *share < 1.0 + (1.0 - BUSY_PROCESSORS.get())),
            (None, _) => None,
        };
        let known = self.server.iter().filter_map(|it| Some((it, of(it)?)));
        known.max_by(|one, other| one.1.total_cmp(&other.1))
    }

    /// Names who has nothing to do with the load and took much of the machine.
    fn name_others(&self, sentence: &mut Sentence) {
        let much: Vec<Sentence> = self
            .others
            .iter()
            .filter(|other| other.cpu_share >= OTHER_PROGRAMS.get())
            .map(named)
            .collect();
        if !much.is_empty() {
            sentence.push(&sentence!(" What has nothing to do with the load: {}.", joined(&much)));
        }
    }

    fn of_queueing(&self, ran: &Ran<'_>) -> Limit {
        let Ran { queued, connections, by_program: lp, .. } = *ran;
        let seconds = queued.queueing.seconds.as_seconds();
        let core = self.of_machine().filter(|it| it.limit == LimitKind::ServerCore);
        if let Some(mut limit) = core {
            if connections == 1 {
                // Some servers have a thread for each connection, and some, as
                // `windlass spool serve`, await the next request at work.
                limit.sentence.push(
                    " One connection shows no more of a server than one thread, and waiting for \
                     the next job may be part of its work: more --connections tell whether it \
                     takes more.",
                );
                limit.try_connections = more_connections(connections);
            }
            return limit;
        }
        let busiest = queued.most_cpu.as_secs_f64() / seconds;
        let programs = self.programs_cpu_share / connections as f64;
        if lp && programs >= BUSY_PROCESSORS.get() {
            let sentence = sentence!(
                "The programs that were run for the jobs had {} of a processor: beginning and \
                 ending them is most of the work.",
                Share(self.programs_cpu_share)
            );
            return Limit::new(LimitKind::Client, sentence);
        }
        if busiest >= BUSY_PROCESSORS.get() {
            let sentence = sentence!(
                "Windlass itself had {} of a processor in one of its threads. More --connections \
                 share the work.",
                Share(busiest)
            );
            return Limit::new(LimitKind::Client, sentence);
        }
        self.of_machine().unwrap_or_else(|| self.of_waiting(queued, connections, lp))
    }

    /// Nothing here was at its limit.
    fn of_waiting(&self, queued: &Queued, connections: usize, lp: bool) -> Limit {
        let median = queued.queueing.latency_seconds.map_or(Span::ZERO, |latency| latency.p50);
        let all = queued.queueing.seconds.as_seconds() * connections as f64;
        if let Some(waited) = queued.waited {
            let share = |time: Duration| time.as_secs_f64() / all;
            if share(waited.receiver_limited) >= WAITS {
                let sentence = sentence!(
                    "The server's window was full {} of the time: it reads no faster. Nothing of \
                     this machine was at its limit.",
                    Share(share(waited.receiver_limited))
                );
                return Limit::new(LimitKind::ServerReads, sentence);
            }
            let on_the_way = waited.busy.saturating_sub(waited.receiver_limited);
            if self.server.is_empty() && share(on_the_way) >= BUSY_PROCESSORS.get() {
                let sentence = sentence!(
                    "Data was on its way {} of the time, and {waited.retransmissions} segments \
                     were sent again: the network carries no more on {connections} connections.",
                    Share(share(on_the_way))
                );
                return Limit::new(LimitKind::Network, sentence);
            }
        }
        let mut cpu = match self.busiest() {
            Some((process, share)) => sentence!("{process.name} had {} of one", Share(share)),
            None => "what the server's processors did cannot be seen from here".into(),
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
                " The disk {disk.name} was busy {} of the time{took}: a server that syncs it \
                 before it answers waits for it.",
                Share(disk.utilisation)
            ));
        }
        self.name_others(&mut sentence);
        let mut limit = Limit::new(LimitKind::Answers, sentence);
        self.little(&mut limit, queued, connections);
        limit
    }

    /// What more connections would bring, by Little's law (J. D. C. Little, "A proof for
    /// the queuing formula: L = λ W", Operations Research 9, 1961): so many jobs are
    /// under way as come in a second times the seconds that each takes. As long as an
    /// answer takes no longer, twice as many under way are twice the rate.
    fn little(&self, limit: &mut Limit, queued: &Queued, connections: usize) {
        let Some(latency) = queued.queueing.latency_seconds else { return };
        let in_flight = queued.queueing.jobs_per_second * latency.mean.as_seconds();
        limit.in_flight = Some(in_flight);
        let tries = more_connections(connections);
        if tries.is_empty() {
            return;
        }
        let words = tries.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        limit.sentence.push(&sentence!(
            " By Little's law {} jobs under way at once, {latency.mean} for each on average, are \
             the {} jobs/s that were measured; twice as many are twice the rate as long as an \
             answer takes no longer. The processors were busy {}, so there is room: try \
             --connections {words}.",
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
                    sentence!("{process.name} had {} of one processor{children}", Share(share))
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
                "No processor and no disk of this machine was at its limit: {cpu}{disk}. It waits \
                 for its printers, or for something of its own."
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

/// What is known of how jobs were processed, beside what the machine did.
#[derive(Clone, Copy, Debug)]
pub(super) struct Processed {
    /// The time for which that took.
    pub(super) seconds: Span,
    /// True if all were.
    pub(super) is_complete: bool,
    /// The time for which the server was away meanwhile.
    pub(super) away: Span,
    /// Printers that are stopped, where that was asked.
    pub(super) stopped_printers: usize,
}

/// What limited the processing.
pub(super) fn of_processing(processed: Processed, looked: &Looked) -> Limit {
    let Processed { seconds, is_complete, away, stopped_printers } = processed;
    if away > Span::ZERO && away.as_seconds() >= MOST * seconds.as_seconds() {
        let sentence = sentence!(
            "The server was away for {away} of {seconds}: it took no connections in that time."
        );
        return Limit::new(LimitKind::Away, sentence);
    }
    if stopped_printers > 0 {
        let printers = if stopped_printers == 1 { "printer is" } else { "printers are" };
        return unknown(sentence!(
            "{stopped_printers} {printers} stopped, and jobs wait there: nothing is processed."
        ));
    }
    match looked {
        _ if seconds < SHORTEST && is_complete => {
            too_short("The jobs were done as they came: what was left")
        }
        Looked::TooShort => too_short("All of it"),
        Looked::Seen(figures) => figures.of_processing(),
        Looked::Unseen => unseen(),
    }
}

/// More connections that are worth a try: twice as many, and so on.
fn more_connections(connections: usize) -> Vec<usize> {
    let tries = (1..=TRIES).map(|twice| connections.saturating_mul(1 << twice));
    tries.filter(|tries| *tries <= MAX_CONNECTIONS).collect()
}

fn too_short(what: &str) -> Limit {
    unknown(sentence!(
        "{what} took less than {SHORTEST}: the kernel counts processors' time in ticks of 10 ms, so \
         of less no share can be told."
    ))
}

fn unknown(why: impl Into<Sentence>) -> Limit {
    Limit::new(LimitKind::Unknown, why.into())
}

/// Where the machine tells nothing.
pub(super) fn unseen() -> Limit {
    unknown("What this machine did is not known.")
}

#[cfg(test)]
#[path = "limits_tests.rs"]
mod tests;
