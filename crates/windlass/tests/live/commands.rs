//! Each command that takes `--live` shows its own figures, and reports at the end.

use std::io::Read;
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Stdio};
use std::thread;
use std::time::Duration;

use crate::SMALL;
use crate::terminal::{Terminal, program};
use windlass_testkit::port::free_port;
use windlass_testkit::{is_root, skipped, windlass};

/// A printer that takes all that is sent, not too fast; gives its port.
fn printer() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let take = |mut client: TcpStream| {
        let mut bytes = vec![0; 1 << 14];
        while matches!(client.read(&mut bytes), Ok(read) if read > 0) {
            thread::sleep(Duration::from_millis(1));
        }
    };
    thread::spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            thread::spawn(move || take(client));
        }
    });
    port
}

/// `windlass serve`, while this is there.
pub(crate) struct Server {
    child: Child,
    pub(crate) port: u16,
}

impl Server {
    pub(crate) fn start() -> Self {
        // Nobody has it when the server asks for it.
        let port = free_port();
        let mut command = windlass();
        command.args(["serve", "--bind", "127.0.0.1", "--port", &port.to_string()]);
        let child = command.stdout(Stdio::null()).spawn().unwrap();
        Self { child, port }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs a command until these words stand on its view, ends it by `q`, and wants these in what
/// it reports, and this exit code.
fn shows(terminal: &Terminal, command: &str, words: &[&str], reports: &str, code: i32) {
    terminal.begin(&format!("WINDLASS_STORE= {} {command}", program()));
    let has_all = |screen: &str| words.iter().all(|word| screen.contains(word));
    let is_view = |screen: &str| screen.contains("q end and report") && has_all(screen);
    terminal.wait(command, |screen| is_view(screen) && !screen.contains("nothing yet"));
    terminal.key("q");
    let (screen, ended) = terminal.restored();
    assert!(screen.contains(reports), "{command}: {screen}");
    assert_eq!(ended, code, "{command}: {screen}");
}

#[test]
fn what_measures_shows_a_view_and_reports() {
    let test = "what_measures_shows_a_view_and_reports";
    let Some(terminal) = Terminal::open(test, SMALL) else { return };
    let (server, printer) = (Server::start(), printer());
    let port = server.port;
    // A connection that is taken says that the server is there.
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        thread::sleep(Duration::from_millis(10));
    }
    let send = format!("send 127.0.0.1 --port {port} --time 60s --pace 1mbit --live");
    let words = ["held by", "cwnd", "flight", "RTT", "bit/s"];
    shows(&terminal, &send, &words, "stopped before its end", 0);
    let ping = format!("ping 127.0.0.1:{port} --rate 100 --time 60s --live");
    shows(&terminal, &ping, &["slowest", "lost", "p99"], "answered", 0);
    shows(&terminal, "watch --interval 100ms --live", &["busiest core", "available"], "busiest", 0);
    let print = format!("print socket://127.0.0.1:{printer} /dev/zero --interval 100ms --live");
    shows(&terminal, &print, &["held by", "cwnd", "bit/s"], "error: ", 1);
    let load = format!("spool load socket://127.0.0.1:{printer} --jobs 1000000 --size 1k --live");
    shows(&terminal, &load, &["queued", "jobs/s"], "of 1000000 jobs were queued", 1);
}

#[test]
fn an_interface_shows_what_moves_on_it() {
    let test = "an_interface_shows_what_moves_on_it";
    if !is_root() {
        return skipped(test, "only root captures everywhere");
    }
    let Some(terminal) = Terminal::open(test, SMALL) else { return };
    let server = Server::start();
    let port = server.port;
    let send = format!("send 127.0.0.1 --port {port} --time 60s --pace 1mbit --no-save");
    let mut sender = windlass();
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        thread::sleep(Duration::from_millis(10));
    }
    let mut sender = sender.args(send.split(' ')).stdout(Stdio::null()).spawn().unwrap();
    let held = [":", "open, ", "application"];
    for (command, reports) in
        [("capture lo --live", "ended  "), ("explain --follow lo --live", "--details shows")]
    {
        let command = format!("{command} --port {port}");
        shows(&terminal, &command, &held, reports, 0);
    }
    sender.kill().unwrap();
    sender.wait().unwrap();
}
