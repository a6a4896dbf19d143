//! What the machine did in a part of a run, and what limited it.

use std::time::Duration;

use serde::Serialize;
use windlass_base::figures::Share;
use windlass_base::{Bytes, Rate, Sentence, Span, sentence};
use windlass_host::sample::Sample;
use windlass_host::{Interval, Source, Wanted};
use windlass_print::load::Queued;

/// From here on a processor or a disk is at its limit. A part of a run begins and
/// ends with less to do, so it is lower than that of an interval
/// ([`windlass_host::findings::FULL`]).
const FULL: f64 = 0.85;

/// From here on what is waited for is the disk.
const WAITS: f64 = 0.4;

/// From here on what other programs did is told, as a share of one processor.
const OTHERS: f64 = 0.2;

/// Processor time counts in ticks of 10 ms: of less than this nothing is told.
const SHORTEST: f64 = 0.1;

/// What limited a part of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LimitKind {
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
}

/// A process that is watched.
#[derive(Clone, Debug, Serialize)]
pub struct Process {
    /// Its number.
    pub pid: u32,
    /// What it is called.
    pub name: String,
    /// Processor time, as a share of one processor.
    pub cpu_share: Option<f64>,
    /// How many threads it has.
    pub threads: u64,
    /// Its memory.
    pub resident_bytes: Bytes,
    /// What it writes to disks, where that may be known.
    pub written_bytes_per_second: Option<Rate>,
}

/// The disk with most to do.
#[derive(Clone, Debug, Serialize)]
pub struct Disk {
    /// What it is called.
    pub name: String,
    /// The share of the time in which something was under way.
    pub utilisation: f64,
    /// What is written to it.
    pub written_bytes_per_second: Rate,
    /// How long a request took; nothing where there was none.
    pub await_seconds: Option<Span>,
}

/// What the machine did.
#[derive(Clone, Debug, Serialize)]
pub struct Figures {
    /// For how long.
    pub seconds: Span,
    /// The share of all processors' time in which they worked.
    pub busy_share: f64,
    /// In which they waited for a disk.
    pub iowait_share: f64,
    /// How many there are.
    pub processors: usize,
    /// The processes of the server that are watched.
    pub server: Vec<Process>,
    /// The processor time of windlass, as a share of one processor.
    pub client_cpu_share: f64,
    /// That of the programs that it ran.
    pub programs_cpu_share: f64,
    /// The disk with most to do; nothing where none did anything.
    pub disk: Option<Disk>,
}

/// Takes samples between which there are parts.
#[derive(Debug)]
pub(super) struct Looker {
    source: Source,
    wanted: Vec<Wanted>,
    last: Option<(Sample, Spent)>,
}

/// Processor time of this process, and of the programs that it ran.
#[derive(Clone, Copy, Debug)]
struct Spent {
    own: Duration,
    programs: Duration,
}

impl Spent {
    fn now() -> Self {
        use windlass_host::cpu;
        Self { own: cpu::of_this_process().total(), programs: cpu::of_ended_children().total() }
    }
}

impl Looker {
    /// Of the machine and these processes; nothing where it tells nothing.
    pub(super) fn new(wanted: Vec<Wanted>) -> Option<Self> {
        let source = Source::open(std::path::Path::new("/"), &wanted, &[]).ok()?;
        let mut looker = Self { source, wanted, last: None };
        looker.look();
        Some(looker)
    }

    /// What happened since the last look.
    pub(super) fn look(&mut self) -> Option<Figures> {
        let now = (self.source.sample().ok()?, Spent::now());
        let (before, spent) = self.last.replace(now.clone())?;
        let interval = Interval::between(&before, &now.0, self.source.scale, &self.wanted);
        let share = |from: Duration, to: Duration| {
            to.saturating_sub(from).as_secs_f64() / interval.seconds()
        };
        let cpu = interval.host.cpu;
        let disk = interval.disks.iter().max_by(|one, other| {
            let key = |disk: &windlass_host::rates::DiskRates| disk.utilisation;
            key(one).total_cmp(&key(other))
        });
        let disk = disk.filter(|disk| disk.utilisation > 0.0).map(|disk| Disk {
            name: disk.name.clone(),
            utilisation: disk.utilisation,
            written_bytes_per_second: disk.written_bytes_per_second,
            await_seconds: disk.await_seconds,
        });
        let server = interval.processes.iter().map(|process| Process {
            pid: process.pid,
            name: process.name.clone(),
            cpu_share: process.cpu_share,
            threads: process.threads,
            resident_bytes: process.resident_bytes,
            written_bytes_per_second: process.written_bytes_per_second,
        });
        Some(Figures {
            seconds: Span::from_seconds(interval.seconds()),
            busy_share: cpu.busy(),
            iowait_share: cpu.iowait_share,
            processors: now.0.stat.cores.len().max(1),
            server: server.collect(),
            client_cpu_share: share(spent.own, now.1.own),
            programs_cpu_share: share(spent.programs, now.1.programs),
            disk,
        })
    }
}

impl Figures {
    /// The process of the server with most to do.
    fn busiest(&self) -> Option<(&Process, f64)> {
        let known = self.server.iter().filter_map(|it| Some((it, it.cpu_share?)));
        known.max_by(|one, other| one.1.total_cmp(&other.1))
    }

