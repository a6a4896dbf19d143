//! Users with passwords: a file of password hashes (Argon2id, RFC 9106), and the check of logins.
//!
//! A hash takes some 20 ms and 19 MiB on purpose. So at most one hash is computed for every two
//! processors, and one for each host ([`super::turns`]). A host that tries many passwords delays no
//! other host. A client that waits too long for a turn is told to try again. A password that was
//! right is recognized by a keyed digest, which is kept in memory alone. An unknown user costs as
//! much as a known one. Wrong passwords for one name from one host are limited per minute. Beyond
//! the limit no password is checked, right or wrong, as otherwise the digests would reveal the
//! right one.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::net::IpAddr;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use argon2::password_hash::phc::PasswordHash;
use argon2::{Argon2, PasswordHasher, PasswordVerifier};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use super::peers::network;
use super::turns::{NoTurn, Turns};

/// Maximum size of the password file in bytes: 10,000 users have 1 MB.
const MAX_FILE: u64 = 4 << 20;

/// Maximum length of a user name in bytes.
const MAX_USER: usize = 127;
/// Maximum length of a password in bytes.
const MAX_PASSWORD: usize = 512;

/// Maximum number of wrong passwords for one name from one host within [`WINDOW`].
const MAX_WRONG: u32 = 10;
const WINDOW: Duration = Duration::from_secs(60);

/// Maximum number of remembered pairs of host and name with wrong passwords, and of remembered
/// right passwords.
const MAX_KNOWN: usize = 4_096;

/// Interval between checks whether the file has changed.
const LOOK: Duration = Duration::from_secs(1);

/// Errors of a password file.
#[derive(Debug, thiserror::Error)]
pub enum PasswordsError {
    /// The file cannot be read or written.
    #[error("the passwords in {}: {source}", path.display())]
    File {
        /// Path of the file.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// A line has the wrong form.
    #[error("the passwords in {}: line {line}: {why}", path.display())]
    Line {
        /// Path of the file.
        path: PathBuf,
        /// Number of the line.
        line: usize,
        /// Kind of the error.
        why: &'static str,
    },
    /// The name or the password cannot be stored.
    #[error("{0}")]
    Unusable(&'static str),
}

/// Results of a password check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PasswordCheck {
    /// The password is right.
    Right,
    /// The password is wrong, or there is no such user.
    Wrong,
    /// Too many wrong passwords: the password was not checked. The number is the time in seconds
    /// until the next check.
    TooMany(u64),
    /// Too many checks are in progress.
    Busy,
}

type Users = HashMap<String, String>;

/// Cached content of the file.
#[derive(Debug, Default)]
struct CachedUsers {
    users: Users,
    /// Modification time, size and inode of the file that was read.
    of: Option<(SystemTime, u64, u64)>,
    looked: Option<Instant>,
}

/// Users and password hashes of a file.
pub struct Passwords {
    path: PathBuf,
    held: Mutex<CachedUsers>,
    key: [u8; 32],
    /// Digests of right passwords, by their hashes.
    right: Mutex<HashMap<String, [u8; 32]>>,
    wrong: Mutex<HashMap<(String, String), (Instant, u32)>>,
    turns: Turns,
    /// Hash that no password matches.
    nobody: String,
}

impl std::fmt::Debug for Passwords {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Passwords").field("path", &self.path).finish_non_exhaustive()
    }
}

/// Returns the hash of a password in PHC string format.
fn hashed(password: &str) -> Result<String, PasswordsError> {
    let failed = PasswordsError::Unusable("the password could not be hashed");
    let hash = Argon2::default().hash_password(password.as_bytes());
    hash.map(|hash| hash.to_string()).map_err(|_| failed)
}

fn verified(hash: &str, password: &str) -> bool {
    PasswordHash::new(hash)
        .is_ok_and(|hash| Argon2::default().verify_password(password.as_bytes(), &hash).is_ok())
}

/// Returns whether a user name is valid in a line of the file, in a job, and in HTTP.
fn is_name(user: &str) -> bool {
    let is_fine = |one: char| !one.is_control() && !one.is_whitespace() && one != ':';
    (1..=MAX_USER).contains(&user.len()) && user.chars().all(is_fine) && !user.starts_with('#')
}

