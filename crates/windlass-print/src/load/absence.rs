//! When the server was away, as its clients see it.

use std::time::{Duration, Instant};

use serde::Serialize;
use windlass_base::Span;

/// The most times that are told of.
const MAX_TIMES: usize = 100;

/// A time in which the server took no connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Absence {
    /// When it was seen to be away, from the first job's beginning.
    pub from_seconds: Span,
    /// When it took a connection again; nothing where it did not.
    pub to_seconds: Option<Span>,
}

/// The times in which the server was away.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Absences {
    /// Each of them.
    pub times: Vec<Absence>,
    /// Those that are not in the list, which is bounded.
    pub times_left_out: u64,
    /// All of them together, the one that lasts still up to the end.
    pub seconds: Span,
    /// Whether it is away still.
    pub lasts: bool,
}

impl Absences {
    /// How long it was away within so long from the first job's beginning.
    pub fn within(&self, end: Span) -> Span {
        let part = |time: &Absence| {
            let to = time.to_seconds.map_or(end, |to| to.min(end));
            if to > time.from_seconds { to - time.from_seconds } else { Span::ZERO }
        };
        self.times.iter().map(part).sum()
    }
}

/// Whether the server is there.
#[derive(Debug)]
pub(crate) struct Presence {
    began: Instant,
    /// Whether it ever answered.
    was_reached: bool,
    /// When a connection broke first, of those since the last answer.
    broke: Option<Instant>,
    /// From when it is away, where it is.
    away: Option<Instant>,
    /// When it came back last.
    back: Option<Instant>,
    /// Whether it answered since: one that takes a connection and breaks it is not back.
    has_answered: bool,
    times: Vec<Absence>,
    times_left_out: u64,
    past: Duration,
}

impl Presence {
    pub(crate) const fn new(began: Instant) -> Self {
        Self {
            began,
            was_reached: false,
            broke: None,
            away: None,
            back: None,
            has_answered: false,
            times: Vec::new(),
            times_left_out: 0,
            past: Duration::ZERO,
        }
    }

    fn since(&self, at: Instant) -> Span {
        Span::from_duration(at.saturating_duration_since(self.began))
    }

    /// It answered, whatever it said.
    pub(crate) fn heard(&mut self, at: Instant) {
        self.returned(at);
        (self.was_reached, self.has_answered, self.broke) = (true, true, None);
    }

    /// A connection broke. That alone is no absence: a server may close one.
    pub(crate) fn broke(&mut self, at: Instant) {
        self.broke.get_or_insert(at);
    }

    /// It took no connection that was asked for at `asked`. Tells since when, where it
    /// ever answered: one that never did is not away, it is not there.
    pub(crate) fn gone(&mut self, asked: Instant, at: Instant) -> Option<Instant> {
        if !self.was_reached {
            return None;
        }
        if self.back.is_some_and(|back| asked < back) {
            // It has come back meanwhile.
            return Some(at);
        }
        if let Some(since) = self.away {
            return Some(since);
        }
        if !self.has_answered
            && let Some(last) = self.times.pop()
        {
            // It was not there again, it was still going.
            let since = self.began + last.from_seconds.to_duration();
            let to = last.to_seconds.unwrap_or(last.from_seconds);
            self.past = self.past.saturating_sub((to - last.from_seconds).to_duration());
            self.away = Some(since);
            return Some(since);
        }
        let since = self.broke.unwrap_or(at).min(at);
        self.away = Some(since);
        Some(since)
    }

    /// It takes connections again. Tells whether it was away.
    pub(crate) fn returned(&mut self, at: Instant) -> bool {
        let Some(since) = self.away.take() else { return false };
        (self.back, self.has_answered) = (Some(at), false);
        self.past += at.saturating_duration_since(since);
        let time = Absence { from_seconds: self.since(since), to_seconds: Some(self.since(at)) };
        if self.times.len() < MAX_TIMES {
            self.times.push(time);
        } else {
            self.times_left_out += 1;
        }
        true
    }

    /// For how long it is away now; nothing where it is there.
    pub(crate) fn away_for(&self, now: Instant) -> Option<Duration> {
        self.away.map(|since| now.saturating_duration_since(since))
    }

    /// All times so far.
    pub(crate) fn absences(&self, now: Instant) -> Absences {
        let (mut times, mut times_left_out) = (self.times.clone(), self.times_left_out);
        if let Some(since) = self.away {
            if times.len() < MAX_TIMES {
                times.push(Absence { from_seconds: self.since(since), to_seconds: None });
            } else {
                times_left_out += 1;
            }
        }
        let seconds = Span::from_duration(self.past + self.away_for(now).unwrap_or_default());
        Absences { times, times_left_out, seconds, lasts: self.away.is_some() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_away_from_the_first_sign_to_its_return() {
        let began = Instant::now();
        let at = |seconds| began + Duration::from_secs(seconds);
        let mut presence = Presence::new(began);
        // One that never answered is not away.
        assert_eq!(presence.gone(at(0), at(0)), None);
        presence.heard(at(1));
        // A connection that breaks is no absence where the next one is taken.
        presence.broke(at(2));
        assert!(!presence.returned(at(2)));
        presence.heard(at(3));
        presence.broke(at(5));
        assert_eq!(presence.gone(at(6), at(6)), Some(at(5)));
        assert_eq!(presence.gone(at(7), at(7)), Some(at(5)));
        assert_eq!(presence.away_for(at(8)), Some(Duration::from_secs(3)));
        assert!(presence.absences(at(8)).lasts);
        assert!(presence.returned(at(9)) && !presence.returned(at(9)));
        // It took a connection, said nothing, and was away again: that is the same time.
        assert_eq!(presence.gone(at(9), at(9)), Some(at(5)));
        assert!(presence.returned(at(9)));
        // What was asked for before it came back says nothing.
        assert_eq!(presence.gone(at(8), at(10)), Some(at(10)));
        assert_eq!(presence.away_for(at(10)), None);
        presence.heard(at(10));
        presence.gone(at(20), at(20));
        let absences = presence.absences(at(23));
        let seconds = |seconds: i64| Span::from_millis(seconds * 1_000);
        assert_eq!(
            absences.times,
            [
                Absence { from_seconds: seconds(5), to_seconds: Some(seconds(9)) },
                Absence { from_seconds: seconds(20), to_seconds: None },
            ]
        );
        assert_eq!((absences.seconds, absences.lasts), (seconds(7), true));
        assert_eq!(absences.within(seconds(30)), seconds(14));
        assert_eq!(absences.within(seconds(6)), seconds(1));
    }

    #[test]
    fn however_often_it_goes_few_times_are_kept() {
        let began = Instant::now();
        let mut presence = Presence::new(began);
        for second in 0..300 {
            let at = began + Duration::from_secs(second);
            presence.heard(at);
            presence.gone(at, at);
        }
        let absences = presence.absences(began + Duration::from_secs(300));
        assert_eq!((absences.times.len(), absences.times_left_out), (MAX_TIMES, 200));
        assert_eq!(absences.seconds, Span::from_seconds(300.0));
    }
}
