//! The account of jobs: a page log as CUPS writes it, and lines of JSON. Each job that is
//! over is in each of them once, however the server ends.
//!
//! The journal keeps a job that is over until this says that its line is written. It then
//! has how long the logs are. After a kill the lines behind that are those of the first jobs
//! that the journal has as not logged: they are counted, and those jobs get no other.

mod line;
mod log_file;
#[cfg(test)]
mod tests;

use std::io;
use std::path::PathBuf;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use windlass_spool_core::{Account, Moment, PageLogFormat, Quota, Written};

use self::log_file::LogFile;
use crate::store::{Durability, Error};

pub use self::line::AccountLine;
pub use self::log_file::Rotation;

/// What is accounted for.
#[derive(Clone, Debug, Default)]
pub struct AccountSettings {
    /// Where CUPS's page log is written, and as what.
    pub page_log: Option<(PathBuf, PageLogFormat)>,
    /// Where lines of JSON are written.
    pub lines: Option<PathBuf>,
    /// When they are set aside.
    pub rotation: Rotation,
    /// What users may print.
    pub quotas: Vec<Quota>,
}

impl AccountSettings {
    /// Whether there is anything to account for.
    pub const fn is_on(&self) -> bool {
        self.page_log.is_some() || self.lines.is_some() || !self.quotas.is_empty()
    }
}

/// What a log holds.
#[derive(Debug)]
enum Kind {
    Page(PageLogFormat),
    Lines,
}

/// After the lines of so many jobs, some 20 µs, who wants the processor is let in: who polls for
/// a client yields to this, and would wait for the lines of all of them, and then sleep for the
/// client the next times (`serve/busy_poll.rs`).
const TURN: usize = 4;

/// A log, and how many of the jobs that are to be written it has already.
#[derive(Debug)]
struct Log {
    kind: Kind,
    file: LogFile,
    has: u64,
    /// It is another file than the one that the journal knows of: lines of jobs that the
    /// journal has as not logged follow behind so many bytes.
    other: Option<u64>,
    /// Where its lines are made: new memory each time would cost more than they do.
    lines: Vec<u8>,
}

impl Log {
    fn written(&self) -> Result<Written, (PathBuf, io::Error)> {
        let bytes = self.file.bytes().map_err(|error| (self.file.path().to_owned(), error))?;
        Ok(self.written_to(bytes))
    }

    fn written_to(&self, bytes: u64) -> Written {
        Written { path: self.file.path().display().to_string(), bytes }
    }

    /// Appends the line of a job.
    fn line(&self, account: &Account, ended: &str, to: &mut Vec<u8>) {
        match &self.kind {
            Kind::Page(format) => format.line(account, ended, to),
            Kind::Lines => {
                // Numbers and text into memory: nothing here can fail.
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
    /// The second that was written last: jobs end by the thousand in one.
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

/// Writes what is accounted for.
#[derive(Debug)]
pub(crate) struct Accountant {
    logs: Vec<Log>,
    time: CommonLogTime,
}

impl Accountant {
    /// Opens the logs, whose times are of this zone.
    pub(crate) fn open(settings: &AccountSettings, zone: TimeZone) -> Result<Self, Error> {
        let mut logs = Vec::new();
        let mut open = |kind, path: &PathBuf| {
            let file = LogFile::open(path, settings.rotation).map_err(|source| Error::Io {
                during: "open the page log",
                file: path.display().to_string(),
                source,
            })?;
            logs.push(Log { kind, file, has: 0, other: None, lines: Vec::new() });
            Ok(())
        };
        if let Some((path, format)) = &settings.page_log {
            open(Kind::Page(format.clone()), path)?;
        }
        if let Some(path) = &settings.lines {
            open(Kind::Lines, path)?;
        }
        Ok(Self { logs, time: CommonLogTime { zone, last: (0, String::new()) } })
    }

    /// Finds what the logs have that the journal does not know of.
    pub(crate) fn compare(&mut self, written: &[Written]) -> Result<(), Error> {
        for log in &mut self.logs {
            let path = log.file.path().display().to_string();
            let known = written.iter().find(|one| one.path == path).map(|one| one.bytes);
            let found = match known {
                // Where there are fewer, it was set aside since.
                Some(bytes) => log.file.bytes().and_then(|length| {
                    log.other = (bytes > length).then_some(0);
                    log.file.lines_behind(log.other.unwrap_or(bytes))
                }),
                // What stands there is another's.
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

    /// How far the logs are, for the journal to know before the first line is written.
    pub(crate) fn so_far(&self) -> Result<Vec<Written>, (PathBuf, io::Error)> {
        self.logs.iter().map(Log::written).collect()
    }

    /// Writes the lines of some jobs, and says how far the logs are then.
    pub(crate) fn write(
        &mut self,
        accounts: &[Account],
        durability: Durability,
    ) -> Result<Vec<Written>, (PathBuf, io::Error)> {
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
            // Where another log fails, this one is not written again.
            log.has = log.has.max(accounts.len() as u64);
            if durability == Durability::Fsync {
                log.file.sync().map_err(no)?;
            }
            all.push(log.written()?);
        }
        Ok(all)
    }

    /// So many of the first jobs are logged now.
    pub(crate) fn logged(&mut self, jobs: usize) {
        for log in &mut self.logs {
            log.has = log.has.saturating_sub(jobs as u64);
        }
    }

    /// How many of the next jobs a log has already.
    pub(crate) fn ahead(&self) -> u64 {
        self.logs.iter().map(|log| log.has).max().unwrap_or(0)
    }

    /// Sets large logs aside, and goes on in those that have their names now. One with lines of
    /// jobs that the journal has as not logged stays: they are found behind what it knows of
    /// this file.
    pub(crate) fn turn(&mut self) -> Result<(), (PathBuf, io::Error)> {
        for log in self.logs.iter_mut().filter(|log| log.has == 0) {
            let turned = log.file.follow().and_then(|is_other| Ok(is_other | log.file.rotate()?));
            let turned = turned.and_then(|is_other| is_other.then(|| log.file.bytes()).transpose());
            let other = turned.map_err(|error| (log.file.path().to_owned(), error))?;
            log.other = other.or(log.other);
        }
        Ok(())
    }

    /// Those that are other files than the journal knows of, and how much of them is of jobs
    /// that it has as logged.
    pub(crate) fn others(&self) -> Vec<Written> {
        self.logs.iter().filter_map(|log| log.other.map(|bytes| log.written_to(bytes))).collect()
    }

    /// The journal knows of them.
    pub(crate) fn others_are_known(&mut self) {
        for log in &mut self.logs {
            log.other = None;
        }
    }
}
