//! A `windlass spool serve` that runs, and what it said.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, LazyLock, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use jsonschema::Validator;
use serde_json::Value;

use windlass_testkit::schema::{fits_by, validator};
use windlass_testkit::windlass;

/// Maximum time of an immediate action.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);

/// Schema of each line.
static SCHEMA: LazyLock<Validator> = LazyLock::new(|| validator("spool-serve"));

/// Waits until something holds.
pub(super) fn wait_for(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < end, "it does not come: {what}");
        thread::sleep(Duration::from_millis(10));
    }
}

fn listening(lines: &[Value]) -> usize {
    lines.iter().filter(|line| line["event"] == "listens").count()
}

/// Lets everybody write to a folder: the commands of a server that is root run as somebody
/// who has no other place.
pub(super) fn open_to_all(folder: &Path) {
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o777);
    std::fs::set_permissions(folder, mode).unwrap();
}

/// A server that runs.
pub(super) struct Spool {
    pub(super) child: Child,
    lines: Arc<Mutex<Vec<Value>>>,
    reader: Option<JoinHandle<()>>,
    pub(super) ipp: u16,
    pub(super) lpr: u16,
    raw: Vec<(String, u16)>,
}

/// End of a server.
pub(super) struct ServerEnd {
    pub(super) code: Option<i32>,
    pub(super) stderr: String,
    pub(super) lines: Vec<Value>,
}

impl ServerEnd {
    /// A count of its last line.
    pub(super) fn count(&self, of: &str) -> u64 {
        let last = self.lines.last().unwrap();
        assert_eq!(last["event"], "ended", "{:#?}\n{}", self.lines, self.stderr);
        last[of].as_u64().unwrap()
    }
}

/// The words of a server in a folder that listens at ports of its own.
pub(super) fn words(folder: &Path, more: &[&str]) -> Vec<String> {
    let ports = ["--listen", "127.0.0.1:0", "--lpr", "127.0.0.1:0"];
    let first = ["spool", "serve", "--json", "--spool", folder.to_str().unwrap()];
    first.iter().chain(&ports).chain(more).map(|word| (*word).to_owned()).collect()
}

impl Spool {
    /// Starts one that keeps its jobs in a folder.
    pub(super) fn start(folder: &Path, more: &[&str]) -> Self {
        let mut command = windlass();
        command.args(words(folder, more));
        Self::of(command).unwrap_or_else(|ended| panic!("it ends: {}", ended.stderr))
    }

    /// Starts one by a command of the caller's.
    pub(super) fn of(command: Command) -> Result<Self, ServerEnd> {
        Self::with_input(command, Stdio::null())
    }

    /// Starts a server with this standard input.
    pub(super) fn with_input(mut command: Command, input: Stdio) -> Result<Self, ServerEnd> {
        let options = ["--listen", "--lpr", "--raw"];
        let said = command.get_args().filter(|word| options.iter().any(|one| word == one));
        let ports = said.count().max(1);
        let child = command.stdin(input).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let mut child = child.unwrap();
        let lines = Arc::new(Mutex::new(Vec::new()));
        let out = BufReader::new(child.stdout.take().unwrap());
        let to = Arc::clone(&lines);
        let reader = thread::spawn(move || {
            for line in out.lines().map_while(Result::ok) {
                // A server that was killed may end within a line.
                let Ok(line) = serde_json::from_str::<Value>(&line) else { continue };
                to.lock().unwrap().push(line);
            }
        });
        let mut spool =
            Self { child, lines, reader: Some(reader), ipp: 0, lpr: 0, raw: Vec::new() };
        // The lines of its start come together.
        let end = Instant::now() + PATIENCE;
        while listening(&spool.lines()) < ports {
            if spool.child.try_wait().unwrap().is_some() || Instant::now() > end {
                return Err(spool.ended());
            }
            thread::sleep(Duration::from_millis(5));
        }
        for line in spool.lines().iter().filter(|line| line["event"] == "listens") {
            let address = line["address"].as_str().unwrap();
            if address.starts_with('/') {
                // A Unix socket, whose path who starts it knows.
                continue;
            }
            let port: u16 = address.rsplit(':').next().unwrap().parse().unwrap();
            match line["protocol"].as_str().unwrap() {
                "IPP" => spool.ipp = port,
                "LPR" => spool.lpr = port,
                _ => spool.raw.push((line["printer"].as_str().unwrap().to_owned(), port)),
            }
        }
        Ok(spool)
    }

