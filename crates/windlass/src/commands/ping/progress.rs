//! What is shown while it goes on: a line for each request where they are slow,
//! and one that changes on a terminal where they are many.

use std::io;
use std::time::Duration;

use windlass_base::Span;
use windlass_drive::ping::TripSeen;
use windlass_output::live::Live;
use windlass_output::records::ping::line;
use windlass_output::{Format, Output, Page, figures};

use super::view::Trips;

/// Requests that are closer have no lines of their own.
const SLOW: Span = Span::from_millis(100);

/// How often the line on a terminal changes.
const CHANGE: Duration = Duration::from_millis(500);

/// What is shown.
enum Showing {
    Nothing,
    Lines,
    /// One line on standard error.
    Counter(windlass_output::Progress),
    View(Live, Trips),
}

/// Shows how a run goes.
pub(super) struct Progress<'a> {
    output: &'a mut Output,
    showing: Showing,
    /// The first line that could not be written.
    pub(super) unwritten: Option<io::Error>,
}

impl<'a> Progress<'a> {
    /// Of requests that go at this interval, as a `view` where there is one. Lines have the
    /// `beginning` first.
    pub(super) fn new(
        output: &'a mut Output,
        interval: Option<Span>,
        view: Option<(Live, Trips)>,
        beginning: impl FnOnce(&mut Page),
    ) -> Self {
        let is_slow = interval.is_some_and(|interval| interval >= SLOW);
        let showing = match (view, output.format()) {
            (Some((live, trips)), _) => Showing::View(live, trips),
            (_, Format::Text) if is_slow => Showing::Lines,
            _ if !is_slow => Showing::Counter(windlass_output::Progress::new(CHANGE, CHANGE)),
            _ => Showing::Nothing,
        };
        let mut progress = Self { output, showing, unwritten: None };
        if matches!(progress.showing, Showing::Lines) {
            progress.say(beginning);
        }
        progress
    }

    /// Whether there is nobody to measure for any more.
    pub(super) const fn is_unheard(&self) -> bool {
        self.unwritten.is_some()
    }

    pub(super) fn saw(&mut self, seen: &TripSeen<'_>) {
        match &mut self.showing {
            Showing::Nothing => {}
            Showing::Lines => self.say(|page| page.line(line(seen))),
            Showing::View(live, trips) => {
                if let Some(stretch) = trips.saw(seen) {
                    live.push(stretch);
                }
            }
            Showing::Counter(counter) => {
                let times = &seen.measured.times;
                counter.tell(|| {
                    let (answers, median) = (figures::count(times.count()), times.within(0.5));
                    format!("{answers} answers, p50 {median}")
                });
            }
        }
    }

    /// Takes the changing line away, or sets the lines apart from what follows.
    pub(super) fn end(&mut self) {
        let gap = matches!(self.showing, Showing::Lines) && self.unwritten.is_none();
        if gap && let Err(error) = self.output.raw(b"\n") {
            self.unwritten = Some(error);
        }
        self.showing = Showing::Nothing;
    }

    fn say(&mut self, text: impl FnOnce(&mut Page)) {
        if self.unwritten.is_none() {
            self.unwritten = self.output.say(text).err();
        }
    }
}
