//! Configuration of a private cupsd: state in a folder, raw queues, and no authentication.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Settings of a cupsd.
pub struct Config<'a> {
    /// Folder of the server's state.
    pub root: &'a Path,
    /// Folder of the jobs.
    pub spool: &'a Path,
    /// Port of the server.
    pub port: u16,
    /// Additional lines for `cups-files.conf`, each with its line end.
    pub files: &'a str,
    /// Additional lines for `cupsd.conf`, each with its line end.
    pub more: &'a str,
}

/// A queue without a PPD; the device receives the documents unchanged.
pub struct Queue<'a> {
    /// Name of the queue.
    pub name: &'a str,
    /// Number of the queue, from 1 upwards.
    pub id: usize,
    /// Device URI.
    pub device: &'a str,
    /// State of the queue: `Idle` or `Stopped`.
    pub state: &'a str,
    /// Error policy if the device does not accept a job.
    pub policy: &'a str,
}

impl Config<'_> {
    /// Creates the folders and the configuration files, for the user and group `lp` of cupsd.
    ///
    /// `queues` is the text of `printers.conf`.
    pub fn make(&self, queues: &str) -> io::Result<()> {
        let Self { root, spool, .. } = self;
        for name in ["etc/ssl", "etc/ppd", "cache", "state/certs", "log", "tmp"] {
            fs::create_dir_all(root.join(name))?;
        }
        fs::create_dir_all(spool.join("tmp"))?;
        for (name, text) in [
            ("cups-files.conf", &*self.files()),
            ("cupsd.conf", &*self.server()),
            ("printers.conf", queues),
        ] {
            let path = root.join("etc").join(name);
            fs::write(&path, text)?;
            fs::set_permissions(path, Permissions::from_mode(0o640))?;
        }
        let done = Command::new("chown").args(["-R", "root:lp"]).args([root, spool]).status()?;
        if !done.success() {
            return Err(io::Error::other("cannot give cupsd its folders"));
        }
        let modes = [(root.to_path_buf(), 0o755), (root.join("tmp"), 0o1770)];
        let of_spool = [(spool.join("tmp"), 0o1770), (spool.to_path_buf(), 0o710)];
        for (path, mode) in modes.into_iter().chain(of_spool) {
            fs::set_permissions(path, Permissions::from_mode(mode))?;
        }
        Ok(())
    }

    /// Returns the text of `cups-files.conf`.
    fn files(&self) -> String {
        let (at, kept, more) = (self.root.display(), self.spool.display(), self.files);
        format!(
            "FileDevice Yes\nFatalErrors config\nSandboxing relaxed\nUser lp\nGroup lp\n\
             SystemGroup root lpadmin\nServerRoot {at}/etc\nServerBin /usr/lib/cups\n\
             DataDir /usr/share/cups\nDocumentRoot /usr/share/cups/doc-root\n\
             CacheDir {at}/cache\nStateDir {at}/state\nRequestRoot {kept}\n\
             TempDir {kept}/tmp\nServerKeychain {at}/etc/ssl\nCreateSelfSignedCerts no\n\
             AccessLog {at}/log/access_log\nErrorLog {at}/log/error_log\n\
             PageLog {at}/log/page_log\nPrintcap {at}/state/printcap\n{more}"
        )
    }

    /// Returns the text of `cupsd.conf`.
    fn server(&self) -> String {
        let (port, more) = (self.port, self.more);
        format!(
            "Listen 127.0.0.1:{port}\nServerName localhost\nServerAlias *\nBrowsing Off\n\
             DefaultAuthType None\nDefaultEncryption Never\nWebInterface No\nMaxJobs 0\n\
             PreserveJobFiles No\n{more}\
             <Location />\nOrder allow,deny\nAllow all\n</Location>\n\
             <Policy default>\nJobPrivateAccess all\nJobPrivateValues none\n\
             <Limit All>\nOrder deny,allow\nAllow all\n</Limit>\n</Policy>\n"
        )
    }
}

impl Queue<'_> {
    /// Returns the lines of the queue in `printers.conf`.
    pub fn lines(&self) -> String {
        let Self { name, id, device, state, policy } = self;
        format!(
            "<Printer {name}>\nPrinterId {id}\nInfo {name}\nDeviceURI {device}\nState {state}\n\
             Type 4\nAccepting Yes\nShared Yes\nJobSheets none none\nOpPolicy default\n\
             ErrorPolicy {policy}\n</Printer>\n"
        )
    }
}

/// Starts cupsd with the configuration in the folder `root`.
///
/// `command` is cupsd, or a program that executes cupsd with the same arguments. The output goes to
/// `log/stdout`.
pub fn launched(mut command: Command, root: &Path) -> io::Result<Child> {
    let log = File::create(root.join("log/stdout"))?;
    command
        .arg("-f")
        .arg("-c")
        .arg(root.join("etc/cupsd.conf"))
        .arg("-s")
        .arg(root.join("etc/cups-files.conf"))
        .stdin(Stdio::null())
        .stdout(log.try_clone()?)
        .stderr(log)
        .spawn()
}
