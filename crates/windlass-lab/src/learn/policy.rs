//! ACK policy of the device: the rule that gives its ACKs the most constant latency.

use windlass_base::Span;
use windlass_base::figures::fixed;

use super::parameter::{Parameter, time};
use super::path::Path;
use super::replies::Reply;
use super::samples::Samples;

/// Maximum number of replies for which the rules are tested.
const MAX: usize = 20_000;
/// Distance from the median beyond which a time has other causes than the rule.
const FAR: Span = Span::from_millis(100);
/// Least difference between a timer and the latency of an immediate ACK.
const APART: Span = Span::from_millis(5);
/// Latency for two segments from which a device is slow and does not count segments: RFC 5681 asks
/// for an immediate ACK of the second segment.
const SLOW: Span = Span::from_millis(20);
/// Number of samples from which two groups make a rule.
const ENOUGH: u64 = 3;
/// Share of ACKs that must cover the same number of segments for a counting rule.
const MOSTLY: f64 = 0.6;

/// A rule by which a device sends ACKs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Rule {
    EverySegment,
    EverySecond,
    Share(f64),
}

/// A reply, with the device's times for it.
struct ReplyTimes {
    /// Times from each arrival to the ACK.
    waits: Vec<Span>,
    payloads: Vec<u32>,
    offered: u64,
}

/// A rule, with the times that it gives.
#[derive(Debug)]
pub(super) struct Fit {
    pub(super) rule: Rule,
    /// Times from the segment that triggers an ACK to the ACK.
    pub(super) at_once: Samples,
    /// Times from the first data to an ACK of the timer.
    pub(super) timer: Samples,
    /// Shares of the window between which the rule changes.
    between: Option<(f64, f64)>,
    /// True if the rule is one of two readings: a constant latency would give the same ACKs.
    is_reading: bool,
}

impl Fit {
    /// Returns the best rule; `None` without any reply.
    ///
    /// `is_withheld` tells that the analysis finds a receiver that withholds its ACK until more
    /// data has arrived.
    pub(super) fn of(replies: &[Reply], path: &Path, is_withheld: bool) -> Option<Self> {
        let largest = replies.iter().map(Reply::largest).max()?;
        // Small segments may have a latency of their own.
        let step = replies.len().div_ceil(MAX);
        let large = replies.iter().filter(|reply| reply.largest() * 2 >= largest);
        let taken: Vec<ReplyTimes> =
            large.step_by(step).map(|reply| ReplyTimes::new(reply, path)).collect();
        let every = under(Rule::EverySegment, &taken);
        let second = under(Rule::EverySecond, &taken);
        let strays = every.strays();
        if let Some(share) = shares(&taken)
            && share.strays() < strays.min(second.strays()) / 2
        {
            return Some(share);
        }
        if is_withheld && let Some(withheld) = every.withheld(&taken) {
            return Some(withheld);
        }
        if second.has_timer(1) && second.strays() < strays / 2 {
            return Some(second);
        }
        let covering = |count: usize| {
            let same = taken.iter().filter(|taken| taken.waits.len() == count).count();
            same as f64 >= MOSTLY * taken.len() as f64
        };
        let quick = second.at_once.median().unwrap_or_default() < SLOW;
        if let Some(share) = counted(&taken, &covering) {
            return Some(share);
        }
        // If no segment has an ACK of its own, RFC 1122's rule is the most likely.
        let alone = taken.iter().filter(|taken| taken.waits.len() == 1).count();
        let paired = covering(2) || alone * 20 < taken.len();
        if paired && quick && second.strays() <= strays + strays / 5 {
            return Some(second);
        }
        Some(every)
    }

    /// Returns these times as those of a timer that runs until a share of the window has arrived.
    /// `None` if a full window ever arrived before an ACK.
    fn withheld(&self, taken: &[ReplyTimes]) -> Option<Self> {
        let filled = taken.iter().filter_map(|taken| taken.filled().last());
        let most = filled.fold(0.0, f64::max);
        (most < 1.0).then(|| Self {
            rule: Rule::Share(f64::midpoint(most, 1.0)),
            at_once: Samples::default(),
            timer: self.at_once.clone(),
            between: Some((most, 1.0)),
            is_reading: true,
        })
    }

    pub(super) fn samples(&self) -> u64 {
        self.at_once.count() + self.timer.count()
    }

    fn strays(&self) -> Span {
        let of = |samples: &Samples| samples.strays(FAR).scaled(samples.count() as f64);
        (of(&self.at_once) + of(&self.timer)).scaled(1.0 / self.samples().max(1) as f64)
    }

    /// Returns whether the timer expired at least `times` times.
    fn has_timer(&self, times: u64) -> bool {
        let latency = self.at_once.median();
        self.timer.count() >= times
            && latency.zip(self.timer.median()).is_some_and(|(once, timer)| timer > once + APART)
    }

