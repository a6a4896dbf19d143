//! One trial: a capture, what happened to it, and the rules that its reports break.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use windlass_base::{Span, Timestamp};
use windlass_lab::what_if::try_remedies;
use windlass_trace::report::{Confidence, ConnectionReport};
use windlass_trace::{Analyzer, Keep, Reasons, WaitSelection};
use windlass_wire::Segment;

use super::audit::{PacketSums, audit, promises};
use windlass_testkit::mutate::Mutation;
use windlass_testkit::random::Random;

/// The most packets of a capture that are taken: more add time, and hardly anything new.
const MAX_PACKETS: usize = 1_500;

/// A capture to start from.
pub(crate) struct Source {
    pub(crate) name: String,
    pub(crate) segments: Vec<Segment>,
}

/// A capture and the seed of what happens to it. Seed 0 leaves it as it is.
#[derive(Clone, Copy)]
pub(crate) struct Trial<'a> {
    pub(crate) source: &'a Source,
    pub(crate) seed: u64,
}

/// A rule that was broken.
#[derive(Debug)]
pub(crate) struct TrialBreach {
    pub(crate) rule: &'static str,
    /// True if the report had high confidence.
    pub(crate) sure: bool,
    /// The kinds of the mutations.
    pub(crate) kinds: String,
    /// The report and how it breaks the rule.
    pub(crate) how: String,
    pub(crate) name: String,
    pub(crate) seed: u64,
}

/// The waits of each connection that reasons tell of, as `--why` does.
const WAITS: usize = 10;

/// A connection's report.
struct JudgedCapture {
    report: ConnectionReport,
    /// The report with the rates of the fitted model, as `explain` prints it, if requested.
    modelled: Option<ConnectionReport>,
    why: Reasons,
    seen: PacketSums,
}

/// One trial of so many asks the fitted model, too: it takes some milliseconds.
const MODELLED: u64 = 8;

/// Each connection's report with the reasons of so many waits.
fn reports(segments: &[Segment], waits: usize, model: bool) -> Vec<JudgedCapture> {
    let mut analyzer = Analyzer::new(Keep::All);
    let mut seen: BTreeMap<u64, (PacketSums, Timestamp)> = BTreeMap::new();
    for segment in segments {
        let number = analyzer.segment(segment, &mut ());
        let (seen, last) = seen.entry(number).or_insert((PacketSums::default(), segment.time));
        let gap = segment.time.since(*last);
        seen.span += gap.or_zero();
        seen.back += (-gap).or_zero();
        seen.packets += 1;
        seen.numbers.insert(segment.number);
        seen.payload += u64::from(segment.payload);
        *last = segment.time;
    }
    let (finished, _) = analyzer.finish();
    let report = |finished: &windlass_trace::Transfer| {
        let report = finished.report(|end| end.to_string(), None);
        let why = finished.why(|end| end.to_string(), None, WaitSelection::Costliest(waits));
        let seen = seen.get(&report.number).map_or(PacketSums::default(), |(seen, _)| seen.clone());
        let modelled = model.then(|| {
            let mut modelled = report.clone();
            try_remedies(&mut modelled, finished);
            modelled
        });
        JudgedCapture { report, modelled, why, seen }
    };
    finished.iter().map(report).collect()
}

/// A number for a name (FNV-1a), so that a trial hangs on its capture and seed alone.
fn mixed(name: &str) -> u64 {
    let fold = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    name.bytes().fold(0xcbf2_9ce4_8422_2325, fold) >> 24
}

impl Trial<'_> {
    /// Makes the mutations, and the segments before and after them.
    pub(crate) fn make(&self) -> (Vec<Mutation>, Vec<Segment>, Vec<Segment>) {
        let random = &mut Random::new(mixed(&self.source.name), self.seed);
        let all = &self.source.segments;
        let from = if random.chance(0.5) { 0 } else { random.below(all.len() + 1) };
        let from = from.min(all.len().saturating_sub(MAX_PACKETS));
        let before = all[from..all.len().min(from + MAX_PACKETS)].to_vec();
        if self.seed == 0 {
            return (vec![Mutation::None], all.clone(), all.clone());
        }
        let mut mutations = vec![Mutation::any(random)];
        if random.chance(0.3) {
            mutations.push(Mutation::any(random));
        }
        let mut after = before.clone();
        for mutation in &mutations {
            after = mutation.of(&after, random);
        }
        (mutations, before, after)
    }

    /// The rules that its reports break.
    pub(crate) fn run(&self) -> Vec<TrialBreach> {
        let (mutations, before, after) = self.make();
        let kinds: Vec<&str> = mutations.iter().map(Mutation::kind).collect();
        let found = |rule, report: Option<&ConnectionReport>, how: String| {
            let named = report.map_or(String::new(), |report| {
                let verdict = &report.verdict;
                let because = verdict.cause.because().map_or("", windlass_base::LimitReason::id);
                let (limit, sure) = (verdict.cause.limit().id(), verdict.confidence.id());
                format!("#{} {limit}/{because}, {sure}: ", report.number)
            });
            TrialBreach {
                rule,
                sure: report.is_some_and(|report| report.verdict.confidence == Confidence::High),
                kinds: kinds.join("+"),
                how: format!("{named}{how}"),
                name: self.source.name.clone(),
                seed: self.seed,
            }
        };
        // All waits of what nothing happened to: each condition of each is written as text.
        let waits = if self.seed == 0 { usize::MAX } else { WAITS };
        let model = self.seed.is_multiple_of(MODELLED);
        let made = catch_unwind(AssertUnwindSafe(|| reports(&after, waits, model)));
        let Ok(made) = made else { return vec![found("no panic", None, String::new())] };
        let mut all = Vec::new();
        for JudgedCapture { report, modelled, why, seen } in &made {
            let mut breaches = audit(report, why, seen);
            breaches.extend(modelled.iter().flat_map(promises));
            for breach in breaches {
                all.push(found(breach.rule, Some(report), breach.how));
            }
        }
        if self.seed > 0 && mutations.iter().all(Mutation::is_neutral) {
            let plain = reports(&before, 0, false);
            for JudgedCapture { report, .. } in &made {
                let own = plain.iter().find(|plain| plain.report.number == report.number);
                let told = own.map(|plain| told(&plain.report));
                if told.as_deref() != Some(self::told(report).as_str()) {
                    let how = format!("{:?}, not {told:?}", self::told(report));
                    all.push(found("names and origins change nothing", Some(report), how));
                }
            }
        }
        all
    }
}

/// Returns the part of a report that must not depend on names, clock origins and initial sequence
/// numbers.
fn told(report: &ConnectionReport) -> String {
    let verdict = &report.verdict;
    let because = verdict.cause.because().map_or("", windlass_base::LimitReason::id);
    let rtt = report.rtt_seconds.map(|rtt| rtt.min).unwrap_or(Span::ZERO);
    format!(
        "{}/{because} {} {} {} {rtt}",
        verdict.cause.limit().id(),
        verdict.confidence.id(),
        report.bytes.get(),
        report.seconds
    )
}
