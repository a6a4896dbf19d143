//! Clients that ask again as soon as they are answered.
//!
//! Where each side waits asleep for the other, a job costs two wakes of a
//! processor that rests. On a virtual machine a wake goes through the host, and
//! costs more than the job. So who waits for a client that was prompt the last
//! time first looks again and again whether it has spoken, and gives way between.
//!
//! What that costs is bounded. A look ends after [`LONGEST`], and a client that
//! was slower is waited for asleep until it is prompt again. No more than half of
//! the processors look at a time. And who gives way and is kept away sleeps
//! instead for a while: others have work, so no processor rests and a wake is
//! cheap, and the kernel lets a sleeper that wakes in before one that gave way.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::yield_now;
use std::time::{Duration, Instant};

use windlass_base::GiveWay;

/// A client that speaks within this is prompt, and it is looked for so long. Both
/// wakes together are 0.3 ms where the host lets a processor rest.
const LONGEST: Duration = Duration::from_micros(500);

/// To give way takes 1 µs where nobody else wants the processor, and 0.7 ms and
/// longer where a program works on it. What only wakes shortly is between.
const CROWDED: Duration = Duration::from_micros(50);

/// How many times it then sleeps: at first, and where it goes on like this.
const HELD_OFF: (u32, u32) = (4, 1_024);

/// Who looks at the moment.
#[derive(Debug)]
pub(super) struct Lookouts {
    looking: AtomicUsize,
    most: usize,
}

impl Default for Lookouts {
    /// As many as half of the processors.
    fn default() -> Self {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        Self { looking: AtomicUsize::new(0), most: processors / 2 }
    }
}

impl Lookouts {
    /// Leave to look, while it lives; nothing where enough look.
    fn begin(&self) -> Option<Looking<'_>> {
        let before = self.looking.fetch_add(1, Ordering::Relaxed);
        let looking = Looking { of: self };
        (before < self.most).then_some(looking)
    }
}

struct Looking<'a> {
    of: &'a Lookouts,
}

impl Drop for Looking<'_> {
    fn drop(&mut self) {
        self.of.looking.fetch_sub(1, Ordering::Relaxed);
    }
}

/// How prompt one client is.
#[derive(Debug)]
pub(super) struct Promptness {
    is_prompt: bool,
    looks: GiveWay,
}

impl Default for Promptness {
    fn default() -> Self {
        Self { is_prompt: false, looks: GiveWay::new(CROWDED, HELD_OFF) }
    }
}

impl Promptness {
    /// Looks until `attempt` gives something, where that is worth it. Nothing is
    /// found where sleep is better.
    pub(super) fn look<T, E>(
        &mut self,
        lookouts: &Lookouts,
        mut attempt: impl FnMut() -> Result<Option<T>, E>,
    ) -> Result<Option<T>, E> {
        if !self.is_prompt || !self.looks.may_look() {
            return Ok(None);
        }
        let Some(_looking) = lookouts.begin() else { return Ok(None) };
        let since = Instant::now();
        let mut before = since;
        loop {
            yield_now();
            let found = attempt()?;
            let now = Instant::now();
            let time = now.duration_since(before);
            let crowded = self.looks.was_kept_away(time, found.is_some());
            if crowded || found.is_some() || now.duration_since(since) > LONGEST {
                return Ok(found);
            }
            before = now;
        }
    }

    /// Remembers how long the client took to speak.
    pub(super) fn took(&mut self, time: Duration) {
        self.is_prompt = time <= LONGEST;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::convert::Infallible;

    /// Looks at a client that speaks at this attempt, each of which takes so long.
    fn attempts(
        promptness: &mut Promptness,
        lookouts: &Lookouts,
        speaks_at: u32,
        takes: Duration,
    ) -> (Option<u32>, u32) {
        let count = Cell::new(0);
        let attempt = || {
            std::thread::sleep(takes);
            count.set(count.get() + 1);
            Ok::<_, Infallible>((count.get() >= speaks_at).then_some(7))
        };
        let found = promptness.look(lookouts, attempt).unwrap();
        (found, count.get())
    }

    fn lookouts(most: usize) -> Lookouts {
        Lookouts { looking: AtomicUsize::new(0), most }
    }

    #[test]
    fn only_a_client_that_was_prompt_is_looked_for() {
        let (mut client, one) = (Promptness::default(), lookouts(1));
        assert_eq!(attempts(&mut client, &one, 1, Duration::ZERO), (None, 0));
        client.took(LONGEST);
        assert_eq!(attempts(&mut client, &one, 1, Duration::ZERO), (Some(7), 1));
        client.took(LONGEST * 2);
        assert_eq!(attempts(&mut client, &one, 1, Duration::ZERO), (None, 0));
    }

    #[test]
    fn a_look_ends() {
        let (mut client, one) = (Promptness::default(), lookouts(1));
        client.took(Duration::ZERO);
        let since = Instant::now();
        let (found, _) = attempts(&mut client, &one, u32::MAX, Duration::ZERO);
        assert_eq!(found, None);
        // Where others have the processor it ends sooner by itself, and later by
        // their turns.
        assert!(since.elapsed() > LONGEST || client.looks.left() > 0);
    }

    #[test]
    fn no_more_look_than_may() {
        let mut client = Promptness::default();
        client.took(Duration::ZERO);
        assert_eq!(attempts(&mut client, &lookouts(0), 1, Duration::ZERO), (None, 0));
        let one = lookouts(1);
        let other = one.begin().unwrap();
        assert!(one.begin().is_none(), "there is one");
        assert_eq!(attempts(&mut client, &one, 1, Duration::ZERO), (None, 0));
        drop(other);
        assert_eq!(attempts(&mut client, &one, 1, Duration::ZERO), (Some(7), 1));
        assert_eq!(one.looking.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn who_is_kept_away_sleeps_for_a_while() {
        let (mut client, one) = (Promptness::default(), lookouts(1));
        client.took(Duration::ZERO);
        let (first, most) = HELD_OFF;
        // What was found meanwhile is not lost.
        assert_eq!(attempts(&mut client, &one, 1, CROWDED * 2), (Some(7), 1));
        for _ in 0..first {
            assert_eq!(attempts(&mut client, &one, 1, CROWDED * 2), (None, 0));
        }
        // Nothing there: it does not go on.
        assert_eq!(attempts(&mut client, &one, 9, CROWDED * 2), (None, 1));
        assert_eq!(client.looks.left(), first * 2);
        for _ in 0..20 {
            while !client.looks.may_look() {}
            attempts(&mut client, &one, 1, CROWDED * 2);
        }
        assert_eq!(client.looks.left(), most);
    }
}
