//! Log of an archive: its batches over time.
//!
//! The log defines the archive. An entry is an object `log/<number>.json` that names the added and
//! removed batches. A writer creates an entry only if its number is unused. So concurrent writers
//! form a single sequence, an entry exists completely or not at all, and reading up to a number
//! gives one consistent state. Objects that no entry names do not count.

use std::collections::BTreeMap;
use std::fs::Permissions;
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use futures::{StreamExt as _, TryStreamExt as _};
use jiff::Timestamp;
use object_store::{Error, ObjectStore as _, ObjectStoreExt as _, PutMode, PutOptions};
use serde::{Deserialize, Serialize};
use windlass_base::Failure;

use super::place::{Place, plain};

/// Schema of an entry.
const SCHEMA: &str = "windlass.archive-log";

/// Version of the schema.
const VERSION: u32 = 1;

/// Interval of entries with the full state: a reader needs no more entries than this.
const WHOLE_EVERY: u64 = 64;

/// Entries that are read concurrently.
const AT_ONCE: usize = 16;

/// Maximum attempts to write an entry whose arrival is uncertain.
const PUTS: u32 = 5;

/// Content of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Object {
    /// Number of rows.
    pub rows: u64,
    /// Size in bytes.
    pub bytes: u64,
}

/// Captures that were committed together, with an object for each table that has rows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Batch {
    /// Name of the batch, which is part of its objects' names.
    pub id: String,
    /// Objects by the table's name.
    pub tables: BTreeMap<String, Object>,
    /// Fields that the captures have by a path pattern.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<String>,
    /// True if readers skip the batch until the rows that it replaces are removed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub held: bool,
}

impl Batch {
    /// Returns the object of a table.
    pub fn object(&self, table: &str) -> Option<Object> {
        self.tables.get(table).copied()
    }

    /// Returns the name of a table's object.
    pub fn name(&self, table: &str) -> String {
        object_name(table, &self.id)
    }

    /// Returns the size of the largest object.
    pub fn largest(&self) -> u64 {
        self.tables.values().map(|object| object.bytes).max().unwrap_or_default()
    }
}

/// Returns the name of a batch's object.
pub fn object_name(table: &str, id: &str) -> String {
    format!("{table}/{id}.parquet")
}

/// Returns a unique name for a batch. Names sort by time.
///
/// # Errors
/// Returns an error if the system provides no random bytes.
pub fn new_id() -> Result<String, Failure> {
    let mut random = [0; 8];
    getrandom::fill(&mut random)
        .map_err(|error| Failure::new("cannot name a batch of captures", error))?;
    let now = Timestamp::now().strftime("%Y%m%dT%H%M%S");
    Ok(format!("{now}-{}", data_encoding::HEXLOWER.encode(&random)))
}

/// Reason of a log entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChangeReason {
    /// Captures were added.
    Add,
    /// Captures of an older version of windlass were replaced.
    Replace,
    /// Batches were joined.
    Compact,
    /// Old captures were dropped.
    Retain,
    /// Unused objects were deleted.
    Clean,
}

/// Change of the archive.
#[derive(Clone, Debug)]
pub struct Change {
    /// Reason of the change.
    pub did: ChangeReason,
    /// Added batches.
    pub add: Vec<Batch>,
    /// Removed batches.
    pub remove: Vec<String>,
    /// Batches that were removed before, and whose objects are deleted.
    pub forget: Vec<String>,
}

impl Change {
    /// Starts an empty change.
    pub const fn new(did: ChangeReason) -> Self {
        Self { did, add: Vec::new(), remove: Vec::new(), forget: Vec::new() }
    }
}

/// Removed batch whose objects still exist for its readers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemovedBatch {
    /// Name of the batch.
    pub id: String,
    /// Time of the removal.
    pub at: Timestamp,
}

/// Full state in a log entry.
#[derive(Debug, Serialize, Deserialize)]
struct Snapshot {
    batches: Vec<Batch>,
    gone: Vec<RemovedBatch>,
}

