//! Opening of the store that an earlier server left, however that server ended.

use std::collections::HashMap;
use std::io;
use std::ops::Range;
use std::sync::Arc;

use super::disk::{Disk, Memory, OpenFile};
use super::document::Document;
use super::error::Error;
use super::journal::{COPY, Journal, JournalRewrite, NAMES, PlannedRecord, salt};
use super::log::{Entry, LogState};
use super::record::{
    self, DocumentRecord, HEAD, HEADER, Header, HeaderState, MARK, RecordKind, START,
};
use super::scan::{self, JournalEnd, Scan};
use super::segments::Segments;
use super::space::Extent;
use super::{Durability, Recovery, Settings, Shape, Store, StoredJob};

/// Limits of the garbage that a journal keeps on a disk with much room. A lower limit applies
/// because every rewrite has a fixed cost.
const GARBAGE: Range<u64> = 64 << 10..4 << 20;

/// Content of the journal that counts.
#[derive(Debug)]
struct JournalContent {
    which: usize,
    header: Header,
    scan: Scan,
    jobs: RecordPositions,
}

/// Jobs that the records describe.
struct LoadedJobs {
    /// One job for each record.
    jobs: Vec<StoredJob>,
    /// Jobs without their documents, in order of their numbers.
    lost: Vec<u32>,
    /// Free parts of the segments.
    gaps: Vec<Extent>,
}

pub(super) fn open(
    disk: Arc<dyn Disk>,
    settings: Settings,
    shape: Shape,
) -> Result<(Store, Vec<StoredJob>), Error> {
    let synced = settings.durability == Durability::Fsync;
    let names = disk.names().map_err(Error::io("list", disk.path("")))?;
    let files = [0, 1].map(|which| opened(&*disk, &names, NAMES[which]));
    let [first, second] = files;
    let files = [first?, second?];
    disk.sync_names().map_err(Error::io("sync", disk.path("")))?;
    let told = choose(&*disk, &files, &names)?.unwrap_or_else(|| JournalContent {
        // A new journal begins as the successor of an empty one.
        which: 1,
        header: Header {
            live: true,
            generation: 0,
            salt: salt(),
            segment: shape.segment,
            synced,
            boot: disk.boot(),
            copied: START,
            safe: START,
        },
        scan: Scan { end: START, how: JournalEnd::Closed, is_marked: true, whole: true },
        jobs: HashMap::new(),
    });
    let copy = copy(&*disk, &names);
    let missing = missing(&*disk, &told, copy.as_deref())?;
    let segments = Segments::new(Arc::clone(&disk), told.header.segment, settings.most);
    segments.adopt(&names)?;
    let segments = Arc::new(segments);

    let capacity = |which: usize| -> Result<u64, Error> {
        let size =
            files[which].size().map_err(Error::io("read the size of", disk.path(NAMES[which])))?;
        Ok(size / 4_096 * 4_096)
    };
    let available = disk.available().map_err(Error::io("read the free space of", disk.path("")))?;
    let mut journal = Journal {
        capacity: [capacity(0)?, capacity(1)?],
        current: told.which,
        header: told.header,
        sequence: 0,
        written: START,
        safe: START,
        synced,
        step: shape.journal,
        garbage: shape.garbage.unwrap_or((available / 64).clamp(GARBAGE.start, GARBAGE.end)),
        retiring: None,
        files,
        copy,
        noted: START,
        disk: Arc::clone(&disk),
    };
    let planned = |(id, (offset, size)): (&u32, &(u64, u32))| PlannedRecord {
        offset: *offset,
        id: *id,
        size: *size,
    };
    let plan: Vec<PlannedRecord> = told.jobs.iter().map(planned).collect();
    make_room(&mut journal, &plan)?;
    let rewriting = journal.rewriting(plan);
    // If anything fails here, all files stay as they are.
    segments.freeze();
    let LoadedJobs { jobs, lost, gaps } = read_jobs(&rewriting, &journal, &segments)?;

    if synced && !told.header.synced {
        segments.sync_all()?;
    }
    rewriting.commit()?;
    journal.switch(&rewriting);
    segments.thaw();
    segments.free(&gaps);
    let mut log = LogState { end: journal.written, journal: Some(journal), ..LogState::default() };
    let mut at = START;
    let mut kept = Vec::with_capacity(jobs.len());
    for (planned, job) in rewriting.plan.iter().zip(jobs) {
        let documents = job.documents.clone().into();
        log.enter(planned.id, Entry { offset: at, size: planned.size, documents });
        at += u64::from(planned.size);
        kept.push(job);
    }
    let recovery = Recovery {
        // Documents may hold other data.
        uncertain: !told.header.synced
            && !is_same(told.header.boot, disk.boot())
            && told.scan.how != JournalEnd::Closed,
        cut: told.scan.how == JournalEnd::Open { more: true },
        torn: !told.scan.is_marked && is_same(told.header.boot, disk.boot()),
        missing,
        lost,
    };
    let store = Store::new(settings.durability, disk, segments, log, recovery);
    for id in &store.recovery.lost {
        store.wait(store.remove(*id)?)?;
    }
    kept.retain(|job| store.recovery.lost.binary_search(&job.id).is_err());
    Ok((store, kept))
}

