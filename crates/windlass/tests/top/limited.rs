//! Transfers with a limit put in.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, sleep};
use std::time::Duration;

use serde_json::Value;
use socket2::SockRef;

use crate::{RunningTop, checked, connection, connections, listener};
use windlass_testkit::clock::in_real_time;
use windlass_testkit::{has, skipped, told, windlass};

/// The connection to a port.
fn to(record: &Value, port: u16) -> Option<&Value> {
    let peer = format!("127.0.0.1:{port}");
    connections(record).iter().find(|it| it["peer"] == peer.as_str())
}

/// The part of the window that some limits have together.
fn share(connection: &Value, limits: &[&str]) -> f64 {
    limits.iter().filter_map(|limit| connection["shares"][limit].as_f64()).sum()
}

/// Waits until some limits have most of a connection's last seconds, and holds it now.
fn until_held(running: &mut RunningTop, port: u16, limits: &[&str]) -> Value {
    let record = running.until(limits[0], |record| {
        to(record, port).is_some_and(|it| {
            let now = it["now"]["limit"].as_str().unwrap_or_default();
            limits.contains(&now) && share(it, limits) > 0.6
        })
    });
    to(&record, port).unwrap().clone()
}

/// Does something again and again, until the test is over.
struct Again<'a>(&'a AtomicBool);

impl Drop for Again<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn again(is_over: &AtomicBool, mut once: impl FnMut() -> std::io::Result<()>) {
    while !is_over.load(Ordering::Relaxed) && once().is_ok() {}
}

/// A connection over which nothing is waited for longer than a test takes to end.
fn patient(stream: &TcpStream) {
    for set in [TcpStream::set_read_timeout, TcpStream::set_write_timeout] {
        set(stream, Some(Duration::from_millis(200))).unwrap();
    }
}

/// One that waited for too long has only to look whether all is over.
fn waited(done: std::io::Result<usize>) -> std::io::Result<()> {
    match done {
        Err(error) if windlass_sys::socket::is_pause(&error) => Ok(()),
        Ok(0) => Err(std::io::ErrorKind::UnexpectedEof.into()),
        done => done.map(drop),
    }
}

#[test]
fn a_slow_reader_is_the_receivers_window() {
    let (listener, port) = listener();
    SockRef::from(&listener).set_recv_buffer_size(8_192).unwrap();
    let (mut near, mut far) = connection(&listener);
    patient(&near);
    patient(&far);
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let _again = Again(&is_over);
        scope.spawn(|| again(&is_over, || waited(near.write(&[1; 16_384]))));
        scope.spawn(|| {
            again(&is_over, || {
                // Some 200 kB a second.
                sleep(Duration::from_millis(5));
                waited(far.read(&mut [0; 1_024]))
            });
        });
        let mut running = RunningTop::start(&format!("--interval 250ms --window 1s --port {port}"));
        let held = until_held(&mut running, port, &["receiver-window", "zero-window"]);
        assert_eq!(held["direction"], "sending");
        assert!(held["unsent_bytes"].as_u64().unwrap() > 0, "{held:#}");
        // At the other end the program is seen not to read, where the kernel tells its window.
        let from = format!("127.0.0.1:{port}");
        if held["own_window_bytes"].is_number() {
            running.until("the reader is behind", |record| {
                let reader = connections(record).iter().find(|it| it["local"] == from.as_str());
                reader.is_some_and(|it| {
                    it["direction"] == "receiving"
                        && share(it, &["zero-window", "application"]) > 0.3
                })
            });
        }
        running.end("TERM");
    });
}

#[test]
fn a_program_that_writes_little_is_the_application() {
    let (listener, port) = listener();
    let (mut near, mut far) = connection(&listener);
    near.set_nodelay(true).unwrap();
    patient(&far);
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let _again = Again(&is_over);
        scope.spawn(|| {
            again(&is_over, || {
                sleep(Duration::from_millis(20));
                near.write_all(&[1; 300])
            });
        });
        scope.spawn(|| again(&is_over, || waited(far.read(&mut [0; 4_096]))));
        let mut running = RunningTop::start(&format!("--interval 250ms --window 1s --port {port}"));
        let held = until_held(&mut running, port, &["application"]);
        assert_eq!(held["now"]["because"], "sender-idle", "{held:#}");
        running.end("TERM");
    });
}

