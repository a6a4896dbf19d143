//! `windlass explain --compare`: two captures side by side.

use std::fs;

use windlass_base::Failure;
use windlass_capture::ReadSettings;
use windlass_explain::compare::{Comparison, Relation, Survey, compare};
use windlass_output::Output;
use windlass_output::records::explain::comparison::CaptureComparison;

use super::{ExplainArgs, without_data};
use crate::arguments::is_picked;
use crate::commands::unwritten;
use crate::reading;

/// Runs the command with `--compare`.
pub(super) fn run(args: &ExplainArgs, output: &mut Output) -> anyhow::Result<()> {
    let [second] = args.tables.more.as_slice() else {
        let wrong = match args.tables.more.len() {
            0 => "--compare takes two captures, and one was named".to_owned(),
            more => format!("--compare takes two captures, and {} were named", more + 1),
        };
        let failure = Failure::usage("cannot compare captures", wrong);
        return Err(failure.advise("Name two: windlass explain --compare A.pcap B.pcap").into());
    };
    let files = [args.capture.file.as_path(), second];
    let readings = files.map(|file| ReadSettings {
        file,
        filter: args.filter.into(),
        range: args.range.into(),
        follow: false,
        doing: "compare",
    });
    readings.iter().try_for_each(refuse_pipe)?;
    let [first, second] = &readings;
    let mut read =
        |reading: &ReadSettings<'_>, observation: &mut _| reading::read(reading, observation);
    let surveys =
        [survey(args, first, args.connection, &mut read)?, survey(args, second, None, &mut read)?];
    let Comparison { relation, transfers } =
        compare([first, second], &surveys, args.connection, &mut read)?;
    let [one, other] = &surveys;
    let (places, runs) = match relation {
        Relation::Places(places) => (Some(*places), None),
        Relation::Runs(runs) => (None, Some(*runs)),
    };
    let record = CaptureComparison {
        schema: CaptureComparison::SCHEMA,
        captures: [one.facts(first.name()), other.facts(second.name())],
        transfers,
        places,
        runs,
    };
    output.print_paged(&record).map_err(unwritten)
}

/// Reads a capture for the first time, and refuses one without a transfer.
fn survey(
    args: &ExplainArgs,
    reading: &ReadSettings<'_>,
    only: Option<u64>,
    read: &mut dyn FnMut(
        &ReadSettings<'_>,
        &mut windlass_explain::compare::Observation,
    ) -> Result<windlass_capture::ReadCapture, Failure>,
) -> Result<Survey, Failure> {
    let survey = Survey::of(reading, only, read)?;
    if survey.has_data() {
        return Ok(survey);
    }
    let doing = format!("cannot compare {}", reading.name());
    let facts = survey.facts(reading.name());
    let is_picked = is_picked(args.filter, args.range);
    Err(without_data(doing, &facts, survey.totals(), only, is_picked))
}

/// Refuses standard input and other pipes: each capture is read twice.
fn refuse_pipe(reading: &ReadSettings<'_>) -> Result<(), Failure> {
    let is_pipe = fs::metadata(reading.file).is_ok_and(|about| !about.is_file() && !about.is_dir());
    if reading.is_stdin() || is_pipe {
        let doing = format!("cannot compare {}", reading.file.display());
        let failure =
            Failure::usage(doing, "each capture is read twice, and a pipe can be read only once");
        return Err(failure.advise("Save the capture to a file first."));
    }
    Ok(())
}
