//! Recovery of intact jobs from a damaged spool. It reads all records, past any damage, and changes
//! nothing.
//!
//! A journal is a sequence of changes, so a missing record may have been a newer state, or the end,
//! of any earlier job. If the head of a damaged record names its job, only that job is in doubt;
//! otherwise all earlier jobs are.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use std::sync::Arc;

use crc32fast::Hasher;

use super::Store;
use super::disk::{Disk, Folder, OpenFile};
use super::error::Error;
use super::journal::{COPY, NAMES};
use super::record::{
    self, DocumentRecord, HEAD, Head, Header, HeaderState, MARK, RecordKind, START,
};
use super::segments;
use super::space::UNIT;

/// Bytes of a file that are read at once.
const CHUNK: usize = 256 << 10;
/// Bytes that are read at once after an error of a larger read.
const PAGE: usize = 4_096;

/// Results of a job's recovery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The newest state and all documents are intact.
    Whole,
    /// All documents are intact, but a newer state may be lost: the job may have been printed, or
    /// canceled.
    Uncertain,
    /// Documents are missing or damaged, for this reason.
    Damaged(String),
    /// The record is damaged; only the job's number is known.
    Lost,
}

/// A job, or another record of the journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SalvagedRecord {
    /// Number of the job.
    pub id: u32,
    /// Record of the job; empty if it is lost.
    pub record: Vec<u8>,
    /// Result of the recovery.
    pub fate: Fate,
}

/// Contents of a damaged spool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    /// All known jobs and records, by number.
    pub found: Vec<SalvagedRecord>,
    /// Number of intact records.
    pub records: u64,
    /// Number of damaged records whose job is known.
    pub damaged: u64,
    /// Number of missing records, as gaps in the sequence numbers show.
    pub missing: u64,
    /// True if the end of the journal is missing, with an unknown number of records.
    pub is_cut: bool,
}

impl Findings {
    /// Returns whether nothing is missing.
    pub fn is_whole(&self) -> bool {
        let is_whole = |found: &SalvagedRecord| found.fate == Fate::Whole;
        self.damaged + self.missing == 0 && !self.is_cut && self.found.iter().all(is_whole)
    }
}

/// Examines a folder, and copies intact jobs into another spool, if one is given. `held_back`
/// converts the record of a job that may be over already.
///
/// # Errors
/// The folder has no readable header, a server uses the folder, or the other spool rejects the
/// jobs.
pub fn salvage(
    folder: &Path,
    to: Option<&Store>,
    held_back: impl Fn(&[u8]) -> Vec<u8>,
) -> Result<Findings, Error> {
    bring(&Folder::look(folder)?, to, held_back)
}

pub(super) fn bring(
    disk: &dyn Disk,
    to: Option<&Store>,
    held_back: impl Fn(&[u8]) -> Vec<u8>,
) -> Result<Findings, Error> {
    let (header, mut replayed) = replayed(disk)?;
    let mut documents = Documents { disk, size: header.segment, files: HashMap::new() };
    let mut found = Vec::with_capacity(replayed.jobs.len());
    let mut last = None;
    for (id, job) in std::mem::take(&mut replayed.jobs) {
        let brought = documents.bring(&job.parts, to)?;
        let fate = match (brought, job.is_newest) {
            // A guess from the older journal without its documents is dropped.
            (Err(_), _) if job.is_guess => continue,
            (Err(why), _) => Fate::Damaged(why),
            (Ok(kept), is_newest) => {
                if let Some(to) = to {
                    let held = if is_newest { job.record.clone() } else { held_back(&job.record) };
                    last = Some(to.put(id, &held, &kept)?);
                }
                if is_newest { Fate::Whole } else { Fate::Uncertain }
            }
        };
        found.push(SalvagedRecord { id, record: job.record, fate });
    }
    if let (Some(to), Some(last)) = (to, last) {
        to.wait(last)?;
    }
    let known: BTreeSet<u32> = found.iter().map(|found| found.id).collect();
    let lost = replayed.lost.iter().filter(|id| !known.contains(id));
    found.extend(lost.map(|id| SalvagedRecord { id: *id, record: Vec::new(), fate: Fate::Lost }));
    found.sort_unstable_by_key(|found| found.id);
    Ok(Findings { found, ..replayed.findings })
}

/// A job as the journal's records describe it.
#[derive(Debug)]
struct ReplayedJob {
    record: Vec<u8>,
    parts: Vec<DocumentRecord>,
    is_newest: bool,
    /// True if the job comes from a journal that was replaced.
    is_guess: bool,
}

#[derive(Debug, Default)]
struct JournalReplay {
    jobs: BTreeMap<u32, ReplayedJob>,
    /// Jobs with a damaged newest record.
    lost: BTreeSet<u32>,
    /// Jobs that were removed.
    removed: BTreeSet<u32>,
    /// True if records are missing that were copied when the journal was begun.
    is_hollow: bool,
    findings: Findings,
}

