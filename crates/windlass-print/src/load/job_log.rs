//! Files that a cupsd on this machine writes about jobs: its error log, and documents.
//!
//! With `LogLevel info` or higher, cupsd writes a line as each job ends, and flushes it before
//! anything else. Reading the file costs cupsd nothing.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use windlass_wire::ipp::JobState;

/// Longest line that is stored: longer lines are no ends of jobs.
const MAX_LINE: usize = 4_096;

/// Bytes of one read.
const CHUNK: usize = 256 << 10;

/// Texts by which cupsd reports the end of a job (`scheduler/job.c` and `scheduler/ipp.c` of CUPS
/// 2.4).
const ENDS: [(&str, JobState); 7] = [
    ("Job completed.", JobState::Completed),
    ("Job aborted", JobState::Aborted),
    ("Aborting job", JobState::Aborted),
    ("Job canceled", JobState::Canceled),
    ("Job purged", JobState::Canceled),
    ("Canceling stuck job", JobState::Canceled),
    ("Marking stuck job", JobState::Canceled),
];

/// Folder of documents of a cupsd without a history (`RequestRoot`).
///
/// cupsd deletes a document as its job ends, but not if it was killed and has forgotten the job.
#[derive(Clone, Debug)]
pub struct Documents(PathBuf);

impl Documents {
    /// Opens a folder; returns nothing if it may not be read.
    pub fn open(folder: &Path) -> Option<Self> {
        let documents = Self(folder.to_owned());
        documents.has(0).map(|_| documents)
    }

    /// Returns whether the document of a job exists; nothing if this is unknown.
    pub(super) fn has(&self, id: i32) -> Option<bool> {
        self.0.join(format!("d{id:05}-001")).try_exists().ok()
    }
}

/// Error log of a cupsd, read from its end at the time of opening.
#[derive(Debug)]
pub struct JobLog {
    path: PathBuf,
    file: File,
    /// Beginning of an incomplete line.
    rest: Vec<u8>,
    /// True once there was a line about a job that only `LogLevel info` and higher has: the end of
    /// each job is then logged, too.
    pub(super) has_jobs: bool,
}

impl JobLog {
    /// Opens a log at its end.
    ///
    /// # Errors
    /// Fails if the log cannot be read.
    pub fn open(path: &Path) -> io::Result<Self> {
        let mut file = File::open(path)?;
        file.seek(SeekFrom::End(0))?;
        Ok(Self { path: path.to_owned(), file, rest: Vec::new(), has_jobs: false })
    }

    /// Reads the lines since the last call; returns the jobs that have ended, in order, with
    /// cupsd's text.
    pub(super) fn read(&mut self) -> io::Result<Vec<LoggedEnd>> {
        let mut ends = Vec::new();
        self.read_file(&mut ends)?;
        // cupsd rotates a log that is longer than `MaxLogSize`.
        if let Ok(next) = File::open(&self.path)
            && !is_same(&next, &self.file)?
        {
            self.read_file(&mut ends)?;
            // It may have rotated twice since then.
            let mut aside = self.path.clone().into_os_string();
            aside.push(".O");
            if let Ok(aside) = File::open(aside)
                && !is_same(&aside, &self.file)?
                && !is_same(&aside, &next)?
            {
                self.go_on(aside, &mut ends)?;
            }
            self.go_on(next, &mut ends)?;
        }
        Ok(ends)
    }

    fn go_on(&mut self, file: File, ends: &mut Vec<LoggedEnd>) -> io::Result<()> {
        self.file = file;
        self.rest.clear();
        self.read_file(ends)
    }

    fn read_file(&mut self, ends: &mut Vec<LoggedEnd>) -> io::Result<()> {
        let mut some = vec![0; CHUNK];
        loop {
            let got = self.file.read(&mut some)?;
            if got == 0 {
                return Ok(());
            }
            self.take(&some[..got], ends);
        }
    }

    fn take(&mut self, bytes: &[u8], ends: &mut Vec<LoggedEnd>) {
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            if !line.ends_with(b"\n") {
                let room = MAX_LINE.saturating_sub(self.rest.len());
                self.rest.extend_from_slice(&line[..line.len().min(room)]);
            } else if self.rest.is_empty() {
                self.take_line(line, ends);
            } else {
                let mut whole = std::mem::take(&mut self.rest);
                whole.extend_from_slice(&line[..line.len().min(MAX_LINE)]);
                self.take_line(&whole, ends);
            }
        }
    }

    fn take_line(&mut self, line: &[u8], ends: &mut Vec<LoggedEnd>) {
        let Some((id, message)) = of_job(line) else { return };
        self.has_jobs |= line.starts_with(b"I ");
        let end = ENDS.into_iter().find(|(words, _)| message.starts_with(words));
        ends.extend(end.map(|(_, state)| LoggedEnd { id, state, message: message.to_owned() }));
    }
}

