//! `add --cluster`: finds the sources, distributes them, and counts the results by the log.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use ballista_core::config::{BALLISTA_JOB_NAME, BALLISTA_SCHEDULER_MAX_PARTITIONS_PER_TASK};
use datafusion_proto::physical_plan::AsExecutionPlan as _;
use datafusion_proto::protobuf::PhysicalPlanNode;
use tokio::runtime::Handle;
use windlass_base::Failure;

use super::codec::PhysicalCodec;
use super::map::AddExec;
use super::pack::{Pack, jobs};
use super::query::Cluster;
use super::submit::{JobState, Scheduler};
use super::task::Order;
use super::told::AddTally;
use crate::add::source::Source;
use crate::add::{AddProgress, Job, Knowledge, Summary, find};
use crate::replace::show_held;
use crate::store::{Change, ChangeReason, Place, State, log, new_id};

/// Interval of queries for the state of a job.
const ASK: Duration = Duration::from_millis(100);

/// Interval of progress updates, which read the archive.
const LOOK: Duration = Duration::from_secs(2);

/// Maximum time until a scheduler knows a job that it has accepted.
const UNKNOWN: Duration = Duration::from_secs(60);

/// Maximum time for the tasks of a cancelled job to commit what they have done.
const PARTING: Duration = Duration::from_secs(5);

/// Adds missing captures with the executors of a cluster. `pattern` is the job's pattern as text.
///
/// # Errors
/// Returns an error if a path does not exist, the archive cannot be written, or the cluster fails.
pub fn add(
    cluster: &Cluster,
    job: &Job<'_>,
    pattern: Option<&str>,
    stop: &Arc<AtomicBool>,
    runtime: &Handle,
    mut on_progress: impl FnMut(AddProgress),
) -> Result<Summary, Failure> {
    let mut scheduler = runtime.block_on(cluster.scheduler())?;
    let mut before = Knowledge::default();
    runtime.block_on(before.refresh(job.into))?;
    let found = find(job, runtime)?;
    let mut summary = Summary { found: found.len() as u64, ..Summary::default() };
    let sources: Vec<Source> =
        found.into_iter().filter(|source| job.reread || !before.known.has(source)).collect();
    summary.there = summary.found - sources.len() as u64;
    let Knowledge { mut state, known } = before;
    let order = runtime.block_on(order(job, pattern, &mut state))?;
    let mut adding = ClusterAdd {
        told: AddTally::new(&sources, &known, &state, job.pattern),
        of: (sources.len(), sources.iter().map(|source| source.bytes).sum()),
        into: job.into,
        state,
        session: new_id()?,
    };
    let work = async {
        let done = adding.each(&mut scheduler, &order, &sources, job, stop, &mut on_progress).await;
        scheduler.leave(&adding.session).await;
        adding.look(&mut on_progress).await?;
        done
    };
    summary.stopped = !runtime.block_on(work)?;
    let ClusterAdd { mut told, mut state, .. } = adding;
    if !summary.stopped {
        runtime.block_on(account(&mut told, &sources, &known, job.reread))?;
        summary.replaced = runtime.block_on(show_held(job.into, &mut state))?;
    }
    (_, summary.bytes) = told.so_far();
    summary.counts = told.counts;
    summary.unmatched = told.unmatched;
    summary.problems = told.problems;
    Ok(summary)
}

/// Returns the order for the executors. A new archive gets its first log entry, which identifies
/// the archive.
async fn order(job: &Job<'_>, pattern: Option<&str>, state: &mut State) -> Result<Order, Failure> {
    let into = job.into;
    // If another process adds to the same new archive, its entry serves as well.
    while state.number() == 0 {
        state.commit(into, Change::new(ChangeReason::Add)).await?;
    }
    let number = state.number();
    let writer = log::writer(into, number).await?.ok_or_else(|| {
        Failure::new(format!("cannot add to {into}"), "the last entry of its log is missing")
    })?;
    Ok(Order {
        into: into.whole_name(),
        number,
        writer,
        pattern: pattern.map(str::to_owned),
        batch: job.batch,
        reread: job.reread,
    })
}

/// Running `add` on a cluster.
struct ClusterAdd<'a> {
    told: AddTally<'a>,
    /// Number and bytes of the sources to add.
    of: (usize, u64),
    into: &'a Place,
    state: State,
    session: String,
}

