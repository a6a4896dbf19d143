//! Search for the rate at which a path begins to lose datagrams. Pure: the caller tests each rate
//! that the search names, and returns the result.
//!
//! The rate doubles until the path does not carry it. Then the gap is halved until it is small, as
//! RFC 2544 section 26.1 searches a throughput. A path that always loses some datagrams has no such
//! rate, so only loss beyond the usual counts. A rate beyond the path's fills its queue before it
//! loses, which may take longer than a test. Datagrams that arrive more slowly than they were sent
//! are therefore not carried either.

use serde::Serialize;
use windlass_base::{Rate, Span};

use crate::report::share;

/// Ratio of the lowest refused rate to the highest carried one at which the search ends.
const GAP: f64 = 1.02;

/// Loss beyond the usual, as a share, that does not count against a rate.
const LEAST: f64 = 0.001;

/// Largest usual loss of a path, as a share.
const MOST_USUAL: f64 = 0.3;

/// Factor by which the second rate is slower if the first loses datagrams. It shows whether the
/// path always loses them.
const SLOWER: f64 = 4.0;

/// Slowest tested rate, in bits per second.
const SLOWEST: f64 = 1e4;

/// Number of standard errors beyond which a difference is not chance.
const ERRORS: f64 = 3.0;

/// Tolerance of the arrival time over the sending time: as a share, and a constant for a late first
/// or last datagram.
const LONGER: f64 = 0.01;
const LATE: Span = Span::from_millis(5);

/// Share of its rate below which a sender is the limit.
const KEPT: f64 = 0.98;

/// Maximum number of tests: a path that changes is not tested forever.
const MOST_TRIALS: usize = 64;

/// Result of a test at one rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trial {
    /// Requested rate.
    pub asked: Rate,
    /// Sender's rate.
    pub sent: Rate,
    /// Number of datagrams sent.
    pub datagrams: u64,
    /// Number of datagrams that the path lost.
    pub lost: u64,
    /// Number of datagrams that the receiver's full socket dropped.
    pub overflowed: u64,
    /// Duration of the sending.
    pub sending: Span,
    /// Duration of the arrivals.
    pub receiving: Span,
}

/// Reason why the path does not carry a rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Limit {
    /// More datagrams were lost than at slower rates.
    Loss,
    /// Datagrams arrived more slowly than they were sent: a queue grew, which loses once it is
    /// full.
    Queue,
    /// The sender could not keep the rate.
    Sender,
    /// The receiver's full socket dropped datagrams.
    Receiver,
}

/// A test at one rate with its verdict.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct JudgedTrial {
    /// Requested rate.
    #[serde(rename = "bytes_per_second")]
    pub asked: Rate,
    /// Sender's rate.
    #[serde(rename = "sent_bytes_per_second")]
    pub sent: Rate,
    /// Number of datagrams sent.
    pub datagrams: u64,
    /// Number of datagrams that the path lost.
    pub lost: u64,
    /// Reason why the rate was not carried; nothing if it was.
    pub limit: Option<Limit>,
}

/// Search for the highest rate that a path carries.
#[derive(Clone, Debug)]
pub struct Search {
    next: Option<Rate>,
    /// Highest rate that was carried, and the lowest that was not.
    carried: Option<Rate>,
    refused: Option<(Rate, Limit)>,
    /// Rate that was not carried once, and is tested again.
    doubted: Option<Rate>,
    /// Datagrams sent and lost at up to half of the refused rate. Rates nearer to it would distort
    /// the usual loss.
    usual: (u64, u64),
    /// First rate and its losses, if any: the path may always lose as many.
    unclear: Option<(JudgedTrial, u64)>,
    judged: Vec<JudgedTrial>,
}

/// Result of a search.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SearchResult {
    /// All tests.
    pub trials: Vec<JudgedTrial>,
    /// Highest rate that was carried, as sent; nothing if the first rate was not.
    #[serde(rename = "carried_bytes_per_second")]
    pub carried: Option<Rate>,
    /// Lowest rate that was not carried.
    #[serde(rename = "refused_bytes_per_second")]
    pub refused: Option<Rate>,
    /// Reason for that. If it is the sender or the receiver, the path was not filled.
    pub limit: Option<Limit>,
}

impl Search {
    /// Returns a search that begins at a rate which the path probably carries.
    pub const fn new(first: Rate) -> Self {
        Self {
            next: Some(first),
            carried: None,
            refused: None,
            doubted: None,
            usual: (0, 0),
            unclear: None,
            judged: Vec::new(),
        }
    }

    /// Returns the next rate to test; nothing if the search is over.
    pub const fn next(&self) -> Option<Rate> {
        self.next
    }

