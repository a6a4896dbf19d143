//! A log with one line per event: lines are only appended, and never cut. Large logs are rotated.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use crate::rotation::{self, has_name, set_aside};

/// Bytes that are read at a time.
const PIECE: usize = 64 << 10;

/// Size limit of a log, and number of old logs to keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rotation {
    /// Size in bytes at which the log is rotated; `None`: never.
    pub size: Option<u64>,
    /// Number of old logs to keep; `FILE.1` is the latest of them.
    pub keep: u32,
}

impl Default for Rotation {
    /// CUPS's `MaxLogSize` rotates a log at 1 MiB and keeps one. More are kept here, because pages
    /// are billed.
    fn default() -> Self {
        Self { size: None, keep: 9 }
    }
}

/// An open log file.
#[derive(Debug)]
pub(super) struct AccountLogFile {
    path: PathBuf,
    file: File,
    rotation: Rotation,
}

impl AccountLogFile {
    /// Opens the log, or creates it.
    pub(super) fn open(path: &Path, rotation: Rotation) -> io::Result<Self> {
        Ok(Self { path: path.to_owned(), file: rotation::open(path)?, rotation })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the size of the log in bytes.
    pub(super) fn bytes(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    /// Appends whole lines: all or none of them.
    pub(super) fn append(&mut self, lines: &[u8]) -> io::Result<()> {
        if lines.is_empty() {
            return Ok(());
        }
        let before = self.bytes()?;
        self.file.write_all(lines).inspect_err(|_| {
            // If that fails, too, the next start cuts the incomplete line.
            let _ = self.file.set_len(before);
        })
    }

    /// Completes the last line, if another program left it open.
    pub(super) fn end_line(&mut self) -> io::Result<()> {
        let bytes = self.bytes()?;
        if bytes == 0 {
            return Ok(());
        }
        let mut last = [0];
        File::open(&self.path)?.read_exact_at(&mut last, bytes - 1)?;
        if last == *b"\n" { Ok(()) } else { self.file.write_all(b"\n") }
    }

    /// Syncs the log to the disk.
    pub(super) fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    /// Reopens the log if another program has rotated it. Returns whether it did.
    pub(super) fn follow(&mut self) -> io::Result<bool> {
        if has_name(&self.file, &self.path)? {
            return Ok(false);
        }
        self.file = rotation::open(&self.path)?;
        self.end_line()?;
        Ok(true)
    }

    /// Rotates the log if it is large, and returns whether it did. All lines of the log must be
    /// accounted for.
    pub(super) fn rotate(&mut self) -> io::Result<bool> {
        let bytes = self.bytes()?;
        if self.rotation.size.is_none_or(|size| bytes < size) {
            return Ok(false);
        }
        set_aside(&self.path, self.rotation.keep)?;
        self.file = rotation::open(&self.path)?;
        Ok(true)
    }

    /// Counts the complete lines after byte `start`, and cuts off an incomplete last line.
    pub(super) fn lines_behind(&mut self, start: u64) -> io::Result<u64> {
        let mut file = OpenOptions::new().read(true).open(&self.path)?;
        file.seek(SeekFrom::Start(start))?;
        let (mut lines, mut at, mut whole) = (0, start, start);
        let mut piece = vec![0; PIECE];
        loop {
            let got = file.read(&mut piece)?;
            if got == 0 {
                break;
            }
            for (place, _) in piece[..got].iter().enumerate().filter(|(_, byte)| **byte == b'\n') {
                lines += 1;
                whole = at + place as u64 + 1;
            }
            at += got as u64;
        }
        if whole < at {
            self.file.set_len(whole)?;
        }
        Ok(lines)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use std::fs;

    use super::*;

    #[test]
    fn a_line_that_is_not_whole_is_cut() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        fs::write(&path, "before\none\ntwo\nthr").unwrap();
        let mut log = AccountLogFile::open(&path, Rotation::default()).unwrap();
        assert_eq!(log.lines_behind(7).unwrap(), 2);
        log.append(b"three\n").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "before\none\ntwo\nthree\n");
        assert_eq!(log.lines_behind(0).unwrap(), 4);
        assert_eq!(log.lines_behind(21).unwrap(), 0);
    }

    #[test]
    fn what_is_large_is_set_aside() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let rotation = Rotation { size: Some(10), keep: 2 };
        let mut log = AccountLogFile::open(&path, rotation).unwrap();
        for line in ["first\n", "second\n", "third is long\n", "fourth\n"] {
            log.append(line.as_bytes()).unwrap();
            log.rotate().unwrap();
        }
        let text = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
        assert_eq!(text("log.2"), "first\nsecond\n");
        assert_eq!(text("log.1"), "third is long\n");
        assert_eq!(text("log"), "fourth\n");
        // Another program rotated the log.
        fs::rename(&path, folder.path().join("taken")).unwrap();
        log.follow().unwrap();
        log.append(b"fifth\n").unwrap();
        assert_eq!(text("log"), "fifth\n");
        log.append(b"more\n").unwrap();
        log.rotate().unwrap();
        assert_eq!(text("log.2"), "third is long\n");
        assert!(!folder.path().join("log.3").exists());
    }
}
