//! Accounting of jobs: a page log in the format of CUPS, and a log of JSON lines. Each finished job
//! has exactly one line in each log, however the server ends.
//!
//! The journal keeps a finished job until its lines are written, together with the length of each
//! log. After a kill, the lines beyond that length belong to the first jobs that the journal has as
//! not logged. They are counted, and those jobs get no second line.

mod line;
mod log_file;
#[cfg(test)]
mod tests;

use std::io;
use std::path::PathBuf;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use windlass_spool_core::{Account, LogPosition, Moment, PageLogFormat, Quota};

use self::log_file::AccountLogFile;
use crate::store::{Durability, Error};

pub use self::line::AccountLine;
pub use self::log_file::Rotation;

/// Settings of the accounting.
#[derive(Clone, Debug, Default)]
pub struct AccountSettings {
    /// Path and line format of CUPS's page log.
    pub page_log: Option<(PathBuf, PageLogFormat)>,
    /// Path of the log of JSON lines.
    pub lines: Option<PathBuf>,
    /// Rotation of both logs.
    pub rotation: Rotation,
    /// Page quotas of users.
    pub quotas: Vec<Quota>,
}

impl AccountSettings {
    /// Returns whether there is anything to account for.
    pub const fn is_on(&self) -> bool {
        self.page_log.is_some() || self.lines.is_some() || !self.quotas.is_empty()
    }
}

/// Format of a log.
#[derive(Debug)]
enum LogFormat {
    Page(PageLogFormat),
    Lines,
}

/// Number of jobs after whose lines, some 20 µs of work, the thread yields the processor. A thread
/// that polls for a client would otherwise wait for all lines, and then sleep for that client the
/// next times (`serve/busy_poll.rs`).
const TURN: usize = 4;

/// A log, and the number of pending jobs that it has already.
#[derive(Debug)]
struct AccountLog {
    kind: LogFormat,
    file: AccountLogFile,
    has: u64,
    /// Length of the part before the pending lines, if this is another file than the journal knows.
    /// The lines of jobs that the journal has as not logged follow after that length.
    other: Option<u64>,
    /// Buffer for the lines: new memory each time would cost more than the lines do.
    lines: Vec<u8>,
}

impl AccountLog {
    fn written(&self) -> Result<LogPosition, (PathBuf, io::Error)> {
        let bytes = self.file.bytes().map_err(|error| (self.file.path().to_owned(), error))?;
        Ok(self.written_to(bytes))
    }

    fn written_to(&self, bytes: u64) -> LogPosition {
        LogPosition { path: self.file.path().display().to_string(), bytes }
    }

    /// Appends the line of a job.
    fn line(&self, account: &Account, ended: &str, to: &mut Vec<u8>) {
        match &self.kind {
            LogFormat::Page(format) => format.line(account, ended, to),
            LogFormat::Lines => {
                // Writing numbers and text to memory cannot fail.
                let _ = serde_json::to_writer(&mut *to, &AccountLine::new(account));
                to.push(b'\n');
            }
        }
    }
}

/// Times in the common log format, as CUPS writes them.
#[derive(Debug)]
struct CommonLogTime {
    zone: TimeZone,
    /// Second that was formatted last: thousands of jobs may end in one second.
    last: (u64, String),
}

impl CommonLogTime {
    fn of(&mut self, moment: Moment) -> &str {
        let second = moment.seconds();
        if self.last.0 != second || self.last.1.is_empty() {
            let time = i64::try_from(second).ok().and_then(|at| Timestamp::from_second(at).ok());
            let time = time.unwrap_or(Timestamp::MAX).to_zoned(self.zone.clone());
            self.last = (second, time.strftime("[%d/%b/%Y:%H:%M:%S %z]").to_string());
        }
        &self.last.1
    }
}

/// Writer of the accounting logs.
#[derive(Debug)]
pub(crate) struct Accountant {
    logs: Vec<AccountLog>,
    time: CommonLogTime,
}

