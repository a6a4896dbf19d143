//! A terminal is given back on exits that no command makes by itself: panics, signals that kill.
//!
//! Each test runs itself again, as a child on a terminal that `script` gives.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::env;
use std::ffi::OsStr;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, Sender, channel};

use windlass_terminal::{Answer, Key, Scene, Screen, Size};

const ENTER: &str = "\x1b[?1049h";
const LEAVE: &str = "\x1b[?1049l";
const SHOW_CURSOR: &str = "\x1b[?25h";

/// A scene that says when it is drawn, and panics on demand.
struct Drawing {
    drawn: Sender<()>,
    panics: bool,
}

impl Scene for Drawing {
    fn has_changed(&mut self) -> bool {
        // The view asks once the drawn lines stand on the terminal.
        let _ = self.drawn.send(());
        assert!(!self.panics, "the view broke off");
        false
    }

    fn draw(&mut self, _: Size) -> Vec<String> {
        vec!["a view".to_owned()]
    }

    fn key(&mut self, _: Key) -> Answer {
        Answer::Nothing
    }
}

/// A view that is drawn.
fn open(panics: bool) -> (Screen, Receiver<()>) {
    let (drawn, is_drawn) = channel();
    let screen = Screen::open(Drawing { drawn, panics }, Arc::new(AtomicBool::new(false))).unwrap();
    is_drawn.recv().unwrap();
    (screen, is_drawn)
}

#[test]
#[ignore = "a child of the other tests"]
fn child_panics() {
    let _screen = open(false);
    panic!("what measures broke off");
}

#[test]
#[ignore = "a child of the other tests"]
fn child_panics_while_it_draws() {
    let (screen, drawn) = open(true);
    // The view's thread is over, and its end of the channel with it.
    assert!(drawn.recv().is_err());
    println!("what measures went on");
    drop(screen);
}

#[test]
#[ignore = "a child of the other tests"]
fn child_ends_itself() {
    let signal = env::var("SIGNAL").unwrap();
    let (_screen, drawn) = open(false);
    let id = std::process::id().to_string();
    assert!(Command::new("kill").args(["-s", &signal, &id]).status().unwrap().success());
    // The thread ends by the signal, and the process with it.
    while drawn.recv().is_ok() {}
    loop {
        std::thread::park();
    }
}

fn is_installed(tool: &str) -> bool {
    let paths = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&paths).any(|folder| folder.join(tool).is_file())
}

/// Returns the contents of a child's terminal, and the shell's words behind them; nothing if there
/// is no `script`.
fn on_a_terminal(child: &str, signal: &str) -> Option<String> {
    if !is_installed("script") {
        eprintln!("skipped: {child}: script is not installed");
        return None;
    }
    let test = env::current_exe().unwrap();
    let line = format!(
        "stty -a > \"$BEFORE\"; {} --ignored --exact {child} --nocapture; echo \"exit=$?\"; \
         stty -a > \"$AFTER\"; cmp \"$BEFORE\" \"$AFTER\" && echo as before",
        test.display()
    );
    let name = format!("windlass-terminal-{}-{child}-{signal}", std::process::id());
    let folder = env::temp_dir().join(name);
    std::fs::create_dir(&folder).unwrap();
    let output = Command::new("script")
        .args([OsStr::new("-qec"), OsStr::new(&line), OsStr::new("/dev/null")])
        .env("BEFORE", folder.join("before"))
        .env("AFTER", folder.join("after"))
        .env("SIGNAL", signal)
        .env("TERM", "xterm")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    std::fs::remove_dir_all(folder).unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains(ENTER) && text.contains("a view"), "{text:?}");
    assert_eq!((text.matches(ENTER).count(), text.matches(LEAVE).count()), (1, 1), "{text:?}");
    assert!(text.rfind(SHOW_CURSOR) > text.rfind("\x1b[?25l"), "{text:?}");
    assert!(text.trim_end().ends_with("as before"), "{text:?}");
    Some(text)
}

/// Checks that a word stands behind the view.
fn behind(text: &str, word: &str) {
    let (left, said) = (text.find(LEAVE).unwrap(), text.find(word).unwrap_or_default());
    assert!(left < said, "{text:?}");
}

#[test]
fn a_panic_gives_the_terminal_back_and_is_told_on_the_screen_of_before() {
    let Some(text) = on_a_terminal("child_panics", "") else { return };
    behind(&text, "what measures broke off");
    behind(&text, "exit=101");
}

#[test]
fn a_panic_of_the_view_ends_the_view_alone() {
    let Some(text) = on_a_terminal("child_panics_while_it_draws", "") else { return };
    behind(&text, "the view broke off");
    behind(&text, "what measures went on");
    behind(&text, "exit=0");
}

#[test]
fn a_signal_that_kills_finds_the_terminal_given_back() {
    let Some(text) = on_a_terminal("child_ends_itself", "QUIT") else { return };
    behind(&text, "exit=131");
}
