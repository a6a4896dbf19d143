//! Owners of sockets: `/proc/PID/fd` has a link `socket:[INODE]` for each that a process has
//! open (`proc_pid_fd(5)`).
//!
//! Finding an owner means searching all processes, so it is done rarely and only if needed. The
//! results of a search are kept, and checked again before they are reported.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use windlass_base::Span;
use windlass_sys::cpu::of_this_thread;

use super::row::{Connection, NoProcess, Owner, Process};

/// Time between two searches, as a multiple of a search's duration: at most 0.1 % of one processor.
const SELDOM: i64 = 1_000;

/// Maximum number of sockets that are kept.
const MAX_KEPT: usize = 1_000_000;

/// A descriptor of a socket.
#[derive(Clone, Copy, Debug)]
struct Descriptor {
    pid: u32,
    fd: u32,
}

/// Known owners of sockets.
#[derive(Debug)]
pub(super) struct Owners {
    proc: PathBuf,
    places: HashMap<u32, Descriptor>,
    /// Names of processes, during one look.
    names: HashMap<u32, String>,
    /// True if some processes may not be searched.
    is_hidden: bool,
    /// Time at which it may search again.
    due: Option<Span>,
}

impl Owners {
    /// Creates it without owners; `proc` is `/proc`.
    pub(super) fn new(proc: &Path) -> Self {
        Self {
            proc: proc.to_owned(),
            places: HashMap::new(),
            names: HashMap::new(),
            is_hidden: false,
            due: None,
        }
    }

    /// Returns its `/proc` folder.
    pub(super) fn proc(&self) -> &Path {
        &self.proc
    }

    /// Returns the process that had a socket when it was last found, if it was.
    pub(super) fn process(&self, inode: u32) -> Option<u32> {
        self.places.get(&inode).map(|place| place.pid)
    }

    /// Finds the owners of connections. Searches if an owner is unknown and the last search is long
    /// enough ago; `at` is the time since the beginning.
    pub(super) fn find<'a>(
        &mut self,
        connections: impl IntoIterator<Item = &'a mut Connection>,
        at: Span,
    ) {
        self.names.clear();
        let mut unknown = Vec::new();
        for connection in connections {
            let Some(inode) = connection.inode else {
                connection.owner = Owner::unknown(NoProcess::Nobody);
                continue;
            };
            match self.owner(inode, connection.closed) {
                Some(owner) => connection.owner = owner,
                None => unknown.push((inode, connection)),
            }
        }
        if unknown.is_empty() {
            return;
        }
        let has_searched = self.due.is_none_or(|due| due < at);
        if has_searched {
            self.search(unknown.iter().map(|(inode, _)| *inode).collect(), at);
        }
        for (inode, connection) in unknown {
            connection.owner = self.owner(inode, connection.closed).unwrap_or_else(|| {
                Owner::unknown(match (has_searched, self.is_hidden) {
                    (false, _) => NoProcess::NotLooked,
                    (true, true) => NoProcess::NotPermitted,
                    (true, false) => NoProcess::NotFound,
                })
            });
        }
    }

    /// Returns the owner of a socket, if it is known and still the owner. A closed socket has its
    /// last owner.
    fn owner(&mut self, inode: u32, is_closed: bool) -> Option<Owner> {
        let Descriptor { pid, fd } = *self.places.get(&inode)?;
        let link = self.proc.join(format!("{pid}/fd/{fd}"));
        if !is_closed && socket_of(&link).ok().flatten() != Some(inode) {
            self.places.remove(&inode);
            return None;
        }
        let name = self.name(pid)?;
        Some(Owner::known(Process { pid, name }))
    }

    fn name(&mut self, pid: u32) -> Option<String> {
        if let Some(name) = self.names.get(&pid) {
            return Some(name.clone());
        }
        let name = fs::read(self.proc.join(format!("{pid}/comm"))).ok()?;
        let name = String::from_utf8_lossy(name.trim_ascii_end()).into_owned();
        self.names.insert(pid, name.clone());
        Some(name)
    }

    /// Searches processes until these sockets are found, and keeps all others that it finds.
    fn search(&mut self, mut wanted: HashSet<u32>, at: Span) {
        let began = of_this_thread();
        self.is_hidden = false;
        if self.places.len() >= MAX_KEPT {
            self.places.clear();
        }
        let entries = fs::read_dir(&self.proc).into_iter().flatten().flatten();
        for pid in entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()) {
            if wanted.is_empty() {
                break;
            }
            match self.look_into(pid, &mut wanted) {
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                    self.is_hidden = true;
                }
                // The process has ended meanwhile.
                Err(_) | Ok(()) => {}
            }
        }
        let took = Span::from_duration(of_this_thread().since(began).total());
        self.due = Some(at + took * SELDOM);
    }

    fn look_into(&mut self, pid: u32, wanted: &mut HashSet<u32>) -> io::Result<()> {
        let folder = self.proc.join(format!("{pid}/fd"));
        for entry in fs::read_dir(&folder)?.flatten() {
            if wanted.is_empty() {
                return Ok(());
            }
            let Some(fd) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
                continue;
            };
            if let Some(inode) = socket_of(&entry.path())?
                && self.places.len() < MAX_KEPT
            {
                wanted.remove(&inode);
                self.places.insert(inode, Descriptor { pid, fd });
            }
        }
        Ok(())
    }
}