    /// Records the result of a test, and decides on the next rate.
    pub fn take(&mut self, trial: &Trial) -> JudgedTrial {
        let limit = self.limit(trial);
        let Trial { asked, sent, datagrams, lost, .. } = *trial;
        let judged = JudgedTrial { asked, sent, datagrams, lost, limit };
        self.judged.push(judged);
        self.next = self.decide(&judged, lost);
        if self.judged.len() >= MOST_TRIALS {
            self.next = None;
        }
        judged
    }

    fn limit(&self, trial: &Trial) -> Option<Limit> {
        let lost = (trial.datagrams, trial.lost);
        let has_usual = self.usual.0 > 0;
        if share(trial.lost, trial.datagrams) > MOST_USUAL || has_usual && is_more(lost, self.usual)
        {
            return Some(Limit::Loss);
        }
        if trial.receiving > trial.sending + trial.sending.scaled(LONGER) + LATE {
            return Some(Limit::Queue);
        }
        if share(trial.overflowed, trial.datagrams) > LEAST {
            return Some(Limit::Receiver);
        }
        let kept = trial.sent.bytes_per_second() >= KEPT * trial.asked.bytes_per_second();
        (!kept).then_some(Limit::Sender)
    }

    fn decide(&mut self, judged: &JudgedTrial, lost: u64) -> Option<Rate> {
        let rate = judged.asked;
        let slower = || {
            let slower = rate.bits_per_second() / SLOWER;
            (slower >= SLOWEST).then(|| Rate::from_bits_per_second(slower))
        };
        if judged.limit.is_none() && self.carried.is_none() {
            let now = (judged.datagrams, lost);
            let before = self.unclear.replace((*judged, lost));
            if let Some((before, lost)) = before {
                if is_more((before.datagrams, lost), now) {
                    self.refused = Some((before.asked, Limit::Loss));
                } else {
                    // Both lost the same share: the path always loses it.
                    self.usual = (before.datagrams, lost);
                    self.carried = Some(before.sent);
                    self.unclear = None;
                }
            }
            if self.unclear.is_some()
                && share(lost, judged.datagrams) > LEAST
                && let Some(slower) = slower()
            {
                return Some(slower);
            }
            self.unclear = None;
        }
        match judged.limit {
            None => {
                self.doubted = None;
                let half = |refused: Rate| refused.bytes_per_second() / 2.0;
                if self.refused.is_none_or(|(refused, _)| rate.bytes_per_second() <= half(refused))
                {
                    self.usual.0 += judged.datagrams;
                    self.usual.1 += lost;
                }
                let sent = judged.sent;
                self.carried = Some(self.carried.map_or(sent, |best| larger(best, sent)));
            }
            // Cross traffic may come at any moment, so each refused rate is tested twice.
            Some(_) if self.doubted != Some(rate) => {
                self.doubted = Some(rate);
                return Some(rate);
            }
            Some(limit @ (Limit::Sender | Limit::Receiver)) => {
                // The sender is no faster, and the path carried what was sent.
                if limit == Limit::Sender {
                    let sent = judged.sent;
                    self.carried = Some(self.carried.map_or(sent, |best| larger(best, sent)));
                }
                self.refused.get_or_insert((rate, limit));
                return None;
            }
            Some(limit) => self.refused = Some((rate, limit)),
        }
        match (self.carried, self.refused) {
            (Some(carried), Some((refused, _))) => {
                let (low, high) = (carried.bytes_per_second(), refused.bytes_per_second());
                (high / low > GAP).then(|| Rate::from_bytes_per_second((low * high).sqrt()))
            }
            (Some(carried), None) => {
                Some(Rate::from_bytes_per_second(carried.bytes_per_second() * 2.0))
            }
            // Not even the first rate was carried: the path is slower than assumed.
            (None, _) => slower(),
        }
    }

    /// Returns the result so far.
    pub fn found(&self) -> SearchResult {
        SearchResult {
            trials: self.judged.clone(),
            carried: self.carried,
            refused: self.refused.map(|(rate, _)| rate),
            limit: self.refused.map(|(_, limit)| limit),
        }
    }
}

/// Returns whether one loss is larger than the other by more than chance; each is a pair of
/// datagrams sent and lost.
fn is_more((one, one_lost): (u64, u64), (other, other_lost): (u64, u64)) -> bool {
    let all = share(one_lost + other_lost, one + other);
    let parts = 1.0 / one.max(1) as f64 + 1.0 / other.max(1) as f64;
    let error = (all * (1.0 - all) * parts).sqrt();
    share(one_lost, one) - share(other_lost, other) > (ERRORS * error).max(LEAST)
}

