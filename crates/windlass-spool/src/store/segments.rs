//! The segments: large files that hold the documents.
//!
//! A file per job would cost more than its data: creating and removing a file changes the file
//! system's own records each time. Segments reserve space in steps, and reuse space as soon as its
//! job is gone.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use windlass_sys::file::is_full;

use super::Usage;
use super::behind::{WriteBehind, WriteStep};
use super::disk::{Disk, OpenFile};
use super::error::{Error, FullReason};
use super::space::{Extent, Space, UNIT};

/// Number of empty segments that are kept for later documents.
const SPARE: usize = 2;
/// Number of units that are reserved at once on a disk with room: 8 MiB.
const STEP: u32 = 2_048;
/// Minimum number of units of a part that is good enough for a large document: 256 KiB.
const FAIR: u32 = 64;

/// Prefix of segment names.
const NAME: &str = "data.";

/// All segments, and their free space.
#[derive(Debug)]
pub(super) struct Segments {
    disk: Arc<dyn Disk>,
    /// Size of a segment in units.
    pub(super) size: u32,
    /// Maximum number of units of all documents.
    most: Option<u64>,
    /// Number of units that may stay in memory. Later units go to `behind`.
    cached: u64,
    pub(super) behind: WriteBehind,
    state: Mutex<SegmentsState>,
    /// True if nothing is freed any more: the store is closed, or a removal may not be on the disk.
    frozen: AtomicBool,
    /// True if files were created since the names were last synced.
    new_names: AtomicBool,
    /// Number of bytes of documents.
    pub(super) documents: AtomicU64,
}

#[derive(Debug)]
struct SegmentsState {
    space: Space,
    files: BTreeMap<u32, Segment>,
    /// Segments that may still grow.
    partial: BTreeSet<u32>,
    /// Numbers without a file, below `next`.
    empty: BTreeSet<u32>,
    next: u32,
    /// Number of units in use.
    used: u64,
    /// Number of units of all files.
    reserved: u64,
    /// Number of segments without units in use.
    idle: usize,
}

#[derive(Debug)]
struct Segment {
    file: Arc<dyn OpenFile>,
    reserved: u32,
    used: u32,
}

/// An extent, and the file that it is in.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    pub(super) extent: Extent,
    pub(super) file: Arc<dyn OpenFile>,
    /// Position of the extent in the file, in bytes.
    pub(super) offset: u64,
}

impl Segments {
    pub(super) fn new(disk: Arc<dyn Disk>, size: u32, most: Option<u64>) -> Self {
        let state = SegmentsState {
            space: Space::new(size),
            files: BTreeMap::new(),
            partial: BTreeSet::new(),
            empty: BTreeSet::new(),
            next: 0,
            used: 0,
            reserved: 0,
            idle: 0,
        };
        Self {
            size,
            most: most.map(|bytes| bytes / UNIT),
            cached: disk.cached() / UNIT,
            behind: WriteBehind::new(size),
            disk,
            state: Mutex::new(state),
            frozen: AtomicBool::new(false),
            new_names: AtomicBool::new(false),
            documents: AtomicU64::new(0),
        }
    }

    /// Adopts the existing files. All of their units count as used until [`Self::free`] frees some.
    pub(super) fn adopt(&self, names: &[String]) -> Result<(), Error> {
        let mut numbers: Vec<u32> = names.iter().filter_map(|name| number(name)).collect();
        numbers.sort_unstable();
        let mut state = self.lock();
        for number in numbers {
            if number > u32::MAX / self.size - 1 {
                continue;
            }
            let name = name(number);
            let file = self.disk.open(&name).map_err(self.io("open", &name))?;
            let bytes = file.size().map_err(self.io("read the size of", &name))?;
            let reserved = u32::try_from(bytes / UNIT).unwrap_or(u32::MAX).min(self.size);
            let gap = state.next..number;
            state.empty.extend(gap);
            state.next = number + 1;
            state.files.insert(number, Segment { file, reserved, used: reserved });
            state.used += u64::from(reserved);
            state.reserved += u64::from(reserved);
            if reserved < self.size {
                state.partial.insert(number);
            }
            if reserved == 0 {
                state.idle += 1;
            }
        }
        Ok(())
    }

    /// Returns the parts that have a file.
    pub(super) fn there(&self) -> Vec<Extent> {
        let files = &self.lock().files;
        let part = |(number, segment): (&u32, &Segment)| Extent {
            start: number * self.size,
            count: segment.reserved,
        };
        files.iter().map(part).collect()
    }

    /// Fails if there is no room for any document.
    pub(super) fn has_room(&self) -> Result<(), Error> {
        let state = self.lock();
        if let Some(most) = self.most.filter(|most| state.used >= *most) {
            return Err(Error::Full(FullReason::Limit { most: most * UNIT }));
        }
        let is_free = state.space.total > 0;
        drop(state);
        // The disk is asked only if no reserved space is free.
        if is_free || self.disk.available().map_err(self.io("read the free space of", ""))? >= UNIT
        {
            Ok(())
        } else {
            Err(Error::Full(FullReason::Disk))
        }
    }

