//! Brings out of a damaged spool what is whole. It reads record by record past any
//! damage, and changes nothing.
//!
//! A journal is a row of changes, so a record that is not there may have been a newer
//! state of any job before it, or its end. Where a damaged record's head tells whose it
//! was, only that job is in doubt; where it does not, all before it are.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use std::sync::Arc;

use crc32fast::Hasher;

use super::Store;
use super::disk::{Disk, Folder, Open};
use super::error::Error;
use super::journal::{COPY, NAMES};
use super::record::{self, Found as Start, HEAD, Head, Header, Kind, MARK, Parts, START};
use super::segments;
use super::space::UNIT;

/// What is read of a file at once.
const CHUNK: usize = 256 << 10;
/// What is read at once where the disk cannot read more.
const PAGE: usize = 4_096;

/// What became of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Its newest state and all its documents are there.
    Whole,
    /// All its documents are there, but a newer state of it may be lost: it may have
    /// been printed, or canceled.
    Uncertain,
    /// Its documents are not there, or not what came.
    Damaged(String),
    /// Its record is damaged; only its number is known.
    Lost,
}

/// A job, or another record of the journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Its number.
    pub id: u32,
    /// What was logged with it; empty where that is lost.
    pub record: Vec<u8>,
    /// What became of it.
    pub fate: Fate,
}

/// What a damaged spool holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    /// Everything of which anything is known, by number.
    pub found: Vec<Found>,
    /// Records that are whole.
    pub records: u64,
    /// Records that are damaged, and tell whose they were.
    pub damaged: u64,
    /// Records of which nothing is there, as far as their numbers tell.
    pub missing: u64,
    /// The end of the journal is not there, with an unknown number of records.
    pub is_cut: bool,
}

impl Findings {
    /// Whether nothing is missing.
    pub fn is_whole(&self) -> bool {
        let is_whole = |found: &Found| found.fate == Fate::Whole;
        self.damaged + self.missing == 0 && !self.is_cut && self.found.iter().all(is_whole)
    }
}

/// Looks at all that a folder keeps, and puts what is whole into another spool, if there
/// is one. `held_back` gives the record of what may be over already.
///
/// # Errors
/// Where nothing in the folder tells how it is to be read, a server has it, or the other
/// spool does not take what there is.
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
            // A guess from before, of what has gone since, is none.
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
        found.push(Found { id, record: job.record, fate });
    }
    if let (Some(to), Some(last)) = (to, last) {
        to.wait(last)?;
    }
    let known: BTreeSet<u32> = found.iter().map(|found| found.id).collect();
    let lost = replayed.lost.iter().filter(|id| !known.contains(id));
    found.extend(lost.map(|id| Found { id: *id, record: Vec::new(), fate: Fate::Lost }));
    found.sort_unstable_by_key(|found| found.id);
    Ok(Findings { found, ..replayed.findings })
}

/// A job as a journal's records tell it.
#[derive(Debug)]
struct Job {
    record: Vec<u8>,
    parts: Vec<Parts>,
    is_newest: bool,
    /// It is of a journal that another took the place of.
    is_guess: bool,
}

#[derive(Debug, Default)]
struct Replayed {
    jobs: BTreeMap<u32, Job>,
    /// Jobs whose newest record is damaged.
    lost: BTreeSet<u32>,
    /// Jobs that were removed.
    removed: BTreeSet<u32>,
    /// Records are missing that were copied when the journal was begun.
    is_hollow: bool,
    findings: Findings,
}

/// Reads what counts of both journals.
fn replayed(disk: &dyn Disk) -> Result<(Header, Replayed), Error> {
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
        Start::Header(copy) => Some(copy),
        _ => None,
    };
    let mut headers = starts.iter().enumerate().filter_map(|(which, start)| match start {
        Start::Header(header) => Some((which, *header)),
        _ => None,
    });
    let newest = headers.clone().max_by_key(|(_, header)| header.generation);
    let is_newer =
        |copy: &Header| newest.is_none_or(|(_, header)| header.generation < copy.generation);
    let (which, header) = match (copy.filter(is_newer), newest) {
        // Its own is gone: it is the file that has records of it.
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
                let guess = Job { is_newest: false, is_guess: true, ..job };
                replayed.jobs.entry(id).or_insert(guess);
            }
        }
    }
    Ok((header, replayed))
}