fn is_same(one: &File, other: &File) -> io::Result<bool> {
    let [one, other] = [one.metadata()?, other.metadata()?];
    Ok((one.dev(), one.ino()) == (other.dev(), other.ino()))
}

/// End of a job in the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LoggedEnd {
    pub(super) id: i32,
    pub(super) state: JobState,
    /// Text of cupsd.
    pub(super) message: String,
}

/// Returns the number of a job and the text of a line about it; nothing if the line is about no
/// job.
///
/// A line is `I [30/Nov/2026:16:35:37 +0000] [Job 31000] Job completed.`
fn of_job(line: &[u8]) -> Option<(i32, &str)> {
    let line = std::str::from_utf8(line).ok()?;
    let (_, line) = line.split_once("] [Job ")?;
    let (id, message) = line.split_once("] ")?;
    Some((id.parse().ok()?, message.trim_end()))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write;

    use proptest::prelude::*;

    use super::*;

    fn line(id: i32, message: &str) -> String {
        format!("I [30/Nov/2026:16:35:37 +0000] [Job {id}] {message}\n")
    }

    fn states(ends: &[LoggedEnd]) -> Vec<(i32, JobState)> {
        ends.iter().map(|end| (end.id, end.state)).collect()
    }

    #[test]
    fn ends_of_jobs_are_read_as_they_are_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("error_log");
        assert!(JobLog::open(&path).is_err());
        fs::write(&path, line(1, "Job completed.")).unwrap();
        let mut log = JobLog::open(&path).unwrap();
        assert_eq!((log.read().unwrap(), log.has_jobs), (vec![], false));
        let mut file = fs::OpenOptions::new().append(true).open(&path).unwrap();
        let text = [
            line(2, "Queued on \"dummy\" by \"root\"."),
            line(2, "Job completed."),
            line(3, "Job canceled by \"root\"."),
            line(4, "Job aborted due to backend errors; please consult the error_log file."),
            line(5, "Job held by \"root\"."),
            "I [30/Nov/2026:16:35:37 +0000] Expiring subscriptions...\n".to_owned(),
            line(6, "Job completed."),
        ];
        let (whole, part) = text.split_at(6);
        let (head, tail) = part[0].split_at(50);
        file.write_all(format!("{}{head}", whole.concat()).as_bytes()).unwrap();
        let ends = log.read().unwrap();
        let [done, canceled, aborted] =
            [(2, JobState::Completed), (3, JobState::Canceled), (4, JobState::Aborted)];
        assert_eq!(states(&ends), [done, canceled, aborted]);
        assert!(log.has_jobs);
        assert_eq!(ends[1].message, "Job canceled by \"root\".");
        file.write_all(tail.as_bytes()).unwrap();
        // cupsd then rotates the log, with a line that was not read yet.
        file.write_all(line(7, "Job completed.").as_bytes()).unwrap();
        fs::rename(&path, folder.path().join("error_log.O")).unwrap();
        fs::write(&path, line(8, "Job completed.")).unwrap();
        let ids: Vec<_> = log.read().unwrap().iter().map(|end| end.id).collect();
        assert_eq!(ids, [6, 7, 8]);
        assert_eq!(log.read().unwrap(), []);
        // It rotates twice before the log is read again.
        for id in [9, 10] {
            fs::rename(&path, folder.path().join("error_log.O")).unwrap();
            fs::write(&path, line(id, "Job completed.")).unwrap();
        }
        let ids: Vec<_> = log.read().unwrap().iter().map(|end| end.id).collect();
        assert_eq!(ids, [9, 10]);
    }

    #[test]
    fn a_document_outlives_its_job_where_that_was_lost() {
        let folder = tempfile::tempdir().unwrap();
        let documents = Documents::open(folder.path()).unwrap();
        fs::write(folder.path().join("d00007-001"), "").unwrap();
        fs::write(folder.path().join("d123456-001"), "").unwrap();
        assert_eq!([7, 8, 123_456].map(|id| documents.has(id)), [true, false, true].map(Some));
        let file = folder.path().join("d00007-001");
        assert!(Documents::open(&file).is_none());
    }

    proptest! {
        /// Any text in a log is read, within bounds.
        #[test]
        fn any_bytes_are_read(parts in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..300), 0..40)) {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("error_log");
            fs::write(&path, "").unwrap();
            let mut log = JobLog::open(&path).unwrap();
            let mut ends = Vec::new();
            parts.iter().for_each(|part| log.take(part, &mut ends));
            prop_assert!(log.rest.len() <= 2 * MAX_LINE);
        }
    }
}
