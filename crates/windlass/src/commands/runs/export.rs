//! `windlass runs export`: runs for other programs.

use std::collections::BTreeMap;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use serde_json::Value;
use windlass_base::Failure;
use windlass_output::Output;
use windlass_output::csv::quoted;
use windlass_runs::{FigureName, Run, RunId, Selector, Store, Summary, Unit};

use super::{FilterArgs, all, chosen};
use crate::commands::unwritten;
use crate::files::WholeFile;

/// The arguments of `windlass runs export`.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = "\
Examples:
  windlass runs export > runs.jsonl        everything, one line of JSON per run
  windlass runs export --format csv --command send -o sends.csv
                                           one row per run, one column per figure
  windlass runs export --format long last  one row per value of the last run, with
                                           its intervals

Columns of the long table:
  run, command, target, tags, start_time, name, place, value
  The name is the path of the value in the record, without array indices. The place has these
  indices, from 0: 3/0 is the first stream of the fourth interval.")]
pub struct ExportArgs {
    /// Runs, or tag:WORD for all with a tag [default: all runs]
    #[arg(value_name = "RUN")]
    pub runs: Vec<Selector>,

    /// Filter of the runs.
    #[command(flatten)]
    pub filter: FilterArgs,

    /// Output format
    #[arg(long, value_enum, value_name = "FORM", default_value_t = Form::Json)]
    pub format: Form,

    /// Write to this file; it appears under its name when it is complete
    #[arg(long, short = 'o', value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// Format of an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Form {
    /// One line of JSON per run, with everything that is kept
    Json,
    /// Table: one row per run, and per device or direction of a run
    Csv,
    /// Long table: one row per value of the records
    Long,
}

/// Runs the command.
pub(super) fn run(args: &ExportArgs, store: &Store, output: &mut Output) -> anyhow::Result<()> {
    let runs = all(store)?;
    let found = chosen(&args.runs, &args.filter, &runs)?;
    let Some(path) = &args.output else {
        let mut to = RawOutput(output);
        return write(args.format, &found, store, &mut to).map_err(|wrong| match wrong {
            ExportError::Write(error) => unwritten(error),
            ExportError::Read(failure) => failure.into(),
        });
    };
    let doing = || format!("cannot write {}", path.display());
    let no = |error: io::Error| Failure::new(doing(), error);
    let file = WholeFile::create(path).map_err(no)?;
    let mut to = BufWriter::new(file.writer().map_err(no)?);
    write(args.format, &found, store, &mut to).map_err(|wrong| match wrong {
        ExportError::Write(error) => no(error),
        ExportError::Read(failure) => failure,
    })?;
    to.flush().map_err(no)?;
    file.take_name().map_err(no)?;
    Ok(())
}

/// Standard output, whatever its form.
struct RawOutput<'a>(&'a mut Output);

impl Write for RawOutput<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.raw(bytes)?;
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Error of an export: on the writing or the reading side.
enum ExportError {
    Write(io::Error),
    Read(Failure),
}

impl From<io::Error> for ExportError {
    fn from(error: io::Error) -> Self {
        Self::Write(error)
    }
}

impl From<Failure> for ExportError {
    fn from(failure: Failure) -> Self {
        Self::Read(failure)
    }
}

fn write(
    form: Form,
    runs: &[&Summary],
    store: &Store,
    to: &mut impl Write,
) -> Result<(), ExportError> {
    match form {
        Form::Json => {
            for run in whole(runs, store)? {
                let mut json = run?.json().map_err(io::Error::from)?;
                json.push(b'\n');
                to.write_all(&json)?;
            }
        }
        Form::Csv => to.write_all(wide(runs).as_bytes())?,
        Form::Long => {
            to.write_all(b"run,command,target,tags,start_time,name,place,value\r\n")?;
            for (run, summary) in whole(runs, store)?.zip(runs) {
                to.write_all(long(&run?, summary).as_bytes())?;
            }
        }
    }
    Ok(())
}

fn whole(
    runs: &[&Summary],
    store: &Store,
) -> Result<impl Iterator<Item = Result<Run, Failure>>, Failure> {
    let ids: Vec<RunId> = runs.iter().map(|run| run.id).collect();
    store.read(ids)
}

fn row(fields: impl IntoIterator<Item = String>) -> String {
    let fields: Vec<String> = fields.into_iter().map(|one| quoted(&one)).collect();
    format!("{}\r\n", fields.join(","))
}

/// Returns the name of a figure's column, with its unit.
fn column(name: FigureName) -> String {
    let unit = match name.unit() {
        Unit::Count => String::new(),
        unit => format!("_{}", unit.id().replace('-', "_")),
    };
    format!("{}{unit}", name.id().replace('-', "_"))
}

