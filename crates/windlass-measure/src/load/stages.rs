//! Stage of a CUPS job at one moment, by its processes and their connections.
//!
//! cupsd starts a process for each filter of a job and one for its backend. Their first argument is
//! the job's number (`filter(7)`, `backend(7)`). A backend's `argv[0]` is the URI of its device. A
//! backend for a network printer has a connection. `/proc/net/tcp` shows whether its data is in
//! flight and whether the printer's window is closed.

use std::collections::HashMap;

use serde::Serialize;

/// Stage of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum JobStage {
    /// A filter works.
    Filter,
    /// Filters exist, but none works: they wait for something.
    FilterWaits,
    /// The backend works.
    Backend,
    /// The backend connects.
    Connecting,
    /// Data is in flight, and the device accepts it.
    Network,
    /// The device accepts nothing for now, or has everything and has not answered yet.
    Device,
    /// The backend waits for something that cannot be seen from here.
    Unseen,
}

/// Role of a process in a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Filter,
    Backend,
}

/// A connection of `/proc/net/tcp`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Connection {
    /// State of the connection (`include/net/tcp_states.h`).
    state: u8,
    /// Bytes that are not acknowledged, or not sent yet.
    unacknowledged: u64,
    /// Running timer: 4 probes a closed window (`Documentation/networking/proc_net_tcp.rst`).
    timer: u8,
}

const ESTABLISHED: u8 = 1;
const SYN_SENT: u8 = 2;
const PROBING: u8 = 4;

/// A process of a job at one moment.
#[derive(Clone, Debug)]
pub(super) struct JobProcess {
    pub(super) role: Role,
    /// True if it had a processor, or waited for a disk.
    pub(super) works: bool,
    /// Its connection; nothing if it has none.
    pub(super) connection: Option<Connection>,
    /// True if its connections can be read.
    pub(super) is_open: bool,
}

/// Returns the role of a process, and the number of its job; nothing if it is neither filter nor
/// backend. `name` is the name of the process.
pub(super) fn role(name: &str, words: &[String]) -> Option<(Role, u32)> {
    let job = |place: usize| words.get(place)?.parse::<u32>().ok();
    // Arguments: job, user, title, copies, options, and maybe a file.
    let are_enough = |place: usize| (place + 5..=place + 6).contains(&words.len());
    let first = words.first()?;
    if let Some((scheme, _)) = first.split_once(':')
        && scheme.get(..15).unwrap_or(scheme) == name
        && are_enough(1)
    {
        return Some((Role::Backend, job(1)?));
    }
    // A script has its interpreter before it.
    let place = [1, 2].into_iter().find(|place| are_enough(*place) && job(*place).is_some())?;
    Some((Role::Filter, job(place)?))
}

/// Returns the connections of a table, by their inodes.
pub(super) fn connections(table: &str) -> HashMap<u64, Connection> {
    let line = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let state = u8::from_str_radix(words.get(3)?, 16).ok()?;
        let (sent, _) = words.get(4)?.split_once(':')?;
        let (timer, _) = words.get(5)?.split_once(':')?;
        let inode = words.get(9)?.parse().ok()?;
        let unacknowledged = u64::from_str_radix(sent, 16).ok()?;
        let timer = u8::from_str_radix(timer, 16).ok()?;
        Some((inode, Connection { state, unacknowledged, timer }))
    };
    table.lines().skip(1).filter_map(line).collect()
}

/// Returns the stage of a job. If a filter works while the device still has data, the stage is the
/// filter: the next data waits for it.
pub(super) fn stage(parts: &[JobProcess]) -> JobStage {
    let filters = || parts.iter().filter(|part| part.role == Role::Filter);
    if filters().any(|part| part.works) {
        return JobStage::Filter;
    }
    let Some(backend) = parts.iter().find(|part| part.role == Role::Backend) else {
        return JobStage::FilterWaits;
    };
    if backend.works {
        return JobStage::Backend;
    }
    let has_filters = filters().next().is_some();
    match backend.connection {
        Some(Connection { state: SYN_SENT, .. }) => JobStage::Connecting,
        Some(Connection { unacknowledged: 1.., timer: PROBING, .. }) => JobStage::Device,
        Some(Connection { unacknowledged: 1.., .. }) => JobStage::Network,
        // The device has all available data: more comes from a filter, or the device answers.
        _ if has_filters => JobStage::FilterWaits,
        None if !backend.is_open => JobStage::Unseen,
        _ => JobStage::Device,
    }
}

