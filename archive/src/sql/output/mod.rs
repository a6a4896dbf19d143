//! Results on their way out: as an aligned table, CSV, JSON or Parquet.

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

/// How a result is written.
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

/// The library names its temporary file in errors, which says nothing to people.
fn without_name(error: &io::Error) -> String {
    let whole = error.to_string();
    whole.split(" at path ").next().unwrap_or(&whole).to_owned()
}

/// Where results go.
#[derive(Debug)]
pub enum Sink {
    /// Standard output.
    Out(io::Stdout),
    /// A file that takes its name when it is whole.
    File(NamedTempFile, PathBuf),
}

impl Sink {
    /// A file, which appears when it is whole.
    ///
    /// # Errors
    /// Where it is there and no file, as a device, which would be replaced; or its folder cannot be
    /// written.
    pub fn file(path: &Path) -> Result<Self, Failure> {
        let doing = || format!("cannot write {}", path.display());
        if std::fs::metadata(path).is_ok_and(|about| !about.is_file()) {
            return Err(Failure::usage(doing(), "it is there and is no file")
                .advise("Name a file; without one the answer goes to standard output."));
        }
        let folder = match path.parent() {
            Some(folder) if folder != Path::new("") => folder,
            _ => Path::new("."),
        };
        let file = tempfile::Builder::new()
            .prefix(".windlass-")
            // What anybody may do with it, less what the user's mask forbids.
            .permissions(Permissions::from_mode(0o666))
            .tempfile_in(folder)
            .map_err(|error| {
                Failure::new(doing(), without_name(&error))
                    .advise("Name a file that can be written, on a disk that has room.")
            })?;
        Ok(Self::File(file, path.to_owned()))
    }

    /// Gives the file its name.
    ///
    /// # Errors
    /// Where it cannot be written.
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
/// Where they cannot be written.
pub fn aligned(rows: &RecordBatch, to: &mut impl Write) -> io::Result<()> {
    let mut table = aligned::Aligned::new(&rows.schema(), to);
    table.write(rows)?;
    table.finish()
}

/// A result that is being written.
pub enum Writing<'a> {
    /// As a table.
    Table(aligned::Aligned<'a, Sink>),
    /// As CSV.
    Csv(plain::Csv<'a>),
    /// As JSON.
    Json(plain::Json<'a>),
    /// As Parquet.
    Parquet(Box<parquet::Rows<'a>>),
}

impl std::fmt::Debug for Writing<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Writing").finish_non_exhaustive()
    }
}

impl<'a> Writing<'a> {
    /// A result of these columns.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn new(format: Format, schema: &SchemaRef, to: &'a mut Sink) -> io::Result<Self> {
        Ok(match format {
            Format::Table => Self::Table(aligned::Aligned::new(schema, to)),
            Format::Csv => Self::Csv(plain::Csv::new(schema, to)?),
            Format::Json => Self::Json(plain::Json::document(schema, to)?),
            Format::Jsonl => Self::Json(plain::Json::lines(schema, to)),
            Format::Parquet => Self::Parquet(Box::new(parquet::Rows::new(schema, to)?)),
        })
    }

    /// Takes rows.
    ///
    /// # Errors
    /// Where they cannot be written.
    pub fn write(&mut self, rows: &RecordBatch) -> io::Result<()> {
        match self {
            Self::Table(to) => to.write(rows),
            Self::Csv(to) => to.write(rows),
            Self::Json(to) => to.write(rows),
            Self::Parquet(to) => to.write(rows),
        }
    }

    /// Writes what is left.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn finish(self) -> io::Result<()> {
        match self {
            Self::Table(to) => to.finish(),
            Self::Csv(to) => to.finish(),
            Self::Json(to) => to.finish(),
            Self::Parquet(to) => to.finish(),
        }
    }
}
