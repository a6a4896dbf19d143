//! `windlass explain --parquet`: many captures into tables.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;
use windlass_base::{Bytes, Failure, Schema};
use windlass_explain::{Ended, Job, Problem, Progress, Summary, explain_all};
use windlass_output::{Column, Output, Page, Record, Style, Text, figures};
use windlass_tables::{PathPattern, Table, TableWriter};

use crate::commands::unwritten;
use crate::files::WholeFile;
use crate::live::LIVE;
use crate::{interrupt, reading};

/// What goes into tables, and where they are.
#[derive(Args, Clone, Debug)]
pub struct TablesArgs {
    /// More captures, each explained by itself, or all into tables
    #[arg(value_name = "MORE", conflicts_with_all = ["annotate", "follow"])]
    pub more: Vec<PathBuf>,

    /// Explain every connection of all captures, and write tables into the folder
    /// DIR, as Parquet: captures, connections, intervals, verdicts and rtt
    #[arg(long, value_name = "DIR", help_heading = "Tables")]
    #[arg(conflicts_with_all = ["connection", "top", "all", "annotate", "what_if", "follow"])]
    #[arg(conflicts_with_all = LIVE)]
    pub parquet: Option<PathBuf>,

    /// How files are named, as '{site}/{date}/*': each field becomes a column of
    /// captures. It is held against the last parts of a path; * stands for any
    /// text, and {date} for a date such as 2026-11-23
    #[arg(long, value_name = "PATTERN", requires = "parquet", help_heading = "Tables")]
    pub path_pattern: Option<String>,

    /// Write over tables that are there
    #[arg(long, requires = "parquet", help_heading = "Tables")]
    pub force: bool,
}

/// A table that was written.
#[derive(Debug, Serialize)]
struct Written {
    table: Table,
    file: String,
    rows: u64,
    file_bytes: Bytes,
}

/// A file that could not be explained.
#[derive(Debug, Serialize)]
struct Failed {
    file: String,
    error: String,
}

/// The record of `windlass explain --parquet`.
#[derive(Debug, Serialize)]
struct Report {
    schema: Schema,
    directory: String,
    /// The files that were named.
    files: u64,
    /// Captures, of which an archive has several.
    explained: u64,
    damaged: u64,
    copies: u64,
    failed: u64,
    /// The first of those that failed.
    failures: Vec<Failed>,
    /// Files whose names do not match; null without a pattern.
    unmatched: Option<u64>,
    tables: Vec<Written>,
}

impl Report {
    /// The shape of the JSON, described by `schemas/explain-tables.schema.json`.
    const SCHEMA: Schema = Schema { name: "windlass.explain-tables", version: 1 };
}

/// A table on its way into its file.
struct Writing {
    table: Table,
    whole: WholeFile,
    writer: TableWriter<File>,
}

/// The file of a table.
fn path_of(directory: &Path, table: Table) -> PathBuf {
    directory.join(format!("{table}.parquet"))
}

fn doing(directory: &Path, table: Option<Table>) -> String {
    let path = table.map_or_else(|| directory.to_owned(), |table| path_of(directory, table));
    format!("cannot write {}", path.display())
}

/// The folder of tables, and whether it was made for them.
struct Folder<'a> {
    path: &'a Path,
    is_new: bool,
}

impl<'a> Folder<'a> {
    /// The folder, which must not have tables unless they may be written over.
    fn of(path: &'a Path, force: bool) -> Result<Self, Failure> {
        if path.exists() && !path.is_dir() {
            return Err(Failure::usage(doing(path, None), "it is no folder")
                .advise("Name the folder that the tables go into, behind --parquet."));
        }
        let there = Table::ALL.map(|table| path_of(path, table));
        let there: Vec<String> = there
            .iter()
            .filter(|path| path.symlink_metadata().is_ok())
            .map(|path| path.display().to_string())
            .collect();
        if !there.is_empty() && !force {
            let (is, them) = if there.len() == 1 { ("is", "it") } else { ("are", "them") };
            let wrong = format!("{} {is} there", there.join(", "));
            return Err(Failure::usage(doing(path, None), wrong)
                .advise(format!("Add --force to write over {them}, or name another folder.")));
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
        // One in which something is stays.
        if self.is_new {
            let _ = fs::remove_dir(self.path);
        }
    }
}

fn unwritable(directory: &Path, table: Option<Table>, error: &io::Error) -> Failure {
    Failure::new(doing(directory, table), error)
        .advise("Name a folder that can be written, on a disk that has room.")
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
        let wrong = "standard input can be read only once, and a capture is known by its content";
        return Err(Failure::usage("cannot explain standard input with --parquet", wrong)
            .advise("Save the capture to a file first.")
            .into());
    }
    let pattern = tables.path_pattern.as_deref().map(|text| {
        text.parse::<PathPattern>().map_err(|wrong| {
            Failure::usage(format!("cannot use --path-pattern {text:?}"), wrong)
                .advise("It is a path with fields, as '{site}/{date}/*'.")
        })
    });
    let pattern = pattern.transpose()?;
    let folder = Folder::of(directory, tables.force)?;
    let create = |table| {
        let whole = WholeFile::create(&path_of(directory, table))?;
        let writer = TableWriter::new(whole.writer()?, table, pattern.as_ref())?;
        Ok(Writing { table, whole, writer })
    };
    let mut writing = Vec::new();
    for table in Table::ALL {
        writing.push(create(table).map_err(|error| unwritable(directory, Some(table), &error))?);
    }
    let job =
        Job { files: &files, filter: args.filter.into(), pattern: pattern.as_ref(), at_once: 0 };
    let summary = explained(&job, &mut writing).map_err(|ended| match ended {
        Ended::Stopped => Failure::new(doing(directory, None), "it was stopped by Ctrl-C")
            .advise("Nothing was written; run it again."),
        Ended::Failed(table, error) => unwritable(directory, table, &error),
    })?;
    let mut written = Vec::new();
    // The captures are named last: where they are, the others are.
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

/// Explains them, with a line that says how far it is.
fn explained(job: &Job<'_>, writing: &mut [Writing]) -> Result<Summary, Ended> {
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
fn take_name(one: Writing, directory: &Path) -> io::Result<Written> {
    let Writing { table, whole, writer } = one;
    let rows = writer.rows();
    let file = writer.finish()?;
    let file_bytes = Bytes::new(file.metadata()?.len());
    whole.take_name()?;
    Ok(Written { table, file: path_of(directory, table).display().to_string(), rows, file_bytes })
}

impl Report {
    fn new(
        directory: &Path,
        files: usize,
        has_pattern: bool,
        summary: Summary,
        tables: Vec<Written>,
    ) -> Self {
        let Summary { explained, damaged, copies, failed, problems, unmatched } = summary;
        let failure = |Problem { file, wrong }| Failed { file, error: wrong };
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
            head = head.and(", ").and(figures::count(*damaged)).and(" of them to where damaged");
        }
        if *copies > 0 {
            head = head.and(", ").and(figures::count(*copies)).and(" more of the same content");
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
            for Failed { file, error } in &self.failures {
                page.item("-", Text::from(file.as_str()).and(": ").and(error.as_str()));
            }
            let more = failed - self.failures.len() as u64;
            if more > 0 {
                page.item(
                    "-",
                    Text::from(figures::count(more)).and(" more; captures has them all"),
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
