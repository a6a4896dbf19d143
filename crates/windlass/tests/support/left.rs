//! What a run may leave behind: processes, namespaces, interfaces.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::time::{Duration, Instant};

/// The processes of the host that have `mark` as a word of their command line,
/// or run in the network namespace of this name.
pub fn left(mark: &str, namespace: &str) -> usize {
    let processes = fs::read_dir("/proc").unwrap().flatten().filter(|entry| {
        let line = fs::read_to_string(entry.path().join("cmdline")).unwrap_or_default();
        let net = fs::read_link(entry.path().join("ns/net")).unwrap_or_default();
        line.split('\0').any(|word| word == mark) || net.as_os_str() == namespace
    });
    processes.count()
}

/// Waits until nothing is left: after SIGKILL the kernel needs a moment.
pub fn all_gone(mark: &str, namespace: &str) -> bool {
    let end = Instant::now() + Duration::from_secs(10);
    while Instant::now() < end {
        if left(mark, namespace) == 0 {
            return true;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    false
}

/// The network interfaces of the host.
pub fn interfaces() -> BTreeSet<OsString> {
    let all = fs::read_dir("/sys/class/net").unwrap();
    all.map(|entry| entry.unwrap().file_name()).collect()
}
