//! Both ends of a test while it runs: the streams, and the words about them.

use std::time::{Duration, Instant};

use crate::control::{Control, Word};
use crate::error::Error;
use crate::report::{Interval, Latency, Outcome, SideReport};
use crate::side::Side;

/// How often an end says that it is there.
const BEAT: Duration = Duration::from_secs(1);

/// How long an end may be silent.
const SILENCE: Duration = Duration::from_secs(15);

/// How long the last bytes may take after the other end is done, or the time is
/// over.
const GRACE: Duration = Duration::from_secs(8);

/// How long the other end may take for its last word after this one was told to
/// stop.
const LAST_WORD: Duration = Duration::from_secs(3);

/// The longest that nobody looks whether the test is to stop.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Looks after a test until it is over. `tell` hears of the intervals of both
/// ends.
pub(crate) fn attend(
    control: &mut Control,
    side: Side,
    stop: &dyn Fn() -> bool,
    tell: &mut dyn FnMut(&Interval),
) -> Outcome {
    let mut session = Session {
        control,
        side: Some(side),
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
    let Session { near, far, failure, stopped, side, .. } = session;
    let near = near.or_else(|| side.map(Side::finish));
    // One of both is there always.
    let near = near.unwrap_or_else(SideReport::nothing);
    Outcome { near, far, latency: Latency::default(), failure, stopped: stopped.is_some() }
}

struct Session<'a> {
    control: &'a mut Control,
    /// Until it has made its report.
    side: Option<Side>,
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
            if let Some(side) = &mut self.side {
                // What is under way is not waited for: somebody is waiting.
                side.cut();
            }
        }
        self.measure(tell);
        if self.is_over() {
            return;
        }
        let next =
            self.side.as_ref().map_or_else(|| Instant::now() + POLL_INTERVAL, Side::next_time);
        let until = next.min(Instant::now() + POLL_INTERVAL);
        match self.control.hear(until, "the test ran") {
            Ok(Some(word)) => self.hear(word, tell),
            Ok(None) => self.wait_no_longer(),
            Err(error) => self.fail(error),
        }
    }

    /// Takes what the own end has measured.
    fn measure(&mut self, tell: &mut dyn FnMut(&Interval)) {
        let Some(side) = &mut self.side else { return };
        let intervals = side.tick();
        let done = side.is_done();
        for interval in &intervals {
            tell(interval);
            self.say(&Word::Interval(*interval));
        }
        if done && let Some(side) = self.side.take() {
            let report = side.finish();
            self.say(&Word::Done(Box::new(report.clone())));
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
                if let Some(side) = &mut self.side {
                    side.cut();
                }
            }
            Word::Done(report) => self.far = Some(*report),
            Word::Failed { why } => self.fail(Error::Refused(why)),
            Word::Begin => self.fail(Error::Protocol("it begins twice".to_owned())),
        }
        // Many small words must not keep it from looking at the time.
        self.wait_no_longer();
    }

    /// Gives up what does not come.
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
        if let Some(side) = &mut self.side
            && side.is_late(GRACE)
        {
            side.cut();
        }
    }

    fn fail(&mut self, error: Error) {
        if let Some(side) = &mut self.side {
            side.cut();
        }
        // The first is the cause of all that follow.
        self.failure.get_or_insert(error);
    }
}
