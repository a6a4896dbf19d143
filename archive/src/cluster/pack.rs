//! Packs of sources for executors: one task's worth each, by bytes.

use std::sync::Arc;

use arrow::array::{Array as _, AsArray as _, BinaryArray, Int64Array, RecordBatch};
use arrow::datatypes::{DataType, Field, Int64Type, Schema, SchemaRef};
use arrow::error::ArrowError;
use windlass_base::Failure;

use crate::add::source::Source;
use crate::store::place::Buckets;

/// Number of tasks for a large job, so that the executors finish together and a lost executor has
/// little to repeat.
const TASKS: usize = 200;

/// Minimum bytes of a task.
const FEW_BYTES: u64 = 16 << 20;

/// Maximum bytes of a task, except for a single larger source. A task is committed to the archive
/// at once.
const MANY_BYTES: u64 = 1 << 30;

/// Minimum sources of a task.
const FEW_SOURCES: usize = 8;

/// Maximum bytes of the names in a job, which is one message.
const JOB_BYTES: usize = 8 << 20;

/// Returns the columns that identify a source.
fn schema() -> SchemaRef {
    Arc::new(Schema::new(vec![
        Field::new("source", DataType::Binary, false),
        Field::new("source_bytes", DataType::Int64, false),
        Field::new("modified_nanos", DataType::Int64, true),
    ]))
}

/// Sources of one task.
#[derive(Debug)]
pub struct Pack {
    sources: Vec<Source>,
}

impl Pack {
    fn bytes(&self) -> u64 {
        self.sources.iter().map(|source| source.bytes).sum()
    }

    fn name_bytes(&self) -> usize {
        self.sources.iter().map(|source| source.handle().len() + 32).sum()
    }

    /// Returns the pack as rows.
    ///
    /// # Errors
    /// Returns an error if the sources cannot be encoded as rows.
    pub fn rows(&self) -> Result<RecordBatch, ArrowError> {
        let handles: Vec<Vec<u8>> = self.sources.iter().map(Source::handle).collect();
        let handles: BinaryArray = handles.iter().map(|handle| Some(handle.as_slice())).collect();
        let bytes = self.sources.iter().map(|source| i64::try_from(source.bytes).ok());
        let times = self.sources.iter().map(|source| source.modified);
        RecordBatch::try_new(
            schema(),
            vec![
                Arc::new(handles),
                Arc::new(bytes.collect::<Int64Array>()),
                Arc::new(times.collect::<Int64Array>()),
            ],
        )
    }
}

/// Reads the sources from rows.
///
/// # Errors
/// Returns an error if the rows are not sources.
pub fn sources(rows: &[RecordBatch]) -> Result<Vec<Source>, Failure> {
    let mut buckets = Buckets::default();
    let mut sources = Vec::new();
    for batch in rows {
        if batch.schema().fields() != schema().fields() {
            let wrong = "its columns differ; check the versions of scheduler and executors";
            return Err(Failure::new("cannot read the captures to add", wrong));
        }
        let handles = batch.column(0).as_binary::<i32>();
        let bytes = batch.column(1).as_primitive::<Int64Type>();
        let times = batch.column(2).as_primitive::<Int64Type>();
        for row in 0..batch.num_rows() {
            let modified = times.is_valid(row).then(|| times.value(row));
            let size = u64::try_from(bytes.value(row)).unwrap_or_default();
            sources.push(Source::of_handle(handles.value(row), size, modified, &mut buckets)?);
        }
    }
    Ok(sources)
}