/// Returns the inode of the socket that a link of `/proc/PID/fd` leads to; `None` if it leads
/// elsewhere, or is gone.
fn socket_of(link: &Path) -> io::Result<Option<u32>> {
    match fs::read_link(link) {
        Ok(target) => {
            let inode = target.as_os_str().as_bytes().strip_prefix(b"socket:[");
            let inode = inode.and_then(|rest| rest.strip_suffix(b"]"));
            Ok(inode.and_then(|inode| std::str::from_utf8(inode).ok()?.parse().ok()))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// Makes a process with descriptors that lead to these sockets.
    fn process(proc: &Path, pid: u32, name: &str, links: &[&str]) {
        let folder = proc.join(format!("{pid}/fd"));
        fs::create_dir_all(&folder).unwrap();
        fs::write(proc.join(format!("{pid}/comm")), format!("{name}\n")).unwrap();
        for (fd, link) in links.iter().enumerate() {
            symlink(link, folder.join(fd.to_string())).unwrap();
        }
    }

    fn connection(inode: Option<u32>) -> Connection {
        Connection { inode, ..Connection::default() }
    }

    fn found(owners: &mut Owners, inode: Option<u32>, at: Span) -> Owner {
        let mut connection = connection(inode);
        owners.find([&mut connection], at);
        connection.owner
    }

    #[test]
    fn a_socket_is_the_processs_that_has_it_open() {
        let folder = tempfile::tempdir().unwrap();
        let proc = folder.path();
        process(proc, 7, "cupsd", &["/dev/null", "socket:[4711]", "pipe:[4712]"]);
        process(proc, 8, "iperf3", &["socket:[99]"]);
        fs::create_dir(proc.join("self")).unwrap();
        let mut owners = Owners::new(proc);
        let named = |pid, name: &str| Owner::known(Process { pid, name: name.to_owned() });
        assert_eq!(found(&mut owners, Some(4_711), Span::ZERO), named(7, "cupsd"));
        assert_eq!(found(&mut owners, Some(99), Span::ZERO), named(8, "iperf3"));
        assert_eq!(found(&mut owners, None, Span::ZERO), Owner::unknown(NoProcess::Nobody));
        // The socket moves to another process: the next search finds it there.
        fs::remove_file(proc.join("8/fd/0")).unwrap();
        process(proc, 9, "child", &["socket:[99]"]);
        assert_eq!(
            found(&mut owners, Some(99), Span::ZERO),
            Owner::unknown(NoProcess::NotLooked),
            "no search is due"
        );
        let later = Span::from_seconds(3_600.0);
        assert_eq!(found(&mut owners, Some(99), later), named(9, "child"));
        assert_eq!(found(&mut owners, Some(5), later * 2), Owner::unknown(NoProcess::NotFound));
    }

    #[test]
    fn one_that_has_closed_was_whose_it_was() {
        let folder = tempfile::tempdir().unwrap();
        process(folder.path(), 7, "curl", &["socket:[99]"]);
        let mut owners = Owners::new(folder.path());
        found(&mut owners, Some(99), Span::ZERO);
        fs::remove_file(folder.path().join("7/fd/0")).unwrap();
        let mut closed = Connection { closed: true, ..connection(Some(99)) };
        owners.find([&mut closed], Span::ZERO);
        assert_eq!(closed.owner.process.unwrap().name, "curl");
    }

    #[test]
    fn links_that_are_none_of_sockets_are_passed_over() {
        let folder = tempfile::tempdir().unwrap();
        let links =
            ["socket:[]", "socket:[x]", "socket:[99999999999]", "socket:[12", "/socket:[3]"];
        process(folder.path(), 1, "init", &links);
        let mut owners = Owners::new(folder.path());
        owners.search(HashSet::from([3]), Span::ZERO);
        assert!(owners.places.is_empty(), "{owners:?}");
    }
}