    /// What limited it, where that is the machine.
    fn of_machine(&self) -> Option<Limit> {
        let limit = |limit, sentence| Some(Limit { limit, sentence });
        let server = self.busiest().filter(|(_, share)| *share >= FULL);
        // A server with more than that works on several things at once.
        if let Some((process, share)) = server.filter(|(_, share)| *share < 1.0 + (1.0 - FULL)) {
            let sentence = sentence!(
                "{} ({}) had {} of one processor: it is the server's own work, on one core, that \
                 limits it.",
                process.name,
                process.pid,
                Share(share)
            );
            return limit(LimitKind::ServerCore, sentence);
        }
        let full = self.disk.as_ref().filter(|disk| {
            disk.utilisation >= FULL || (self.iowait_share >= WAITS && disk.utilisation >= WAITS)
        });
        if let Some(disk) = full {
            let sentence = sentence!(
                "The disk {} was busy {} of the time, with {} written to it, and processors waited \
                 for disks {} of theirs.",
                disk.name,
                Share(disk.utilisation),
                disk.written_bytes_per_second,
                Share(self.iowait_share)
            );
            return limit(LimitKind::Disk, sentence);
        }
        if self.busy_share >= FULL {
            let mut parts = vec![sentence!("windlass {}", Share(self.client_cpu_share))];
            if self.programs_cpu_share > 0.0 {
                let programs = Share(self.programs_cpu_share);
                parts.push(sentence!("the programs that it ran {programs}"));
            }
            let server = self.server.iter().filter_map(|it| Some((it, it.cpu_share?)));
            parts.extend(server.map(|(it, share)| sentence!("{} {}", it.name, Share(share))));
            let known = self.server.iter().filter_map(|it| it.cpu_share).sum::<f64>()
                + self.client_cpu_share
                + self.programs_cpu_share;
            let others = self.busy_share * self.processors as f64 - known;
            if others >= OTHERS {
                parts.push(sentence!("others {}", Share(others)));
            }
            let sentence = sentence!(
                "All {} processors of this machine worked {} of the time. Of one processor: {}.",
                self.processors,
                Share(self.busy_share),
                joined(&parts)
            );
            return limit(LimitKind::Processors, sentence);
        }
        None
    }

    /// What limited the queueing.
    pub(super) fn of_queueing(&self, queued: &Queued, connections: usize, lp: bool) -> Limit {
        let seconds = queued.queueing.seconds.as_seconds();
        if seconds < SHORTEST || queued.counts.acknowledged == 0 {
            return unknown("It was over too soon, or nothing was queued.");
        }
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
            }
            return limit;
        }
        let busiest = queued.most_cpu.as_secs_f64() / seconds;
        let programs = self.programs_cpu_share / connections as f64;
        if lp && programs >= FULL {
            let sentence = sentence!(
                "The programs that were run for the jobs had {} of a processor: beginning and \
                 ending them is most of the work.",
                Share(self.programs_cpu_share)
            );
            return Limit { limit: LimitKind::Client, sentence };
        }
        if busiest >= FULL {
            let sentence = sentence!(
                "Windlass itself had {} of a processor in one of its threads. More --connections \
                 share the work.",
                Share(busiest)
            );
            return Limit { limit: LimitKind::Client, sentence };
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
                return Limit { limit: LimitKind::ServerReads, sentence };
            }
            let on_the_way = waited.busy.saturating_sub(waited.receiver_limited);
            if self.server.is_empty() && share(on_the_way) >= FULL {
                let sentence = sentence!(
                    "Data was on its way {} of the time, and {} segments were sent again: the \
                     network carries no more on {connections} connections.",
                    Share(share(on_the_way)),
                    waited.retransmissions
                );
                return Limit { limit: LimitKind::Network, sentence };
            }
        }
        let cpu = match self.busiest() {
            Some((process, share)) => sentence!("{} had {} of one", process.name, Share(share)),
            None => "what the server's processors did cannot be seen from here".into(),
        };
        let work = if lp { "program" } else { "connection" };
        let sentence = sentence!(
            "No processor and no disk of this machine was at its limit ({cpu}): each {work} waited \
             for its answers, {median} for one of two jobs. More --connections tell whether the \
             server takes more."
        );
        Limit { limit: LimitKind::Answers, sentence }
    }

    /// What limited the processing.
    pub(super) fn of_processing(&self) -> Limit {
        if self.seconds.as_seconds() < SHORTEST {
            return unknown("It was over too soon: the jobs were done as they came.");
        }
        self.of_machine().unwrap_or_else(|| {
            let cpu = match self.busiest() {
                Some((process, share)) => {
                    sentence!("{} had {} of one processor", process.name, Share(share))
                }
                None => "the server's processors cannot be seen from here".into(),
            };
            let disk = match &self.disk {
                Some(disk) => {
                    sentence!(", and the disk {} was busy {}", disk.name, Share(disk.utilisation))
                }
                None => Sentence::new(),
            };
            unknown(sentence!(
                "No processor and no disk of this machine was at its limit: {cpu}{disk}. It waits \
                 for its printers, or for something of its own."
            ))
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

fn unknown(why: impl Into<Sentence>) -> Limit {
    Limit { limit: LimitKind::Unknown, sentence: why.into() }
}

/// Where the machine tells nothing.
pub(super) fn unseen() -> Limit {
    unknown("What this machine did is not known.")
}

#[cfg(test)]
#[path = "limits_tests.rs"]
mod tests;