    /// The port for the raw data of a printer.
    pub(super) fn raw(&self, printer: &str) -> u16 {
        self.raw.iter().find(|(name, _)| name == printer).unwrap().1
    }

    /// The URI of a printer.
    pub(super) fn uri(&self, printer: &str) -> String {
        format!("ipp://127.0.0.1:{}/printers/{printer}", self.ipp)
    }

    /// Returns the lines so far.
    pub(super) fn lines(&self) -> Vec<Value> {
        self.lines.lock().unwrap().clone()
    }

    /// The events of a kind, as text.
    pub(super) fn events(&self, kind: &str) -> Vec<String> {
        let lines = self.lines();
        let of = lines.iter().filter(|line| line["kind"] == kind);
        of.map(|line| line["text"].as_str().unwrap().to_owned()).collect()
    }

    /// Returns the events once there are this many: an effect may be visible before its line is
    /// read.
    pub(super) fn events_once(&self, kind: &str, count: usize) -> Vec<String> {
        wait_for(kind, || self.events(kind).len() >= count);
        self.events(kind)
    }

    /// Waits until it says something.
    pub(super) fn says(&self, part: &str) {
        self.line(part, |line| line["text"].as_str().is_some_and(|text| text.contains(part)));
    }

    /// Waits for a line, which is called so where it does not come.
    pub(super) fn line(&self, what: &str, is_it: impl Fn(&Value) -> bool) -> Value {
        let end = Instant::now() + PATIENCE;
        loop {
            if let Some(line) = self.lines().into_iter().find(&is_it) {
                return line;
            }
            assert!(Instant::now() < end, "it does not say {what:?}: {:#?}", self.lines());
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// A metric of the whole server, or of a printer.
    pub(super) fn metric(&self, name: &str) -> u64 {
        let (_, text) = super::client::get(self.ipp, "/metrics");
        let line = text.lines().find(|line| line.split(' ').next() == Some(name));
        let line = line.unwrap_or_else(|| panic!("{name}: {text}"));
        line.rsplit(' ').next().unwrap().parse().unwrap()
    }

    /// Waits until so many jobs of all printers are over in this way.
    pub(super) fn wait_counts(&self, printer: &str, what: &str, count: u64) {
        let name = format!("windlass_spool_jobs_{what}_total{{printer=\"{printer}\"}}");
        let mut last = 0;
        let end = Instant::now() + PATIENCE;
        while last < count {
            last = self.metric(&name);
            assert!(Instant::now() < end, "{name} {last}, not {count}: {:#?}", self.lines());
            thread::sleep(Duration::from_millis(10));
        }
        assert_eq!(last, count, "{name}");
    }

    /// Asks it to end, and waits until it has.
    pub(super) fn stop(self) -> ServerEnd {
        self.signaled("TERM")
    }

    /// Sends it a signal, and waits until it has ended.
    pub(super) fn signaled(mut self, signal: &str) -> ServerEnd {
        self.signal(signal);
        self.ended()
    }

    pub(super) fn signal(&self, signal: &str) {
        let pid = self.child.id().to_string();
        let sent = Command::new("kill").args(["-s", signal, &pid]).status().unwrap();
        assert!(sent.success());
    }

    /// Kills it.
    pub(super) fn kill(mut self) {
        self.child.kill().unwrap();
        self.ended();
    }

    fn ended(&mut self) -> ServerEnd {
        let end = Instant::now() + PATIENCE;
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            if Instant::now() > end {
                let _ = self.child.kill();
                panic!("it does not end: {:#?}", self.lines());
            }
            thread::sleep(Duration::from_millis(5));
        };
        let mut stderr = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        self.reader.take().unwrap().join().unwrap();
        let lines = self.lines();
        for line in &lines {
            fits_by(&SCHEMA, line);
        }
        ServerEnd { code: status.code(), stderr, lines }
    }
}

impl Drop for Spool {
    fn drop(&mut self) {
        if self.reader.is_some() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}