/// Returns whether the machine has not been restarted since.
fn is_same(before: [u8; 16], now: [u8; 16]) -> bool {
    before == now && now != [0; 16]
}

/// Opens the copy of the header; `None` if there is no room for one.
fn copy(disk: &dyn Disk, names: &[String]) -> Option<Arc<dyn OpenFile>> {
    let copy = opened(disk, names, COPY).ok()?;
    copy.allocate(0..HEADER as u64).ok().map(|()| copy)
}

/// Returns the number of journal bytes that the header's copy knows of and that are missing.
///
/// # Errors
/// The missing bytes were promised to be there.
fn missing(
    disk: &dyn Disk,
    told: &JournalContent,
    copy: Option<&dyn OpenFile>,
) -> Result<u64, Error> {
    let Some(Ok(HeaderState::Header(copy))) = copy.map(scan::header) else { return Ok(0) };
    if copy.salt != told.header.salt || copy.safe <= told.scan.end {
        return Ok(0);
    }
    let missing = copy.safe - told.scan.end;
    if copy.synced || is_same(copy.boot, disk.boot()) {
        let what = format!(
            "a record is missing here, as {} bytes of the journal were written, and {missing} of them \
             are missing",
            copy.safe
        );
        let file = disk.path(NAMES[told.which]);
        return Err(Error::Damaged { file, offset: told.scan.end, what });
    }
    Ok(missing)
}

fn opened(disk: &dyn Disk, names: &[String], name: &str) -> Result<Arc<dyn OpenFile>, Error> {
    if names.iter().any(|there| there == name) {
        disk.open(name).map_err(Error::io("open", disk.path(name)))
    } else {
        disk.create(name).map_err(Error::io("create", disk.path(name)))
    }
}

/// Position and size of the last record of each job.
type RecordPositions = HashMap<u32, (u64, u32)>;

/// Reads a journal to its end.
fn records(
    file: &dyn OpenFile,
    header: &Header,
    kept: bool,
) -> io::Result<(Scan, RecordPositions)> {
    let mut jobs = HashMap::new();
    let scan = scan::scan(file, header, kept, |head, offset| match head.kind {
        RecordKind::Put => {
            jobs.insert(head.id, (offset, u32::try_from(head.size).unwrap_or(u32::MAX)));
        }
        RecordKind::Remove => drop(jobs.remove(&head.id)),
        RecordKind::Closed => {}
    })?;
    Ok((scan, jobs))
}

