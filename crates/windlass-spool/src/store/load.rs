//! Opens what an earlier server left, however that ended.

use std::collections::HashMap;
use std::io;
use std::ops::Range;
use std::sync::Arc;

use super::disk::{Disk, Memory, Open};
use super::document::Document;
use super::error::Error;
use super::journal::{COPY, Journal, NAMES, Planned, Rewriting, salt};
use super::log::{Entry, Log};
use super::record::{self, Found, HEAD, HEADER, Header, Kind, MARK, Parts, START};
use super::scan::{self, End, Scan};
use super::segments::Segments;
use super::space::Extent;
use super::{Durability, Kept, Recovery, Settings, Shape, Store};

/// The most garbage that a journal keeps where its disk has much room, and the
/// least: rewriting has a price whatever it copies.
const GARBAGE: Range<u64> = 64 << 10..4 << 20;

/// What a journal says that there is.
#[derive(Debug)]
struct Told {
    which: usize,
    header: Header,
    scan: Scan,
    jobs: Places,
}

/// What the records come to.
struct Jobs {
    /// As many as there are records.
    jobs: Vec<Kept>,
    /// Those that have no documents any more, in order.
    lost: Vec<u32>,
    /// What nobody has.
    gaps: Vec<Extent>,
}

pub(super) fn open(
    disk: Arc<dyn Disk>,
    settings: Settings,
    shape: Shape,
) -> Result<(Store, Vec<Kept>), Error> {
    let synced = settings.durability == Durability::Fsync;
    let names = disk.names().map_err(Error::io("list", disk.path("")))?;
    let files = [0, 1].map(|which| opened(&*disk, &names, NAMES[which]));
    let [first, second] = files;
    let files = [first?, second?];
    disk.sync_names().map_err(Error::io("sync", disk.path("")))?;
    let told = choose(&*disk, &files, &names)?.unwrap_or_else(|| Told {
        // A new one begins as if it were the successor of an empty one.
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
        scan: Scan { end: START, how: End::Closed, is_marked: true, whole: true },
        jobs: HashMap::new(),
    });
    let copy = copy(&*disk, &names);
    let missing = missing(&*disk, &told, copy.as_deref())?;
    let segments = Segments::new(Arc::clone(&disk), told.header.segment, settings.most);
    segments.adopt(&names)?;
    let segments = Arc::new(segments);

    let capacity = |which: usize| -> Result<u64, Error> {
        let size =
            files[which].size().map_err(Error::io("see the size of", disk.path(NAMES[which])))?;
        Ok(size / 4_096 * 4_096)
    };
    let available = disk.available().map_err(Error::io("see the room of", disk.path("")))?;
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
    let planned = |(id, (offset, size)): (&u32, &(u64, u32))| Planned {
        offset: *offset,
        id: *id,
        size: *size,
    };
    let plan: Vec<Planned> = told.jobs.iter().map(planned).collect();
    make_room(&mut journal, &plan)?;
    let rewriting = journal.rewriting(plan);
    // Should something go wrong here, all stays as it is.
    segments.freeze();
    let Jobs { jobs, lost, gaps } = read_jobs(&rewriting, &journal, &segments)?;

    if synced && !told.header.synced {
        segments.sync_all()?;
    }
    rewriting.commit()?;
    journal.switch(&rewriting);
    segments.thaw();
    segments.free(&gaps);
    let mut log = Log { end: journal.written, journal: Some(journal), ..Log::default() };
    let mut at = START;
    let mut kept = Vec::with_capacity(jobs.len());
    for (planned, job) in rewriting.plan.iter().zip(jobs) {
        let documents = job.documents.clone().into();
        log.enter(planned.id, Entry { offset: at, size: planned.size, documents });
        at += u64::from(planned.size);
        kept.push(job);
    }
    let recovery = Recovery {
        // Documents may hold something else.
        uncertain: !told.header.synced
            && !is_same(told.header.boot, disk.boot())
            && told.scan.how != End::Closed,
        cut: told.scan.how == End::Open { more: true },
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

/// Whether the machine has not ended since.
fn is_same(before: [u8; 16], now: [u8; 16]) -> bool {
    before == now && now != [0; 16]
}

/// The copy of the header; none where there is no room for one.
fn copy(disk: &dyn Disk, names: &[String]) -> Option<Arc<dyn Open>> {
    let copy = opened(disk, names, COPY).ok()?;
    copy.allocate(0..HEADER as u64).ok().map(|()| copy)
}

/// Bytes of the journal that the copy of its header knows of and that are not there.
///
/// # Errors
/// Where they were promised to be.
fn missing(disk: &dyn Disk, told: &Told, copy: Option<&dyn Open>) -> Result<u64, Error> {
    let Some(Ok(Found::Header(copy))) = copy.map(scan::header) else { return Ok(0) };
    if copy.salt != told.header.salt || copy.safe <= told.scan.end {
        return Ok(0);
    }
    let missing = copy.safe - told.scan.end;
    if copy.synced || is_same(copy.boot, disk.boot()) {
        let what = format!(
            "there should be a record, as {} bytes of this were written, and {missing} of them \
             are not there",
            copy.safe
        );
        let file = disk.path(NAMES[told.which]);
        return Err(Error::Damaged { file, offset: told.scan.end, what });
    }
    Ok(missing)
}

fn opened(disk: &dyn Disk, names: &[String], name: &str) -> Result<Arc<dyn Open>, Error> {
    if names.iter().any(|there| there == name) {
        disk.open(name).map_err(Error::io("open", disk.path(name)))
    } else {
        disk.create(name).map_err(Error::io("make", disk.path(name)))
    }
}

/// Where the last record of each job is that there is, and how long.
type Places = HashMap<u32, (u64, u32)>;

/// Reads a journal to its end.
fn records(file: &dyn Open, header: &Header, kept: bool) -> io::Result<(Scan, Places)> {
    let mut jobs = HashMap::new();
    let scan = scan::scan(file, header, kept, |head, offset| match head.kind {
        Kind::Put => {
            jobs.insert(head.id, (offset, u32::try_from(head.size).unwrap_or(u32::MAX)));
        }
        Kind::Remove => drop(jobs.remove(&head.id)),
        Kind::Closed => {}
    })?;
    Ok((scan, jobs))
}

/// Which of the two counts; neither in a new folder.
fn choose(
    disk: &dyn Disk,
    files: &[Arc<dyn Open>; 2],
    names: &[String],
) -> Result<Option<Told>, Error> {
    let damaged = |which: usize, offset: u64, what: &str| Error::Damaged {
        file: disk.path(NAMES[which]),
        offset,
        what: what.to_owned(),
    };
    let mut live = Vec::new();
    let mut old = false;
    for (which, file) in files.iter().enumerate() {
        match scan::header(&**file).map_err(Error::io("read", disk.path(NAMES[which])))? {
            Found::Header(header) if header.live => live.push((which, header)),
            Found::Header(_) => old = true,
            Found::Blank => {}
            Found::Version(found) => {
                let (file, known) = (disk.path(NAMES[which]), record::VERSION);
                return Err(Error::Version { file, found, known });
            }
            Found::Damaged => return Err(damaged(which, 0, "this is no header of a journal")),
        }
    }
    live.sort_unstable_by_key(|(_, header)| header.generation);
    let mut hollow = None;
    while let Some((which, header)) = live.pop() {
        let file = disk.path(NAMES[which]);
        let kept = is_same(header.boot, disk.boot());
        let read = records(&*files[which], &header, kept);
        let (scan, jobs) = read.map_err(Error::io("read", file))?;
        if scan.whole && scan.how != End::Damaged {
            return Ok(Some(Told { which, header, scan, jobs }));
        }
        hollow = Some((which, scan.end));
        // One that was not on the disk when the power went has not yet taken the
        // place of the one before. That is all that may be gone.
        if scan.whole || kept || header.safe > START {
            break;
        }
    }
    match hollow {
        Some((which, end)) => {
            Err(damaged(which, end, "there should be a record, as there is more behind it"))
        }
        None if old => {
            let which = usize::from(matches!(scan::header(&*files[0]), Ok(Found::Header(_))));
            Err(damaged(which, 0, "it is empty, but the other journal says that this one goes on"))
        }
        None if names.iter().any(|name| super::segments::is_segment(name)) => {
            Err(damaged(0, 0, "it is empty, but there are documents"))
        }
        None => Ok(None),
    }
}

/// Makes both files as long as they are needed. Where the disk is full, it is
/// enough if what there is can be copied.
fn make_room(journal: &mut Journal, plan: &[Planned]) -> Result<(), Error> {
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

/// Copies the records, and makes jobs of them; and those that have no documents
/// any more.
fn read_jobs(
    rewriting: &Rewriting,
    journal: &Journal,
    segments: &Arc<Segments>,
) -> Result<Jobs, Error> {
    let mut read: Vec<(u32, Vec<Parts>, Vec<u8>)> = Vec::with_capacity(rewriting.plan.len());
    let file = journal.disk.path(NAMES[journal.current]);
    let damaged = |offset: u64, what: String| Error::Damaged { file: file.clone(), offset, what };
    let mut at = rewriting.plan.iter();
    rewriting.copy(|id, bytes| {
        let offset = at.next().map_or(0, |planned| planned.offset);
        let Some((parts, record)) = record::decode_put(&bytes[HEAD..]) else {
            return Err(damaged(offset, format!("what it says of job {id} cannot be understood")));
        };
        read.push((id, parts, record.to_owned()));
        Ok(())
    })?;

    let there = segments.there();
    let mut lost = Vec::new();
    let mut used: Vec<(Extent, u32)> = Vec::new();
    // A document may be of several jobs.
    let mut shared: HashMap<(u32, u64), Document> = HashMap::new();
    let mut kept = Vec::with_capacity(read.len());
    for (id, parts, record) in read {
        if !parts.iter().flat_map(|parts| &parts.extents).all(|extent| is_there(&there, *extent)) {
            lost.push(id);
            kept.push(Kept { id, record, documents: Vec::new() });
            continue;
        }
        let mut documents = Vec::with_capacity(parts.len());
        for Parts { size, sum, extents } in parts {
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
        kept.push(Kept { id, record, documents });
    }
    drop(shared);
    lost.sort_unstable();
    used.sort_unstable();
    for pair in used.windows(2) {
        if pair[0].0.end() > pair[1].0.start {
            let (one, other) = (pair[0].1, pair[1].1);
            return Err(damaged(
                0,
                format!("jobs {one} and {other} have the same part of a document"),
            ));
        }
    }
    let used: Vec<Extent> = used.into_iter().map(|(extent, _)| extent).collect();
    Ok(Jobs { jobs: kept, lost, gaps: gaps(&there, &used) })
}

/// Whether a part of the segments has its file, and is in one.
fn is_there(there: &[Extent], extent: Extent) -> bool {
    let index = there.partition_point(|part| part.start <= extent.start);
    index.checked_sub(1).is_some_and(|index| there[index].end() >= extent.end())
}

/// What of the parts is not used. Both are in order.
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

/// A job of a journal's file: its number, its record and its documents' sizes.
#[doc(hidden)]
pub type ReadJob = (u32, Vec<u8>, Vec<u64>);

/// Reads a journal's file as a start does: each job that it keeps, with its record
/// and the sizes of its documents. For tests with any bytes.
///
/// # Errors
/// What a start would say.
#[doc(hidden)]
pub fn read_journal(bytes: &[u8]) -> Result<Vec<ReadJob>, String> {
    let said = |error: io::Error| error.to_string();
    let file = Memory.create("journal").map_err(said)?;
    file.write_at([bytes, &[]], 0).map_err(said)?;
    let header = match scan::header(&*file).map_err(said)? {
        Found::Header(header) => header,
        other => return Err(format!("{other:?}")),
    };
    let (scan, jobs) = records(&*file, &header, false).map_err(said)?;
    if scan.how == End::Damaged || !scan.whole {
        return Err(format!("damaged at byte {}", scan.end));
    }
    let read = |(id, (offset, size)): (u32, (u64, u32))| {
        let start = usize::try_from(offset).map_err(|error| error.to_string())?;
        let body = &bytes[start + HEAD..start + size as usize];
        let (parts, record) = record::decode_put(body).ok_or("a job cannot be understood")?;
        Ok((id, record.to_owned(), parts.iter().map(|parts| parts.size).collect()))
    };
    jobs.into_iter().map(read).collect()
}
