//! Statistics of two groups of measurements: medians with confidence intervals, the rank test of
//! Wilcoxon, Mann and Whitney, and the shift of Hodges and Lehmann.
//!
//! These methods assume no distribution of the measurements, and are robust against outliers
//! (Conover, Practical Nonparametric Statistics, chapters 3.2 and 5.1; Hodges and Lehmann 1963).

/// Maximum number of measurements for an exact test, which counts all permutations of ranks. Larger
/// samples use the normal distribution, which is accurate enough then.
const EXACT: usize = 60;

/// Sample of measurements.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sample {
    /// Sorted values.
    values: Vec<f64>,
}

/// Interval that contains a value with 95 % confidence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// Difference of two groups.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Difference {
    /// Two-sided p-value: probability of at least as large a difference if only chance is at work.
    pub p: f64,
    /// Increase of the second group: the median of the differences of all pairs.
    pub median: f64,
    /// 95 % confidence interval of the increase; `None` if there are too few measurements.
    pub interval: Option<Interval>,
    /// Increase as a share of the first group, by the quotients of all pairs; `None` if a value is
    /// not above zero.
    pub median_share: Option<f64>,
    /// 95 % confidence interval of the share.
    pub interval_share: Option<Interval>,
}

impl Sample {
    /// Returns a sample of these measurements, without values that are not finite.
    pub fn new(values: impl IntoIterator<Item = f64>) -> Self {
        let mut values: Vec<f64> = values.into_iter().filter(|value| value.is_finite()).collect();
        values.sort_by(f64::total_cmp);
        Self { values }
    }

    /// Returns the number of measurements.
    pub const fn len(&self) -> usize {
        self.values.len()
    }

    /// Returns whether the sample is empty.
    pub const fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Returns the minimum and the maximum.
    pub fn range(&self) -> Option<Interval> {
        Some(Interval { low: *self.values.first()?, high: *self.values.last()? })
    }

    /// Returns the median; for an even number of values, the mean of the middle two.
    pub fn median(&self) -> Option<f64> {
        middle(&self.values)
    }

    /// Returns the interval that contains the true median with at least 95 % confidence, by the
    /// order of the values alone. It needs at least six values.
    pub fn interval(&self) -> Option<Interval> {
        let count = self.values.len();
        // The chance that fewer than `place` of all lie below the median: a binomial
        // distribution, and each side may have 2.5 %.
        let mut below = 0.0;
        let mut likelihood = 0.5_f64.powi(i32::try_from(count).ok()?);
        let mut place = 0;
        while below + likelihood <= 0.025 && place < count / 2 {
            below += likelihood;
            likelihood *= (count - place) as f64 / (place + 1) as f64;
            place += 1;
        }
        let place = place.checked_sub(1)?;
        Some(Interval { low: self.values[place], high: self.values[count - 1 - place] })
    }
}

fn middle(sorted: &[f64]) -> Option<f64> {
    let half = sorted.len() / 2;
    let upper = *sorted.get(half)?;
    Some(if sorted.len() % 2 == 1 { upper } else { f64::midpoint(sorted[half - 1], upper) })
}

impl Difference {
    /// Compares the second group with the first. If one is empty, nothing is significant.
    pub fn between(first: &Sample, second: &Sample) -> Self {
        let (one, other) = (&first.values, &second.values);
        let is_positive = one.iter().chain(other).all(|value| *value > 0.0);
        let keep = trimmed(one.len(), other.len());
        let pairs = |of: &dyn Fn(f64, f64) -> f64| {
            let mut all: Vec<f64> =
                one.iter().flat_map(|a| other.iter().map(|b| of(*a, *b))).collect();
            all.sort_by(f64::total_cmp);
            let median = middle(&all);
            let interval = keep.and_then(|keep| {
                Some(Interval { low: *all.get(keep)?, high: *all.get(all.len() - 1 - keep)? })
            });
            (median, interval)
        };
        let (median, interval) = pairs(&|a, b| b - a);
        let (share, interval_share) =
            if is_positive { pairs(&|a, b| b / a - 1.0) } else { (None, None) };
        Self {
            p: rank_test(one, other),
            median: median.unwrap_or(0.0),
            interval,
            median_share: share,
            interval_share,
        }
    }
}

/// Returns twice the rank of every value, the first group's before the second's. Equal values share
/// their ranks.
fn doubled_ranks(one: &[f64], other: &[f64]) -> (Vec<usize>, Vec<usize>) {
    let mut all: Vec<(f64, bool)> = one.iter().map(|value| (*value, true)).collect();
    all.extend(other.iter().map(|value| (*value, false)));
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (mut ranks, mut ties) = ((Vec::new(), Vec::new()), Vec::new());
    let mut start = 0;
    while start < all.len() {
        let same = all[start..].iter().take_while(|value| value.0 == all[start].0).count();
        // Ranks from `start + 1` to `start + same`: their mean, twice.
        let doubled = 2 * start + same + 1;
        for (_, is_first) in &all[start..start + same] {
            if *is_first { ranks.0.push(doubled) } else { ranks.1.push(doubled) }
        }
        ties.push(same);
        start += same;
    }
    ranks.0.extend(ranks.1);
    (ranks.0, ties)
}

