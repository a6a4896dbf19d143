//! Files that appear in a folder only when they are complete, even if others may write there. No
//! name that others can guess is opened, and no symbolic link is followed.

use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Gid, Mode, OFlags, Uid, chownat, fchmod, fchown, fstat, fsync,
    ftruncate, linkat, open, openat, renameat, statat, unlinkat,
};
use rustix::io::Errno;
use rustix::process::geteuid;

use crate::privileges::Identity;

/// Mode bits of a folder that others may write to (`S_IWGRP` and `S_IWOTH` in inode(7)).
const OTHERS_WRITE: u32 = 0o022;

/// Mode of new files: their owner's alone, until they are published.
const PRIVATE: u32 = 0o600;

/// Number of names tried if a name is taken already.
const TRIES: usize = 100;

/// A folder that is open: later changes to its path do not matter.
#[derive(Debug)]
pub struct Folder {
    folder: OwnedFd,
}

/// A file of a folder that has no name yet. The file is deleted if this is dropped before it gets
/// one.
#[derive(Debug)]
pub struct NamelessFile<'a> {
    folder: &'a Folder,
    file: File,
    /// Its temporary name on file systems without nameless files.
    meanwhile: Option<String>,
}

impl Folder {
    /// Opens a folder. Returns `None` if the path is no folder.
    ///
    /// # Errors
    /// Fails if the folder may not be opened.
    pub fn open(path: &Path) -> io::Result<Option<Self>> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        match open(path, flags, Mode::empty()) {
            Ok(folder) => Ok(Some(Self { folder })),
            Err(Errno::NOTDIR | Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Creates a file that is published with `mode`, whatever the process's umask.
    ///
    /// # Errors
    /// Fails if the folder may not be written to.
    pub fn create(&self, mode: u32) -> io::Result<NamelessFile<'_>> {
        let flags = OFlags::WRONLY | OFlags::CLOEXEC;
        let private = Mode::from_raw_mode(PRIVATE);
        let (file, meanwhile) = match openat(&self.folder, ".", flags | OFlags::TMPFILE, private) {
            Ok(file) => (file, None),
            // File systems without them report several errors (open(2)).
            Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::NOENT | Errno::INVAL) => {
                let flags = flags | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
                let make = |name: &str| openat(&self.folder, name, flags, private);
                let (file, name) = with_a_new_name(make)?;
                (file, Some(name))
            }
            Err(error) => return Err(error.into()),
        };
        let new = NamelessFile { folder: self, file: file.into(), meanwhile };
        grant(&new.file, mode)?;
        Ok(new)
    }

    /// Gives the folder and the files in it to a user, so that this user may continue another's
    /// work. Files with several names are left alone: another name may be in somebody else's
    /// folder.
    ///
    /// # Errors
    /// Fails if this process may not.
    pub fn give_to(&self, who: Identity) -> io::Result<()> {
        let (user, group) = (Uid::from_raw(who.user), Gid::from_raw(who.group));
        for entry in Dir::read_from(&self.folder)? {
            let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let file = openat(&self.folder, entry?.file_name(), flags, Mode::empty())?;
            let about = fstat(&file)?;
            let is_file = FileType::from_raw_mode(about.st_mode) == FileType::RegularFile;
            if is_file && about.st_nlink == 1 && about.st_uid != who.user {
                chownat(&file, "", Some(user), Some(group), AtFlags::EMPTY_PATH)?;
            }
        }
        Ok(fchown(&self.folder, Some(user), Some(group))?)
    }

    /// Waits until the names in the folder are on the disk.
    ///
    /// # Errors
    /// Fails if the disk fails.
    pub fn sync(&self) -> io::Result<()> {
        match fsync(&self.folder) {
            // Some file systems have nothing to sync for a folder.
            Err(Errno::INVAL) => Ok(()),
            done => Ok(done?),
        }
    }
}

impl NamelessFile<'_> {
    /// Returns the file, for writing.
    pub const fn file(&mut self) -> &mut File {
        &mut self.file
    }

    /// Gives the file its name. Any previous file of that name is replaced, even a symbolic link.
    ///
    /// # Errors
    /// Fails if the folder may not be written to, or a folder has that name.
    pub fn publish(mut self, name: &str) -> io::Result<()> {
        let folder = &self.folder.folder;
        let from = match &self.meanwhile {
            Some(meanwhile) => meanwhile.clone(),
            None => {
                // The link of a descriptor, which is followed to the file (open(2)).
                let own = format!("/proc/self/fd/{}", self.file.as_raw_fd());
                let link = |name: &str| linkat(CWD, &own, folder, name, AtFlags::SYMLINK_FOLLOW);
                match link(name) {
                    Err(Errno::EXIST) => {}
                    done => return Ok(done?),
                }
                let ((), meanwhile) = with_a_new_name(link)?;
                self.meanwhile = Some(meanwhile.clone());
                meanwhile
            }
        };
        renameat(folder, &from, folder, name)?;
        self.meanwhile = None;
        Ok(())
    }
}

