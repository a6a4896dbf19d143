//! Both ends of a running test: the streams, and the messages about them.

use std::time::{Duration, Instant};

use crate::control::{Control, Word};
use crate::driven::TestSide;
use crate::error::Error;
use crate::report::{Interval, Latency, Outcome, SideReport};

/// Interval between two messages that say that an end is there.
const BEAT: Duration = Duration::from_secs(1);

/// Longest silence of an end.
const SILENCE: Duration = Duration::from_secs(15);

/// Longest time for the last bytes after the other end is done, or after the test's duration.
const GRACE: Duration = Duration::from_secs(8);

/// Longest time for the other end's report after this end was told to stop.
const LAST_WORD: Duration = Duration::from_secs(3);

/// Longest time between two checks for a request to stop.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Runs a test to its end. `tell` is called with the intervals of both ends.
pub(crate) fn attend(
    control: &mut Control,
    side: Box<dyn TestSide>,
    stop: &dyn Fn() -> bool,
    tell: &mut dyn FnMut(&Interval),
) -> Outcome {
    let mut session = Session {
        control,
        side,
        near: None,
        far: None,
        failure: None,
        stopped: None,
        heard: Instant::now(),
        said: Instant::now(),
        done_at: None,
    };
    while !session.is_over() {
        session.step(stop, tell);
    }
    let Session { near, far, failure, stopped, mut side, .. } = session;
    let near = near.unwrap_or_else(|| side.finish());
    Outcome { near, far, latency: Latency::default(), failure, stopped: stopped.is_some() }
}

struct Session<'a> {
    control: &'a mut Control,
    side: Box<dyn TestSide>,
    /// This end's measurements, once it has ended.
    near: Option<SideReport>,
    far: Option<SideReport>,
    failure: Option<Error>,
    stopped: Option<Instant>,
    heard: Instant,
    said: Instant,
    done_at: Option<Instant>,
}

impl Session<'_> {
    fn is_over(&self) -> bool {
        self.failure.is_some() || self.near.is_some() && self.far.is_some()
    }

    fn step(&mut self, stop: &dyn Fn() -> bool, tell: &mut dyn FnMut(&Interval)) {
        if self.stopped.is_none() && stop() {
            self.stopped = Some(Instant::now());
            self.say(&Word::Stop);
            // Data in flight is not awaited: the user is waiting.
            self.side.cut();
        }
        self.measure(tell);
        if self.is_over() {
            return;
        }
        let latest = Instant::now() + POLL_INTERVAL;
        let until = if self.near.is_some() { latest } else { self.side.next_time().min(latest) };
        match self.control.hear(until, "the test ran") {
            Ok(Some(word)) => self.hear(word, tell),
            Ok(None) => self.wait_no_longer(),
            Err(error) => self.fail(error),
        }
    }

    /// Takes the measurements of this end.
    fn measure(&mut self, tell: &mut dyn FnMut(&Interval)) {
        if self.near.is_some() {
            return;
        }
        for interval in &self.side.tick() {
            tell(interval);
            self.say(&Word::Interval(*interval));
        }
        if let Some(flows) = self.side.take_sent() {
            self.say(&Word::Sent { flows });
        }
        if self.side.is_done() {
            let report = self.side.finish();
            self.say(&Word::Done(Box::new(report.for_the_other_end())));
            self.near = Some(report);
            self.done_at = Some(Instant::now());
        }
        if self.said.elapsed() >= BEAT {
            self.say(&Word::Beat);
        }
    }

    fn say(&mut self, word: &Word) {
        self.said = Instant::now();
        if self.failure.is_none()
            && let Err(error) = self.control.say(word)
        {
            self.fail(error);
        }
    }

    fn hear(&mut self, word: Word, tell: &mut dyn FnMut(&Interval)) {
        self.heard = Instant::now();
        match word {
            Word::Beat => {}
            Word::Interval(interval) => tell(&interval),
            Word::Stop => {
                self.stopped.get_or_insert_with(Instant::now);
                self.side.cut();
            }
            Word::Done(report) => {
                // The other end sends no more, whatever it said before.
                self.side.heard(&[]);
                self.far = Some(*report);
            }
            Word::Sent { flows } => self.side.heard(&flows),
            Word::Failed { why } => self.fail(Error::Refused(why)),
            Word::Begin => self.fail(Error::Protocol("it begins twice".to_owned())),
        }
        // Many small messages must not delay the check of the time.
        self.wait_no_longer();
    }

    /// Gives up on a message or data that does not come.
    fn wait_no_longer(&mut self) {
        let silent = self.heard.elapsed();
        if silent > SILENCE {
            let during = "the test ran";
            return self.fail(Error::Silent { during, after: silent });
        }
        let patience = if self.stopped.is_some() { LAST_WORD } else { SILENCE };
        let waits = self.stopped.or(self.done_at).filter(|_| self.near.is_some());
        if self.far.is_none() && waits.is_some_and(|since| since.elapsed() > patience) {
            let during = "its report was waited for";
            return self.fail(Error::Silent { during, after: patience });
        }
        if self.side.is_late(GRACE) {
            self.side.cut();
        }
    }

    fn fail(&mut self, error: Error) {
        self.side.cut();
        // The first error is the cause of all that follow.
        self.failure.get_or_insert(error);
    }
}
