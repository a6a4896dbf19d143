//! Output of results: as an aligned table, CSV, JSON or Parquet.

mod aligned;
mod parquet;
mod plain;

use std::fs::{File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use arrow::datatypes::SchemaRef;
use arrow::record_batch::RecordBatch;
use clap::ValueEnum;
use tempfile::NamedTempFile;
use windlass_base::Failure;

pub use aligned::{cells, visible};

/// Format of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Aligned columns, for people: numbers to six digits
    Table,
    /// Comma-separated values, with a line of names
    Csv,
    /// One document, with the names and types of the columns
    Json,
    /// A JSON object on each line
    Jsonl,
    /// A Parquet file
    Parquet,
}

/// Removes the name of the library's temporary file from an error.
fn without_name(error: &io::Error) -> String {
    let whole = error.to_string();
    whole.split(" at path ").next().unwrap_or(&whole).to_owned()
}

/// Destination of results.
#[derive(Debug)]
pub enum Sink {
    /// Standard output.
    Out(io::Stdout),
    /// A file that gets its name once complete.
    File(NamedTempFile, PathBuf),
}

impl Sink {
    /// Opens a file, which appears once complete.
    ///
    /// # Errors
    /// Returns an error if the path exists and is not a file: a device would be replaced. The same
    /// holds if its folder cannot be written.
    pub fn file(path: &Path) -> Result<Self, Failure> {
        let doing = || format!("cannot write {}", path.display());
        if std::fs::metadata(path).is_ok_and(|about| !about.is_file()) {
            return Err(Failure::usage(doing(), "it exists and is not a file")
                .advise("Give a file, or leave out --output for standard output."));
        }
        let folder = match path.parent() {
            Some(folder) if folder != Path::new("") => folder,
            _ => Path::new("."),
        };
        let file = tempfile::Builder::new()
            .prefix(".windlass-")
            // Permissions for everybody, reduced by the user's umask.
            .permissions(Permissions::from_mode(0o666))
            .tempfile_in(folder)
            .map_err(|error| {
                Failure::new(doing(), without_name(&error))
                    .advise("Give a writable file, on a disk with free space.")
            })?;
        Ok(Self::File(file, path.to_owned()))
    }

    /// Completes the output, and gives the file its name.
    ///
    /// # Errors
    /// Returns an error if the output cannot be written.
    pub fn finish(self) -> io::Result<()> {
        match self {
            Self::Out(mut out) => out.flush(),
            Self::File(file, path) => {
                file.persist(path).map(|_: File| ()).map_err(|error| error.error)
            }
        }
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Out(out) => out.write(bytes),
            Self::File(file, _) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Out(out) => out.flush(),
            Self::File(file, _) => file.flush(),
        }
    }
}

/// Writes rows as a table, all at once.
///
/// # Errors
/// Returns an error if the rows cannot be written.
pub fn aligned(rows: &RecordBatch, to: &mut impl Write) -> io::Result<()> {
    let mut table = aligned::AlignedTable::new(&rows.schema(), to);
    table.write(rows)?;
    table.finish()
}

/// Writer of a result.
pub enum ResultWriter<'a> {
    /// Writes an aligned table.
    Table(aligned::AlignedTable<'a, Sink>),
    /// Writes CSV.
    Csv(plain::Csv<'a>),
    /// Writes JSON.
    Json(plain::Json<'a>),
    /// Writes Parquet.
    Parquet(Box<parquet::ParquetRows<'a>>),
}

impl std::fmt::Debug for ResultWriter<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ResultWriter").finish_non_exhaustive()
    }
}

impl<'a> ResultWriter<'a> {
    /// Starts a result with these columns.
    ///
    /// # Errors
    /// Returns an error if the output cannot be written.
    pub fn new(format: Format, schema: &SchemaRef, to: &'a mut Sink) -> io::Result<Self> {
        Ok(match format {
            Format::Table => Self::Table(aligned::AlignedTable::new(schema, to)),
            Format::Csv => Self::Csv(plain::Csv::new(schema, to)?),
            Format::Json => Self::Json(plain::Json::document(schema, to)?),
            Format::Jsonl => Self::Json(plain::Json::lines(schema, to)),
            Format::Parquet => Self::Parquet(Box::new(parquet::ParquetRows::new(schema, to)?)),
        })
    }

    /// Writes rows.
    ///
    /// # Errors
    /// Returns an error if the rows cannot be written.
    pub fn write(&mut self, rows: &RecordBatch) -> io::Result<()> {
        match self {
            Self::Table(to) => to.write(rows),
            Self::Csv(to) => to.write(rows),
            Self::Json(to) => to.write(rows),
            Self::Parquet(to) => to.write(rows),
        }
    }

    /// Completes the result.
    ///
    /// # Errors
    /// Returns an error if the output cannot be written.
    pub fn finish(self) -> io::Result<()> {
        match self {
            Self::Table(to) => to.finish(),
            Self::Csv(to) => to.finish(),
            Self::Json(to) => to.finish(),
            Self::Parquet(to) => to.finish(),
        }
    }
}
