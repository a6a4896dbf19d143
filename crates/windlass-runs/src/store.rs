//! Store of runs: a folder.
//!
//! Each run is a file of its own, `2026-11/20261126T111731Z-k2f9abcd.1.json.gz`. The file gets its
//! name once complete, and a change gives it a new one: the number after the run's name is the
//! revision. So a kill at any moment leaves the old or the new version of a run. Writers need not
//! coordinate; changing an existing run takes a lock.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, SystemTime};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use windlass_base::{Failure, Timestamp};

use crate::index::{self, Index, Line, PART};
use crate::{Filter, Row, Run, RunId, Summary, private};

/// Suffix of a run's file.
const SUFFIX: &str = ".json.gz";

/// Maximum length of a run in bytes. The largest that windlass makes has some 50 MB.
const MAX_RUN: u64 = 1 << 28;

/// Age after which an incomplete file is abandoned.
const ABANDONED: Duration = Duration::from_secs(86_400);

/// Maximum number of files with one name beside the runs.
const SAME_NAME: u32 = 1_000;

/// Store of runs in a folder.
#[derive(Clone, Debug)]
pub struct Store {
    folder: PathBuf,
}

/// List of a store's runs.
#[derive(Clone, Debug)]
pub struct Listing<T = Summary> {
    /// Runs, oldest first.
    pub runs: Vec<T>,
    /// Files that are not readable as runs.
    pub unreadable: Vec<UnreadableRun>,
    /// Number of older runs that were not requested.
    pub older: usize,
}

/// File that is not readable as a run.
#[derive(Clone, Debug)]
pub struct UnreadableRun {
    /// Path of the file.
    pub file: PathBuf,
    /// Reason, for people.
    pub why: String,
}

/// File of a run, by its name.
#[derive(Clone, Debug, PartialEq, Eq)]
struct RunFile {
    /// Path below the store, which begins with the time of the run.
    file: String,
    id: RunId,
    /// Revision: the number of changes plus one.
    revision: u64,
}

impl Store {
    /// Returns the store in this folder, which need not exist yet.
    pub fn at(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    /// Returns the folder of the store.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Stores a run.
    ///
    /// # Errors
    /// Returns an error if the run cannot be written; then nothing of it is left.
    pub fn add(&self, run: &Run) -> Result<PathBuf, Failure> {
        let doing = || format!("cannot keep the run in {}", self.folder.display());
        let place = self.place(run, 1);
        let path = self.path(&place);
        self.write(run, &path).map_err(|error| Failure::new(doing(), error))?;
        // A failed index entry only makes the next list slower.
        let _ = self.index().add([index::line(&place.file, &Summary::of(run))]);
        Ok(path)
    }

    /// Stores a file that arguments of runs name, in a folder of the store, so that it lasts as
    /// long as the runs. An existing file with the same content is reused.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written.
    pub fn beside(&self, folder: &str, name: &str, end: &str, bytes: &[u8]) -> io::Result<PathBuf> {
        let folder = self.folder.join(folder);
        private::folder(DirBuilder::new().recursive(true)).create(&folder)?;
        for number in 1..=SAME_NAME {
            let number = if number == 1 { String::new() } else { format!("-{number}") };
            let path = folder.join(format!("{name}{number}{end}"));
            let mut part = tempfile::Builder::new().prefix(PART).tempfile_in(&folder)?;
            part.write_all(bytes)?;
            part.as_file().sync_all()?;
            match part.persist_noclobber(&path) {
                Ok(_) => return Ok(path),
                Err(error) if error.error.kind() != io::ErrorKind::AlreadyExists => {
                    return Err(error.error);
                }
                Err(_) if fs::read(&path)? == bytes => return Ok(path),
                Err(_) => {}
            }
        }
        Err(io::Error::other(format!("there are {SAME_NAME} files of this name")))
    }

    /// Returns the summaries of all runs.
    ///
    /// # Errors
    /// Returns an error if the folder exists and cannot be read. Unreadable runs are listed
    /// separately.
    pub fn list(&self) -> Result<Listing, Failure> {
        self.summaries(usize::MAX, None)
    }

    /// Returns the summaries of the latest runs, at most `count`.
    ///
    /// # Errors
    /// Returns the errors of [`Store::list`].
    pub fn newest(&self, count: usize) -> Result<Listing, Failure> {
        self.summaries(count, None)
    }

    /// Returns the summaries of the runs that a filter accepts.
    ///
    /// # Errors
    /// Returns the errors of [`Store::list`].
    pub fn matching(&self, filter: &Filter) -> Result<Listing, Failure> {
        self.summaries(usize::MAX, Some(filter))
    }

    /// Applies `look` to the rows of the latest runs, at most `count`, that a filter accepts. The
    /// calls come in no particular order, on two threads.
    ///
    /// # Errors
    /// Returns the errors of [`Store::list`].
    pub fn rows<T: Send>(
        &self,
        count: usize,
        filter: Option<&Filter>,
        look: impl Fn(&Row<'_>) -> T + Sync,
    ) -> Result<Listing<T>, Failure> {
        let wanted =
            |row: &Row<'_>| filter.is_none_or(|filter| filter.passes_row(row)).then(|| look(row));
        let of_line = |line: Line<'_>| {
            let row = line.row()?;
            Some((row.id, row.start_time, wanted(&row)))
        };
        self.each(count, of_line, |run| wanted(&Row::from(&run)))
    }

    fn summaries(&self, count: usize, filter: Option<&Filter>) -> Result<Listing, Failure> {
        let filter = filter.filter(|filter| !filter.is_empty());
        let of_line = |line: Line<'_>| {
            // The row is short. The rest is not parsed if the filter rejects the row.
            if let Some(filter) = filter {
                let row = line.row()?;
                if !filter.passes_row(&row) {
                    return Some((row.id, row.start_time, None));
                }
            }
            let run = line.run()?;
            Some((run.id, run.start_time, Some(run)))
        };
        self.each(count, of_line, |run| {
            filter.is_none_or(|filter| filter.passes(&run)).then_some(run)
        })
    }

