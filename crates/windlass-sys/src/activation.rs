//! Listening sockets that a service manager hands to the program that it starts
//! (`sd_listen_fds(3)`).

use std::env;
use std::io;
use std::net::TcpListener;
use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixListener;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::io::{FdFlags, fcntl_setfd};
use rustix::net::sockopt::{socket_acceptconn, socket_domain, socket_type};
use rustix::net::{AddressFamily, SocketType};

/// Number of the first descriptor that is handed on (`SD_LISTEN_FDS_START`).
const FIRST: RawFd = 3;

/// Maximum number of sockets. A process seldom has descriptors of such numbers by itself.
const MAX: usize = 1_024;

/// A socket that was handed to this process.
#[derive(Debug)]
pub struct HandedSocket {
    /// Its name in the unit (`FileDescriptorName=`); empty if the unit has none.
    pub name: String,
    /// The socket.
    pub socket: HandedListener,
}

/// A listening socket that was handed over.
#[derive(Debug)]
pub enum HandedListener {
    /// At an address.
    Tcp(TcpListener),
    /// At a path.
    Unix(UnixListener),
}

static IS_TAKEN: AtomicBool = AtomicBool::new(false);

/// Takes the sockets that this process was started with. Returns none if there are none, and from
/// the second call on. Child processes do not inherit them.
///
/// # Errors
/// Fails if a descriptor is no listening stream socket.
pub fn take() -> io::Result<Vec<HandedSocket>> {
    let said = |name: &str| env::var(name).unwrap_or_default();
    let all = announced(
        (&said("LISTEN_PID"), &said("LISTEN_FDS"), &said("LISTEN_FDNAMES")),
        std::process::id(),
    )?;
    if all.is_empty() || IS_TAKEN.swap(true, Ordering::Relaxed) {
        return Ok(Vec::new());
    }
    let sockets = (FIRST..).zip(all).map(|(file, name)| {
        // SAFETY: whoever started this process left it these files, and says so to nobody
        // else. They are closed only as what has been made of them here, once. It is asked
        // whether the file is there before it is owned.
        let there = unsafe { BorrowedFd::borrow_raw(file) };
        let socket = listens(there).and_then(|family| {
            fcntl_setfd(there, FdFlags::CLOEXEC)?;
            // SAFETY: as above; nothing else in this process owns it.
            let owned = unsafe { OwnedFd::from_raw_fd(file) };
            Ok(match family {
                AddressFamily::UNIX => HandedListener::Unix(owned.into()),
                _ => HandedListener::Tcp(owned.into()),
            })
        });
        let socket = socket
            .map_err(|error| io::Error::new(error.kind(), format!("file {file}: {error}")))?;
        Ok(HandedSocket { name, socket })
    });
    sockets.collect()
}

/// Returns the names of the sockets from the environment: the process they are for, their number,
/// and the name of each.
fn announced((to, count, names): (&str, &str, &str), own: u32) -> io::Result<Vec<String>> {
    // The sockets were for another process, which left its environment to this one.
    if to.parse() != Ok(own) {
        return Ok(Vec::new());
    }
    let count = count.parse().ok().filter(|count| *count <= MAX).ok_or_else(|| {
        let what = format!("LISTEN_FDS is {count:?}, which is no number of sockets up to {MAX}");
        io::Error::new(io::ErrorKind::InvalidInput, what)
    })?;
    let mut names = names.split(':').map(str::to_owned);
    Ok((0..count).map(|_| names.next().unwrap_or_default()).collect())
}

/// Returns the family of a socket that listens for streams.
fn listens(file: impl AsFd) -> io::Result<AddressFamily> {
    let file = file.as_fd();
    let family = socket_domain(file)?;
    let is_known = [AddressFamily::INET, AddressFamily::INET6, AddressFamily::UNIX];
    if !is_known.contains(&family)
        || socket_type(file)? != SocketType::STREAM
        || !socket_acceptconn(file)?
    {
        let what = "nobody listens there for connections of TCP or of a Unix socket \
                    (ListenStream= with Accept=no is what hands on such a one)";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
    }
    Ok(family)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpStream, UdpSocket};

    #[test]
    fn sockets_are_for_the_process_that_is_named() {
        assert!(announced(("", "", ""), 7).unwrap().is_empty());
        assert!(announced(("8", "2", "a:b"), 7).unwrap().is_empty());
        assert!(announced(("7 ", "2", ""), 7).unwrap().is_empty());
        assert_eq!(announced(("7", "0", ""), 7).unwrap(), [""; 0]);
        assert_eq!(announced(("7", "2", ""), 7).unwrap(), ["", ""]);
        assert_eq!(announced(("7", "2", "lpr"), 7).unwrap(), ["lpr", ""]);
        assert_eq!(announced(("7", "2", "lpr:ipp:x"), 7).unwrap(), ["lpr", "ipp"]);
        for count in ["", "-1", "two", "1025", "99999999999999999999"] {
            let error = announced(("7", count, ""), 7).unwrap_err();
            assert!(error.to_string().contains(count), "{error}");
        }
    }

    #[test]
    fn what_listens_is_told_from_what_does_not() {
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        assert_eq!(listens(&tcp).unwrap(), AddressFamily::INET);
        let folder = tempfile::tempdir().unwrap();
        let unix = UnixListener::bind(folder.path().join("socket")).unwrap();
        assert_eq!(listens(&unix).unwrap(), AddressFamily::UNIX);
        let connected = TcpStream::connect(tcp.local_addr().unwrap()).unwrap();
        listens(&connected).unwrap_err();
        listens(UdpSocket::bind("127.0.0.1:0").unwrap()).unwrap_err();
        listens(tempfile::tempfile().unwrap()).unwrap_err();
    }
}
