//! On a terminal each interval takes the place of the one before, and the terminal is left clean.

use std::fs;
use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use crate::PATIENCE;
use windlass_testkit::{has, run, skipped, told};

const HIDE: &str = "\x1b[?25l";
const SHOW: &str = "\x1b[?25h";

/// The program on a terminal, which `script` gives it. Nobody else looks at this port.
fn on_terminal(port: u16) -> Child {
    let program = env!("CARGO_BIN_EXE_windlass");
    // In the shell's place: a shell that waits hears Ctrl-C, too, and ends with 130.
    let line = format!("exec {program} top --interval 100ms --all --port {port}");
    let mut command = Command::new("script");
    command.args(["-qefc", &line, "/dev/null"]).env("TERM", "xterm").env_remove("NO_COLOR");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap()
}

/// The number of the program that looks at this port.
fn process(port: u16) -> Option<u32> {
    let words = format!("\0--port\0{port}\0");
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let mut pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.find(|pid| {
        let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).ends_with(&words)
    })
}

/// Reads until so many frames have been drawn; nothing where it ends before that.
fn frames(child: &mut Child, count: usize) -> Option<String> {
    let (mut text, since) = (String::new(), Instant::now());
    let stdout = child.stdout.as_mut().unwrap();
    while text.matches(SHOW).count() < count {
        let mut piece = [0; 4_096];
        let length = stdout.read(&mut piece).unwrap();
        text.push_str(&String::from_utf8_lossy(&piece[..length]));
        if length == 0 {
            return None;
        }
        assert!(since.elapsed() < PATIENCE, "{text:?}");
    }
    Some(text)
}

#[test]
fn a_terminal_is_left_clean() {
    let test = "a_terminal_is_left_clean";
    if !has("script", test) {
        return;
    }
    for (signal, port) in [("TERM", 65_011), ("INT", 65_012), ("KILL", 65_013), ("Ctrl-C", 65_014)]
    {
        let mut child = on_terminal(port);
        let Some(drawn) = frames(&mut child, 2) else {
            return skipped(test, "script gives no terminal here");
        };
        assert!(drawn.contains("connection"), "{drawn:?}");
        // The first clears the screen, and the second goes over it.
        assert_eq!(drawn.matches("\x1b[2J").count(), 1, "{drawn:?}");
        assert!(drawn.matches("\x1b[H").count() >= 2, "{drawn:?}");
        if signal == "Ctrl-C" {
            child.stdin.as_mut().unwrap().write_all(b"\x03").unwrap();
        } else {
            let id = process(port).unwrap().to_string();
            assert!(Command::new("kill").args(["-s", signal, &id]).status().unwrap().success());
        }
        let output = child.wait_with_output().unwrap();
        let rest = String::from_utf8_lossy(&output.stdout).into_owned();
        let whole = drawn + &rest;
        // Whoever kills it between two frames finds the cursor shown, too.
        let (hidden, shown) = (whole.rfind(HIDE).unwrap(), whole.rfind(SHOW).unwrap());
        assert!(hidden < shown, "{signal}: {whole:?}");
        let code = output.status.code();
        assert_eq!(code == Some(0), signal != "KILL", "{signal}: {code:?} {whole:?}");
    }
}

#[test]
fn elsewhere_a_table_follows_the_other() {
    let (stdout, stderr, code) = told(&run("top --count 2 --interval 100ms --all"));
    assert_eq!((stderr.as_str(), code), ("", 0));
    assert!(!stdout.contains('\x1b'), "{stdout:?}");
    assert_eq!(stdout.matches(" active: ").count(), 2, "{stdout}");
    let (once, _, code) = told(&run("top --once --interval 100ms --rows 1"));
    assert_eq!((once.matches(" active: ").count(), code), (1, 0), "{once}");
}
