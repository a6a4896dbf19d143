//! The results file of a bench: `crates/windlass/benches/results/NAME.md`.
//!
//! The text before the first line of facts is written by hand: it explains the tables. Behind it
//! stand the parts in their order, and above them the facts of their run. The headline figures of
//! `docs/benchmarks.md` are drawn from these files by `tests/docs`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The beginning of a line of facts.
pub(super) const FACTS: &str = "Measured on";

/// The folder of all results, from the top of the repository.
pub(super) const FOLDER: &str = "crates/windlass/benches/results";

/// A part in the file: its facts, its name and its text.
struct Piece {
    facts: String,
    name: String,
    text: String,
}

/// The path of a bench's file, from the top of the repository.
pub(super) fn file(bench: &str) -> String {
    format!("{FOLDER}/{bench}.md")
}

fn path(bench: &str) -> PathBuf {
    let mut folders = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    let top = folders.find(|folder| folder.join(FOLDER).is_dir()).unwrap_or(Path::new("."));
    top.join(file(bench))
}

/// Splits the file into its introduction and its results.
pub(super) fn read(bench: &str) -> io::Result<[String; 2]> {
    let text = fs::read_to_string(path(bench))
        .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", file(bench))))?;
    let at = text.find(&format!("\n{FACTS}")).map_or(text.len(), |at| at + 1);
    let (introduction, results) = text.split_at(at);
    Ok([introduction.to_owned(), results.to_owned()])
}

/// Puts parts into a bench's file: in place of all results, or unless the run `is_whole` in place
/// of those of the same names.
pub(super) fn write(
    bench: &str,
    known: &[&str],
    is_whole: bool,
    facts: &str,
    told: impl Iterator<Item = (&'static str, String)>,
) -> io::Result<()> {
    let [introduction, results] = read(bench)?;
    let mut pieces: Vec<Piece> = told
        .map(|(name, text)| Piece { facts: facts.to_owned(), name: name.to_owned(), text })
        .collect();
    if !is_whole {
        let kept = pieces_of(&results).into_iter();
        let kept = kept.filter(|old| pieces.iter().all(|new| new.name != old.name));
        let kept: Vec<Piece> = kept.collect();
        pieces.extend(kept);
        let index = |name: &str| known.iter().position(|known| *known == name);
        pieces.sort_by_key(|piece| index(&piece.name));
    }
    let (mut text, mut last) = (format!("{}\n", introduction.trim_end()), "");
    for piece in &pieces {
        if piece.facts != last {
            text.push_str(&format!("\n{}\n", piece.facts));
            last = &piece.facts;
        }
        text.push_str(&format!("\n## {}\n\n{}\n", piece.name, piece.text.trim()));
    }
    fs::write(path(bench), text)
}

fn pieces_of(results: &str) -> Vec<Piece> {
    let (mut pieces, mut facts) = (Vec::<Piece>::new(), "");
    for line in results.lines() {
        if line.starts_with(FACTS) {
            facts = line;
        } else if let Some(name) = line.strip_prefix("## ") {
            let (facts, name) = (facts.to_owned(), name.to_owned());
            pieces.push(Piece { facts, name, text: String::new() });
        } else if let Some(piece) = pieces.last_mut() {
            piece.text.push_str(line);
            piece.text.push('\n');
        }
    }
    pieces
}