/// Returns the connection that says most about a job.
pub(super) fn telling(found: impl Iterator<Item = Connection>) -> Option<Connection> {
    found
        .filter(|one| one.state != 0x0a)
        .max_by_key(|one| (one.unacknowledged > 0, one.state == ESTABLISHED, one.unacknowledged))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split('|').map(str::to_owned).collect()
    }

    #[test]
    fn filters_and_backends_are_known_by_their_words() {
        for (name, line, expected) in [
            ("socket", "socket://10.0.0.1:9100|7|ann|a title|1|media=A4", Some((Role::Backend, 7))),
            ("usb", "usb://Acme/4711|7|ann|t|1||/var/spool/cups/d7", Some((Role::Backend, 7))),
            (
                "pdftops",
                "office|7|ann|t|1|media=A4|/var/spool/cups/d7-001",
                Some((Role::Filter, 7)),
            ),
            // Example from the documentation.
            (
                "textonly",
                "/bin/bash|/usr/lib/cups/filter/textonly|62723|root|data1.txt|1|media=Letter|/d",
                Some((Role::Filter, 62_723)),
            ),
            ("sed", "sed|-e|s/$/?/g|/var/spool/cups/d62723-001", None),
            ("dbus", "dbus://", None),
            ("cupsd", "/usr/sbin/cupsd|-f", None),
            ("x", "", None),
        ] {
            assert_eq!(role(name, &words(line)), expected, "{line}");
        }
    }

    #[test]
    fn connections_are_read() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
            0: 0100007F:0277 0100007F:238C 01 00004E20:00000000 04:00000010 00000000     7        0 4711 1\n\
            1: 0100007F:0277 0100007F:238C 02 00000001:00000000 01:00000010 00000000     7        0 4712 1\n\
            nonsense\n";
        let found = connections(table);
        assert_eq!(found.len(), 2);
        let first = Connection { state: 1, unacknowledged: 20_000, timer: 4 };
        assert_eq!(found[&4_711], first);
        assert_eq!(telling(found.values().copied()), Some(first));
    }

    #[test]
    fn a_job_is_at_what_it_waits_for() {
        let part =
            |role, works, connection, is_open| JobProcess { role, works, connection, is_open };
        let connection =
            |state, unacknowledged, timer| Some(Connection { state, unacknowledged, timer });
        let filter = |works| part(Role::Filter, works, None, true);
        let backend = |connection| part(Role::Backend, false, connection, true);
        let full = backend(connection(1, 9, 4));
        assert_eq!(stage(&[filter(true), full.clone()]), JobStage::Filter);
        assert_eq!(stage(&[filter(false), full.clone()]), JobStage::Device);
        assert_eq!(stage(&[filter(false), backend(connection(1, 9, 1))]), JobStage::Network);
        assert_eq!(stage(&[backend(connection(2, 0, 1))]), JobStage::Connecting);
        assert_eq!(stage(&[filter(false), backend(connection(1, 0, 0))]), JobStage::FilterWaits);
        // The backend has sent everything, and waits for the device.
        assert_eq!(stage(&[backend(connection(1, 0, 0))]), JobStage::Device);
        assert_eq!(stage(&[backend(None)]), JobStage::Device);
        assert_eq!(stage(&[part(Role::Backend, false, None, false)]), JobStage::Unseen);
        assert_eq!(stage(&[part(Role::Backend, true, None, true)]), JobStage::Backend);
        assert_eq!(stage(&[filter(false)]), JobStage::FilterWaits);
    }
}
