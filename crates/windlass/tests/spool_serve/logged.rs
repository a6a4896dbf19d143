//! Output that is not read: a closed pipe, a full disk and a stalled pipe end nothing, and delay no
//! end. Also the log in a file.

use std::fs::{self, File, OpenOptions};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::Value;

use super::client::{connect_from, get, print};
use super::server::wait_for;
use windlass_testkit::port::free_port;
use windlass_testkit::windlass;

/// A server with its output where it is told.
struct LoggedServer {
    child: Child,
    ipp: u16,
    lpr: u16,
    provoked: AtomicUsize,
}

impl LoggedServer {
    fn start(folder: &Path, stdout: Stdio, more: &[&str]) -> Self {
        let (ipp, lpr) = (free_port(), free_port());
        let at = |port: u16| format!("127.0.0.1:{port}");
        let mut command: Command = windlass();
        command.args(["spool", "serve", "--printer", "a=drop", "--spool"]).arg(folder);
        command.args(["--listen", &at(ipp), "--lpr", &at(lpr)]).args(more);
        let child = command.stdin(Stdio::null()).stdout(stdout).stderr(Stdio::null()).spawn();
        let server = Self { child: child.unwrap(), ipp, lpr, provoked: AtomicUsize::new(0) };
        // Another server may have got one of them meanwhile: it is not to have these jobs.
        wait_for("its ports", || server.has(ipp) && server.has(lpr));
        server
    }

    /// Returns whether the server listens on a port.
    fn has(&self, port: u16) -> bool {
        let own = fs::read_dir(format!("/proc/{}/fd", self.child.id())).unwrap();
        let own: Vec<PathBuf> = own.filter_map(|fd| fs::read_link(fd.ok()?.path()).ok()).collect();
        // The second field is the address, the fourth the state (LISTEN is 0A), the tenth the inode.
        let table = fs::read_to_string("/proc/net/tcp").unwrap();
        table.lines().any(|line| {
            let fields: Vec<&str> = line.split_whitespace().collect();
            fields[1].ends_with(&format!(":{port:04X}"))
                && fields[3] == "0A"
                && own.contains(&PathBuf::from(format!("socket:[{}]", fields[9])))
        })
    }

    /// Has it say something, so many times.
    fn provoke(&self, times: usize) {
        for _ in 0..times {
            // Of one host it would not tell as often.
            let host = self.provoked.fetch_add(1, Ordering::Relaxed) % 250 + 1;
            // There is no such subcommand.
            connect_from(host, self.lpr).write_all(b"\x7fa\n").unwrap();
        }
    }

    /// Checks that the server accepts jobs, and ends in order.
    fn serves_and_ends(mut self) {
        print(self.ipp, "a", "one", b"1");
        assert_eq!(get(self.ipp, "/metrics").0, 200);
        let id = self.child.id().to_string();
        assert!(Command::new("kill").arg(&id).status().unwrap().success());
        let mut status = None;
        wait_for("its end", || {
            status = self.child.try_wait().unwrap();
            status.is_some()
        });
        assert_eq!(status.unwrap().code(), Some(0));
    }
}

#[test]
fn a_reader_that_goes_does_not_end_the_server() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = LoggedServer::start(folder.path(), Stdio::piped(), &[]);
    let mut first = String::new();
    BufReader::new(server.child.stdout.take().unwrap()).read_line(&mut first).unwrap();
    assert!(first.starts_with("spool in "), "{first}");
    server.provoke(3);
    server.serves_and_ends();
}

#[test]
fn a_full_disk_behind_its_output_does_not_end_the_server() {
    let folder = tempfile::tempdir().unwrap();
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    let server = LoggedServer::start(folder.path(), full.into(), &[]);
    server.provoke(3);
    server.serves_and_ends();
}

#[test]
fn a_pipe_that_nobody_reads_does_not_hold_up_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let mut filler = Command::new("sh");
    // Its own end of the pipe is full before the server has it.
    let (reader, writer) = std::io::pipe().unwrap();
    let fills = filler.args(["-c", "timeout 0.3 dd if=/dev/zero bs=4k 2>/dev/null; exit 0"]);
    assert!(fills.stdout(writer.try_clone().unwrap()).status().unwrap().success());
    let server = LoggedServer::start(folder.path(), writer.into(), &[]);
    server.provoke(3);
    server.serves_and_ends();
    drop(reader);
}

impl Drop for LoggedServer {
    fn drop(&mut self) {
        // Where a test fails it is there still.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The events of a log's files.
fn events(files: &[&Path]) -> Vec<Value> {
    let text: String =
        files.iter().map(|file| fs::read_to_string(file).unwrap_or_default()).collect();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_log_file_is_bounded_and_opened_anew_where_it_was_moved() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let log = at("log");
    let more = ["--log", log.to_str().unwrap(), "--log-size", "3kB", "--log-files", "2", "--json"];
    let server = LoggedServer::start(&at("spool"), Stdio::null(), &more);
    server.provoke(60);
    wait_for("the second rotation", || at("log.2").exists());
    assert!(!at("log.3").exists());
    // In the midst of another rotation one may have no name.
    let size = |name: &str| fs::metadata(at(name)).map_or(0, |metadata| metadata.len());
    let sizes = ["log", "log.1", "log.2"].map(size);
    assert!(sizes.iter().all(|size| *size <= 3_000), "{sizes:?}");
    // As logrotate does.
    fs::rename(&log, at("moved")).unwrap();
    wait_for("the new file", || {
        server.provoke(1);
        log.exists()
    });
    server.serves_and_ends();
    let last = events(&[&log]).pop().unwrap();
    assert_eq!((&last["event"], &last["accepted"]), (&"ended".into(), &1.into()));
    assert!(!events(&[&at("log.2"), &at("log.1")]).is_empty());

    // As text, each line has its time.
    let text = at("text");
    let server =
        LoggedServer::start(&at("spool"), Stdio::null(), &["--log", text.to_str().unwrap()]);
    server.serves_and_ends();
    let text = fs::read_to_string(text).unwrap();
    assert!(text.lines().all(|line| line.starts_with("20") && line[..40].contains("Z ")), "{text}");
    assert!(text.lines().last().unwrap().contains("accepted 1, refused 0"), "{text}");
    let file = File::open(at("spool/lock")).unwrap();
    assert!(file.try_lock().is_ok(), "it has ended");
}
