//! `windlass spool serve`: a server of a print spool.

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
    AnnounceError, Announcer, BoundSockets, Certificate, Event, HandedSockets, ListenError, Server,
    Spooler, descriptors, give_up_rights,
};

use self::access::certificate;
use self::args::USUAL;
use self::lines::Lines;
use self::plan::Plan;
use self::reload::FixedSettings;
use self::said::{Rights, ServerEvent};
use crate::interrupt;

/// Time between checks for the end of the server.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Maximum number of events that wait to be printed.
const MAX_EVENTS: usize = 10_000;

/// Runs the command.
pub(super) fn run(args: &ServeArgs, output: &mut Output) -> anyhow::Result<()> {
    // Before anything else here opens a file.
    let handed = HandedSockets::take().map_err(|error| unheard(&error))?;
    let mut plan = Plan::new(args)?;
    let fixed = FixedSettings::of(&plan);
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
    let stop = interrupt::listen_but_hang_up("cannot run the spool server")?;
    let told_anew = reload::hangup()?;
    // The rights to open the ports are given up before any client is answered, and before
    // another thread starts, which would keep them.
    let bound = BoundSockets::new(&plan.network.listen, handed).map_err(|error| unheard(&error))?;
    let spool = (plan.durability != Durability::Memory).then_some(plan.folder.as_path());
    let rights = give_up_rights(plan.user.as_deref(), spool, plan.run_as.as_ref())
        .map_err(|why| unbecome(&why))?;
    let (sender, events) = sync_channel::<Event>(MAX_EVENTS);
    let said = Lines::begin(output, &plan.log)?;
    let heard = move |event| {
        // If clients cause events faster than they are printed, some are dropped.
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
    // Waiting jobs are counted before the printers start.
    let rights = Rights { server: rights, commands: plan.run_as.map(|run_as| run_as.users) };
    let mut lines = vec![ServerEvent::opened(&spooler, folder, plan.durability, rights)];
    spooler.begin().map_err(|error| Failure::new("cannot run the spool server", error))?;
    lines.extend(uncertain(&spooler));
    lines.extend(few_files.map(|text| ServerEvent::warning("few-files", text)));
    lines.extend(server.listen.ipp.iter().map(|at| ServerEvent::listens("IPP", at, None)));
    let tls = server.listen.tls.iter();
    lines.extend(tls.map(|at| ServerEvent::listens("IPP by TLS", at, None)));
    if let Some(certificate) = &plan.network.certificate {
        lines.extend(known_by(certificate));
    }
    let sockets = server.listen.sockets.iter();
    lines.extend(sockets.map(|at| ServerEvent::listens("IPP", &at.display(), None)));
    lines.extend(server.listen.lpr.iter().map(|at| ServerEvent::listens("LPR", at, None)));
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
                    said.say(&ServerEvent::of(&event));
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
    said.end(&ServerEvent::ended(&spooler));
    match broken {
        Some(why) => Err(Failure::new("cannot go on serving the spool", why).into()),
        None => Ok(()),
    }
}

/// Returns lines about the certificate, and about an unsafe key.
fn known_by(certificate: &Certificate) -> Vec<ServerEvent> {
    let mut said = Vec::new();
    let what = format!("the certificate is {}", certificate.fingerprint);
    said.push(ServerEvent::told("certificate", what));
    if certificate.is_key_open {
        let what =
            "the certificate's key is readable by others than its owner: run chmod 600 on the file";
        said.push(ServerEvent::warning("key-open", what.to_owned()));
    }
    said
}

/// Returns warnings about losses that the start found.
fn uncertain(spooler: &Spooler) -> Vec<ServerEvent> {
    let recovery = spooler.recovery();
    let mut said = Vec::new();
    if recovery.uncertain {
        let what = "the machine stopped while jobs were only in its cache: waiting jobs are held, as \
                    they may be garbled or already printed; --durability fsync prevents this";
        said.push(ServerEvent::warning("spool-uncertain", what.to_owned()));
    }
    if recovery.missing > 0 {
        let what = format!(
            "the end of the journal is missing: at least {} bytes that were written before the \
             machine stopped. The last jobs are lost, and finished jobs may be back as unfinished; \
             --durability fsync prevents this",
            recovery.missing
        );
        said.push(ServerEvent::warning("journal-cut", what));
    }
    if recovery.torn {
        let what = "the last record of the journal is incomplete. If the server was killed, its job \
                    was never acknowledged. If the server was not killed, the disk lost the end of \
                    the journal, with the last jobs";
        said.push(ServerEvent::warning("journal-cut", what.to_owned()));
    }
    if !recovery.lost.is_empty() {
        let what =
            format!("{} jobs were removed: their documents are missing", recovery.lost.len());
        said.push(ServerEvent::warning("jobs-lost", what));
    }
    said
}

fn unopened(folder: &std::path::Path, error: &Error) -> Failure {
    let failure = Failure::new(format!("cannot open the spool in {}", folder.display()), error);
    match error {
        Error::Held { .. } => failure.advise("End the other server, or give another --spool."),
        Error::Unsafe { .. } => failure.advise(
            "Give a folder of root with --spool, or run the server as the folder's owner with \
             --user NAME.",
        ),
        Error::Io { source, .. } if source.kind() == std::io::ErrorKind::PermissionDenied => {
            failure.advise("Give a folder of your own with --spool.")
        }
        _ => failure,
    }
}

fn unbecome(why: &str) -> Failure {
    Failure::new("cannot give up root's rights", why)
        .advise("Give a user of this host with --user, and start the server as root.")
}

fn unannounced(error: &AnnounceError) -> Failure {
    let failure = Failure::new("cannot announce the printers", error);
    match error {
        AnnounceError::Local(_) => failure
            .advise("Listen on the network (--listen 0.0.0.0), and allow clients with --allow."),
        _ => failure
            .advise("Leave --announce out, and configure the server's address on the clients."),
    }
}

fn unheard(error: &ListenError) -> Failure {
    let failure = Failure::new("cannot run the spool server", error);
    match error {
        ListenError::Listen { source, .. } => match source.kind() {
            std::io::ErrorKind::AddrInUse => {
                failure.advise("Give another port, or end the server that uses this one.")
            }
            std::io::ErrorKind::PermissionDenied => failure.advise(
                "Ports below 1024 need root, or CAP_NET_BIND_SERVICE: \
                 sudo setcap cap_net_bind_service+ep \"$(command -v windlass)\"",
            ),
            _ => failure.advise("Give another address."),
        },
        ListenError::Socket { source, .. } => match source.kind() {
            std::io::ErrorKind::AddrInUse => {
                failure.advise("End the server that uses this socket, or give another path.")
            }
            std::io::ErrorKind::NotFound => failure.advise("Create the folder first."),
            std::io::ErrorKind::AlreadyExists => failure.advise("Give another path."),
            _ => failure.advise("Give a path in a folder that you may write."),
        },
        ListenError::Handed(_) => failure.advise(
            "Check the socket unit: windlass-spool.socket is an example, and docs/spool-serve.md \
             lists what it may contain.",
        ),
        ListenError::Thread(_) => failure.advise("End other programs, or raise their limits."),
    }
}
