//! Progress of a run: one line per request at slow intervals, and one changing line on a terminal
//! at fast ones.

use std::io;
use std::time::Duration;

use windlass_base::Span;
use windlass_drive::ping::TripSeen;
use windlass_output::live::LiveView;
use windlass_output::records::ping::line;
use windlass_output::{Format, Output, Page, figures};

use super::view::Trips;

/// Shortest interval at which each request has its own line.
const SLOW: Span = Span::from_millis(100);

/// Interval at which the line on a terminal changes.
const CHANGE: Duration = Duration::from_millis(500);

/// Form in which progress is shown.
enum ProgressForm {
    Nothing,
    Lines,
    /// One line on standard error.
    Counter(windlass_output::Progress),
    View(LiveView, Trips),
}

/// Shows how a run goes.
pub(super) struct Progress<'a> {
    output: &'a mut Output,
    showing: ProgressForm,
    /// The first line that could not be written.
    pub(super) unwritten: Option<io::Error>,
}

impl<'a> Progress<'a> {
    /// Shows requests at this interval, in the `view` if there is one. The `beginning` comes
    /// before any lines.
    pub(super) fn new(
        output: &'a mut Output,
        interval: Option<Span>,
        view: Option<(LiveView, Trips)>,
        beginning: impl FnOnce(&mut Page),
    ) -> Self {
        let is_slow = interval.is_some_and(|interval| interval >= SLOW);
        let showing = match (view, output.format()) {
            (Some((live, trips)), _) => ProgressForm::View(live, trips),
            (_, Format::Text) if is_slow => ProgressForm::Lines,
            _ if !is_slow => ProgressForm::Counter(windlass_output::Progress::new(CHANGE, CHANGE)),
            _ => ProgressForm::Nothing,
        };
        let mut progress = Self { output, showing, unwritten: None };
        if matches!(progress.showing, ProgressForm::Lines) {
            progress.say(beginning);
        }
        progress
    }

    /// Returns whether the output has failed, so that nobody reads the results.
    pub(super) const fn is_unheard(&self) -> bool {
        self.unwritten.is_some()
    }

    pub(super) fn saw(&mut self, seen: &TripSeen<'_>) {
        match &mut self.showing {
            ProgressForm::Nothing => {}
            ProgressForm::Lines => self.say(|page| page.line(line(seen))),
            ProgressForm::View(live, trips) => {
                if let Some(stretch) = trips.saw(seen) {
                    live.push(stretch);
                }
            }
            ProgressForm::Counter(counter) => {
                let times = &seen.measured.times;
                counter.tell(|| {
                    let (answers, median) = (figures::count(times.count()), times.within(0.5));
                    format!("{answers} answers, p50 {median}")
                });
            }
        }
    }

    /// Erases the changing line, or separates the lines from the following text.
    pub(super) fn end(&mut self) {
        let gap = matches!(self.showing, ProgressForm::Lines) && self.unwritten.is_none();
        if gap && let Err(error) = self.output.raw(b"\n") {
            self.unwritten = Some(error);
        }
        self.showing = ProgressForm::Nothing;
    }

    fn say(&mut self, text: impl FnOnce(&mut Page)) {
        if self.unwritten.is_none() {
            self.unwritten = self.output.say(text).err();
        }
    }
}
