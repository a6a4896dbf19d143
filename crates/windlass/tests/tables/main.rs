//! The tables of `windlass explain --parquet`: their figures are those of `--json`, others read
//! them, and whatever the captures are, each has its row.
//!
//! `cargo test -p windlass --test tables -- --ignored write_columns` writes the columns in
//! `docs/tables.md` again.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a test has peers")]

mod archived;
mod command;
mod document;
mod figures;
mod hostile;
mod readers;
mod rows;

use std::path::{Path, PathBuf};

use serde_json::Value;
use tempfile::TempDir;
use windlass_testkit::{schema, told, windlass};

/// Explains files into tables, and gives what the command said.
fn written(folder: &Path, files: &[PathBuf], more: &[&str]) -> Value {
    let output = windlass()
        .args(["explain", "--json", "--parquet"])
        .arg(folder)
        .args(more)
        .args(files)
        .output()
        .unwrap();
    let (stdout, stderr, code) = told(&output);
    assert_eq!((stderr.as_str(), code), ("", 0));
    schema::checked("explain-tables", &stdout)
}

/// Writes the tables into a new folder.
fn tables(files: &[PathBuf], more: &[&str]) -> (TempDir, Value) {
    let folder = tempfile::tempdir().unwrap();
    let said = written(&folder.path().join("tables"), files, more);
    (folder, said)
}
