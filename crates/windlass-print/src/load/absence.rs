//! Absences of the server, as its clients see them.

use std::time::{Duration, Instant};

use serde::Serialize;
use windlass_base::Span;

/// Maximum number of reported absences.
const MAX_TIMES: usize = 100;

/// A time in which the server accepted no connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Absence {
    /// Beginning of the absence, from the first job's beginning.
    pub from_seconds: Span,
    /// Time of the next accepted connection; nothing if there was none.
    pub to_seconds: Option<Span>,
}

/// All absences of the server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Absences {
    /// Single absences.
    pub times: Vec<Absence>,
    /// Number of absences that are not in the list, which is bounded.
    pub times_left_out: u64,
    /// Total duration; a current absence counts up to the end.
    pub seconds: Span,
    /// True if the server is still away.
    pub lasts: bool,
}

impl Absences {
    /// Returns the duration of the absences up to `end`, from the first job's beginning.
    pub fn within(&self, end: Span) -> Span {
        let part = |time: &Absence| {
            let to = time.to_seconds.map_or(end, |to| to.min(end));
            if to > time.from_seconds { to - time.from_seconds } else { Span::ZERO }
        };
        self.times.iter().map(part).sum()
    }
}

/// Presence of the server.
#[derive(Debug)]
pub(crate) struct Presence {
    began: Instant,
    /// True if it ever answered.
    was_reached: bool,
    /// Time of the first broken connection since the last answer.
    broke: Option<Instant>,
    /// Beginning of the current absence.
    away: Option<Instant>,
    /// Time of its last return.
    back: Option<Instant>,
    /// True if it answered since its return: a server that accepts a connection and breaks it is
    /// not back.
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

    /// Records an answer, whatever it was.
    pub(crate) fn heard(&mut self, at: Instant) {
        self.returned(at);
        (self.was_reached, self.has_answered, self.broke) = (true, true, None);
    }

    /// Records a broken connection, which alone is no absence: a server may close one.
    pub(crate) fn broke(&mut self, at: Instant) {
        self.broke.get_or_insert(at);
    }

    /// Records a refused connection that was requested at `asked`. Returns the beginning of the
    /// absence; nothing for a server that never answered, which is not away but missing.
    pub(crate) fn gone(&mut self, asked: Instant, at: Instant) -> Option<Instant> {
        if !self.was_reached {
            return None;
        }
        if self.back.is_some_and(|back| asked < back) {
            // It has returned meanwhile.
            return Some(at);
        }
        if let Some(since) = self.away {
            return Some(since);
        }
        if !self.has_answered
            && let Some(last) = self.times.pop()
        {
            // It had not really returned: the earlier absence continues.
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

    /// Records an accepted connection. Returns whether the server was away.
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

    /// Returns the duration of the current absence; nothing if the server is present.
    pub(crate) fn away_for(&self, now: Instant) -> Option<Duration> {
        self.away.map(|since| now.saturating_duration_since(since))
    }

    /// Returns all absences so far.
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
        // A server that never answered is not away.
        assert_eq!(presence.gone(at(0), at(0)), None);
        presence.heard(at(1));
        // A broken connection is no absence if the next one is accepted.
        presence.broke(at(2));
        assert!(!presence.returned(at(2)));
        presence.heard(at(3));
        presence.broke(at(5));
        assert_eq!(presence.gone(at(6), at(6)), Some(at(5)));
        assert_eq!(presence.gone(at(7), at(7)), Some(at(5)));
        assert_eq!(presence.away_for(at(8)), Some(Duration::from_secs(3)));
        assert!(presence.absences(at(8)).lasts);
        assert!(presence.returned(at(9)) && !presence.returned(at(9)));
        // It accepted a connection, sent nothing, and was away again: this is one absence.
        assert_eq!(presence.gone(at(9), at(9)), Some(at(5)));
        assert!(presence.returned(at(9)));
        // A request from before its return proves nothing.
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