/// Returns a row for each run and each of its rows, with a column for each figure of any run.
fn wide(runs: &[&Summary]) -> String {
    let mut names: Vec<FigureName> =
        runs.iter().flat_map(|run| &run.figures).map(|figure| figure.name).collect();
    names.sort_unstable();
    names.dedup();
    let keys = ["run", "command", "target", "host", "start_time", "end_time", "exit_code", "tags"];
    let head = keys.into_iter().chain(["arguments", "of", "limit", "confidence"]);
    let mut table = row(head.map(str::to_owned).chain(names.iter().map(|name| column(*name))));
    for run in runs {
        let mut rows: Vec<Option<&str>> = Vec::new();
        let figures = run.figures.iter().map(|figure| figure.of.as_deref());
        for of in figures.chain(run.verdicts.iter().map(|verdict| verdict.of.as_deref())) {
            if !rows.contains(&of) {
                rows.push(of);
            }
        }
        if rows.is_empty() {
            rows.push(None);
        }
        for of in rows {
            let verdict = run.verdicts.iter().find(|verdict| verdict.of.as_deref() == of);
            let fixed = [
                run.id.to_string(),
                run.command.clone(),
                run.target.clone().unwrap_or_default(),
                run.host.clone(),
                run.start_time.to_string(),
                run.end_time.to_string(),
                run.exit_code.to_string(),
                run.tags.join(" "),
                windlass_output::records::runs::command_line(&run.arguments),
                of.unwrap_or_default().to_owned(),
                verdict.map(|verdict| verdict.cause.clone()).unwrap_or_default(),
                verdict.and_then(|verdict| verdict.confidence.clone()).unwrap_or_default(),
            ];
            let values = names.iter().map(|name| {
                run.figure(*name, of).map(|value| value.to_string()).unwrap_or_default()
            });
            table.push_str(&row(fixed.into_iter().chain(values)));
        }
    }
    table
}

/// Returns a row for each number and word of a run's records.
fn long(run: &Run, summary: &Summary) -> String {
    let keys = [
        run.id.to_string(),
        run.command.clone(),
        summary.target.clone().unwrap_or_default(),
        run.tags.join(" "),
        run.start_time.to_string(),
    ];
    let keys: Vec<String> = keys.iter().map(|key| quoted(key)).collect();
    let keys = keys.join(",");
    let mut table = String::new();
    let several = run.records.len() > 1;
    for (number, kept) in run.records.iter().enumerate() {
        let record: Value = serde_json::from_str(kept.record.get()).unwrap_or_default();
        let place = if several { number.to_string() } else { String::new() };
        let mut add = |name: &str, place: &str, value: &str| {
            let (name, value) = (quoted(name), quoted(value));
            table.push_str(&format!("{keys},{name},{place},{value}\r\n"));
        };
        flatten(&record, "", &place, &mut add);
    }
    table
}

/// Calls `add` with each number and word of a value, with its path and array indices.
fn flatten(value: &Value, name: &str, place: &str, add: &mut impl FnMut(&str, &str, &str)) {
    match value {
        Value::Null => {}
        Value::Bool(one) => add(name, place, &one.to_string()),
        Value::Number(one) => add(name, place, &one.to_string()),
        Value::String(one) => add(name, place, one),
        Value::Array(all) => {
            for (number, one) in all.iter().enumerate() {
                let place = joined(place, &number.to_string(), "/");
                flatten(one, name, &place, add);
            }
        }
        Value::Object(all) => {
            let all: BTreeMap<&String, &Value> = all.iter().collect();
            for (key, one) in all {
                flatten(one, &joined(name, key, "."), place, add);
            }
        }
    }
}

fn joined(before: &str, one: &str, between: &str) -> String {
    if before.is_empty() { one.to_owned() } else { format!("{before}{between}{one}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_becomes_a_row_for_each_number_and_word() {
        let record = serde_json::json!({
            "host": "a, \"b\"", "intervals": [{"rate": 1.5, "streams": [{"n": 1}, {"n": 2}]}, null],
        });
        let mut rows = Vec::new();
        flatten(&record, "", "", &mut |name, place, value| {
            rows.push(row([name.to_owned(), place.to_owned(), value.to_owned()]));
        });
        assert_eq!(
            rows,
            [
                "host,,\"a, \"\"b\"\"\"\r\n",
                "intervals.rate,0,1.5\r\n",
                "intervals.streams.n,0/0,1\r\n",
                "intervals.streams.n,0/1,2\r\n",
            ]
        );
        assert_eq!(column(FigureName::LatencyP99), "latency_p99_seconds");
        assert_eq!(column(FigureName::Drops), "drops");
    }
}
