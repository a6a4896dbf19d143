//! Progress of a job while it is sent.

use std::io;
use std::path::Path;
use std::time::Duration;

use windlass_base::{Bytes, Failure};
use windlass_drive::report::Interval;
use windlass_drive::transfer::Transfer;
use windlass_host::CurrentRun;
use windlass_measure::job::Attendant;
use windlass_output::live::{self};
use windlass_output::records::send::{LineFormatter, TransferView};
use windlass_output::{Format, Output, Progress};

use super::args::PrintArgs;
use crate::live::StopSignals;
use crate::reading;

/// Time between changes of the line on a terminal.
const CHANGE: Duration = Duration::from_millis(500);

/// Reports the progress of a job.
pub(super) struct Teller<'a> {
    args: &'a PrintArgs,
    output: &'a mut Output,
    listening: &'a StopSignals,
    /// The view from the start of the job, with the builder of its intervals.
    view: Option<live::LiveView>,
    showing: TransferView,
    live: LineFormatter,
    progress: Progress,
    /// Progress line while the capture for the send buffer is read.
    reading: Option<reading::Progress>,
    running: Option<CurrentRun>,
    unwritable: Option<io::Error>,
}

impl<'a> Teller<'a> {
    pub(super) fn new(
        args: &'a PrintArgs,
        output: &'a mut Output,
        listening: &'a StopSignals,
    ) -> Self {
        let transfer = Transfer { interval: args.interval, ..Transfer::default() };
        Self {
            args,
            output,
            listening,
            view: None,
            showing: TransferView::new(&transfer, windlass_drive::Protocol::Windlass),
            live: LineFormatter::new(&transfer, windlass_drive::Protocol::Windlass),
            progress: Progress::new(CHANGE, CHANGE),
            reading: None,
            running: None,
            unwritable: None,
        }
    }

    /// Ends with the job. The watch of the machine continues.
    pub(super) fn end(mut self) -> io::Result<Option<CurrentRun>> {
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
            // The measurement continues without a reader.
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
