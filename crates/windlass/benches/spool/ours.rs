//! `windlass spool serve`.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use anyhow::{Context, Result, ensure};

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
    if shape.accounts {
        for (option, name) in [("--page-log", "page_log"), ("--account-log", "account.jsonl")] {
            command.arg(option).arg(shape.folder.join(name));
        }
    }
    if shape.encrypted {
        let CertificateFiles { certificate, key } = certificate(shape.folder)?;
        command.arg("--certificate").arg(certificate).arg("--key").arg(key);
    }
    let log = File::create(shape.folder.join("log"))?;
    command
        .stdin(Stdio::null())
        .stdout(log.try_clone()?)
        .stderr(log)
        .spawn()
        .context("cannot start windlass spool serve")
}

/// The files of a certificate.
pub(super) struct CertificateFiles {
    pub(super) certificate: PathBuf,
    pub(super) key: PathBuf,
}

/// Makes a certificate of `localhost`.
pub(super) fn certificate(folder: &Path) -> Result<CertificateFiles> {
    let made = CertificateFiles {
        certificate: folder.join("certificate.pem"),
        key: folder.join("key.pem"),
    };
    let status = windlass()
        .args(["spool", "certificate", "--name", "localhost", "--certificate"])
        .arg(&made.certificate)
        .arg("--key")
        .arg(&made.key)
        .stdout(Stdio::null())
        .status()
        .context("cannot make a certificate")?;
    ensure!(status.success(), "windlass spool certificate makes none");
    Ok(made)
}