/// What is wrong with a folder of which nothing tells how it is to be read.
fn unreadable(disk: &dyn Disk, starts: &[Start; 2]) -> Error {
    let version = starts.iter().enumerate().find_map(|(which, start)| match start {
        Start::Version(found) => Some((which, *found)),
        _ => None,
    });
    match version {
        Some((which, found)) => {
            Error::Version { file: disk.path(NAMES[which]), found, known: record::VERSION }
        }
        None => Error::Damaged {
            file: disk.path(NAMES[0]),
            offset: 0,
            what: "neither this, nor the other journal, nor the copy has a header: no spool is \
                   here, or nothing of it can be told"
                .to_owned(),
        },
    }
}

/// All bytes of a file; zeros where the disk cannot read it.
fn content(disk: &dyn Disk, names: &[String], name: &str) -> Result<Vec<u8>, Error> {
    if !names.iter().any(|there| there == name) {
        return Ok(Vec::new());
    }
    let io = |during| Error::io(during, disk.path(name));
    let file = disk.open(name).map_err(io("open"))?;
    let size = file.size().map_err(io("see the size of"))?;
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

/// A record whose head is there: where it begins, its number, whose it is, how long it
/// is, and whether the rest is there as well.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Survivor {
    /// Where in the file it begins.
    pub offset: usize,
    /// Its number in the row.
    pub sequence: u64,
    /// The number of its job.
    pub id: u32,
    /// Its bytes.
    pub size: usize,
    /// All of it is what was written.
    pub is_whole: bool,
    kind: Kind,
}

/// All records of a journal's file whose heads are there, in their order.
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
        // What stands in a damaged one is no record, but its length is known.
        at += if is_whole { size } else { HEAD };
    }
    found
}

/// Makes jobs of a journal's records. `noted` is how long it was at least.
fn replay(bytes: &[u8], header: &Header, noted: Option<u64>) -> Replayed {
    let mut all = Replayed::default();
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
            Kind::Put => all.put(id, body),
            Kind::Remove => {
                all.jobs.remove(&id);
                all.lost.remove(&id);
                all.removed.insert(id);
            }
            Kind::Closed => {}
        }
        is_closed = kind == Kind::Closed;
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

impl Replayed {
    /// A newer state of any job may be lost.
    fn doubt(&mut self) {
        self.jobs.values_mut().for_each(|job| job.is_newest = false);
    }

    fn put(&mut self, id: u32, body: Option<&[u8]>) {
        self.removed.remove(&id);
        if let Some((parts, record)) = body.and_then(record::decode_put) {
            let record = record.to_owned();
            self.jobs.insert(id, Job { record, parts, is_newest: true, is_guess: false });
            self.lost.remove(&id);
            return;
        }
        self.lost.insert(id);
        if let Some(job) = self.jobs.get_mut(&id) {
            job.is_newest = false;
        }
    }
}

/// The files with the documents.
struct Documents<'a> {
    disk: &'a dyn Disk,
    /// Units of a segment.
    size: u32,
    files: HashMap<u32, Option<Arc<dyn Open>>>,
}

impl Documents<'_> {
    /// Reads all documents of a job, and puts them into another spool. What is wrong
    /// with them is the inner error.
    fn bring(
        &mut self,
        parts: &[Parts],
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

    /// Reads a document, and says what is wrong with it.
    fn read(
        &mut self,
        parts: &Parts,
        mut each: impl FnMut(&[u8]) -> Result<(), Error>,
    ) -> Result<Result<(), String>, Error> {
        let (mut left, mut sum) = (parts.size, Hasher::new());
        let mut buffer = vec![0; CHUNK];
        for extent in &parts.extents {
            let number = extent.start / self.size;
            let (start, name) =
                (u64::from(extent.start % self.size) * UNIT, segments::name(number));
            let Some(file) = self.file(number, &name) else {
                return Ok(Err(format!("{name} is not there, or cannot be opened")));
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
        Ok(if is_same { Ok(()) } else { Err("its bytes are not those that came".to_owned()) })
    }

    fn file(&mut self, number: u32, name: &str) -> Option<&dyn Open> {
        let disk = self.disk;
        self.files.entry(number).or_insert_with(|| disk.open(name).ok()).as_deref()
    }
}
