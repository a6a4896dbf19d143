//! Views of what serves and of what emulates: a server, a link between two commands, and a device
//! beside one.

use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::thread;
use std::time::Duration;

use crate::terminal::{Terminal, program};
use crate::{LARGE, SMALL, process, signal};
use windlass_testkit::port::free_port;
use windlass_testkit::{devices, run, skipped, told, windlass};

/// Returns whether all of these words are in a view.
fn has<'a>(words: &'a [&str]) -> impl Fn(&str) -> bool + 'a {
    move |screen| {
        screen.contains("q end and report")
            && !screen.contains("nothing yet")
            && words.iter().all(|word| screen.contains(word))
    }
}

/// A sender to this port that does not end by itself, while this is there.
struct Sender(Child);

impl Sender {
    fn to(port: u16) -> Self {
        Self::of(port, "--time 60s --pace 1mbit")
    }

    /// One that sends as this says.
    fn of(port: u16, how: &str) -> Self {
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            thread::sleep(Duration::from_millis(10));
        }
        let line = format!("send 127.0.0.1 --port {port} {how} --no-save");
        let mut command = windlass();
        command.args(line.split(' ')).stdout(Stdio::null()).stderr(Stdio::null());
        Self(command.spawn().unwrap())
    }
}

impl Drop for Sender {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Waits for a view that has these words at both sizes, drawn as a whole each time; and that it
/// stands still when it is told to.
fn looked_at(terminal: &Terminal, what: &str, words: &[&str]) {
    let rows = |screen: &str, rows: usize| {
        let last = screen.lines().last();
        screen.lines().count() == rows && last.is_some_and(|last| last.starts_with("q end"))
    };
    terminal.wait(what, |screen| has(words)(screen) && rows(screen, 24));
    assert_eq!(terminal.flags(), (false, true, false), "{what}");
    terminal.resize(LARGE);
    let large = terminal.wait(what, |screen| has(words)(screen) && rows(screen, 50));
    assert!(large.lines().all(|line| line.chars().count() <= 200), "{large}");
    terminal.resize(SMALL);
    terminal.wait(what, |screen| has(words)(screen) && rows(screen, 24));
    terminal.key("Space");
    let frozen = terminal.wait(what, |screen| screen.contains("space go on"));
    assert!(frozen.contains("frozen at "), "{frozen}");
    terminal.key("Space");
    terminal.wait(what, |screen| screen.contains("space freeze"));
}

#[test]
fn a_server_shows_the_tests_that_run() {
    let test = "a_server_shows_the_tests_that_run";
    let Some(terminal) = Terminal::open(test, SMALL) else { return };
    let folder = terminal.file("");
    terminal.line(&format!("cd {}", folder.display()));
    for end in ["C-c", "q", "TERM", "HUP"] {
        let port = free_port();
        let serve = format!("serve --bind 127.0.0.1 --port {port} --live");
        terminal.begin(&format!("{} {serve}", program()));
        terminal.wait("the server", |screen| screen.contains("q end and report"));
        let sender = Sender::to(port);
        let words = ["1 test running", "windlass", "receives", "bit/s", "held by"];
        if end == "C-c" {
            looked_at(&terminal, "a test", &words);
        }
        // The client says what its kernel waited for.
        let is_held = |screen: &str| {
            let mut row = screen.lines().filter(|line| line.contains(" receives "));
            row.any(|row| ["pace", "program", "cwnd"].iter().any(|one| row.contains(one)))
        };
        terminal.wait("a test", |screen| has(&words)(screen) && is_held(screen));
        match end {
            "TERM" | "HUP" => signal(&process(&terminal), end),
            key => terminal.key(key),
        }
        let (screen, code) = terminal.restored();
        // The lines that it prints without a view.
        assert!(screen.contains(&format!("listening on 127.0.0.1:{port}")), "{end}: {screen}");
        assert!(screen.contains("test 1  127.0.0.1:"), "{end}: {screen}");
        assert!(screen.contains("  received ") && !screen.contains("space freeze"), "{screen}");
        assert_eq!(code, 0, "{end}: {screen}");
        drop(sender);
    }
    // A server of one test ends its view with it.
    let port = free_port();
    let serve = format!("serve --bind 127.0.0.1 --port {port} --live --once");
    terminal.begin(&format!("{} {serve}", program()));
    terminal.wait("the server", |screen| screen.contains("q end and report"));
    let _sender = Sender::of(port, "--bytes 1M");
    let (screen, code) = terminal.restored();
    assert!(screen.contains("listening on") && screen.contains("received 1,048,576 B"), "{screen}");
    assert_eq!(code, 0, "{screen}");
}

/// Returns whether links can be made here. If not, the test says that it is skipped.
fn links(test: &str) -> bool {
    let (_, stderr, code) = told(&run("link -- true"));
    if code != 0 {
        skipped(test, stderr.lines().next().unwrap_or("no link can be made"));
    }
    code == 0
}

#[test]
fn a_link_shows_both_ways_and_prints_what_its_command_wrote() {
    let test = "a_link_shows_both_ways_and_prints_what_its_command_wrote";
    if !links(test) {
        return;
    }
    let Some(terminal) = Terminal::open(test, SMALL) else { return };
    terminal.line(&format!("cd {}", terminal.file("").display()));
    let windlass = program();
    // The report is longer than the screen, on which is what the command wrote.
    let link = format!("{windlass} link --rate 10mbit --rtt 10ms --live --report report");
    let report = || std::fs::read_to_string(terminal.file("report")).unwrap();
    let serve = format!("--peer '{windlass} serve --bind 192.0.2.2'");
    // It answers at once, however busy the machine is: two seconds later it would be ended.
    let send = format!(
        "sh -c 'trap \"echo heard of it; exit 5\" INT; {windlass} send 192.0.2.2 --time 60s \
         --no-save & wait'"
    );
    let words = [
        "windlass link -- ",
        "10 Mbit/s, 5 ms each way",
        "in the queue now",
        "dropped by the queue",
        "emulator late ",
    ];
    for end in ["C-c", "q"] {
        terminal.begin(&format!("{link} {serve} -- {send}"));
        let has_queue = |screen: &str| {
            // The window fills the queue.
            let queue = screen.lines().find(|line| line.starts_with("queue to"));
            has(&words)(screen) && queue.is_some_and(|line| line.contains(" B  "))
        };
        terminal.wait("a transfer", has_queue);
        if end == "C-c" {
            looked_at(&terminal, "a transfer", &words);
        }
        terminal.key(end);
        let (screen, code) = terminal.restored();
        // The command heard of it, by a key that only windlass got, too: it says what it found.
        assert!(screen.contains("heard of it"), "{end}: {screen}");
        assert!(!screen.contains("space freeze"), "{end}: {screen}");
        let report = report();
        assert!(report.contains("ended with exit status 5, interrupted"), "{end}: {report}");
        assert_eq!(code, 1, "{end}: {screen}");
    }
    for end in ["TERM", "HUP"] {
        terminal.begin(&format!("{link} -- sleep 60"));
        terminal.wait("a link", has(&words[..4]));
        signal(&process(&terminal), end);
        let (screen, code) = terminal.restored();
        assert!(screen.contains("it was ended by signal 15 (SIGTERM)"), "{end}: {screen}");
        assert!(report().contains("sleep 60: was ended by signal 15 (SIGTERM), interrupted"));
        assert_eq!(code, 1, "{end}: {screen}");
    }
    // It ends with its command, which finds nothing to read: keys are the view's.
    terminal.begin(&format!("{link} -- sh -c 'cat; echo written; echo beside >&2' | cat"));
    let (screen, code) = terminal.restored();
    assert!(screen.contains("needs a terminal") && code == 0, "behind a pipe: {screen}");
    terminal.begin(&format!("{link} -- sh -c 'cat; echo written; echo beside >&2' 2>errors"));
    let (screen, code) = terminal.restored();
    assert!(screen.contains("written") && !screen.contains("beside"), "{screen}");
    assert_eq!(code, 0, "{screen}");
    let errors = std::fs::read_to_string(terminal.file("errors")).unwrap();
    assert!(errors.starts_with("beside\n"), "what is no terminal is the command's: {errors}");
    assert!(report().starts_with("The link after"), "{}", report());
    terminal.begin(&format!("echo piped | {link} -- sh -c 'cat; exit 3'"));
    let (screen, code) = terminal.restored();
    assert!(screen.contains("piped") && screen.contains("exit status 3"), "{screen}");
    assert_eq!(code, 1, "{screen}");
}

#[test]
fn a_device_shows_its_connections_and_reports() {
    let test = "a_device_shows_its_connections_and_reports";
    if !devices(test) {
        return;
    }
    let Some(terminal) = Terminal::open(test, SMALL) else { return };
    terminal.line(&format!("cd {}", terminal.file("").display()));
    let windlass = program();
    let device = format!("{windlass} device run netgear-ps101 --live");
    let print = format!("{windlass} print socket://192.0.2.2 /dev/zero --no-save");
    let words =
        ["windlass device run netgear-ps101 -- ", "1 connection open", "raw 9100", "rate in"];
    for end in ["C-c", "q"] {
        terminal.begin(&format!("{device} -- {print}"));
        terminal.wait("a job", has(&words));
        if end == "C-c" {
            looked_at(&terminal, "a job", &words);
        }
        terminal.key(end);
        let (screen, code) = terminal.restored();
        assert!(screen.contains("scheduling") && screen.contains("interrupted"), "{end}: {screen}");
        assert!(!screen.contains("space freeze"), "{end}: {screen}");
        assert_eq!(code, 1, "{end}: {screen}");
    }
    // What is written is printed, and a job that is done is counted until the end.
    let job = format!(
        "echo to-be-seen; head -c 4000 /dev/zero | {windlass} print socket://192.0.2.2 - --no-save; sleep 60"
    );
    terminal.begin(&format!("{device} --report report -- sh -c '{job}'"));
    terminal.wait("a job", has(&["0 connections open, 1 job done"]));
    terminal.key("q");
    let (screen, code) = terminal.restored();
    assert!(screen.contains("to-be-seen"), "{screen}");
    let report = std::fs::read_to_string(terminal.file("report")).unwrap();
    assert!(report.contains("Received") && report.contains("4,000 B"), "{report}");
    assert_eq!(code, 1, "{screen}");
}

#[test]
fn where_no_view_can_be_shown_it_is_refused() {
    for line in ["serve --live", "link --live -- true", "device run healthy --live -- true"] {
        let (stdout, stderr, code) = told(&run(line));
        assert_eq!((stdout.as_str(), code), ("", 2), "{line}: {stderr}");
        assert!(stderr.contains("needs a terminal"), "{line}: {stderr}");
        let (before, after) = line.split_once(" --live").unwrap();
        let (_, stderr, code) = told(&run(&format!("{before} --live --json{after}")));
        assert_eq!(code, 2, "{line}: {stderr}");
        assert!(stderr.contains("cannot be used with '--json'"), "{line}: {stderr}");
    }
    let (_, stderr, code) = told(&run("serve --live --once --output -"));
    assert!(code == 2 && stderr.contains("standard output"), "{stderr}");
    let Some(terminal) = Terminal::open("where_no_view_can_be_shown", SMALL) else { return };
    for line in ["link --live", "device run healthy --live"] {
        terminal.begin(&format!("{} {line}", program()));
        let (screen, code) = terminal.restored();
        assert!(screen.contains("the live view and your shell"), "{screen}");
        assert_eq!(code, 2, "{screen}");
    }
}
