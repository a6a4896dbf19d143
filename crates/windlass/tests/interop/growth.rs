//! A server that is left running.

use std::fs;
use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use windlass_base::{Bytes, Rate};
use windlass_drive::client::{self, Test};
use windlass_drive::iperf3;
use windlass_drive::side::ThreadSettings;
use windlass_drive::transfer::{Direction, EndCondition, Transfer};

use crate::peer::WindlassServer;

/// Clients at a time.
const CLIENTS: usize = 10;

/// Tests of each.
const TESTS: usize = 100;

/// Threads of a server that serves nobody: one prints, and one for each port, of which two take
/// datagrams.
const THREADS: usize = 5;

/// Resources of a process: descriptors, threads, and memory in bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
struct HeldResources {
    files: usize,
    threads: usize,
    memory: u64,
}

fn held(id: u32) -> HeldResources {
    let count = |what: &str| fs::read_dir(format!("/proc/{id}/{what}")).unwrap().count();
    let status = fs::read_to_string(format!("/proc/{id}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    let kilobytes: u64 = line.split_whitespace().nth(1).unwrap().parse().unwrap();
    // A thread that ends has closed its descriptors: those that are left are counted after it.
    let threads = count("task");
    HeldResources { files: count("fd"), threads, memory: kilobytes << 10 }
}

/// Returns the resources once the threads of the last tests have ended.
fn settled(id: u32) -> HeldResources {
    let since = Instant::now();
    loop {
        let now = held(id);
        if now.threads <= THREADS || since.elapsed() > Duration::from_secs(60) {
            return now;
        }
        thread::sleep(Duration::from_millis(20));
    }
}

/// One of a few kinds of tests, and of connections that come to nothing.
fn one(serving: (SocketAddr, SocketAddr), number: usize) {
    let (at, plain) = serving;
    let bytes = EndCondition::Bytes(Bytes::new(20_000));
    let direction = if number.is_multiple_of(10) { Direction::Both } else { Direction::Reverse };
    let transfer = Transfer { until: bytes, direction, length: 10_000, ..Transfer::default() };
    // Few enough for a socket whose reader is kept away.
    let pace = Some(Rate::from_bits_per_second(80e6));
    let datagrams =
        Transfer { until: bytes, udp: true, length: 1_000, pace, ..Transfer::default() };
    // Each protocol by UDP now and then.
    let transfer = if number % 10 == 3 || number % 10 == 7 { datagrams } else { transfer };
    let tell = &mut |_: &_| ();
    match number % 5 {
        0..=2 => {
            let control = TcpStream::connect(at).unwrap();
            let ends = ThreadSettings::default();
            let outcome = iperf3::client::run((control, at), &transfer, ends, &|| false, tell);
            let outcome = outcome.unwrap();
            assert!(outcome.failure.is_none(), "{:?}", outcome.failure);
            let far = outcome.far.unwrap();
            assert!(far.directions.iter().all(|one| one.bytes == Bytes::new(20_000)));
        }
        3 => {
            let test = Test { to: at, token: None, transfer: &transfer, latency: false };
            let outcome = client::run(&test, ThreadSettings::default(), &|| false, tell).unwrap();
            assert!(outcome.failure.is_none(), "{:?}", outcome.failure);
        }
        _ => {
            TcpStream::connect(plain).unwrap().write_all(&[7; 20_000]).unwrap();
            // And who breaks off after half a cookie, or says nonsense behind it.
            TcpStream::connect(at).unwrap().write_all(b"abcdefghijklmnopqr").unwrap();
            let mut stream = TcpStream::connect(at).unwrap();
            stream.write_all(&[b'a'; 36]).unwrap();
            stream.write_all(b"\0nonsense").unwrap();
        }
    }
}

#[test]
fn a_thousand_tests_leave_nothing_behind() {
    let serving = WindlassServer::start(&[]);
    let id = serving.id();
    let at = |port: u16| SocketAddr::from(([127, 0, 0, 1], port));
    let ports = (at(serving.port), at(serving.plain));
    let clients = |tests: usize| {
        thread::scope(|scope| {
            for client in 0..CLIENTS {
                scope.spawn(move || {
                    (0..tests).for_each(|number| one(ports, client * 7 + number));
                });
            }
        });
    };
    // What a first load takes is kept, as the stacks of threads are.
    clients(TESTS / 5);
    let before = settled(id);
    clients(TESTS);
    let after = settled(id);
    assert_eq!((before.threads, after.threads), (THREADS, THREADS), "{before:?} {after:?}");
    assert!(after.files <= before.files, "{before:?} {after:?}");
    // A test that stayed would be some 100 kB: buffers, stacks, reports.
    assert!(after.memory < before.memory + (8 << 20), "{before:?} {after:?}");
}
