//! Process of this machine that listens on a port.

use std::fs;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::path::Path;

/// State of a listening socket in the kernel's list (`include/net/tcp_states.h`).
const LISTENS: &str = "0A";

/// Returns the process that listens at an address, if it is on this machine and can be determined.
/// If there are several, as after a fork, returns the first that is not PID 1.
pub(super) fn listener(to: SocketAddr) -> Option<u32> {
    if !is_here(to.ip()) {
        return None;
    }
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"].map(|path| fs::read_to_string(path).ok());
    let inodes: Vec<String> = tables
        .iter()
        .flatten()
        .flat_map(|table| inodes(table, to.port()))
        .map(|inode| format!("socket:[{inode}]"))
        .collect();
    if inodes.is_empty() {
        return None;
    }
    let mut pids: Vec<u32> = fs::read_dir("/proc")
        .ok()?
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .collect();
    pids.sort_unstable();
    // PID 1 holds the sockets of services that it starts on demand.
    let is_first = pids.first() == Some(&1);
    pids.rotate_left(is_first.into());
    pids.into_iter().find(|pid| has(*pid, &inodes))
}

/// Returns whether an address belongs to this machine: only those can be bound.
fn is_here(address: IpAddr) -> bool {
    address.is_loopback() || UdpSocket::bind((address, 0)).is_ok()
}

/// Returns the inodes of the sockets in a table that listen on a port.
fn inodes(table: &str, port: u16) -> impl Iterator<Item = &str> {
    let port = format!(":{port:04X}");
    table.lines().skip(1).filter_map(move |line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let is_it = words.get(1)?.ends_with(&port) && *words.get(3)? == LISTENS;
        is_it.then(|| words.get(9).copied()).flatten()
    })
}

/// Returns whether a process has one of these sockets open.
fn has(pid: u32, wanted: &[String]) -> bool {
    let folder = Path::new("/proc").join(pid.to_string()).join("fd");
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut links = entries.filter_map(|entry| fs::read_link(entry.path()).ok());
    links.any(|link| link.to_str().is_some_and(|link| wanted.iter().any(|it| it == link)))
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn a_listener_is_found() {
        let listening = TcpListener::bind("127.0.0.1:0").unwrap();
        let to = listening.local_addr().unwrap();
        assert_eq!(listener(to), Some(std::process::id()));
        drop(listening);
        assert_eq!(listener(to), None);
        // A documentation address belongs to no host (RFC 5737).
        assert_eq!(listener(SocketAddr::from(([192, 0, 2, 1], to.port()))), None);
    }

    #[test]
    fn tables_are_read() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
            0: 0100007F:0277 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4711 1\n\
            1: 0100007F:0277 0100007F:1234 01 00000000:00000000 00:00000000 00000000     0        0 4712 1\n";
        assert_eq!(inodes(table, 631).collect::<Vec<_>>(), ["4711"]);
        assert_eq!(inodes(table, 9_100).count(), 0);
        assert_eq!(inodes("\nx\n: \n", 631).count(), 0);
    }
}