    /// Applies a function to the index line of each run, or to the run itself if the index lacks
    /// it. The function for lines returns the name and the time of the run, and `None` for an
    /// unwanted one.
    fn each<T: Send>(
        &self,
        count: usize,
        of_line: impl Fn(Line<'_>) -> Option<(RunId, Timestamp, Option<T>)> + Sync,
        of_run: impl Fn(Summary) -> Option<T> + Sync,
    ) -> Result<Listing<T>, Failure> {
        let index = self.index();
        // With many runs, each of the two takes a tenth of a second.
        let (places, kept) = thread::scope(|scope| {
            let kept = scope.spawn(|| index.read());
            let places = self.places();
            (places, kept.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
        });
        let mut places = places.map_err(|error| self.unread(error))?;
        let older = places.len().saturating_sub(count);
        places.drain(..older);
        let is_current = kept.is_some();
        let lines = kept.unwrap_or_default();
        let seen = by_two(&places, |place| {
            for line in lines.of_file(&place.file) {
                // The file name contains the run's name. A line may be damaged, and another one
                // intact.
                if let Some((_, began, seen)) = of_line(line).filter(|(id, ..)| *id == place.id) {
                    return Ok((Cow::Borrowed(line.bytes()), began, seen));
                }
            }
            let run = Summary::of(&self.open(place)?);
            let line = Cow::Owned(index::line(&place.file, &run));
            Ok((line, run.start_time, of_run(run)))
        });
        let mut unreadable = Vec::new();
        let mut all = Vec::new();
        let mut runs = Vec::new();
        for (place, seen) in places.iter().zip(seen) {
            match seen {
                Ok((line, began, run)) => {
                    all.push(line);
                    runs.extend(run.map(|run| (began, place.id, run)));
                }
                Err(why) => unreadable.push(UnreadableRun { file: self.path(place), why }),
            }
        }
        let is_new = |line: &&Cow<'_, [u8]>| matches!(line, Cow::Owned(_));
        let is_whole = older == 0;
        let is_stale = Index::is_stale(lines.len(), all.len());
        // The index is a copy: if the write fails, the next list takes as long as this one.
        let _ = if is_whole && (!is_current && !all.is_empty() || is_stale) {
            index.replace(&all)
        } else if is_current {
            index.add(all.iter().filter(is_new))
        } else {
            Ok(())
        };
        runs.sort_by_key(|(began, id, _)| (*began, *id));
        let runs = runs.into_iter().map(|(_, _, run)| run).collect();
        Ok(Listing { runs, unreadable, older })
    }

    /// Reads complete runs, one after the other. Their files are located once.
    ///
    /// # Errors
    /// Returns an error if the folder cannot be read; and for each run, if it does not exist or
    /// cannot be read.
    pub fn read(
        &self,
        ids: impl IntoIterator<Item = RunId>,
    ) -> Result<impl Iterator<Item = Result<Run, Failure>>, Failure> {
        let places = self.by_id()?;
        Ok(ids
            .into_iter()
            .map(move |id| self.whole(places.get(&id).ok_or_else(|| self.missing("read", id))?)))
    }

    /// Reads a complete run; returns `None` if no run has this name.
    ///
    /// # Errors
    /// Returns an error if the folder or the run cannot be read.
    pub fn find(&self, id: RunId) -> Result<Option<Run>, Failure> {
        self.by_id()?.get(&id).map(|place| self.whole(place)).transpose()
    }

    fn whole(&self, place: &RunFile) -> Result<Run, Failure> {
        self.open(place).map_err(|why| {
            let path = self.path(place);
            Failure::new(format!("cannot read run {} in {}", place.id, path.display()), why)
        })
    }

    /// Changes runs.
    ///
    /// # Errors
    /// Returns an error if a run does not exist, or cannot be read or written. That run and those
    /// after it are then unchanged.
    pub fn change(
        &self,
        ids: impl IntoIterator<Item = RunId>,
        change: impl Fn(&mut Run),
    ) -> Result<Vec<Run>, Failure> {
        let _lock = self.lock().map_err(|error| self.unread(error))?;
        let places = self.by_id()?;
        let one = |id| {
            let old = places.get(&id).ok_or_else(|| self.missing("change", id))?;
            self.change_one(old, &change)
                .map_err(|wrong| Failure::new(self.doing("change", id), wrong))
        };
        ids.into_iter().map(one).collect()
    }

    fn change_one(&self, old: &RunFile, change: impl Fn(&mut Run)) -> Result<Run, String> {
        let no = |error: io::Error| error.to_string();
        let mut run = self.open(old)?;
        change(&mut run);
        run.id = old.id;
        let new = self.place(&run, old.revision.saturating_add(1));
        self.write(&run, &self.path(&new)).map_err(no)?;
        // If both files exist, the higher revision counts.
        fs::remove_file(self.path(old)).map_err(no)?;
        let _ = self.index().add([index::line(&new.file, &Summary::of(&run))]);
        Ok(run)
    }

    /// Removes runs.
    ///
    /// # Errors
    /// Returns an error if a run does not exist, or cannot be removed.
    pub fn remove(&self, ids: impl IntoIterator<Item = RunId>) -> Result<(), Failure> {
        let _lock = self.lock().map_err(|error| self.unread(error))?;
        let mut files: HashMap<RunId, Vec<RunFile>> = HashMap::new();
        for place in self.files().map_err(|error| self.unread(error))? {
            files.entry(place.id).or_default().push(place);
        }
        for id in ids {
            // A run that was being changed during a kill has two files.
            for place in files.get(&id).ok_or_else(|| self.missing("delete", id))? {
                fs::remove_file(self.path(place))
                    .map_err(|error| Failure::new(self.doing("delete", id), error))?;
            }
        }
        Ok(())
    }

    fn by_id(&self) -> Result<HashMap<RunId, RunFile>, Failure> {
        let places = self.places().map_err(|error| self.unread(error))?;
        Ok(places.into_iter().map(|place| (place.id, place)).collect())
    }

    fn doing(&self, what: &str, id: RunId) -> String {
        format!("cannot {what} run {id} in {}", self.folder.display())
    }

    fn missing(&self, what: &str, id: RunId) -> Failure {
        Failure::new(self.doing(what, id), "the run is not there")
    }

    fn unread(&self, error: io::Error) -> Failure {
        Failure::new(format!("cannot read the runs in {}", self.folder.display()), error)
    }

    fn index(&self) -> Index {
        Index::at(self.folder.join("index.jsonl"))
    }

    /// Takes the lock that a change of existing runs needs.
    fn lock(&self) -> io::Result<File> {
        let path = self.folder.join("lock");
        let file = private::file(OpenOptions::new().create(true).append(true)).open(path)?;
        file.lock()?;
        Ok(file)
    }

    /// Returns the file for a revision of a run.
    fn place(&self, run: &Run, revision: u64) -> RunFile {
        RunFile { file: file_of(run.start_time, run.id, revision), id: run.id, revision }
    }

    fn path(&self, place: &RunFile) -> PathBuf {
        self.folder.join(&place.file)
    }

    /// Returns the latest file of each run, in the order of the files.
    fn places(&self) -> io::Result<Vec<RunFile>> {
        let mut places = self.files()?;
        // The files of one run begin with its time and its name, so they are adjacent.
        places.sort_unstable_by(|one, other| one.file.cmp(&other.file));
        places.dedup_by(|other, kept| {
            let is_same = other.id == kept.id;
            if is_same && other.revision > kept.revision {
                std::mem::swap(other, kept);
            }
            is_same
        });
        Ok(places)
    }

    /// Returns the files of all runs, without opening them.
    fn files(&self) -> io::Result<Vec<RunFile>> {
        let mut places: Vec<RunFile> = Vec::new();
        let folders = match fs::read_dir(&self.folder) {
            Ok(folders) => folders,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(places),
            Err(error) => return Err(error),
        };
        for folder in folders {
            let folder = folder?;
            let month = folder.file_name();
            let Some(month) = month.to_str().filter(|name| is_month(name)) else { continue };
            // The folder may have been removed since, with the last of its runs.
            let Ok(files) = fs::read_dir(folder.path()) else { continue };
            for file in files {
                let name = file?.file_name();
                let Some((id, revision)) = name.to_str().and_then(named) else { continue };
                let file = format!("{month}/{}", name.display());
                places.push(RunFile { file, id, revision });
            }
        }
        Ok(places)
    }

    /// Reads the file of a run.
    fn open(&self, place: &RunFile) -> Result<Run, String> {
        let file = File::open(self.path(place)).map_err(|error| error.to_string())?;
        let mut json = Vec::new();
        let read = GzDecoder::new(file).take(MAX_RUN + 1).read_to_end(&mut json);
        read.map_err(|error| format!("it is damaged: {error}"))?;
        if json.len() as u64 > MAX_RUN {
            return Err(format!("it is larger than {MAX_RUN} bytes"));
        }
        let run = Run::read(&json)?;
        if run.id == place.id { Ok(run) } else { Err(format!("its content is run {}", run.id)) }
    }

    /// Writes a run to a file that gets its name once complete and on the disk.
    fn write(&self, run: &Run, path: &Path) -> io::Result<()> {
        let folder = path.parent().unwrap_or(&self.folder);
        // Other users may not read it: arguments and notes are private.
        private::folder(DirBuilder::new().recursive(true)).create(folder)?;
        sweep(&self.folder);
        let mut file = tempfile::Builder::new().prefix(PART).tempfile_in(&self.folder)?;
        let mut packed = GzEncoder::new(&mut file, Compression::default());
        packed.write_all(&run.json()?)?;
        packed.finish()?;
        file.as_file().sync_all()?;
        file.persist_noclobber(path).map(drop).map_err(|error| error.error)
    }
}

/// Applies `look` to each file, on two threads: with 100,000 runs this is most of a list's time.
fn by_two<T: Send>(places: &[RunFile], look: impl Fn(&RunFile) -> T + Sync) -> Vec<T> {
    if places.len() < MANY {
        return places.iter().map(look).collect();
    }
    let (first, second) = places.split_at(places.len() / 2);
    thread::scope(|scope| {
        let other = scope.spawn(|| second.iter().map(&look).collect::<Vec<T>>());
        let mut all: Vec<T> = first.iter().map(&look).collect();
        match other.join() {
            Ok(others) => all.extend(others),
            Err(panic) => std::panic::resume_unwind(panic),
        }
        all
    })
}

/// Minimum number of runs for which a second thread pays off.
const MANY: usize = 2_000;

/// Returns the path of a run's file below its store.
fn file_of(start: Timestamp, id: RunId, revision: u64) -> String {
    // `2026-11-26T11:17:31.000000000Z`, of which a name has the part to the second.
    let text = start.to_string();
    let month = text.get(..7).unwrap_or("0000-00");
    let second: String =
        text.get(..19).unwrap_or_default().chars().filter(|one| !"-:".contains(*one)).collect();
    format!("{month}/{second}Z-{id}.{revision}{SUFFIX}")
}

/// Parses the run and the revision from a file name.
fn named(file: &str) -> Option<(RunId, u64)> {
    let (_, rest) = file.strip_suffix(SUFFIX)?.rsplit_once('-')?;
    let (id, revision) = rest.split_once('.')?;
    Some((id.parse().ok()?, revision.parse().ok()?))
}

fn is_month(name: &str) -> bool {
    name.len() == 7 && name.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-')
}

/// Removes incomplete files of killed writers.
fn sweep(folder: &Path) {
    for file in fs::read_dir(folder).into_iter().flatten().flatten() {
        let is_part = file.file_name().to_str().is_some_and(|name| name.starts_with(PART));
        let age = || SystemTime::now().duration_since(file.metadata().ok()?.modified().ok()?).ok();
        if is_part && age().is_some_and(|age| age > ABANDONED) {
            let _ = fs::remove_file(file.path());
        }
    }
}
