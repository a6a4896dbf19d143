//! The archive's log: what it holds, and since when.
//!
//! An archive is its log. An entry is an object `log/<number>.json` that says which batches came
//! and which went, and it takes its number only where nobody has: so entries are one behind the
//! other whoever writes at once, an entry is there whole or not at all, and who reads the log up
//! to a number sees one state. Objects that no entry names are nothing.

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

/// The shape of an entry.
const SCHEMA: &str = "windlass.archive-log";

/// Its version.
const VERSION: u32 = 1;

/// Each entry of such a number says all that there is: no reader needs more entries than this.
const WHOLE_EVERY: u64 = 64;

/// Entries that are read at once.
const AT_ONCE: usize = 16;

/// How often an entry is put of which it is not known whether it arrived.
const PUTS: u32 = 5;

/// What an object holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Object {
    /// Rows of its table.
    pub rows: u64,
    /// Its size.
    pub bytes: u64,
}

/// Captures that came into the archive together: an object for each table that has rows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Batch {
    /// What its objects are called.
    pub id: String,
    /// Those that it has, by the table's name.
    pub tables: BTreeMap<String, Object>,
    /// What its captures have by a pattern of their names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<String>,
    /// Whether readers pass it over until what it replaces goes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub held: bool,
}

impl Batch {
    /// The object that it has of a table.
    pub fn object(&self, table: &str) -> Option<Object> {
        self.tables.get(table).copied()
    }

    /// The name of that object.
    pub fn name(&self, table: &str) -> String {
        object_name(table, &self.id)
    }

    /// The size of its largest object.
    pub fn largest(&self) -> u64 {
        self.tables.values().map(|object| object.bytes).max().unwrap_or_default()
    }
}

/// What the object of a batch is called.
pub fn object_name(table: &str, id: &str) -> String {
    format!("{table}/{id}.parquet")
}

/// A name that no other batch has: they sort by the time at which they were made.
///
/// # Errors
/// Where the system has no random bytes.
pub fn new_id() -> Result<String, Failure> {
    let mut random = [0; 8];
    getrandom::fill(&mut random)
        .map_err(|error| Failure::new("cannot name a batch of captures", error))?;
    let now = Timestamp::now().strftime("%Y%m%dT%H%M%S");
    Ok(format!("{now}-{}", data_encoding::HEXLOWER.encode(&random)))
}

/// Why an entry was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Did {
    /// Captures came.
    Add,
    /// Captures that an older version of windlass had explained were replaced.
    Replace,
    /// Batches were joined.
    Compact,
    /// Old captures were dropped.
    Retain,
    /// Objects were deleted that no longer counted.
    Clean,
}

/// A change of the archive.
#[derive(Clone, Debug)]
pub struct Change {
    /// What it is.
    pub did: Did,
    /// Batches that come.
    pub add: Vec<Batch>,
    /// Those that go.
    pub remove: Vec<String>,
    /// Those that went before, whose objects are deleted.
    pub forget: Vec<String>,
}

impl Change {
    /// Nothing yet.
    pub const fn new(did: Did) -> Self {
        Self { did, add: Vec::new(), remove: Vec::new(), forget: Vec::new() }
    }
}

/// A batch that went, whose objects are still there for who reads them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gone {
    /// Its name.
    pub id: String,
    /// When it went.
    pub at: Timestamp,
}

/// All that there is, in an entry.
#[derive(Debug, Serialize, Deserialize)]
struct Whole {
    batches: Vec<Batch>,
    gone: Vec<Gone>,
}

/// An entry.
#[derive(Debug, Serialize, Deserialize)]
struct Entry {
    schema: String,
    number: u64,
    time: Timestamp,
    /// What tells it from one that another wrote.
    writer: String,
    did: Did,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    add: Vec<Batch>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    remove: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    forget: Vec<String>,
    /// Everything behind this entry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    whole: Option<Whole>,
}

