//! cupsd, with all its state in a folder: raw queues, no history, and nothing
//! that is not needed to take jobs.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command};

use anyhow::{Context, Result};

use super::server::{Server, Shape};
use windlass_testkit::cups::config::{Config, Queue, launched};

const CUPSD: &str = "/usr/sbin/cupsd";

/// Returns an error if cupsd cannot run here.
pub(super) fn can_run() -> Result<(), &'static str> {
    if !Path::new(CUPSD).exists() {
        return Err("it is not installed: apt-get install cups");
    }
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    if !status.lines().any(|line| line.starts_with("Uid:\t0\t0")) {
        return Err("it takes root");
    }
    Ok(())
}

pub(super) fn start(shape: Shape<'_>, port: u16) -> Result<Child> {
    let root = shape.folder.join("cups");
    let spool = shape.folder.join("cups-spool");
    let log = if shape.logs { "info" } else { "none" };
    let history = if shape.history { "Yes" } else { "No" };
    // Its most durable setting, and its own.
    let (sync, clean) = if shape.durable { ("Yes", "0") } else { ("No", "30") };
    // The last word counts: without a certificate it makes one.
    let own = if shape.encrypted { "CreateSelfSignedCerts yes\n" } else { "" };
    let files = format!("SyncOnClose {sync}\n{own}");
    let more = format!(
        "LogLevel {log}\nMaxClients 1000\nMaxClientsPerHost 1000\nPreserveJobHistory {history}\n\
         DirtyCleanInterval {clean}\n\
         <Location /admin>\nOrder allow,deny\nAllow all\n</Location>\n"
    );
    let config = Config { root: &root, spool: &spool, port, files: &files, more: &more };
    let state = if shape.stopped { "Stopped" } else { "Idle" };
    let queues = (0..shape.queues).map(|number| {
        let name = &Server::queue(number);
        let id = number + 1;
        Queue { name, id, device: shape.device, state, policy: "retry-job" }.lines()
    });
    config.make(&queues.collect::<String>()).context("cannot make cupsd's folders")?;
    fs::set_permissions(shape.folder, Permissions::from_mode(0o755))?;
    launched(Command::new(CUPSD), &root).context("cannot start cupsd")
}
