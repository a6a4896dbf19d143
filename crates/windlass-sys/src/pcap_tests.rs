//! Tests with libpcap as it is installed, and without it.

use std::fs::OpenOptions;
use std::io::Write;
use std::mem::{offset_of, size_of};

use super::*;

const ETHERNET: u16 = 1;
const SNAP: u32 = 262_144;

/// Says that a test is skipped, where `scripts/test` finds it: the runner hides
/// what a passing test prints.
fn skipped(test: &str, why: &dyn std::fmt::Display) {
    let line = format!("skipped: {test}: {why}\n");
    let file = std::env::var_os("WINDLASS_SKIPS")
        .and_then(|path| OpenOptions::new().append(true).create(true).open(path).ok());
    let _ = match file {
        Some(mut file) => file.write_all(line.as_bytes()),
        None => std::io::stderr().write_all(line.as_bytes()),
    };
}

/// Loads libpcap; if it is missing, the test is skipped.
fn library(test: &str) -> Option<Library> {
    Library::load().inspect_err(|missing| skipped(test, missing)).ok()
}

fn refused(result: Result<Vec<Instruction>, FilterError>) -> String {
    match result.unwrap_err() {
        FilterError::Refused(why) => why,
        other => panic!("{other:?}"),
    }
}

#[test]
fn expressions_are_compiled() {
    let Some(library) = library("expressions_are_compiled") else { return };
    assert!(library.version().starts_with("libpcap version "), "{}", library.version());
    for expression in [
        "ip",
        "ip6",
        "tcp",
        "host 192.0.2.1",
        "host 2001:db8::1",
        "net 192.0.2.0/24",
        "net 2001:db8::/32",
        "port 9100",
        "portrange 9100-9107",
        "tcp port 9100 and not host 192.0.2.1",
        "tcp[tcpflags] & (tcp-syn|tcp-fin) != 0",
        "less 100 or greater 1000",
    ] {
        for link in [ETHERNET, 12, 101] {
            let program = library.compile(expression, link, SNAP).unwrap();
            let ends: Vec<u32> =
                program.iter().filter(|one| one.code & 7 == 6).map(|one| one.value).collect();
            assert!(ends.contains(&SNAP), "{expression}: {program:?}");
            assert!(ends.iter().all(|end| [0, SNAP].contains(end)), "{expression}");
        }
        let raw = library.compile(expression, 101, SNAP);
        assert_eq!(raw, library.compile(expression, 12, SNAP), "raw IP has two numbers");
        // An expression on lengths alone is the same on every link.
        if !expression.starts_with("less") {
            assert_ne!(raw, library.compile(expression, ETHERNET, SNAP), "{expression}");
        }
    }
    assert_eq!(library.compile("", ETHERNET, 96), Ok(vec![Instruction::keep(96)]));
}

#[test]
fn instructions_come_as_libpcap_has_them() {
    let Some(library) = library("instructions_come_as_libpcap_has_them") else { return };
    // As `tcpdump -dd ip` prints them.
    let instruction =
        |code, if_true, if_false, value| Instruction { code, if_true, if_false, value };
    let expected = [
        instruction(0x28, 0, 0, 12),
        instruction(0x15, 0, 1, 0x800),
        Instruction::keep(SNAP),
        Instruction::keep(0),
    ];
    assert_eq!(library.compile("ip", ETHERNET, SNAP).unwrap(), expected);
    assert_eq!(size_of::<Instruction>(), 8);
    let places = [offset_of!(Instruction, if_true), offset_of!(Instruction, if_false)];
    assert_eq!((places, offset_of!(Instruction, value)), ([2, 3], 4));
}

#[test]
fn what_libpcap_refuses_is_told_in_its_words() {
    let Some(library) = library("what_libpcap_refuses_is_told_in_its_words") else { return };
    let said = refused(library.compile("tcp port", ETHERNET, SNAP));
    assert!(said.contains("syntax error"), "{said}");
    let said = refused(library.compile("net 192.0.2.1/24", ETHERNET, SNAP));
    assert!(said.contains("non-network bits set"), "{said}");
    let said = refused(library.compile("tcp and udp port 0x1ffff", ETHERNET, SNAP));
    assert!(!said.is_empty());
    assert!(!refused(library.compile("ip", 60_000, SNAP)).is_empty(), "an unknown link type");
    assert!(!refused(library.compile("ip", ETHERNET, 0)).is_empty(), "nothing would be kept");
    // After an error libpcap goes on.
    assert!(library.compile("ip", ETHERNET, SNAP).is_ok());
}

#[test]
fn what_libpcap_shall_not_see_is_refused_before() {
    let test = "what_libpcap_shall_not_see_is_refused_before";
    let Some(library) = library(test) else { return };
    let zero = library.compile("ip\0 or arp", ETHERNET, SNAP).unwrap_err();
    assert_eq!(zero, FilterError::Nul(2));
    assert_eq!(zero.to_string(), "the expression has a zero byte at 2");
    let longest = format!("ip{}", " ".repeat(LONGEST - 2));
    assert_eq!(library.compile(&longest, ETHERNET, SNAP).unwrap().len(), 4);
    let long = library.compile(&(longest + " "), ETHERNET, SNAP).unwrap_err();
    assert_eq!(long, FilterError::TooLong(65_537));
    assert_eq!(long.to_string(), "the expression has 65537 bytes, and 65536 are the most");
}

#[test]
fn threads_compile_at_once() {
    let Some(library) = library("threads_compile_at_once") else { return };
    let expected = library.compile("tcp port 9100", ETHERNET, SNAP).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..50 {
                    let program = library.compile("tcp port 9100", ETHERNET, SNAP);
                    assert_eq!(program.as_ref(), Ok(&expected));
                    assert!(library.compile("tcp port port", ETHERNET, SNAP).is_err());
                }
            });
        }
    });
}

#[test]
fn a_library_that_is_missing_is_told() {
    let missing = Library::load_one_of(&[c"libno-such.so.1", c"libno-such.so"]).unwrap_err();
    let said = missing.to_string();
    assert!(said.starts_with("cannot load libpcap: "), "{said}");
    assert!(said.contains("libno-such.so.1"), "{said}");
    // A library that exists, but is another one.
    let missing = Library::load_one_of(&[c"libc.so.6"]).unwrap_err();
    let said = missing.to_string();
    assert!(said.contains("libc") && !said.ends_with(": "), "{said}");
}
