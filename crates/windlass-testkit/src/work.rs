//! Processor time of a process, for tests on a busy machine.
//!
//! A test that waits for work instead of time is only slower on such a machine.

use std::fs;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Tick of the kernel's accounting of processor time (`sysconf(_SC_CLK_TCK)` is 100 on every known
/// Linux).
const TICK: Duration = Duration::from_millis(10);

/// Returns the processor time of a process (`utime` and `stime` in proc(5)).
fn worked(pid: u32) -> Duration {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    // The name of the process may contain brackets, so the fields begin after the last closing
    // bracket.
    let fields = stat.rsplit(')').next().unwrap();
    let ticks = fields.split_whitespace().skip(11).take(2).map(|text| text.parse::<u32>().unwrap());
    TICK * ticks.sum::<u32>()
}

/// Waits until a process has used this much more processor time.
///
/// A process that sends or receives at full speed has moved data by then.
pub fn until_worked(pid: u32, time: Duration) {
    let (before, since) = (worked(pid), Instant::now());
    while worked(pid) < before + time {
        assert!(since.elapsed() < Duration::from_secs(60), "process {pid} does nothing");
        sleep(Duration::from_millis(5));
    }
}

/// Waits until a process has a handler for the signal of this number.
pub fn until_caught(pid: u32, signal: u32) {
    let since = Instant::now();
    loop {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap();
        if u64::from_str_radix(caught.trim(), 16).unwrap() & (1 << (signal - 1)) != 0 {
            return;
        }
        assert!(since.elapsed() < Duration::from_secs(60), "it never listens for signals");
        sleep(Duration::from_millis(5));
    }
}
