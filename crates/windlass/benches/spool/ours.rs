//! `windlass spool serve`.

use std::fs::File;
use std::process::{Child, Stdio};

use anyhow::{Context, Result};

use super::program::windlass;
use super::server::Shape;

pub(super) fn start(shape: Shape<'_>, port: u16) -> Result<Child> {
    let device = shape.device;
    let last = shape.queues - 1;
    let mut command = windlass();
    command
        .args(["spool", "serve", "--history", if shape.history { "all" } else { "off" }])
        .arg("--spool")
        .arg(shape.folder.join("spool"))
        .arg("--printer")
        .arg(format!("dummy{{0..{last}}}={device}"))
        .arg("--listen")
        .arg(format!("127.0.0.1:{port}"));
    if !shape.logs {
        command.arg("--quiet");
    }
    if shape.stopped {
        command.arg("--stopped");
    }
    if shape.durable {
        command.args(["--durability", "fsync"]);
    }
    let log = File::create(shape.folder.join("log"))?;
    command
        .stdin(Stdio::null())
        .stdout(log.try_clone()?)
        .stderr(log)
        .spawn()
        .context("cannot start windlass spool serve")
}