/// Splits sources into tasks of at most `most` sources, and these into jobs. The largest tasks come
/// first, so that none of them starts last.
pub fn jobs(sources: Vec<Source>, most: usize) -> Vec<Vec<Pack>> {
    let all: u64 = sources.iter().map(|source| source.bytes).sum();
    let enough_bytes = (all / TASKS as u64).clamp(FEW_BYTES, MANY_BYTES);
    let enough = (sources.len() / TASKS).max(FEW_SOURCES).min(most.max(1));
    let mut packs: Vec<Pack> = Vec::new();
    let mut open = Pack { sources: Vec::new() };
    let mut open_bytes = 0;
    for source in sources {
        let is_full = open.sources.len() >= enough || open_bytes + source.bytes > enough_bytes;
        if is_full && !open.sources.is_empty() {
            packs.push(std::mem::replace(&mut open, Pack { sources: Vec::new() }));
            open_bytes = 0;
        }
        open_bytes += source.bytes;
        open.sources.push(source);
    }
    packs.extend((!open.sources.is_empty()).then_some(open));
    packs.sort_by_cached_key(|pack| std::cmp::Reverse(pack.bytes()));
    let mut jobs: Vec<Vec<Pack>> = Vec::new();
    let mut bytes = 0;
    for pack in packs {
        let more = pack.name_bytes();
        bytes += more;
        match jobs.last_mut() {
            Some(job) if bytes <= JOB_BYTES => job.push(pack),
            _ => {
                bytes = more;
                jobs.push(vec![pack]);
            }
        }
    }
    jobs
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn source(name: &str, bytes: u64) -> Source {
        Source::of_handle(name.as_bytes(), bytes, Some(7), &mut Buckets::default()).unwrap()
    }

    fn cut(of: &[(usize, u64)]) -> Vec<Vec<Pack>> {
        let all = of.iter().map(|(at, bytes)| source(&format!("/captures/{at:09}"), *bytes));
        jobs(all.collect(), 1_000)
    }

    fn names(jobs: &[Vec<Pack>]) -> Vec<String> {
        let packs = jobs.iter().flatten();
        packs.flat_map(|pack| &pack.sources).map(|source| source.name.clone()).collect()
    }

    #[test]
    fn each_source_is_in_one_task() {
        assert!(jobs(Vec::new(), 9).is_empty());
        for count in [1, 7, 8, 9, 60, 3_000, 100_000] {
            let all: Vec<(usize, u64)> =
                (0..count).map(|at| (at, (at as u64 * 7_919) % 2_000_000)).collect();
            let jobs = cut(&all);
            let names = names(&jobs);
            assert_eq!(names.len(), count);
            assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), count);
            for job in &jobs {
                assert!(job.iter().map(Pack::name_bytes).sum::<usize>() <= JOB_BYTES);
            }
        }
    }

    #[test]
    fn tasks_are_bounded_by_bytes_and_by_number() {
        // Eight of the few at a time, and the large ones alone and first.
        let mut all: Vec<(usize, u64)> = (0..60).map(|at| (at, 1_000)).collect();
        all.push((60, 5 << 30));
        let jobs = cut(&all);
        let sizes: Vec<usize> = jobs[0].iter().map(|pack| pack.sources.len()).collect();
        assert_eq!(sizes, [1, 8, 8, 8, 8, 8, 8, 8, 4]);
        let few = super::jobs((0..9).map(|at| source(&format!("/{at}"), 1)).collect(), 4);
        assert_eq!(few[0].iter().map(|pack| pack.sources.len()).max(), Some(4));
    }

    #[test]
    fn rows_give_the_same_sources() {
        use std::os::unix::ffi::OsStrExt as _;
        let odd = b"/captures/not \xff text";
        let odd = Source::of_handle(odd, 3, None, &mut Buckets::default()).unwrap();
        assert!(!odd.is_exact);
        let pack = Pack { sources: vec![odd, source("/a", 1), source("s3://b/c/d", 2)] };
        let again = sources(&[pack.rows().unwrap()]).unwrap();
        for (one, other) in pack.sources.iter().zip(&again) {
            assert_eq!(one.handle(), other.handle());
            assert_eq!((one.bytes, one.modified), (other.bytes, other.modified));
            assert_eq!((&one.name, one.is_exact), (&other.name, other.is_exact));
        }
        let path = std::ffi::OsStr::from_bytes(&again[0].handle()).to_owned();
        assert_eq!(path.as_bytes(), b"/captures/not \xff text");
        assert!(again[2].is_remote());
    }
}
