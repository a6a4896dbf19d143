//! Plan of a load, made from its arguments.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use windlass_base::{Failure, Span};
use windlass_print::load::{
    DocumentStorage, Plan, Program, RequestedDocument, Submission, expand, names,
};
use windlass_print::{
    Compression, FollowMode, Ipp, JobProtocol, Lpr, Payload, Protocol, Raw, Target, TargetError,
};
use windlass_wire::ipp::Version;

use super::args::LoadArgs;
use crate::commands::print::{host_name, user_name};

/// Minimum interval.
const SHORTEST: Span = Span::from_millis(10);

/// Prefix of job names; a number follows.
const NAME: &str = "windlass";

/// Memory that programs can read files from.
const MEMORY: &str = "/dev/shm";

impl LoadArgs {
    /// Returns the task, for messages.
    pub(super) fn doing(&self) -> String {
        format!("cannot load {}", self.target)
    }

    fn refuse<T>(&self, wrong: impl std::fmt::Display, advice: &str) -> Result<T, Failure> {
        Err(Failure::usage(self.doing(), wrong).advise(advice))
    }

    /// Returns the plan of the load and of its measurement.
    pub(super) fn measured(&self) -> Result<windlass_measure::load::Plan, Failure> {
        let load = self.plan()?;
        let asking = self.control(&load.queues)?;
        let (place, copies_in) = self.place(&load.way);
        let access = Arc::new(self.login.access(&load.user)?);
        Ok(windlass_measure::load::Plan {
            target: self.target.clone(),
            load,
            access,
            asking,
            wanted: self.wanted(),
            payload: self.payload.iter().map(|path| path.display().to_string()).collect(),
            place,
            copies_in,
            hold: self.hold,
            keep_held: self.keep_held,
            waits: !self.no_wait && !self.keep_held,
            interval: self.interval.to_duration(),
            server: self.measuring.watching.watch_processes.clone(),
        })
    }

    /// Returns the plan of the jobs.
    fn plan(&self) -> Result<Plan, Failure> {
        let queues = self.queues()?;
        let protocol = queues.first().map_or(Protocol::Ipp, |first| first.protocol);
        self.check(protocol)?;
        if protocol == Protocol::Ipp {
            one_server(&queues).or_else(|other| {
                let wrong = format!("{other} is a different server");
                self.refuse(wrong, "Load one server at a time.")
            })?;
        }
        let way = match (protocol, self.protocol) {
            (_, Some((_, true))) => Submission::Program(self.program.unwrap_or(Program::Lp)),
            (Protocol::Raw, _) => Submission::Job(JobProtocol::Raw(Raw::default())),
            (Protocol::Lpr, _) => Submission::Job(JobProtocol::Lpr(Lpr {
                data_first: false,
                stream: None,
                host: host_name(),
                number: 0,
                copies: 1,
            })),
            (Protocol::Ipp, _) => Submission::Job(JobProtocol::Ipp(Ipp {
                version: Version(2, 0),
                create_job: self.create_job,
                compression: Compression::None,
                format: self
                    .format
                    .clone()
                    .unwrap_or_else(|| "application/octet-stream".to_owned()),
                template: Vec::new(),
                follow: FollowMode::No,
            })),
        };
        let of_uri = queues.first().and_then(|first| first.user.as_ref());
        let user = user_name(self.user.as_ref(), of_uri);
        Ok(Plan {
            way,
            queues,
            jobs: self.jobs,
            connections: self.connections.into(),
            user,
            name: NAME.to_owned(),
            patience: self.patience.to_duration(),
            retry_full: self.retry_full.map(Span::to_duration),
            follows: false,
        })
    }

    /// Returns the queues.
    fn queues(&self) -> Result<Vec<Target>, Failure> {
        let protocol = self.protocol.map(|(protocol, _)| protocol);
        let failed = |wrong: TargetError| {
            let failure = Failure::usage(self.doing(), &wrong);
            match wrong {
                TargetError::NoQueue => {
                    failure.advise("Name the queue with --queues, or as lpd://HOST/QUEUE.")
                }
                TargetError::Queue => failure.advise("Leave --queues out."),
                TargetError::TwoQueues => {
                    failure.advise("Leave --queues out, or write {} in the target.")
                }
                TargetError::TwoProtocols(..) => failure.advise(
                    "Leave --protocol out; --protocol lp goes with ipp:// or with a host alone.",
                ),
                _ => failure,
            }
        };
        let named = match &self.queues {
            None => None,
            Some(list) => {
                let doing = format!("cannot read --queues {list}");
                Some(names(list).map_err(|wrong| Failure::usage(doing, wrong))?)
            }
        };
        let target =
            |text: &str, queue: Option<&str>| Target::new(text, protocol, queue).map_err(failed);
        match named {
            Some(names) if self.target.contains("{}") => {
                names.iter().map(|name| target(&self.target.replace("{}", name), None)).collect()
            }
            Some(names) => names.iter().map(|name| target(&self.target, Some(name))).collect(),
            None if self.target.contains("{}") => {
                self.refuse("nothing replaces {}", "Give names with --queues, such as 1..280.")
            }
            None => {
                let all = expand(&self.target).map_err(|wrong| {
                    Failure::usage(self.doing(), wrong).advise("Write the queues as dummy{0..279}.")
                })?;
                all.iter().map(|text| target(text, None)).collect()
            }
        }
    }