fn larger(one: Rate, other: Rate) -> Rate {
    if one > other { one } else { other }
}

#[cfg(test)]
mod tests {
    use windlass_base::whole_part;

    use super::*;

    /// A path with a rate in bytes per second, a queue, and a share of loss, and a sender with a
    /// maximum rate.
    #[derive(Clone, Copy)]
    struct Path {
        carries: f64,
        queue: f64,
        loses: f64,
        sender: f64,
        receiver: f64,
    }

    const PATH: Path = Path { carries: 1e6, queue: 5e4, loses: 0.0, sender: 1e12, receiver: 1e12 };

    impl Path {
        /// Returns the result of one second at a rate, in datagrams of 1,000 bytes.
        fn trial(self, asked: Rate, chance: &mut u64) -> Trial {
            let sent = asked.bytes_per_second().min(self.sender);
            let datagrams = whole_part((sent / 1_000.0).round());
            let over = (sent - self.carries).max(0.0);
            let mut lost = whole_part((over - self.queue).max(0.0) / 1_000.0);
            for _ in 0..datagrams {
                *chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                // Uses the upper 31 bits.
                let drawn = (*chance >> 33) as f64 / (1_u64 << 31) as f64;
                lost += u64::from(drawn < self.loses);
            }
            let came = (sent - lost as f64 * 1_000.0).max(0.0);
            Trial {
                asked,
                sent: Rate::from_bytes_per_second(sent),
                datagrams,
                lost: lost.min(datagrams),
                overflowed: whole_part((came - self.receiver).max(0.0) / 1_000.0),
                sending: Span::from_millis(1_000),
                receiving: Span::from_seconds((came / self.carries).max(1.0)),
            }
        }

        fn found(self, first: f64, seed: u64) -> SearchResult {
            let (mut search, mut chance) = (Search::new(Rate::from_bytes_per_second(first)), seed);
            while let Some(rate) = search.next() {
                search.take(&self.trial(rate, &mut chance));
            }
            search.found()
        }
    }

    fn rate(found: Option<Rate>) -> f64 {
        found.unwrap().bytes_per_second()
    }

    #[test]
    fn a_rate_is_found_from_below_and_from_above() {
        for first in [1e4, 1.25e5, 9e5, 3e7] {
            for queue in [0.0, 5e4, 4e5] {
                let found = Path { queue, ..PATH }.found(first, 7);
                let carried = rate(found.carried);
                assert!((0.97..1.03).contains(&(carried / 1e6)), "{first} {queue}: {found:?}");
                assert!(rate(found.refused) / carried <= GAP + 1e-9, "{found:?}");
                assert!(found.trials.len() < 40, "{}", found.trials.len());
            }
        }
    }

    #[test]
    fn what_a_path_always_loses_is_no_rate() {
        for seed in 0..20 {
            let found = Path { loses: 0.05, ..PATH }.found(1.25e5, seed);
            let carried = rate(found.carried) / 1e6;
            // For a thousand datagrams, chance makes two of a hundred more or less lost.
            assert!((0.9..1.1).contains(&carried), "{seed}: {carried} {found:?}");
            assert!(matches!(found.limit, Some(Limit::Loss | Limit::Queue)));
        }
    }

    #[test]
    fn who_stands_beside_the_path_is_named() {
        let found = Path { sender: 3e5, ..PATH }.found(1.25e5, 1);
        assert_eq!(found.limit, Some(Limit::Sender));
        assert!((rate(found.carried) - 3e5).abs() < 1.0, "{found:?}");
        let found = Path { receiver: 3e5, ..PATH }.found(1.25e5, 1);
        assert_eq!(found.limit, Some(Limit::Receiver));
        assert!((rate(found.carried) - 2.5e5).abs() < 1.0, "{found:?}");
    }

    #[test]
    fn one_bad_moment_is_no_limit() {
        let (mut search, mut chance) = (Search::new(Rate::from_bytes_per_second(1e5)), 3);
        let mut trials = 0;
        while let Some(rate) = search.next() {
            trials += 1;
            let trial = PATH.trial(rate, &mut chance);
            // The machine paused for a while.
            let lost = if trials % 4 == 2 { trial.datagrams / 3 } else { trial.lost };
            search.take(&Trial { lost, ..trial });
        }
        let carried = rate(search.found().carried);
        assert!((0.97..1.03).contains(&(carried / 1e6)), "{carried}");
    }

    #[test]
    fn a_path_that_carries_nothing_ends_it() {
        let dead = Path { carries: 1.0, queue: 0.0, ..PATH };
        let found = dead.found(1.25e5, 1);
        assert_eq!(found.carried, None);
        assert!(found.trials.len() < 20);
    }
}