fn parsed(path: &Path, text: &str) -> Result<Users, PasswordsError> {
    let mut users = Users::new();
    for (place, line) in text.lines().enumerate() {
        let no = |why| PasswordsError::Line { path: path.to_owned(), line: place + 1, why };
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        let (user, hash) = line.split_once(':').ok_or_else(|| no("the line must be USER:HASH"))?;
        if !is_name(user) {
            return Err(no("the user name is not valid"));
        }
        let is_fine =
            PasswordHash::new(hash).is_ok_and(|hash| hash.algorithm.as_str() == "argon2id");
        if !is_fine {
            return Err(no("the hash is not of Argon2id"));
        }
        if users.insert(user.to_owned(), hash.to_owned()).is_some() {
            return Err(no("the user is listed twice"));
        }
    }
    Ok(users)
}

fn text(path: &Path) -> io::Result<(String, fs::Metadata)> {
    let file = File::open(path)?;
    let metadata = file.metadata()?;
    let mut text = String::new();
    file.take(MAX_FILE + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MAX_FILE {
        return Err(io::Error::other("the file is too long"));
    }
    Ok((text, metadata))
}

/// Sets the password of a user in a file, which is created if need be; `None` removes the user.
/// Only the file's owner may read it. Returns whether the user existed.
///
/// # Errors
/// The file cannot be read or written, or the name or the password cannot be stored.
pub fn set_password(
    path: &Path,
    user: &str,
    password: Option<&str>,
) -> Result<bool, PasswordsError> {
    let no = |source| PasswordsError::File { path: path.to_owned(), source };
    if !is_name(user) {
        let why = "a user name has 1 to 127 letters, and no spaces, colons or control characters";
        return Err(PasswordsError::Unusable(why));
    }
    if password.is_some_and(|one| !(1..=MAX_PASSWORD).contains(&one.len())) {
        return Err(PasswordsError::Unusable("a password has 1 to 512 bytes"));
    }
    let before = match text(path) {
        Ok((text, _)) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound && password.is_some() => {
            String::new()
        }
        Err(error) => return Err(no(error)),
    };
    parsed(path, &before)?;
    let (mut after, mut was_there) = (String::new(), false);
    for line in before.lines() {
        if line.split_once(':').is_some_and(|(name, _)| name == user) {
            was_there = true;
        } else {
            after.push_str(line);
            after.push('\n');
        }
    }
    if let Some(password) = password {
        after.push_str(&format!("{user}:{}\n", hashed(password)?));
    }
    // Replaces the file atomically: a server may read it at the same time.
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}", std::process::id()));
    let part = PathBuf::from(name);
    let written = || {
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&part)?;
        file.write_all(after.as_bytes())?;
        file.sync_all()?;
        fs::rename(&part, path)
    };
    written().map_err(|error| {
        let _ = fs::remove_file(&part);
        no(error)
    })?;
    Ok(was_there)
}