    /// Refuses options that the protocol does not have.
    fn check(&self, protocol: Protocol) -> Result<(), Failure> {
        let is_lp = self.protocol.is_some_and(|(_, is_lp)| is_lp);
        let is_ipp = protocol == Protocol::Ipp && !is_lp;
        let given = [
            ("--create-job", self.create_job, is_ipp, "IPP"),
            ("--format", self.format.is_some(), is_ipp, "IPP"),
            ("--program", self.program.is_some(), is_lp, "--protocol lp"),
        ];
        for (name, is_given, fits, of) in given {
            if is_given && !fits {
                return self.refuse(format!("{name} is an option of {of} only"), "Leave it out.");
            }
        }
        if protocol.is_data_alone() && self.hold && self.control.is_none() {
            return self.refuse(
                "printers cannot be stopped over a raw port",
                "Leave --hold out, or give the spooler's IPP address with --control.",
            );
        }
        if self.interval < SHORTEST {
            return self.refuse("the shortest interval is 10 ms", "Give a longer --interval.");
        }
        Ok(())
    }

    /// Returns the queues as IPP targets for requests about them; none without IPP.
    fn control(&self, queues: &[Target]) -> Result<Vec<Target>, Failure> {
        let Some(first) = queues.first() else { return Ok(Vec::new()) };
        let (host, is_given) = match &self.control {
            Some(uri) => (uri.clone(), true),
            None if first.protocol == Protocol::Lpr && self.hold => (
                Target { protocol: Protocol::Ipp, port: Protocol::Ipp.port(), ..first.clone() }
                    .authority(),
                false,
            ),
            None if first.protocol.is_data_alone() => return Ok(Vec::new()),
            None => return Ok(queues.to_vec()),
        };
        let doing = format!("cannot read --control {host}");
        let target = |text: &str, queue: Option<&str>| {
            Target::new(text, Some(Protocol::Ipp), queue)
                .map_err(|wrong| Failure::usage(&doing, wrong).advise("Write ipp://HOST:PORT"))
        };
        let after = host.split_once("://").map_or(host.as_str(), |(_, rest)| rest);
        let has_path = after.split_once('/').is_some_and(|(_, path)| !path.is_empty());
        if is_given && has_path {
            let all = expand(&host).map_err(|wrong| Failure::usage(&doing, wrong))?;
            let all: Vec<Target> =
                all.iter().map(|text| target(text, None)).collect::<Result<_, _>>()?;
            return match one_server(&all) {
                Ok(()) => Ok(all),
                Err(other) => Err(Failure::usage(&doing, format!("{other} is a different server"))),
            };
        }
        if first.protocol.is_data_alone() {
            return Err(Failure::usage(&doing, "a raw port does not tell the name of its queue")
                .advise("Write ipp://HOST:PORT/printers/QUEUE"));
        }
        let name = |queue: &Target| queue.queue.rsplit('/').next().unwrap_or_default().to_owned();
        queues.iter().map(|queue| target(&host, Some(&name(queue)))).collect()
    }

    /// Returns the kinds of job files.
    fn wanted(&self) -> Vec<RequestedDocument> {
        let size = self.size.get();
        let payloads = self.payload.iter().map(|path| match path.to_str() {
            Some("text") => RequestedDocument::Made(Payload::Text, size),
            Some("zeros") => RequestedDocument::Made(Payload::Zeros, size),
            Some("random") => RequestedDocument::Made(Payload::Random, size),
            Some("pdf") => RequestedDocument::Samples,
            _ => RequestedDocument::At(path.clone()),
        });
        payloads.collect()
    }

    /// Returns the place that jobs are sent from. Programs read files, so for them memory is a
    /// folder, too: the second value is its parent.
    fn place(&self, way: &Submission) -> (DocumentStorage, Option<PathBuf>) {
        match &self.from {
            Some(folder) if folder.as_os_str() != "memory" => {
                (DocumentStorage::Folder(folder.clone()), None)
            }
            _ if matches!(way, Submission::Program(_)) => {
                let memory = Path::new(MEMORY);
                let base = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
                (DocumentStorage::Memory, Some(base))
            }
            _ => (DocumentStorage::Memory, None),
        }
    }
}