impl ClusterAdd<'_> {
    /// Runs all jobs, one after the other. Returns whether none was stopped.
    async fn each(
        &mut self,
        scheduler: &mut Scheduler,
        order: &Order,
        sources: &[Source],
        job: &Job<'_>,
        stop: &AtomicBool,
        on_progress: &mut impl FnMut(AddProgress),
    ) -> Result<bool, Failure> {
        for packs in jobs(sources.to_vec(), job.batch) {
            if stop.load(Ordering::Relaxed) {
                return Ok(false);
            }
            let plan = plan(order, &packs)?;
            let settings =
                [(BALLISTA_JOB_NAME, "add"), (BALLISTA_SCHEDULER_MAX_PARTITIONS_PER_TASK, "1")];
            let id = scheduler.submit(plan, &self.session, &settings).await?;
            if !self.wait(scheduler, &id, stop, on_progress).await? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Waits until a job is done. Returns whether it was not stopped.
    async fn wait(
        &mut self,
        scheduler: &mut Scheduler,
        job: &str,
        stop: &AtomicBool,
        on_progress: &mut impl FnMut(AddProgress),
    ) -> Result<bool, Failure> {
        let began = Instant::now();
        let mut looked = began;
        let mut is_known = false;
        loop {
            if stop.load(Ordering::Relaxed) {
                scheduler.cancel(job).await?;
                // Running tasks commit what they have done.
                self.settle(on_progress).await?;
                return Ok(false);
            }
            match scheduler.status(job).await? {
                JobState::Done => return Ok(true),
                JobState::Failed(wrong) => {
                    return Err(Failure::new("the cluster cannot add all", wrong)
                        .advise("Added captures are kept; run the command again to continue."));
                }
                JobState::Running => is_known = true,
                JobState::Unknown if is_known || began.elapsed() > UNKNOWN => {
                    return Err(scheduler.lost("the scheduler does not know the job"));
                }
                JobState::Unknown => {}
            }
            if looked.elapsed() > LOOK {
                self.look(on_progress).await?;
                looked = Instant::now();
            }
            tokio::time::sleep(ASK).await;
        }
    }

    /// Waits until cancelled tasks commit nothing more, for a limited time.
    async fn settle(&mut self, on_progress: &mut impl FnMut(AddProgress)) -> Result<(), Failure> {
        let end = Instant::now() + PARTING;
        let mut quiet = 0;
        while quiet < 10 && Instant::now() < end {
            tokio::time::sleep(ASK).await;
            let before = self.state.number();
            self.look(on_progress).await?;
            quiet = if self.state.number() == before { quiet + 1 } else { 0 };
        }
        Ok(())
    }

    /// Reads new entries of the archive's log.
    async fn look(&mut self, on_progress: &mut impl FnMut(AddProgress)) -> Result<(), Failure> {
        self.state.refresh(self.into).await?;
        self.told.refresh(self.into, &self.state).await?;
        let (files, bytes) = self.told.so_far();
        let (of_files, of_bytes) = self.of;
        on_progress(AddProgress { files, of_files, bytes, of_bytes });
        Ok(())
    }
}

fn plan(order: &Order, packs: &[Pack]) -> Result<Vec<u8>, Failure> {
    let encoded = || -> datafusion::common::Result<Vec<u8>> {
        let plan = Arc::new(AddExec::over(order.clone(), packs)?);
        let node = PhysicalPlanNode::try_from_physical_plan(plan, &PhysicalCodec::default())?;
        let mut bytes = Vec::new();
        node.try_encode(&mut bytes)?;
        Ok(bytes)
    };
    encoded().map_err(|error| Failure::new("cannot submit the job", error.strip_backtrace()))
}

/// Compares the results with the sources after all tasks are done. A source that is still here as
/// it was found must have rows in the archive; otherwise the executors did not see it.
async fn account(
    told: &mut AddTally<'_>,
    sources: &[Source],
    before: &crate::add::KnownCaptures,
    reread: bool,
) -> Result<(), Failure> {
    let mut unseen: Vec<&Source> = Vec::new();
    for source in sources {
        if told.has(source) || reread && before.has(source) {
            continue;
        }
        if before.is_unread(source) {
            told.still_unread(source);
        } else if source.is_here().await == Ok(true) {
            unseen.push(source);
        }
    }
    let Some(first) = unseen.first() else { return Ok(()) };
    let wrong = format!(
        "{} were not added, such as {}: executors see them differently",
        windlass_base::figures::ItemCount(unseen.len() as u64, "file"),
        first.name
    );
    Err(Failure::new("the cluster cannot add all", wrong)
        .advise("Every executor must see the captures by the same paths. Added captures are kept."))
}
