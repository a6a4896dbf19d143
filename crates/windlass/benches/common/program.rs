//! Programs that a bench runs, and what they say.

#![allow(dead_code, reason = "each bench is a program of its own and uses a part of this")]

use std::path::Path;
use std::process::{Child, Command};

use anyhow::{Context, Result};
use serde_json::Value;

/// The program that is measured.
pub(crate) fn windlass() -> Command {
    Command::new(env!("CARGO_BIN_EXE_windlass"))
}

/// A program that ends with its owner.
pub(crate) struct RunningChild(pub(crate) Child);

impl Drop for RunningChild {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Returns whether a program is installed; prints that it is skipped if it is not.
pub(crate) fn is_there(program: &str) -> bool {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let mut folders = std::env::split_paths(&paths).chain([Path::new("/usr/sbin").into()]);
    let is_there = folders.any(|folder| folder.join(program).is_file());
    if !is_there {
        println!("skipped: {program}: it is not installed");
    }
    is_there
}

/// A number of a record, by its JSON pointer.
pub(crate) fn number(record: &Value, pointer: &str) -> Result<f64> {
    let found = record.pointer(pointer).and_then(Value::as_f64);
    found.with_context(|| format!("no number at {pointer} in {record}"))
}
