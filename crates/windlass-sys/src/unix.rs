//! Sockets in the file system (unix(7)): a listener that takes the place of one that has
//! gone, and who is at the other end.

use std::fs::{self, Permissions};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use rustix::io::Errno;
use rustix::net::sockopt::socket_peercred;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};

/// A listener, whose file goes with it where that is its own.
#[derive(Debug)]
pub struct Listening {
    /// It.
    pub listener: UnixListener,
    path: PathBuf,
    /// The device and the number of its file; nothing where it stays when this goes.
    file: Option<(u64, u64)>,
}

impl Listening {
    /// One that somebody else listens at, too: its file is his.
    pub fn of_another(listener: UnixListener, path: PathBuf) -> Self {
        Self { listener, path, file: None }
    }
}

/// Who is at the other end of a connection.
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

/// Listens at a path, which gets this mode. Where a server that has gone left its socket
/// there, that is removed; where one is there still, this fails.
///
/// # Errors
/// Where somebody listens there, where something else than a socket is there, or where the
/// system says no.
pub fn listen(path: &Path, mode: u32) -> io::Result<Listening> {
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
    let listening = Listening { listener, path: path.to_owned(), file: Some(file(path)?) };
    fs::set_permissions(path, Permissions::from_mode(mode))?;
    Ok(listening)
}

/// Whether somebody listens at a socket. Nothing is waited for.
fn is_alive(path: &Path) -> io::Result<bool> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket: OwnedFd = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    match connect(&socket, &SocketAddrUnix::new(path)?) {
        // It has too much to do to be asked.
        Ok(()) | Err(Errno::AGAIN | Errno::INPROGRESS) => Ok(true),
        Err(Errno::CONNREFUSED | Errno::NOENT) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

impl AsFd for Listening {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.listener.as_fd()
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        // Another server may have put its own there.
        if self.file.is_some() && file(&self.path).ok() == self.file {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Who made a connection, as the kernel saw it then (`SO_PEERCRED`).
///
/// # Errors
/// Where the socket is none of this kind.
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
        // The standard library's leaves its file behind, as a server does that was killed.
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