    /// Allocates up to `want` units. First choice are those at `behind`, then space freed last that
    /// is large enough, then new space, then any.
    pub(super) fn take(&self, want: u32, behind: Option<u32>) -> Result<Piece, Error> {
        let mut guard = self.lock();
        let state = &mut *guard;
        let mut want = want.clamp(1, self.size);
        if let Some(most) = self.most {
            let room = most.saturating_sub(state.used);
            if room == 0 {
                return Err(Error::Full(FullReason::Limit { most: most * UNIT }));
            }
            want = want.min(u32::try_from(room).unwrap_or(u32::MAX));
        }
        let least = want.min(FAIR);
        // An extent does not leave its segment.
        let behind = behind.filter(|start| start % self.size != 0);
        let found = behind
            .and_then(|start| state.space.take_at(start, want))
            .or_else(|| state.space.take(want, least));
        let extent = match found {
            Some(extent) => extent,
            None => {
                let why = match self.grow(state, want) {
                    Ok(()) => Error::Full(FullReason::Disk),
                    Err(error) if error.is_full() => error,
                    Err(error) => return Err(error),
                };
                let found = state.space.take(want, least);
                found.or_else(|| state.space.take_largest(want)).ok_or(why)?
            }
        };
        state.used += u64::from(extent.count);
        let Some(segment) = state.files.get_mut(&(extent.start / self.size)) else {
            unreachable!("only units of files are free");
        };
        if segment.used == 0 {
            state.idle -= 1;
        }
        segment.used += extent.count;
        Ok(self.piece(extent, segment))
    }

    fn piece(&self, extent: Extent, segment: &Segment) -> Piece {
        let offset = u64::from(extent.start % self.size) * UNIT;
        Piece { extent, file: Arc::clone(&segment.file), offset }
    }

    /// Returns whether more is in use than should stay in memory.
    pub(super) fn is_beyond_memory(&self) -> bool {
        self.lock().used > self.cached
    }

    /// Hands over a written part, which need not stay in memory. It lies in one segment.
    pub(super) fn leave(&self, part: Extent) {
        self.behind.add(part);
    }

    /// Writes the parts that were handed over to the disk and drops them from memory, until
    /// `behind` is stopped.
    pub(super) fn work_behind(&self) {
        self.behind.work(|part, what| {
            let name = name(part.start / self.size);
            // Opens the file anew, so that a sync of the segment still reports each error. A
            // removed segment has nothing in memory.
            let Ok(file) = self.disk.open(&name) else { return };
            let start = u64::from(part.start % self.size) * UNIT;
            let bytes = start..start + part.bytes();
            // If that fails, the kernel does it in its own time.
            let _ = match what {
                WriteStep::Begin => file.start_writing(bytes),
                WriteStep::Forget => file.forget(bytes),
            };
        });
    }

    /// Returns whether the write-behind thread is needed.
    pub(super) fn has_behind(&self) -> bool {
        self.cached < u64::MAX / UNIT
    }

    /// Returns the extents with their files.
    pub(super) fn pieces(&self, extents: &[Extent]) -> Vec<Piece> {
        let files = &self.lock().files;
        let piece = |extent: &Extent| {
            files.get(&(extent.start / self.size)).map(|segment| self.piece(*extent, segment))
        };
        extents.iter().filter_map(piece).collect()
    }

    /// Frees units.
    pub(super) fn free(&self, extents: &[Extent]) {
        if extents.is_empty() || self.frozen.load(Ordering::Acquire) {
            return;
        }
        let mut gone = Vec::new();
        {
            let mut state = self.lock();
            for extent in extents {
                self.put_back(&mut state, *extent);
                gone.extend(self.retire(&mut state, extent.start / self.size, SPARE));
            }
        }
        self.unlink(gone);
    }

    /// Removes all empty segments, the spare ones too. Returns whether there were any.
    pub(super) fn shrink(&self) -> bool {
        let mut gone = Vec::new();
        {
            let mut state = self.lock();
            for number in 0..state.next {
                gone.extend(self.retire(&mut state, number, 0));
            }
        }
        let some = !gone.is_empty();
        self.unlink(gone);
        some
    }

    fn unlink(&self, gone: Vec<(u32, Arc<dyn OpenFile>)>) {
        // Removing a large file takes time: it is done without the lock.
        for (number, file) in gone {
            drop(file);
            // If the removal fails, the number is not reused before the next start, which finds the
            // file.
            if self.disk.remove(&name(number)).is_ok() {
                self.lock().empty.insert(number);
            }
        }
    }

    /// Stops freeing units.
    pub(super) fn freeze(&self) {
        self.frozen.store(true, Ordering::Release);
    }

    /// Resumes freeing units.
    pub(super) fn thaw(&self) {
        self.frozen.store(false, Ordering::Release);
    }