/// Chooses the journal that counts; `None` in a new folder.
fn choose(
    disk: &dyn Disk,
    files: &[Arc<dyn OpenFile>; 2],
    names: &[String],
) -> Result<Option<JournalContent>, Error> {
    let damaged = |which: usize, offset: u64, what: &str| Error::Damaged {
        file: disk.path(NAMES[which]),
        offset,
        what: what.to_owned(),
    };
    let mut live = Vec::new();
    let mut old = false;
    for (which, file) in files.iter().enumerate() {
        match scan::header(&**file).map_err(Error::io("read", disk.path(NAMES[which])))? {
            HeaderState::Header(header) if header.live => live.push((which, header)),
            HeaderState::Header(_) => old = true,
            HeaderState::Blank => {}
            HeaderState::Version(found) => {
                let (file, known) = (disk.path(NAMES[which]), record::VERSION);
                return Err(Error::Version { file, found, known });
            }
            HeaderState::Damaged => {
                return Err(damaged(which, 0, "this is not the header of a journal"));
            }
        }
    }
    live.sort_unstable_by_key(|(_, header)| header.generation);
    let mut hollow = None;
    while let Some((which, header)) = live.pop() {
        let file = disk.path(NAMES[which]);
        let kept = is_same(header.boot, disk.boot());
        let read = records(&*files[which], &header, kept);
        let (scan, jobs) = read.map_err(Error::io("read", file))?;
        if scan.whole && scan.how != JournalEnd::Damaged {
            return Ok(Some(JournalContent { which, header, scan, jobs }));
        }
        hollow = Some((which, scan.end));
        // A journal that was not on the disk when the power failed has not replaced its predecessor
        // yet. Nothing else may be missing.
        if scan.whole || kept || header.safe > START {
            break;
        }
    }
    match hollow {
        Some((which, end)) => {
            Err(damaged(which, end, "a record is missing here, as others follow"))
        }
        None if old => {
            let which = usize::from(matches!(scan::header(&*files[0]), Ok(HeaderState::Header(_))));
            Err(damaged(which, 0, "the file is empty, but the other journal refers to it"))
        }
        None if names.iter().any(|name| super::segments::is_segment(name)) => {
            Err(damaged(0, 0, "the file is empty, but there are documents"))
        }
        None => Ok(None),
    }
}

/// Extends both files to the length that they need. On a full disk, room for a copy of the records
/// is enough.
fn make_room(journal: &mut Journal, plan: &[PlannedRecord]) -> Result<(), Error> {
    let live: u64 = MARK as u64 + plan.iter().map(|planned| u64::from(planned.size)).sum::<u64>();
    for which in [journal.other(), journal.current] {
        let need = START + live + journal.reserve(live);
        if journal.capacity[which] >= need {
            continue;
        }
        match journal.grow(which, need) {
            Err(error) if error.is_full() && journal.capacity[which] >= START + live => {}
            grown => grown?,
        }
    }
    Ok(())
}

