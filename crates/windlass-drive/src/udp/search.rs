//! At which rate a path begins to lose datagrams. Pure: whoever measures is told a rate, and says
//! what came of it.
//!
//! The rate doubles until the path does not carry it, and then the gap is halved until it is small,
//! as RFC 2544 section 26.1 searches a throughput. A path that loses some of everything loses at
//! no rate in particular: what counts is loss beyond that. A rate beyond the path's fills its queue
//! before it loses, which may take longer than a test: so datagrams that take longer to come than
//! to go are not carried either.

use serde::Serialize;
use windlass_base::{Rate, Span};

use crate::report::share;

/// The gap between the rate that is carried and the one that is not, where the search ends.
const GAP: f64 = 1.02;

/// This much more may be lost than at the rates that are carried, as a share, and it is none of the
/// rate's.
const LEAST: f64 = 0.001;

/// More than this no path loses of everything and is still one.
const MOST_USUAL: f64 = 0.3;

/// Where more is lost at the first rate, one of so much less tells whether the path always does.
const SLOWER: f64 = 4.0;

/// The least rate that is tried, in bits per second.
const SLOWEST: f64 = 1e4;

/// This many standard errors are more than chance.
const ERRORS: f64 = 3.0;

/// This much longer may datagrams take to come than to go: as a share, and what a first or a last
/// one that is late makes of it.
const LONGER: f64 = 0.01;
const LATE: Span = Span::from_millis(5);

/// A sender that reaches less of its rate than this is the limit.
const KEPT: f64 = 0.98;

/// The most tests: a path that changes its mind is not asked for ever.
const MOST_TRIALS: usize = 64;

/// What came of a rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trial {
    /// The rate that was asked for.
    pub asked: Rate,
    /// The sender's.
    pub sent: Rate,
    /// How many datagrams went.
    pub datagrams: u64,
    /// How many of them did not come, as far as they are the path's.
    pub lost: u64,
    /// How many came for which the receiver's socket had no room.
    pub overflowed: u64,
    /// The time for which they went.
    pub sending: Span,
    /// The time for which they came.
    pub receiving: Span,
}

/// Why a rate is not a rate of the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Limit {
    /// More was lost than at slower ones.
    Loss,
    /// They came more slowly than they went: a queue grew, which loses once it is full.
    Queue,
    /// The sender could not keep it.
    Sender,
    /// The receiver's socket had no room for all.
    Receiver,
}

/// A trial, as it is told of.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Judged {
    /// The rate that was asked for.
    #[serde(rename = "bytes_per_second")]
    pub asked: Rate,
    /// The sender's.
    #[serde(rename = "sent_bytes_per_second")]
    pub sent: Rate,
    /// How many datagrams went.
    pub datagrams: u64,
    /// How many of them the path lost.
    pub lost: u64,
    /// What kept it from being carried; nothing where it was.
    pub limit: Option<Limit>,
}

/// A search.
#[derive(Clone, Debug)]
pub struct Search {
    next: Option<Rate>,
    /// The best rate that was carried, and the least that was not.
    carried: Option<Rate>,
    refused: Option<(Rate, Limit)>,
    /// The rate that was not carried once.
    doubted: Option<Rate>,
    /// Datagrams that went at up to half of the rate that was refused, and those of them that were
    /// lost: what is near to it would move the measure.
    usual: (u64, u64),
    /// The first rate, where some was lost at it: it may be what the path always loses.
    unclear: Option<(Judged, u64)>,
    judged: Vec<Judged>,
}

/// What was found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SearchResult {
    /// Each test.
    pub trials: Vec<Judged>,
    /// The most that was carried: as much as was sent; nothing where the first rate was not.
    #[serde(rename = "carried_bytes_per_second")]
    pub carried: Option<Rate>,
    /// The least that was not.
    #[serde(rename = "refused_bytes_per_second")]
    pub refused: Option<Rate>,
    /// The reason why not; of the sender and the receiver it is that the path was not filled.
    pub limit: Option<Limit>,
}

impl Search {
    /// One that begins at a rate which the path is thought to carry.
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

    /// The rate to try next; nothing where enough is known.
    pub const fn next(&self) -> Option<Rate> {
        self.next
    }

    /// Takes what came of it.
    pub fn take(&mut self, trial: &Trial) -> Judged {
        let limit = self.limit(trial);
        let Trial { asked, sent, datagrams, lost, .. } = *trial;
        let judged = Judged { asked, sent, datagrams, lost, limit };
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

    fn decide(&mut self, judged: &Judged, lost: u64) -> Option<Rate> {
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
                    // As much is lost of both: the path always loses that.
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
            // What stands beside the path may come at any moment: it is looked at twice.
            Some(_) if self.doubted != Some(rate) => {
                self.doubted = Some(rate);
                return Some(rate);
            }
            Some(limit @ (Limit::Sender | Limit::Receiver)) => {
                // It goes no faster, and the path carried what went.
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
            // Not even the first: the path is slower than it was thought to be.
            (None, _) => slower(),
        }
    }

    /// What was found so far.
    pub fn found(&self) -> SearchResult {
        SearchResult {
            trials: self.judged.clone(),
            carried: self.carried,
            refused: self.refused.map(|(rate, _)| rate),
            limit: self.refused.map(|(_, limit)| limit),
        }
    }
}

/// Returns whether more is lost of one than of the other, and it is not chance: of each how many
/// went, and how many were lost.
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

    /// A path of so many bytes a second with a queue of so many, which loses a share of all, and
    /// a sender that goes no faster than it can.
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
        /// What comes of a second at a rate, in datagrams of 1,000 bytes.
        fn trial(self, asked: Rate, chance: &mut u64) -> Trial {
            let sent = asked.bytes_per_second().min(self.sender);
            let datagrams = whole_part((sent / 1_000.0).round());
            let over = (sent - self.carries).max(0.0);
            let mut lost = whole_part((over - self.queue).max(0.0) / 1_000.0);
            for _ in 0..datagrams {
                *chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                // Of its upper 31 bits.
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
            // Of a thousand datagrams chance loses two of a hundred more or less.
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
            // The machine was away for a while.
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