impl Passwords {
    /// Opens a password file.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn open(path: &Path) -> Result<Self, PasswordsError> {
        let no = |source| PasswordsError::File { path: path.to_owned(), source };
        let mut key = [0; 32];
        getrandom::fill(&mut key).map_err(|error| no(io::Error::other(error)))?;
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let own = Self {
            path: path.to_owned(),
            held: Mutex::default(),
            key,
            right: Mutex::default(),
            wrong: Mutex::default(),
            turns: Turns::new((processors / 2).max(1)),
            nobody: hashed("nobody")?,
        };
        let (text, metadata) = text(path).map_err(no)?;
        if metadata.permissions().mode() & 0o077 != 0 {
            let why = "it is readable by others than its owner: run chmod 600 on it";
            return Err(no(io::Error::new(io::ErrorKind::PermissionDenied, why)));
        }
        let mut held = own.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.users = parsed(path, &text)?;
        held.of = stamp(&metadata);
        drop(held);
        Ok(own)
    }

    /// Returns the hash of a user. Reads the file again if it has changed; if that fails, the old
    /// content stays valid.
    fn hash(&self, user: &str) -> Option<String> {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        if held.looked.is_none_or(|looked| now.duration_since(looked) >= LOOK) {
            held.looked = Some(now);
            let is_new = fs::metadata(&self.path).is_ok_and(|found| stamp(&found) != held.of);
            if is_new
                && let Ok((text, metadata)) = text(&self.path)
                && let Ok(users) = parsed(&self.path, &text)
            {
                held.users = users;
                held.of = stamp(&metadata);
            }
        }
        held.users.get(user).cloned()
    }

    fn digest(&self, password: &str) -> [u8; 32] {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.key)
            .unwrap_or_else(|_| unreachable!("a key of any length does"));
        mac.update(password.as_bytes());
        mac.finalize().into_bytes().into()
    }

    /// Returns whether a password that was right is still right: the user may have been removed, or
    /// may have a new password.
    pub(super) fn stays_right(&self, user: &str, password: &str) -> bool {
        let Some(hash) = self.hash(user) else { return false };
        let right = self.right.lock().unwrap_or_else(PoisonError::into_inner);
        right.get(&hash) == Some(&self.digest(password))
    }

    /// Checks the password of a user from a host.
    pub fn check(&self, host: Option<IpAddr>, user: &str, password: &str) -> PasswordCheck {
        let key = (host.map_or_else(|| "socket".to_owned(), network), user.to_owned());
        if let Some(seconds) = self.is_barred(&key) {
            return PasswordCheck::TooMany(seconds);
        }
        if user.len() > MAX_USER || password.len() > MAX_PASSWORD {
            return PasswordCheck::Wrong;
        }
        let hash = self.hash(user);
        let digest = self.digest(password);
        if let Some(hash) = &hash {
            let right = self.right.lock().unwrap_or_else(PoisonError::into_inner);
            if right.get(hash) == Some(&digest) {
                return PasswordCheck::Right;
            }
        }
        let _turn = match self.turns.take(&key.0) {
            Ok(turn) => turn,
            Err(NoTurn::OfHost) => return PasswordCheck::TooMany(1),
            Err(NoTurn::OfAll) => return PasswordCheck::Busy,
        };
        let is_right = verified(hash.as_deref().unwrap_or(&self.nobody), password);
        match hash.filter(|_| is_right) {
            Some(hash) => {
                let mut right = self.right.lock().unwrap_or_else(PoisonError::into_inner);
                if right.len() >= MAX_KNOWN {
                    right.clear();
                }
                right.insert(hash, digest);
                PasswordCheck::Right
            }
            None => {
                self.note_wrong(key);
                PasswordCheck::Wrong
            }
        }
    }

    /// Returns the seconds for which a name from a host is not checked.
    fn is_barred(&self, key: &(String, String)) -> Option<u64> {
        let wrong = self.wrong.lock().unwrap_or_else(PoisonError::into_inner);
        let (since, count) = wrong.get(key)?;
        let left = WINDOW.saturating_sub(since.elapsed());
        (*count >= MAX_WRONG && !left.is_zero()).then(|| left.as_secs() + 1)
    }

    fn note_wrong(&self, key: (String, String)) {
        let mut wrong = self.wrong.lock().unwrap_or_else(PoisonError::into_inner);
        if wrong.len() >= MAX_KNOWN {
            wrong.retain(|_, (since, _)| since.elapsed() < WINDOW);
        }
        // An attacker who tries thousands of names gains nothing from a forgotten one: each costs a
        // hash.
        if wrong.len() >= MAX_KNOWN
            && let Some(any) = wrong.keys().next().cloned()
        {
            wrong.remove(&any);
        }
        let entry = wrong.entry(key).or_insert((Instant::now(), 0));
        if entry.0.elapsed() >= WINDOW {
            *entry = (Instant::now(), 0);
        }
        entry.1 += 1;
    }
}