/// What the log says up to an entry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    number: u64,
    batches: BTreeMap<String, Batch>,
    gone: BTreeMap<String, Timestamp>,
}

fn entry_name(number: u64) -> String {
    format!("log/{number:020}.json")
}

/// The number of an entry, by its name.
fn number_of(name: &str) -> Option<u64> {
    let digits = name.strip_suffix(".json")?;
    (digits.len() == 20).then(|| digits.parse().ok())?
}

fn unreadable(place: &Place, name: &str, wrong: impl std::fmt::Display) -> Failure {
    Failure::new(format!("cannot read {name} of the archive {place}"), wrong)
        .advise("Each entry of the log is needed; a copy of the archive needs all of them.")
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
            format!("its log has the shape {:?}", entry.schema),
        )
        .advise("A newer windlass-archive wrote it: install that one.")),
    }
}

impl State {
    /// What the log of a place says now; nothing where it has none.
    ///
    /// # Errors
    /// Where it cannot be read.
    pub async fn read(place: &Place) -> Result<Self, Failure> {
        let mut state = Self::default();
        state.refresh(place).await?;
        Ok(state)
    }

    /// Takes what came since. Whether anything did.
    ///
    /// # Errors
    /// Where it cannot be read.
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

    /// The number of the last entry: zero where there is none.
    pub const fn number(&self) -> u64 {
        self.number
    }

    /// Every batch, those that readers pass over among them.
    pub fn batches(&self) -> impl Iterator<Item = &Batch> {
        self.batches.values()
    }

    /// Those that readers see.
    pub fn seen(&self) -> impl Iterator<Item = &Batch> {
        self.batches().filter(|batch| !batch.held)
    }

    /// A batch.
    pub fn batch(&self, id: &str) -> Option<&Batch> {
        self.batches.get(id)
    }

    /// Batches whose objects are still there and no longer count, and since when.
    pub fn gone(&self) -> impl Iterator<Item = Gone> + '_ {
        self.gone.iter().map(|(id, at)| Gone { id: id.clone(), at: *at })
    }

    /// Whether a batch is, or was and is not deleted.
    pub fn knows(&self, id: &str) -> bool {
        self.batches.contains_key(id) || self.gone.contains_key(id)
    }

    /// Writes a change behind the entries that this state has. `false` where another was faster:
    /// then the state has what that one did, and the change has to be looked at again.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub async fn commit(&mut self, place: &Place, change: Change) -> Result<bool, Failure> {
        let number = self.number + 1;
        let time = Timestamp::now();
        let writer = new_id()?;
        let Change { did, add, remove, forget } = change;
        let mut next = self.clone();
        next.number = number;
        next.apply(add.clone(), remove.clone(), &forget, time);
        let whole = number.is_multiple_of(WHOLE_EVERY).then(|| Whole {
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

/// Puts an entry where there is none of its number; whether it is ours that is there.
async fn put(place: &Place, entry: &Entry) -> Result<bool, Failure> {
    let name = entry_name(entry.number);
    let failed = |wrong: String| {
        Failure::new(format!("cannot write {name} of the archive {place}"), wrong)
            .advise("What was told before is kept; run it again.")
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
        // An answer that was lost may have been that it is there: then the one that is there says
        // whose it is.
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

/// Who wrote an entry: no two entries of two archives have the same.
///
/// # Errors
/// Where it cannot be read.
pub async fn writer(place: &Place, number: u64) -> Result<Option<String>, Failure> {
    Ok(read_entry(place, number).await?.map(|entry| entry.writer))
}

/// The same in a folder, where an entry that has its name is on the disk.
fn put_file(path: &Path, bytes: &[u8]) -> io::Result<bool> {
    let folder = path.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder)?;
    let mut file = tempfile::Builder::new()
        // Whoever reads the archive's tables reads its log.
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
        Change { add: vec![batch(id)], ..Change::new(Did::Add) }
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
            // Beyond two entries that say everything.
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
