//! cupsd, with all its state in a folder: raw queues, no history, and nothing
//! that is not needed to take jobs.

use std::fmt::Write;
use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, ensure};

use super::server::{Server, Shape};

const CUPSD: &str = "/usr/sbin/cupsd";

/// Whether it can run here.
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
    for name in ["etc/ssl", "cache", "state/certs", "log", "tmp"] {
        fs::create_dir_all(root.join(name))?;
    }
    fs::create_dir_all(spool.join("tmp"))?;
    let (at, kept) = (root.display(), spool.display());
    // Its most durable setting, and its own.
    let (sync, clean) = if shape.durable { ("Yes", "0") } else { ("No", "30") };
    fs::write(
        root.join("etc/cups-files.conf"),
        format!(
            "FileDevice Yes\nFatalErrors config\nSandboxing relaxed\nSyncOnClose {sync}\nUser lp\n\
             Group lp\nSystemGroup root lpadmin\nServerRoot {at}/etc\nServerBin /usr/lib/cups\n\
             DataDir /usr/share/cups\nDocumentRoot /usr/share/cups/doc-root\nCacheDir {at}/cache\n\
             StateDir {at}/state\nRequestRoot {kept}\nTempDir {kept}/tmp\n\
             ServerKeychain {at}/etc/ssl\nCreateSelfSignedCerts no\nAccessLog {at}/log/access_log\n\
             ErrorLog {at}/log/error_log\nPageLog {at}/log/page_log\nPrintcap {at}/state/printcap\n"
        ),
    )?;
    fs::write(
        root.join("etc/cupsd.conf"),
        format!(
            "Listen 127.0.0.1:{port}\nServerName localhost\nServerAlias *\nBrowsing Off\n\
             DefaultAuthType None\nDefaultEncryption Never\nWebInterface No\nLogLevel warn\n\
             MaxJobs 0\nMaxClients 1000\nMaxClientsPerHost 1000\nPreserveJobHistory No\n\
             PreserveJobFiles No\nDirtyCleanInterval {clean}\n\
             <Location />\nOrder allow,deny\nAllow all\n</Location>\n\
             <Location /admin>\nOrder allow,deny\nAllow all\n</Location>\n\
             <Policy default>\nJobPrivateAccess all\nJobPrivateValues none\n\
             <Limit All>\nOrder deny,allow\nAllow all\n</Limit>\n</Policy>\n"
        ),
    )?;
    let state = if shape.stopped { "Stopped" } else { "Idle" };
    let mut printers = String::new();
    for number in 0..shape.queues {
        let (name, id, device) = (Server::queue(number), number + 1, shape.device);
        write!(
            printers,
            "<Printer {name}>\nPrinterId {id}\nInfo {name}\nDeviceURI {device}\nState {state}\n\
             Type 4\nAccepting Yes\nShared Yes\nJobSheets none none\nOpPolicy default\n\
             ErrorPolicy retry-job\n</Printer>\n"
        )?;
    }
    fs::write(root.join("etc/printers.conf"), printers)?;
    fs::set_permissions(shape.folder, Permissions::from_mode(0o755))?;
    let done = Command::new("chown").args(["-R", "root:lp"]).args([&root, &spool]).status()?;
    ensure!(done.success(), "cannot give cupsd its folders");
    for (path, mode) in [(root.clone(), 0o755), (spool.clone(), 0o710), (spool.join("tmp"), 0o1770)]
    {
        fs::set_permissions(path, Permissions::from_mode(mode))?;
    }
    let log = File::create(root.join("log/stdout"))?;
    Command::new(CUPSD)
        .arg("-f")
        .arg("-c")
        .arg(root.join("etc/cupsd.conf"))
        .arg("-s")
        .arg(root.join("etc/cups-files.conf"))
        .stdin(Stdio::null())
        .stdout(log.try_clone()?)
        .stderr(log)
        .spawn()
        .context("cannot start cupsd")
}
