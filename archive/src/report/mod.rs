//! `windlass-archive report`: answers to the usual questions.

mod page;

use std::io::{self, Write as _};
use std::path::PathBuf;

use arrow::array::RecordBatch;
use arrow::compute::concat_batches;
use arrow::json::writer::{JsonArray, WriterBuilder};
use clap::Args;
use futures::TryStreamExt as _;
use serde::Serialize;
use serde_json::value::RawValue;
use tokio::runtime::Runtime;
use windlass_base::{Failure, Schema};

use crate::sql::{FromArgs, Session, Sink, aligned, until_signal};

/// Archive to report on, and the output.
#[derive(Args, Clone, Debug)]
#[command(after_long_help = "\
Examples:
  windlass-archive report --from archive
  windlass-archive report --from archive -o report.html")]
pub struct ReportArgs {
    #[command(flatten)]
    from: FromArgs,

    /// Maximum number of rows of each table
    #[arg(long, value_name = "N", default_value_t = 20)]
    #[arg(value_parser = clap::value_parser!(u16).range(1..))]
    rows: u16,

    /// Write a self-contained HTML page to FILE
    #[arg(short, long, value_name = "FILE", conflicts_with = "json")]
    output: Option<PathBuf>,

    /// Print the tables as JSON
    #[arg(long)]
    json: bool,
}

/// Question, and the query that answers it.
struct Question {
    id: &'static str,
    title: &'static str,
    query: &'static str,
}

const QUESTIONS: [Question; 5] = [
    Question {
        id: "captures",
        title: "Content of the archive",
        query: include_str!("../../../docs/queries/captures.sql"),
    },
    Question {
        id: "limits-by-prefix-and-hour",
        title: "The share of each limit by network and hour",
        query: include_str!("../../queries/limits-by-prefix-and-hour.sql"),
    },
    Question {
        id: "devices",
        title: "Devices limited by their window, worst first",
        query: include_str!("../../queries/devices.sql"),
    },
    Question {
        id: "changed-pairs",
        title: "Pairs whose limit changed in the last seven days",
        query: include_str!("../../queries/changed-pairs.sql"),
    },
    Question {
        id: "slow-hours",
        title: "The slowest hours",
        query: include_str!("../../queries/slow-hours.sql"),
    },
];

/// Answer to a question.
struct Answer {
    question: &'static Question,
    rows: RecordBatch,
    /// True if there are more rows than these.
    more: bool,
}

/// Returns the comment before a query, which describes the answer.
fn about(query: &str) -> String {
    let lines = query.lines().map_while(|line| line.strip_prefix("--"));
    lines.map(str::trim).collect::<Vec<_>>().join(" ")
}

async fn ask(
    session: &Session,
    question: &'static Question,
    most: usize,
) -> Result<Answer, Failure> {
    let mut batches = Vec::new();
    let mut count = 0;
    let mut schema = None;
    for statement in session.statements(question.query)? {
        let mut rows = session.run(statement).await?;
        schema = Some(rows.schema());
        while count <= most {
            let next = rows.try_next().await.map_err(|error| session.failure(&error))?;
            let Some(batch) = next else { break };
            count += batch.num_rows();
            batches.push(batch);
        }
    }
    let schema = schema.unwrap_or_else(|| std::sync::Arc::new(arrow::datatypes::Schema::empty()));
    let rows = concat_batches(&schema, &batches).map_err(|error| session.failure(&error.into()))?;
    Ok(Answer { question, rows: rows.slice(0, count.min(most)), more: count > most })
}

#[derive(Serialize)]
struct Table<'a> {
    id: &'a str,
    title: &'a str,
    about: String,
    rows: Box<RawValue>,
    /// True if there are more rows.
    more: bool,
}

#[derive(Serialize)]
struct Report<'a> {
    schema: Schema,
    archive: String,
    tables: Vec<Table<'a>>,
}

const SCHEMA: Schema = Schema { name: "windlass.archive-report", version: 1 };

fn json(archive: &str, answers: &[Answer]) -> anyhow::Result<String> {
    let table = |answer: &Answer| -> anyhow::Result<Table<'static>> {
        let mut text = Vec::new();
        let mut writer =
            WriterBuilder::new().with_explicit_nulls(true).build::<_, JsonArray>(&mut text);
        writer.write(&answer.rows)?;
        writer.finish()?;
        drop(writer);
        let text = if text.is_empty() { "[]".to_owned() } else { String::from_utf8(text)? };
        let Question { id, title, query } = answer.question;
        let rows = RawValue::from_string(text)?;
        Ok(Table { id, title, about: about(query), rows, more: answer.more })
    };
    let tables = answers.iter().map(table).collect::<anyhow::Result<_>>()?;
    let report = Report { schema: SCHEMA, archive: archive.to_owned(), tables };
    Ok(serde_json::to_string(&report)? + "\n")
}

fn text(answers: &[Answer]) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    for (place, answer) in answers.iter().enumerate() {
        if place > 0 {
            writeln!(text)?;
        }
        writeln!(text, "{}", answer.question.title)?;
        writeln!(text)?;
        if answer.rows.num_rows() == 0 {
            writeln!(text, "None.")?;
            continue;
        }
        aligned(&answer.rows, &mut text)?;
        if answer.more {
            writeln!(text, "There are more rows: use --rows to show them.")?;
        }
    }
    Ok(text)
}

/// Answers the questions.
///
/// # Errors
/// Returns an error if the archive cannot be read, or the answer cannot be written.
pub fn run(args: &ReportArgs, runtime: &Runtime) -> anyhow::Result<()> {
    let session = args.from.open(runtime)?;
    let most = usize::from(args.rows);
    let work = async {
        let mut answers = Vec::new();
        for question in &QUESTIONS {
            answers.push(ask(&session, question, most).await?);
        }
        Ok::<_, Failure>(answers)
    };
    let Some(answers) = runtime.block_on(until_signal(work)) else {
        return Err(Failure::new("cannot answer", "it was stopped").into());
    };
    let answers = answers?;
    let Some(path) = &args.output else {
        let text = if args.json {
            json(args.from.name(), &answers)?.into_bytes()
        } else {
            text(&answers)?
        };
        let mut out = io::stdout().lock();
        out.write_all(&text)?;
        return Ok(out.flush()?);
    };
    let page = page::page(args.from.name(), &answers)?;
    let mut sink = Sink::file(path)?;
    let written = sink.write_all(page.as_bytes()).and_then(|()| sink.finish());
    Ok(written.map_err(|error| Failure::new(format!("cannot write {}", path.display()), error))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_question_has_a_name_and_says_what_it_tells() {
        let mut ids: Vec<&str> = QUESTIONS.iter().map(|question| question.id).collect();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), QUESTIONS.len());
        assert!(QUESTIONS.iter().all(|question| about(question.query).ends_with('.')));
    }
}