/// Copies the records and decodes their jobs, and finds those without documents.
fn read_jobs(
    rewriting: &JournalRewrite,
    journal: &Journal,
    segments: &Arc<Segments>,
) -> Result<LoadedJobs, Error> {
    let mut read: Vec<(u32, Vec<DocumentRecord>, Vec<u8>)> =
        Vec::with_capacity(rewriting.plan.len());
    let file = journal.disk.path(NAMES[journal.current]);
    let damaged = |offset: u64, what: String| Error::Damaged { file: file.clone(), offset, what };
    let mut at = rewriting.plan.iter();
    rewriting.copy(|id, bytes| {
        let offset = at.next().map_or(0, |planned| planned.offset);
        let Some((parts, record)) = record::decode_put(&bytes[HEAD..]) else {
            return Err(damaged(offset, format!("the record of job {id} cannot be read")));
        };
        read.push((id, parts, record.to_owned()));
        Ok(())
    })?;

    let there = segments.there();
    let mut lost = Vec::new();
    let mut used: Vec<(Extent, u32)> = Vec::new();
    // Several jobs may share a document.
    let mut shared: HashMap<(u32, u64), Document> = HashMap::new();
    let mut kept = Vec::with_capacity(read.len());
    for (id, parts, record) in read {
        if !parts.iter().flat_map(|parts| &parts.extents).all(|extent| is_there(&there, *extent)) {
            lost.push(id);
            kept.push(StoredJob { id, record, documents: Vec::new() });
            continue;
        }
        let mut documents = Vec::with_capacity(parts.len());
        for DocumentRecord { size, sum, extents } in parts {
            let key = extents.first().map(|first| (first.start, size));
            let known = key
                .and_then(|key| shared.get(&key))
                .filter(|known| known.extents() == extents && known.sum() == sum);
            let document = known.cloned().unwrap_or_else(|| {
                used.extend(extents.iter().map(|extent| (*extent, id)));
                let document = Document::new(segments, size, sum, &extents);
                document.set_safe();
                document
            });
            if let Some(key) = key {
                shared.insert(key, document.clone());
            }
            documents.push(document);
        }
        kept.push(StoredJob { id, record, documents });
    }
    drop(shared);
    lost.sort_unstable();
    used.sort_unstable();
    for pair in used.windows(2) {
        if pair[0].0.end() > pair[1].0.start {
            let (one, other) = (pair[0].1, pair[1].1);
            return Err(damaged(
                0,
                format!("jobs {one} and {other} use the same part of a document"),
            ));
        }
    }
    let used: Vec<Extent> = used.into_iter().map(|(extent, _)| extent).collect();
    Ok(LoadedJobs { jobs: kept, lost, gaps: gaps(&there, &used) })
}

/// Returns whether an extent lies within the existing segments.
fn is_there(there: &[Extent], extent: Extent) -> bool {
    let index = there.partition_point(|part| part.start <= extent.start);
    index.checked_sub(1).is_some_and(|index| there[index].end() >= extent.end())
}

/// Returns the unused portions of the parts. Both lists are in order.
fn gaps(there: &[Extent], used: &[Extent]) -> Vec<Extent> {
    let mut used = used.iter().peekable();
    let mut gaps = Vec::new();
    for part in there {
        let mut at = part.start;
        while let Some(next) = used.next_if(|next| next.start < part.end()) {
            if next.start > at {
                gaps.push(Extent { start: at, count: next.start - at });
            }
            at = next.end();
        }
        if part.end() > at {
            gaps.push(Extent { start: at, count: part.end() - at });
        }
    }
    gaps
}

/// A job of a journal file: its number, record and document sizes.
#[doc(hidden)]
pub type ReadJob = (u32, Vec<u8>, Vec<u64>);

/// Reads a journal file as a start does: each job with its record and the sizes of its documents.
/// For tests with arbitrary bytes.
///
/// # Errors
/// The reason for which a start would fail.
#[doc(hidden)]
pub fn read_journal(bytes: &[u8]) -> Result<Vec<ReadJob>, String> {
    let said = |error: io::Error| error.to_string();
    let file = Memory.create("journal").map_err(said)?;
    file.write_at([bytes, &[]], 0).map_err(said)?;
    let header = match scan::header(&*file).map_err(said)? {
        HeaderState::Header(header) => header,
        other => return Err(format!("{other:?}")),
    };
    let (scan, jobs) = records(&*file, &header, false).map_err(said)?;
    if scan.how == JournalEnd::Damaged || !scan.whole {
        return Err(format!("damaged at byte {}", scan.end));
    }
    let read = |(id, (offset, size)): (u32, (u64, u32))| {
        let start = usize::try_from(offset).map_err(|error| error.to_string())?;
        let body = &bytes[start + HEAD..start + size as usize];
        let (parts, record) =
            record::decode_put(body).ok_or("the record of a job cannot be read")?;
        Ok((id, record.to_owned(), parts.iter().map(|parts| parts.size).collect()))
    };
    jobs.into_iter().map(read).collect()
}
