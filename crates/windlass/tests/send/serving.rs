//! A server for a test.

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use windlass_testkit::windlass;

/// Maximum time until the server prints its lines.
const PATIENCE: Duration = Duration::from_secs(60);

/// A `windlass serve` that runs until this goes.
pub(crate) struct WindlassServer {
    child: Child,
    lines: Receiver<String>,
    pub(crate) port: String,
}

impl WindlassServer {
    /// Starts it on a free port of the loopback.
    pub(crate) fn start(options: &[&str]) -> Self {
        let mut command = windlass();
        command.args(["serve", "--bind", "127.0.0.1", "--port", "0"]).args(options);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn().unwrap();
        let lines = lines(child.stdout.take().unwrap());
        let first = lines.recv_timeout(PATIENCE).unwrap();
        let digits = |text: &str| text.chars().filter(char::is_ascii_digit).collect::<String>();
        let port = digits(first.rsplit(':').next().unwrap());
        // Behind it, that the same port of UDP is listened on.
        lines.recv_timeout(PATIENCE).unwrap();
        Self { child, lines, port }
    }

    /// Returns the next line.
    pub(crate) fn says(&self) -> String {
        self.lines.recv_timeout(PATIENCE).unwrap()
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits until it has ended by itself, and gives its exit code.
    pub(crate) fn ends(mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }
}

impl Drop for WindlassServer {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn lines(stdout: ChildStdout) -> Receiver<String> {
    let (sender, lines) = channel();
    thread::spawn(move || {
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    lines
}
