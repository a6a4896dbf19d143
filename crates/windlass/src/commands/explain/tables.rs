//! `windlass explain --parquet`: many captures into tables.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;
use windlass_base::{Bytes, Failure, Schema};
use windlass_explain::{ExplainError, Job, Problem, Progress, Summary, explain_all};
use windlass_output::{Column, Output, Page, Record, Style, Text, figures};
use windlass_tables::{PathPattern, Table, TableWriter};

use crate::commands::unwritten;
use crate::files::WholeFile;
use crate::live::LIVE;
use crate::{interrupt, reading};

/// Input and output of tables.
#[derive(Args, Clone, Debug)]
pub struct TablesArgs {
    /// More captures: each is explained separately, or all go into the tables of --parquet
    #[arg(value_name = "MORE", conflicts_with_all = ["annotate", "follow"])]
    pub more: Vec<PathBuf>,

    /// Explain every connection of all captures, and write Parquet tables into the folder DIR:
    /// captures, connections, intervals, verdicts and rtt
    #[arg(long, value_name = "DIR", help_heading = "Tables")]
    #[arg(conflicts_with_all = ["connection", "top", "all", "annotate", "what_if", "follow"])]
    #[arg(conflicts_with_all = LIVE)]
    pub parquet: Option<PathBuf>,

    /// Pattern of the file paths, such as '{site}/{date}/*': each field becomes a column of the
    /// table captures. The pattern matches the end of a path; * stands for any text, {date} for a
    /// date such as 2026-11-23
    #[arg(long, value_name = "PATTERN", requires = "parquet", help_heading = "Tables")]
    pub path_pattern: Option<String>,

    /// Overwrite existing tables
    #[arg(long, requires = "parquet", help_heading = "Tables")]
    pub force: bool,
}

/// A table that was written.
#[derive(Debug, Serialize)]
struct WrittenTable {
    table: Table,
    file: String,
    rows: u64,
    file_bytes: Bytes,
}

/// A file that could not be explained.
#[derive(Debug, Serialize)]
struct UnexplainedFile {
    file: String,
    error: String,
}

/// The record of `windlass explain --parquet`.
#[derive(Debug, Serialize)]
struct Report {
    schema: Schema,
    directory: String,
    /// Number of files on the command line.
    files: u64,
    /// Captures; an archive may have several.
    explained: u64,
    damaged: u64,
    copies: u64,
    failed: u64,
    /// The first failures.
    failures: Vec<UnexplainedFile>,
    /// Files whose names do not match the pattern; null without one.
    unmatched: Option<u64>,
    tables: Vec<WrittenTable>,
}

impl Report {
    /// The shape of the JSON, described by `schemas/explain-tables.schema.json`.
    const SCHEMA: Schema = Schema { name: "windlass.explain-tables", version: 1 };
}

/// A table that is being written.
struct OpenTable {
    table: Table,
    whole: WholeFile,
    writer: TableWriter<File>,
}

/// Returns the file of a table.
fn path_of(directory: &Path, table: Table) -> PathBuf {
    directory.join(format!("{table}.parquet"))
}

fn doing(directory: &Path, table: Option<Table>) -> String {
    let path = table.map_or_else(|| directory.to_owned(), |table| path_of(directory, table));
    format!("cannot write {}", path.display())
}

/// The folder of the tables, removed on failure if it is new.
struct Folder<'a> {
    path: &'a Path,
    is_new: bool,
}

impl<'a> Folder<'a> {
    /// Opens the folder; existing tables are an error without `force`.
    fn of(path: &'a Path, force: bool) -> Result<Self, Failure> {
        if path.exists() && !path.is_dir() {
            return Err(Failure::usage(doing(path, None), "it is not a folder")
                .advise("Name a folder after --parquet."));
        }
        let there = Table::ALL.map(|table| path_of(path, table));
        let there: Vec<String> = there
            .iter()
            .filter(|path| path.symlink_metadata().is_ok())
            .map(|path| path.display().to_string())
            .collect();
        if !there.is_empty() && !force {
            let (exist, them) = if there.len() == 1 { ("exists", "it") } else { ("exist", "them") };
            let wrong = format!("{} already {exist}", there.join(", "));
            return Err(Failure::usage(doing(path, None), wrong)
                .advise(format!("Add --force to overwrite {them}, or name another folder.")));
        }
        let is_new = !path.is_dir();
        if is_new {
            fs::create_dir(path).map_err(|error| unwritable(path, None, &error))?;
        }
        Ok(Self { path, is_new })
    }
}

impl Drop for Folder<'_> {
    fn drop(&mut self) {
        // A folder with other files stays.
        if self.is_new {
            let _ = fs::remove_dir(self.path);
        }
    }
}

fn unwritable(directory: &Path, table: Option<Table>, error: &io::Error) -> Failure {
    Failure::new(doing(directory, table), error)
        .advise("Name a writable folder on a disk with free space.")
}

