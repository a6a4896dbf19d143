//! `add --cluster`: finds what is to be added, hands it out, and counts by the log what came.

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
use super::submit::{Job as Submitted, Scheduler};
use super::task::Order;
use super::told::Told;
use crate::add::source::Source;
use crate::add::{Job, Knowledge, Progress, Summary, find};
use crate::replace::show_held;
use crate::store::{Change, Did, Place, State, log, new_id};

/// How often it is asked what a job is at,
const ASK: Duration = Duration::from_millis(100);

/// and how far it is: what came into the archive is read for that.
const LOOK: Duration = Duration::from_secs(2);

/// How long a scheduler may not know a job that it has taken.
const UNKNOWN: Duration = Duration::from_secs(60);

/// How long tasks of a job that was ended may take to put into the archive what they have done.
const PARTING: Duration = Duration::from_secs(5);

/// Adds what is not there, by the executors of a cluster. `pattern` is the job's, as it was
/// written.
///
/// # Errors
/// Where something is not there to be read, the archive cannot be written, or the cluster fails.
pub fn add(
    cluster: &Cluster,
    job: &Job<'_>,
    pattern: Option<&str>,
    stop: &Arc<AtomicBool>,
    runtime: &Handle,
    mut on_progress: impl FnMut(Progress),
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
    let mut adding = Adding {
        told: Told::new(&sources, &known, &state, job.pattern),
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
    let Adding { mut told, mut state, .. } = adding;
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

/// What executors do, and with which archive. A new one gets its first entry: by that they know
/// it.
async fn order(job: &Job<'_>, pattern: Option<&str>, state: &mut State) -> Result<Order, Failure> {
    let into = job.into;
    // Where another adds to the same new archive, its entry is as good.
    while state.number() == 0 {
        state.commit(into, Change::new(Did::Add)).await?;
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

/// The archive while executors add to it.
struct Adding<'a> {
    told: Told<'a>,
    /// Sources that are to be added, and their bytes.
    of: (usize, u64),
    into: &'a Place,
    state: State,
    session: String,
}

impl Adding<'_> {
    /// Has all jobs done, one after the other; whether none was stopped.
    async fn each(
        &mut self,
        scheduler: &mut Scheduler,
        order: &Order,
        sources: &[Source],
        job: &Job<'_>,
        stop: &AtomicBool,
        on_progress: &mut impl FnMut(Progress),
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

    /// Waits until a job is done; whether it was not stopped.
    async fn wait(
        &mut self,
        scheduler: &mut Scheduler,
        job: &str,
        stop: &AtomicBool,
        on_progress: &mut impl FnMut(Progress),
    ) -> Result<bool, Failure> {
        let began = Instant::now();
        let mut looked = began;
        let mut is_known = false;
        loop {
            if stop.load(Ordering::Relaxed) {
                scheduler.cancel(job).await?;
                // Tasks that are at work put into the archive what they have done.
                self.settle(on_progress).await?;
                return Ok(false);
            }
            match scheduler.status(job).await? {
                Submitted::Done => return Ok(true),
                Submitted::Failed(wrong) => {
                    return Err(Failure::new("the cluster cannot add all", wrong)
                        .advise("What came into the archive is kept; run it again to go on."));
                }
                Submitted::Running => is_known = true,
                Submitted::Unknown if is_known || began.elapsed() > UNKNOWN => {
                    return Err(scheduler.lost("it does not know the job"));
                }
                Submitted::Unknown => {}
            }
            if looked.elapsed() > LOOK {
                self.look(on_progress).await?;
                looked = Instant::now();
            }
            tokio::time::sleep(ASK).await;
        }
    }

    /// Waits until nothing more comes of tasks that were ended, at most for so long.
    async fn settle(&mut self, on_progress: &mut impl FnMut(Progress)) -> Result<(), Failure> {
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

    /// Takes what came into the archive.
    async fn look(&mut self, on_progress: &mut impl FnMut(Progress)) -> Result<(), Failure> {
        self.state.refresh(self.into).await?;
        self.told.refresh(self.into, &self.state).await?;
        let (files, bytes) = self.told.so_far();
        let (of_files, of_bytes) = self.of;
        on_progress(Progress { files, of_files, bytes, of_bytes });
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
    encoded().map_err(|error| Failure::new("cannot hand in the job", error.strip_backtrace()))
}

/// Holds what came against what was wanted: where a source is here as it was found, and all tasks
/// are done, there is something of it in the archive, or executors did not see it.
async fn account(
    told: &mut Told<'_>,
    sources: &[Source],
    before: &crate::add::Known,
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
        "of {} nothing came, such as {}: executors do not see them as they are here",
        windlass_base::figures::Counted(unseen.len() as u64, "file"),
        first.name
    );
    Err(Failure::new("the cluster cannot add all", wrong).advise(
        "Every executor must see the captures by the same paths; what came into the archive is \
         kept.",
    ))
}