    /// Waits until the names of all segments are on the disk.
    pub(super) fn sync_names(&self) -> io::Result<()> {
        if self.new_names.swap(false, Ordering::AcqRel) {
            self.disk.sync_names()?;
        }
        Ok(())
    }

    /// Waits until the data of a segment is on the disk.
    pub(super) fn sync(&self, number: u32) -> Result<(), Error> {
        let file = self.lock().files.get(&number).map(|segment| Arc::clone(&segment.file));
        let Some(file) = file else { return Ok(()) };
        file.sync().map_err(self.io("sync", &name(number)))
    }

    /// Waits until the names and data of all segments are on the disk.
    pub(super) fn sync_all(&self) -> Result<(), Error> {
        self.sync_names().map_err(self.io("sync", ""))?;
        let next = self.lock().next;
        (0..next).try_for_each(|number| self.sync(number))
    }

    /// Returns the path of a unit's file, for messages.
    pub(super) fn path(&self, unit: u32) -> String {
        self.disk.path(&name(unit / self.size))
    }

    /// Returns the usage of the segments, and the free space.
    pub(super) fn usage(&self) -> Usage {
        let available = self.disk.available().unwrap_or(0);
        let state = self.lock();
        let mut free = (state.space.total * UNIT).saturating_add(available);
        if let Some(most) = self.most {
            free = free.min(most.saturating_sub(state.used) * UNIT);
        }
        Usage {
            jobs: 0,
            documents: self.documents.load(Ordering::Relaxed),
            taken: state.used * UNIT,
            files: state.reserved * UNIT,
            free,
        }
    }

    fn put_back(&self, state: &mut SegmentsState, extent: Extent) {
        state.used -= u64::from(extent.count);
        state.space.add(extent);
        if let Some(segment) = state.files.get_mut(&(extent.start / self.size)) {
            segment.used -= extent.count;
            if segment.used == 0 && extent.count != 0 {
                state.idle += 1;
            }
        }
    }

    /// Removes an empty segment, if there are more than `spare`.
    fn retire(
        &self,
        state: &mut SegmentsState,
        number: u32,
        spare: usize,
    ) -> Option<(u32, Arc<dyn OpenFile>)> {
        let segment = state.files.get(&number)?;
        if segment.used != 0 || state.idle <= spare {
            return None;
        }
        let whole = Extent { start: number * self.size, count: segment.reserved };
        if !state.space.withdraw(whole) {
            return None;
        }
        let segment = state.files.remove(&number)?;
        state.idle -= 1;
        state.reserved -= u64::from(segment.reserved);
        state.partial.remove(&number);
        Some((number, segment.file))
    }

    /// Reserves more space on the disk: a step, or as much as there is, but at least a unit.
    fn grow(&self, state: &mut SegmentsState, want: u32) -> Result<(), Error> {
        let number = match state.partial.first() {
            Some(number) => *number,
            None => self.new_segment(state)?,
        };
        let Some(segment) = state.files.get_mut(&number) else {
            unreachable!("a segment that may grow is there");
        };
        let mut step = want.max(STEP).min(self.size - segment.reserved);
        loop {
            let start = segment.reserved;
            let part = u64::from(start) * UNIT..u64::from(start + step) * UNIT;
            match segment.file.allocate(part) {
                Ok(()) => break,
                Err(error) if is_full(&error) && step > 1 => step /= 2,
                Err(error) => return Err(self.io("reserve space in", &name(number))(error)),
            }
        }
        let new = Extent { start: number * self.size + segment.reserved, count: step };
        segment.reserved += step;
        state.reserved += u64::from(step);
        if segment.reserved == self.size {
            state.partial.remove(&number);
        }
        state.space.add(new);
        Ok(())
    }

    fn new_segment(&self, state: &mut SegmentsState) -> Result<u32, Error> {
        let number = state.empty.first().copied().unwrap_or(state.next);
        if number >= u32::MAX / self.size - 1 {
            return Err(Error::Full(FullReason::Disk));
        }
        let name = name(number);
        let file = self.disk.create(&name).map_err(self.io("create", &name))?;
        self.new_names.store(true, Ordering::Release);
        state.empty.remove(&number);
        state.next = state.next.max(number + 1);
        state.files.insert(number, Segment { file, reserved: 0, used: 0 });
        state.partial.insert(number);
        state.idle += 1;
        Ok(number)
    }

    fn lock(&self) -> MutexGuard<'_, SegmentsState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn io(&self, during: &'static str, name: &str) -> impl FnOnce(io::Error) -> Error {
        Error::io(during, self.disk.path(name))
    }
}

/// Returns the name of a segment's file.
pub(super) fn name(number: u32) -> String {
    format!("{NAME}{number:05}")
}

/// Returns whether a file is a segment.
pub(super) fn is_segment(name: &str) -> bool {
    number(name).is_some()
}

fn number(name: &str) -> Option<u32> {
    let number: u32 = name.strip_prefix(NAME)?.parse().ok()?;
    (self::name(number) == name).then_some(number)
}