/// Reads the valid content of both journals.
fn replayed(disk: &dyn Disk) -> Result<(Header, JournalReplay), Error> {
    let names = disk.names().map_err(Error::io("list", disk.path("")))?;
    let read = |name: &str| content(disk, &names, name);
    let files = [read(NAMES[0])?, read(NAMES[1])?];
    let start = |bytes: &[u8]| {
        let mut header = [0; record::HEADER];
        let length = header.len().min(bytes.len());
        header[..length].copy_from_slice(&bytes[..length]);
        Header::decode(&header)
    };
    let starts = [start(&files[0]), start(&files[1])];
    let copy = match start(&read(COPY)?) {
        HeaderState::Header(copy) => Some(copy),
        _ => None,
    };
    let mut headers = starts.iter().enumerate().filter_map(|(which, start)| match start {
        HeaderState::Header(header) => Some((which, *header)),
        _ => None,
    });
    let newest = headers.clone().max_by_key(|(_, header)| header.generation);
    let is_newer =
        |copy: &Header| newest.is_none_or(|(_, header)| header.generation < copy.generation);
    let (which, header) = match (copy.filter(is_newer), newest) {
        // The file has lost its header: it is the file with more records of that header.
        (Some(copy), _) => {
            let count = |bytes: &[u8]| survivors(bytes, copy.salt).len();
            (usize::from(count(&files[1]) > count(&files[0])), copy)
        }
        (None, Some(newest)) => newest,
        (None, None) => return Err(unreadable(disk, &starts)),
    };
    let noted = copy.filter(|copy| copy.salt == header.salt).map(|copy| copy.safe);
    let mut replayed = replay(&files[which], &header, noted);
    let before = headers.rfind(|(other, _)| *other != which);
    if let Some((other, before)) = before
        && (replayed.is_hollow || !replayed.lost.is_empty())
    {
        let older = replay(&files[other], &before, None);
        for (id, job) in older.jobs {
            let may_be = replayed.is_hollow || replayed.lost.contains(&id);
            if may_be && !replayed.removed.contains(&id) {
                let guess = ReplayedJob { is_newest: false, is_guess: true, ..job };
                replayed.jobs.entry(id).or_insert(guess);
            }
        }
    }
    Ok((header, replayed))
}

/// Returns the error of a folder without a readable header.
fn unreadable(disk: &dyn Disk, starts: &[HeaderState; 2]) -> Error {
    let version = starts.iter().enumerate().find_map(|(which, start)| match start {
        HeaderState::Version(found) => Some((which, *found)),
        _ => None,
    });
    match version {
        Some((which, found)) => {
            Error::Version { file: disk.path(NAMES[which]), found, known: record::VERSION }
        }
        None => Error::Damaged {
            file: disk.path(NAMES[0]),
            offset: 0,
            what: "neither journal nor the copy has a header: this is no spool, or nothing can be \
                   recovered"
                .to_owned(),
        },
    }
}

/// Returns all bytes of a file, with zeros for unreadable parts.
fn content(disk: &dyn Disk, names: &[String], name: &str) -> Result<Vec<u8>, Error> {
    if !names.iter().any(|there| there == name) {
        return Ok(Vec::new());
    }
    let io = |during| Error::io(during, disk.path(name));
    let file = disk.open(name).map_err(io("open"))?;
    let size = file.size().map_err(io("read the size of"))?;
    let mut bytes = vec![0; usize::try_from(size).unwrap_or(usize::MAX)];
    for (at, chunk) in bytes.chunks_mut(CHUNK).enumerate() {
        let start = (at * CHUNK) as u64;
        if file.read_at(chunk, start).is_ok() {
            continue;
        }
        for (at, page) in chunk.chunks_mut(PAGE).enumerate() {
            if file.read_at(page, start + (at * PAGE) as u64).is_err() {
                page.fill(0);
            }
        }
    }
    Ok(bytes)
}

/// A record with an intact head.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Survivor {
    /// Position in the file, in bytes.
    pub offset: usize,
    /// Sequence number.
    pub sequence: u64,
    /// Number of the job.
    pub id: u32,
    /// Size of the record in bytes.
    pub size: usize,
    /// True if the whole record is intact.
    pub is_whole: bool,
    kind: RecordKind,
}

/// Returns all records of a journal file with intact heads, in order.
#[doc(hidden)]
pub fn survivors(bytes: &[u8], salt: u64) -> Vec<Survivor> {
    let mut found: Vec<Survivor> = Vec::new();
    let mut at = START as usize;
    while let Some(rest) = bytes.get(at..).filter(|rest| rest.len() >= HEAD) {
        let head = Head::decode(rest).filter(|_| record::has_sure_head(rest, salt));
        let after = found.last().map_or(0, |last| last.sequence + 1);
        let Some(head) = head.filter(|head| head.sequence >= after) else {
            at += 8;
            continue;
        };
        let is_whole = rest.get(..head.size).is_some_and(|record| record::is_sealed(record, salt));
        let Head { kind, id, sequence, size, .. } = head;
        found.push(Survivor { offset: at, sequence, id, size, is_whole, kind });
        // The body of a damaged record is not trusted, so the search goes on within it.
        at += if is_whole { size } else { HEAD };
    }
    found
}

