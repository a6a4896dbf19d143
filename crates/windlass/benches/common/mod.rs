//! Shared parts of the benches: arguments, rounds in turn, medians, tables, and the file that keeps
//! them (`results/NAME.md` beside this folder).
//!
//! It uses nothing but the standard library, as the bench of a pure crate has it,
//! too. What needs more is in `program.rs` and `veth.rs` beside it.

#![allow(
    dead_code,
    unused_imports,
    reason = "each bench is a program of its own and uses a part of this"
)]

mod asked;
mod machine;
mod part;
mod results;

use std::fmt::Display;
use std::path::Path;
use std::process::ExitCode;
use std::{fs, io};

pub(crate) use asked::{BenchArguments, OwnOption};
pub(crate) use part::{Bound, Part};

/// A run of a bench.
pub(crate) struct Bench {
    pub(crate) asked: BenchArguments,
    name: &'static str,
    known: &'static [&'static str],
    peers: Vec<&'static str>,
    told: Vec<Part>,
}

impl Bench {
    /// Measures as the command line asks for, prints what came of it, and writes
    /// the results file where that is wanted. It fails where something did, and where a
    /// bound does not hold.
    ///
    /// `known` has the names of the parts in their order, for `--only`.
    pub(crate) fn run<E: Display>(
        name: &'static str,
        own: &[OwnOption],
        known: &'static [&'static str],
        measure: impl FnOnce(&mut Self) -> Result<(), E>,
    ) -> ExitCode {
        let help = asked::help(name, own, known);
        let asked = match BenchArguments::parse(std::env::args().skip(1), own, known) {
            Ok(Some(asked)) => asked,
            Ok(None) => {
                println!("{help}");
                return ExitCode::SUCCESS;
            }
            Err(wrong) => {
                eprintln!("error: {wrong}\n\n{help}");
                return ExitCode::from(2);
            }
        };
        let mut bench = Self { asked, name, known, peers: Vec::new(), told: Vec::new() };
        let is_wanted = bench.asked.write;
        // Better now than after an hour.
        let done = if is_wanted { results::read(name).map(|_| ()) } else { Ok(()) };
        let done = done.map_err(|error| error.to_string());
        let done = done.and_then(|()| measure(&mut bench).map_err(|error| format!("{error:#}")));
        let done = done.and_then(|()| {
            if is_wanted { bench.write().map_err(|error| error.to_string()) } else { Ok(()) }
        });
        match done {
            Ok(()) if bench.told.iter().all(|part| part.held) => ExitCode::SUCCESS,
            Ok(()) => ExitCode::FAILURE,
            Err(error) => {
                eprintln!("error: {error}");
                ExitCode::FAILURE
            }
        }
    }

    /// The names of the parts that are wanted.
    pub(crate) fn wanted(&self) -> Vec<&'static str> {
        self.known.iter().copied().filter(|name| self.asked.wants(name)).collect()
    }

    /// Names programs that are compared, whose versions belong to the facts.
    pub(crate) fn compares(&mut self, peers: impl IntoIterator<Item = &'static str>) {
        self.peers.extend(peers);
    }

    /// Prints a part, and keeps it for the results file.
    pub(crate) fn tell(&mut self, part: Part) {
        println!("\n{}", part.text());
        self.told.push(part);
    }

    fn write(&self) -> io::Result<()> {
        let facts = machine::facts(self.name, &self.asked.given, &self.peers);
        let told = self.told.iter().map(|part| (part.name, part.markdown()));
        let is_whole = self.asked.only.is_empty();
        results::write(self.name, self.known, is_whole, &facts, told)?;
        println!("\nwrote {}", results::file(self.name));
        Ok(())
    }
}

/// The bytes of a file, or of all files below a folder.
pub(crate) fn bytes_in(path: &Path) -> io::Result<u64> {
    let about = fs::metadata(path)?;
    if !about.is_dir() {
        return Ok(about.len());
    }
    fs::read_dir(path)?.map(|entry| bytes_in(&entry?.path())).sum()
}

/// Does something with each of several things, one after the other, and that so
/// many times: what slows the machine down for a while does so for all of them.
pub(crate) fn in_turn<T, R, E>(
    rounds: usize,
    things: &[T],
    mut once: impl FnMut(&T) -> Result<R, E>,
) -> Result<Vec<Vec<R>>, E> {
    let mut all: Vec<Vec<R>> = things.iter().map(|_| Vec::with_capacity(rounds)).collect();
    for _ in 0..rounds {
        for (thing, done) in things.iter().zip(&mut all) {
            done.push(once(thing)?);
        }
    }
    Ok(all)
}

/// A number, rounded, with its thousands apart.
pub(crate) fn grouped(number: f64) -> String {
    let digits = format!("{:.0}", number.abs());
    let places = digits.chars().enumerate();
    let text: String = places
        .flat_map(|(place, digit)| {
            let is_apart = place > 0 && (digits.len() - place).is_multiple_of(3);
            is_apart.then_some(',').into_iter().chain([digit])
        })
        .collect();
    if number < 0.0 { format!("-{text}") } else { text }
}

/// The middle one, the upper of two; none of none.
pub(crate) fn median(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}