    pub(super) fn parameter(&self) -> Parameter {
        let seen =
            |value: String, how: String| Parameter::seen("ack", "when", value, self.samples(), how);
        let timer = self.timer.median().filter(|_| self.is_reading || self.has_timer(1));
        let told = match timer {
            Some(_) => format!("Its timer: {}", self.timer.told("ACK")),
            None => "Its timer was never seen to expire: assumed.".to_owned(),
        };
        let counts = format!("{} ACKs at once.", self.at_once.count());
        match self.rule {
            Rule::EverySegment => {
                let how = format!(
                    "{counts} They come at the same time after the first segment, for any number \
                     of segments. A timer alone would look the same."
                );
                seen("\"every-segment\"".to_owned(), how)
            }
            Rule::EverySecond => {
                let timer = time(timer.unwrap_or(Span::from_millis(40)));
                let how = format!("{counts} {told}");
                seen(format!("{{ every-second = {{ timer = {timer} }} }}"), how)
            }
            Rule::Share(share) => {
                let timer = time(timer.unwrap_or(Span::from_millis(200)));
                let (low, high) = self.between.unwrap_or((share, share));
                let percent = |share: f64| fixed(share * 100.0, 1);
                let how = match self.is_reading {
                    true => format!(
                        "Two rules fit, and the capture does not tell them apart. This one is that \
                         of `windlass explain`: the device delays its ACK until a share of the \
                         window has come, and no more than {} % of it ever came. {told} The other \
                         one: when = \"every-segment\" with that time as its latency. To tell, \
                         capture a sender with a larger send buffer: SO_SNDBUF of the window.",
                        percent(low)
                    ),
                    false => format!(
                        "{counts} {} % of the window wait, {} % do not. {told}",
                        percent(low),
                        percent(high)
                    ),
                };
                let share = format!("{} %", fixed((share * 100.0).clamp(0.1, 100.0), 1));
                let value =
                    format!("{{ share-of-window = {{ share = \"{share}\", timer = {timer} }} }}");
                seen(value, how)
            }
        }
    }
}

impl ReplyTimes {
    fn new(reply: &Reply, path: &Path) -> Self {
        let covered = reply.covered.iter();
        Self {
            waits: covered.map(|one| path.own(reply.time, one.arrived)).collect(),
            payloads: reply.covered.iter().map(|covered| covered.payload).collect(),
            offered: reply.offered,
        }
    }

    /// Returns the shares of the window that have arrived with each segment.
    fn filled(&self) -> impl Iterator<Item = f64> {
        let offered = self.offered.max(1) as f64;
        self.payloads.iter().scan(0.0, move |sum, payload| {
            *sum += f64::from(*payload) / offered;
            Some(*sum)
        })
    }

    /// Returns the segment that triggers an immediate ACK.
    fn trigger(&self, rule: Rule) -> Option<usize> {
        match rule {
            Rule::EverySegment => Some(0),
            Rule::EverySecond => (self.waits.len() > 1).then_some(1),
            Rule::Share(share) => self.filled().position(|filled| filled > share),
        }
    }
}

/// Returns the times that a rule gives.
fn under(rule: Rule, taken: &[ReplyTimes]) -> Fit {
    let (mut at_once, mut timer) = (Vec::new(), Vec::new());
    for taken in taken {
        match taken.trigger(rule) {
            Some(place) => at_once.extend(taken.waits.get(place)),
            None => timer.extend(taken.waits.first()),
        }
    }
    let (at_once, timer) = (at_once.into_iter().collect(), timer.into_iter().collect());
    Fit { rule, at_once, timer, between: None, is_reading: false }
}

/// Returns the share of the window that best separates immediate ACKs from those of a timer.
fn shares(taken: &[ReplyTimes]) -> Option<Fit> {
    let mut filled: Vec<f64> = taken.iter().flat_map(ReplyTimes::filled).collect();
    filled.sort_by(f64::total_cmp);
    filled.dedup_by(|one, other| (*one - *other).abs() < 0.01);
    // With more values than these no rule can be recognized.
    let step = filled.len().div_ceil(40).max(1);
    let mut best: Option<Fit> = None;
    for pair in filled.windows(2).step_by(step) {
        let (&[low, high] | &[low, .., high]) = pair else { continue };
        if high > 1.0 {
            break;
        }
        let between = Some((low, high));
        let fit = Fit { between, ..under(Rule::Share(f64::midpoint(low, high)), taken) };
        let whole = fit.has_timer(ENOUGH) && fit.at_once.count() >= ENOUGH;
        if whole && best.as_ref().is_none_or(|best| fit.strays() < best.strays()) {
            best = Some(fit);
        }
    }
    best
}

/// Returns a share of the window, without a timer, for ACKs that mostly cover the same number of
/// segments, three or more. They come right after the last segment, whatever the window was before.
fn counted(taken: &[ReplyTimes], covering: &dyn Fn(usize) -> bool) -> Option<Fit> {
    let count = (3..=64).find(|count| covering(*count))?;
    let usual = taken.iter().find(|taken| taken.waits.len() == count)?;
    if taken.iter().any(|taken| taken.offered != usual.offered) {
        return None;
    }
    let mut filled = usual.filled().skip(count - 2);
    let (low, high) = (filled.next()?, filled.next()?);
    let fit = under(Rule::Share(f64::midpoint(low, high)), taken);
    let quick = fit.at_once.median()? < SLOW && high <= 1.0;
    quick.then_some(Fit { between: Some((low, high)), ..fit })
}