impl Drop for NamelessFile<'_> {
    fn drop(&mut self) {
        if let Some(name) = &self.meanwhile {
            // If removal fails, the file stays under a name that nobody asks for.
            let _ = unlinkat(&self.folder.folder, name, AtFlags::empty());
        }
    }
}

/// Sets a file's mode if it is another one.
fn grant(file: impl AsFd, mode: u32) -> io::Result<()> {
    if mode == PRIVATE {
        return Ok(());
    }
    Ok(fchmod(file, Mode::from_raw_mode(mode & 0o7777))?)
}

/// Makes something under a name that nobody can guess.
fn with_a_new_name<T>(make: impl Fn(&str) -> Result<T, Errno>) -> io::Result<(T, String)> {
    for _ in 0..TRIES {
        // The kernel's random numbers key each of the two hashers.
        let random = [(); 2].map(|()| RandomState::new().hash_one(0));
        let name = format!(".{:016x}{:016x}.part", random[0], random[1]);
        match make(&name) {
            Err(Errno::EXIST) => {}
            made => return Ok((made?, name)),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// Opens a file or a device by its path for writing from its start. Creates a file with `mode` if
/// there is none. A plain file is truncated. Also returns whether the file is new.
///
/// If others may write to the file's folder, they may have put something there. No symbolic link is
/// followed then, and no file with several names is opened. In other folders a symbolic link
/// belongs to somebody who may do all this anyway, as udev's in `/dev`.
///
/// # Errors
/// Fails if the file may not be opened, or is such a link.
pub fn create_or_open(path: &Path, mode: u32) -> io::Result<(File, bool)> {
    let private = Mode::from_raw_mode(PRIVATE);
    let flags = OFlags::WRONLY | OFlags::CLOEXEC;
    let new = flags | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
    match open(path, new, private) {
        Ok(file) => {
            grant(&file, mode)?;
            return Ok((file.into(), true));
        }
        Err(Errno::EXIST) => {}
        Err(error) => return Err(error.into()),
    }
    let parent = path.parent().unwrap_or(Path::new("/"));
    let name = path.file_name().ok_or(io::ErrorKind::IsADirectory)?;
    let flags_of_folder = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder = open(parent, flags_of_folder, Mode::empty())?;
    let about = fstat(&folder)?;
    let is_own = about.st_uid == geteuid().as_raw() || about.st_uid == 0;
    let is_shared = about.st_mode & OTHERS_WRITE != 0 || !is_own;
    let following = if is_shared { OFlags::NOFOLLOW } else { OFlags::empty() };
    let file = openat(&folder, name, flags | following, Mode::empty()).map_err(|error| {
        let is_link = || {
            let about = statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW);
            about.is_ok_and(|one| FileType::from_raw_mode(one.st_mode) == FileType::Symlink)
        };
        if error == Errno::LOOP && is_link() {
            let what = "it is a symbolic link in a folder that others may write to, and is not \
                        followed";
            return io::Error::other(what);
        }
        error.into()
    })?;
    let file = File::from(file);
    let about = file.metadata()?;
    if about.is_file() {
        if is_shared && about.nlink() > 1 {
            let what = "it has another name, too, and lies in a folder that others may write to";
            return Err(io::Error::other(what));
        }
        ftruncate(&file, 0)?;
    }
    Ok((file, false))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::io::Write;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o7777
    }

    fn names(path: &Path) -> Vec<String> {
        let names = fs::read_dir(path).unwrap();
        names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn a_file_has_its_name_when_it_is_whole() {
        let at = tempfile::tempdir().unwrap();
        let folder = Folder::open(at.path()).unwrap().unwrap();
        for (data, rights) in [("first", 0o600), ("the second", 0o644)] {
            let mut new = folder.create(rights).unwrap();
            new.file().write_all(data.as_bytes()).unwrap();
            let before = names(at.path());
            assert!(!before.iter().any(|name| name.ends_with(".part")), "{before:?}");
            // The second takes the place of the first.
            new.publish("job").unwrap();
            assert_eq!(names(at.path()), ["job"]);
            assert_eq!(fs::read_to_string(at.path().join("job")).unwrap(), data);
            assert_eq!(mode(&at.path().join("job")), rights);
        }
        folder.sync().unwrap();
        drop(folder.create(0o600).unwrap());
        assert_eq!(names(at.path()), ["job"]);
        let file = at.path().join("job");
        assert!(Folder::open(&file).unwrap().is_none());
        assert!(Folder::open(&at.path().join("missing")).unwrap().is_none());
    }

    #[test]
    fn a_link_where_a_file_is_to_be_is_replaced_and_not_followed() {
        let at = tempfile::tempdir().unwrap();
        let victim = at.path().join("victim");
        fs::write(&victim, "untouched").unwrap();
        let out = at.path().join("out");
        fs::create_dir(&out).unwrap();
        symlink(&victim, out.join("job")).unwrap();
        let folder = Folder::open(&out).unwrap().unwrap();
        let mut new = folder.create(0o600).unwrap();
        new.file().write_all(b"data").unwrap();
        new.publish("job").unwrap();
        assert_eq!(fs::read_to_string(&victim).unwrap(), "untouched");
        assert!(fs::symlink_metadata(out.join("job")).unwrap().is_file());
        // A folder of that name is none of ours, and nothing is left behind.
        fs::create_dir(out.join("other")).unwrap();
        assert!(folder.create(0o600).unwrap().publish("other").is_err());
        let mut left = names(&out);
        left.sort();
        assert_eq!(left, ["job", "other"]);
    }

    #[test]
    fn a_folder_goes_to_somebody_with_its_own_files() {
        let test = "a_folder_goes_to_somebody_with_its_own_files";
        if geteuid().as_raw() != 0 {
            return eprintln!("skipped: {test}: only root can give away files");
        }
        let at = tempfile::tempdir().unwrap();
        let (folder, victim) = (at.path().join("folder"), at.path().join("victim"));
        fs::create_dir(&folder).unwrap();
        fs::write(&victim, "").unwrap();
        fs::write(folder.join("own"), "").unwrap();
        symlink(&victim, folder.join("link")).unwrap();
        fs::hard_link(&victim, folder.join("second")).unwrap();
        let who = Identity { user: 65_534, group: 65_533 };
        Folder::open(&folder).unwrap().unwrap().give_to(who).unwrap();
        let owner = |path: &Path| {
            let about = fs::metadata(path).unwrap();
            Identity { user: about.uid(), group: about.gid() }
        };
        assert_eq!([owner(&folder), owner(&folder.join("own"))], [who, who]);
        assert_eq!(owner(&victim), Identity { user: 0, group: 0 });
    }

    #[test]
    fn names_that_nobody_can_guess_serve_where_files_have_to_have_one() {
        let at = tempfile::tempdir().unwrap();
        let folder = Folder::open(at.path()).unwrap().unwrap();
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
        let make = |name: &str| openat(&folder.folder, name, flags, Mode::from_raw_mode(0o600));
        let (file, name) = with_a_new_name(make).unwrap();
        assert_eq!(names(at.path()), [name.as_str()]);
        let new = |file: OwnedFd, name: &str| NamelessFile {
            folder: &folder,
            file: file.into(),
            meanwhile: Some(name.to_owned()),
        };
        new(file, &name).publish("job").unwrap();
        assert_eq!(names(at.path()), ["job"]);
        let (file, other) = with_a_new_name(make).unwrap();
        assert_ne!(name, other);
        drop(new(file, &other));
        assert_eq!(names(at.path()), ["job"]);
        assert!(with_a_new_name(|_| Err::<(), _>(Errno::EXIST)).is_err());
    }

    #[test]
    fn a_link_is_followed_only_where_nobody_else_can_have_made_it() {
        let at = tempfile::tempdir().unwrap();
        let victim = at.path().join("victim");
        let open = |path: &Path| create_or_open(path, 0o640).map(|(file, _)| file);
        open(&victim).unwrap().write_all(b"longer than that").unwrap();
        assert_eq!(mode(&victim), 0o640);
        open(&victim).unwrap().write_all(b"short").unwrap();
        assert_eq!(fs::read_to_string(&victim).unwrap(), "short");
        let out = at.path().join("out");
        fs::create_dir(&out).unwrap();
        symlink(&victim, out.join("link")).unwrap();
        fs::hard_link(&victim, out.join("second")).unwrap();
        for (rights, is_shared) in [(0o755, false), (0o775, true), (0o1777, true)] {
            fs::set_permissions(&out, fs::Permissions::from_mode(rights)).unwrap();
            for name in ["link", "second"] {
                fs::write(&victim, "before").unwrap();
                let opened = open(&out.join(name));
                assert_eq!(opened.is_err(), is_shared, "{name} {rights:o}");
                let left = fs::read_to_string(&victim).unwrap();
                assert_eq!(left, if is_shared { "before" } else { "" }, "{name} {rights:o}");
            }
        }
        let said = open(&out.join("link")).unwrap_err().to_string();
        assert!(said.starts_with("it is a symbolic link"), "{said}");
        assert!(open(&at.path().join("no/file")).is_err());
        // A device has no length to cut.
        open(Path::new("/dev/null")).unwrap().write_all(b"x").unwrap();
    }
}