/// Explains the captures into the folder.
pub(super) fn run(
    args: &super::ExplainArgs,
    directory: &Path,
    output: &mut Output,
) -> anyhow::Result<()> {
    let tables = &args.tables;
    let files: Vec<PathBuf> =
        [&args.capture.file].into_iter().chain(&tables.more).cloned().collect();
    if files.iter().any(|file| file.as_os_str() == "-") {
        let wrong =
            "standard input can be read only once, and captures are identified by their content";
        return Err(Failure::usage("cannot explain standard input with --parquet", wrong)
            .advise("Save the capture to a file first.")
            .into());
    }
    let pattern = tables.path_pattern.as_deref().map(|text| {
        text.parse::<PathPattern>().map_err(|wrong| {
            Failure::usage(format!("cannot use --path-pattern {text:?}"), wrong)
                .advise("Write a path with fields, such as '{site}/{date}/*'.")
        })
    });
    let pattern = pattern.transpose()?;
    let folder = Folder::of(directory, tables.force)?;
    let create = |table| {
        let whole = WholeFile::create(&path_of(directory, table))?;
        let writer = TableWriter::new(whole.writer()?, table, pattern.as_ref())?;
        Ok(OpenTable { table, whole, writer })
    };
    let mut writing = Vec::new();
    for table in Table::ALL {
        writing.push(create(table).map_err(|error| unwritable(directory, Some(table), &error))?);
    }
    let job =
        Job { files: &files, filter: args.filter.into(), pattern: pattern.as_ref(), at_once: 0 };
    let summary = explained(&job, &mut writing).map_err(|ended| match ended {
        ExplainError::Stopped => Failure::new(doing(directory, None), "stopped by Ctrl-C")
            .advise("Nothing was written; run it again."),
        ExplainError::Failed(table, error) => unwritable(directory, table, &error),
    })?;
    let mut written = Vec::new();
    // The table of captures is named last: if it exists, the others exist.
    for one in writing.into_iter().rev() {
        let table = one.table;
        let named = take_name(one, directory);
        written.push(named.map_err(|error| unwritable(directory, Some(table), &error))?);
    }
    written.reverse();
    drop(folder);
    let report = Report::new(directory, files.len(), pattern.is_some(), summary, written);
    output.print(&report).map_err(unwritten)?;
    Ok(())
}

/// Explains the captures, with a progress line.
fn explained(job: &Job<'_>, writing: &mut [OpenTable]) -> Result<Summary, ExplainError> {
    let files = job.files.len();
    let mut line = reading::Progress::new(figures::counted(files as u64, "file").plain());
    let sizes = job.files.iter().filter_map(|file| fs::metadata(file).ok());
    let total: u64 = sizes.map(|about| about.len()).sum();
    let on_progress = |Progress { bytes, .. }| line.tell(bytes.min(total), Some(total));
    interrupt::during(|stop| {
        explain_all(job, stop, on_progress, |table, batch| {
            let one = writing.iter_mut().find(|one| one.table == table);
            one.map_or(Ok(()), |one| one.writer.write(batch))
        })
    })
}

/// Ends the file of a table, which takes its name.
fn take_name(one: OpenTable, directory: &Path) -> io::Result<WrittenTable> {
    let OpenTable { table, whole, writer } = one;
    let rows = writer.rows();
    let file = writer.finish()?;
    let file_bytes = Bytes::new(file.metadata()?.len());
    whole.take_name()?;
    Ok(WrittenTable {
        table,
        file: path_of(directory, table).display().to_string(),
        rows,
        file_bytes,
    })
}

impl Report {
    fn new(
        directory: &Path,
        files: usize,
        has_pattern: bool,
        summary: Summary,
        tables: Vec<WrittenTable>,
    ) -> Self {
        let Summary { explained, damaged, copies, failed, problems, unmatched } = summary;
        let failure = |Problem { file, wrong }| UnexplainedFile { file, error: wrong };
        Self {
            schema: Self::SCHEMA,
            directory: directory.display().to_string(),
            files: files as u64,
            explained,
            damaged,
            copies,
            failed,
            failures: problems.into_iter().map(failure).collect(),
            unmatched: has_pattern.then_some(unmatched),
            tables,
        }
    }
}

impl Record for Report {
    fn text(&self, page: &mut Page) {
        let Self { files, explained, damaged, copies, failed, unmatched, .. } = self;
        let mut head = figures::counted(*files, "file").and(" in tables below ");
        head = head.strong(self.directory.as_str()).and(": ");
        head = head.and(figures::counted(*explained, "capture")).and(" explained");
        if *damaged > 0 {
            head = head.and(", ").and(figures::count(*damaged)).and(" of them up to the damage");
        }
        if *copies > 0 {
            head = head.and(", ").and(figures::count(*copies)).and(" left out as copies");
        }
        page.paragraph(head.and("."));
        page.indented(|page| {
            page.table(&windlass_output::Table::of(
                &self.tables,
                &[
                    (Column::left("table"), |it| it.table.id().into()),
                    (Column::right("rows"), |it| it.rows.into()),
                    (Column::right("size"), |it| it.file_bytes.into()),
                    (Column::left("file"), |it| it.file.as_str().into()),
                ],
            ));
        });
        if *failed > 0 {
            let many = figures::counted(*failed, "file");
            page.paragraph(Text::styled(Style::Warn, many.and(" could not be explained:").plain()));
            for UnexplainedFile { file, error } in &self.failures {
                page.item("-", Text::from(file.as_str()).and(": ").and(error.as_str()));
            }
            let more = failed - self.failures.len() as u64;
            if more > 0 {
                page.item(
                    "-",
                    Text::from(figures::count(more)).and(" more; the table captures lists all"),
                );
            }
        }
        if let Some(unmatched) = unmatched.filter(|unmatched| *unmatched > 0) {
            let many = figures::counted(unmatched, "name").plain();
            let does = if unmatched == 1 { "does" } else { "do" };
            page.paragraph(Text::styled(
                Style::Warn,
                format!("{many} {does} not match the pattern: the fields are null there."),
            ));
        }
    }
}
