//! `--live` on a real terminal: what stands on it, and that it is left as it was.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a test has peers")]

mod beside;
mod commands;
mod terminal;

use std::fs::{self, File};
use std::io;
use std::process::Command;

use flate2::read::GzDecoder;
use terminal::{Terminal, program};
use windlass_testkit::{repository, run, told};

/// The sizes of a terminal of old, and of a large window.
const SMALL: (u16, u16) = (80, 24);
const LARGE: (u16, u16) = (200, 50);

/// A capture of twelve seconds, unpacked, as a program writes it.
fn capture(terminal: &Terminal) -> String {
    let packed = File::open(repository("tests/corpus/path-capacity-policer.snd.pcap.gz")).unwrap();
    let path = terminal.file("policer.pcap");
    io::copy(&mut GzDecoder::new(packed), &mut File::create(&path).unwrap()).unwrap();
    path.display().to_string()
}

/// A view of that, in a terminal with a folder of its own, once all of it has been read.
fn follow(terminal: &Terminal) -> String {
    let name = capture(terminal);
    let folder = name.strip_suffix("/policer.pcap").unwrap();
    terminal.line(&format!("cd {folder}"));
    terminal.begin(&format!("{} explain --follow policer.pcap --live", program()));
    terminal.wait("all of it", is_read)
}

fn is_read(screen: &str) -> bool {
    screen.contains("at 12.0 s")
}

/// The process that has a terminal's view.
fn process(terminal: &Terminal) -> String {
    let folder = terminal.file("").canonicalize().unwrap();
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let ours = entries.filter_map(|entry| {
        let path = entry.path();
        let is_there = fs::read_link(path.join("cwd")).is_ok_and(|cwd| cwd == folder);
        let runs = fs::read_link(path.join("exe")).is_ok_and(|exe| exe.ends_with("windlass"));
        (is_there && runs).then(|| entry.file_name().into_string().unwrap())
    });
    // What it has started came later.
    ours.min_by_key(|process| process.parse::<u32>().unwrap()).unwrap()
}

fn signal(process: &str, signal: &str) {
    assert!(Command::new("kill").args(["-s", signal, process]).status().unwrap().success());
}

#[test]
fn a_view_fits_its_terminal_and_another_size_of_it() {
    let Some(terminal) = Terminal::open("a_view_fits_its_terminal", SMALL) else { return };
    let small = follow(&terminal);
    assert_eq!(terminal.flags(), (false, true, false), "{small}");
    insta::assert_snapshot!("a_capture_at_80_by_24", small);
    terminal.resize(LARGE);
    let is_large = |screen: &str| is_read(screen) && screen.lines().count() == 50;
    // It is drawn anew: what tmux makes of the smaller one has its keys higher up.
    let has_keys = |screen: &str| screen.lines().last().is_some_and(|last| last.starts_with("q "));
    let large = terminal.wait("the large one", |screen| is_large(screen) && has_keys(screen));
    insta::assert_snapshot!("a_capture_at_200_by_50", large);
    terminal.resize(SMALL);
    assert_eq!(terminal.wait("the small one", |screen| screen == small), small);
    // A key is heard, and what stands there stays.
    terminal.key("Space");
    let frozen = terminal.wait("frozen", |screen| screen.contains("frozen at 12.0 s"));
    assert!(frozen.contains("space go on"), "{frozen}");
    terminal.key("q");
    let (screen, code) = terminal.restored();
    // What was measured is reported, on the screen of before.
    assert!(screen.contains("drops data above 484 kB/s"), "{screen}");
    assert_eq!(code, 0, "{screen}");
}

#[test]
fn each_end_of_a_view_leaves_the_terminal_clean() {
    let test = "each_end_of_a_view_leaves_the_terminal_clean";
    let Some(terminal) = Terminal::open(test, SMALL) else { return };
    for end in ["C-c", "INT", "TERM", "HUP", "q"] {
        follow(&terminal);
        match end {
            "INT" | "TERM" | "HUP" => signal(&process(&terminal), end),
            key => terminal.key(key),
        }
        let (screen, code) = terminal.restored();
        assert!(screen.contains("--details shows") && !screen.contains("space freeze"), "{screen}");
        assert_eq!(code, 0, "{end}: {screen}");
    }
    // A view ends with its command, too: its writer has closed the pipe, or it fails.
    terminal.begin(&format!("cat policer.pcap | {} explain --follow - --live", program()));
    let (screen, code) = terminal.restored();
    assert!(screen.contains("--details shows"), "{screen}");
    assert_eq!(code, 0, "{screen}");
    terminal.begin(&format!("{} explain --follow /dev/null --live", program()));
    let (screen, code) = terminal.restored();
    assert!(screen.contains("error: cannot explain /dev/null"), "{screen}");
    assert_eq!(code, 1, "{screen}");
}

#[test]
fn a_view_is_stopped_and_goes_on() {
    let Some(terminal) = Terminal::open("a_view_is_stopped_and_goes_on", SMALL) else { return };
    let view = follow(&terminal);
    terminal.key("C-z");
    terminal.wait("the prompt", |screen| screen.contains("Stopped"));
    assert_eq!(terminal.flags(), (true, false, true));
    terminal.line("fg");
    let again = terminal.wait("the view", |screen| screen == view);
    assert_eq!(terminal.flags(), (false, true, false), "{again}");
    terminal.key("q");
    terminal.wait("the report", |screen| screen.contains("--details shows"));
    assert_eq!(terminal.flags(), (true, false, true));
}

#[test]
fn a_view_takes_a_terminal() {
    let corpus = repository("tests/corpus/path-capacity-policer.snd.pcap.gz");
    let file = corpus.display();
    let (stdout, stderr, code) = told(&run(&format!("explain --follow {file} --live")));
    assert_eq!((stdout.as_str(), code), ("", 2), "{stderr}");
    assert!(stderr.contains("needs a terminal") && stderr.contains("tip: Omit --live"), "{stderr}");
    for (line, wrong) in [
        (format!("explain --follow {file} --live --json"), "cannot be used with '--json'"),
        (format!("explain {file} --live"), "tip: Add --follow."),
    ] {
        let (stdout, stderr, code) = told(&run(&line));
        assert_eq!((stdout.as_str(), code), ("", 2), "{line}");
        assert!(stderr.contains(wrong), "{line}: {stderr}");
    }
    let Some(terminal) = Terminal::open("a_view_takes_a_terminal", SMALL) else { return };
    terminal.begin(&format!("TERM=dumb {} explain --follow {file} --live", program()));
    let (screen, code) = terminal.restored();
    // The screen breaks long lines.
    let words: String = screen.split_whitespace().collect();
    assert!(words.contains("TERMisunsetordumb"), "{screen}");
    assert_eq!(code, 2, "{screen}");
}