/// A program of its own that a test ends.
struct Program(Child);

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_program_without_a_rest_is_the_processor() {
    let test = "a_program_without_a_rest_is_the_processor";
    if !has("bash", test) || !std::path::Path::new("/proc/self/schedstat").exists() {
        return skipped(test, "the kernel does not count what threads wait for a processor");
    }
    let (listener, port) = listener();
    // One thread, which takes longer to make the data than the other end to read it.
    let script =
        format!("exec 3<>/dev/tcp/127.0.0.1/{port}; while printf %01000d 0 >&3; do :; done");
    let mut command = Command::new("bash");
    let _program = Program(command.args(["-c", &script]).stderr(Stdio::null()).spawn().unwrap());
    let (mut far, _) = listener.accept().unwrap();
    patient(&far);
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        let _again = Again(&is_over);
        scope.spawn(|| again(&is_over, || waited(far.read(&mut [0; 65_536]))));
        let mut running = RunningTop::start(&format!("--interval 250ms --window 1s --port {port}"));
        let record = running.until("the processor", |record| {
            to(record, port).is_some_and(|it| it["now"]["because"] == "processor")
        });
        let sender = to(&record, port).unwrap();
        assert_eq!(sender["now"]["limit"], "application", "{sender:#}");
        assert!(record["processors"]["busy_share"].as_f64().unwrap() > 0.0, "{record:#}");
        running.end("TERM");
    });
}

/// Returns the output of `windlass top` while windlass runs a command over a link to `windlass
/// serve`; `None` if links cannot be made.
fn over_a_link(test: &str, link: &str, command: &str) -> Option<Vec<Value>> {
    let program = env!("CARGO_BIN_EXE_windlass");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("top.jsonl");
    // It begins before the transfer, and ends behind it. The server may not listen yet.
    let script = format!(
        "'{program}' top --json --interval 250ms --window 2s >{} & top=$!; \
         for _ in $(seq 100); do '{program}' {command} >/dev/null && break; sleep 0.1; done; \
         kill -TERM $top; wait $top",
        file.display()
    );
    let peer = format!("'{program}' serve --once");
    let mut run = windlass();
    run.args(["link", "--report", "/dev/null"]).args(link.split_whitespace());
    let output = run.args(["--peer", &peer, "--", "sh", "-c", &script]).output().unwrap();
    let text = std::fs::read_to_string(&file).unwrap_or_default();
    let (_, stderr, code) = told(&output);
    if code != 0 && text.is_empty() {
        skipped(test, stderr.lines().next().unwrap_or("no link can be made"));
        return None;
    }
    assert_eq!(code, 0, "{stderr}");
    Some(text.lines().map(|line| checked("top", line)).collect())
}

/// The looks at the connection that sent most over a link, while it moved.
fn transfer(records: &[Value]) -> Vec<&Value> {
    let moved = |it: &Value| it["total_acknowledged_bytes"].as_u64().unwrap();
    let all = || records.iter().flat_map(connections);
    let most = all().max_by_key(|it| moved(it)).unwrap();
    let looks = all().filter(|it| it["socket"] == most["socket"] && it["closed"] == false);
    let looks: Vec<&Value> = looks.collect();
    assert!(looks.len() > 3, "{records:#?}");
    looks
}

#[test]
fn a_small_send_buffer_is_named() {
    let test = "a_small_send_buffer_is_named";
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("job");
    std::fs::write(&file, vec![7; 3_000_000]).unwrap();
    in_real_time(test, || {
        let job = file.display();
        let print = format!("print socket://192.0.2.2:5001 '{job}' --send-buffer 8k --no-packets");
        let link = "--rate 100mbit --rtt 20ms";
        let Some(records) = over_a_link(test, link, &print) else { return };
        let last = *transfer(&records).last().unwrap();
        assert!(share(last, &["send-buffer"]) > 0.4, "{last:#}");
        // What the kernel's clock misses is said to be unknown, and nothing else is blamed.
        let others = ["congestion-window", "path-capacity", "loss", "receiver-window"];
        assert!(share(last, &others) < 0.1, "{last:#}");
    });
}

#[test]
fn a_path_that_is_full_is_named() {
    let test = "a_path_that_is_full_is_named";
    in_real_time(test, || {
        let send = "send 192.0.2.2 --no-latency --congestion cubic --time 2s";
        let link = "--rate 20mbit --rtt 20ms";
        let Some(records) = over_a_link(test, link, send) else { return };
        let looks = transfer(&records);
        let last = *looks.last().unwrap();
        assert!(share(last, &["path-capacity"]) > 0.6, "{last:#}");
        assert_eq!(last["congestion"], "cubic");
        // Over all looks: where a lost segment is sent again, what came behind it is acknowledged
        // all at once, and one look has more than the line carries in its time, one before less.
        let sum = |name: &str| looks.iter().map(|it| it[name].as_f64().unwrap()).sum::<f64>();
        let rate = sum("sent_bytes") / sum("seconds");
        // Of 2.5 MB/s the headers take some.
        assert!((1.5e6..2.6e6).contains(&rate), "{rate}");
        let rtt = |name: &str| last[name].as_f64().unwrap();
        assert!(rtt("rtt_seconds") >= rtt("min_rtt_seconds") && rtt("min_rtt_seconds") > 0.015);
    });
}
