//! Sockets in the file system (unix(7)): listeners that replace a dead server's socket, and the
//! credentials of a peer.

use std::fs::{self, Permissions};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use rustix::io::Errno;
use rustix::net::sockopt::socket_peercred;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};

/// A listener, which removes its socket file when dropped if it made the file.
#[derive(Debug)]
pub struct BoundListener {
    /// The listener.
    pub listener: UnixListener,
    path: PathBuf,
    /// Device and inode of its socket file; `None` if the file stays when this is dropped.
    file: Option<(u64, u64)>,
}

impl BoundListener {
    /// Wraps a listener that another process shares and whose file belongs to that process.
    pub fn of_another(listener: UnixListener, path: PathBuf) -> Self {
        Self { listener, path, file: None }
    }
}

/// Credentials of the peer of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Credentials {
    /// The process that made the connection.
    pub process: i32,
    /// Its user.
    pub user: u32,
    /// Its group.
    pub group: u32,
}

fn file(path: &Path) -> io::Result<(u64, u64)> {
    let metadata = fs::symlink_metadata(path)?;
    Ok((metadata.dev(), metadata.ino()))
}

/// Listens at a path, and sets the file's mode. The socket of a dead server is removed; a live
/// server's makes the call fail.
///
/// # Errors
/// Fails if a server listens there, if the path is another kind of file, or if the system refuses.
pub fn listen(path: &Path, mode: u32) -> io::Result<BoundListener> {
    let listener = match UnixListener::bind(path) {
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
            if !fs::symlink_metadata(path)?.file_type().is_socket() {
                let what = "there is a file at that path that is no socket";
                return Err(io::Error::new(io::ErrorKind::AlreadyExists, what));
            }
            if is_alive(path)? {
                return Err(error);
            }
            fs::remove_file(path)?;
            UnixListener::bind(path)?
        }
        bound => bound?,
    };
    let listening = BoundListener { listener, path: path.to_owned(), file: Some(file(path)?) };
    fs::set_permissions(path, Permissions::from_mode(mode))?;
    Ok(listening)
}

/// Returns whether a server listens at a socket, without waiting.
fn is_alive(path: &Path) -> io::Result<bool> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket: OwnedFd = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    match connect(&socket, &SocketAddrUnix::new(path)?) {
        // The server is too busy to answer, so it is alive.
        Ok(()) | Err(Errno::AGAIN | Errno::INPROGRESS) => Ok(true),
        Err(Errno::CONNREFUSED | Errno::NOENT) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

impl AsFd for BoundListener {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.listener.as_fd()
    }
}

impl Drop for BoundListener {
    fn drop(&mut self) {
        // Another server may have put its own socket there.
        if self.file.is_some() && file(&self.path).ok() == self.file {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Returns the credentials of a peer, as the kernel saw them at connection time (`SO_PEERCRED`).
///
/// # Errors
/// Fails if the socket is no Unix socket.
pub fn credentials(stream: &UnixStream) -> io::Result<Credentials> {
    let found = socket_peercred(stream)?;
    Ok(Credentials {
        process: found.pid.as_raw_nonzero().get(),
        user: found.uid.as_raw(),
        group: found.gid.as_raw(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_socket_that_was_left_is_replaced_and_one_that_lives_is_not() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("socket");
        // The standard library's listener leaves its file behind, as a killed server does.
        drop(UnixListener::bind(&path).expect("a listener"));
        assert!(path.exists());
        let first = listen(&path, 0o660).expect("a listener");
        assert_eq!(fs::metadata(&path).expect("a file").mode() & 0o777, 0o660);
        let again = listen(&path, 0o660).expect_err("somebody listens");
        assert_eq!(again.kind(), io::ErrorKind::AddrInUse);
        assert!(path.exists());
        drop(first);
        assert!(!path.exists(), "it takes its file along");
    }

    #[test]
    fn what_is_no_socket_is_left_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("file");
        fs::write(&path, "mine").expect("a file");
        let refused = listen(&path, 0o666).expect_err("a file is there");
        assert_eq!(refused.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read(&path).expect("it is there still"), b"mine");
    }

    #[test]
    fn another_servers_socket_stays() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("socket");
        let first = listen(&path, 0o666).expect("a listener");
        fs::remove_file(&path).expect("its file");
        let second = listen(&path, 0o666).expect("another one");
        drop(first);
        assert!(path.exists());
        drop(second);
    }

    #[test]
    fn the_kernel_says_who_connected() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("socket");
        let listening = listen(&path, 0o666).expect("a listener");
        let _client = UnixStream::connect(&path).expect("a connection");
        let (server, _) = listening.listener.accept().expect("a connection");
        let own = crate::privileges::Identity::own();
        let found = credentials(&server).expect("credentials");
        assert_eq!((found.user, found.group), (own.user, own.group));
        assert_eq!(u32::try_from(found.process), Ok(std::process::id()));
    }
}
