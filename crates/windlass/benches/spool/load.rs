//! Jobs for a server.

use std::net::TcpStream;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};
use windlass_print::load::{
    Control, DocumentStorage, Files, Load, Plan, RequestedDocument, Submission,
};
use windlass_print::{
    Access, Compression, FollowMode, Ipp, JobProtocol, Login, Monitor, Payload, Raw, Target, Tls,
    Trust,
};
use windlass_wire::ipp::Version;

use super::server::Server;

const PATIENCE: Duration = Duration::from_secs(300);

/// Submitted jobs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Jobs {
    pub(super) number: u64,
    pub(super) size: u64,
    pub(super) queues: usize,
    pub(super) connections: usize,
}

/// A job that is sent again and again.
pub(super) fn files(size: u64, folder: &Path) -> Result<Files> {
    Ok(Files::prepare(
        &[RequestedDocument::Made(Payload::Text, size)],
        &DocumentStorage::Memory,
        folder,
    )?)
}

/// Connections to a server, encrypted where it is to be spoken with so.
fn access() -> Access {
    Access { tls: Tls::new(Trust::Anybody, None).into(), login: Login::new("bench", None) }
}

fn dial(target: &Target) -> Result<TcpStream, Box<dyn std::error::Error + Send + Sync>> {
    let stream = TcpStream::connect((target.host.as_str(), target.port))?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

fn targets(server: &Server, queues: usize) -> Result<Vec<Target>> {
    let scheme = if server.encrypted { "ipps" } else { "ipp" };
    let uri =
        |number| format!("{scheme}://127.0.0.1:{}/printers/{}", server.port, Server::queue(number));
    Ok((0..queues).map(|number| Target::new(&uri(number), None, None)).collect::<Result<_, _>>()?)
}

/// Queues jobs, and gives the seconds that it took. All have to be taken.
pub(super) fn queue(server: &Server, jobs: Jobs, files: &Files) -> Result<f64> {
    let ipp = Ipp {
        version: Version(2, 0),
        create_job: false,
        compression: Compression::None,
        format: "application/octet-stream".to_owned(),
        template: Vec::new(),
        follow: FollowMode::No,
    };
    load(Submission::Job(JobProtocol::Ipp(ipp)), targets(server, jobs.queues)?, jobs, files)
}

/// Submits the jobs as raw data, a connection for each job.
pub(super) fn raw(port: u16, jobs: Jobs, files: &Files) -> Result<f64> {
    let target = Target::new(&format!("socket://127.0.0.1:{port}"), None, None)?;
    load(Submission::Job(JobProtocol::Raw(Raw::default())), vec![target], jobs, files)
}

fn load(way: Submission, queues: Vec<Target>, jobs: Jobs, files: &Files) -> Result<f64> {
    let plan = Plan {
        way,
        queues,
        jobs: jobs.number,
        connections: jobs.connections,
        user: "bench".to_owned(),
        name: "job".to_owned(),
        patience: PATIENCE,
        retry_full: None,
        follows: false,
    };
    let load = Load::new(plan);
    let queued = load.run(files, &access().over(&dial, PATIENCE))?;
    let taken = queued.counts.acknowledged;
    if taken != jobs.number {
        bail!("{taken} of {} jobs were taken: {:?}", jobs.number, queued.wrong.troubles.first());
    }
    Ok(queued.queueing.seconds.as_seconds())
}

/// Waits until no job waits, and gives the seconds since then.
pub(super) fn drained(server: &Server, queues: usize, since: Instant) -> Result<f64> {
    let targets = targets(server, queues)?;
    let (monitor, access) = (Monitor::default(), access());
    let dial = access.over(&dial, PATIENCE);
    let mut control = Control::new(&targets, "bench", &monitor, &dial, PATIENCE);
    let mut pause = Duration::from_millis(2);
    loop {
        if control.waiting()? == 0 {
            return Ok(since.elapsed().as_secs_f64());
        }
        ensure!(since.elapsed() < Duration::from_secs(600), "jobs still wait after ten minutes");
        sleep(pause);
        // Looking costs the server something.
        pause = (pause * 2).min(Duration::from_millis(100));
    }
}

/// Returns the number of waiting jobs.
pub(super) fn waiting(server: &Server, queues: usize) -> Result<u64> {
    let targets = targets(server, queues)?;
    let monitor = Monitor::default();
    Ok(Control::new(&targets, "bench", &monitor, &dial, PATIENCE).waiting()?)
}

/// Lets all printers go.
pub(super) fn release(server: &Server, queues: usize) -> Result<()> {
    let targets = targets(server, queues)?;
    let monitor = Monitor::default();
    let control = Control::new(&targets, "bench", &monitor, &dial, PATIENCE);
    let mut paused = (0..queues).collect();
    Ok(control.resume(&mut paused)?)
}