/// Replays a journal's records. `noted` is the minimum length of the journal.
fn replay(bytes: &[u8], header: &Header, noted: Option<u64>) -> JournalReplay {
    let mut all = JournalReplay::default();
    let (mut next, mut end, mut is_closed) = (0, START as usize, false);
    for survivor in survivors(bytes, header.salt) {
        let Survivor { offset, sequence, id, size, is_whole, kind } = survivor;
        if sequence > next {
            all.findings.missing += sequence - next;
            all.doubt();
            all.is_hollow |= (end as u64) < header.copied;
        }
        let body = bytes.get(offset + HEAD..offset + size).filter(|_| is_whole);
        all.findings.records += u64::from(is_whole);
        all.findings.damaged += u64::from(!is_whole);
        match kind {
            RecordKind::Put => all.put(id, body),
            RecordKind::Remove => {
                all.jobs.remove(&id);
                all.lost.remove(&id);
                all.removed.insert(id);
            }
            RecordKind::Closed => {}
        }
        is_closed = kind == RecordKind::Closed;
        (next, end) = (sequence + 1, offset + size);
    }
    let mark = record::mark(header.salt, next);
    let is_marked = is_closed || bytes.get(end..end + MARK) == Some(&mark);
    let is_short = noted.is_some_and(|noted| noted > end as u64);
    let is_known = noted.is_some_and(|noted| noted == end as u64);
    if is_short || !(is_marked || is_known) {
        all.findings.is_cut = true;
        all.is_hollow |= (end as u64) < header.copied;
        all.doubt();
    }
    all
}

impl JournalReplay {
    /// Marks all jobs as uncertain: a newer state of any may be lost.
    fn doubt(&mut self) {
        self.jobs.values_mut().for_each(|job| job.is_newest = false);
    }

    fn put(&mut self, id: u32, body: Option<&[u8]>) {
        self.removed.remove(&id);
        if let Some((parts, record)) = body.and_then(record::decode_put) {
            let record = record.to_owned();
            self.jobs.insert(id, ReplayedJob { record, parts, is_newest: true, is_guess: false });
            self.lost.remove(&id);
            return;
        }
        self.lost.insert(id);
        if let Some(job) = self.jobs.get_mut(&id) {
            job.is_newest = false;
        }
    }
}

/// The segments with the documents.
struct Documents<'a> {
    disk: &'a dyn Disk,
    /// Size of a segment in units.
    size: u32,
    files: HashMap<u32, Option<Arc<dyn OpenFile>>>,
}

impl Documents<'_> {
    /// Reads all documents of a job, and copies them into another spool. The inner error is the
    /// damage.
    fn bring(
        &mut self,
        parts: &[DocumentRecord],
        to: Option<&Store>,
    ) -> Result<Result<Vec<super::Document>, String>, Error> {
        let mut kept = Vec::new();
        for (at, one) in parts.iter().enumerate() {
            let mut draft = to.map(Store::draft);
            if let Some(draft) = &mut draft {
                draft.expect(one.size);
            }
            let read =
                self.read(one, |bytes| draft.as_mut().map_or(Ok(()), |draft| draft.append(bytes)))?;
            if let Err(why) = read {
                let which = match parts.len() {
                    1 => "its document".to_owned(),
                    all => format!("document {} of {all}", at + 1),
                };
                return Ok(Err(format!("{which}: {why}")));
            }
            if let Some(draft) = draft {
                kept.push(draft.finish()?);
            }
        }
        Ok(Ok(kept))
    }

    /// Reads a document. The inner error is the damage.
    fn read(
        &mut self,
        parts: &DocumentRecord,
        mut each: impl FnMut(&[u8]) -> Result<(), Error>,
    ) -> Result<Result<(), String>, Error> {
        let (mut left, mut sum) = (parts.size, Hasher::new());
        let mut buffer = vec![0; CHUNK];
        for extent in &parts.extents {
            let number = extent.start / self.size;
            let (start, name) =
                (u64::from(extent.start % self.size) * UNIT, segments::name(number));
            let Some(file) = self.file(number, &name) else {
                return Ok(Err(format!("{name} is missing, or cannot be opened")));
            };
            let mut at = 0;
            let whole = extent.bytes().min(left);
            while at < whole {
                let want = usize::try_from(whole - at).unwrap_or(CHUNK).min(CHUNK);
                let got = match file.read_at(&mut buffer[..want], start + at) {
                    Ok(0) => return Ok(Err(format!("{name} ends before byte {}", start + at + 1))),
                    Ok(got) => got,
                    Err(error) => {
                        return Ok(Err(format!(
                            "{name} cannot be read at byte {}: {error}",
                            start + at
                        )));
                    }
                };
                sum.update(&buffer[..got]);
                each(&buffer[..got])?;
                at += got as u64;
            }
            left -= whole;
        }
        let is_same = left == 0 && sum.finalize() == parts.sum;
        Ok(if is_same { Ok(()) } else { Err("the checksum does not match".to_owned()) })
    }

    fn file(&mut self, number: u32, name: &str) -> Option<&dyn OpenFile> {
        let disk = self.disk;
        self.files.entry(number).or_insert_with(|| disk.open(name).ok()).as_deref()
    }
}