/// Log entry.
#[derive(Debug, Serialize, Deserialize)]
struct Entry {
    schema: String,
    number: u64,
    time: Timestamp,
    /// Unique identifier of the writer's attempt.
    writer: String,
    did: ChangeReason,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    add: Vec<Batch>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    remove: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    forget: Vec<String>,
    /// Full state after this entry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    whole: Option<Snapshot>,
}

/// State of the archive after a log entry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    number: u64,
    batches: BTreeMap<String, Batch>,
    gone: BTreeMap<String, Timestamp>,
}

fn entry_name(number: u64) -> String {
    format!("log/{number:020}.json")
}

/// Parses the number of an entry from its name.
fn number_of(name: &str) -> Option<u64> {
    let digits = name.strip_suffix(".json")?;
    (digits.len() == 20).then(|| digits.parse().ok())?
}

fn unreadable(place: &Place, name: &str, wrong: impl std::fmt::Display) -> Failure {
    Failure::new(format!("cannot read {name} of the archive {place}"), wrong)
        .advise("Every entry of the log is needed: copy the archive whole.")
}

async fn read_entry(place: &Place, number: u64) -> Result<Option<Entry>, Failure> {
    let name = entry_name(number);
    let key = place.key(&name);
    let read = place.patiently(async || place.store().get(&key).await?.bytes().await).await;
    let bytes = match read {
        Ok(bytes) => bytes,
        Err(Error::NotFound { .. }) => return Ok(None),
        Err(error) => return Err(unreadable(place, &name, plain(&error))),
    };
    let entry: Entry =
        serde_json::from_slice(&bytes).map_err(|error| unreadable(place, &name, error))?;
    let version = entry.schema.strip_prefix(SCHEMA).and_then(|rest| rest.strip_prefix('/'));
    match version.and_then(|version| version.parse::<u32>().ok()) {
        Some(1..=VERSION) if entry.number == number => Ok(Some(entry)),
        Some(1..=VERSION) => Err(unreadable(place, &name, format!("it is entry {}", entry.number))),
        _ => Err(Failure::new(
            format!("cannot read the archive {place}"),
            format!("its log has the schema {:?}", entry.schema),
        )
        .advise("A newer windlass-archive wrote it: install that version.")),
    }
}

impl State {
    /// Reads the current state of an archive; empty if there is no log.
    ///
    /// # Errors
    /// Returns an error if the log cannot be read.
    pub async fn read(place: &Place) -> Result<Self, Failure> {
        let mut state = Self::default();
        state.refresh(place).await?;
        Ok(state)
    }

    /// Reads entries since the last call. Returns whether there were any.
    ///
    /// # Errors
    /// Returns an error if the log cannot be read.
    pub async fn refresh(&mut self, place: &Place) -> Result<bool, Failure> {
        let folder = place.key("log");
        let offset = place.key(&entry_name(self.number));
        let list = async || {
            place.store().list_with_offset(Some(&folder), &offset).try_collect::<Vec<_>>().await
        };
        let listed = place.patiently(list).await.map_err(|error| {
            Failure::new(format!("cannot list the archive {place}"), plain(&error))
        })?;
        let numbers = listed.iter().filter_map(|object| object.location.filename());
        let Some(last) = numbers.filter_map(number_of).max().filter(|last| *last > self.number)
        else {
            return Ok(false);
        };
        let whole = last - last % WHOLE_EVERY;
        let first = if whole > self.number { whole } else { self.number + 1 };
        let entries: Vec<Entry> = futures::stream::iter(first.max(1)..=last)
            .map(|number| async move {
                let entry = read_entry(place, number).await?;
                entry.ok_or_else(|| unreadable(place, &entry_name(number), "it is missing"))
            })
            .buffered(AT_ONCE)
            .try_collect()
            .await?;
        for entry in entries {
            self.take(entry);
        }
        Ok(true)
    }

    fn take(&mut self, entry: Entry) {
        self.number = entry.number;
        if let Some(whole) = entry.whole {
            self.batches =
                whole.batches.into_iter().map(|batch| (batch.id.clone(), batch)).collect();
            self.gone = whole.gone.into_iter().map(|gone| (gone.id, gone.at)).collect();
            return;
        }
        self.apply(entry.add, entry.remove, &entry.forget, entry.time);
    }

