//! `windlass spool serve`: a spool of print jobs.

mod access;
mod accounting;
mod args;
mod config;
mod lines;
mod observe;
mod plan;
mod reload;
mod said;
mod values;

use std::sync::atomic::Ordering;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::Duration;

pub use args::ServeArgs;
pub(super) use args::{
    DevicePatience, device_patience, job_value, on_error, on_partial, on_refusal,
};
use windlass_base::Failure;
use windlass_output::Output;
use windlass_spool::store::{Durability, Error};
use windlass_spool::{
    AnnounceError, Announcer, Bound, Certificate, Event, Handed, ListenError, Server, Spooler,
    descriptors, give_up_rights,
};

use self::access::certificate;
use self::args::USUAL;
use self::lines::Lines;
use self::plan::Plan;
use self::reload::Fixed;
use self::said::{Rights, Said};
use crate::interrupt;

/// How often it is looked whether the server is to end.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// The most events that wait to be printed.
const MAX_EVENTS: usize = 10_000;

/// Runs the command.
pub(super) fn run(args: &ServeArgs, output: &mut Output) -> anyhow::Result<()> {
    // Before anything else here opens a file.
    let handed = Handed::take().map_err(|error| unheard(&error))?;
    let mut plan = Plan::new(args)?;
    let fixed = Fixed::of(&plan);
    let listen = &mut plan.network.listen;
    if listen.is_nowhere() && handed.is_empty() {
        listen.ipp.push(USUAL);
    }
    plan.network.certificate = certificate(plan.certificate.as_ref())?;
    let few_files = descriptors::fit(
        &plan.network.listen,
        &mut plan.network.limits,
        &plan.spooler.printers,
        plan.spooler.store.most,
    );
    let stop = interrupt::listen_but_hang_up("cannot serve a spool")?;
    let told_anew = reload::hangup()?;
    // What it takes to have the addresses is given up before anybody is answered, and
    // before there is another thread, which would keep it.
    let bound = Bound::new(&plan.network.listen, handed).map_err(|error| unheard(&error))?;
    let spool = (plan.durability != Durability::Memory).then_some(plan.folder.as_path());
    let rights = give_up_rights(plan.user.as_deref(), spool, plan.run_as.as_ref())
        .map_err(|why| unbecome(&why))?;
    let (sender, events) = sync_channel::<Event>(MAX_EVENTS);
    let said = Lines::begin(output, &plan.log)?;
    let heard = move |event| {
        // Where they come faster than they are taken, clients make them, and some are not.
        let _ = match event {
            Event::Broken(_) => sender.send(event).ok(),
            event => sender.try_send(event).ok(),
        };
    };
    let spooler = Spooler::open(&plan.folder, plan.spooler, heard)
        .map_err(|error| unopened(&plan.folder, &error))?;
    let mut server =
        Server::start(&spooler, &plan.network, bound).map_err(|error| unheard(&error))?;
    let announcer = plan
        .announce
        .then(|| {
            let has_certificate = plan.network.certificate.is_some();
            Announcer::start(&spooler, &server.listen, has_certificate)
        })
        .transpose()
        .map_err(|error| unannounced(&error))?;
    let folder = (plan.durability != Durability::Memory).then(|| plan.folder.clone());
    // What waits is counted before printers begin.
    let rights = Rights { server: rights, commands: plan.run_as.map(|run_as| run_as.users) };
    let mut lines = vec![Said::opened(&spooler, folder, plan.durability, rights)];
    spooler.begin().map_err(|error| Failure::new("cannot serve a spool", error))?;
    lines.extend(uncertain(&spooler));
    lines.extend(few_files.map(|text| Said::warning("few-files", text)));
    lines.extend(server.listen.ipp.iter().map(|at| Said::listens("IPP", at, None)));
    let tls = server.listen.tls.iter();
    lines.extend(tls.map(|at| Said::listens("IPP by TLS", at, None)));
    if let Some(certificate) = &plan.network.certificate {
        lines.extend(known_by(certificate));
    }
    let sockets = server.listen.sockets.iter();
    lines.extend(sockets.map(|at| Said::listens("IPP", &at.display(), None)));
    lines.extend(server.listen.lpr.iter().map(|at| Said::listens("LPR", at, None)));
    lines.extend(reload::listens(&server.listen.raw));
    lines.iter().for_each(|line| said.say(line));
    let mut broken = None;
    while !stop.load(Ordering::Relaxed) && broken.is_none() {
        if told_anew.swap(false, Ordering::Relaxed) {
            let lines = reload::reload(args, &fixed, &spooler, &mut server);
            lines.iter().for_each(|line| said.say(line));
        }
        match events.recv_timeout(POLL_INTERVAL) {
            Ok(event) => {
                if let Event::Broken(why) = &event {
                    broken = Some(why.clone());
                }
                if !args.quiet || broken.is_some() {
                    said.say(&Said::of(&event));
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    if let Some(announcer) = announcer {
        announcer.end();
    }
    server.end();
    spooler.end();
    said.end(&Said::ended(&spooler));
    match broken {
        Some(why) => Err(Failure::new("cannot go on serving the spool", why).into()),
        None => Ok(()),
    }
}

/// What the server is known by, and whether its key is safe.
fn known_by(certificate: &Certificate) -> Vec<Said> {
    let mut said = Vec::new();
    let what = format!("the certificate is {}", certificate.fingerprint);
    said.push(Said::told("certificate", what));
    if certificate.is_key_open {
        let what = "others than its owner may read the certificate's key: chmod 600 mends that";
        said.push(Said::warning("key-open", what.to_owned()));
    }
    said
}

/// What the start found that somebody should know.
fn uncertain(spooler: &Spooler) -> Vec<Said> {
    let recovery = spooler.recovery();
    let mut said = Vec::new();
    if recovery.uncertain {
        let what = "the machine ended while jobs were in its cache alone: what waits is held, as it \
                    may be garbled, or printed already; --durability fsync keeps jobs from that";
        said.push(Said::warning("spool-uncertain", what.to_owned()));
    }
    if recovery.missing > 0 {
        let what = format!(
            "the end of the journal is not there: {} bytes or more that were written before the \
             machine ended. The jobs that came last are lost, others may be back that were over; \
             --durability fsync keeps jobs from that",
            recovery.missing
        );
        said.push(Said::warning("journal-cut", what));
    }
    if recovery.torn {
        let what = "the journal does not end as it was left: what was being logged when the server \
                    ended is not there in whole. Who brought that job was not told that it is safe; \
                    where the server was not killed, the disk lost the end of the journal, and the \
                    jobs that came last";
        said.push(Said::warning("journal-cut", what.to_owned()));
    }
    if !recovery.lost.is_empty() {
        let what = format!("{} jobs were removed: their documents are gone", recovery.lost.len());
        said.push(Said::warning("jobs-lost", what));
    }
    said
}

fn unopened(folder: &std::path::Path, error: &Error) -> Failure {
    let failure = Failure::new(format!("cannot open the spool in {}", folder.display()), error);
    match error {
        Error::Held { .. } => failure.advise("End the other server, or give another --spool."),
        Error::Unsafe { .. } => failure.advise(
            "Give a folder of root's with --spool, or run the server as the user whose it is: \
             --user NAME.",
        ),
        Error::Io { source, .. } if source.kind() == std::io::ErrorKind::PermissionDenied => {
            failure.advise("Give a folder of your own with --spool.")
        }
        _ => failure,
    }
}

fn unbecome(why: &str) -> Failure {
    Failure::new("cannot give up the rights that a spool needs not", why)
        .advise("Name a user of this host with --user, and start it as root.")
}

fn unannounced(error: &AnnounceError) -> Failure {
    let failure = Failure::new("cannot announce the printers", error);
    match error {
        AnnounceError::Local(_) => failure
            .advise("Say with --listen where others can come, as --listen 0.0.0.0, and whom to let in with --allow."),
        _ => failure.advise("Leave --announce out, and name the server to clients yourself."),
    }
}

fn unheard(error: &ListenError) -> Failure {
    let failure = Failure::new("cannot serve a spool", error);
    match error {
        ListenError::Listen { source, .. } => match source.kind() {
            std::io::ErrorKind::AddrInUse => {
                failure.advise("Give another port, or end the server that has this one.")
            }
            std::io::ErrorKind::PermissionDenied => failure.advise(
                "Ports below 1024 take root, or CAP_NET_BIND_SERVICE: \
                 sudo setcap cap_net_bind_service+ep \"$(command -v windlass)\"",
            ),
            _ => failure.advise("Give another address."),
        },
        ListenError::Socket { source, .. } => match source.kind() {
            std::io::ErrorKind::AddrInUse => {
                failure.advise("End the server that has this socket, or give another path.")
            }
            std::io::ErrorKind::NotFound => failure.advise("Make the folder first."),
            std::io::ErrorKind::AlreadyExists => failure.advise("Give another path."),
            _ => failure.advise("Give a path in a folder that you may write."),
        },
        ListenError::Handed(_) => failure.advise(
            "Look at the socket's unit: windlass-spool.socket is one that serves, and \
             docs/spool-serve.md says what it may hold.",
        ),
        ListenError::Thread(_) => failure.advise("End other programs, or raise their limits."),
    }
}