impl Accountant {
    /// Opens the logs. Their times are in this time zone.
    pub(crate) fn open(settings: &AccountSettings, zone: TimeZone) -> Result<Self, Error> {
        let mut logs = Vec::new();
        let mut open = |kind, path: &PathBuf| {
            let file = AccountLogFile::open(path, settings.rotation).map_err(|source| {
                Error::Io { during: "open the page log", file: path.display().to_string(), source }
            })?;
            logs.push(AccountLog { kind, file, has: 0, other: None, lines: Vec::new() });
            Ok(())
        };
        if let Some((path, format)) = &settings.page_log {
            open(LogFormat::Page(format.clone()), path)?;
        }
        if let Some(path) = &settings.lines {
            open(LogFormat::Lines, path)?;
        }
        Ok(Self { logs, time: CommonLogTime { zone, last: (0, String::new()) } })
    }

    /// Counts the lines in the logs that the journal does not know of.
    pub(crate) fn compare(&mut self, written: &[LogPosition]) -> Result<(), Error> {
        for log in &mut self.logs {
            let path = log.file.path().display().to_string();
            let known = written.iter().find(|one| one.path == path).map(|one| one.bytes);
            let found = match known {
                // A log that is shorter was rotated in the meantime.
                Some(bytes) => log.file.bytes().and_then(|length| {
                    log.other = (bytes > length).then_some(0);
                    log.file.lines_behind(log.other.unwrap_or(bytes))
                }),
                // The content was written by others.
                None => log.file.end_line().map(|()| 0),
            };
            log.has = found.map_err(|source| Error::Io {
                during: "read the page log",
                file: path,
                source,
            })?;
        }
        Ok(())
    }

    /// Returns the lengths of the logs, for the journal to know before the first line is written.
    pub(crate) fn so_far(&self) -> Result<Vec<LogPosition>, (PathBuf, io::Error)> {
        self.logs.iter().map(AccountLog::written).collect()
    }

    /// Writes the lines of some jobs, and returns the new lengths of the logs.
    pub(crate) fn write(
        &mut self,
        accounts: &[Account],
        durability: Durability,
    ) -> Result<Vec<LogPosition>, (PathBuf, io::Error)> {
        let mut all = Vec::new();
        for log in &mut self.logs {
            let path = log.file.path().to_owned();
            let no = |error| (path.clone(), error);
            let has = usize::try_from(log.has).unwrap_or(usize::MAX).min(accounts.len());
            let mut lines = std::mem::take(&mut log.lines);
            lines.clear();
            for (place, account) in accounts[has..].iter().enumerate() {
                log.line(account, self.time.of(account.ended), &mut lines);
                if (place + 1).is_multiple_of(TURN) {
                    std::thread::yield_now();
                }
            }
            log.file.append(&lines).map_err(no)?;
            log.lines = lines;
            // If another log fails, this log is not written again.
            log.has = log.has.max(accounts.len() as u64);
            if durability == Durability::Fsync {
                log.file.sync().map_err(no)?;
            }
            all.push(log.written()?);
        }
        Ok(all)
    }

    /// Records that the first `jobs` pending jobs are logged.
    pub(crate) fn logged(&mut self, jobs: usize) {
        for log in &mut self.logs {
            log.has = log.has.saturating_sub(jobs as u64);
        }
    }

    /// Returns the number of pending jobs that a log has already.
    pub(crate) fn ahead(&self) -> u64 {
        self.logs.iter().map(|log| log.has).max().unwrap_or(0)
    }

    /// Rotates large logs, and reopens logs that others rotated. A log stays if it has lines of
    /// jobs that the journal has as not logged: they are found by the known length of this file.
    pub(crate) fn turn(&mut self) -> Result<(), (PathBuf, io::Error)> {
        for log in self.logs.iter_mut().filter(|log| log.has == 0) {
            let turned = log.file.follow().and_then(|is_other| Ok(is_other | log.file.rotate()?));
            let turned = turned.and_then(|is_other| is_other.then(|| log.file.bytes()).transpose());
            let other = turned.map_err(|error| (log.file.path().to_owned(), error))?;
            log.other = other.or(log.other);
        }
        Ok(())
    }

    /// Returns the logs that are other files than the journal knows, with the length of the part
    /// that belongs to logged jobs.
    pub(crate) fn others(&self) -> Vec<LogPosition> {
        self.logs.iter().filter_map(|log| log.other.map(|bytes| log.written_to(bytes))).collect()
    }

    /// Records that the journal knows the new files.
    pub(crate) fn others_are_known(&mut self) {
        for log in &mut self.logs {
            log.other = None;
        }
    }
}