/// Returns the file's properties that show a change.
fn stamp(metadata: &fs::Metadata) -> Option<(SystemTime, u64, u64)> {
    metadata.modified().ok().map(|time| (time, metadata.len(), metadata.ino()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_right_or_wrong() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("passwords");
        assert!(!set_password(&path, "ann", Some("one: two")).unwrap());
        assert!(!set_password(&path, "bob", Some("three")).unwrap());
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let passwords = Passwords::open(&path).unwrap();
        let host = Some(IpAddr::from([192, 0, 2, 1]));
        let check = |user: &str, password: &str| passwords.check(host, user, password);
        assert_eq!(check("ann", "one: two"), PasswordCheck::Right);
        assert_eq!(check("ann", "one: two"), PasswordCheck::Right, "by its digest");
        assert_eq!(check("ann", "three"), PasswordCheck::Wrong);
        assert_eq!(check("bob", "one: two"), PasswordCheck::Wrong);
        assert_eq!(check("cid", "nobody"), PasswordCheck::Wrong, "the hash of nobody");
        assert_eq!(check("ann", &"x".repeat(9_000)), PasswordCheck::Wrong);
        // A new password replaces the first.
        assert!(set_password(&path, "ann", Some("other")).unwrap());
        passwords.held.lock().unwrap().looked = None;
        assert_eq!(check("ann", "one: two"), PasswordCheck::Wrong);
        assert_eq!(check("ann", "other"), PasswordCheck::Right);
        assert!(set_password(&path, "ann", None).unwrap());
        assert!(!set_password(&path, "ann", None).unwrap());
        passwords.held.lock().unwrap().looked = None;
        assert_eq!(check("ann", "other"), PasswordCheck::Wrong);
    }

    #[test]
    fn who_is_wrong_too_often_is_not_looked_at() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("passwords");
        set_password(&path, "ann", Some("right")).unwrap();
        let passwords = Passwords::open(&path).unwrap();
        let (host, other) =
            (Some(IpAddr::from([192, 0, 2, 1])), Some(IpAddr::from([192, 0, 2, 2])));
        for _ in 0..MAX_WRONG {
            passwords.note_wrong((network(host.unwrap()), "ann".to_owned()));
        }
        assert!(matches!(passwords.check(host, "ann", "right"), PasswordCheck::TooMany(1..=61)));
        assert_eq!(passwords.check(other, "ann", "right"), PasswordCheck::Right);
        let mut wrong = passwords.wrong.lock().unwrap();
        let long_ago = Instant::now().checked_sub(WINDOW).unwrap();
        wrong.values_mut().for_each(|(since, _)| *since = long_ago);
        drop(wrong);
        assert_eq!(passwords.check(host, "ann", "right"), PasswordCheck::Right);
    }

    #[test]
    fn of_many_names_no_more_is_kept_than_fits() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("passwords");
        set_password(&path, "ann", Some("right")).unwrap();
        let passwords = Passwords::open(&path).unwrap();
        for number in 0..MAX_KNOWN * 2 {
            passwords.note_wrong(("h".to_owned(), number.to_string()));
        }
        assert_eq!(passwords.wrong.lock().unwrap().len(), MAX_KNOWN);
    }

    #[test]
    fn what_is_no_file_of_passwords_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("passwords");
        let hash = hashed("one").unwrap();
        for (text, expected) in [
            ("ann\n".to_owned(), "line 1: the line must be USER:HASH"),
            ("# note\nann:secret\n".to_owned(), "line 2: the hash is not of Argon2id"),
            (format!("a b:{hash}\n"), "line 1: the user name is not valid"),
            (format!("a:{hash}\na:{hash}\n"), "line 2: the user is listed twice"),
        ] {
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
            let error = Passwords::open(&path).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
        fs::write(&path, format!("ann:{hash}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        let error = Passwords::open(&path).unwrap_err().to_string();
        assert!(error.contains("chmod 600"), "{error}");
        for (user, password) in [("", "a"), ("a:b", "a"), ("a b", "a"), ("a", ""), ("#a", "b")] {
            assert!(set_password(&path, user, Some(password)).is_err(), "{user:?} {password:?}");
        }
    }
}