/// Checks that all queues are of one server.
///
/// # Errors
/// Another server.
fn one_server(queues: &[Target]) -> Result<(), String> {
    let Some(first) = queues.first() else { return Ok(()) };
    match queues.iter().find(|queue| (&queue.host, queue.port) != (&first.host, first.port)) {
        Some(other) => Err(other.authority()),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli::{Cli, Command, DriveCommands};
    use crate::commands::spool::Spool;

    fn args(line: &str) -> Result<Box<LoadArgs>, Failure> {
        let words = ["windlass", "spool", "load"].into_iter().chain(line.split_whitespace());
        match Cli::try_parse_from(words).map(|cli| cli.command) {
            Ok(Command::Driving(DriveCommands::Spool(spool))) => match spool.spool {
                Spool::Load(args) => Ok(args),
                #[allow(unreachable_patterns, reason = "there may be other commands")]
                _ => panic!("{line}"),
            },
            Ok(_) => panic!("{line}"),
            Err(wrong) => Err(Failure::usage("parse", wrong)),
        }
    }

    fn asked(line: &str) -> Result<(Plan, Vec<Target>), Failure> {
        let args = args(line)?;
        let plan = args.plan()?;
        let control = args.control(&plan.queues)?;
        Ok((plan, control))
    }

    fn uris(targets: &[Target]) -> String {
        targets.iter().map(Target::uri).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn what_is_asked_for_is_a_plan() {
        for (line, queues, control) in [
            ("ipp://h:8/printers/a", "ipp://h:8/printers/a", "ipp://h:8/printers/a"),
            (
                "ipp://h/printers/a{0..1}",
                "ipp://h:631/printers/a0 ipp://h:631/printers/a1",
                "ipp://h:631/printers/a0 ipp://h:631/printers/a1",
            ),
            ("h --protocol lp --queues x", "ipp://h:631/printers/x", "ipp://h:631/printers/x"),
            ("ipp://h/q/{} --queues 1..1", "ipp://h:631/q/1", "ipp://h:631/q/1"),
            (
                "h --protocol lpr --queues 1..2",
                "lpd://h:515/1 lpd://h:515/2",
                "lpd://h:515/1 lpd://h:515/2",
            ),
            ("lpd://h/a --hold", "lpd://h:515/a", "ipp://h:631/printers/a"),
            ("lpd://h:9/a --control ipp://c:8/", "lpd://h:9/a", "ipp://c:8/printers/a"),
            ("socket://h", "socket://h:9100", ""),
            ("socket://h:{1..2}", "socket://h:1 socket://h:2", ""),
            (
                "socket://h --control ipp://c/printers/{a,b}",
                "socket://h:9100",
                "ipp://c:631/printers/a ipp://c:631/printers/b",
            ),
        ] {
            let (plan, asking) = asked(line).unwrap_or_else(|wrong| panic!("{line}: {wrong}"));
            assert_eq!(uris(&plan.queues), queues, "{line}");
            assert_eq!(uris(&asking), control, "{line}");
        }
        let (plan, _) = asked("ipp://h/printers/{} --queues 1..280 -n 201600").unwrap();
        assert_eq!((plan.queues.len(), plan.jobs), (280, 201_600));
    }

    #[test]
    fn what_cannot_be_done_is_a_wrong_use() {
        for wrong in [
            "h",
            "h --protocol lpr",
            "ipp://h/printers/a --queues b",
            "ipp://h/printers/{}",
            "ipp://h/printers/a{0..",
            "ipp://{h,i}/printers/a",
            "socket://h --hold",
            "socket://h --control ipp://c",
            "lpd://h/a --create-job",
            "lpd://h/a --protocol lp",
            "ipp://h/a --program lpr",
            "ipp://h/a --jobs 0",
            "ipp://h/a --connections 0",
            "ipp://h/a --keep-held",
            "ipp://h/a --hold --no-wait",
            "ipp://h/a --interval 1ms",
            "h --protocol ipp --queues a,,b",
            "h --protocol ipp --queues 9..3",
        ] {
            assert!(asked(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn payloads_are_kinds_or_files() {
        let args =
            args("ipp://h/a --payload zeros --payload pdf --payload ./text -s 10kB").unwrap();
        let wanted = args.wanted();
        assert!(matches!(wanted[0], RequestedDocument::Made(Payload::Zeros, 10_000)), "{wanted:?}");
        assert!(matches!(wanted[1], RequestedDocument::Samples));
        assert!(matches!(&wanted[2], RequestedDocument::At(path) if path.as_os_str() == "./text"));
    }
}