    fn apply(&mut self, add: Vec<Batch>, remove: Vec<String>, forget: &[String], at: Timestamp) {
        for id in remove {
            self.batches.remove(&id);
            self.gone.insert(id, at);
        }
        for batch in add {
            self.gone.remove(&batch.id);
            self.batches.insert(batch.id.clone(), batch);
        }
        for id in forget {
            self.gone.remove(id);
        }
    }

    /// Returns the number of the last entry; 0 without entries.
    pub const fn number(&self) -> u64 {
        self.number
    }

    /// Returns all batches, including hidden ones.
    pub fn batches(&self) -> impl Iterator<Item = &Batch> {
        self.batches.values()
    }

    /// Returns the batches that readers see.
    pub fn seen(&self) -> impl Iterator<Item = &Batch> {
        self.batches().filter(|batch| !batch.held)
    }

    /// Returns a batch.
    pub fn batch(&self, id: &str) -> Option<&Batch> {
        self.batches.get(id)
    }

    /// Returns removed batches whose objects still exist, with their times of removal.
    pub fn gone(&self) -> impl Iterator<Item = RemovedBatch> + '_ {
        self.gone.iter().map(|(id, at)| RemovedBatch { id: id.clone(), at: *at })
    }

    /// Returns whether a batch exists, or is removed and not deleted yet.
    pub fn knows(&self, id: &str) -> bool {
        self.batches.contains_key(id) || self.gone.contains_key(id)
    }

    /// Commits a change after the entries of this state. Returns `false` if another writer was
    /// faster: then the state includes that writer's change, and the caller must check its own
    /// change again.
    ///
    /// # Errors
    /// Returns an error if the log cannot be written.
    pub async fn commit(&mut self, place: &Place, change: Change) -> Result<bool, Failure> {
        let number = self.number + 1;
        let time = Timestamp::now();
        let writer = new_id()?;
        let Change { did, add, remove, forget } = change;
        let mut next = self.clone();
        next.number = number;
        next.apply(add.clone(), remove.clone(), &forget, time);
        let whole = number.is_multiple_of(WHOLE_EVERY).then(|| Snapshot {
            batches: next.batches().cloned().collect(),
            gone: next.gone().collect(),
        });
        let schema = format!("{SCHEMA}/{VERSION}");
        let entry = Entry { schema, number, time, writer, did, add, remove, forget, whole };
        if put(place, &entry).await? {
            *self = next;
            return Ok(true);
        }
        self.refresh(place).await?;
        Ok(false)
    }
}

/// Writes an entry if its number is unused. Returns whether the existing entry is this one.
async fn put(place: &Place, entry: &Entry) -> Result<bool, Failure> {
    let name = entry_name(entry.number);
    let failed = |wrong: String| {
        Failure::new(format!("cannot write {name} of the archive {place}"), wrong)
            .advise("The captures reported before are kept; run the command again.")
    };
    let bytes = serde_json::to_vec(entry).map_err(|error| failed(error.to_string()))?;
    if let Some(folder) = place.folder() {
        return put_file(&folder.join(&name), &bytes).map_err(|error| failed(error.to_string()));
    }
    let key = place.key(&name);
    let mut wait = std::time::Duration::from_millis(200);
    let mut tries = 0;
    loop {
        tries += 1;
        let options = PutOptions { mode: PutMode::Create, ..PutOptions::default() };
        let wrong = match place.store().put_opts(&key, bytes.clone().into(), options).await {
            Ok(_) => return Ok(true),
            Err(error @ Error::NotImplemented { .. }) => return Err(failed(plain(&error))),
            Err(error) => error,
        };
        // A lost answer may have been a success: the existing entry tells who wrote it.
        if let Ok(Some(there)) = read_entry(place, entry.number).await {
            return Ok(there.writer == entry.writer);
        }
        if tries == PUTS {
            return Err(failed(plain(&wrong)));
        }
        tokio::time::sleep(wait).await;
        wait *= 2;
    }
}

