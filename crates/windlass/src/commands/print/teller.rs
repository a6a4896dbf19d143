//! What is told while a job is sent.

use std::io;
use std::path::Path;
use std::time::Duration;

use windlass_base::{Bytes, Failure};
use windlass_drive::report::Interval;
use windlass_drive::transfer::Transfer;
use windlass_host::Running;
use windlass_measure::job::Attendant;
use windlass_output::live::{self};
use windlass_output::records::send::{Live, Showing};
use windlass_output::{Format, Output, Progress};

use super::args::PrintArgs;
use crate::live::Listening;
use crate::reading;

/// How often the line on a terminal changes.
const CHANGE: Duration = Duration::from_millis(500);

/// Tells what goes on.
pub(super) struct Teller<'a> {
    args: &'a PrintArgs,
    output: &'a mut Output,
    listening: &'a Listening,
    /// The view, from where the job begins, and what makes its intervals.
    view: Option<live::Live>,
    showing: Showing,
    live: Live,
    progress: Progress,
    /// The line of a capture that tells the send buffer.
    reading: Option<reading::Progress>,
    running: Option<Running>,
    unwritable: Option<io::Error>,
}

impl<'a> Teller<'a> {
    pub(super) fn new(
        args: &'a PrintArgs,
        output: &'a mut Output,
        listening: &'a Listening,
    ) -> Self {
        let transfer = Transfer { interval: args.interval, ..Transfer::default() };
        Self {
            args,
            output,
            listening,
            view: None,
            showing: Showing::new(&transfer, windlass_drive::Protocol::Windlass),
            live: Live::new(&transfer, windlass_drive::Protocol::Windlass),
            progress: Progress::new(CHANGE, CHANGE),
            reading: None,
            running: None,
            unwritable: None,
        }
    }

    /// Ends with the job. Whoever watched the machine meanwhile goes on.
    pub(super) fn end(mut self) -> io::Result<Option<Running>> {
        self.progress.clear();
        drop(self.view.take());
        if let Some(error) = self.unwritable {
            return Err(error);
        }
        self.output.raw(self.live.end())?;
        Ok(self.running)
    }
}

impl Attendant for Teller<'_> {
    fn reads(&mut self, file: &Path, bytes: u64, of: Option<u64>) {
        let line = || reading::Progress::new(file.display().to_string());
        self.reading.get_or_insert_with(line).tell(bytes, of);
    }

    fn begins(&mut self) -> Result<(), Failure> {
        self.reading = None;
        self.running = Some(self.args.measuring.watching.start(self.output.wants_intervals())?);
        let title = || format!("windlass print {}", self.args.host);
        let view = || self.showing.view(title(), self.args.interval);
        self.view = self.listening.show(self.output, view)?;
        Ok(())
    }

    fn interval(&mut self, interval: &Interval) {
        if let Some(view) = &self.view {
            if let Some(stretch) = self.showing.stretch(interval) {
                view.push(stretch);
            }
            return;
        }
        if self.output.format() != Format::Text || self.unwritable.is_some() {
            return;
        }
        if let Some(lines) = self.live.lines(interval) {
            self.progress.clear();
            let told = self.output.say(|page| lines.into_iter().for_each(|line| page.line(line)));
            // What is measured goes on where nobody reads it.
            self.unwritable = told.err();
        }
    }

    fn progress(&mut self, read: Bytes, of: Option<Bytes>, state: Option<&str>) {
        let line = || match (state, of) {
            (Some(state), _) => format!("{read} sent; the job is {state}"),
            (None, Some(whole)) if whole > Bytes::ZERO => {
                let percent = read.get().saturating_mul(100) / whole.get();
                format!("{read} of {whole}, {percent} %")
            }
            _ => format!("{read}"),
        };
        match &self.view {
            Some(view) => view.say(line()),
            None => self.progress.tell(line),
        }
    }
}
