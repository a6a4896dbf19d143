//! Exit codes, colour, broken pipes and full disks: how the program behaves
//! among others.

use std::fs::OpenOptions;
use std::io::Read;
use std::process::Stdio;

use windlass_testkit::{run, skipped, told, windlass};

const LAW: &str = "law window --window 2920 --time 117695us";

#[test]
fn done_is_zero() {
    for line in [LAW, "--help", "--version", "law --help", "man", "completions bash"] {
        let (stdout, stderr, code) = told(&run(line));
        assert_eq!((stderr.as_str(), code), ("", 0), "{line}");
        assert!(!stdout.is_empty(), "{line}");
    }
}

#[test]
fn bad_usage_is_two_and_explains_itself() {
    for (line, said) in [
        ("", "Usage: windlass"),
        ("law", "Usage: windlass law"),
        ("haul", "unrecognized subcommand 'haul'"),
        ("explain", "<FILE>"),
        ("explain a b --follow", "cannot be used with"),
        ("explain a --connection 0", "0 is not in 1.."),
        ("explain a --all --top 3", "cannot be used with"),
        ("explain a --connection 1 --all", "cannot be used with"),
        ("explain a --follow --annotate b", "cannot be used with"),
        ("explain a --host printer", "invalid IP address"),
        ("explain a --port 0", "a port is a number from 1 to 65535, or the name of a service"),
        ("show a --packets 9..3", "write 3..9"),
        ("print printer", "<FILE>"),
        ("print printer a", "give --protocol"),
        ("print printer --payload zeros", "--bytes <SIZE>"),
        ("print printer --protocol lpr a", "LPR prints on a queue"),
        ("spool serve", "there is no printer"),
        ("spool serve --printer a", "write a printer as NAME=DEVICE"),
        ("spool serve --printer a=tape:/x", "is not a device"),
        ("spool serve --printer a=drop --durability some", "possible values: memory, cache, fsync"),
        ("spool", "Usage: windlass spool"),
        ("spool load", "<TARGET>"),
        ("spool load printer", "give --protocol"),
        ("spool load printer --protocol lpr", "LPR prints on a queue"),
        ("spool load ipp://printer/a --queues b", "write {} in the target"),
        ("spool load socket://printer --hold", "printers cannot be stopped over a raw port"),
        ("spool jobs --which lost", "possible values: not-completed"),
        ("spool hold", "<JOB>"),
        ("spool cancel 0", "0 is not in 1.."),
        ("spool stop", "<PRINTER>"),
        ("spool printers -s socket://h", "socket:// is not supported"),
        ("completions csh", "possible values: bash"),
        ("--color often law window", "possible values: auto, always, never"),
        ("man haul", "The commands of windlass are explain, show, report, capture, law"),
        ("man law window x", "window has no commands of its own"),
    ] {
        let (stdout, stderr, code) = told(&run(line));
        assert_eq!((stdout.as_str(), code), ("", 2), "{line}");
        assert!(stderr.contains(said), "{line}: {stderr}");
    }
}

#[test]
fn failure_is_one_and_names_the_file() {
    let (stdout, stderr, code) = told(&run("man --dir /nowhere/at/all"));
    assert_eq!((stdout.as_str(), code), ("", 1));
    assert_eq!(
        stderr,
        "error: cannot write the manual page /nowhere/at/all/windlass.1: \
         No such file or directory (os error 2)\n\n  \
         tip: Give an existing directory that you may write to.\n"
    );
}

#[test]
fn colour_is_for_terminals_and_for_who_asks() {
    let stdout = |line: &str, no_color: &str| {
        let mut command = windlass();
        command.args(line.split_whitespace()).env("NO_COLOR", no_color);
        told(&command.output().unwrap()).0
    };
    let plain = stdout(LAW, "");
    assert!(!plain.contains('\x1b'));
    // Colour changes nothing but colour.
    let coloured = stdout(&format!("--color always {LAW}"), "");
    assert!(coloured.contains("\x1b[1m24.8 kB/s = 198.5 kbit/s\x1b[0m"), "{coloured}");
    assert_eq!(without_codes(&coloured), plain);
    assert_eq!(stdout(&format!("--color never {LAW}"), ""), plain);
    // What is asked for here and now wins over the environment.
    assert_eq!(stdout(&format!("{LAW} --color=always"), "1"), coloured);
    let help = |when: &str| stdout(&format!("--help --color {when}"), "");
    assert!(!help("auto").contains('\x1b'));
    assert!(help("always").contains('\x1b'));
    // JSON never has colour.
    assert!(!stdout(&format!("{LAW} --json --color always"), "").contains('\x1b'));
}

#[test]
fn no_color_holds_on_a_terminal() {
    // `script` gives the program a terminal.
    if !windlass_testkit::has("script", "no_color_holds_on_a_terminal") {
        return;
    }
    let on_terminal = |no_color: &str| {
        let mut command = std::process::Command::new("script");
        command.args(["-qec", &format!("{} {LAW}", env!("CARGO_BIN_EXE_windlass")), "/dev/null"]);
        command.env("NO_COLOR", no_color).env("TERM", "xterm").stdin(Stdio::null());
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    };
    let coloured = on_terminal("");
    if !coloured.contains("formula") {
        skipped("no_color_holds_on_a_terminal", "script gives no terminal here");
        return;
    }
    assert!(coloured.contains("\x1b[1m"), "{coloured}");
    assert!(!on_terminal("1").contains("\x1b["));
}

#[test]
fn a_broken_pipe_is_quiet() {
    for line in [LAW, "law window -w 2920 -t 1ms --json", "--help", "completions zsh", "man"] {
        let mut child = windlass()
            .args(line.split_whitespace())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // The reader is gone before anything is written, as with `| head -0`;
        // or soon after: either way is quiet.
        drop(child.stdout.take());
        let mut stderr = String::new();
        child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        let status = child.wait().unwrap();
        assert_eq!((stderr.as_str(), status.code()), ("", Some(0)), "{line}");
    }
}

#[test]
fn a_full_disk_is_not_quiet() {
    let Ok(full) = OpenOptions::new().write(true).open("/dev/full") else {
        skipped("a_full_disk_is_not_quiet", "there is no /dev/full");
        return;
    };
    let output = windlass().args(LAW.split_whitespace()).stdout(full).output().unwrap();
    let (_, stderr, code) = told(&output);
    assert_eq!(code, 1);
    assert_eq!(
        stderr,
        "error: cannot write to standard output: No space left on device (os error 28)\n"
    );
}

fn without_codes(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, code)) = rest.split_once("\x1b[") {
        plain.push_str(before);
        rest = code.split_once('m').map_or("", |(_, after)| after);
    }
    plain + rest
}
