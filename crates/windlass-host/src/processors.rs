//! Processors during a run, and the programs that use them.

use windlass_base::Span;

use super::census::{BusyProcess, Census, Scope, Shares};
use super::proc::Stat;
use super::rates::CpuShares;
use super::read::Source;

/// Minimum share of one processor for another program in the report, and maximum number of such
/// programs.
const OTHERS: f64 = 0.05;
const MAX_OTHERS: usize = 5;

/// Minimum time for which a share is computed. Each of a process's two counts may be off by a tick
/// of 10 ms: together a tenth of 200 ms.
pub const SHORTEST: Span = Span::from_millis(200);

/// The processors of this machine between two samples.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Processors {
    /// Time between the samples.
    pub seconds: Span,
    /// Number of processors.
    pub processors: usize,
    /// Share of all processors' time in which they worked.
    pub busy_share: f64,
    /// Busy share of the busiest processor.
    pub busiest_core_share: f64,
    /// Part of that share in interrupts and their deferred work.
    pub busiest_core_interrupt_share: f64,
    /// Share of one processor used by this program.
    pub own_share: f64,
    /// Other programs with the largest shares, each with its children.
    pub others: Vec<BusyProcess>,
}

/// Samples the processors, and computes their shares since the sample before.
#[derive(Debug)]
pub struct ProcessorSampler {
    source: Source,
    last: ProcessorSample,
}

#[derive(Debug)]
struct ProcessorSample {
    stat: Stat,
    census: Census,
}

impl ProcessorSample {
    fn now(source: &Source) -> Option<Self> {
        let stat = source.stat().ok()?;
        Some(Self { stat, census: source.census() })
    }
}

impl ProcessorSampler {
    /// Takes the first sample; `None` if this machine does not tell.
    pub fn begin() -> Option<Self> {
        let source = Source::open(std::path::Path::new("/"), &[], &[]).ok()?;
        let last = ProcessorSample::now(&source)?;
        Some(Self { source, last })
    }

    /// Returns the shares since the sample before; `None` if too little time has passed.
    pub fn look(&mut self) -> Option<Processors> {
        let now = ProcessorSample::now(&self.source)?;
        let before = std::mem::replace(&mut self.last, now);
        let now = &self.last;
        let seconds = now.census.at - before.census.at;
        if seconds < SHORTEST {
            return None;
        }
        let shares = Shares::between(&before.census, &now.census, self.source.scale.ticks);
        let own = std::process::id();
        let busiest = busiest_core(&before.stat, &now.stat);
        Some(Processors {
            seconds,
            processors: now.stat.cores.len().max(1),
            busy_share: CpuShares::between(&before.stat.all, &now.stat.all).busy(),
            busiest_core_share: busiest.busy(),
            busiest_core_interrupt_share: busiest.irq_share + busiest.softirq_share,
            own_share: shares.family(own, &[]).map_or(0.0, |family| family.own_cpu_share),
            others: others(&self.source, &shares, &[own]),
        })
    }
}

/// Returns the shares of the busiest processor.
fn busiest_core(before: &Stat, now: &Stat) -> CpuShares {
    let all = now.cores.iter().filter_map(|(core, times)| {
        let (_, earlier) = before.cores.iter().find(|(known, _)| known == core)?;
        Some(CpuShares::between(earlier, times))
    });
    all.max_by(|one, next| one.busy().total_cmp(&next.busy())).unwrap_or_default()
}

/// Returns a number that is the same for all programs of this running system, in any namespace, and
/// reveals nothing else of it. It is derived from the kernel's `boot_id` (`random(4)`).
pub fn system_number() -> Option<String> {
    let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(digest(text.trim())).filter(|_| !text.trim().is_empty())
}

/// Returns the FNV-1a hash as 16 digits.
fn digest(text: &str) -> String {
    let byte = |sum: u64, byte: u8| (sum ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    format!("{:016x}", text.bytes().fold(0xcbf2_9ce4_8422_2325, byte))
}

/// Returns the processes with the largest shares beside `without` and its children.
pub fn others(source: &Source, shares: &Shares<'_>, without: &[u32]) -> Vec<BusyProcess> {
    // They may have the same shell as windlass, so that shell and its ancestors are split.
    let own = std::process::id();
    let from = without.iter().chain([&own]);
    let split = from.flat_map(|pid| shares.ancestors(*pid).into_iter().skip(1)).collect();
    let scope = Scope { without: without.to_vec(), split, least: OTHERS, most: MAX_OTHERS };
    let mut others = shares.busiest(&scope, &mut |pid| source.unit(pid));
    for other in &mut others {
        other.belongs_to = source.belongs_to(other.pid, other.belongs_to.is_kernel);
    }
    others
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_processor_with_most_work_is_told_with_its_interrupts() {
        // user, nice, system, idle, iowait, irq, softirq, steal
        let before = Stat { cores: vec![(0, [0; 8]), (1, [0; 8])], ..Stat::default() };
        let now = Stat {
            cores: vec![(0, [50, 0, 0, 50, 0, 0, 0, 0]), (1, [5, 0, 10, 10, 0, 5, 70, 0])],
            ..Stat::default()
        };
        let most = busiest_core(&before, &now);
        assert!((most.busy() - 0.9).abs() < 1e-9, "{most:?}");
        assert!((most.softirq_share + most.irq_share - 0.75).abs() < 1e-9, "{most:?}");
        assert_eq!(busiest_core(&before, &Stat::default()), CpuShares::default());
    }

    #[test]
    fn a_system_has_one_number() {
        assert_eq!(system_number(), system_number());
        assert_eq!(digest("a"), "af63dc4c8601ec8c", "FNV-1a of its authors' test");
    }

    #[test]
    fn of_a_moment_nothing_is_told() {
        let mut looker = ProcessorSampler::begin().unwrap();
        assert_eq!(looker.look(), None);
    }
}
