//! Sockets that a service manager listens at and hands on: the server serves there, and leaves
//! them where they are.

use std::ffi::OsStr;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::process::{Command, Stdio};

use super::client::{connect, get, print};
use super::server::Spool;
use windlass_testkit::windlass;

/// A command that is started as systemd starts it, with what it has as standard input handed
/// on as the one socket, of this name.
fn started(folder: &Path, to: &str, name: &str, more: &[&str]) -> Command {
    let program = windlass();
    let mut command = Command::new("/bin/sh");
    let script = format!(
        "export LISTEN_PID={to} LISTEN_FDS=1 LISTEN_FDNAMES={name}; exec \"$@\" 3<&0 </dev/null"
    );
    command.args(["-c", &script, "sh"]).arg(program.get_program()).args(program.get_args());
    for (key, value) in program.get_envs() {
        command.env(key, value.unwrap_or(OsStr::new("")));
    }
    command.args(["spool", "serve", "--json", "--printer", "a=drop", "--spool"]).arg(folder);
    command.args(more);
    command
}

fn serve(command: Command, socket: impl Into<OwnedFd>) -> Spool {
    Spool::with_input(command, Stdio::from(socket.into()))
        .unwrap_or_else(|ended| panic!("it ends: {}", ended.stderr))
}

fn own_port() -> (TcpListener, u16) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    (listener, port)
}

#[test]
fn an_address_that_is_handed_on_takes_the_place_of_the_usual_one() {
    let folder = tempfile::tempdir().unwrap();
    let (listener, port) = own_port();
    let kept = listener.try_clone().unwrap();
    // A client that came before the server was there.
    let mut early = connect(port);
    early.write_all(b"GET /metrics HTTP/1.0\r\nHost: localhost\r\n\r\n").unwrap();
    let spool = serve(started(folder.path(), "$$", "windlass-spool.socket", &[]), listener);
    assert_eq!(spool.ipp, port);
    let listens = spool.lines().iter().filter(|line| line["event"] == "listens").count();
    assert_eq!(listens, 1, "nothing else: {:#?}", spool.lines());
    let mut answer = String::new();
    early.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.") && answer.contains("windlass_spool"), "{answer}");
    print(port, "a", "one", b"1");
    spool.wait_counts("a", "completed", 1);
    assert_eq!(spool.stop().code, Some(0));
    // Who listened before still does: a client that comes now waits for the next start.
    drop(connect(port));
    drop(kept);
}

#[test]
fn an_address_of_the_settings_is_what_they_say() {
    let folder = tempfile::tempdir().unwrap();
    let (listener, port) = own_port();
    let address = format!("127.0.0.1:{port}");
    let more = ["--listen", "127.0.0.1:0", "--lpr", &address];
    let spool = serve(started(folder.path(), "$$", "", &more), listener);
    assert_eq!(spool.lpr, port);
    assert_ne!(spool.ipp, port);
    // Command 4 asks for the state of a queue (RFC 1179, section 5.4).
    let mut client = connect(port);
    client.write_all(b"\x04a\n").unwrap();
    let mut state = String::new();
    client.read_to_string(&mut state).unwrap();
    assert!(state.contains("no entries"), "{state}");
    assert_eq!(spool.stop().code, Some(0));
}

#[test]
fn a_socket_of_the_name_lpr_speaks_it() {
    let folder = tempfile::tempdir().unwrap();
    let (listener, port) = own_port();
    let more = ["--listen", "127.0.0.1:0"];
    let mut command = started(folder.path(), "$$", "lpr", &more);
    // It tells of two places, and one of them is no option.
    command.args(["--raw", "a=127.0.0.1:0"]);
    let spool = serve(command, listener);
    let line = spool.line("where it listens for LPR", |line| line["protocol"] == "LPR");
    assert_eq!(line["address"], format!("127.0.0.1:{port}"));
    assert_eq!(spool.stop().code, Some(0));
}

#[test]
fn a_unix_socket_that_is_handed_on_stays() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("spool.sock");
    let listener = UnixListener::bind(&path).unwrap();
    let kept = listener.try_clone().unwrap();
    let spool = serve(started(&folder.path().join("spool"), "$$", "", &[]), listener);
    let mut client = UnixStream::connect(&path).unwrap();
    client.write_all(b"GET /metrics HTTP/1.0\r\nHost: localhost\r\n\r\n").unwrap();
    let mut answer = String::new();
    client.read_to_string(&mut answer).unwrap();
    assert!(answer.contains("windlass_spool"), "{answer}");
    assert_eq!(spool.stop().code, Some(0));
    assert!(path.exists(), "it is whose it was");
    drop(kept);
}

#[test]
fn what_is_for_another_process_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let (listener, port) = own_port();
    let more = ["--listen", "127.0.0.1:0"];
    let spool = serve(started(folder.path(), "1", "", &more), listener);
    assert_ne!(spool.ipp, port);
    assert_eq!(get(spool.ipp, "/metrics").0, 200);
    assert_eq!(spool.stop().code, Some(0));
}

#[test]
fn what_is_no_socket_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = tempfile::tempfile().unwrap();
    let command = started(folder.path(), "$$", "", &[]);
    let ended = Spool::with_input(command, Stdio::from(file)).err().unwrap();
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    assert!(
        ended.stderr.contains("the sockets of the service manager: file 3"),
        "{}",
        ended.stderr
    );
}