/// Returns the writer of an entry, which is unique among the entries of all archives.
///
/// # Errors
/// Returns an error if the log cannot be read.
pub async fn writer(place: &Place, number: u64) -> Result<Option<String>, Failure> {
    Ok(read_entry(place, number).await?.map(|entry| entry.writer))
}

/// Writes an entry to a folder. An entry that has its name is on the disk.
fn put_file(path: &Path, bytes: &[u8]) -> io::Result<bool> {
    let folder = path.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder)?;
    let mut file = tempfile::Builder::new()
        // Readers of the archive's tables need its log.
        .permissions(Permissions::from_mode(0o666))
        .tempfile_in(folder)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    match file.persist_noclobber(path) {
        Ok(_) => {}
        Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => return Ok(false),
        Err(error) => return Err(error.error),
    }
    std::fs::File::open(folder)?.sync_all()?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch(id: &str) -> Batch {
        let tables = [("captures".to_owned(), Object { rows: 1, bytes: 2 })].into();
        Batch { id: id.to_owned(), tables, fields: Vec::new(), held: false }
    }

    fn adds(id: &str) -> Change {
        Change { add: vec![batch(id)], ..Change::new(ChangeReason::Add) }
    }

    fn run<T>(work: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(work)
    }

    fn place() -> (tempfile::TempDir, Place) {
        let folder = tempfile::tempdir().unwrap();
        let place = Place::existing(folder.path().to_str().unwrap(), "cannot open").unwrap();
        (folder, place)
    }

    #[test]
    fn what_was_committed_is_read() {
        let (_folder, place) = place();
        run(async {
            let mut state = State::read(&place).await.unwrap();
            assert_eq!(state, State::default());
            // The log passes two entries with the full state.
            for number in 0..150 {
                let mut change = adds(&format!("b{number:03}"));
                if number >= 100 {
                    change.remove.push(format!("b{:03}", number - 100));
                }
                if number >= 120 {
                    change.forget.push(format!("b{:03}", number - 120));
                }
                assert!(state.commit(&place, change).await.unwrap());
            }
            let read = State::read(&place).await.unwrap();
            assert_eq!(read, state);
            let counts = (read.number(), read.batches().count(), read.gone().count());
            assert_eq!(counts, (150, 100, 20));
            assert!(read.knows("b040") && !read.knows("b000"));
            assert!(!state.refresh(&place).await.unwrap());
        });
    }

    #[test]
    fn of_two_at_once_one_looks_again() {
        let (_folder, place) = place();
        run(async {
            let mut one = State::read(&place).await.unwrap();
            let mut other = one.clone();
            assert!(one.commit(&place, adds("one")).await.unwrap());
            assert!(!other.commit(&place, adds("other")).await.unwrap());
            assert!(other.batch("one").is_some() && other.batch("other").is_none());
            assert!(other.commit(&place, adds("other")).await.unwrap());
            assert!(one.refresh(&place).await.unwrap());
            assert_eq!(one, other);
        });
    }

    #[test]
    fn a_log_that_misses_an_entry_or_is_of_another_shape_is_not_read() {
        let (folder, place) = place();
        run(async {
            let mut state = State::read(&place).await.unwrap();
            for id in ["a", "b", "c"] {
                assert!(state.commit(&place, adds(id)).await.unwrap());
            }
            let path = |number| folder.path().join(entry_name(number));
            let third = std::fs::read_to_string(path(3)).unwrap();
            std::fs::write(path(3), third.replace("archive-log/1", "archive-log/2")).unwrap();
            let wrong = State::read(&place).await.unwrap_err();
            assert!(wrong.to_string().contains("archive-log/2"), "{wrong}");
            std::fs::write(path(3), "{").unwrap();
            assert!(State::read(&place).await.is_err());
            std::fs::write(path(3), third).unwrap();
            std::fs::remove_file(path(2)).unwrap();
            let wrong = State::read(&place).await.unwrap_err();
            assert!(wrong.to_string().contains("missing"), "{wrong}");
        });
    }
}