/// Returns the probability of ranks at least as uneven by chance alone.
fn rank_test(one: &[f64], other: &[f64]) -> f64 {
    if one.is_empty() || other.is_empty() {
        return 1.0;
    }
    let (ranks, ties) = doubled_ranks(one, other);
    let sum: usize = ranks[..one.len()].iter().sum();
    let all: usize = ranks.iter().sum();
    // Twice the mean of the sum, times the number of all, to stay with whole numbers.
    let off = (sum * ranks.len()).abs_diff(all * one.len());
    if ranks.len() <= EXACT {
        exact(&ranks, one.len(), all, off)
    } else {
        normal(one.len(), other.len(), &ties, off as f64 / ranks.len() as f64 / 2.0)
    }
}

/// Returns the p-value by counting all ways to choose `taken` ranks, by their sums (Conover,
/// chapter 5.1).
fn exact(ranks: &[usize], taken: usize, all: usize, off: usize) -> f64 {
    let mut ways = vec![vec![0.0_f64; all + 1]; taken + 1];
    ways[0][0] = 1.0;
    for (place, rank) in ranks.iter().enumerate() {
        for count in (1..=taken.min(place + 1)).rev() {
            let (fewer, more) = ways.split_at_mut(count);
            let (from, to) = (&fewer[count - 1], &mut more[0]);
            for sum in *rank..=all {
                to[sum] += from[sum - rank];
            }
        }
    }
    let is_as_far = |sum: usize| (sum * ranks.len()).abs_diff(all * taken) >= off;
    let counted = ways[taken].iter().enumerate();
    let far: f64 = counted.filter(|(sum, _)| is_as_far(*sum)).map(|(_, ways)| ways).sum();
    let total: f64 = ways[taken].iter().sum();
    (far / total).min(1.0)
}

/// Returns the p-value by the normal distribution, with the correction for ties.
fn normal(first: usize, second: usize, ties: &[usize], off: f64) -> f64 {
    let (a, b) = (first as f64, second as f64);
    let all = a + b;
    let tied: f64 = ties.iter().map(|same| *same as f64).map(|same| same.powi(3) - same).sum();
    let variance = a * b / 12.0 * (all + 1.0 - tied / (all * (all - 1.0)));
    if variance <= 0.0 {
        return 1.0;
    }
    // Sums are integers, so the continuity correction is one half.
    let z = (off - 0.5).max(0.0) / variance.sqrt();
    2.0 * beyond(z)
}

/// Returns the upper tail of the normal distribution at `z` (Abramowitz and Stegun 26.2.17, to
/// 7.5e-8).
fn beyond(z: f64) -> f64 {
    let t = 1.0 / (1.0 + 0.231_641_9 * z);
    let series = t
        * (0.319_381_530
            + t * (-0.356_563_782
                + t * (1.781_477_937 + t * (-1.821_255_978 + t * 1.330_274_429))));
    (-z * z / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt() * series
}

/// Returns the integer part of a value that is not negative.
fn whole(value: f64) -> usize {
    usize::try_from(windlass_base::whole_part(value)).unwrap_or(usize::MAX)
}

/// Returns how many of the pairwise differences lie outside the 95 % interval on each side; `None`
/// if there are too few for an interval.
fn trimmed(first: usize, second: usize) -> Option<usize> {
    if first == 0 || second == 0 {
        return None;
    }
    let (a, b) = (first as f64, second as f64);
    if first + second > EXACT {
        let spread = (a * b * (a + b + 1.0) / 12.0).sqrt();
        let keep = a * b / 2.0 - 1.96 * spread - 0.5;
        // The value is negative only for one or two measurements against all others.
        return (keep >= 0.0).then(|| whole(keep));
    }
    // Counts the permutations without ties by the number of pairs in which the second value is
    // higher.
    let most = first * second;
    let mut ways = vec![vec![0.0_f64; most + 1]; first + 1];
    ways[0][0] = 1.0;
    for rank in 0..first + second {
        for count in (1..=first.min(rank + 1)).rev() {
            let (fewer, more) = ways.split_at_mut(count);
            // Only the excess over the minimum rank counts.
            let beyond = rank + 1 - count;
            if beyond > second {
                continue;
            }
            for sum in beyond..=most {
                more[0][sum] += fewer[count - 1][sum - beyond];
            }
        }
    }
    let total: f64 = ways[first].iter().sum();
    let mut below = 0.0;
    let mut keep = 0;
    for ways in &ways[first] {
        below += ways;
        if below / total > 0.025 {
            break;
        }
        keep += 1;
    }
    // This many may lie outside. Without one outside, the confidence exceeds 95 %, which needs at
    // least one.
    usize::checked_sub(keep, 1)
}

#[cfg(test)]
#[path = "statistics_tests.rs"]
mod tests;
